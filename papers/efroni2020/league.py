"""All learners on nine problems, the picture of single runs, and inputs of the dual learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from records import Cell, model_and_plan, problems_of
from section import Section, duration, rows_of, spec_name
from tightrope.arrays import Floats
from tightrope.experiments.statistics import Band, Resamples, band_of, middle_of
from tightrope.plan.frontier import frontier
from tightrope.show.regret import power
from tightrope.show.report.words import DASH, format_number, percent
from tightrope.show.style import BLUE, GRAY, INK, RED, house_style, sheet

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


class Score(NamedTuple):
    """What one learner did on one problem, with one setting of the radii."""

    cost_plus: Floats  # (N,) relative to that of the references, as the next three
    constraint_plus: Floats
    cost: Floats
    constraint: Floats
    share: float  # of the episodes in violation
    worst: float  # largest excess of a policy, in budgets
    cpu: float  # seconds per episode


Scores = dict[tuple[str, bool], dict[str, Score]]  # by learner and whether scaled, by problem
SETTINGS = {False: "tight radii", True: "tight radii times 0.1"}


def league_section(cells: Sequence[Cell], resamples: Resamples) -> Section:
    """Regret, violations and time of every learner, over the problems."""
    section = Section("All learners on nine problems")
    episodes = cells[0].spec.episodes
    seeds = sorted({cell.n_seeds for cell in cells})
    said = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    problems = [spec_name(mine[0].spec) for _, mine in problems_of(cells)]
    section.ask(
        "Which learner does best, in cost and in keeping budgets, on small problems and few "
        "episodes?",
        "Every registered learner except OptCMDP-lp, which computes the plans of OptCMDP by "
        f"another method, on {len(problems)} problems: {', '.join(problems)}. {episodes:,} "
        f"episodes, {said} seeds, delta = {cells[0].spec.delta:g}. Radii are either tight "
        "(guarantees hold) or tight times 0.1, where the bonuses of UOpt-RPGPD and Triple-Q and "
        "the slack of Triple-Q are also times 0.1 (no guarantees). PSRL and the references "
        "(optimal, uniform, unconstrained, certainty-equivalence) have no radii and are listed "
        "once. Safe learners, DOPE and OptPess-LP start from the optimum of 0.2 times the budget; "
        "on the random problems, where no policy keeps that, from the policy of least use.",
    )
    scored = _scores(cells)
    section.show("league", league_figure(scored, resamples), "regret and violations by learner")
    section.say(
        "Filled marks: tight radii or none; open marks: tight radii times 0.1. Large marks are "
        "interquartile means over all runs with 95 % intervals, small ones single problems. The "
        "scales of regret are linear below 0.01 and logarithmic above."
    )
    for is_scaled, title in SETTINGS.items():
        mine = {name: each for (name, scaled), each in scored.items() if scaled == is_scaled}
        if not mine:
            continue
        order = sorted(mine, key=lambda name: _total(mine[name]))
        section.say(f"**{title[0].upper()}{title[1:]}**, sorted by the sum of both strong regrets:")
        columns = [
            "learner",
            f"Reg{PLUS} cost",
            f"Reg{PLUS} constraint",
            "Reg cost",
            "Reg constraint",
            "in violation",
            "largest",
            "CPU per episode",
        ]
        section.say(rows_of(columns, [_row(name, mine[name], resamples) for name in order]))
    section.say(
        f"Reg{PLUS} (strong: nothing offsets an excess) and Reg (weak) are relative to the "
        f"Reg{PLUS} of the worse of `unconstrained` and `uniform` in the same quantity, so that "
        "problems are comparable: 1 is no better than these. Values are interquartile means over "
        "all runs; intervals are 95 % bootstrap intervals stratified by problem. In violation: "
        "share of the episodes whose policy exceeds a budget. Largest: the largest excess of one "
        "policy over its budget, in budgets. CPU time is the median over problems, with exact "
        "regret and audit, on a loaded machine."
    )
    section.say("**Who is best where**, the references apart:")
    section.say(_winners_table(cells, scored))
    section.say(
        "Least sum of both strong regrets, and least strong cost regret among learners that "
        "exceeded no budget in any episode of any run; all within 10 % of the least are "
        "named, best first."
    )
    section.conclude(_winners(scored, episodes))
    section.limit(
        f"{episodes:,} episodes are burn-in for the guaranteed constants: no theorem says "
        "anything about them. Small problems; the ranking is about these settings only. One "
        "common factor is not tuned for anyone."
    )
    return section


def _scores(cells: Sequence[Cell]) -> Scores:
    """Scores of every learner and setting on every problem."""
    found: Scores = {}
    for problem, mine in problems_of(cells):
        cmdp, _ = model_and_plan(mine[0].spec)
        references = [c for c in mine if c.algorithm in ("uniform", "unconstrained")]
        cost, over = (
            max([float(c.ends(kind).mean()) for c in references], default=np.nan)
            for kind in ("cost_plus", "constraint_plus")
        )
        budget = float(np.abs(cmdp.budget).max())
        for cell in mine:
            is_scaled = bool(cell.spec.confidence.is_heuristic)
            found.setdefault((cell.algorithm, is_scaled), {})[problem] = Score(
                cell.ends("cost_plus") / cost,
                cell.ends("constraint_plus") / over,
                cell.ends("cost") / cost,
                cell.ends("constraint") / over,
                cell.share,
                max(0.0, float(cell.numbers("worst").max())) / budget,
                cell.cpu,
            )
    return found


def _strong(score: Score) -> float:
    """Sum of both strong regrets."""
    return float(score.cost_plus.mean() + score.constraint_plus.mean())


def _pooled(scores: Mapping[str, Score], name: str) -> list[Floats]:
    """A regret by problem."""
    return [getattr(each, name) for each in scores.values()]


def _total(scores: Mapping[str, Score]) -> float:
    """Sum of the interquartile means of both strong regrets."""
    return sum(
        float(middle_of(np.concatenate(_pooled(scores, name)), "IQM"))
        for name in ("cost_plus", "constraint_plus")
    )


def _row(name: str, scores: Mapping[str, Score], resamples: Resamples) -> list[str]:
    strong = (
        _band(band_of(_pooled(scores, kind), "IQM", resamples))
        for kind in ("cost_plus", "constraint_plus")
    )
    weak = (
        f"{float(middle_of(np.concatenate(_pooled(scores, kind)), 'IQM')) + 0.0:.3f}"
        for kind in ("cost", "constraint")
    )
    every = scores.values()
    return [
        name,
        *strong,
        *weak,
        percent(float(np.mean([each.share for each in every]))),
        f"{max(each.worst for each in every):.2f}",
        duration(float(np.median([each.cpu for each in every]))),
    ]


def _band(band: Band) -> str:
    middle, low, high = (round(float(part), 3) + 0.0 for part in band)
    return f"{middle:.3f}" if np.isnan(low) else f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def _competitors(scored: Scores, is_scaled: bool) -> dict[str, dict[str, Score]]:
    """Learners of a setting without the references; PSRL has no radii and is in both."""
    return {
        name: mine
        for (name, scaled), mine in scored.items()
        if name not in BASELINES and (scaled == is_scaled or (is_scaled and name == "PSRL"))
    }


def _best(values: Mapping[str, float]) -> list[str]:
    """Names with the least value or one within 10 % of it, best first."""
    least = min(values.values(), default=0.0)
    order = sorted(values.items(), key=lambda pair: pair[1])
    return [name for name, value in order if value <= WITHIN * least + NEARLY_NONE]


def _winners_table(cells: Sequence[Cell], scored: Scores) -> str:
    """Best learners of every problem."""
    rows = []
    for problem, mine in problems_of(cells):
        row = [spec_name(mine[0].spec)]
        for is_scaled in SETTINGS:
            here = {
                name: each[problem]
                for name, each in _competitors(scored, is_scaled).items()
                if problem in each
            }
            safe = {name: each for name, each in here.items() if each.worst <= NEARLY_NONE}
            row.append(", ".join(_best({name: _strong(each) for name, each in here.items()})))
            costs = {name: float(each.cost_plus.mean()) for name, each in safe.items()}
            row.append(", ".join(_best(costs)) or DASH)
        rows.append(row)
    columns = ["problem"]
    for title in ("tight", "times 0.1"):
        columns += [f"{title}: both regrets", f"{title}: cost, never in violation"]
    return rows_of(columns, rows, n_words=5)


def _winners(scored: Scores, episodes: int) -> str:
    """In how many problems each learner has the least sum of both regrets."""
    words = []
    for is_scaled, title in ((False, "tight radii"), (True, "radii times 0.1")):
        mine = _competitors(scored, is_scaled)
        problems = sorted({problem for each in mine.values() for problem in each})
        count: dict[str, int] = {}
        for problem in problems:
            here = {name: _strong(each[problem]) for name, each in mine.items() if problem in each}
            for name in _best(here):
                count[name] = count.get(name, 0) + 1
        told = sorted(count.items(), key=lambda pair: -pair[1])
        words.append(f"with {title} {', '.join(f'{name} {n}' for name, n in told)}")
    return (
        f"After {episodes:,} episodes the least sum of both strong regrets, or one within 10 % of "
        f"it, was reached on so many of {len(problems)} small problems: {'; '.join(words)}; the "
        "safe learners pay for never exceeding a budget, PSRL exceeds it slightly in many episodes."
    )


def league_figure(scored: Scores, resamples: Resamples) -> Figure:
    """A row per learner: both strong regrets and the share of episodes in violation."""
    names = list(dict.fromkeys(name for name, _ in scored))
    names.sort(key=lambda name: min(_total(scored[key]) for key in scored if key[0] == name))
    titles = {
        "cost_plus": f"Reg{PLUS} cost",
        "constraint_plus": f"Reg{PLUS} constraint",
        "share": "episodes in violation",
    }
    with house_style():
        figure = sheet(10.0, 1.0 + 0.32 * len(names))
        panels = figure.subplots(1, len(titles), sharey=True)
        for (name, is_scaled), mine in scored.items():
            place = names.index(name) + (0.16 if is_scaled else -0.16)
            color = RED if is_scaled else BLUE
            fill = "white" if is_scaled else color
            for axes, kind in zip(panels, titles, strict=True):
                if kind == "share":
                    points = [100 * each.share for each in mine.values()]
                    middle = low = high = float(np.mean(points))
                else:
                    points = [float(each.mean()) for each in _pooled(mine, kind)]
                    band = band_of(_pooled(mine, kind), "IQM", resamples)
                    middle, low, high = (float(part) for part in band)
                axes.plot(points, [place] * len(points), "|", color=color, ms=5, alpha=0.45)
                axes.plot([low, high], [place, place], color=color, lw=2)
                axes.plot(middle, place, "o", color=color, mfc=fill, ms=6)
        for axes, title in zip(panels, titles.values(), strict=True):
            axes.set_title(title)
            axes.grid(axis="x")
        for axes in panels[:2]:
            axes.set_xscale("symlog", linthresh=0.01)
            axes.set_xlim(-0.002, 1.4 * axes.dataLim.x1)
            axes.set_xticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
            axes.xaxis.set_minor_locator(NullLocator())
        panels[2].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f} %"))
        for label, fill in (("tight radii, or none", BLUE), ("tight radii times 0.1", "white")):
            edge = BLUE if fill == BLUE else RED
            panels[2].plot([], [], "o", color=edge, mfc=fill, ms=6, label=label)
        figure.legend(loc="outside lower center", ncols=2)
        panels[0].set_yticks(range(len(names)), names)
        panels[0].set_ylim(len(names) - 0.4, -0.6)
    return figure


def phase_section(cells: Sequence[Cell]) -> Section:
    """Excess over the budget against excess over the optimal cost, episode by episode."""
    cell = cells[0]
    section = Section("Sliding, jumping, circling and staying inside")
    section.ask(
        "What do the policies of a run do, between the first episode and the last?",
        f"One run of each learner on {spec_name(cell.spec)}, {cell.spec.episodes:,} episodes, seed "
        "1, tight radii times 0.1 (no guarantees) and the bonus of UOpt-RPGPD times 0.001. Every "
        "point is the policy of one recorded episode, the line the exact frontier: no policy is "
        "below it. The cross is the optimum; right of the dotted line a policy exceeds the budget.",
    )
    section.show("phase", phase_figure(cells), "policies of single runs against the frontier")
    section.say(
        "Single runs show four ways to approach the optimum: OptCMDP and OptCMDP-bonus slide "
        "toward it from policies that exceed the budget; OptDual plays deterministic policies and "
        "jumps between a few of them on both sides of the budget; OptPrimalDual and UOpt-RPGPD "
        "turn around it; the safe learner approaches it without exceeding the budget."
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
        "from the true model. The averaged policy has the mean occupancy of all episodes; its "
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
        f"({float(model_and_plan(spec)[1].multiplier.max()):.3g} in the units of the model) breaks "
        "the theorem, as does a changed step; delta changes radii through a logarithm only."
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
