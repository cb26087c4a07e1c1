"""Study: a real process under way; episodes come in, policies go out.

The learner's state is a function of the terms and of the episodes in their order. Each told episode
is one step of the algorithm: plan, then observe, no matter how its actions were chosen. Several
episodes told at once are as many steps, whose policies were not played. The bounds still hold,
because the confidence sets ask only that actions be chosen before their outcomes are known; the
regret that the theory bounds is that of playing each policy as it is planned.

A state kept from the last time saves the work of replaying old episodes, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from math import sqrt
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, final

import numpy as np

from tightrope import __version__
from tightrope.arrays import check_callback, check_kind, check_list
from tightrope.belief.episode import Episodes
from tightrope.errors import ModelError, StoreError
from tightrope.model.plan import Plan
from tightrope.study.database import Database
from tightrope.study.ledger import (
    Kept,
    Receipt,
    Row,
    begin,
    damage,
    is_known,
    names,
    open_ledger,
    replay,
)
from tightrope.study.telling import Entry, Told, entry_of
from tightrope.study.terms import Terms, plain_name

if TYPE_CHECKING:  # telling needs neither, and they load compiled code
    from tightrope.learners.interactive import InteractiveLearner
    from tightrope.plan.bound import Bounds

AT_ONCE = 5000  # episodes that are compared with a kept state at a time
KEEP_EVERY = 5.0  # seconds of a replay after which its state is kept
NORMAL = 1.96  # of a band that holds the mean in 95 of 100 cases, when there are many episodes


@dataclass(frozen=True)
class Answer:
    """The next policy."""

    number: int  # of the policy: that of the episode it is for
    n_told: int  # episodes it was made from
    plan: Plan  # the policy, what the learner expects it to cost, and the multipliers
    bounds: Bounds  # what it costs at least and at most
    is_last: bool  # whether all episodes were told, so that this is the last policy again
    n_infeasible: int  # plans so far that could keep the budgets in no model held possible


@final
class Study:
    """A study in a database.

    Parameters
    ----------
    where : str or Path
        The database: a file, or a URL such as ``postgresql://user@host/name``.
    name : str
        Of a study that is there; `Study.new` makes one.
    """

    def __init__(self, where: str | Path, name: str) -> None:
        self.name = plain_name("study", name)
        self._ledger, terms = open_ledger(Database(where), name)
        self.terms = Terms.from_json(terms)

    @classmethod
    def new(cls, where: str | Path, name: str, terms: Terms) -> Study:
        """Make a study.

        Parameters
        ----------
        where : str or Path
            The database; a file is made when it is not there.
        name : str
            Not that of another study there.
        terms : Terms
            What the learner is told.
        """
        plain_name("study", name)
        check_kind("terms", terms, Terms)
        terms.learner()  # what it refuses is refused before anything is written
        begin(Database(where), name, terms.as_json())
        return cls(where, name)

    @classmethod
    def names(cls, where: str | Path) -> list[str]:
        """Names of the studies in a database, the oldest first.

        Parameters
        ----------
        where : str or Path
        """
        return names(Database(where))

    @property
    def n_told(self) -> int:
        """Episodes told so far."""
        return self._ledger.n_told

    def tell(self, told: Iterable[Told]) -> Receipt:
        """Write episodes down: all of them are durable when this returns, or none is there.

        Parameters
        ----------
        told : iterable of Told
            In the order in which the learner shall see them.

        Raises
        ------
        DataError
            When an episode cannot be right, an id was told before with other content, or there are
            more episodes than the study was made for. Nothing of the batch is written then.
        """
        task = self.terms.task()
        batch: dict[str, Entry] = {}
        n_again = 0
        for each in told if isinstance(told, Iterator) else check_list("told", told, "Told"):
            entry = entry_of(check_kind("told", each, Told), self.terms, task)
            n_again += is_known(entry, batch.get(entry.episode), "twice in this batch")
            batch[entry.episode] = entry
        receipt = self._ledger.add(batch, self.terms.episodes)
        return Receipt(receipt.n_new, receipt.n_known + n_again, receipt.n_told)

    def ask(self, report: Callable[[int], None] | None = None) -> Answer:
        """The next policy, after all episodes told so far; the last one when all were told.

        Parameters
        ----------
        report : callable, optional
            Called with the number of episodes that the learner has seen.
        """
        learner = self.learner(report)
        answer = self.answer(learner)
        self._keep(learner)
        return answer

    def learner(self, report: Callable[[int], None] | None = None) -> InteractiveLearner:
        """The learner after all episodes told so far.

        Parameters
        ----------
        report : callable, optional
            As for `ask`.
        """
        check_callback("report", report)
        learner = self._kept() or self.terms.learner()
        learner.labels = self.terms.labels
        kept_at = monotonic()
        for row in self.rows(learner.n_observed):
            learner.plan()
            try:
                learner.observe_scaled(replay(row, len(self.terms.budget)))
            except ModelError as error:
                raise damage(row, error) from error
            if report is not None:
                report(learner.n_observed)
            if monotonic() - kept_at >= KEEP_EVERY:
                self._keep(learner)
                kept_at = monotonic()
        return learner

    def answer(self, learner: InteractiveLearner) -> Answer:
        """The policy that a learner would play next, and its bounds.

        Parameters
        ----------
        learner : InteractiveLearner
            From `learner`.
        """
        is_last = learner.n_observed >= self.terms.episodes
        plan = learner.last_plan if is_last else learner.plan()
        return Answer(
            number=min(learner.n_observed + 1, self.terms.episodes),
            n_told=learner.n_observed,
            plan=plan,
            bounds=learner.bound(plan.policy),
            is_last=is_last,
            n_infeasible=learner.n_infeasible,
        )

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Told episodes in their order.

        Parameters
        ----------
        after : int
            Leave out those up to this number.
        """
        return self._ledger.rows(after)

    def _keep(self, learner: InteractiveLearner) -> None:
        """Save the work of the next replay, where the database lets us; nothing depends on it."""
        with suppress(StoreError):
            self._ledger.keep(Kept(learner.n_observed, __version__, learner.to_bytes()))

    def _kept(self) -> InteractiveLearner | None:
        """The learner as it was kept, found to have seen the study's episodes.

        None when none was kept, or by another version, or it is damaged or of other episodes.
        """
        from tightrope.learners.interactive import InteractiveLearner

        kept = self._ledger.kept
        if kept is not None and kept.version == __version__:
            with suppress(ModelError, StoreError):
                learner = InteractiveLearner.from_bytes(kept.content)
                episodes = self._episodes(kept.number)
                return learner if learner.has_seen(episodes, self.terms.learner()) else None
        return None

    def _episodes(self, until: int) -> Iterator[Episodes]:
        """The first episodes of the study, some thousand at a time."""
        rows = takewhile(lambda row: row.number <= until, self.rows())
        while some := list(islice(rows, AT_ONCE)):
            each = [replay(row, len(self.terms.budget)) for row in some]
            fields = [[getattr(one, name) for one in each] for name in vars(each[0])]
            try:
                yield Episodes(*map(np.array, fields))
            except ValueError as error:  # of different lengths
                raise StoreError(f"episodes after number {some[0].number - 1}: {error}") from error


@dataclass(frozen=True)
class Total:
    """What an episode cost, or used of a budget, over all told episodes.

    The margin is half the width of a 95% band by the normal law; infinite for a single episode. It
    describes the policies that were played, all mixed, and promises nothing about the next one.
    """

    name: str  # ``cost``, or that of a constraint
    mean: float
    margin: float


def totals_of(rows: Iterable[Row], terms: Terms) -> tuple[list[Total], Row | None]:
    """Means and margins of all sums of told episodes, and the last episode."""
    n, last = 0, None
    mean = np.zeros(len(terms.budget) + 1)
    spread = np.zeros_like(mean)
    for last in rows:
        episode = replay(last, len(terms.budget))
        x = np.array([np.sum(episode.cost), *episode.constraint_cost.sum(axis=1)])
        n += 1
        off = x - mean
        mean += off / n  # Welford's recursion: no sum of squares that cancels
        spread += off * (x - mean)
    margin = NORMAL * np.sqrt(spread / (n - 1)) / sqrt(n) if n > 1 else np.full(mean.size, np.inf)
    found = zip(terms.units, mean.tolist(), margin.tolist(), strict=True)
    return [Total(unit.name, unit.show(m), unit.factor * half) for unit, m, half in found], last
