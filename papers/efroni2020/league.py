"""All learners on nine problems, the picture of single runs, and how sensitive the dual "
"learners are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from records import Cell, model_and_plan, problems_of
from section import Section, duration, rows_of, spec_name
from tightrope.arrays import Floats
from tightrope.experiments.statistics import Band, Resamples, band_of
from tightrope.plan.frontier import frontier
from tightrope.show.regret import power
from tightrope.show.report.words import format_number, percent
from tightrope.show.style import GRAY, INK, house_style, sheet

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
BASELINES = ("uniform", "optimal", "unconstrained", "certainty-equivalence")
WITHIN = 1.1  # a learner shares first place if it is within this factor
NEARLY_NONE = 1e-6  # per episode and step
OPTIONS = {
    "rho": "bound rho on the multipliers",
    "dual_step": "factor on the dual step",
    "primal_step": "factor on the primal step",
    "delta": "delta",
}


def league_section(cells: Sequence[Cell], resamples: Resamples) -> Section:
    """Regret, violations and time of every learner, over the problems."""
    section = Section("All learners on nine problems")
    episodes = cells[0].spec.episodes
    seeds = sorted({cell.n_seeds for cell in cells})
    said = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    section.ask(
        "Which learner does best, in cost and in keeping budgets, on small problems and few "
        "episodes?",
        "Every registered learner except OptCMDP-lp, which computes the plans of OptCMDP by "
        "another "
        f"method, on nine problems, {episodes:,} episodes, {said} seeds, delta = "
        f"{cells[0].spec.delta:g}. Radii are either tight (guarantees hold) or tight times 0.1, "
        "where the bonuses of UOpt-RPGPD and Triple-Q and the slack of Triple-Q are also times 0.1 "
        "(no guarantees). PSRL and the references have no radii and are listed once. Safe "
        "learners, "
        "DOPE and OptPess-LP start from the optimum of 0.2 times the budget; on the random "
        "problems, "
        "where no policy keeps that, from the policy of least use. Triple-Q, PSRL and the "
        "references "
        "have no confidence sets.",
    )
    scored = _scores(cells)
    for is_scaled, title in ((False, "tight radii"), (True, "tight radii times 0.1")):
        mine = {key: value for key, value in scored.items() if key[1] == is_scaled}
        if not mine:
            continue
        rows = []
        for (name, _), by_problem in mine.items():
            values = list(by_problem.values())
            strata = [each[0] for each in values], [each[1] for each in values]
            bands = [band_of(each, "IQM", resamples) for each in strata]
            shares = [each[2] for each in values]
            rows.append(
                (
                    float(bands[0].middle + bands[1].middle),
                    [
                        name,
                        *(_band(each) for each in bands),
                        percent(float(np.mean(shares))),
                        f"{max(each[3] for each in values):.2f}",
                        duration(float(np.median([each[4] for each in values]))),
                    ],
                )
            )
        rows.sort(key=lambda row: row[0])
        section.say(f"**{title[0].upper()}{title[1:]}**, sorted by the sum of both regrets:")
        columns = [
            "learner",
            f"Reg{PLUS} cost",
            f"Reg{PLUS} constraint",
            "episodes in violation",
            "largest violation",
            "CPU per episode",
        ]
        section.say(rows_of(columns, [row for _, row in rows]))
    section.say(
        f"Reg{PLUS} is per episode, as a share of what always playing the worse of "
        "`unconstrained` and "
        "`uniform` costs in the same quantity, so that problems are comparable: 1 is no better "
        "than "
        "these. Values are interquartile means over all runs with 95 % stratified bootstrap "
        "intervals, strata being the problems. The largest violation is the largest excess of one "
        "policy over the budget, in budgets. CPU time is the median over problems, with exact "
        "regret and audit, on a loaded machine."
    )
    section.conclude(_winners(scored, episodes))
    section.limit(
        f"{episodes:,} episodes are burn-in for the guaranteed constants: no theorem says "
        "anything about "
        "them. Few seeds and small problems; the ranking is about these settings only. One common "
        "factor is not tuned for anyone."
    )
    return section


Scores = dict[tuple[str, bool], dict[str, tuple[Floats, Floats, float, float, float]]]


def _scores(cells: Sequence[Cell]) -> Scores:
    """Relative regrets, share and size of violations and time: by learner and setting, by "
    "problem."""
    found: Scores = {}
    for problem, mine in problems_of(cells):
        cmdp, _ = model_and_plan(mine[0].spec)
        references = [c for c in mine if c.algorithm in ("uniform", "unconstrained")]
        scales = [
            max([float(c.ends(kind).mean()) for c in references], default=np.nan)
            for kind in ("cost_plus", "constraint_plus")
        ]
        budget = float(np.abs(cmdp.budget).max())
        for cell in mine:
            is_scaled = bool(cell.spec.confidence.is_heuristic)
            mine_of = found.setdefault((cell.algorithm, is_scaled), {})
            mine_of[problem] = (
                cell.ends("cost_plus") / scales[0],
                cell.ends("constraint_plus") / scales[1],
                cell.share,
                max(0.0, float(cell.numbers("worst").max())) / budget,
                cell.cpu,
            )
    return found


