"""Instances of a family, and how regret depends on every quantity of the paper's Table 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from bounds import ORDERS, PROMISED, bounds_of, informative_from
from growth import has_theorem
from records import Cell, model_and_plan
from section import Section, about, band_words, ranges, ratio_words, rows_of, span, spec_name
from tightrope.arrays import Floats, Ints
from tightrope.experiments.statistics import Band, middle_of
from tightrope.plan.solve import slater
from tightrope.show.regret import KINDS, looks_of, power
from tightrope.show.report.words import DASH, MINUS, format_number, hundredths
from tightrope.show.style import GRAY, INK, house_style, sheet

LEVEL = 0.95
DRAWS = 2_000
MOST_LOST = 0.05  # of the resamples may have no logarithm before there is no interval
RULE = "paper_x2"
USUAL = {"n_states": 5, "n_actions": 3, "horizon": 4, "branching": 2, "n_constraints": 1}
TIGHTNESS = 0.5
SIZES = {
    "horizon": "H",
    "n_states": "S",
    "n_actions": "A",
    "branching": "N",
    "n_constraints": "I",
    "tightness": "1/slack",
    "rho": "rho",
}
DOUBLED = {
    "horizon": "the horizon",
    "n_states": "the states",
    "n_actions": "the actions",
    "branching": "the successors of a state",
    "n_constraints": "the constraints",
    "tightness": "the tightness (1/slack)",
    "rho": "the bound on multipliers",
}
COLUMNS = dict(zip(SIZES.values(), SIZES, strict=True))
MISSING = "Runs of some instances are missing."
COSTS = {False: "unknown", True: "known"}


class Fit(NamedTuple):
    """Exponent of a regret in a quantity, and of the theorem's bound on the same problems."""

    measured: Band
    theorem: float  # NaN where the conditions of the theorem do not hold in every run
    informative: Floats  # episodes from which the bounds are below H per episode


def instance_of(cell: Cell) -> int:
    """Seed of the instance."""
    return int(cell.spec.parameters["seed"])


def resamples_of(n: int, rng: np.random.Generator) -> Ints:
    """Resampled instances, (B, n); every instance comes with all its runs."""
    return np.asarray(rng.integers(0, n, size=(DRAWS, n)), dtype=np.int64)


def middles(values: Floats, drawn: Ints) -> tuple[Floats, Floats]:
    """IQM over instances of (n, J) values, (J,), and of each resample, (B, J)."""
    resampled = np.moveaxis(values[drawn], 1, 0)
    return middle_of(values, "IQM"), middle_of(resampled, "IQM")


