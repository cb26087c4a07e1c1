"""Findings: what the report of an experiment shows, as arrays in shown units.

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
    """One learner with one set of options over N seeds, recorded at P episodes.

    Parameters
    ----------
    name : str
        The learner, with the options that tell it from others in its chapter.
    algorithm : str
    is_reference : bool
        Whether it is there to compare with.
    seeds : (N,) array
    episode : (P,) array
    regret : dict of str to (N, P) arrays
        By the kinds of `tightrope.show.regret.KINDS`; that of constraints is the largest over them.
    constraint_ends : (2, N, I) array
        Regret and positive regret of each constraint at the end.
    violations : (N, P) array
        Episodes in violation so far.
    multiplier : (N, P, I) array
    first_binding : (N,) array
        First recorded episode, drawn or not, with a positive multiplier; infinite for never.
    last_excess : (N, I+1) array
        Excess of the last policy: cost, then constraints.
    worst : (N, I) array
        Largest excess over each budget in any episode.
    first_feasible : (N,) array
        First episode from which every policy kept the budgets; beyond the last for never.
    bad_episodes : dict of str to (N,) arrays
        Episodes in which the truth lay outside what was believed, by family.
    not_optimistic, infeasible_plans, largest_gap, seconds : (N,) arrays
    multiplier_range : (N, 2, I) array
    rho : float
        Bound on the multipliers; NaN for learners without one.
    rho_rule : str
    radii : str
        The confidence in words; empty for who believes nothing.
    steps : tuple of str
        Changed steps in words.
    is_heuristic : bool
        Whether radii or steps give the guarantees up.
    plan : Plan
        Mean of the last policies of some seeds.
    n_policies : int
        How many.
    spec : dict of str to value
        What decided the runs, without their seeds.
    """

    name: str
    algorithm: str
    is_reference: bool
    seeds: Ints
    episode: Ints
    regret: dict[str, Floats]
    constraint_ends: Floats
    violations: Ints
    multiplier: Floats
    first_binding: Floats
    last_excess: Floats
    worst: Floats
    first_feasible: Ints
    bad_episodes: dict[str, Ints]
    not_optimistic: Ints
    infeasible_plans: Ints
    largest_gap: Floats
    seconds: Floats
    multiplier_range: Floats
    rho: float
    rho_rule: str
    radii: str
    steps: tuple[str, ...]
    is_heuristic: bool
    plan: Plan
    n_policies: int
    spec: dict[str, Any]

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
    """One problem and all who learned it.

    Parameters
    ----------
    name : str
        The environment, with what tells it from other chapters.
    environment : str
    n_episodes : int
    delta : float
    cmdp : CMDP
        The truth.
    optimum : Plan
    groups : tuple of Group
        At least one, those of the paper first.
    """

    name: str
    environment: str
    n_episodes: int
    delta: float
    cmdp: CMDP
    optimum: Plan
    groups: tuple[Group, ...]

    @property
    def learners(self) -> tuple[Group, ...]:
        """Those of whom the summary speaks: all but references, unless there are only those."""
        return tuple(group for group in self.groups if not group.is_reference) or self.groups


@dataclass(frozen=True)
class Findings:
    """All finished runs of an experiment.

    Parameters
    ----------
    name : str
        Of the experiment.
    chapters : tuple of Chapter
    n_planned, n_finished : int
        Runs.
    versions : tuple of (dict of str to str, int)
        Versions that made the runs, and of how many.
    """

    name: str
    chapters: tuple[Chapter, ...]
    n_planned: int
    n_finished: int
    versions: tuple[tuple[dict[str, str], int], ...]


def thinned(episode: Ints) -> Ints:
    """Places of `A_DECADE` episodes in each tenfold, evenly on a logarithmic scale, and both ends.

    Parameters
    ----------
    episode : (P,) array
        Rising, from 1.
    """
    n = 1 + int(np.ceil(A_DECADE * np.log10(episode[-1] / episode[0]))) if len(episode) > 1 else 1
    wanted = np.geomspace(episode[0], episode[-1], n)
    places = np.unique(np.searchsorted(episode, wanted * (1 - 1e-12)))
    return np.minimum(places, len(episode) - 1)
