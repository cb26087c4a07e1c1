"""Advice: which of two policies to play in the next episode, the planned one or the baseline.

A safe learner plays its baseline with the probability that keeps the expected use of every budget,
by the upper bounds of its confidence sets, within the budget. The draw is made once for each policy
number and stored, so that everyone who asks gets the same advice, also after a crash.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, final

from tightrope.arrays import flag, is_number
from tightrope.errors import ModelError, StoreError
from tightrope.text import apart, digits

if TYPE_CHECKING:
    from tightrope.learners.interactive import InteractiveLearner
    from tightrope.study.records import Row

SHARE_DIGITS = 3


@final
@dataclass(frozen=True)
class Advice:
    """Which policy to play in the next episode, and why; numbers are in the study's units.

    Parameters
    ----------
    plays_baseline : bool
        Whether the baseline was drawn.
    probability : float
        Probability of the baseline in that draw.
    is_found : bool
        Whether the baseline is one that the learner has found in place of the given one.
    reason : str
        Why the baseline has probability 1; empty otherwise.
    budget : dict of str to float
        The budgets by name.
    use : dict of str to float
        What the baseline uses of each at most.
    upper : dict of str to float, optional
        What the planned policy uses of each at most; None if the baseline has probability 1.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=[[0.0, 1.0]], bound=0.1)
    >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, 500, algorithm=safe)
    >>> with TemporaryDirectory() as folder:
    ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
    ...     answer = study.ask()
    >>> answer.advice.plays_baseline, answer.advice.budget
    (False, {'wear': 0.5})
    """

    plays_baseline: bool
    probability: float
    is_found: bool
    reason: str
    budget: dict[str, float]
    use: dict[str, float]
    upper: dict[str, float] | None

    @property
    def expected(self) -> dict[str, float]:
        """Upper bounds on the expected use before the draw, none of them above its budget."""
        if self.upper is None:
            return self.use
        p = self.probability
        return {name: p * self.use[name] + (1.0 - p) * self.upper[name] for name in self.budget}

    @property
    def words(self) -> str:
        """The advice in a sentence."""
        own, its = "your own policy", "Your own"
        if self.is_found:
            own, its = "the safe policy found before", "The safe one"
        share = digits(self.probability, SHARE_DIGITS)
        if self.upper is None:
            return f"Play {own} this time: {self.reason}."
        over = {name: top for name, top in self.upper.items() if top > self.budget[name]}
        if not over:
            return f"Play the new policy: it uses {self._list(self.upper, 'at most')}."
        said = self._list(over, "up to")
        if self.plays_baseline:
            return (
                f"Play {own} this time: the new one could use {said}. "
                f"{its} had probability {share}, which keeps the expected use within the budget."
            )
        return (
            f"Play the new policy: it could use {said}, and {own} had probability {share}, "
            "which keeps the expected use within the budget."
        )

    def _list(self, uses: Mapping[str, float], lead: str) -> str:
        if not uses:
            return "no budget"
        pairs = {name: apart(top, self.budget[name]) for name, top in uses.items()}
        *parts, last = (f"{top} of {budget} {name}" for name, (top, budget) in pairs.items())
        return f"{lead} {', '.join(parts)} and {last}" if parts else f"{lead} {last}"

    def as_json(self) -> str:
        """All of it as text.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=[[0.0, 1.0]], bound=0.1)
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, 500, algorithm=safe)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     answer = study.ask()
        >>> type(answer.advice).from_json(answer.advice.as_json()) == answer.advice
        True
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Advice:
        """The advice that `as_json` wrote, or a `StoreError`.

        Parameters
        ----------
        text : str
            From `as_json`.

        Returns
        -------
        Advice
            The advice.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=[[0.0, 1.0]], bound=0.1)
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, 500, algorithm=safe)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     answer = study.ask()
        >>> round(type(answer.advice).from_json(answer.advice.as_json()).probability, 3)
        0.556
        """
        try:
            found = cls(**json.loads(text))
            for table in (found.budget, found.use, found.upper or found.budget):
                if list(table) != list(found.budget) or not all(map(is_number, table.values())):
                    raise ValueError(f"expected a number for each of {', '.join(found.budget)}")
            if not is_number(found.probability) or not 0.0 <= found.probability <= 1.0:
                raise ValueError(f"probability {found.probability}")
            flag("plays_baseline", found.plays_baseline)
        except (TypeError, ValueError, AttributeError, RecursionError, ModelError) as error:
            raise StoreError(
                f"a stored recommendation is corrupt: {error}", argument="recommendation"
            ) from error
        return found


def advice_of(learner: InteractiveLearner, names: Iterable[str]) -> Advice | None:
    """What a learner advises for the episode that it has planned; None if it has no baseline."""
    use, upper = learner.baseline_use, learner.upper_use
    if use is None:
        return None
    names, budget = list(names), learner.units.show_totals(learner.task.budget)
    episode = min(learner.n_observed + 1, learner.task.n_episodes)
    return Advice(
        plays_baseline=learner.plays_baseline,
        probability=learner.baseline_probability,
        is_found=learner.has_found_baseline,
        reason=learner.learner.baseline_reason(learner.task, episode) if upper is None else "",
        budget=dict(zip(names, budget.tolist(), strict=True)),
        use=dict(zip(names, use.tolist(), strict=True)),
        upper=None if upper is None else dict(zip(names, upper.tolist(), strict=True)),
    )


@dataclass(frozen=True)
class Plays:
    """How often a study has recommended its baseline, and how often it was played.

    An episode is credited to the policy number it was told with, otherwise to the last one that was
    asked for before it.

    Parameters
    ----------
    n_asked : int
        Number of policies recommended.
    n_baseline : int
        Of these, the number of baselines.
    n_credited : int
        Number of told episodes of these policies.
    n_played : int
        Of these, the number with the baseline.
    n_other : int
        Number of told episodes of no recommended policy.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=[[0.0, 1.0]], bound=0.1)
    >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, 500, algorithm=safe)
    >>> with TemporaryDirectory() as folder:
    ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
    ...     answer = study.ask()
    ...     plays = study.plays()
    >>> plays.n_asked, plays.n_baseline
    (1, 0)
    """

    n_asked: int
    n_baseline: int
    n_credited: int
    n_played: int
    n_other: int


def count_plays(rows: Iterable[Row], advice: Mapping[int, Advice]) -> Plays:
    """Count told episodes, in order, by what was recommended for them."""
    asked, k, last = sorted(advice), 0, None
    played = credited = other = 0
    for row in rows:
        while k < len(asked) and asked[k] <= row.number:
            last, k = asked[k], k + 1
        found = advice.get(row.policy) if row.policy is not None else advice.get(last or 0)
        other += found is None
        credited += found is not None
        played += found is not None and found.plays_baseline
    n_baseline = sum(each.plays_baseline for each in advice.values())
    return Plays(len(asked), n_baseline, credited, played, other)