def _band(band: Band) -> str:
    middle, low, high = (float(part) for part in band)
    return f"{middle:.3f}" if np.isnan(low) else f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def _winners(scored: Scores, episodes: int) -> str:
    """In how many problems each learner has the least sum of both regrets."""
    words = []
    for is_scaled, title in ((False, "with tight radii"), (True, "with radii times 0.1")):
        mine = {
            name: by_problem
            for (name, scaled), by_problem in scored.items()
            if name not in BASELINES and (scaled == is_scaled or (is_scaled and name == "PSRL"))
        }
        problems = sorted({problem for each in mine.values() for problem in each})
        count: dict[str, int] = {}
        for problem in problems:
            sums = {
                name: float(each[problem][0].mean() + each[problem][1].mean())
                for name, each in mine.items()
                if problem in each
            }
            least = min(sums.values())
            for name, value in sums.items():
                if value <= WITHIN * least + NEARLY_NONE:
                    count[name] = count.get(name, 0) + 1
        told = sorted(count.items(), key=lambda pair: -pair[1])
        wins = ", ".join(f"{name} {n}" for name, n in told)
        words.append(f"{title}, of {len(problems)} problems: {wins}")
    return (
        f"After {episodes:,} episodes on small problems, the least sum of both regrets, or one "
        "within "
        f"10 % of it, was reached {'; '.join(words)} (without the references; the safe learners "
        "pay for not exceeding a budget, PSRL exceeds it slightly in many episodes)."
    )


def phase_section(cells: Sequence[Cell]) -> Section:
    """Excess over the budget against excess over the optimal cost, episode by episode."""
    cell = cells[0]
    section = Section("Sliding, jumping, circling and staying inside")
    section.ask(
        "What do the policies of a run do, between the first episode and the last?",
        f"One run of each learner on {spec_name(cell.spec)}, {cell.spec.episodes:,} episodes, "
        "seed 1, "
        "tight radii times 0.1 (no guarantees) and the bonus of UOpt-RPGPD times 0.001. Every "
        "point is the policy of one recorded episode, the line the exact "
        "frontier: no policy is below it. The cross is the optimum; right of the dotted line a "
        "policy exceeds the budget.",
    )
    section.show("phase", phase_figure(cells), "policies of single runs against the frontier")
    section.say(
        "Single runs show four ways to approach the optimum: OptCMDP and OptCMDP-bonus slide "
        "toward it "
        "from policies that exceed the budget; OptDual plays deterministic policies and jumps "
        "between "
        "a few of them on both sides of the budget; OptPrimalDual and UOpt-RPGPD turn around it; "
        "the safe learner approaches it without exceeding the budget."
    )
    section.limit("One run each on one problem; a picture, not a measurement.")
    return section


