"""All learners on nine problems, the picture of single runs, and inputs of the dual learners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from records import Cell, model_and_plan, problems_of
from section import Section, duration, rows_of, signed, span, spec_name
from tightrope.arrays import Floats
from tightrope.experiments.statistics import LEVEL, RESAMPLES, Band, middle_of
from tightrope.plan.frontier import frontier
from tightrope.show.regret import power
from tightrope.show.report.words import DASH, MINUS, format_number, percent
from tightrope.show.style import BLUE, EDGE, GRAY, INK, RED, house_style, sheet

PLUS = "\N{SUBSCRIPT PLUS SIGN}"
BASELINES = ("uniform", "optimal", "unconstrained", "certainty-equivalence")
WITHIN = 1.1  # a learner shares first place if it is within this factor
NEARLY_NONE = 1e-6  # per episode and step
ROUNDING = 1e-6  # of a recorded excess in single precision
SAME = 1e-9  # relative difference of sums of the same numbers
MOST_NAMED = 4  # learners in one sentence
DELTA = 0.1  # the default
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


def league_section(cells: Sequence[Cell], rng: np.random.Generator) -> Section:
    """Regret, violations and time of every learner, over the problems."""
    section = Section("All learners on nine problems")
    episodes = cells[0].spec.episodes
    problems = [spec_name(mine[0].spec) for _, mine in problems_of(cells)]
    section.ask(
        "Which learner does best, in cost and in keeping budgets, on small problems and few "
        "episodes?",
        "Every registered learner except OptCMDP-lp and OptCMDP-bonus-lp, which compute the plans "
        f"of two others by linear programs, on {len(problems)} problems: {', '.join(problems)}. "
        f"{episodes:,} episodes, {_seeds(cells)} seeds, delta = {cells[0].spec.delta:g}. Radii are "
        "either tight (guarantees hold) or tight times 0.1, where the bonuses of UOpt-RPGPD and "
        "Triple-Q and the slack of Triple-Q are also times 0.1 (no guarantees). PSRL and the "
        "references (optimal, uniform, unconstrained, certainty-equivalence) have no radii and are "
        "listed once. Safe learners, DOPE and OptPess-LP start from the optimum of 0.2 times the "
        "budget; on the random problems, where no policy keeps that, from the policy of least use.",
    )
    scored = _scores(cells)
    bands = _bands(scored, rng)
    section.show("league", league_figure(scored, bands), "regret and violations by learner")
    section.say(
        "Filled marks: tight radii or none; open marks: tight radii times 0.1. Large marks are "
        "means over the problems with 95 % intervals, small ones single problems. The scales of "
        "regret are linear below 0.01 and logarithmic above."
    )
    for is_scaled, title in SETTINGS.items():
        mine = {name: each for (name, scaled), each in scored.items() if scaled == is_scaled}
        if not mine:
            continue
        order = sorted(mine, key=lambda name: _total(bands[name, is_scaled]))
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
        rows = [_row(name, mine[name], bands[name, is_scaled]) for name in order]
        section.say(rows_of(columns, rows))
    section.say(
        f"Reg{PLUS} (strong: nothing offsets an excess) and Reg (weak) are relative to the "
        f"Reg{PLUS} of the worse of `unconstrained` and `uniform` in the same quantity, so that "
        "problems are comparable: 1 is no better than these. Values are means over the problems "
        "of the interquartile mean over the seeds of each, so that no problem is left out; "
        "intervals are 95 % bootstrap intervals over seeds, resampled problem by problem: they do "
        "not say how other problems would come out. In violation: share of the episodes whose "
        "policy exceeds a budget. Largest: the largest excess of one "
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
    section.say(_still(cells))
    counts = _counts(scored)
    section.conclude(_winners(scored, counts, episodes))
    section.answer(_first_places(counts, len(problems)))
    section.limit(
        f"{episodes:,} episodes are burn-in for the guaranteed constants: no theorem says "
        "anything about them. Small problems; the ranking is about these settings only. One "
        "common factor is not tuned for anyone."
    )
    return section


def _seeds(cells: Sequence[Cell]) -> str:
    """Numbers of seeds, least and largest."""
    return span((cell.n_seeds for cell in cells), "{:.0f}".format)


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


Bands = dict[tuple[str, bool], dict[str, Band]]  # by learner and whether scaled, by regret
REGRETS = ("cost_plus", "constraint_plus", "cost", "constraint")


def over_problems(problems: Sequence[Floats], rng: np.random.Generator) -> Band:
    """Mean over problems of the IQM over the runs of each, with a bootstrap over runs.

    NaN intervals where no problem has two runs.
    """
    middle = np.asarray(np.mean([middle_of(runs, "IQM") for runs in problems]))
    if all(len(runs) < 2 for runs in problems):
        return Band(middle, np.asarray(np.nan), np.asarray(np.nan))
    drawn = [runs[rng.integers(0, len(runs), size=(len(runs), RESAMPLES))] for runs in problems]
    found = np.mean([middle_of(runs, "IQM") for runs in drawn], axis=0)
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Band(middle, low, high)


def _bands(scored: Scores, rng: np.random.Generator) -> Bands:
    """Every regret of every learner and setting over the problems."""
    return {
        key: {
            name: over_problems([getattr(each, name) for each in mine.values()], rng)
            for name in REGRETS
        }
        for key, mine in scored.items()
    }


def _total(bands: Mapping[str, Band]) -> float:
    """Sum of both strong regrets."""
    return float(bands["cost_plus"].middle) + float(bands["constraint_plus"].middle)


def _row(name: str, scores: Mapping[str, Score], bands: Mapping[str, Band]) -> list[str]:
    strong = (_band(bands[kind]) for kind in ("cost_plus", "constraint_plus"))
    weak = (
        f"{round(float(bands[kind].middle), 3) + 0.0:.3f}".replace("-", MINUS)
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


Counts = dict[bool, dict[str, int]]  # by whether scaled, by learner, most first


def _counts(scored: Scores) -> Counts:
    """In how many problems each learner has the least sum of both regrets, or nearly."""
    found: Counts = {}
    for is_scaled in SETTINGS:
        mine = _competitors(scored, is_scaled)
        count: dict[str, int] = {}
        for problem in sorted({problem for each in mine.values() for problem in each}):
            here = {name: _strong(each[problem]) for name, each in mine.items() if problem in each}
            for name in _best(here):
                count[name] = count.get(name, 0) + 1
        found[is_scaled] = dict(sorted(count.items(), key=lambda pair: -pair[1]))
    return found


def _counted(counts: Counts) -> str:
    """Winners of every setting with their numbers of problems."""
    words = [
        f"with {SETTINGS[is_scaled]} "
        + ", ".join(f"{name} {n}" for name, n in list(count.items())[:MOST_NAMED])
        for is_scaled, count in counts.items()
    ]
    return "; ".join(words)


def _first_places(counts: Counts, n_problems: int) -> str:
    """The learner that wins most often in every setting."""
    words = [
        f"{next(iter(count))} on {next(iter(count.values()))} with {SETTINGS[is_scaled]}"
        for is_scaled, count in counts.items()
        if count
    ]
    return (
        f"least sum of excess cost and overspending, of {n_problems} problems: {', '.join(words)}"
    )


def _winners(scored: Scores, counts: Counts, episodes: int) -> str:
    """Who has the least sum of both regrets, and what it and safety cost."""
    n = len({problem for each in scored.values() for problem in each})
    told = [
        f"On {n} small problems, {episodes:,} episodes, the learners that most often have the "
        "least sum of both strong regrets, or one within 10 % of it, with the number of problems: "
        f"{_counted(counts)}"
    ]
    safe = {
        is_scaled: [
            each
            for name, mine in _competitors(scored, is_scaled).items()
            if name.startswith("Safe-")
            for each in mine.values()
        ]
        for is_scaled in SETTINGS
    }
    if safe[False]:
        words = f"with tight radii the safe learners exceeded a budget {_exceeded(safe[False])}"
        if safe[True]:
            words += f", with radii times 0.1 {_exceeded(safe[True])}"
        told.append(words)
    if ("PSRL", False) in scored:
        told.append(f"PSRL exceeded a budget {_exceeded(scored['PSRL', False].values())}")
    return f"{'; '.join(told)}."


def _exceeded(scores: Iterable[Score]) -> str:
    """Share of the episodes in violation and the largest excess, in words."""
    mine = list(scores)
    share, worst = float(np.mean([s.share for s in mine])), max(s.worst for s in mine)
    if share == 0.0:
        return "in no episode"
    return f"in {percent(share)} of the episodes, by up to {worst:.2f} budgets"


def _still(cells: Sequence[Cell]) -> str:
    """On how many problems DOPE and OptPess-LP play one policy throughout, whatever the radii."""
    still, n = 0, 0
    for _, mine in problems_of(cells):
        theirs = [cell for cell in mine if cell.algorithm in ("DOPE", "OptPess-LP")]
        ends = np.array(
            [np.concatenate([c.ends(kind) for c in theirs]) for kind in ("cost", "constraint")]
        )
        still, n = still + bool((np.ptp(ends, axis=1) <= SAME * np.abs(ends).max()).all()), n + 1
    return (
        f"On {still} of {n} problems DOPE and OptPess-LP have the same regrets in both settings "
        "and with every seed: there they never leave their baseline in so few episodes, and their "
        "regret is that of the baseline."
    )


def league_figure(scored: Scores, bands: Bands) -> Figure:
    """A row per learner: both strong regrets and the share of episodes in violation."""
    names = list(dict.fromkeys(name for name, _ in scored))
    names.sort(key=lambda name: min(_total(bands[key]) for key in bands if key[0] == name))
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
                    points = [float(middle_of(getattr(s, kind), "IQM")) for s in mine.values()]
                    middle, low, high = (float(part) for part in bands[name, is_scaled][kind])
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
    spec = cells[0].spec
    section = Section("Sliding, jumping, circling and staying inside")
    section.ask(
        "What do the policies of a run do, between the first episode and the last?",
        f"One run of each learner on {spec_name(spec)}, {spec.episodes:,} episodes, delta = "
        f"{spec.delta:g}, seed {spec.seed}, tight radii times 0.1 (no guarantees) and the bonus of "
        "UOpt-RPGPD times 0.001. Every point is the policy of one recorded episode, in order "
        "joined by a thin line. The black line is the exact frontier: no policy is in the gray "
        "area below it. The circle is the optimum; in the red area a policy exceeds the budget.",
    )
    section.show("phase", phase_figure(cells), "policies of single runs against the frontier")
    rows = [_walk(cell) for cell in cells]
    columns = [
        "learner",
        "episodes in violation",
        "over the budget: 100 to 1,000",
        "last tenfold",
        "over the optimal cost: 100 to 1,000",
        "last tenfold",
        "policies",
        "crossings",
    ]
    section.say(rows_of(columns, rows))
    section.say(
        "Mean excess over the recorded episodes 100 to 1,000 and over those of the last factor of "
        "ten. Policies: different points among the latter, with their number. Crossings: how often "
        "two successive ones of them are on different sides of the budget. Few different policies "
        "are jumps; many crossings of many policies are circles, or scatter; no episode in "
        "violation is a run that stays inside."
    )
    shares = {cell.algorithm: cell.share for cell in cells if cell.algorithm not in BASELINES}
    ends = [min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])]
    words = " to ".join(f"{percent(shares[name])} ({name})" for name in ends)
    section.answer(f"share of episodes that exceed the budget: {words}")
    section.limit("One run each on one problem; a picture, not a measurement.")
    return section


def _walk(cell: Cell) -> list[str]:
    """How a run moves, in numbers."""
    record, K = cell.records[0], cell.spec.episodes
    over, cost = record.curve("constraint_excess"), record.curve("cost_excess")
    early = (record.episode >= 100) & (record.episode <= 1_000)
    late = record.episode >= K / 10
    points = np.round(np.stack([over[late], cost[late]], axis=1), 5)
    sides = np.sign(np.where(np.abs(over[late]) <= ROUNDING, 0.0, over[late]))
    sides = sides[sides != 0]
    means = (
        signed(round(float(values[part].mean()), 3))
        for values in (over, cost)
        for part in (early, late)
    )
    return [
        cell.algorithm,
        percent(cell.share),
        *means,
        f"{len(np.unique(points, axis=0))} of {len(points)}",
        f"{int((np.diff(sides) != 0).sum())}",
    ]


def phase_figure(cells: Sequence[Cell]) -> Figure:
    """One panel per learner; a point per recorded episode, colored by its logarithm."""
    cmdp, plan = model_and_plan(cells[0].spec)
    curve = frontier(cmdp)
    budget = float(cmdp.budget[0])
    extra = (curve.value - plan.value) * np.sign(cmdp.cost_unit.factor)  # rewards count down
    n = len(cells)
    columns = 3 if n > 4 else n
    rows = -(-n // columns)
    box = [_edges(cells, name) for name in ("constraint_excess", "cost_excess")]
    # beyond the largest use of the budget that pays the frontier is flat
    edge_x = np.append(curve.budget - budget, max(box[0][1], curve.budget[-1] - budget))
    edge_y = np.append(extra, extra[-1])
    with house_style():
        figure = sheet(9.0, 0.7 + 2.5 * rows)
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        points = None
        for axes, cell in zip(panels.flat, cells, strict=False):
            axes.axvspan(0.0, box[0][1], color=RED, alpha=0.06, lw=0)
            axes.fill_between(edge_x, edge_y, box[1][0], color=EDGE, lw=0)
            axes.plot(edge_x, edge_y, color=INK, lw=1.2)
            axes.axhline(0.0, color=GRAY, lw=0.8, ls=":")
            record = cell.records[0]
            over, cost = record.curve("constraint_excess"), record.curve("cost_excess")
            axes.plot(over, cost, color=GRAY, lw=0.4, alpha=0.5)
            points = axes.scatter(
                over,
                cost,
                c=np.maximum(record.episode, 1),
                s=9,
                cmap="viridis",
                norm=LogNorm(1, cells[0].spec.episodes),
                zorder=3,
                linewidths=0,
            )
            axes.plot(0.0, 0.0, "o", color=INK, mfc="none", mew=1.2, ms=9, zorder=4)
            axes.set_title(cell.algorithm)
        for axes in panels.flat[n:]:
            axes.set_visible(False)
        panels[0, 0].set_xlim(*box[0])
        panels[0, 0].set_ylim(*box[1])
        for axes in panels[-1]:
            axes.set_xlabel("excess over the budget")
        for row in panels:
            row[0].set_ylabel("excess over the optimal cost")
        if points is not None:
            bar = figure.colorbar(points, ax=panels, label="episode", shrink=0.6, pad=0.01)
            bar.ax.yaxis.set_major_formatter(FuncFormatter(power))
    return figure


def _edges(cells: Sequence[Cell], name: str) -> tuple[float, float]:
    """Least and largest of a curve over all runs, with a margin."""
    values = np.concatenate([cell.curves(name).ravel() for cell in cells])
    margin = 0.06 * float(np.ptp(values))
    return float(values.min()) - margin, float(values.max()) + margin


def sensitivity_section(cells: Sequence[Cell]) -> Section:
    """Options of the dual learners one by one, and their averaged policies."""
    spec = cells[0].spec
    section = Section("Dual learners: rho, step sizes, delta, averaged policies")
    section.ask(
        "How much do the inputs of the dual learners matter?",
        f"One input at a time away from the defaults, tight radii, delta = {DELTA:g} where it is "
        f"not varied, {spec.episodes:,} episodes on "
        f"{spec_name(spec)}, {_seeds(cells)} seeds. The default of rho is twice the bound on the "
        "multipliers that the paper takes from a Slater policy (`paper_x2`), computed from the "
        "true model. The averaged policy has the mean occupancy of all episodes; its "
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
                        signed(float(cell.numbers(key).mean()))
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
    section.answer(_swayed(cells, names))
    section.limit(
        "One problem. The theorem on the constraint needs a rho of at least twice the multiplier "
        f"of the optimum, {2 * float(model_and_plan(spec)[1].multiplier.max()):.3g} here, and "
        "steps with factor 1; delta changes radii through a logarithm only."
    )
    return section


def _swayed(cells: Sequence[Cell], names: Sequence[str]) -> str:
    """By which factor the input that matters most changes the strong regret of the constraint."""
    words = []
    for who in names:
        factors = {}
        for name in OPTIONS:
            mine = [c for c in cells if c.algorithm == who and _option(c, name) is not None]
            ends = [float(cell.ends("constraint_plus").mean()) for cell in mine]
            if len(ends) > 1 and min(ends) > 0:
                factors[name] = max(ends) / min(ends)
        if factors:
            most = max(factors, key=lambda name: factors[name])
            words.append(f"{factors[most]:.2g} ({who}, by `{most}`)")
    return f"inputs of a learner change its overspending by a factor of up to {', '.join(words)}"


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
    if (
        any(spec.learner.options.get(o, usual[o]) != usual[o] for o in others)
        or spec.delta != DELTA
    ):
        return None
    return spec.learner.options.get(name)
