"""The page of the results: Markdown, with its figures beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tightrope.files import put
from tightrope.show.files import save
from tightrope.show.results.section import Section

PAGE = "README.md"
INTRODUCTION = """\
# The paper's claims, measured

Efroni, Mannor and Pirotta (2020), *Exploration-Exploitation in Constrained MDPs*, arXiv:2003.02189,
bound the regret of four learners. This page shows what these learners do, with the constants of the
theorems after correction of the errata, in runs that anyone can repeat:

```sh
tightrope reproduce                # all of it: hours on two cores; may be stopped and called again
tightrope reproduce --quick        # minutes: shows that everything works, proves nothing
```

All of this page is generated from the records of those runs. Regrets are exact: each policy is
evaluated in the true model, against the exact optimum. Reg adds up what episodes lose, what they
save taken off; Reg\N{SUBSCRIPT PLUS SIGN} adds up losses alone. Both are counted for the cost,
against the optimum, and for the constraints, against the budgets (the largest over the
constraints)."""


def write_page(
    folder: Path, sections: Sequence[Section], made_by: Sequence[str], is_quick: bool
) -> Path:
    """Write the page and its figures; where the page is.

    Parameters
    ----------
    folder : Path
        There already.
    sections : sequence of Section
    made_by : sequence of str
        Commit and versions, a line each.
    is_quick : bool
        Whether the runs were short ones, which the page then says first.
    """
    blocks = [INTRODUCTION]
    if is_quick:
        blocks.append("**Quick runs: they show that everything works, and prove nothing.**")
    else:
        found = [f"- {words}" for section in sections for words in section.findings]
        blocks += ["## In short", "\n".join(found)]
    for section in sections:
        blocks += [f"## {section.title}", *section.blocks]
        for name, figure in section.figures.items():
            save(figure, folder / f"{name}.png")
    blocks += ["## Made by", "\n".join(f"- {line}" for line in made_by)]
    path = folder / PAGE
    put(path, ("\n\n".join(blocks) + "\n").encode())
    return path


def made_by_lines(commit: str, versions: Sequence[tuple[Mapping[str, str], int]]) -> list[str]:
    """What made the runs and the page, in lines.

    Parameters
    ----------
    commit : str
        Of the sources that wrote the page; empty when they are not under version control.
    versions : sequence of (mapping of str to str, int)
        Versions of the runs, and of how many.
    """
    lines = [f"page: commit {commit}"] if commit else []
    for table, count in versions:
        said = ", ".join(f"{name} {version}" for name, version in table.items())
        lines.append(f"{count:,} runs: {said or 'versions not known'}")
    return lines
