"""Tables of the report: those of each chapter, and one over all problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np

from tightrope.arrays import Floats
from tightrope.experiments.run import spans_of
from tightrope.experiments.statistics import (
    STATISTICS,
    Band,
    Resamples,
    band_of,
    compare_pairs,
    slope_of,
)
from tightrope.experiments.summary import A_DECADE, Chapter, Findings, Group
from tightrope.model.units import label_of
from tightrope.show.regret import KINDS
from tightrope.show.report.words import (
    DASH,
    format_number,
    hundredths,
    interval,
    percent,
)
from tightrope.text import listed

ABOVE = 1e-9  # of a budget; a smaller excess is rounding
LEAST_PAIRED = 2  # common seeds
T = TypeVar("T")
MOST_PAIRED = 6  # groups compared in all pairs; with more, each is compared with the first


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text, value and whether it is highlighted."""

    text: str
    value: float | None = None  # for programs that read the page
    note: str = ""  # further lines, smaller
    is_marked: bool = False


def number_cell(value: float, count: int = 4) -> Cell:
    """Return a cell with a number in at most ``count`` digits."""
    return Cell(format_number(value, count), float(value))


def band_cell(
    band: Band, words: Callable[[float], str] = format_number, is_marked: bool = False
) -> Cell:
    """Return a cell with a statistic, and its band below."""
    middle, low, high = (float(part) for part in band)
    value = middle if math.isfinite(middle) else None
    return Cell(words(middle), value, interval(low, high, words), is_marked)


@dataclass(frozen=True)
class Table:
    """A table of the page."""

    key: str  # its id
    caption: str  # what it shows, with n and band
    columns: Sequence[str]  # the first is that of the row names
    rows: Sequence[tuple[str, Sequence[Cell]]]  # name and cells of each row
    statistics: Sequence[str] = ()  # of each row, if the page can select one


def chapter_tables(chapter: Chapter, resamples: Resamples) -> dict[str, list[Table]]:
    """Return all tables of a chapter by section of the page."""
    pairs = _pairs(chapter, resamples)
    has_budgets = chapter.cmdp.n_constraints > 0
    return {
        "regret": [_ends(chapter, resamples), _slopes(chapter, resamples)],
        "violations": (
            [_violations(chapter, resamples), _constraints(chapter)] if has_budgets else []
        ),
        "averages": [_averages(chapter, resamples)] if _averaged(chapter) else [],
        "audit": [_audit(chapter)],
        "pairs": [pairs] if pairs.rows else [],
        "timings": [_timings(chapter)],
    }


def _kinds(chapter: Chapter) -> dict[str, str]:
    return dict(list(KINDS.items())[: 4 if chapter.cmdp.n_constraints else 2])


def _ends(chapter: Chapter, resamples: Resamples) -> Table:
    """Return every statistic of the four regrets at the last episode."""
    kinds = _kinds(chapter)
    rows, shown = [], []
    for statistic in STATISTICS:
        for group in chapter.groups:
            bands = [band_of([group.regret[kind][:, -1]], statistic, resamples) for kind in kinds]
            rows.append((f"{group.name}, {statistic}", [band_cell(band) for band in bands]))
            shown.append(statistic)
    caption = f"Regrets after {chapter.n_episodes:,} episodes{_relative(chapter)}"
    return Table("ends", caption, ["learner", *kinds.values()], rows, shown)


def _relative(chapter: Chapter) -> str:
    """Return what the largest over constraints of different units is relative to."""
    are_alike = chapter.cmdp.units.are_alike
    return "" if are_alike else "; of constraints, the largest relative to its range of a step"


def _slopes(chapter: Chapter, resamples: Resamples) -> Table:
    kinds = _kinds(chapter)
    rows = []
    for group in chapter.groups:
        found = [slope_of(group.episode, group.regret[kind], resamples) for kind in kinds]
        rows.append((group.name, [band_cell(band, hundredths) for band in found]))
    caption = (
        "Growth: slope of log mean regret against log episode over the last factor of ten, "
        f"by least squares at {A_DECADE} episodes evenly spread over it "
        "(0.5 is a square root, 1 a constant loss per episode)"
    )
    return Table("slopes", caption, ["learner", *kinds.values()], rows)


