"""Study: learning on a real process, with ask (the next policy) and tell (episodes).

The learner's state is a function of the terms and of the episodes in their order. Each told episode
is one step of the algorithm: plan, then observe, however its actions were chosen. Several episodes
told at once are as many steps, whose policies were not played. The bounds still hold, because the
confidence sets require only that actions are chosen before their outcomes are known; the regret
bounds of the theory are for playing each policy as it is planned.

A snapshot avoids replaying old episodes and does not change results.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, final

import numpy as np

from tightrope import __version__
from tightrope.arrays import check_callback, check_kind, check_list
from tightrope.belief.episode import Episodes
from tightrope.errors import ConfigError, ModelError, StoreError
from tightrope.files import as_path, put
from tightrope.study.advice import Advice, Plays, count_plays
from tightrope.study.answer import Answer, answer_of
from tightrope.study.database import Database
from tightrope.study.records import (
    Receipt,
    Row,
    Snapshot,
    begin,
    corrupt_episode,
    is_known,
    names,
    open_records,
    replay,
)
from tightrope.study.telling import Entry, Told, entry_of, line_of
from tightrope.study.terms import Terms, plain_name
from tightrope.text import counted

if TYPE_CHECKING:  # these load compiled code, which telling does not need
    from tightrope.learners.interactive import InteractiveLearner

LOG = logging.getLogger(__name__)
AT_ONCE = 5000  # episodes compared with a snapshot at a time
SAVE_EVERY = 5.0  # seconds of a replay between snapshots


@final
class Study:
    """A study in a database.

    Parameters
    ----------
    where : str or Path
        The database: a file, or a URL such as ``postgresql://user@host/name``.
    name : str
        Name of an existing study; `Study.new` creates one.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> terms = tr.Terms(["fine", "worn"], ["hard", "gentle"], 2, {"wear": 1.2}, episodes=500)
    >>> with TemporaryDirectory() as folder:
    ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
    ...     answer = study.ask()
    ...     told = tr.Told(
    ...         "monday", ["fine", "worn", "worn"], ["hard", "gentle"], [0.0, 0.5], {"wear": [1, 0]}
    ...     )
    ...     receipt = study.tell([told])
    >>> answer.number, answer.plan.policy.shape, receipt.n_told
    (1, (2, 2, 2), 1)
    """

    def __init__(self, where: str | Path, name: str) -> None:
        self.name = plain_name("study", name)
        self._records, terms = open_records(Database(where), name)
        self.terms = Terms.from_json(terms)

    def __repr__(self) -> str:
        told = f"{self.n_told} of {self.terms.episodes} episodes told"
        return f"Study({self.name!r}: {self.terms.algorithm}, {told})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        terms = self.terms
        facts = [self.name, terms.algorithm, f"{self.n_told} of {terms.episodes} episodes told"]
        return listing("Study", facts, ["constraint", "budget"], list(terms.budget.items()))

    @classmethod
    def new(cls, where: str | Path, name: str, terms: Terms) -> Study:
        """Create a study.

        Parameters
        ----------
        where : str or Path
            The database; a missing file is created.
        name : str
            Name of the study, unique in the database.
        terms : Terms
            Configuration of the study.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        StoreError
            If there is a study of that name already.
        ConfigError
            If the terms are invalid; nothing is written then.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["fine", "worn"], ["hard", "gentle"], 2, {"wear": 1.2}, episodes=500)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     tr.Study(f"{folder}/pump.db", "pump").n_told
        0
        """
        plain_name("study", name)
        check_kind("terms", terms, Terms)
        terms.learner()  # raises for invalid terms before anything is written
        begin(Database(where), name, terms.as_json())
        LOG.info("study %s: created", name)
        return cls(where, name)

    @classmethod
    def names(cls, where: str | Path) -> list[str]:
        """Return the names of the studies in a database, the oldest first.

        Parameters
        ----------
        where : str or Path
            The database.

        Returns
        -------
        list of str
            The names.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["fine", "worn"], ["hard", "gentle"], 2, {"wear": 1.2}, episodes=500)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     tr.Study.names(f"{folder}/pump.db")
        ['pump']
        """
        return names(Database(where))

    @classmethod
    def delete(cls, where: str | Path, name: str) -> int:
        """Delete a study with all its episodes.

        Parameters
        ----------
        where : str or Path
            The database.
        name : str
            Name of the study.

        Returns
        -------
        int
            Number of episodes that were deleted.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["fine", "worn"], ["hard", "gentle"], 2, {"wear": 1.2}, episodes=500)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     tr.Study.delete(f"{folder}/pump.db", "pump"), tr.Study.names(f"{folder}/pump.db")
        (0, [])
        """
        return open_records(Database(where), plain_name("study", name))[0].delete()

    def rename(self, name: str) -> None:
        """Give the study another name.

        Parameters
        ----------
        name : str
            Unique in the database.

        Raises
        ------
        StoreError
            If there is a study of that name already.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["fine", "worn"], ["hard", "gentle"], 2, {"wear": 1.2}, episodes=500)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     study.rename("pump 2")
        ...     tr.Study.names(f"{folder}/pump.db")
        ['pump 2']
        """
        self._records.rename(plain_name("study", name))
        self.name = name

    def undo(self) -> str:
        """Remove the episode that was told last, as if it had never been told.

        The bounds assume that every episode is told: remove episodes that were recorded wrongly,
        never episodes with bad results.

        Returns
        -------
        str
            Id of the episode.

        Raises
        ------
        StoreError
            If no episode was told.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     receipt = study.tell([monday])
        ...     study.undo(), study.n_told
        ('monday', 0)
        """
        return self._records.undo()

    def export(self, path: str | Path) -> int:
        """Write the told episodes as JSON Lines, which `read_log` reads and ``tell`` takes.

        Parameters
        ----------
        path : str or Path
            Ends in ``.jsonl``.

        Returns
        -------
        int
            Number of episodes.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     receipt = study.tell([monday])
        ...     n = study.export(f"{folder}/pump.jsonl")
        ...     log = tr.read_log(f"{folder}/pump.jsonl", constraints=["wear"])
        >>> n, log
        (1, Log(1 episode of 1 step, 1 state, 1 action))
        """
        file = as_path("path", path)
        if file.suffix.lower() != ".jsonl":
            raise ConfigError.about("path", found=str(path), expected="a name that ends in .jsonl")
        lines = []
        for row in self.rows():
            line = line_of(row.episode, row.content, row.policy, self.terms)
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
        put(file, "".join(lines).encode())
        return len(lines)

    @property
    def n_told(self) -> int:
        """Episodes told so far."""
        return self._records.n_told

    def tell(self, told: Iterable[Told]) -> Receipt:
        """Record episodes: either all are durable when this returns, or none is recorded.

        Parameters
        ----------
        told : iterable of Told
            In the order in which the learner observes them.

        Returns
        -------
        Receipt
            Numbers of new, known and all episodes: ``n_new``, ``n_known``, ``n_told``.

        Raises
        ------
        DataError
            If an episode is invalid, an id was told before with other content, or there are more
            episodes than the terms allow. Nothing of the batch is recorded then.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     study.tell([monday]).n_new, study.tell([monday]).n_new
        (1, 0)
        """
        task = self.terms.task()
        batch: dict[str, Entry] = {}
        n_again = 0
        for each in told if isinstance(told, Iterator) else check_list("told", told, "Told"):
            entry = entry_of(check_kind("told", each, Told), self.terms, task)
            n_again += is_known(entry, batch.get(entry.episode), "twice in this batch")
            batch[entry.episode] = entry
        receipt = self._records.add(batch, self.terms.episodes)
        new, told_all = receipt.n_new, receipt.n_told
        LOG.info("study %s: %s told, %d in all", self.name, counted(new, "episode"), told_all)
        return Receipt(new, receipt.n_known + n_again, told_all)

    def ask(self, report: Callable[[int], None] | None = None) -> Answer:
        """Return the next policy after all episodes told so far; the last one if all were told.

        A learner with a baseline draws which policy it is; what was drawn is stored before this
        returns, so that asking again, or at the same time elsewhere, gives the same policy.

        Parameters
        ----------
        report : callable, optional
            Called with the number of episodes that the learner has observed.

        Returns
        -------
        Answer
            The policy as ``plan``, its ``bounds``, and its ``number``.

        Raises
        ------
        StoreError
            If what was drawn cannot be stored.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> with TemporaryDirectory() as folder:
        ...     answer = tr.Study.new(f"{folder}/pump.db", "pump", terms).ask()
        >>> answer.number, answer.bounds.verdicts
        (1, ('undecided',))
        """
        answer = self.preview(report)
        while answer.advice is not None and not answer.is_last:
            stored = self._records.recommend(answer.number, answer.advice)
            if stored.plays_baseline == answer.advice.plays_baseline:
                break
            answer = self.preview()  # with the stored draw
        LOG.info(
            "study %s: policy %d after %s",
            *(self.name, answer.number, counted(answer.n_told, "episode")),
        )
        return answer

    def preview(self, report: Callable[[int], None] | None = None) -> Answer:
        """Return what `ask` would, without a record that it was asked for.

        Parameters
        ----------
        report : callable, optional
            As for `ask`.

        Returns
        -------
        Answer
            As from `ask`.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> with TemporaryDirectory() as folder:
        ...     tr.Study.new(f"{folder}/pump.db", "pump", terms).preview().number
        1
        """
        learner = self.learner(report)
        answer = self.answer(learner)
        self._save_snapshot(learner)
        return answer

    def recommendations(self) -> dict[int, Advice]:
        """Return what was recommended, by policy number; empty for learners without a baseline.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=[[0.0, 1.0]], bound=0.1)
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, 500, algorithm=safe)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     answer = study.ask()
        ...     study.recommendations()[1].plays_baseline
        False
        """
        return self._records.recommendations()

    def plays(self) -> Plays:
        """Count how often the baseline was recommended and how often it was played.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=[[0.0, 1.0]], bound=0.1)
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, 500, algorithm=safe)
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     answer = study.ask()
        ...     study.plays()
        Plays(n_asked=1, n_baseline=0, n_credited=0, n_played=0, n_other=0)
        """
        return count_plays(self.rows(), self.recommendations())

    def learner(self, report: Callable[[int], None] | None = None) -> InteractiveLearner:
        """Return the learner after all episodes told so far.

        Parameters
        ----------
        report : callable, optional
            As for `ask`.

        Returns
        -------
        InteractiveLearner
            The learner.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     receipt = study.tell([monday])
        ...     study.learner().n_observed
        1
        """
        from tightrope.learners.interactive import observe_scaled

        check_callback("report", report)
        learner = self._load_snapshot() or self.terms.learner()
        learner.labels = self.terms.labels
        saved_at = monotonic()
        for row in self.rows(learner.n_observed):
            learner.plan()
            try:
                observe_scaled(learner, replay(row, len(self.terms.budget)))
            except ModelError as error:
                raise corrupt_episode(row, error) from error
            if report is not None:
                report(learner.n_observed)
            if monotonic() - saved_at >= SAVE_EVERY:
                self._save_snapshot(learner)
                saved_at = monotonic()
        return learner

    def answer(self, learner: InteractiveLearner) -> Answer:
        """Return the next policy of a learner, and its bounds.

        Parameters
        ----------
        learner : InteractiveLearner
            From `learner`.

        Returns
        -------
        Answer
            As for `ask`.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     receipt = study.tell([monday])
        ...     answer = study.answer(study.learner())
        >>> answer.number, answer.n_told
        (2, 1)
        """
        from tightrope.learners import CertaintyEquivalence

        estimated = None
        if isinstance(learner.learner, CertaintyEquivalence):
            from tightrope.study.estimated import plan_estimated

            parts = list(self._episodes(learner.n_observed))
            is_pooled = self.terms.stationary and learner.confidence.pool
            estimated = plan_estimated(parts, self.terms, is_pooled, learner.is_undecided)
        return answer_of(learner, self.terms, self.recommendations(), estimated)

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Return told episodes in order.

        Parameters
        ----------
        after : int
            Skip episodes up to this number.

        Yields
        ------
        Row
            An episode with its number, id and content.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
        >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
        >>> with TemporaryDirectory() as folder:
        ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
        ...     receipt = study.tell([monday])
        ...     [(row.number, row.episode) for row in study.rows()]
        [(1, 'monday')]
        """
        return self._records.rows(after)

    def _save_snapshot(self, learner: InteractiveLearner) -> None:
        """Save a snapshot if the database can be written; nothing depends on it."""
        with suppress(StoreError):
            self._records.save_snapshot(
                Snapshot(learner.n_observed, __version__, learner.to_bytes())
            )

    def _load_snapshot(self) -> InteractiveLearner | None:
        """Return the learner of the snapshot, after checking that it has observed the episodes.

        None if there is no snapshot, or it is of another version, corrupt or of other episodes.
        """
        from tightrope.learners.interactive import InteractiveLearner, has_seen

        stored = self._records.snapshot
        if stored is not None and stored.version == __version__:
            with suppress(ModelError, StoreError):
                learner = InteractiveLearner.from_bytes(stored.content)
                episodes = self._episodes(stored.number)
                return learner if has_seen(learner, episodes, self.terms.learner()) else None
        return None

    def _episodes(self, until: int) -> Iterator[Episodes]:
        """Yield the first episodes of the study, some thousand at a time."""
        rows = takewhile(lambda row: row.number <= until, self.rows())
        while some := list(islice(rows, AT_ONCE)):
            each = [replay(row, len(self.terms.budget)) for row in some]
            fields = [[getattr(one, name) for one in each] for name in vars(each[0])]
            try:
                yield Episodes(*map(np.array, fields))
            except ValueError as error:  # of different lengths
                name = f"episodes from {some[0].number}"
                raise StoreError.about(name, more=str(error)) from error
