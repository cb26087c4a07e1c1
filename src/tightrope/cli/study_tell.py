"""``tightrope study tell``, and the list of studies: what needs no learner, so that it is quick."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from tightrope.cli.screen import emit, say, table
from tightrope.cli.study_app import DEFAULT
from tightrope.errors import StoreError
from tightrope.progress import working
from tightrope.study.database import Database
from tightrope.study.sources import told_in
from tightrope.study.study import Study
from tightrope.study.telling import Told
from tightrope.study.terms import COST, Terms

WRITING = "writing, as soon as no other writer is at work"


def tell(db: str, name: str, files: Sequence[Path], as_json: bool) -> None:
    """Write episodes down."""
    study = Study(db, name)
    with working(f"telling {name}", "episodes") as work:

        def counted() -> Iterator[Told]:
            for k, told in enumerate(told_in(files, study.terms), 1):
                work.report(k)
                yield told
            work.note = WRITING

        receipt = study.tell(counted())
    if as_json:
        parts = {"new": receipt.n_new, "known": receipt.n_known, "told": receipt.n_told}
        emit({"study": name, **parts, "episodes": study.terms.episodes})
        return
    known = f", {receipt.n_known} were told before" if receipt.n_known else ""
    say(f"study {name}: {count(receipt.n_new)} written down{known}")
    say(f"told so far: {receipt.n_told} of {study.terms.episodes}", style="dim")


def list_all(db: str, as_json: bool) -> None:
    """Show the studies of a database."""
    listed: list[dict[str, Any]] = []
    for name in Study.names(db):
        try:
            study = Study(db, name)
            listed.append({"study": name, "told": study.n_told, **terms_data(study.terms)})
        except StoreError as error:  # of a newer form, or damaged: the others can be read
            listed.append({"study": name, "error": str(error)})
    if as_json:
        emit(listed)
        return
    rows = [
        [each["study"], each["algorithm"], str(each["told"]), str(each["episodes"])]
        for each in listed
        if "error" not in each
    ]
    table(["study", "algorithm", "told", "of"], rows, numbers=("told", "of"))
    for each in listed:
        if "error" in each:
            say(f"{each['study']} cannot be read: {each['error']}")


def terms_data(terms: Terms) -> dict[str, Any]:
    """The terms as plain data."""
    return {
        "algorithm": terms.algorithm,
        "states": list(terms.states),
        "actions": list(terms.actions),
        "horizon": terms.horizon,
        "budgets": dict(terms.budget),
        "ranges": {name: list(terms.range_of(name)) for name in (COST, *terms.constraints)},
        "episodes": terms.episodes,
        "delta": terms.delta,
    }


def db_words(db: str) -> str:
    """What a command has to say to mean the same database; passwords stay out of it."""
    if db in (DEFAULT, os.environ.get("TIGHTROPE_DB")):
        return ""
    return f" --db {quote(Database(db).name if '://' in db else db)}"


def count(n: int) -> str:
    """So many episodes, in words."""
    return f"{n} episode{'' if n == 1 else 's'}"
