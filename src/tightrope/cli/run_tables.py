"""Runs of learners as tables: regrets, what became of the budgets, and the audit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tightrope.arrays import Floats
from tightrope.cli.screen import say, table
from tightrope.experiments.curves import (
    KINDS,
    by_learner,
    confidence_words,
    factors_of,
    regret_curves,
    rho_words,
    shown_regret,
    speed_of,
)
from tightrope.experiments.run import Run
from tightrope.model import CMDP
from tightrope.text import digits


def show_runs(name: str, cmdp: CMDP, runs: Sequence[Run]) -> None:
    """Print regrets, what the policies did to the budgets, and the audit."""
    first, mine = runs[0], by_learner(runs)
    n_seeds = len(runs) // len(mine)
    seeds = _seeds(sorted({run.seed for run in runs}))
    optimum = f"{digits(cmdp.cost_unit.show(first.optimum))} {cmdp.cost_unit.name}"
    say(f"{name}: {first.n_episodes} episodes, {seeds}, delta {first.delta:g}", style="bold")
    say(f"against the optimum, {optimum}; regrets are sums over all episodes")
    _show_regrets(cmdp, mine)
    _show_policies(cmdp, mine)
    if cmdp.n_constraints > 1:
        _show_constraints(cmdp, mine)
    _show_audit(cmdp, mine)
    if n_seeds > 1:
        say(
            "under each mean: least to greatest over the seeds; the audit counts all of them",
            style="dim",
        )
    say("multipliers and rho on the model's scale, everything else in its units", style="dim")


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) == seeds[-1] - seeds[0] + 1:
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(seeds)} seeds"


def _show_regrets(cmdp: CMDP, mine: dict[str, list[Run]]) -> None:
    columns = ["learner", "Reg\ncost", "Reg+\ncost", "Reg\nconstraint", "Reg+\nconstraint"]
    if cmdp.n_constraints == 0:
        columns = columns[:3]
    curves = regret_curves(cmdp, [run for group in mine.values() for run in group])
    rows = [
        [who, *(_spread(curve[:, -1]) for curve in found if curve is not None)]
        for who, _, *found in curves
    ]
    table(columns, rows, numbers=columns[1:])


def _show_policies(cmdp: CMDP, mine: dict[str, list[Run]]) -> None:
    columns = [
        "learner",
        "episodes in\nviolation",
        "worst\nviolation",
        "feasible\nfrom",
        "episodes\na second",
    ]
    rows = []
    for who, runs in mine.items():
        worst = [(run.worst_violation * factors_of(cmdp)).max(initial=-np.inf) for run in runs]
        rows.append(
            [
                who,
                _spread([run.n_violations for run in runs]),
                _spread(worst) if cmdp.n_constraints else "-",
                _from_then_on(runs),
                _speed(runs),
            ]
        )
    table(columns, rows, numbers=columns[1:])


def _show_constraints(cmdp: CMDP, mine: dict[str, list[Run]]) -> None:
    columns = ["learner", "constraint", "Reg", "Reg+", "worst\nviolation"]
    rows = []
    for who, group in mine.items():
        for i, unit in enumerate(cmdp.constraint_units):
            last = [
                [float(shown_regret(cmdp, run, kind)[-1, i]) for run in group] for kind in KINDS[2:]
            ]
            worst = [float(run.worst_violation[i]) * abs(unit.factor) for run in group]
            label = cmdp.constraint_names[i]
            label = label if label == unit.name else f"{label} ({unit.name})"
            rows.append([who, label, *map(_spread, (*last, worst))])
    table(columns, rows, numbers=columns[2:])


def _show_audit(cmdp: CMDP, mine: dict[str, list[Run]]) -> None:
    columns = [
        "audit",
        "good\nevent",
        "optimism\nfailures",
        "infeas.\nplans",
        "largest\ngap",
        "multiplier",
        "rho",
    ]
    rows: list[list[str]] = []
    marked = []
    for who, group in mine.items():
        run, audits = group[0], [run.audit for run in group]
        gap = max(audit.largest_gap for audit in audits) * abs(cmdp.cost_unit.factor)
        ranges = np.array([audit.multiplier_range for audit in audits])
        if any(audit.not_optimistic or not audit.good_event for audit in audits):
            marked.append(len(rows))
        rows.append(
            [
                who,
                _good_event(group),
                str(sum(audit.not_optimistic for audit in audits)),
                str(sum(audit.infeasible_plans for audit in audits)),
                digits(gap, 2),
                f"{digits(ranges.min(), 3)}..{digits(ranges.max(), 3)}" if ranges.size else "-",
                "-" if run.rho_rule == "none" else digits(run.rho, 4),
            ]
        )
    table(columns, rows, numbers=columns[2:5], marked=marked)
    _show_rho(mine)
    _show_confidence(mine)


def _show_rho(mine: dict[str, list[Run]]) -> None:
    words = rho_words([group[0] for group in mine.values()])
    if words:
        say(words)


def _show_confidence(mine: dict[str, list[Run]]) -> None:
    """Which radii were used, once for all learners that share them."""
    for words, is_heuristic in confidence_words([group[0] for group in mine.values()]):
        if is_heuristic:
            say(f"[!] {words}: no guarantee holds", style="bold red")
        else:
            say(words)


def _good_event(runs: Sequence[Run]) -> str:
    """Whether the truth stayed inside what was believed, and by which family it did not."""
    bad = {
        family: sum(run.audit.bad_episodes[family] for run in runs)
        for family in runs[0].audit.bad_episodes
    }
    most = sum(run.n_episodes for run in runs)
    failed = "\n".join(f"{family} {count} of {most}" for family, count in bad.items() if count)
    return f"no\n{failed}" if failed else "yes"


def _speed(runs: Sequence[Run]) -> str:
    mean = float(np.mean([speed_of(run) for run in runs]))
    return "-" if np.isnan(mean) else _short(float(f"{mean:.3g}"), 3)


def _from_then_on(runs: Sequence[Run]) -> str:
    """The first episode from which every policy kept the budgets."""
    first = [run.first_feasible for run in runs if run.first_feasible <= run.n_episodes]
    if len(first) == len(runs):
        return _spread(first)
    return "never" if not first else f"{len(runs) - len(first)} of {len(runs)}\nnever"


def _spread(values: Sequence[float] | Floats) -> str:
    """The mean, and under it the least and the greatest where they differ."""
    found = np.asarray(values, dtype=float)
    if not np.isfinite(found).all():
        return "-"
    mean, least, most = (_short(float(v), 4) for v in (found.mean(), found.min(), found.max()))
    if least == most:
        return mean
    return f"{mean}\n{_short(float(found.min()), 3)}..{_short(float(found.max()), 3)}"


def _short(value: float, count: int) -> str:
    """A number in at most so many digits, unless it has more before the point."""
    return f"{value:.0f}" if abs(value) >= 10**count else digits(value, count)
