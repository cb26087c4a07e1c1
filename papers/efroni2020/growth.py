"""Regret against the number of episodes, the bounds, scaled constants, and the good event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import beta

from bounds import PROMISED, bounds_of, early_bounds, informative_from
from records import Cell, model_and_plan, problems_of
from section import Section, about, band_words, mean_and_band, ratio_words, rows_of, span, spec_name
from tightrope.arrays import Floats
from tightrope.experiments.statistics import Band, Resamples
from tightrope.show.regret import KINDS, looks_of, scale_episodes
from tightrope.show.report.words import DASH, format_number, hundredths, percent
from tightrope.show.style import house_style, sheet

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
LEVEL = 0.95
DRAWS = 2_000
LATE = 3  # of the largest K: a factor of ten
SLIGHT = 1e-6  # relative


def ladder_slope(
    episodes: Sequence[int], ends: Sequence[Mapping[int, float]], rng: np.random.Generator
) -> Band:
    """Exponent of the mean regret over runs of different K, with a bootstrap over seeds.

    ``ends`` has the regrets at each K by seed. Runs with one seed share their randomness, so a seed
    is drawn with its runs of every K; seeds with runs of the same K are drawn among themselves, so
    that each K keeps its number of runs. NaN where a mean is not positive.
    """
    x = np.log(np.asarray(episodes, dtype=np.float64))
    seeds = sorted(set().union(*ends))
    values = np.array([[each.get(seed, 0.0) for each in ends] for seed in seeds])
    is_there = np.array([[seed in each for each in ends] for seed in seeds])
    n_runs = is_there.sum(axis=0)
    means = values.sum(axis=0) / n_runs
    if len(x) < 2 or (means <= 0).any():
        return Band(*(np.asarray(np.nan),) * 3)
    weight = (x - x.mean()) / ((x - x.mean()) @ (x - x.mean()))
    counts = np.zeros((DRAWS, len(seeds)))
    for pattern in np.unique(is_there, axis=0):
        mine = (is_there == pattern).all(axis=1)
        n = int(mine.sum())
        counts[:, mine] = rng.multinomial(n, np.full(n, 1 / n), size=DRAWS)
    drawn = counts @ values / n_runs
    drawn = drawn[(drawn > 0).all(axis=1)]
    low, high = np.quantile(np.log(drawn) @ weight, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(np.asarray(weight @ np.log(means)), np.asarray(low), np.asarray(high))


def by_seed(cell: Cell, kind: str) -> dict[int, float]:
    """A regret after the last episode, by seed."""
    seeds = (record.spec.seed for record in cell.records)
    return dict(zip(seeds, cell.ends(kind).tolist(), strict=True))


def inner_slope(cell: Cell) -> dict[str, float]:
    """Exponents within one run, over the last factor of ten; NaN where a mean is not positive."""
    late = cell.episode >= cell.spec.episodes / 10
    x = np.log(cell.episode[late].astype(np.float64))
    found = {}
    for kind in KINDS:
        y = cell.curves(kind).mean(axis=0)[late]
        found[kind] = float(np.polyfit(x, np.log(y), 1)[0]) if (y > 0).all() else np.nan
    return found


def growth_section(
    cells: Sequence[Cell], resamples: Resamples, rng: np.random.Generator
) -> Section:
    """Ladders of K with fitted exponents, and the corrected bounds, problem by problem."""
    section = Section("Regret against the number of episodes")
    longest = max(cell.spec.episodes for cell in cells)
    section.ask(
        "Does what each theorem bounds grow like the square root of K, and how far is it below "
        "the bound?",
        "The four learners with the constants of the theorems after correction of the errata, "
        f"delta = {cells[0].spec.delta:g}, in separate runs for every K up to {longest:,}. The "
        "step sizes of OptDual and OptPrimalDual depend on K, so exponents are fitted over these "
        "runs: slopes of log mean regret after K episodes against log K, over all K and over the "
        f"largest {LATE}, with 95 % bootstrap intervals over seeds, each drawn with its runs of "
        "every K. 0.5 is a square root, 1 a constant loss per episode. The exponent within the "
        "longest run, over its last factor of ten, is given for comparison. A "
        "dash: a mean that is not positive, so that no power fits. Bounds have the constants and "
        "logarithms of the corrected proofs, and only the terms that grow like the square root of "
        "K.",
    )
    found: dict[str, list[str]] = {}
    factors: dict[str, list[str]] = {}
    for k, (_, mine) in enumerate(problems_of(cells)):
        section.say(f"### {spec_name(mine[0].spec)}")
        section.show(f"growth-{k}", roots_figure(mine), "regret divided by the square root of K")
        rows, bounds = [], []
        for name in PROMISED:
            ladder = sorted((c for c in mine if c.algorithm == name), key=lambda c: c.spec.episodes)
            if not ladder:
                continue
            inner = inner_slope(ladder[-1])
            late = []
            for kind in PROMISED[name]:
                fits = [
                    ladder_slope(
                        [c.spec.episodes for c in part], [by_seed(c, kind) for c in part], rng
                    )
                    for part in (ladder, ladder[-LATE:])
                ]
                late.append(float(fits[1].middle))
                words = [band_words(fit) for fit in fits]
                rows.append([name, KINDS[kind], *words, hundredths(inner[kind])])
            known = [fit for fit in late if not np.isnan(fit)]
            found.setdefault(name, []).append(hundredths(max(known)) if known else DASH)
            factors.setdefault(name, []).append(f"{10 ** max(known):.1f}" if known else DASH)
            bounds += _against(ladder[-1], resamples)
        columns = ["learner", "regret", "exponent over all K", f"largest {LATE} K", "within a run"]
        section.say(rows_of(columns, rows, n_words=2))
        columns = ["learner", "regret", "K", "mean", "bound", "measured/bound", "below H K from"]
        section.say(rows_of(columns, bounds, n_words=2))
        section.say(f"Seeds by K: {_seeds_of(mine)}.")
    section.conclude(
        f"With the constants of the theorems and K up to {longest:,}, what each theorem bounds "
        f"grew over the largest {LATE} K with the exponents (on two problems, the larger of cost "
        "and constraint) "
        + ", ".join(f"{name} {' and '.join(values)}" for name, values in found.items())
        + ", where a square root has 0.5 and larger ones are burn-in."
    )
    section.answer(
        "ten times as many episodes multiply the regret (on two problems) of "
        + ", ".join(f"{name} by {' and '.join(values)}" for name, values in factors.items())
        + "; growth like a square root multiplies it by 3.2"
    )
    section.limit(
        "Two instances; the random one has seed 2 of its family, chosen by an earlier version "
        "because its constraint binds. The ring is deterministic, so it has no transition term. "
        "A bound that is above H K (last column) is worse than certain, and curves before that "
        "K test no theorem. The proofs add lower-order terms, so that the bounds are larger than "
        "these. Intervals say how much seeds differ, not how well a power fits."
    )
    return section


def _seeds_of(cells: Sequence[Cell]) -> str:
    """Numbers of seeds with the range of K that has them."""
    counts: dict[int, list[int]] = {}
    for cell in sorted(cells, key=lambda c: c.spec.episodes):
        counts.setdefault(cell.n_seeds, []).append(cell.spec.episodes)
    words = [f"{n} for K = {mine[0]:,} to {mine[-1]:,}" for n, mine in counts.items()]
    return ", ".join(words)


def _against(cell: Cell, resamples: Resamples) -> list[list[str]]:
    """What a theorem bounds and its bound, in the units of the model."""
    spec, (cmdp, _) = cell.spec, model_and_plan(cell.spec)
    rho = float(cell.numbers("rho")[0])
    bounds = bounds_of(cell.algorithm, cmdp, spec.episodes, spec.delta, rho)
    scales = (abs(cmdp.cost_unit.factor), max(abs(unit.factor) for unit in cmdp.constraint_units))
    rows = []
    for kind, bound, scale in zip(PROMISED[cell.algorithm], bounds, scales, strict=True):
        ends = cell.ends(kind)
        rows.append(
            [
                cell.algorithm,
                KINDS[kind],
                f"{spec.episodes:,}",
                mean_and_band(ends, resamples),
                format_number(bound * scale),
                ratio_words(float(ends.mean()) / scale / bound),
                about(informative_from(bound, cmdp, spec.episodes)),
            ]
        )
    return rows


def not_exceeded(cells: Sequence[Cell]) -> str:
    """In how many runs a bound was exceeded at a recorded episode, in words; empty without any.

    Regrets are compared with `early_bounds`, which are below those of the theorem for the K of the
    run. A bound that is above H per episode cannot be exceeded, so the runs that are long enough
    for at least one of theirs are counted too.
    """
    n_runs, n_possible, over = 0, 0, 0
    for cell in cells:
        if "peak_cost" not in cell.records[0].table or not has_theorem(cell):
            continue
        spec, (cmdp, _) = cell.spec, model_and_plan(cell.spec)
        rho, known = float(cell.numbers("rho")[0]), spec.confidence.known_costs
        bounds = early_bounds(cell.algorithm, cmdp, spec.episodes, spec.delta, rho, known)
        kinds = PROMISED[cell.algorithm]
        peaks = np.stack([cell.numbers(f"peak_{kind}") for kind in kinds])
        limits = np.array(bounds)[:, None] / np.sqrt(spec.episodes)
        n_runs, over = n_runs + cell.n_seeds, over + int((peaks > limits).any(axis=0).sum())
        first = min(informative_from(bound, cmdp, spec.episodes) for bound in bounds)
        n_possible += cell.n_seeds * (first < spec.episodes)
    if n_runs == 0:
        return ""
    never = "never exceeded" if over == 0 else f"exceeded in {over:,} of them"
    return (
        f"in {n_runs:,} runs the bound with its constants was {never} at any recorded episode "
        f"(only {n_possible:,} of the runs are long enough for that to be possible: the bounds of "
        "the others are still above the trivial one, H per episode)"
    )


def has_theorem(cell: Cell, kind: str = "constraint") -> bool:
    """Whether the runs satisfy the conditions of their theorem on a regret.

    That on the constraints needs a rho of at least twice the multipliers of the optimum.
    """
    if cell.algorithm not in PROMISED or bool(cell.numbers("is_heuristic")[0]):
        return False
    if cell.algorithm.startswith("OptCMDP") or kind == "cost":
        return True
    price = float(np.linalg.norm(model_and_plan(cell.spec)[1].multiplier))
    return bool(cell.numbers("rho")[0] >= 2 * price * (1 - SLIGHT))


def roots_figure(cells: Sequence[Cell]) -> Figure:
    """Regret divided by the square root of the episode: a square root is a horizontal line.

    One row for what theorems bound, with the longest run of each learner as a line and the ends of
    the runs of every K as points.
    """
    names = [name for name in PROMISED if any(c.algorithm == name for c in cells)]
    with house_style():
        figure = sheet(9.4, 5.4)
        panels = figure.subplots(2, len(names), sharex=True, squeeze=False)
        looks = dict(zip(names, looks_of(names), strict=True))
        for column, name in enumerate(names):
            mine = sorted((c for c in cells if c.algorithm == name), key=lambda c: c.spec.episodes)
            longest, color = mine[-1], looks[name][0]
            for row, kind in enumerate(PROMISED[name]):
                axes = panels[row, column]
                root = np.sqrt(longest.episode)
                curves = longest.curves(kind) / root
                axes.plot(longest.episode, curves.mean(axis=0), color=color, lw=1.4)
                axes.fill_between(
                    longest.episode,
                    curves.min(axis=0),
                    curves.max(axis=0),
                    color=color,
                    alpha=0.2,
                    lw=0,
                )
                for cell in mine:
                    K = cell.spec.episodes
                    axes.plot(
                        K,
                        cell.ends(kind).mean() / np.sqrt(K),
                        "o",
                        color=color,
                        ms=5,
                        clip_on=False,
                    )
                axes.axhline(0.0, color="#999999", lw=0.6)
                axes.set_title(f"{name}\n{KINDS[kind]}" if row == 0 else KINDS[kind])
                axes.grid()
                scale_episodes(axes, longest.spec.episodes, most_ticks=5)
        for axes in panels[-1]:
            axes.set_xlabel("episodes")
        for row_of_axes in panels:
            row_of_axes[0].set_ylabel("regret / \N{SQUARE ROOT}episodes")
    return figure


def constants_section(cells: Sequence[Cell]) -> Section:
    """What tighter and scaled constants gain, and what is then no longer promised."""
    section = Section("Faithful, tight and scaled constants")
    spec = cells[0].spec
    section.ask(
        "What do smaller confidence radii gain, and what do they cost?",
        f"The four learners on {spec_name(spec)}, K = {spec.episodes:,}, delta = {spec.delta:g}, "
        f"{min(c.n_seeds for c in cells)} seeds. Tight radii keep every guarantee. A factor below "
        "1 applies inside the cap: a pair that was never visited keeps the whole range [0, 1], so "
        "that it stays attractive. A constraint binds in the first recorded episode with a "
        "positive multiplier; before that the learner behaves as if there were no budget.",
    )
    rows = [
        [
            cell.algorithm,
            cell.records[0].table["radii"].replace(", scale_bonus", "; bonus"),
            _episode(_first(cell)),
            *(
                f"{format_number(float(np.median(cell.ends(k))))} "
                f"({format_number(float(cell.ends(k).max()))})"
                for k in ("cost_plus", "constraint_plus")
            ),
            f"{int(_good(cell).sum())} of {cell.n_seeds}",
        ]
        for cell in _ordered(cells)
    ]
    columns = [
        "learner",
        "constants",
        "first binding",
        f"Reg{PLUS} cost (largest)",
        f"Reg{PLUS} constraint (largest)",
        "good event",
    ]
    section.say(rows_of(columns, rows, n_words=2))
    section.say(
        "Medians over seeds, largest values in parentheses. Good event: runs in which the "
        "confidence sets contained the true model in every episode."
    )
    first = {(c.algorithm, c.records[0].table["radii"]): _first(c) for c in cells}
    pairs = {
        name: (first[name, "tight"], value)
        for (name, radii), value in first.items()
        if radii == "faithful" and (name, "tight") in first
    }
    told = [
        f"{name} {_episode(tight)} instead of {_episode(faithful)}"
        for name, (tight, faithful) in pairs.items()
    ]
    gains = [faithful / tight for tight, faithful in pairs.values() if np.isfinite(faithful)]
    section.say(
        "Tight constants, with the same guarantees, make the first constraint bind earlier (median "
        f"episode): {', '.join(told)}."
    )
    if gains:
        times = span(gains, "{:.2g}".format)
        section.answer(
            "tight radii have the same guarantees as those of the paper, and learners respond to "
            f"the budgets {times} times earlier"
        )
    section.limit("One instance. With a factor below 1 no regret bound is guaranteed.")
    return section


def _ordered(cells: Sequence[Cell]) -> list[Cell]:
    names = list(PROMISED)
    return sorted(cells, key=lambda c: (names.index(c.algorithm), -c.spec.confidence.scale))


def _good(cell: Cell) -> Floats:
    bad = np.stack(
        [cell.numbers(f"bad_{k}") for k in ("transition", "cost", "constraint", "visits")]
    )
    return np.asarray(np.nansum(bad, axis=0) == 0)


def _first(cell: Cell) -> float:
    """Median over seeds of the first episode with a binding constraint."""
    return float(np.median(cell.numbers("first_binding")))


def _episode(number: float) -> str:
    return "never" if np.isinf(number) else f"{number:,.0f}"


def coverage_section(cells: Sequence[Cell]) -> Section:
    """How many runs left the good event, family by family, against the factor."""
    section = Section("Coverage of the confidence sets")
    spec = cells[0].spec
    section.ask(
        "How often do the confidence sets miss the true model, and how small may they be made?",
        f"Runs of {spec.episodes:,} episodes on {spec_name(spec)}, delta = {spec.delta:g}: costs "
        "with constraint costs, transitions, and visit counts may fail with probability delta/3 "
        "each. OptDual stands for confidence sets, OptPrimalDual for bonuses. Dotted: delta.",
    )
    section.show("coverage", coverage_figure(cells), "share of runs with a miss against the factor")
    families = {
        "transition": "transitions",
        "cost": "costs",
        "constraint": "constraint costs",
        "visits": "visits",
    }
    rows = []
    for cell in _ordered(cells):
        missed = int((~_good(cell).astype(bool)).sum())
        rows.append(
            [
                cell.algorithm,
                cell.records[0].table["radii"],
                *(f"{int((cell.numbers(f'bad_{k}') > 0).sum())}" for k in families),
                f"{missed} of {cell.n_seeds}",
                percent(upper_limit(missed, cell.n_seeds)),
            ]
        )
    columns = ["learner", "constants", *families.values(), "any", "95 % upper limit"]
    section.say(rows_of(columns, rows, n_words=2))
    guaranteed = [c for c in cells if not c.numbers("is_heuristic")[0]]
    missed = sum(int((~_good(c).astype(bool)).sum()) for c in guaranteed)
    runs = sum(c.n_seeds for c in guaranteed)
    section.say(
        f"With guaranteed constants the confidence sets missed the true model in {missed} of "
        f"{runs:,} runs of {spec.episodes:,} episodes (delta = {spec.delta:g})."
    )
    section.answer(
        f"with guaranteed radii the confidence sets missed the true model in {missed} of {runs:,} "
        "runs; " + _first_misses(cells)
    )
    section.limit(
        "The upper limit is that of Clopper and Pearson (1934), one-sided and exact. With a factor "
        "below 1 no coverage is guaranteed; one instance."
    )
    return section


def _first_misses(cells: Sequence[Cell]) -> str:
    """The largest factor on tight radii with which runs of each learner missed the true model."""
    factors: dict[str, list[float]] = {}
    for cell in cells:
        mine = factors.setdefault(cell.algorithm, [])
        if cell.spec.confidence.clip and not _good(cell).all():
            mine.append(cell.spec.confidence.scale)
    words = [
        f"{max(mine):g} times tight radii ({name})" if mine else f"no factor ({name})"
        for name, mine in factors.items()
    ]
    return f"misses begin at {', '.join(words)}"


def coverage_figure(cells: Sequence[Cell]) -> Figure:
    """Share of runs outside the good event against the factor on tight radii."""
    names = [n for n in PROMISED if any(c.algorithm == n for c in cells)]
    with house_style():
        figure = sheet(6.4, 3.2)
        axes = figure.subplots()
        for name, (color, _) in zip(names, looks_of(names), strict=True):
            mine = sorted(
                (c for c in cells if c.algorithm == name and c.spec.confidence.clip),
                key=lambda c: c.spec.confidence.scale,
            )
            x = [c.spec.confidence.scale for c in mine]
            y = [1 - float(_good(c).mean()) for c in mine]
            axes.plot(x, y, "o-", color=color, ms=4, label=name)
        axes.axhline(cells[0].spec.delta, color="#999999", lw=0.8, ls=":")
        axes.set_xlabel("factor on the tight radii")
        axes.set_ylabel("share of runs with a miss")
        axes.set_ylim(-0.03, 1.03)
        axes.legend()
        axes.grid()
    return figure


def upper_limit(count: int, n: int, level: float = 0.95) -> float:
    """Largest probability that such a count does not contradict, one-sided and exact."""
    return 1.0 if count == n else float(beta.ppf(level, count + 1, n - count))
