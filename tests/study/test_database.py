"""Where studies are kept: files and URLs, and what is said of those that will not do."""

from __future__ import annotations

import importlib.abc
import os
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

import tightrope as tr
from refusals import refuses
from telling import episode, shape
from tightrope.study import database
from tightrope.study.database import Database


def test_a_file_that_is_not_there_is_not_made_by_looking(tmp_path):
    path = tmp_path / "none.sqlite"
    for look in (lambda: tr.Study(path, "x"), lambda: tr.Study.names(path)):
        with refuses(tr.StoreError, argument=str(path), found="no such database"):
            look()
    assert not path.exists()


def test_a_database_without_studies_is_an_error(where):
    Database(where).make()
    assert tr.Study.names(where) == []


def test_a_file_that_is_no_database_is_named_and_stays(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 1000)
    with refuses(tr.StoreError, argument=str(path), found="file is not a database"):
        tr.Study(path, "x")
    with refuses(tr.StoreError, argument=str(path), found="file is not a database"):
        tr.Study.new(path, "x", shape())
    assert path.read_text().startswith("dear diary")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(tr.StoreError, match="unable to open database file"):
        tr.Study.new(tmp_path / "no" / "x.sqlite", "x", shape())


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("mysql://root@localhost/x", "mysql is not supported, expected a file or postgresql"),
        ("sqlite://", "a database in memory does not persist"),
        (":memory:", "a database in memory does not persist"),
        ("postgresql://u:secret@host:port/x", "invalid URL"),
    ],
)
def test_other_places_are_refused(where, message):
    with pytest.raises(tr.StoreError, match=message) as caught:
        Database(where)
    assert "secret" not in str(caught.value)


def test_a_server_that_does_not_answer_is_named_without_its_password(tmp_path):
    database = Database(f"postgresql://me:secret@/studies?host={tmp_path}")
    with pytest.raises(tr.StoreError, match=r"postgresql://me:\*\*\*@/studies") as caught:
        database.require()
    assert "secret" not in str(caught.value)


def test_reading_a_database_without_studies_does_not_change_it(tmp_path):
    path = tmp_path / "books.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE books (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(tr.StoreError, match=r"books\.db: holds no studies"):
        tr.Study(path, "x")
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["books.db"]


def test_postgres_is_accepted_as_postgresql_in_a_url():
    assert Database("postgres://me:secret@host/x").name == "postgresql://me:***@host/x"


def test_a_sqlite_url_is_a_file(tmp_path):
    tr.Study.new(f"sqlite:///{tmp_path}/x.sqlite", "pump", shape())
    assert tr.Study.names(tmp_path / "x.sqlite") == ["pump"]


class Hidden(importlib.abc.MetaPathFinder):
    """Makes a package look as if it were not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "psycopg":
            raise ModuleNotFoundError(f"No module named {name!r}")
        return None


def test_without_psycopg_the_error_names_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Hidden(), *sys.meta_path])
    with refuses(tr.DependencyError, r"tightrope\[postgres\]", argument="psycopg"):
        Database("postgresql://me@host/x")


def test_a_server_with_asynchronous_commits_is_set_to_synchronous(server):
    options = "-csynchronous_commit%3Doff"
    database = Database(f"postgresql://postgres@/postgres?host={server.folder}&options={options}")
    show = text("SHOW synchronous_commit")
    with database.reading() as connection:
        assert connection.execute(show).scalar() == "off"
    with database.writing() as connection:
        assert connection.execute(show).scalar() == "on"


def test_an_error_inside_a_transaction_undoes_it(where):
    study = tr.Study.new(where, "pump", shape())
    study.tell([episode(1)])

    def fail():
        with study._records.database.writing() as connection:
            connection.execute(text("DELETE FROM tightrope_episodes"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [row.episode for row in study.rows()] == ["day 1"]


NOBODY = 65534


@pytest.fixture
def shelf():
    """A folder that everybody may look into."""
    folder = Path(tempfile.mkdtemp(prefix="tightrope-shelf-"))
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def only_looking(folder):
    """Whoever runs the block cannot write the folder; for root that takes being somebody else."""
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


def test_studies_in_a_folder_that_cannot_be_written_are_read(shelf):
    path = shelf / "x.sqlite"
    tr.Study.new(path, "pump", shape()).tell([episode(1), episode(2)])
    with only_looking(shelf):
        assert tr.Study.names(path) == ["pump"]
        study = tr.Study(path, "pump")
        assert [row.episode for row in study.rows()] == ["day 1", "day 2"]
        for write in (
            lambda: study.tell([episode(3)]),
            lambda: tr.Study.new(path, "other", shape()),
        ):
            with pytest.raises(tr.StoreError, match="its folder is read-only"):
                write()
    assert [each.name for each in shelf.iterdir()] == ["x.sqlite"]


def test_what_is_only_in_the_log_of_a_folder_that_cannot_be_written_is_read_too(shelf):
    path = shelf / "x.sqlite"
    tr.Study.new(path, "pump", shape())
    with closing(sqlite3.connect(path)) as other:
        other.execute("SELECT * FROM tightrope_studies").fetchall()  # the log stays while it looks
        tr.Study(path, "pump").tell([episode(1)])
        for each in shelf.iterdir():
            each.chmod(0o644)
        with only_looking(shelf):
            assert tr.Study(path, "pump").n_told == 1


def test_a_policy_is_given_where_no_state_can_be_kept(tmp_path, monkeypatch):
    study = tr.Study.new(tmp_path / "x.sqlite", "pump", shape())
    study.tell([episode(1)])
    monkeypatch.setattr(database, "_is_read_only", lambda file: True)
    assert study.ask().n_told == 1
    assert study._records.snapshot is None


def test_a_policy_is_given_by_a_server_that_only_reads(server):
    where = f"postgresql://postgres@/postgres?host={server.folder}&options="
    tr.Study.new(where + "-cextra_float_digits%3D1", "read only", shape())
    study = tr.Study(where + "-cdefault_transaction_read_only%3Don", "read only")
    assert study.ask().number == 1
    assert study._records.snapshot is None


def test_a_policy_does_not_wait_long_for_a_writer(tmp_path, monkeypatch):
    monkeypatch.setattr("tightrope.study.records.KEEPING", 0.01)
    path = tmp_path / "x.sqlite"
    study = tr.Study.new(path, "pump", shape())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert study.ask().number == 1
        other.execute("ROLLBACK")
    assert study._records.snapshot is None
