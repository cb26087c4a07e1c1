"""Findings about runs in Gymnasium environments: realized sums in place of exact regrets.

All numbers are in the environments' units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.experiments.gym_fields import gym_runs
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.statistics import Resamples, bands_data
from tightrope.experiments.storage import RunFolder

A_DECADE, EVEN = 40, 100  # points of a curve: per factor of ten in episodes, and evenly spread
LAST = 5  # the last episodes are one in five
RECENT = 20  # the recent ones, of a curve, one in twenty
KEPT, EXCEEDED, UNKNOWN = "kept", "exceeded", "unknown"


@dataclass(frozen=True)
class ReturnGroup:
    """One learner with one set of options over N seeds, at P episodes; 1+I quantities."""

    name: str  # the learner, with the options that distinguish it in its chapter
    algorithm: str
    seeds: Ints  # (N,)
    episode: Ints  # (P,)
    mean: Floats  # (N, P, 1+I) of the sums of all episodes so far
    recent: Floats  # (N, P, 1+I) of those of the recent ones
    last: Floats  # (N, 1+I) of those of the last fifth of the episodes
    low: Floats  # (N, 1+I) confidence band of the expectation of `last`, for each run
    high: Floats  # (N, 1+I)
    infeasible_plans: Ints  # (N,)
    ended_early: Ints  # (N,) episodes that ended before the horizon
    seconds: Floats  # (N,)
    radii: str  # the confidence in words; empty for learners without confidence sets
    steps: tuple[str, ...]  # changed steps in words
    is_heuristic: bool
    spec: dict[str, Any]  # configuration of the runs, without their seeds

    rho = np.nan
    rho_rule = "none"

    @property
    def n_seeds(self) -> int:
        """Number of seeds N."""
        return len(self.seeds)

    def verdicts(self, budget: Floats) -> list[list[str]]:
        """Return for each budget what the band of each run says: kept, exceeded or unknown."""
        found = []
        for i, bound in enumerate(budget.tolist(), 1):
            ends = zip(self.low[:, i].tolist(), self.high[:, i].tolist(), strict=True)
            found.append(
                [
                    KEPT if high <= bound else EXCEEDED if low > bound else UNKNOWN
                    for low, high in ends
                ]
            )
        return found


@dataclass(frozen=True)
class ReturnChapter:
    """One environment and the groups of runs in it."""

    name: str  # the environment, with the fields that distinguish it
    environment: str
    n_episodes: int
    delta: float
    horizon: int
    quantities: tuple[str, ...]  # the reward, then the constraints
    budget: Floats  # (I,)
    groups: tuple[ReturnGroup, ...]  # at least one

    @property
    def learners(self) -> tuple[ReturnGroup, ...]:
        """The groups; there are no references."""
        return self.groups

    @property
    def n_last(self) -> int:
        """Number of episodes in the last fifth."""
        return max(1, self.n_episodes // LAST)

    @property
    def n_recent(self) -> int:
        """Number of episodes in a recent mean, fewer at the beginning."""
        return max(1, self.n_episodes // RECENT)


def read_group(name: str, specs: Sequence[RunSpec], folders: Sequence[RunFolder]) -> ReturnGroup:
    """Read runs that differ in their seed only."""
    runs = [gym_runs().read_realized(*each) for each in zip(specs, folders, strict=True)]
    first, spec = runs[0], specs[0]
    K, learner = spec.episodes, spec.learner
    log_spaced = np.geomspace(1, K, 1 + int(A_DECADE * np.log10(K)))
    both = np.concatenate((log_spaced, np.linspace(1, K, EVEN)))
    episode = np.unique(both.round().astype(np.int64))
    n_last, n_recent = max(1, K // LAST), max(1, K // RECENT)
    # at half of delta, as further bands are shown of the same runs
    bands = [[run.band(q, last=n_last, delta=run.delta / 2) for q in first.names] for run in runs]
    return ReturnGroup(
        name=name,
        algorithm=spec.algorithm,
        seeds=np.array([each.seed for each in specs]),
        episode=episode,
        mean=np.stack([_trailing(run.totals, episode, K) for run in runs]),
        recent=np.stack([_trailing(run.totals, episode, n_recent) for run in runs]),
        last=np.stack([run.totals[-n_last:].mean(axis=0) for run in runs]),
        low=np.array([[band.low[-1] for band in mine] for mine in bands]),
        high=np.array([[band.high[-1] for band in mine] for mine in bands]),
        infeasible_plans=np.array([int((~run.is_feasible).sum()) for run in runs]),
        ended_early=np.array([int((run.steps < spec.gymnasium["horizon"]).sum()) for run in runs]),
        seconds=np.array([gym_runs().read_seconds(folder) for folder in folders]),
        radii=learner.radii(spec.confidence).words if learner.has_model else "",
        steps=tuple(learner.changed_steps),
        is_heuristic=gym_runs().is_heuristic(spec),
        spec={k: v for k, v in spec.to_table().items() if k != "seed"},
    )


def quantities_of(folder: RunFolder) -> tuple[tuple[str, ...], Floats]:
    """Return the names of the sums of a finished run, and its budgets."""
    about, arrays, _ = folder.results()
    return tuple(map(str, about["names"])), arrays["budget"]


def _trailing(totals: Floats, episode: Ints, window: int) -> Floats:
    """Return means of the last ``window`` episodes, or of all if there are fewer, (P, 1+I)."""
    upto = np.concatenate((np.zeros((1, totals.shape[1])), np.cumsum(totals, axis=0)))
    n = np.minimum(episode, window)
    return np.asarray((upto[episode] - upto[episode - n]) / n[:, None])


def chapter_data(chapter: ReturnChapter, resamples: Resamples) -> dict[str, Any]:
    """Return the statistics of a chapter as plain data, see `Experiment.summary`."""
    return {
        "name": chapter.name,
        "episodes": chapter.n_episodes,
        "delta": chapter.delta,
        "horizon": chapter.horizon,
        "budget": dict(zip(chapter.quantities[1:], chapter.budget.tolist(), strict=True)),
        "learners": [
            {
                "name": group.name,
                "algorithm": group.algorithm,
                "seeds": group.seeds.tolist(),
                "confidence": ", ".join(filter(None, (group.radii, *group.steps))),
                "heuristic": group.is_heuristic,
                "sums": {
                    name: {
                        "all": bands_data(group.mean[:, -1, j], resamples),
                        "last": bands_data(group.last[:, j], resamples),
                    }
                    for j, name in enumerate(chapter.quantities)
                },
                "runs_with_budget_kept": {
                    name: verdicts.count(KEPT)
                    for name, verdicts in zip(
                        chapter.quantities[1:], group.verdicts(chapter.budget), strict=True
                    )
                },
                "infeasible_plans": int(group.infeasible_plans.sum()),
                "ended_early": int(group.ended_early.sum()),
                "seconds": float(group.seconds.sum()),
            }
            for group in chapter.groups
        ],
    }
