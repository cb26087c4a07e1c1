"""The database of studies: a SQLite file, or a PostgreSQL server by URL.

Committed transactions survive crashes of the process and the machine: the write-ahead log is synced
at every commit. Writers are serialized from their first statement on; readers do not wait.

Values are always bound parameters, never part of a statement. Episodes are numbered in commit
order without gaps: a reader that has read number n has read all before it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from tightrope.errors import DependencyError, StoreError
from tightrope.files import as_path, first_line, reason
from tightrope.study.terms import LONGEST

PATIENCE = 60.0  # seconds that a writer waits for others, or a connection for a server
WRITES = "tightrope_writes"  # milliseconds that a writer waits for others
NO_WRITING = "its folder is read-only, so its studies cannot be changed"
# a server may be configured to answer before its log is on disk; studies override that
WAIT = (
    "SELECT set_config('synchronous_commit', 'on', true) "
    "WHERE current_setting('synchronous_commit') = 'off'"
)
MAKING = 0x7469676874  # key of the lock under which tables are made

FORM = 1  # of the tables and their content

TABLES = MetaData()

studies = Table(
    "tightrope_studies",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("name", String(LONGEST), nullable=False, unique=True),
    Column("form", Integer, nullable=False),
    Column("terms", Text, nullable=False),  # JSON
    Column("made_at", String(40), nullable=False),
    Column("n_told", Integer, nullable=False),
)

episodes = Table(
    "tightrope_episodes",
    TABLES,
    Column("study", Integer, ForeignKey(studies.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # from 1, in commit order
    Column("episode", String(LONGEST), nullable=False),
    Column("content", Text, nullable=False),  # JSON
    Column("policy", Integer),  # number of the played policy, if known
    Column("told_at", String(40), nullable=False),
    UniqueConstraint("study", "episode"),
)

# a learner's state after some episodes: saves time, does not change results
states = Table(
    "tightrope_states",
    TABLES,
    Column("study", Integer, ForeignKey(studies.c.id), primary_key=True),
    Column("number", Integer, nullable=False),  # episodes it has seen
    Column("version", String(40), nullable=False),  # of the library that wrote it
    Column("content", LargeBinary, nullable=False),
)

# what was recommended, by policy number: made with the first `ask`, and never changed but from the
# planned policy to the baseline
recommendations = Table(
    "tightrope_recommendations",
    TABLES,
    Column("study", Integer, ForeignKey(studies.c.id), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),  # JSON
    Column("made_at", String(40), nullable=False),
)


@final
class Database:
    """A database of studies: a file, or a URL such as ``postgresql://user@host/name``."""

    def __init__(self, where: str | Path) -> None:
        url = _url(where)
        self.file = Path(str(url.database)) if url.get_backend_name() == "sqlite" else None
        # without the password and the query, which may contain one
        shown = url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
        shown += "?..." if url.query else ""
        self.name = str(self.file or shown)
        try:
            self._engine = _engine(url)
        except ModuleNotFoundError as error:
            raise DependencyError(
                f"{self.name}: PostgreSQL needs psycopg; pip install 'tightrope[postgres]'",
                argument="psycopg",
            ) from error

    def make(self) -> None:
        """Create missing tables."""
        if self.file is not None:
            if self._exists() and _is_read_only(self.file):
                raise StoreError(f"{self.name}: {NO_WRITING}", argument=self.name)
            with self._name_errors(), self._engine.connect() as connection:
                # stored in the file; no transaction may be open
                connection.connection.cursor().execute("PRAGMA journal_mode = WAL")
        with self.writing() as connection:
            if self.file is None:
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (MAKING,))
            TABLES.create_all(connection)

    def _exists(self) -> bool:
        assert self.file is not None
        try:
            return self.file.exists()
        except OSError as error:  # a name that is too long, or an unreadable directory
            raise StoreError(
                f"{self.name}: cannot be read: {reason(error)}", argument=self.name
            ) from error

    def require(self) -> None:
        """Raise if there are no studies, before a file is created by mistake."""
        remedy = "create a study first"
        if self.file is not None and not self._exists():
            raise StoreError(
                f"{self.name}: no such database; {remedy}",
                argument=self.name,
                found="no such database",
            )
        with self.reading() as connection:
            if not inspect(connection).has_table(studies.name):
                raise StoreError(
                    f"{self.name}: holds no studies; {remedy}",
                    argument=self.name,
                    found="no studies",
                )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read-only transaction within a context."""
        with self._name_errors(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, patience: float = PATIENCE) -> Iterator[Connection]:
        """Open a writing transaction within a context, durable as a whole when it ends.

        It waits at most ``patience`` seconds for other writers.
        """
        with self._name_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(**{WRITES: round(1000 * patience)})
            with connection.begin():
                yield connection

    @contextmanager
    def _name_errors(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            words = first_line(error.orig)
            if self.file is not None and self.file.exists() and _is_read_only(self.file):
                words = f"{words}: {NO_WRITING}"
            raise StoreError(f"{self.name}: {words}", argument=self.name, found=words) from error
        except (SQLAlchemyError, sqlite3.Error, UnicodeError) as error:
            found = first_line(error)
            raise StoreError(f"{self.name}: {found}", argument=self.name, found=found) from error


def _url(where: str | Path) -> URL:
    text = str(where) if isinstance(where, str) else str(as_path("database", where))
    if "://" not in text:
        return _file_url(text)
    try:
        url = make_url(text)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise StoreError(
            "database: invalid URL (not shown, as it may contain a password); "
            "expected postgresql://user@host/name",
            argument="database",
            expected="postgresql://user@host/name",
        ) from error
    if backend == "postgres":
        backend = "postgresql"
    if backend not in ("sqlite", "postgresql"):
        raise StoreError(
            f"database: {backend} is not supported, expected a file or postgresql://",
            argument="database",
            found=backend,
            expected="a file or postgresql://",
        )
    if backend == "sqlite":
        return _file_url(url.database or "")
    return url.set(drivername="postgresql+psycopg")


def _file_url(text: str) -> URL:
    if text in ("", ":memory:"):
        raise StoreError(
            "database: a database in memory does not persist; give a file",
            argument="database",
            found=text,
            expected="a file",
        )
    return URL.create("sqlite", database=str(as_path("database", text)))


def _engine(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        arguments = {"connect_timeout": int(PATIENCE)}
        # whatever the server's default: a writer that has waited must see what the
        # one before it has written
        engine = create_engine(
            url, poolclass=NullPool, connect_args=arguments, isolation_level="READ COMMITTED"
        )
        event.listen(engine, "begin", _begin_on_server)
        return engine
    file = Path(str(url.database))
    engine = create_engine(url, poolclass=NullPool, creator=lambda: _open(file))
    event.listen(engine, "connect", _prepare_file)
    event.listen(engine, "begin", _begin_on_file)
    return engine


def _is_read_only(file: Path) -> bool:
    as_who_asks = os.access in os.supports_effective_ids
    return not os.access(file.parent, os.W_OK, effective_ids=as_who_asks)


def _open(file: Path) -> sqlite3.Connection:
    """Open a connection; in a read-only directory, one that needs no further files."""
    if not (file.exists() and _is_read_only(file)):
        return sqlite3.connect(file, timeout=PATIENCE)
    log = file.with_name(f"{file.name}-wal")
    # a log with episodes in it must be read too, and SQLite does so where it finds its files
    is_whole = not log.exists() or log.stat().st_size == 0
    mode = "immutable=1" if is_whole else "mode=ro"
    return sqlite3.connect(f"{file.absolute().as_uri()}?{mode}", timeout=PATIENCE, uri=True)


def _prepare_file(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions begin explicitly
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_on_file(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    if writes:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {writes:d}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begin_on_server(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    if writes:
        connection.exec_driver_sql(WAIT)
        connection.exec_driver_sql("SELECT set_config('lock_timeout', %s, true)", (f"{writes:d}",))
