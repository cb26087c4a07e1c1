"""Interaction: episodes of a learner, or a policy, in an environment known through its steps.

It can be stopped between two episodes and continued in another process. That gives the same
episodes if the environment draws all its random numbers from Gymnasium's ``np_random`` and
``reset`` restarts everything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, final

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.errors import ModelError, StoreError
from tightrope.experiments.rows import Row
from tightrope.interop.gym.process import Process
from tightrope.interop.gym.realized import TAKEN, Realized
from tightrope.learners.files import read_generator
from tightrope.learners.interactive import InteractiveLearner, observe_scaled
from tightrope.model.units import Range, required_range
from tightrope.text import guess

ROUNDING = 1e-9
CURVES = ("totals", "planned", "steps", "is_feasible")


@final
class Interaction:
    """A run in an environment under way.

    Parameters
    ----------
    process : Process
        The environment.
    agent : InteractiveLearner or (H, S, A) array
        The learner, or a policy.
    n_episodes : int
        Number of episodes K.
    ranges : (1+I, 2) array
        Least and greatest possible sums of an episode.
    algorithm : str
        Name of the learner.
    seed : int
        Of the actions and of the environment.
    delta : float
        Failure probability of the bands.
    confidence : str
        Description of the radii of the learner.
    """

    def __init__(
        self,
        process: Process,
        agent: InteractiveLearner | Floats,
        n_episodes: int,
        ranges: Floats,
        algorithm: str,
        seed: int,
        delta: float,
        confidence: str,
    ) -> None:
        self.process, self.agent, self.n_episodes, self.ranges = process, agent, n_episodes, ranges
        self.algorithm, self.seed, self.delta, self.confidence = algorithm, seed, delta, confidence
        self.names = tuple(name for name, _, _ in process.quantities)
        self.rng = np.random.default_rng(np.random.SeedSequence(seed))
        self.episode = 0  # done
        K, n = n_episodes, len(self.names)
        self.totals, self.planned = np.zeros((K, n)), np.full((K, n), np.nan)
        self.steps: Ints = np.zeros(K, dtype=np.int64)
        self.is_feasible = np.ones(K, dtype=np.bool_)
        self.policy: Floats = agent if isinstance(agent, np.ndarray) else np.zeros((0, 0, 0))

    def advance(self, n_episodes: int) -> None:
        """Run that many episodes more."""
        for k in range(self.episode, self.episode + n_episodes):
            if isinstance(self.agent, np.ndarray):
                played = self.process.play(self.agent, self.rng)
            else:
                plan = self.agent.plan()
                self.policy = plan.policy
                played = self.process.play(plan.policy, self.rng)
                observe_scaled(self.agent, played.episode)
                self.planned[k] = plan.value, *plan.constraint_value
                self.is_feasible[k] = plan.is_feasible
            self.totals[k], self.steps[k] = np.append(played.reward, played.costs), played.steps
            self._require_ranges(k)
            self.episode = k + 1

    def rows(self, first: int) -> Iterator[Row]:
        """Yield the episodes from place ``first`` on as dicts."""
        for k in range(first, self.episode):
            yield {
                "episode": k + 1,
                "steps": int(self.steps[k]),
                "is_feasible": bool(self.is_feasible[k]),
                **dict(zip(self.names, self.totals[k].tolist(), strict=True)),
            }

    def realized(self) -> Realized:
        """Return the episodes so far."""
        k = self.episode
        return Realized(
            algorithm=self.algorithm,
            seed=self.seed,
            names=self.names,
            totals=self.totals[:k],
            ranges=self.ranges,
            budget=np.array([rule.budget for rule in self.process.rules], dtype=np.float64),
            steps=self.steps[:k],
            planned=self.planned[:k],
            is_feasible=self.is_feasible[:k],
            policy=self.policy[:, : self.process.over],
            delta=self.delta,
            confidence=self.confidence,
        )

    def take_snapshot(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state after an episode as arrays, for `restore`."""
        assert isinstance(self.agent, InteractiveLearner)
        k = self.episode
        texts = {
            "generator": json.dumps(self.rng.bit_generator.state),
            "environment": json.dumps(self.process.state()),
        }
        return {
            **{name: getattr(self, name)[:k].copy() for name in CURVES},
            **{name: _bytes_of(text.encode()) for name, text in texts.items()},
            "learner": _bytes_of(self.agent.to_bytes()),
        }

    def restore(self, arrays: Mapping[str, np.ndarray[Any, Any]], episode: int) -> None:
        """Continue from a snapshot that was taken after that many episodes, or `StoreError`."""
        try:
            curves = {name: arrays[name] for name in CURVES}
            agent = InteractiveLearner.from_bytes(arrays["learner"].tobytes())
            found = read_generator(self.rng, json.loads(arrays["generator"].tobytes()))
            state = json.loads(arrays["environment"].tobytes())
        except (KeyError, ValueError, RecursionError) as error:
            raise StoreError.about("snapshot", shown="corrupt", more=f": {error}") from error
        misfit = f"does not fit episode {episode}"
        for name, values in curves.items():
            mine = getattr(self, name)[:episode]
            if values.dtype != mine.dtype or values.shape != mine.shape:
                raise StoreError.about(name, more=misfit, where="snapshot: corrupt")
        if agent.n_observed != episode or agent.algorithm != self.algorithm:
            raise StoreError.about("learner", more=misfit, where="snapshot: corrupt")
        self.process.restore(state, episode)
        for name, values in curves.items():
            getattr(self, name)[:episode] = values
        self.agent, self.episode = agent, episode
        self.rng.bit_generator.state = found

    def _require_ranges(self, k: int) -> None:
        """Raise for a sum of an episode outside its range."""
        for name, total, (low, high) in zip(
            self.names, self.totals[k].tolist(), self.ranges.tolist(), strict=True
        ):
            slack = ROUNDING * (1.0 + abs(low) + abs(high))
            if not low - slack <= total <= high + slack:
                raise ModelError.about(
                    name,
                    where=f"episode {k + 1}",
                    verb="adds up to",
                    found=total,
                    shown=f"{total:g}",
                    expected=f"a number in total_range=({low:g}, {high:g})",
                )


def _bytes_of(content: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(content, dtype=np.uint8).copy()


def find_ranges(process: Process, total_range: Mapping[str, Range] | None) -> Floats:
    """Return the least and greatest sum of each quantity over an episode, (1+I, 2)."""
    names = [name for name, _, _ in process.quantities]
    for name in names[1:]:
        if name in TAKEN:
            raise ModelError.about(
                "costs",
                found=name,
                shown=f"{name!r} is a column of the record",
                more="; choose another name",
            )
    ranges = process.n_steps * np.array([each[1:] for each in process.quantities], dtype=np.float64)
    for name, given in (total_range or {}).items():
        if name not in names:
            raise ModelError.about(
                "total_range",
                found=name,
                shown=f"{name!r} is unknown",
                more=f"{guess(name, names)}; there are {', '.join(names)}",
            )
        ranges[names.index(name)] = required_range(f"total_range[{name!r}]", given)
    return ranges
