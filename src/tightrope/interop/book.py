"""The book in which realised sums of episodes are written down, checked line by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

import numpy as np

from tightrope.arrays import Floats
from tightrope.errors import ModelError
from tightrope.interop.outside import Outside, Played
from tightrope.interop.realised import TAKEN, Realised
from tightrope.model import Plan
from tightrope.model.units import Range, required_range
from tightrope.text import guess

ROUNDING = 1e-9


@final
class Book:
    """What happened, episode by episode.

    Parameters
    ----------
    outside : Outside
        Where it happened.
    n_episodes : int
        How many there will be.
    total_range : mapping of str to (float, float), optional
        What the sum over an episode can be, where that is known.
    """

    def __init__(
        self, outside: Outside, n_episodes: int, total_range: Mapping[str, Range] | None
    ) -> None:
        K = n_episodes
        self._outside, n = outside, 1 + len(outside.rules)
        self._names = ("reward", *(rule.name for rule in outside.rules))
        for name in self._names[1:]:
            if name in TAKEN:
                raise ModelError(f"costs: {name!r} is a column of the record; call it otherwise")
        ends = [(outside.low, outside.high), *((rule.low, rule.high) for rule in outside.rules)]
        self._ranges = outside.n_steps * np.array(ends, dtype=np.float64)
        for name, given in (total_range or {}).items():
            if name not in self._names:
                raise ModelError(
                    f"total_range: {name!r} is unknown{guess(name, self._names)}; "
                    f"there are {', '.join(self._names)}"
                )
            self._ranges[self._names.index(name)] = required_range(f"total_range[{name!r}]", given)
        self._totals, self._planned = np.zeros((K, n)), np.full((K, n), np.nan)
        self._steps, self._is_feasible = np.zeros(K, dtype=np.int64), np.ones(K, dtype=np.bool_)

    def write(self, k: int, played: Played, plan: Plan | None) -> None:
        """Write down an episode.

        Parameters
        ----------
        k : int
            Its number, from 0.
        played : Played
            What it came to.
        plan : Plan, optional
            What a learner hoped for.
        """
        self._totals[k] = np.append(played.reward, played.costs)
        self._steps[k] = played.steps
        for name, total, (low, high) in zip(
            self._names, self._totals[k], self._ranges, strict=True
        ):
            slack = ROUNDING * (1.0 + abs(low) + abs(high))
            if not low - slack <= total <= high + slack:
                raise ModelError(
                    f"episode {k + 1}: {name} adds up to {total:g}, "
                    f"expected a number in total_range=({low:g}, {high:g})"
                )
        if plan is not None:
            hoped = (plan.value, *plan.constraint_value)
            self._planned[k] = [
                unit.show(total) for unit, total in zip(self._outside.units, hoped, strict=True)
            ]
            self._is_feasible[k] = plan.is_feasible

    def closed(
        self, algorithm: str, seed: int, policy: Floats, delta: float, confidence: str
    ) -> Realised:
        """The record of all episodes.

        Parameters
        ----------
        algorithm : str
            Who chose the policies.
        seed : int
            Where randomness started.
        policy : (H', S', A) array
            The last one, over the stages and states of the process.
        delta : float
            Probability with which a band may miss.
        confidence : str
            The learner's radii, in words.
        """
        o, H = self._outside, self._outside.n_steps
        return Realised(
            algorithm=algorithm,
            seed=seed,
            names=self._names,
            totals=self._totals,
            ranges=self._ranges,
            budget=np.array([rule.budget for rule in o.rules], dtype=np.float64),
            steps=self._steps,
            planned=self._planned,
            is_feasible=self._is_feasible,
            policy=policy[len(policy) - H :, : o.over],
            delta=delta,
            confidence=confidence,
        )
