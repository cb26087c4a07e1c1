"""Regret against the number of episodes, the bounds, scaled constants, and the good event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import beta

from records import Cell, model_and_plan, problems_of
from section import Section, band_words, mean_and_band, rows_of, spec_name
from tightrope.arrays import Floats
from tightrope.experiments.statistics import Band, Resamples
from tightrope.model import CMDP
from tightrope.show.regret import KINDS, looks_of, scale_episodes
from tightrope.show.report.words import DASH, format_number
from tightrope.show.style import house_style, sheet

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
LEVEL = 0.95
DRAWS = 2_000
PROMISED = {
    "OptCMDP": ("cost_plus", "constraint_plus"),
    "OptCMDP-bonus": ("cost_plus", "constraint_plus"),
    "OptDual": ("cost", "constraint"),
    "OptPrimalDual": ("cost", "constraint"),
}


def most_successors(cmdp: CMDP) -> int:
    """Largest number N of successors of a pair."""
    return int(np.diff(cmdp.transitions.indptr, axis=1).max())


def leading_terms(algorithm: str, cmdp: CMDP, n_episodes: int, rho: float) -> tuple[float, float]:
    """Leading terms for cost and constraints: of Reg+ for OptCMDP(-bonus), of Reg for the others.

    ::

        plain   = sqrt(S A N H^4 K)
        OptDual        plain + rho sqrt(I H^2 K)                (1 + 1/rho) sqrt(I) plain
        OptPrimalDual  plain + (1 + I rho) sqrt(H^4 K ln A)     (1 + 1/rho) sqrt(I) plain
                                                                  + I sqrt(H^4 K ln A)
    """
    S, A, H, I = cmdp.n_states, cmdp.n_actions, cmdp.horizon, cmdp.n_constraints
    K, N = n_episodes, most_successors(cmdp)
    plain = np.sqrt(S * A * N * H**4 * K)
    if algorithm.startswith("OptCMDP"):
        return float(plain), float(plain)
    over = (1 + 1 / rho) * np.sqrt(I) * plain
    if algorithm == "OptDual":
        return float(plain + rho * np.sqrt(I * H**2 * K)), float(over)
    mirror = np.sqrt(H**4 * K * np.log(A))
    return float(plain + (1 + I * rho) * mirror), float(over + I * mirror)


def transition_term(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    """Transition part of OptCMDP's bound with its constants, ``11.3 H^2 sqrt(N L S A K)``.

    ``L = ln(6 S A H K / delta)``.
    """
    return float(np.sqrt(_size(cmdp, n_episodes, delta) * n_episodes)) * cmdp.horizon


def cost_term(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    """Leading cost part of the same bound, ``5.66 H sqrt(S A K Lc)``.

    ``Lc = 2 ln(6 S A H (I+1) K / delta)``. A cost is at most two radii ``sqrt(Lc / n)`` above its
    optimistic value; by the visit-count event ``n`` is about at least half the expected visits,
    and ``sum_k q_k sqrt(2 / sum_{j<k} q_j)`` is at most ``2 sqrt(2 sum_k q_k)``, summed over
    stages and pairs by Cauchy and Schwarz.
    """
    S, A, H, I = cmdp.n_states, cmdp.n_actions, cmdp.horizon, cmdp.n_constraints
    Lc = 2 * np.log(6 * S * A * H * (I + 1) * n_episodes / delta)
    return float(4 * np.sqrt(2) * H * np.sqrt(S * A * n_episodes * Lc))


def below_trivial(cmdp: CMDP, n_episodes: int, delta: float, rho: float = np.inf) -> float:
    """Episodes from which the transition term is below H K, which is certain.

    ``128 H^2 N L S A``, times ``(1 + 1/rho)^2 I`` for the constraints
    of OptDual. Curves before that test no theorem, and lower-order terms move it further.
    """
    factor = 1.0 if np.isinf(rho) else (1 + 1 / rho) ** 2 * cmdp.n_constraints
    return factor * _size(cmdp, n_episodes, delta)


def _size(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    L = np.log(6 * S * A * H * n_episodes / delta)
    return float(128 * H**2 * most_successors(cmdp) * L * S * A)


def ladder_slope(episodes: Sequence[int], ends: Sequence[Floats], rng: np.random.Generator) -> Band:
    """Exponent of the mean regret over runs of different K, with a bootstrap over runs at each K.

    NaN where a mean is not positive.
    """
    x = np.log(np.asarray(episodes, dtype=np.float64))
    weight = (x - x.mean()) / ((x - x.mean()) @ (x - x.mean())) if len(x) > 1 else x
    means = np.array([float(each.mean()) for each in ends])
    if len(x) < 2 or (means <= 0).any():
        return Band(*(np.asarray(np.nan),) * 3)
    drawn = np.stack(
        [each[rng.integers(0, len(each), size=(DRAWS, len(each)))].mean(axis=1) for each in ends]
    )
    drawn = drawn[:, (drawn > 0).all(axis=0)]
    low, high = np.quantile(weight @ np.log(drawn), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(np.asarray(weight @ np.log(means)), np.asarray(low), np.asarray(high))


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
        "delta = "
        f"{cells[0].spec.delta:g}, in separate runs for every K up to {longest:,}. The step "
        "sizes of "
        "OptDual and OptPrimalDual depend on K, so exponents are fitted over these runs: slopes of "
        "log mean regret after K episodes against log K, with 95 % bootstrap intervals over seeds. "
        "0.5 is a square root, 1 a constant loss per episode. For comparison the exponent within "
        "the longest run stands beside it, over its last factor of ten. A dash: a mean that is not "
        "positive, so that no power fits.",
    )
    exceeded, n_runs = 0, 0
    found: dict[str, list[str]] = {}
    for k, (_, mine) in enumerate(problems_of(cells)):
        cmdp, _ = model_and_plan(mine[0].spec)
        section.say(f"### {spec_name(mine[0].spec)}")
        figure = roots_figure(mine, resamples)
        section.show(f"growth-{k}", figure, "regret divided by the square root of K")
        rows, bounds = [], []
        for name in PROMISED:
            ladder = sorted((c for c in mine if c.algorithm == name), key=lambda c: c.spec.episodes)
            if not ladder:
                continue
            episodes = [c.spec.episodes for c in ladder]
            inner = inner_slope(ladder[-1])
            fits = []
            for kind in PROMISED[name]:
                fit = ladder_slope(episodes, [c.ends(kind) for c in ladder], rng)
                fits.append(float(fit.middle))
                within = DASH if np.isnan(inner[kind]) else f"{inner[kind]:.2f}"
                rows.append([name, KINDS[kind], band_words(fit), within])
            known = [fit for fit in fits if not np.isnan(fit)]
            found.setdefault(name, []).append(f"{max(known):.2f}" if known else DASH)
            bounds += _against(ladder[-1], cmdp, resamples)
            if name == "OptCMDP":
                for cell in ladder:
                    bad, n = exceedances(cell, cmdp)
                    exceeded, n_runs = exceeded + bad, n_runs + n
        seeds = sorted({c.n_seeds for c in mine})
        section.say(
            rows_of(["learner", "regret", "exponent over K", "within a run"], rows, n_words=2)
        )
        columns = ["learner", "regret", "K", "mean", "leading term", "measured/bound"]
        section.say(rows_of(columns, bounds, n_words=2))
        section.say(f"Seeds for each K: {seeds[0]} to {seeds[-1]}.")
    section.conclude(
        f"Over runs of K up to {longest:,} episodes, what each theorem bounds grew with "
        "exponents (the "
        "larger of cost and constraint, problem by problem) "
        + ", ".join(f"{name} {' and '.join(values)}" for name, values in found.items())
        + f"; 0.5 is a square root, larger ones are burn-in; in {n_runs:,} runs of OptCMDP the "
        "bound "
        f"with its constants was exceeded at a recorded episode in {exceeded}."
    )
    section.limit(
        "Leading terms are those of the corrected bounds without constants and logarithms, "
        "except that "
        "for OptCMDP the bound with its constants, transition and cost term, is in the last "
        "column. "
        "From the K at which that is below H per episode the bound says anything: "
        + ", ".join(
            f"about {below_trivial(model_and_plan(m[0].spec)[0], longest, m[0].spec.delta):.1g} on "
            f"{spec_name(m[0].spec)}"
            for _, m in problems_of(cells)
        )
        + ". Two instances, the random one with seed 2 of its family, chosen by an earlier "
        "version because "
        "its constraint binds. Costs are Bernoulli draws. The ring is deterministic, so it has no "
        "transition term. rho is computed from the true model."
    )
    return section


def exceedances(cell: Cell, cmdp: CMDP) -> tuple[int, int]:
    """In how many runs of OptCMDP its bound was exceeded at a kept episode, and of how many."""
    scales = (abs(cmdp.cost_unit.factor), max(abs(u.factor) for u in cmdp.constraint_units))
    K, delta = cell.spec.episodes, cell.spec.delta
    whole = transition_term(cmdp, K, delta) + cost_term(cmdp, K, delta)
    bound = whole * np.sqrt(cell.episode / K)
    over = [
        np.asarray((cell.curves(kind) / scale > bound).any(axis=1))
        for kind, scale in zip(PROMISED["OptCMDP"], scales, strict=True)
    ]
    return int((over[0] | over[1]).sum()), cell.n_seeds


def _against(cell: Cell, cmdp: CMDP, resamples: Resamples) -> list[list[str]]:
    """What a theorem bounds beside its leading term, in the units of the model."""
    K, delta = cell.spec.episodes, cell.spec.delta
    bounds = leading_terms(cell.algorithm, cmdp, K, float(cell.numbers("rho")[0]))
    if cell.algorithm == "OptCMDP":
        bounds = (transition_term(cmdp, K, delta) + cost_term(cmdp, K, delta),) * 2
    scales = (abs(cmdp.cost_unit.factor), max(abs(unit.factor) for unit in cmdp.constraint_units))
    rows = []
    for kind, bound, scale in zip(PROMISED[cell.algorithm], bounds, scales, strict=True):
        ends = cell.ends(kind)
        share = float(ends.mean()) / scale / bound
        label = " (with constants)" if cell.algorithm == "OptCMDP" else ""
        rows.append(
            [
                cell.algorithm,
                KINDS[kind],
                f"{K:,}",
                mean_and_band(ends, resamples),
                format_number(bound * scale) + label,
                f"{share:.2g}",
            ]
        )
    return rows


def roots_figure(cells: Sequence[Cell], resamples: Resamples) -> Figure:
    """Regret divided by the square root of the episode: a square root is a horizontal line.

    One row for what theorems bound, with the longest run of each learner as a line and the ends of
    the runs of every K as points.
    """
    del resamples
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
                    axes.plot(K, cell.ends(kind).mean() / np.sqrt(K), "o", color=color, ms=5)
                axes.axhline(0.0, color="#999999", lw=0.6)
                axes.set_title(f"{name}\n{KINDS[kind]}" if row == 0 else KINDS[kind])
                axes.grid()
                scale_episodes(axes, longest.spec.episodes)
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
        f"{min(c.n_seeds for c in cells)} seeds. Tight radii keep every guarantee. A factor "
        "below 1 "
        "applies inside the cap: a pair that was never visited keeps the whole range [0, 1], so "
        "that "
        "it stays attractive. A constraint binds in the first recorded episode with a positive "
        "multiplier; before that the learner behaves as if there were no budget.",
    )
    rows = [
        [
            cell.algorithm,
            cell.records[0].table["radii"].replace(", scale_bonus", "; bonus"),
            _first(cell),
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
        "confidence "
        "sets contained the true model in every episode."
    )
    first = {(c.algorithm, c.records[0].table["radii"]): _first(c) for c in cells}
    told = [
        f"{name} {first[name, 'tight']} instead of {value}"
        for (name, radii), value in first.items()
        if radii == "faithful" and (name, "tight") in first
    ]
    section.say(
        "Tight constants, with the same guarantees, make the first constraint bind earlier (median "
        f"episode): {', '.join(told)}."
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


def _first(cell: Cell) -> str:
    """Median over seeds of the first episode with a binding constraint."""
    middle = float(np.median(cell.numbers("first_binding")))
    return "never" if np.isinf(middle) else f"{middle:,.0f}"


def coverage_section(cells: Sequence[Cell]) -> Section:
    """How many runs left the good event, family by family, against the factor."""
    section = Section("Coverage of the confidence sets")
    spec = cells[0].spec
    section.ask(
        "How often do the confidence sets miss the true model, and how small may they be made?",
        f"Runs of {spec.episodes:,} episodes on {spec_name(spec)}, delta = {spec.delta:g}: costs "
        "with "
        "constraint costs, transitions, and visit counts may fail with probability delta/3 each. "
        "OptDual stands for confidence sets, OptPrimalDual for bonuses.",
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
                f"{upper_limit(missed, cell.n_seeds):.1%}",
            ]
        )
    columns = ["learner", "constants", *families.values(), "any", "95 % upper limit"]
    section.say(rows_of(columns, rows, n_words=2))
    guaranteed = [c for c in cells if not c.numbers("is_heuristic")[0]]
    missed = sum(int((~_good(c).astype(bool)).sum()) for c in guaranteed)
    runs = sum(c.n_seeds for c in guaranteed)
    section.say(
        f"With guaranteed constants the confidence sets missed the true model in {missed} of "
        f"{runs:,} "
        f"runs of {spec.episodes:,} episodes (delta = {spec.delta:g})."
    )
    section.limit(
        "The upper limit is that of Clopper and Pearson (1934), one-sided and exact. With a factor "
        "below 1 no coverage is guaranteed; one instance."
    )
    return section


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