def band_over(values: Floats, drawn: Ints) -> Band:
    """IQM over instances with its bootstrap interval."""
    middle, found = middles(values[:, None], drawn)
    low, high = np.quantile(found[:, 0], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(middle[0], np.asarray(low), np.asarray(high))


def slope_over(sizes: Floats, values: Floats, drawn: Ints) -> Band:
    """Exponent of the IQM over instances of (n, J) values in that of (n, J) sizes.

    The least-squares slope of logarithms. Instances are resampled together at all sizes. NaN where
    an IQM is not positive; no interval where that happens in more than 5 % of the resamples.
    """
    nothing = np.asarray(np.nan)
    x, xs = (np.log(each) for each in middles(sizes, drawn))
    y, ys = middles(values, drawn)
    if len(x) < 2 or (y <= 0).any():
        return Band(nothing, nothing, nothing)
    is_good = (ys > 0).all(axis=1)
    middle = _slope(x, np.log(y))
    if is_good.mean() < 1 - MOST_LOST:
        return Band(middle, nothing, nothing)
    slopes = _slope(xs[is_good], np.log(ys[is_good]))
    low, high = np.quantile(slopes, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(middle, np.asarray(low), np.asarray(high))


def _slope(x: Floats, y: Floats) -> Floats:
    """Least-squares slopes along the last axis."""
    x = x - x.mean(axis=-1, keepdims=True)
    return np.asarray((x * y).sum(axis=-1) / (x * x).sum(axis=-1))


def spreads(groups: Sequence[Floats]) -> tuple[float, float]:
    """Standard deviation between instances, and between the runs of one, relative to the mean.

    By analysis of variance: that of the means of the instances has the variance of runs in it,
    which is taken off.
    """
    n = min(len(each) for each in groups)
    means = np.array([each[:n].mean() for each in groups])
    within = float(np.mean([each[:n].var(ddof=1) for each in groups])) if n > 1 else np.nan
    between = float(means.var(ddof=1)) - (within / n if n > 1 else 0.0)
    scale = abs(float(means.mean()))
    return max(between, 0.0) ** 0.5 / scale, within**0.5 / scale


def bound_of(cell: Cell, kind: str) -> float:
    """Bound of the theorem on what a cell measures."""
    spec, (cmdp, _) = cell.spec, model_and_plan(cell.spec)
    rho = float(cell.numbers("rho")[0])
    known = spec.confidence.known_costs
    bounds = bounds_of(cell.algorithm, cmdp, spec.episodes, spec.delta, rho, known)
    return bounds[PROMISED[cell.algorithm].index(kind)]


def instances_section(cells: Sequence[Cell], rng: np.random.Generator) -> Section:
    """Regret on all instances, with costs unknown and known, and its spread."""
    section = Section("Many instances of a family")
    seeds = sorted({instance_of(cell) for cell in cells})
    found = whole_ladder(_by_instance(cells), seeds)
    ladder = sorted({K for *_, K in found})
    drawn = resamples_of(len(seeds), rng)
    some = cells[0].spec
    if not ladder:
        section.say(MISSING)
        return section
    section.ask(
        "Do findings on one instance hold on others, and how much of the regret comes from "
        "transitions, which Table 1 of the paper is about?",
        f"{len(seeds)} instances of {spec_name(some)}, two successors of each pair, start in every "
        "state with equal probability: the first seeds 1, 2, ... for which, in every size of the "
        "next section, the Slater slack is at least 0.015 H and the multiplier of the optimum at "
        f"least 0.01. Tight radii (all guarantees hold), delta = {some.delta:g}, "
        f"{_numbers(ladder)} episodes, rho by the rule `{RULE}` from the true model. Every learner "
        "runs with unknown costs and with known ones; the latter have no error but that of the "
        "transitions. Values are interquartile means (IQM) over instances, with 95 % bootstrap "
        "intervals: instances are resampled with all their runs, the same for every number of "
        "episodes. Exponents are slopes of log IQM against log K.",
    )
    section.show("instances", instances_figure(found, drawn), "regret of every instance")
    rows = []
    last = ladder[-1]
    for name, kinds in PROMISED.items():
        for kind in kinds:
            for known, word in COSTS.items():
                mine = [found[name, known, K] for K in ladder if (name, known, K) in found]
                if not mine:
                    continue
                values = np.array([[_mean(each[s], kind) for each in mine] for s in seeds])
                sizes = np.broadcast_to(np.array(ladder, dtype=np.float64), values.shape)
                ends = values[:, -1]
                limits = np.array([bound_of(mine[-1][s], kind) for s in seeds])
                share = np.array([_mean(mine[-1][s], kind) for s in seeds]) / limits
                first = [first_informative(mine[-1][s], kind) for s in seeds]
                rows.append(
                    [
                        name,
                        KINDS[kind],
                        word,
                        band_words(band_over(ends, drawn), format_number),
                        f"{format_number(ends.min(), 3)} to {format_number(ends.max(), 3)}",
                        band_words(slope_over(sizes, values, drawn)),
                        ratio_words(float(middle_of(share, "IQM"))),
                        span(first, about),
                    ]
                )
    columns = [
        "learner",
        "regret",
        "costs",
        f"IQM, K = {last:,}",
        "least to most",
        "exponent over K",
        "measured/bound",
        "below H K from",
    ]
    section.say(rows_of(columns, rows, n_words=3))
    section.say(
        "Below H K from: the number of episodes from which the bound is below the trivial one, H "
        "per episode, over the instances."
    )
    shares = _shares(found, seeds, last)
    section.say(_spread(found))
    section.say(
        "The regret of the constraint with known costs, as a share of that with unknown ones "
        f"(IQM, K = {last:,}): {shares}."
    )
    section.answer(f"if costs are known in advance, overspending falls to: {shares}")
    section.limit(
        "One family, sizes near five, at most three seeds of an instance. The acceptance rule "
        "excludes instances that are nearly infeasible and those whose budget hardly matters. The "
        "bounds have leading terms only, as above."
    )
    return section


def table_section(cells: Sequence[Cell], rng: np.random.Generator) -> Section:
    """Exponents of regret in H, S, A, N, I, 1/slack and rho, and those of the theorems."""
    section = Section("Every quantity of Table 1")
    found = _by_size([cell for cell in cells if cell.spec.confidence.known_costs])
    every = sorted({key[1] for key in found})
    seeds = sorted({instance_of(cell) for cell in cells})
    drawn = resamples_of(len(seeds), rng)
    by_episodes = {
        K: {
            (name, kind, K, quantity): fit
            for name, kinds in PROMISED.items()
            for kind in kinds
            for quantity in SIZES
            if (fit := fit_of(found, name, kind, K, quantity, seeds, drawn)) is not None
        }
        for K in every
    }
    most = max(map(len, by_episodes.values()), default=0)  # fewer where runs are missing
    ladder = [K for K, mine in by_episodes.items() if len(mine) == most]
    fits = {key: fit for K in ladder for key, fit in by_episodes[K].items()}
    if not fits:
        section.say(MISSING)
        return section
    section.ask(
        "Does regret grow with each quantity as Table 1 of the paper says?",
        f"The family of the previous section ({len(seeds)} instances, known costs, tight radii), "
        "one quantity changed at a time: "
        + "; ".join(_values_of(found, quantity) for quantity in SIZES)
        + f". {_numbers(ladder)} episodes. Measured: slope of the log IQM over instances against "
        "the log of the quantity, with 95 % bootstrap intervals over instances. Theorem: the same "
        "slope of the corrected bound with its constants and logarithms on the same problems and "
        "K. Order: the exponent in the corrected theorem without constants and logarithms, least "
        "and greatest over its terms. For 1/slack, the quantity is the inverse of the Slater slack "
        "of the instances at tightness 0.25, 0.5 and 0.75, and rho follows the slack by its rule; "
        "for rho the rule is replaced by numbers.",
    )
    last = ladder[-1]
    rows = []
    for name, kinds in PROMISED.items():
        for kind in kinds:
            for K in ladder:
                mine = [fits.get((name, kind, K, quantity)) for quantity in SIZES]
                words = [_measured(fit, last == K) for fit in mine]
                rows.append([name, KINDS[kind], f"{K:,}", *words])
            theorem = [fits.get((name, kind, last, quantity)) for quantity in SIZES]
            words = [DASH if fit is None else hundredths(fit.theorem) for fit in theorem]
            rows.append([name, KINDS[kind], "theorem", *words])
            order = (each.replace("-", MINUS) for each in ORDERS[name][kinds.index(kind)])
            rows.append([name, KINDS[kind], "order", *order])
    section.show("table", table_figure(fits, last), "exponents measured and of the theorems")
    section.say(rows_of(["learner", "regret", "K", *COLUMNS], rows, n_words=3))
    section.say(
        "A dash: an interquartile mean that is not positive, so that no power fits, or a learner "
        f"without the quantity.{_without_theorem(found, last)}"
    )
    section.say(_burn_in(fits, last))
    section.say(_dominated(fits, last))
    section.conclude(_seen(fits, last, len(seeds)))
    section.answer(_grown(fits, last))
    section.limit(
        "Three values of each quantity, within a factor of four (rho: sixteen), fitted by a power "
        "that need not hold. An exponent below the theorem's may be regret near its trivial "
        "maximum, H per episode, one above it regret that has left it at the small sizes only. "
        "Larger sizes are other random problems of the same seed, not extensions of the small ones."
    )
    return section


def first_informative(cell: Cell, kind: str) -> float:
    """Episodes from which the bound on what a cell measures is below H per episode."""
    cmdp, _ = model_and_plan(cell.spec)
    return informative_from(bound_of(cell, kind), cmdp, cell.spec.episodes)


Fits = Mapping[tuple[str, str, int, str], Fit]  # by learner, regret, K, quantity


def _burn_in(fits: Fits, last: int) -> str:
    """From how many episodes the bounds say anything, learner by learner."""
    rows, every = [], []
    for name, kinds in PROMISED.items():
        for kind in kinds:
            mine = [fit.informative for key, fit in fits.items() if key[:3] == (name, kind, last)]
            if mine:
                first = np.concatenate([each.ravel() for each in mine])
                rows.append([name, KINDS[kind], span(first, about)])
                every.append(first)
    found = np.concatenate(every)
    n_vacuous, n = int((found > last).sum()), found.size
    which = "all" if n_vacuous == n else f"{n_vacuous:,} of {n:,}"
    table = rows_of(["learner", "regret", "bound below H K from, episodes"], rows, n_words=2)
    return (
        f"At K = {last:,} {which} of the bounds are above H K, which no run can exceed: their "
        f"slopes say how they grow, and such runs do not test them.\n\n{table}"
    )


def _dominated(fits: Fits, last: int) -> str:
    """Slopes of the cost bounds of the dual learners in 1/slack and rho, and why they are small."""
    slopes = [
        fit.theorem
        for (name, kind, K, quantity), fit in fits.items()
        if kind == "cost" and last == K and quantity in ("tightness", "rho")
    ]
    if not slopes:
        return "No runs of the dual learners with other values of rho."
    return (
        "In the cost bounds of the dual learners the transition term is larger than those with "
        f"rho, so their slopes in 1/slack and rho are {span(slopes)}: the order, up to 1, would "
        "show only with a very large rho."
    )


def _without_theorem(found: Mapping[SizeKey, Mapping[float, Mapping[int, Cell]]], last: int) -> str:
    """For how many instances a rho is too small for the theorem on the constraints."""
    words = []
    for value, cells in sorted(found.get(("OptDual", last, "rho"), {}).items()):
        n = sum(not has_theorem(cell) for cell in cells.values())
        if n:
            words.append(f"rho = {value:g} ({n} of {len(cells)} instances)")
    if not words:
        return ""
    return (
        f" The theorem on the constraints needs a rho of at least twice the multipliers of the "
        f"optimum, which fails for {', '.join(words)}: no slope of its bound in rho."
    )


Key = tuple[str, bool, int]


def _by_instance(cells: Sequence[Cell]) -> dict[Key, dict[int, Cell]]:
    """Cells by learner, whether costs are known, and K; then by instance."""
    found: dict[Key, dict[int, Cell]] = {}
    for cell in cells:
        key = (cell.algorithm, cell.spec.confidence.known_costs, cell.spec.episodes)
        found.setdefault(key, {})[instance_of(cell)] = cell
    return found


def whole_ladder(
    found: Mapping[Key, dict[int, Cell]], seeds: Sequence[int]
) -> dict[Key, dict[int, Cell]]:
    """Without the K for which runs of some instance are missing."""
    kinds = {key[:2] for key in found}
    whole = {
        K for *_, K in found if all(set(found.get((*kind, K), {})) == set(seeds) for kind in kinds)
    }
    return {key: mine for key, mine in found.items() if key[2] in whole}


def _mean(cell: Cell, kind: str) -> float:
    return float(cell.ends(kind).mean())


SizeKey = tuple[str, int, str]  # learner, K, quantity


def _by_size(cells: Sequence[Cell]) -> dict[SizeKey, dict[float, dict[int, Cell]]]:
    """Cells by learner, K and the quantity that is varied; then by its value and by instance."""
    found: dict[SizeKey, dict[float, dict[int, Cell]]] = {}
    for cell in cells:
        parameters = cell.spec.parameters
        changed = [name for name, usual in USUAL.items() if parameters[name] != usual]
        if parameters["tightness"] != TIGHTNESS:
            changed.append("tightness")
        rho = cell.spec.learner.options.get("rho", RULE)
        if rho != RULE:
            changed.append("rho")
        for name in SIZES:
            if name == "rho" and rho == RULE:
                continue
            if changed in ([], [name]):
                value = rho if name == "rho" else parameters[name]
                values = found.setdefault((cell.algorithm, cell.spec.episodes, name), {})
                values.setdefault(float(value), {})[instance_of(cell)] = cell
    return found


def fit_of(
    found: Mapping[SizeKey, Mapping[float, Mapping[int, Cell]]],
    name: str,
    kind: str,
    n_episodes: int,
    quantity: str,
    seeds: Sequence[int],
    drawn: Ints,
) -> Fit | None:
    """Exponents of a learner's regret in a quantity; None without runs of it."""
    groups = found.get((name, n_episodes, quantity), {})
    order = [each for each in sorted(groups) if set(groups[each]) == set(seeds)]
    if len(order) < 2:
        return None
    cells = [[groups[value][seed] for value in order] for seed in seeds]
    sizes = np.array(
        [[_size(cell, quantity, x) for cell, x in zip(row, order, strict=True)] for row in cells]
    )
    values = np.array([[_mean(cell, kind) for cell in row] for row in cells])
    bounds = np.array([[bound_of(cell, kind) for cell in row] for row in cells])
    is_bounded = all(has_theorem(cell, kind) for row in cells for cell in row)
    theorem = float(slope_over(sizes, bounds, drawn[:1]).middle) if is_bounded else np.nan
    first = np.array([[first_informative(cell, kind) for cell in row] for row in cells])
    return Fit(slope_over(sizes, values, drawn), theorem, first)


def _size(cell: Cell, quantity: str, value: float) -> float:
    """The varied quantity of an instance."""
    return 1 / slack_of(cell) if quantity == "tightness" else value


def slack_of(cell: Cell) -> float:
    """Slater slack of the true model; each is computed once."""
    spec = cell.spec
    if spec.problem_id not in _slacks:
        _slacks[spec.problem_id] = float(slater(model_and_plan(spec)[0]).slack)
    return _slacks[spec.problem_id]


_slacks: dict[str, float] = {}


def _values_of(found: Mapping[SizeKey, Mapping[float, Mapping[int, Cell]]], quantity: str) -> str:
    values = sorted({value for key, mine in found.items() if key[2] == quantity for value in mine})
    name = quantity if quantity in ("tightness", "rho") else SIZES[quantity]
    return f"{name} {', '.join(f'{value:g}' for value in values)}"


def _measured(fit: Fit | None, with_band: bool) -> str:
    if fit is None or np.isnan(fit.measured.middle):
        return DASH
    return band_words(fit.measured) if with_band else hundredths(float(fit.measured.middle))


def _numbers(values: Sequence[int]) -> str:
    words = [f"{value:,}" for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _spread(found: Mapping[Key, Mapping[int, Cell]]) -> str:
    """Standard deviations between instances and between seeds, where there are several seeds."""
    told = []
    for (name, known, K), mine in found.items():
        if known or any(cell.n_seeds < 2 for cell in mine.values()) or len(mine) < 2:
            continue
        kind = PROMISED[name][1]
        between, within = spreads([cell.ends(kind) for cell in mine.values()])
        told.append((K, f"{name} {100 * between:.0f} % and {100 * within:.1f} %"))
    if not told:
        return "Every instance has one run."
    return (
        f"Spread of the regret of the constraint at K = {told[0][0]:,}, unknown costs: standard "
        "deviation between instances, and between seeds of one instance, relative to the mean: "
        f"{'; '.join(words for _, words in told)}."
    )


def _shares(found: Mapping[Key, Mapping[int, Cell]], seeds: Sequence[int], last: int) -> str:
    """Share of the regret that is left with known costs."""
    told = []
    for name, kinds in PROMISED.items():
        with_, without = (found.get((name, known, last), {}) for known in (True, False))
        if set(with_) == set(without) == set(seeds):
            known, unknown = (
                float(middle_of(np.array([_mean(m[s], kinds[1]) for s in seeds]), "IQM"))
                for m in (with_, without)
            )
            told.append(
                f"{name} {100 * known / unknown:.0f} %" if unknown > 0 else f"{name} {DASH}"
            )
    return ", ".join(told)


def _grown(fits: Fits, last: int) -> str:
    """By which factor twice a size multiplies the regret of the constraint."""
    words = []
    for quantity, size in DOUBLED.items():
        mine = [fits.get((name, PROMISED[name][1], last, quantity)) for name in PROMISED]
        known = [float(fit.measured.middle) for fit in mine if fit is not None]
        known = [value for value in known if not np.isnan(value)]
        if known:
            times = span([2.0**value for value in known], "{:.1f}".format)
            words.append(f"{size} by {times}")
    return f"doubling one size multiplies overspending (four learners): {', '.join(words)}"


def _seen(fits: Fits, last: int, n: int) -> str:
    """How far measured exponents of the constraint are from those of the theorems."""
    words = []
    for quantity, letter in SIZES.items():
        mine = [fits.get((name, PROMISED[name][1], last, quantity)) for name in PROMISED]
        known = [fit for fit in mine if fit is not None and not np.isnan(fit.measured.middle)]
        if known:
            measured = ranges({letter: [float(fit.measured.middle) for fit in known]})
            slopes = [fit.theorem for fit in known if not np.isnan(fit.theorem)]
            words.append(f"{measured} (bounds {span(slopes) if slopes else DASH})")
    return (
        f"On {n} instances of a family with known costs, K = {last:,}, the constraint regret of "
        f"the four learners grew with exponents {', '.join(words)}."
    )


def instances_figure(found: Mapping[Key, Mapping[int, Cell]], drawn: Ints) -> Figure:
    """Regret over the square root of K: a line per instance, IQM and interval, known costs too."""
    names = [name for name in PROMISED if any(key[0] == name for key in found)]
    ladder = sorted({key[2] for key in found})
    with house_style():
        figure = sheet(9.4, 5.4)
        panels = figure.subplots(2, len(names), sharex=True, squeeze=False)
        for column, (name, (color, _)) in enumerate(zip(names, looks_of(names), strict=True)):
            for row, kind in enumerate(PROMISED[name]):
                axes = panels[row, column]
                for known, shade in ((False, color), (True, GRAY)):
                    mine = [found.get((name, known, K), {}) for K in ladder]
                    _draw(axes, ladder, mine, kind, drawn, shade)
                axes.axhline(0.0, color=GRAY, lw=0.6)
                axes.set_xscale("log")
                axes.set_xticks(ladder, [power(K) for K in ladder])
                axes.set_xlim(0.9 * ladder[0], 1.1 * ladder[-1])
                axes.xaxis.set_minor_formatter(NullFormatter())
                axes.set_title(f"{name}\n{KINDS[kind]}" if row == 0 else KINDS[kind])
                axes.grid()
        for axes in panels[-1]:
            axes.set_xlabel("K")
        for row_of_axes in panels:
            row_of_axes[0].set_ylabel("regret / \N{SQUARE ROOT}K")
        for label, color in (("unknown costs (in color)", INK), ("known costs (gray)", GRAY)):
            panels[0, 0].plot([], [], "o-", color=color, lw=1.8, ms=4, label=label)
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def _draw(
    axes: Axes,
    ladder: Sequence[int],
    groups: Sequence[Mapping[int, Cell]],
    kind: str,
    drawn: Ints,
    color: str,
) -> None:
    """A thin line for each instance; IQM with its interval at every K."""
    seeds = [seed for seed in groups[0] if all(seed in mine for mine in groups)]
    if not seeds:
        return
    roots = np.sqrt(ladder)
    values = np.array([[_mean(mine[seed], kind) for mine in groups] for seed in seeds]) / roots
    axes.plot(ladder, values.T, color=color, lw=0.5, alpha=0.35)
    bands = [band_over(column, drawn % len(seeds)) for column in values.T]
    middle, low, high = (np.array([float(band[k]) for band in bands]) for k in range(3))
    errors = [middle - low, high - middle]
    axes.errorbar(ladder, middle, errors, color=color, fmt="o-", ms=4, lw=1.8)


def table_figure(fits: Fits, last: int) -> Figure:
    """A panel per quantity: measured exponents with intervals, and those of the theorems."""
    rows = [(name, kind) for name, kinds in PROMISED.items() for kind in kinds]
    quantities = [each for each in SIZES if any(key[3] == each for key in fits)]
    colors = dict(zip(PROMISED, (color for color, _ in looks_of(list(PROMISED))), strict=True))
    with house_style():
        figure = sheet(10.4, 3.9)
        panels = figure.subplots(1, len(quantities), sharey=True, squeeze=False)[0]
        for axes, quantity in zip(panels, quantities, strict=True):
            for place, (name, kind) in enumerate(rows):
                fit = fits.get((name, kind, last, quantity))
                if fit is None:
                    continue
                axes.plot(fit.theorem, place, "|", color=INK, ms=13, mew=1.6)  # or NaN
                middle, low, high = (float(part) for part in fit.measured)
                if not np.isnan(middle):
                    axes.plot(middle, place, "o", color=colors[name], ms=5)
                    if not np.isnan(low):
                        axes.plot([low, high], [place, place], color=colors[name], lw=2)
            axes.axvline(0.0, color=GRAY, lw=0.6)
            axes.xaxis.set_major_locator(MaxNLocator(3))
            axes.set_title(SIZES[quantity])
            axes.grid(axis="x")
        panels[0].set_yticks(range(len(rows)), [f"{name}, {KINDS[kind]}" for name, kind in rows])
        panels[0].invert_yaxis()
        panels[len(quantities) // 2].set_xlabel("exponent (bar: that of the theorem's bound)")
    return figure