def _violations(chapter: Chapter, resamples: Resamples) -> Table:
    rows = []
    for group in chapter.groups:
        share = band_of([group.share[:, -1]], "mean", resamples)
        mean = group.regret["constraint_plus"][:, -1] / chapter.n_episodes
        units = chapter.cmdp.units
        worst, last = units.largest(group.worst), units.largest(group.last_excess[:, 1:])
        rows.append(
            (
                group.name,
                [
                    band_cell(share, percent),
                    band_cell(band_of([mean], "mean", resamples)),
                    number_cell(worst.max()),
                    _first_feasible(group, chapter.n_episodes),
                    band_cell(band_of([last], "mean", resamples)),
                ],
            )
        )
    columns = [
        "learner",
        "episodes in violation",
        "mean excess of an episode",
        "worst violation of any run",
        "feasible from episode (median)",
        "excess of the last policy",
    ]
    caption = f"Violations of the budgets{_relative(chapter)}"
    return Table("violations", caption, columns, rows)


def _first_feasible(group: Group, n_episodes: int) -> Cell:
    found = group.first_feasible <= n_episodes
    missing = int(np.sum(~found))
    note = f"never in {missing} of {group.n_seeds} runs" if missing else ""
    middle = float(np.median(group.first_feasible))
    if 2 * missing >= group.n_seeds:
        return Cell("never", None, note if missing < group.n_seeds else "", True)
    return Cell(format_number(middle, 6), middle, note)


def _constraints(chapter: Chapter) -> Table:
    """Return cost and constraint values of the last policies."""
    cmdp = chapter.cmdp
    rows = []
    for i, unit in enumerate(cmdp.constraint_units):
        best = float(chapter.optimum.constraint_value[i])
        bound = float(cmdp.budget[i])
        word = "at least" if unit.is_maximized else "at most"
        use = [Cell(f"{word} {format_number(bound)}", bound), number_cell(best)]
        for group in chapter.groups:
            sign = -1.0 if unit.is_maximized else 1.0
            mean = bound + sign * float(group.last_excess[:, 1 + i].mean())
            use.append(number_cell(mean))
        rows.append((label_of(cmdp, i), use))
    cost = cmdp.cost_unit
    best = chapter.optimum.value
    sign = -1.0 if cost.is_maximized else 1.0
    ends = [best + sign * float(group.last_excess[:, 0].mean()) for group in chapter.groups]
    rows.append((cost.name, [Cell("no budget"), *map(number_cell, (best, *ends))]))
    columns = ["per episode", "budget", "optimum", *(group.name for group in chapter.groups)]
    caption = "Cost and constraint values of the last policies, mean over seeds"
    return Table("use", caption, columns, rows)


def _averaged(chapter: Chapter) -> list[Group]:
    """Return the groups whose average policies were recorded."""
    return [group for group in chapter.groups if group.average is not None]


def _averages(chapter: Chapter, resamples: Resamples) -> Table:
    """Return cost and use of every budget of the last and of the average policies."""
    cmdp, optimum = chapter.cmdp, chapter.optimum
    units = (cmdp.cost_unit, *cmdp.constraint_units)
    signs = np.array([-1.0 if unit.is_maximized else 1.0 for unit in units])
    # what excess is relative to: the optimal cost, then the budgets
    levels = np.append(optimum.value, cmdp.budget)
    best = np.append(optimum.value, optimum.constraint_value)
    rows = [("optimum", [number_cell(value) for value in best])]
    for group in _averaged(chapter):
        last, average = levels + signs * group.last_excess, np.asarray(group.average)
        for words, values in (("last policy", last), ("average policy", average)):
            bands = [band_of([column], "mean", resamples) for column in values.T]
            excess = signs * ([float(band.middle) for band in bands] - levels)
            above = excess > ABOVE * np.maximum(1.0, np.abs(levels))
            cells = [
                band_cell(band, is_marked=bool(j and above[j])) for j, band in enumerate(bands)
            ]
            rows.append((f"{group.name}, {words}", cells))
    heads = [
        f"{label_of(cmdp, i)} ({'at least' if unit.is_maximized else 'at most'} "
        f"{format_number(float(cmdp.budget[i]))})"
        for i, unit in enumerate(cmdp.constraint_units)
    ]
    caption = (
        "Exact cost and use of the budgets per episode: the last policy, and the average policy, "
        "whose occupancy is the mean over all episodes; mean over seeds, "
        "bold where it exceeds a budget"
    )
    return Table("averages", caption, ["policy", cmdp.cost_unit.name, *heads], rows)


