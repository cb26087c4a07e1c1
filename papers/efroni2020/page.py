"""The page of results: sections from records, the opening sentences and table, and the origin."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from cancellation import cancellation_section, oscillation_section
from family import instances_section, table_section
from growth import constants_section, coverage_section, growth_section, not_exceeded
from league import league_section, phase_section, sensitivity_section
from peers import dope_section, upac_section
from records import Cell, Record, cells_of
from section import Section, duration, rows_of
from speed import speed_section
from tightrope.experiments.scheduler import source_commit
from tightrope.experiments.statistics import Resamples
from tightrope.files import put
from tightrope.learners import LEARNERS
from tightrope.show.figures import save

SEED = 0  # of the resamples, so that the same records give the same page
TITLE = "# Results: the paper's claims, measured"
ABOUT = """\
Efroni, Mannor and Pirotta (2020), *Exploration-Exploitation in Constrained MDPs*,
[arXiv:2003.02189](https://arxiv.org/abs/2003.02189), bound the regret of four learners. This
page measures them, and the other learners of this library. Regrets are exact: each policy is
evaluated in the true model, against the exact optimum. Reg sums the excess of all episodes;
Reg\N{SUBSCRIPT PLUS SIGN} sums positive parts only. Both are counted for the cost, against the
optimum, and for the constraints, against the budgets (the largest over the constraints). Costs
are Bernoulli draws. rho, the bound on the multipliers, is computed from the true model."""
REPEAT = """\
```sh
make reproduce ARGS="--from records"        # this page from the stored records, about a minute
make reproduce ARGS="--check 20"            # repeats 20 runs, compares all their numbers
make reproduce ARGS="--quick"               # short runs of every part; says how long they take
make reproduce ARGS="--part league --add"   # adds missing runs of a part to the records
make reproduce                              # every run: hours
```

`--from records` proves that text, tables and figures follow from the records. `--check` proves
that the records follow from the code: a run is repeated with the same seed and must give the same
bits, which holds for the same versions on a processor with the same instructions. `--quick` proves
only that every part runs. Records are compact: last regrets in double precision, curves at a few
episodes in single precision, and a SHA-256 of everything that the run recorded."""
BOUNDED = ("growth", "instances", "table")  # parts whose runs are compared with the bounds
TABLE_FROM = "<!-- this table is written by papers/efroni2020/reproduce.py -->"
TABLE_TO = "<!-- end of the table -->"
SUMMARY_COLUMNS = ["experiment", "runs", "K", "delta", "CPU time", "result"]
Sections = dict[str, list[Section]]  # by part
WORDS = {
    "growth": "regret against the number of episodes",
    "instances": "many instances of a family",
    "table": "sizes of a problem, one at a time",
    "oscillation": "single runs, episode by episode",
    "constants": "smaller confidence radii",
    "good-event": "coverage of the confidence sets",
    "league": "all learners on nine problems",
    "phase": "policies of single runs against the frontier",
    "sensitivity": "rho, steps, delta of the dual learners",
    "speed": "time of an episode",
    "dope": "comparison with the DOPE repository",
    "upac": "comparison with a published OptPrimalDual",
}


def sections_of(found: Mapping[str, Sequence[Record]]) -> Sections:
    """The sections of the parts that are there, in the order of the page."""
    resamples = Resamples(np.random.default_rng(SEED))
    cells = {part: cells_of(records) for part, records in found.items()}
    family = cells.get("instances", [])
    make: dict[str, Callable[[list[Cell]], list[Section]]] = {
        "growth": lambda c: [
            growth_section(c, resamples, np.random.default_rng(SEED)),
            cancellation_section(c, resamples),
        ],
        "instances": lambda c: [instances_section(c, np.random.default_rng(SEED))],
        "table": lambda c: [table_section([*c, *family], np.random.default_rng(SEED))],
        "oscillation": lambda c: [oscillation_section(c)],
        "constants": lambda c: [constants_section(c)],
        "good-event": lambda c: [coverage_section(c)],
        "league": lambda c: [league_section(c, np.random.default_rng(SEED))],
        "phase": lambda c: [phase_section(c)],
        "sensitivity": lambda c: [sensitivity_section(c)],
        "speed": lambda c: [speed_section(c)],
        "dope": lambda c: [dope_section(c, resamples)],
        "upac": lambda c: [upac_section(c, resamples)],
    }
    return {part: build(_order(cells[part])) for part, build in make.items() if part in cells}


def _order(cells: Sequence[Cell]) -> list[Cell]:
    """Cells by learner as registered, then by their configuration."""
    names = list(LEARNERS)
    rank = {name: k for k, name in enumerate(names)}
    return sorted(
        cells, key=lambda c: (rank.get(c.algorithm, len(names)), c.spec.episodes, c.spec.to_json())
    )


def write_page(
    folder: Path,
    parts: Sections,
    found: Mapping[str, Sequence[Record]],
    is_quick: bool,
) -> Path:
    """Write the page as Markdown with its figures in the same folder; return its path."""
    blocks = [TITLE]
    if is_quick:
        blocks.append("**Quick runs: they show that every part works, and prove nothing.**")
    sections = [section for mine in parts.values() for section in mine]
    findings = [words for section in sections for words in section.findings]
    findings.insert(1, _guaranteed(found))
    blocks += ["\n".join(f"- {words}" for words in findings), _summary(parts, found), ABOUT]
    for section in sections:
        blocks += [f"## {section.title}", *section.blocks]
        for name, figure in section.figures.items():
            save(figure, folder / f"{name}.png")
    blocks += ["## Repeat it", REPEAT, "## Made by", _made_by(found)]
    path = folder / "README.md"
    put(path, ("\n\n".join(blocks) + "\n").encode())
    return path


def with_table(readme: str, parts: Sections) -> str:
    """The text of the front page with its table of experiments written anew."""
    before, rest = readme.split(TABLE_FROM, 1)
    after = rest.split(TABLE_TO, 1)[1]
    rows = [[WORDS[part], _answer(mine)] for part, mine in parts.items()]
    lines = [["experiment", "result"], ["", ""], *rows]
    width = [max(len(line[k]) for line in lines) for k in range(2)]
    lines[1] = ["-" * n for n in width]
    table = [f"| {line[0]:<{width[0]}} | {line[1]:<{width[1]}} |" for line in lines]
    return "\n".join([f"{before}{TABLE_FROM}\n", *table, f"\n{TABLE_TO}{after}"])


def _answer(sections: Sequence[Section]) -> str:
    """What came out of a part, in plain words."""
    return "; ".join(words for section in sections for words in section.answers)


def _summary(parts: Sections, found: Mapping[str, Sequence[Record]]) -> str:
    """One row per experiment: how many runs, of which length, in what time, with what result."""
    rows = []
    for part, records in found.items():
        episodes = sorted({each.spec.episodes for each in records})
        deltas = sorted({each.spec.delta for each in records})
        seconds = float(np.nansum([each.table["cpu_seconds"] for each in records]))
        row = [f"{len(records):,}", _range(episodes), _range(deltas), duration(seconds)]
        rows.append([WORDS[part], *row, _answer(parts[part])])
    return rows_of(SUMMARY_COLUMNS, rows, n_last=1)


def _range(values: Sequence[float]) -> str:
    low, high = (
        f"{value:,.0f}" if value >= 1 else f"{value:g}" for value in (values[0], values[-1])
    )
    return low if low == high else f"{low} to {high}"


def _made_by(found: Mapping[str, Sequence[Record]]) -> str:
    """Commits, versions, processors and CPU time of the runs, in lines."""
    counts: dict[tuple[str, str, str], list[float]] = {}
    for records in found.values():
        for each in records:
            key = (each.table["commit"], each.table["processor"], each.table["versions"])
            counts.setdefault(key, []).append(float(np.nan_to_num(each.table["cpu_seconds"])))
    every = sum(sum(seconds) for seconds in counts.values())
    lines = [
        f"all runs: {every / 3600:,.1f} CPU-hours",
        f"page: commit {source_commit() or 'unknown'}",
    ]
    for (commit, processor, versions), seconds in counts.items():
        told = ", ".join(f"{name} {version}" for name, version in json.loads(versions).items())
        lines.append(
            f"{len(seconds):,} runs: commit {commit or 'unknown'}, {processor}, "
            f"{duration(sum(seconds))} of CPU time; {told}"
        )
    return "\n".join(f"- {line}" for line in lines)


def _guaranteed(found: Mapping[str, Sequence[Record]]) -> str:
    """How often bounds were exceeded, and confidence sets with guarantees missed the true model."""
    events = ("transition", "cost", "constraint", "visits")
    audited, missed = 0, 0
    for records in found.values():
        for each in records:
            if each.table["is_audited"] and not each.table["is_heuristic"]:
                audited += 1
                missed += any(each.table[f"bad_{name}"] > 0 for name in events)
    bounded = [cell for part in BOUNDED for cell in cells_of(found.get(part, []))]
    words = not_exceeded(bounded) if bounded else ""
    told = f"the confidence sets missed the true model in {missed} of {audited:,} runs"
    if not words:
        return f"With guaranteed constants {told}."
    return f"{words[0].upper()}{words[1:]}; with guaranteed constants {told}."
