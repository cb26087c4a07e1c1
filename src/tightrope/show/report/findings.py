"""Findings: what a report is told about a study, as arrays in the units that people see.

A chapter is one problem: a model, a number of episodes and a delta. In it are groups of runs that
differ in their seeds only. Multipliers and rho stay on the model's scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.model import CMDP, Plan

A_DECADE = 40  # episodes of a curve in each tenfold, however many runs there are


@dataclass(frozen=True)
class Group:
    """One learner with one set of options over N seeds, recorded at P episodes."""

    name: str  # the learner, with the options that tell it from others in its chapter
    algorithm: str
    is_reference: bool  # whether it is there to compare with
    seeds: Ints  # (N,)
    episode: Ints  # (P,)
    regret: dict[str, Floats]  # (N, P) by kinds of `KINDS`; of constraints the largest over them
    constraint_ends: Floats  # (2, N, I) regret and positive regret of each constraint at the end
    violations: Ints  # (N, P) episodes in violation so far
    multiplier: Floats  # (N, P, I)
    first_binding: Floats  # (N,) first recorded episode with a positive multiplier; inf for never
    last_excess: Floats  # (N, I+1) excess of the last policy: cost, then constraints
    worst: Floats  # (N, I) largest excess over each budget in any episode
    first_feasible: Ints  # (N,) first episode from which every policy kept the budgets
    bad_episodes: dict[str, Ints]  # (N,) in which the truth lay outside the beliefs, by family
    not_optimistic: Ints  # (N,)
    infeasible_plans: Ints  # (N,)
    largest_gap: Floats  # (N,)
    seconds: Floats  # (N,)
    multiplier_range: Floats  # (N, 2, I)
    rho: float  # bound on the multipliers; NaN for learners without one
    rho_rule: str
    radii: str  # the confidence in words; empty for learners without beliefs
    steps: tuple[str, ...]  # changed steps in words
    is_heuristic: bool  # whether radii or steps give the guarantees up
    plan: Plan  # mean of the last policies of some seeds
    n_policies: int  # how many
    spec: dict[str, Any]  # what decided the runs, without their seeds

    @property
    def n_seeds(self) -> int:
        """Number of seeds N."""
        return len(self.seeds)

    @property
    def constants(self) -> str:
        """The confidence and every changed step in words."""
        return ", ".join((self.radii, *self.steps))

    @property
    def share(self) -> Floats:
        """Share of the episodes so far that were in violation, (N, P)."""
        return np.asarray(self.violations / self.episode)

    @property
    def good_event(self) -> Ints:
        """Whether the truth stayed inside what was believed, for each run; so where nothing was."""
        if not self.bad_episodes:
            return np.ones(self.n_seeds, dtype=np.int64)
        return np.asarray(np.sum(list(self.bad_episodes.values()), axis=0) == 0)


@dataclass(frozen=True)
class Chapter:
    """One problem and all who learned it."""

    name: str  # the environment, with what tells it from other chapters
    environment: str
    n_episodes: int
    delta: float
    cmdp: CMDP  # the true model
    optimum: Plan
    groups: tuple[Group, ...]  # at least one, those of the paper first

    @property
    def learners(self) -> tuple[Group, ...]:
        """Those of whom the summary speaks: all but references, unless there are only those."""
        return tuple(group for group in self.groups if not group.is_reference) or self.groups


@dataclass(frozen=True)
class Findings:
    """All of a study that is finished."""

    name: str  # of the study
    chapters: tuple[Chapter, ...]
    n_planned: int  # runs
    n_finished: int
    versions: tuple[tuple[dict[str, str], int], ...]  # that made the runs, and of how many


def thinned(episode: Ints) -> Ints:
    """Places of `A_DECADE` episodes in each tenfold, evenly on a logarithmic scale, with ends."""
    n = 1 + int(np.ceil(A_DECADE * np.log10(episode[-1] / episode[0]))) if len(episode) > 1 else 1
    wanted = np.geomspace(episode[0], episode[-1], n)
    places = np.unique(np.searchsorted(episode, wanted * (1 - 1e-12)))
    return np.minimum(places, len(episode) - 1)
