"""``tightrope study tell``, and the list of studies: what needs no learner, so that it is quick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tightrope.cli.progress import working
from tightrope.cli.screen import emit, say, table
from tightrope.study.sources import told_in
from tightrope.study.study import Study
from tightrope.study.telling import Told
from tightrope.study.terms import Terms

__all__ = ["count", "list_all", "tell", "terms_data"]


def tell(db: str, name: str, files: Sequence[Path], as_json: bool) -> None:
    """Write episodes down."""
    study = Study(db, name)
    with working(f"telling {name}", "episodes") as work:

        def counted() -> Iterator[Told]:
            for k, told in enumerate(told_in(files, study.terms), 1):
                work.report(k)
                yield told

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
    found = [Study(db, name) for name in Study.names(db)]
    if as_json:
        emit(
            [
                {"study": study.name, "told": study.n_told, **terms_data(study.terms)}
                for study in found
            ]
        )
        return
    rows = [
        [study.name, study.terms.algorithm, str(study.n_told), str(study.terms.episodes)]
        for study in found
    ]
    table(["study", "algorithm", "told", "of"], rows, numbers=("told", "of"))


def terms_data(terms: Terms) -> dict[str, Any]:
    """The terms as plain data."""
    return {
        "algorithm": terms.algorithm,
        "states": list(terms.states),
        "actions": list(terms.actions),
        "horizon": terms.horizon,
        "budgets": dict(terms.budget),
        "episodes": terms.episodes,
        "delta": terms.delta,
    }


def count(n: int) -> str:
    """So many episodes, in words."""
    return f"{n} episode{'' if n == 1 else 's'}"
