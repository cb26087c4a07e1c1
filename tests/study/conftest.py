"""Databases for the tests: SQLite files, and a private PostgreSQL server."""

from __future__ import annotations

from itertools import count

import pytest

from servers import running_server


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server of our own."""
    with running_server() as server:
        yield server


NUMBERS = count()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    """A database with nothing in it: a file, or a URL."""
    if request.param == "sqlite":
        return str(tmp_path / "studies.sqlite")
    import psycopg

    folder = request.getfixturevalue("server").folder
    name = f"test{next(NUMBERS)}"
    with psycopg.connect(host=str(folder), user="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"postgresql://postgres@/postgres?host={folder}&options=-csearch_path%3D{name}"