def phase_figure(cells: Sequence[Cell]) -> Figure:
    """One panel per learner; a point per recorded episode, colored by its logarithm."""
    cmdp, plan = model_and_plan(cells[0].spec)
    curve = frontier(cmdp)
    budget = float(cmdp.budget[0])
    extra = (curve.value - plan.value) * np.sign(cmdp.cost_unit.factor)  # rewards count down
    n = len(cells)
    columns = 3 if n > 4 else n
    rows = -(-n // columns)
    with house_style():
        figure = sheet(9.0, 0.7 + 2.5 * rows)
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        last = cells[0].spec.episodes
        points = None
        ends = [
            np.concatenate([c.curves(name).ravel() for c in cells])
            for name in ("constraint_excess", "cost_excess")
        ]
        for axes, cell in zip(panels.flat, cells, strict=False):
            axes.plot(curve.budget - budget, extra, color=INK, lw=1.2, zorder=1)
            axes.plot(0.0, 0.0, "+", color=INK, ms=9, zorder=3)
            axes.axvline(0.0, color=GRAY, lw=0.8, ls=":")
            axes.axhline(0.0, color=GRAY, lw=0.8, ls=":")
            record = cell.records[0]
            points = axes.scatter(
                record.curve("constraint_excess"),
                record.curve("cost_excess"),
                c=np.maximum(record.episode, 1),
                s=9,
                cmap="viridis",
                norm=LogNorm(1, last),
                zorder=2,
                linewidths=0,
            )
            axes.set_title(cell.algorithm)
        for axes in panels.flat[n:]:
            axes.set_visible(False)
        margin = [0.06 * float(np.ptp(each)) for each in ends]
        panels[0, 0].set_xlim(float(ends[0].min()) - margin[0], float(ends[0].max()) + margin[0])
        panels[0, 0].set_ylim(float(ends[1].min()) - margin[1], float(ends[1].max()) + margin[1])
        for axes in panels[-1]:
            axes.set_xlabel("excess over the budget")
        for row in panels:
            row[0].set_ylabel("excess over the optimal cost")
        if points is not None:
            bar = figure.colorbar(points, ax=panels, label="episode", shrink=0.6, pad=0.01)
            bar.ax.yaxis.set_major_formatter(FuncFormatter(power))
    return figure


def sensitivity_section(cells: Sequence[Cell]) -> Section:
    """Options of the dual learners one by one, and their averaged policies."""
    spec = cells[0].spec
    section = Section("Dual learners: rho, step sizes, delta, averaged policies")
    section.ask(
        "How much do the inputs of the dual learners matter?",
        f"One input at a time away from the defaults, tight radii, {spec.episodes:,} episodes on "
        f"{spec_name(spec)}, {min(c.n_seeds for c in cells)} seeds or more. The default of rho is "
        "twice the largest multiplier that the paper's condition allows (`paper_x2`), computed "
        "from "
        "the true model. The averaged policy has the mean occupancy of all episodes; its "
        "excess is per episode.",
    )
    rows = []
    names = list(dict.fromkeys(cell.algorithm for cell in cells))
    varied = [(who, name, words) for who in names for name, words in OPTIONS.items()]
    for who, name, words in varied:
        own = [cell for cell in cells if cell.algorithm == who]
        for cell in sorted(own, key=partial(_rank, name)):
            value = _option(cell, name)
            if value is None:
                continue
            rows.append(
                [
                    cell.algorithm,
                    words,
                    f"{value}",
                    *(
                        format_number(float(cell.ends(kind).mean()))
                        for kind in ("cost_plus", "constraint_plus", "constraint")
                    ),
                    *(
                        f"{float(cell.numbers(key).mean()):+.3f}"
                        for key in ("average_cost", "average_constraint")
                    ),
                ]
            )
    columns = [
        "learner",
        "input",
        "value",
        f"Reg{PLUS} cost",
        f"Reg{PLUS} constraint",
        "Reg constraint",
        "average policy: cost",
        "constraint",
    ]
    section.say(rows_of(columns, rows, n_words=3))
    section.limit(
        "One problem. A rho below the multiplier of the optimum "
        f"({float(model_and_plan(spec)[1].multiplier.max()):.3g} in the units of the model) "
        "breaks the "
        "theorem, as does a changed step; delta changes radii through a logarithm only."
    )
    return section


def _rank(name: str, cell: Cell) -> tuple[bool, float]:
    """Words first, then numbers by size."""
    value = _option(cell, name)
    return (True, float(value)) if isinstance(value, (int, float)) else (False, 0.0)


def _option(cell: Cell, name: str) -> object | None:
    """The value of an option where this cell varies it, or has the default."""
    spec = cell.spec
    if name == "delta":
        values = {"rho": "paper_x2", "dual_step": 1.0, "primal_step": 1.0}
        is_default = all(spec.learner.options.get(k, v) == v for k, v in values.items())
        return spec.delta if is_default else None
    others = [o for o in ("rho", "dual_step", "primal_step") if o != name]
    usual = {"rho": "paper_x2", "dual_step": 1.0, "primal_step": 1.0}
    if any(spec.learner.options.get(o, usual[o]) != usual[o] for o in others) or spec.delta != 0.1:
        return None
    return spec.learner.options.get(name)
