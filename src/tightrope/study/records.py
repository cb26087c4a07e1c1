"""The records of one study: its episodes in order, and a snapshot of the learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, final

from sqlalchemy import Connection, Select, delete, func, insert, inspect, select, update

from tightrope.belief.episode import Episode
from tightrope.errors import DataError, StoreError
from tightrope.study.advice import Advice
from tightrope.study.database import FORM, Database, episodes, states, studies
from tightrope.study.database import recommendations as recommended
from tightrope.study.telling import Entry, episode_of

KEEPING = 2.0  # seconds that a snapshot may wait for other writers
AT_ONCE = 500  # rows per query; databases limit the number of values


@dataclass(frozen=True)
class Receipt:
    """Result of telling episodes.

    Parameters
    ----------
    n_new : int
        Number of episodes that were recorded; they are durable.
    n_known : int
        Number of episodes told before with the same content, which are ignored.
    n_told : int
        Number of episodes in the study now.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
    >>> monday = tr.Told("monday", ["on", "on"], ["run"], [0.2], {"wear": [1.0]})
    >>> with TemporaryDirectory() as folder:
    ...     study = tr.Study.new(f"{folder}/pump.db", "pump", terms)
    ...     receipt = study.tell([monday])
    >>> receipt
    Receipt(n_new=1, n_known=0, n_told=1)
    """

    n_new: int
    n_known: int
    n_told: int


@dataclass(frozen=True)
class Row:
    """One told episode."""

    number: int
    episode: str
    content: str
    policy: int | None
    told_at: str


@dataclass(frozen=True)
class Snapshot:
    """State of a learner after some episodes."""

    number: int
    version: str
    content: bytes


def begin(database: Database, name: str, terms: str) -> None:
    """Create a new study."""
    database.make()
    with database.writing() as connection:
        _require_free(connection, database, name)
        row = {"name": name, "form": FORM, "terms": terms, "made_at": _now(), "n_told": 0}
        connection.execute(insert(studies).values(**row))


def _require_free(connection: Connection, database: Database, name: str) -> None:
    taken = connection.execute(select(studies.c.id).where(studies.c.name == name))
    if taken.first() is not None:
        raise StoreError(
            f"{database.name}: there is a study {name!r} already", argument="name", found=name
        )


def names(database: Database) -> list[str]:
    """Return the names of the studies, the oldest first."""
    database.require()
    with database.reading() as connection:
        query = select(studies.c.name).order_by(studies.c.id)
        return [str(row.name) for row in connection.execute(query)]


def open_records(database: Database, name: str) -> tuple[Records, str]:
    """Open the records of an existing study; return them and its terms."""
    known_names = ", ".join(repr(each) for each in names(database)) or "none"
    with database.reading() as connection:
        query = select(studies.c.id, studies.c.form, studies.c.terms)
        found = connection.execute(query.where(studies.c.name == name)).first()
    if found is None:
        raise StoreError(
            f"{database.name}: no study {name!r}; there are: {known_names}",
            argument="name",
            found=name,
            expected=known_names,
        )
    if found.form != FORM:
        raise StoreError(
            f"{database.name}: study {name!r} has format {found.form}, this version of tightrope "
            f"reads format {FORM}",
            argument="form",
            found=found.form,
            expected=str(FORM),
        )
    return Records(database, int(found.id)), str(found.terms)


@final
class Records:
    """The records of one study in a database, given by its number there."""

    def __init__(self, database: Database, study: int) -> None:
        self.database, self._study = database, study
        self._mine = select(studies.c.n_told).where(studies.c.id == study)

    @property
    def n_told(self) -> int:
        """Episodes told so far."""
        with self.database.reading() as connection:
            return self._count(connection.execute(self._mine).scalar_one())

    def add(self, batch: dict[str, Entry], most: int) -> Receipt:
        """Record episodes: either all are durable when this returns, or none is recorded.

        ``batch`` has them by id, in order; ``most`` is the largest number of episodes.
        """
        with self.database.writing() as connection:
            # locked until the end: numbers follow the order of commits
            before = self._count(connection.execute(self._mine.with_for_update()).scalar_one())
            last = connection.execute(self._numbers(func.max)).scalar_one()
            if before != (last or 0):
                raise self._corrupt_error(f"{before} were told, but the last has number {last}")
            there = self._entries(connection, list(batch))
            new = [
                each for key, each in batch.items() if not is_known(each, there.get(key), "before")
            ]
            if before + len(new) > most:
                raise DataError(
                    f"the study was made for {most} episodes and has {before}: {len(new)} more "
                    "are too many, and nothing was written; create another study for more",
                    argument="episodes",
                    found=before + len(new),
                    expected=f"at most {most}",
                )
            lead = {"study": self._study, "told_at": _now()}
            rows = [
                {**lead, "number": number, **_columns(entry, number)}
                for number, entry in enumerate(new, before + 1)
            ]
            if rows:
                connection.execute(insert(episodes), rows)
                count = update(studies).where(studies.c.id == self._study)
                connection.execute(count.values(n_told=before + len(new)))
        return Receipt(len(new), len(batch) - len(new), before + len(new))

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Yield the episodes after number ``after``, in order.

        Raises a `StoreError` if the numbers in the database are not 1, 2, ... without gaps.
        """
        self._require_all()
        columns = (episodes.c[name] for name in Row.__dataclass_fields__)
        every = select(*columns).where(episodes.c.study == self._study)
        while True:
            query = every.where(episodes.c.number > after).order_by(episodes.c.number)
            with self.database.reading() as connection:
                found = connection.execute(query.limit(AT_ONCE)).all()
            for row in found:
                after += 1
                if row.number != after:
                    raise self._corrupt_error(f"number {row.number}, expected {after}")
                yield Row(*row)
            if len(found) < AT_ONCE:
                return

    def _require_all(self) -> None:
        # one statement, so that no episode is added between two counts
        counts = [
            self._numbers(each).scalar_subquery() for each in (func.count, func.min, func.max)
        ]
        query = self._mine.add_columns(*counts)
        with self.database.reading() as connection:
            n_told, n_rows, first, last = connection.execute(query).one()
        expected = (n_told, 1, n_told) if n_told else (0, None, None)
        if (n_rows, first, last) != expected:
            span = f", numbers {first} to {last}" if n_rows else ""
            raise self._corrupt_error(f"{n_told} were told, {n_rows} are there{span}")

    def _numbers(self, of: Callable[[Any], Any]) -> Select[Any]:
        return select(of(episodes.c.number)).where(episodes.c.study == self._study)

    def _corrupt_error(self, words: str) -> StoreError:
        return StoreError(
            f"{self.database.name}: the episodes of the study are corrupt in the database: {words}",
            argument="episodes",
            found=words,
        )

    def recommendations(self) -> dict[int, Advice]:
        """Return what was recommended, by policy number."""
        query = select(recommended.c.number, recommended.c.content)
        with self.database.reading() as connection:
            if not inspect(connection).has_table(recommended.name):  # of an older version
                return {}
            found = connection.execute(query.where(recommended.c.study == self._study)).all()
        return {row.number: Advice.from_json(row.content) for row in found}

    def recommend(self, number: int, advice: Advice) -> Advice:
        """Store the advice for a policy number and return what is stored then.

        The first draw stays. Only if this one is the baseline and the stored one is not, which
        takes another version of the library or another machine, the safe one of the two replaces
        it.
        """
        mine = (recommended.c.study == self._study) & (recommended.c.number == number)
        with self.database.reading() as connection:
            is_new_table = not inspect(connection).has_table(recommended.name)
        if is_new_table:
            self.database.make()
        with self.database.writing() as connection:
            connection.execute(self._mine.with_for_update())  # one after the other
            row = connection.execute(select(recommended.c.content).where(mine)).first()
            stored = None if row is None else Advice.from_json(row.content)
            if stored is not None and (stored.plays_baseline or not advice.plays_baseline):
                return stored
            if stored is not None:
                connection.execute(delete(recommended).where(mine))
            values = {"number": number, "content": advice.as_json(), "made_at": _now()}
            connection.execute(insert(recommended).values(study=self._study, **values))
        return advice

    def delete(self) -> int:
        """Delete the study; returns the number of its episodes."""
        with self.database.writing() as connection:
            count = self._count(connection.execute(self._mine.with_for_update()).scalar_one())
            for table in (recommended, states, episodes):
                if inspect(connection).has_table(table.name):
                    connection.execute(delete(table).where(table.c.study == self._study))
            connection.execute(delete(studies).where(studies.c.id == self._study))
        return count

    def rename(self, name: str) -> None:
        """Rename the study, unless another one has that name."""
        with self.database.writing() as connection:
            connection.execute(self._mine.with_for_update())
            _require_free(connection, self.database, name)
            mine = update(studies).where(studies.c.id == self._study)
            connection.execute(mine.values(name=name))

    def undo(self) -> str:
        """Remove the last episode; returns its id.

        Recommendations stay, except those made after it: the draw for the policy that is now the
        next one was made before it was told.
        """
        with self.database.writing() as connection:
            count = self._count(connection.execute(self._mine.with_for_update()).scalar_one())
            if count == 0:
                raise StoreError(
                    f"{self.database.name}: no episode was told yet", argument="n_told", found=0
                )
            last = (episodes.c.study == self._study) & (episodes.c.number == count)
            found = connection.execute(select(episodes.c.episode).where(last)).first()
            if found is None:
                raise self._corrupt_error(f"{count} were told, but there is no number {count}")
            connection.execute(delete(episodes).where(last))
            later = [(states, count)]
            if inspect(connection).has_table(recommended.name):
                later.append((recommended, count + 1))
            for table, first in later:
                mine = (table.c.study == self._study) & (table.c.number >= first)
                connection.execute(delete(table).where(mine))
            mine_only = update(studies).where(studies.c.id == self._study)
            connection.execute(mine_only.values(n_told=count - 1))
        return str(found.episode)

    @property
    def snapshot(self) -> Snapshot | None:
        """The last saved state of the learner; None if there is none."""
        query = select(states.c.number, states.c.version, states.c.content)
        with self.database.reading() as connection:
            row = connection.execute(query.where(states.c.study == self._study)).first()
        # an invalid row is recreated
        if row is None or not isinstance(row.number, int):
            return None
        if not isinstance(row.content, (bytes, memoryview)):
            return None
        return Snapshot(row.number, row.version, bytes(row.content))

    def save_snapshot(self, state: Snapshot) -> None:
        """Save a learner's state, unless it or one after more episodes is saved already.

        Raises a `StoreError` rather than wait long: the state can be recomputed.
        """
        if state == self.snapshot:
            return
        mine = states.c.study == self._study
        query = select(states.c.number, states.c.version).where(mine)
        with self.database.writing(patience=KEEPING) as connection:
            connection.execute(self._mine.with_for_update())  # one after the other
            old = connection.execute(query).first()
            number = old.number if old is not None and old.version == state.version else None
            if isinstance(number, int) and number > state.number:
                return
            connection.execute(delete(states).where(mine))
            connection.execute(insert(states).values(study=self._study, **vars(state)))

    def _count(self, found: Any) -> int:
        """Return the number of episodes in the row of the study."""
        if not isinstance(found, int) or found < 0:
            raise StoreError.about(
                "n_told",
                where=f"{self.database.name}: the study is corrupt",
                verb="is",
                found=found,
                expected="a whole number of at least 0",
            )
        return found

    def _entries(self, connection: Connection, some: list[str]) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for first in range(0, len(some), AT_ONCE):
            query = select(episodes.c.episode, episodes.c.content, episodes.c.policy).where(
                episodes.c.study == self._study,
                episodes.c.episode.in_(some[first : first + AT_ONCE]),
            )
            found |= {row.episode: Entry(*row) for row in connection.execute(query)}
        return found