def _audit(chapter: Chapter) -> Table:
    columns = [
        "learner",
        "confidence",
        "true model in the confidence sets",
        "optimism failures",
        "infeasible plans",
        "largest gap",
        "multipliers",
        "rho (for costs in [0, 1])",
    ]
    rows = [(group.name, _audit_cells(group)) for group in chapter.groups]
    if any(group.baseline is not None for group in chapter.groups):
        columns += ["mean probability of the baseline", "failed upper bounds"]
        for (_, cells), group in zip(rows, chapter.groups, strict=True):
            cells += _baseline_cells(group)
    return Table("audit", "Audit over all runs", columns, rows)


def _audit_cells(group: Group) -> list[Cell]:
    spans = spans_of(group.multiplier_range)
    span = ", ".join(
        f"{format_number(least, 3)} to {format_number(most, 3)}" for least, most in spans
    )
    n_not_optimistic = int(group.not_optimistic.sum())
    infeasible = int(group.infeasible_plans.sum())
    gap = float(group.largest_gap.max())
    rho = Cell("none")
    if not np.isnan(group.rho):
        rho = Cell(format_number(group.rho), group.rho, group.rho_rule)
    return [
        Cell(group.constants or "none", None, "", group.is_heuristic),
        _inside(group),
        Cell(f"{n_not_optimistic:,}", n_not_optimistic, "", n_not_optimistic > 0)
        if group.bad_episodes
        else Cell(DASH),
        Cell(f"{infeasible:,}", infeasible),
        number_cell(gap, 2),
        Cell(span or "none"),
        rho,
    ]


def _baseline_cells(group: Group) -> list[Cell]:
    """Return how often the baseline is played, and in how many episodes a bound was too low."""
    if group.baseline is None:
        return [Cell(DASH), Cell(DASH)]
    mean, last = (float(value) for value in group.baseline.mean(axis=0))
    failures = int(group.bound_failures.sum())
    return [
        Cell(format_number(mean, 3), mean, f"in the last episode {format_number(last, 3)}"),
        Cell(f"{failures:,}", failures, "", failures > 0),
    ]


def _inside(group: Group) -> Cell:
    """Return in how many runs the confidence sets contained the true model, and which failed."""
    if not group.bad_episodes:
        return Cell("no confidence sets")
    good = int(group.good_event.sum())
    bad = {family: int(count.sum()) for family, count in group.bad_episodes.items()}
    failed = ", ".join(f"{family} {count:,}" for family, count in bad.items() if count)
    note = f"bad episodes: {failed}" if failed else ""
    return Cell(f"{good} of {group.n_seeds} runs", good, note, good < group.n_seeds)


def _pairs(chapter: Chapter, resamples: Resamples) -> Table:
    kinds = _kinds(chapter)
    rows = []
    rivals = chapter.learners if len(chapter.learners) > 1 else chapter.groups
    for first, second in some_pairs(rivals):
        seeds, mine, yours = np.intersect1d(first.seeds, second.seeds, return_indices=True)
        if len(seeds) < LEAST_PAIRED:
            continue
        cells = [
            _pair(first.regret[kind][mine, -1], second.regret[kind][yours, -1], resamples)
            for kind in kinds
        ]
        rows.append((f"{first.name} against {second.name}", [Cell(f"{len(seeds)}"), *cells]))
    apart = not all(group.spec["common_random_numbers"] for group in chapter.groups)
    remark = (
        "; learners do not share random numbers here, so pairing does not reduce noise"
        if apart
        else ""
    )
    caption = (
        "Differences in final regret over common seeds, first minus second (negative: the first "
        "is better), and the share of seeds in which the first is lower (ties count half), each "
        "with its 95 % bootstrap interval; bold where that of the difference excludes zero, "
        f"not corrected for multiple comparisons{remark}"
    )
    return Table("pairs", caption, ["pair", "n", *kinds.values()], rows)


