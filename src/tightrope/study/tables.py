"""The tables of a database of studies.

Every value reaches the database as a bound parameter of these tables, never as part of a statement.
Episodes are numbered in the order in which they were committed, without gaps: whoever has seen
number n has seen all before it.
"""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from tightrope.study.terms import LONGEST

FORM = 1  # of the tables and of what they hold

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
    Column("policy", Integer),  # number of the policy that was played, where it is known
    Column("told_at", String(40), nullable=False),
    UniqueConstraint("study", "episode"),
)

# a learner's state after some episodes: saves time, decides nothing
states = Table(
    "tightrope_states",
    TABLES,
    Column("study", Integer, ForeignKey(studies.c.id), primary_key=True),
    Column("number", Integer, nullable=False),  # episodes it has seen
    Column("version", String(40), nullable=False),  # of the library that wrote it
    Column("content", LargeBinary, nullable=False),
)