def is_known(entry: Entry, other: Entry | None, when: str) -> bool:
    """Whether an episode is recorded; raises if it is recorded with other content."""
    if other is None or entry == other:
        return other is not None
    what = "another policy number" if entry.content == other.content else "other content"
    raise DataError(
        f"{entry.place}episode {entry.episode!r}: told {when} with {what}; nothing was written",
        argument="episode",
        entry=entry.episode,
        found=what,
    )


def replay(row: Row, n_constraints: int) -> Episode:
    """Return the episode of a row."""
    try:
        return episode_of(row.content, n_constraints)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise corrupt_episode(row, error) from error


def corrupt_episode(row: Row, error: Exception) -> StoreError:
    """Return the error for a corrupt row."""
    return StoreError(
        f"episode {row.episode!r}, number {row.number} of the study, is corrupt in the database: "
        f"{error}",
        argument="episode",
        entry=row.episode,
        found=row.number,
    )


def _columns(entry: Entry, number: int) -> dict[str, Any]:
    """Return the row of a new entry; raises if it names a later policy."""
    if entry.policy is not None and entry.policy > number:
        raise DataError(
            f"{entry.place}episode {entry.episode!r}: policy: {entry.policy}, but it is number "
            f"{number} of the study, and no policy after {number} was asked for; nothing was "
            "written",
            argument="policy",
            entry=entry.episode,
            found=entry.policy,
            expected=f"at most {number}",
        )
    return {"episode": entry.episode, "content": entry.content, "policy": entry.policy}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