def _pair(first: Floats, second: Floats, resamples: Resamples) -> Cell:
    found = compare_pairs(first, second, resamples)
    middle, low, high = (float(part) for part in found.difference)
    chance, least, most = (float(part) for part in found.improvement)
    note = (
        f"{format_number(low, 3)} to {format_number(high, 3)}\n"
        f"better in {percent(chance)} ({interval(least, most, percent)})"
    )
    return Cell(format_number(middle), middle, note, low > 0 or high < 0)


def some_pairs(groups: Sequence[T]) -> Iterable[tuple[T, T]]:
    """Return all pairs of few groups, and of many those with the first."""
    if len(groups) <= MOST_PAIRED:
        return combinations(groups, 2)
    return ((groups[0], other) for other in groups[1:])


def _timings(chapter: Chapter) -> Table:
    rows = []
    for group in chapter.groups:
        seconds = group.seconds
        speed = chapter.n_episodes / np.maximum(seconds, 1e-9)
        numbers = seconds.mean(), seconds.sum(), speed.mean()
        runs = Cell(f"{group.n_seeds}", group.n_seeds)
        rows.append((group.name, [runs, *(number_cell(value, 3) for value in numbers)]))
    columns = ["learner", "runs", "seconds per run", "seconds in total", "episodes per second"]
    return Table("timings", "Time spent in episodes, without compilation", columns, rows)


def overview_of(findings: Findings, resamples: Resamples) -> Table | None:
    """Return the IQM of regrets per step of learners run on every model; None for one model."""
    chapters = findings.chapters
    everywhere = [
        group.name
        for group in (chapters[0].groups if chapters else ())
        if all(group.name in {each.name for each in chapter.groups} for chapter in chapters)
    ]
    if len(chapters) < 2 or not everywhere:
        return None
    has_budgets = all(chapter.cmdp.n_constraints for chapter in chapters)
    kinds = ["cost", "constraint"] if has_budgets else ["cost"]
    rows = []
    for name in everywhere:
        mine = [(chapter, _find_group(chapter, name)) for chapter in chapters]
        bands = [
            band_of([_a_step(chapter, group, kind) for chapter, group in mine], "IQM", resamples)
            for kind in kinds
        ]
        n_runs = sum(group.n_seeds for _, group in mine)
        rows.append((name, [Cell(f"{n_runs}", n_runs), _radii(mine), *map(band_cell, bands)]))
    plus = "Reg\N{SUBSCRIPT PLUS SIGN}"
    columns = ["learner", "n runs", "confidence", *(f"{plus} {kind}" for kind in kinds)]
    return Table("overview", _caption(chapters), columns, rows)


def _caption(chapters: Sequence[Chapter]) -> str:
    has_bands = any(group.n_seeds > 1 for chapter in chapters for group in chapter.groups)
    bands = "with 95 % bootstrap bands stratified by problem" if has_bands else "no bands (n = 1)"
    deltas = listed([f"{delta:g}" for delta in sorted({chapter.delta for chapter in chapters})])
    return (
        f"All {len(chapters)} problems: interquartile mean over runs of the regret per step, "
        f"relative to the range of a step, {bands}; delta {deltas}"
    )


def _radii(mine: Sequence[tuple[Chapter, Group]]) -> Cell:
    """Return the constants of a learner in all problems, marked if some are heuristic."""
    words = dict.fromkeys(group.constants for _, group in mine)
    return Cell(" | ".join(words), None, "", any(group.is_heuristic for _, group in mine))


def _find_group(chapter: Chapter, name: str) -> Group:
    return next(group for group in chapter.groups if group.name == name)


def _a_step(chapter: Chapter, group: Group, kind: str) -> Floats:
    """Return the final positive regret of each run per step, relative to the range of a step."""
    cmdp = chapter.cmdp
    n_steps = chapter.n_episodes * cmdp.horizon
    if kind == "cost":
        return group.regret["cost_plus"][:, -1] / cmdp.cost_unit.size / n_steps
    return np.asarray((group.constraint_ends[1] / cmdp.units.sizes).max(axis=1) / n_steps)
