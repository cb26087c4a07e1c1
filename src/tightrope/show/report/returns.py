"""Chapters of the report on Gymnasium environments: tables, sentences and curves of returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.experiments.returns import EXCEEDED, KEPT, ReturnChapter
from tightrope.experiments.statistics import (
    Resamples,
    band_of,
    compare_pairs,
)
from tightrope.show.regret import looks_of
from tightrope.show.report.tables import (
    LEAST_PAIRED,
    Cell,
    Table,
    band_cell,
    number_cell,
    some_pairs,
)
from tightrope.show.report.words import (
    DARK_COLORS,
    curve_statistics,
    format_number,
    interval,
    percent,
)
from tightrope.text import counted, listed


def return_tables(chapter: ReturnChapter, resamples: Resamples) -> dict[str, list[Table]]:
    """Return all tables of a chapter by section of the page."""
    pairs = _pairs(chapter, resamples)
    return {
        "returns": [_sums(chapter, resamples)],
        "pairs": [pairs] if pairs.rows else [],
        "timings": [_timings(chapter)],
    }


def return_contents(tables: dict[str, list[Table]]) -> dict[str, str]:
    """Return the headings of the sections of a chapter, by their ids."""
    sections = {
        "returns": "Realized returns and costs",
        "pairing": "Learners in pairs" if tables["pairs"] else "",
        "time": "Time",
        "specs": "Run specifications",
    }
    return {key: heading for key, heading in sections.items() if heading}


def _sums(chapter: ReturnChapter, resamples: Resamples) -> Table:
    rows = []
    for group in chapter.groups:
        verdicts = [[""] * group.n_seeds, *group.verdicts(chapter.budget)]
        for j, name in enumerate(chapter.quantities):
            cells = [
                band_cell(band_of([group.mean[:, -1, j]], "mean", resamples)),
                band_cell(band_of([group.last[:, j]], "mean", resamples)),
            ]
            if j:
                bound = float(chapter.budget[j - 1])
                cells += [Cell(f"at most {format_number(bound)}", bound), _verdict(verdicts[j])]
            else:
                cells += [Cell("no budget"), Cell("")]
            rows.append((f"{group.name}, {name}", cells))
    columns = [
        "sum per episode",
        "all episodes",
        f"last {chapter.n_last:,}",
        "budget",
        f"kept in the last {chapter.n_last:,}",
    ]
    caption = (
        "Realized sums per episode, mean over seeds. Whether a budget was kept in expectation is "
        "judged for each run from the confidence band of its last episodes, which holds with "
        f"probability {1 - chapter.delta:g}"
    )
    return Table("sums", caption, columns, rows)


def _verdict(verdicts: list[str]) -> Cell:
    n, kept, exceeded = len(verdicts), verdicts.count(KEPT), verdicts.count(EXCEEDED)
    open_ = n - kept - exceeded
    words = [f"yes in {kept}"] if kept else []
    words += [f"no in {exceeded}"] if exceeded else []
    words += [f"cannot tell in {open_}"] if open_ else []
    return Cell(f"{', '.join(words)} of {counted(n, 'run')}", kept, "", exceeded > 0)


def _pairs(chapter: ReturnChapter, resamples: Resamples) -> Table:
    rows = []
    for first, second in some_pairs(chapter.groups):
        seeds, mine, yours = np.intersect1d(first.seeds, second.seeds, return_indices=True)
        if len(seeds) < LEAST_PAIRED:
            continue
        cells = [
            _pair(j == 0, first.last[mine, j], second.last[yours, j], resamples)
            for j in range(len(chapter.quantities))
        ]
        rows.append((f"{first.name} against {second.name}", [Cell(f"{len(seeds)}"), *cells]))
    caption = (
        f"Differences in the last {chapter.n_last:,} episodes over common seeds, first minus "
        "second, and the share of seeds in which the first is better (greater reward, lower cost; "
        "ties count half), each with its 95 % bootstrap interval; bold where that of the "
        "difference excludes zero, not corrected for multiple comparisons"
    )
    return Table("pairs", caption, ["pair", "n", *chapter.quantities], rows)


def _pair(is_reward: bool, first: Floats, second: Floats, resamples: Resamples) -> Cell:
    sign = -1.0 if is_reward else 1.0
    found = compare_pairs(sign * first, sign * second, resamples)
    middle, *ends = (sign * float(part) for part in found.difference)
    low, high = sorted(ends)
    chance, least, most = (float(part) for part in found.improvement)
    note = (
        f"{format_number(low, 3)} to {format_number(high, 3)}\n"
        f"better in {percent(chance)} ({interval(least, most, percent)})"
    )
    return Cell(format_number(middle), middle, note, low > 0 or high < 0)


def _timings(chapter: ReturnChapter) -> Table:
    rows = []
    for group in chapter.groups:
        seconds = group.seconds
        speed = chapter.n_episodes / np.maximum(seconds, 1e-9)
        cells = [Cell(f"{group.n_seeds}", group.n_seeds)]
        cells += [number_cell(each, 3) for each in (seconds.mean(), seconds.sum(), speed.mean())]
        early, relaxed = int(group.ended_early.sum()), int(group.infeasible_plans.sum())
        cells += [Cell(f"{early:,}", early), Cell(f"{relaxed:,}", relaxed)]
        rows.append((group.name, cells))
    columns = ["learner", "runs", "seconds per run", "seconds in total", "episodes per second"]
    columns += ["episodes that ended early", "infeasible plans"]
    return Table("timings", "Time spent in episodes, and episodes of all runs", columns, rows)


def return_summary(chapter: ReturnChapter) -> list[str]:
    """Return the main results in a few sentences."""
    n = len(chapter.groups)
    names = listed([group.name for group in chapter.groups])
    seeds = max(group.n_seeds for group in chapter.groups)
    budgets = [
        f"{name} at most {format_number(bound)}"
        for name, bound in zip(chapter.quantities[1:], chapter.budget.tolist(), strict=True)
    ]
    within = f" with {listed(budgets)} per episode" if budgets else ""
    sentences = [
        f"{names} ran for {chapter.n_episodes:,} episodes of {chapter.horizon} steps in "
        f"{chapter.environment} with {counted(seeds, 'seed')}{' each' if n > 1 else ''}{within}. "
        "The environment is known through its steps alone, so that returns are realized and the "
        "regret is unknown."
    ]
    ranked = sorted(chapter.groups, key=lambda group: -float(group.last[:, 0].mean()))
    rewards = [f"{format_number(float(g.last[:, 0].mean()))} for {g.name}" for g in ranked]
    sentences.append(
        f"The mean {chapter.quantities[0]} in the last {chapter.n_last:,} episodes was "
        f"{listed(rewards)}."
    )
    for i, name in enumerate(chapter.quantities[1:]):
        uses = [f"{format_number(float(g.last[:, 1 + i].mean()))} for {g.name}" for g in ranked]
        sentences.append(
            f"The mean of {name} was {listed(uses)}; the budget is "
            f"{format_number(float(chapter.budget[i]))}."
        )
    return sentences


def return_curves(chapter: ReturnChapter, resamples: Resamples) -> dict[str, Any]:
    """Return all curves of a chapter as plain data."""
    looks = looks_of([group.name for group in chapter.groups])
    return {
        "kinds": [],
        "quantities": list(chapter.quantities),
        "budgets": [None, *chapter.budget.tolist()],
        "groups": [
            {
                "name": group.name,
                "n": group.n_seeds,
                "heuristic": group.is_heuristic,
                "color": [color, DARK_COLORS.get(color, color)],
                "dash": dash,
                "episode": group.episode.tolist(),
                "totals": [
                    curve_statistics(group.recent[:, :, j], resamples)
                    for j in range(len(chapter.quantities))
                ],
            }
            for group, (color, dash) in zip(chapter.groups, looks, strict=True)
        ],
    }
