"""``tightrope learn``: learners on a simulated model, over several seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.cli.experiments import Workers, finish, require_no_figure, show_outcome
from tightrope.cli.screen import columns_table, emit, require_figure, say, table
from tightrope.cli.solve import solve_with_progress
from tightrope.cli.source import Source
from tightrope.envs import catalog
from tightrope.errors import ConfigError, ModelError, TightropeError
from tightrope.experiments.curves import (
    KINDS,
    by_learner,
    confidence_words,
    regret_curves,
    regret_of,
    rho_words,
    runs_data,
    speed_of,
)
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.run import Run, spans_of
from tightrope.experiments.scheduler import Outcome
from tightrope.learners import Learner
from tightrope.learners.oracle import has_rho
from tightrope.model import CMDP
from tightrope.model.units import label_of
from tightrope.plan.solve import slater
from tightrope.progress import working
from tightrope.text import counted, digits

NEVER = 1e9  # seconds between snapshots of runs that are not resumed


def run(
    source: Source,
    learners: Sequence[Learner],
    settings: dict[str, Any],
    folder: Path | None,
    workers: Workers,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Run learners on a model, in a directory if one is given; show the runs.

    ``settings`` are further arguments of `Experiment.add`.
    """
    if folder is not None:
        require_no_figure(figure)
    require_figure(figure)
    with TemporaryDirectory() as aside:
        planned = experiment = Experiment(aside)
        _add(planned, source, learners, settings)
        if folder is not None:
            experiment = Experiment(folder)
            specs = planned.specs()
            models = {spec.model: planned.model(spec) for spec in specs if spec.model}
            n_new = experiment.add_specs(specs, models)
            outcome = finish(experiment, workers)
            if as_json:
                show_outcome(experiment, outcome, n_new, as_json)
                return
        cmdp = source.load()
        if folder is None:
            # raises for infeasible budgets
            solve_with_progress(source.name, cmdp, "columns", 1e-12)
            _require_slack(source.name, cmdp, learners)
            outcome = _finish(planned, source.name)
            if outcome.failed:
                raise TightropeError(next(iter(outcome.failed.values())))
        wanted = {spec.content_id for spec in planned.specs()}
        runs = [each.load() for each in experiment.runs() if each.spec.content_id in wanted]
    if figure is not None:
        _draw(source.name, runs, figure)
    if as_json:
        emit({**runs_data(source.name, cmdp, runs), "figure": figure and str(figure)})
        return
    if runs:
        show_runs(source.name, cmdp, runs)
    if folder is not None:
        say()
        show_outcome(experiment, outcome, n_new, as_json)
    if figure is not None:
        say(f"\nwritten: {figure}")


def _add(
    experiment: Experiment, source: Source, learners: Sequence[Learner], settings: dict[str, Any]
) -> int:
    """Add the runs of the given options."""
    options = dict(settings)
    problem: Any = source.name
    if source.is_model_file:
        options["budget"], problem = source.bounds(), source.path
    elif source.path is not None:  # a file of another tool, with its budgets
        problem = source.load()
    else:
        parameters = catalog.parse(source.name, source.settings)
        options["budget"] = source.bounds()
        options["parameters"] = {name: [value] for name, value in parameters.items()}
    with working(f"planning the runs on {source.name}"):
        try:
            return experiment.add(problem, learners, name=source.name, **options)
        except ModelError as error:
            raise error.with_message(re.sub("^add: ", "learn: ", str(error))) from error


def _finish(experiment: Experiment, name: str) -> Outcome:
    """Finish the runs in this process, with progress that names the current run."""
    specs = {spec.id: spec for spec in experiment.specs()}
    total = sum(spec.episodes for spec in specs.values())
    with working(f"learning {name}", "episodes") as work:

        def report(outcome: Outcome, under_way: dict[str, int]) -> None:
            if under_way:
                spec = specs[next(iter(under_way))]
                work.what = f"{spec.algorithm} on {name}, seed {spec.seed}"
            if outcome.episodes and not work.done:  # compiled
                work.since = monotonic()
            work.report(outcome.episodes, outcome.episodes / total)

        return experiment.run("here", snapshot=NEVER, progress=report)


def _require_slack(name: str, cmdp: CMDP, learners: Sequence[Learner]) -> None:
    """Raise before the first run if a rule for rho needs slack that the budgets do not have."""
    rules = {
        each.name: each.options["rho"]
        for each in learners
        if has_rho(each) and isinstance(each.options["rho"], str)
    }
    if not rules:
        return
    with working(f"computing the slack of the budgets of {name}"):
        room = slater(cmdp)
    first, rule = next(iter(rules.items()))
    if not np.isfinite(room.rho[rule]):
        more = (
            f" gives {first} no bound on the multipliers: no policy keeps every budget of "
            f"{name} with positive slack; give a number, as in --rho 10"
        )
        raise ConfigError.about("--rho", found=rule, more=more)


def _draw(name: str, runs: Sequence[Run], path: Path) -> None:
    from tightrope.show.figures import save
    from tightrope.show.runs import run_figure

    with working(f"drawing {name}"):
        save(run_figure(runs, title=name), path)


def show_runs(name: str, cmdp: CMDP, runs: Sequence[Run]) -> None:
    """Print regrets, violations and the audit."""
    first, mine = runs[0], by_learner(runs)
    n_seeds = len(runs) // len(mine)
    seeds = _seeds(sorted({run.seed for run in runs}))
    optimum = f"{digits(first.optimum)} {cmdp.cost_unit.name}"
    say(
        f"{name}: {counted(first.n_episodes, 'episode')}, {seeds}, delta {first.delta:g}",
        style="bold",
    )
    say(f"against the optimum, {optimum}; regrets are sums over all episodes")
    _show_regrets(cmdp, mine)
    _show_policies(cmdp, mine)
    if cmdp.n_constraints > 1:
        _show_constraints(cmdp, mine)
    _show_audit(mine)
    if n_seeds > 1:
        say(
            "under each mean: least to greatest over the seeds; the audit counts all seeds",
            style="dim",
        )
    say("rho for costs in [0, 1], everything else in the model's units", style="dim")


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if len(seeds) == seeds[-1] - seeds[0] + 1:
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"{len(seeds)} seeds"


def _show_regrets(cmdp: CMDP, mine: dict[str, list[Run]]) -> None:
    columns = ["learner", "Reg\ncost", "Reg+\ncost", "Reg\nconstraint", "Reg+\nconstraint"]
    if cmdp.n_constraints == 0 or not cmdp.units.are_alike:
        columns = columns[:3]
    curves = regret_curves([run for group in mine.values() for run in group])
    rows = [
        [who, *(_spread(curve[:, -1]) for curve in found[: len(columns) - 1] if curve is not None)]
        for who, _, *found in curves
    ]
    table(columns, rows, numbers=columns[1:])


def _show_policies(cmdp: CMDP, mine: dict[str, list[Run]]) -> None:
    groups = mine.values()
    worst = [
        _spread([float(run.units.largest(run.worst_violation)) for run in runs]) for runs in groups
    ]
    cells: dict[str, list[str]] = {
        "learner": list(mine),
        "episodes in\nviolation": [_spread([run.n_violations for run in runs]) for runs in groups],
        "worst\nviolation": worst,
        "feasible\nfrom": list(map(_from_then_on, groups)),
        "episodes\nper second": list(map(_speed, groups)),
    }
    if cmdp.n_constraints == 0 or not cmdp.units.are_alike:  # then it follows for each constraint
        del cells["worst\nviolation"]
    columns_table(cells, numbers=list(cells)[1:])


def _show_constraints(cmdp: CMDP, mine: dict[str, list[Run]]) -> None:
    columns = ["learner", "constraint", "Reg", "Reg+", "worst\nviolation"]
    rows = []
    for who, group in mine.items():
        for i in range(cmdp.n_constraints):
            last = [[regret_of(run, kind)[-1, i] for run in group] for kind in KINDS[2:]]
            worst = [float(run.worst_violation[i]) for run in group]
            rows.append([who, label_of(cmdp, i), *map(_spread, (*last, worst))])
    table(columns, rows, numbers=columns[2:])


def _show_audit(mine: dict[str, list[Run]]) -> None:
    groups = list(mine.values())
    audits = [[run.audit for run in group] for group in groups]
    gaps = [max(each.largest_gap for each in group) for group in audits]
    ranges = [spans_of(np.array([each.multiplier_range for each in group])) for group in audits]
    rhos = [(group[0].rho_rule, group[0].rho) for group in groups]
    cells = {
        "audit": list(mine),
        "good\nevent": list(map(_good_event, groups)),
        "optimism\nfailures": list(map(_optimism_failures, groups)),
        "infeas.\nplans": [str(sum(a.infeasible_plans for a in group)) for group in audits],
        "largest\ngap": [digits(gap, 2) for gap in gaps],
        "multiplier": [
            "\n".join(f"{digits(least, 3)}..{digits(most, 3)}" for least, most in ends) or "-"
            for ends in ranges
        ],
        "rho": ["-" if rule == "none" else digits(rho, 4) for rule, rho in rhos],
    }
    if any(run.baseline is not None for group in groups for run in group):
        cells["baseline\nat the end"] = list(map(_last_baseline, groups))
        cells["bound\nfailures"] = list(map(_bound_failures, groups))
    marked = [
        k
        for k, group in enumerate(audits)
        if any(each.not_optimistic or each.good_event is False for each in group)
    ]
    columns_table(cells, list(cells)[2:5], marked)
    firsts = [group[0] for group in groups]
    if rho_words(firsts):
        say(rho_words(firsts))
    for words, is_heuristic in confidence_words(firsts):
        if is_heuristic:
            say(f"[!] {words}: no guarantee holds", style="bold red")
        else:
            say(words)


def _good_event(runs: Sequence[Run]) -> str:
    """Return whether the confidence sets contained the true model, and which did not."""
    if runs[0].audit.good_event is None:
        return "-"
    bad = {
        family: sum(run.audit.bad_episodes[family] for run in runs)
        for family in runs[0].audit.bad_episodes
    }
    most = sum(run.n_episodes for run in runs)
    failed = "\n".join(f"{family} {count} of {most}" for family, count in bad.items() if count)
    return f"no\n{failed}" if failed else "yes"


def _bound_failures(runs: Sequence[Run]) -> str:
    """Return in how many episodes an upper bound on a plan's use was too low."""
    if runs[0].baseline is None:
        return "-"
    return str(sum(run.audit.bound_failures for run in runs))


def _optimism_failures(runs: Sequence[Run]) -> str:
    """Return the number of plans that were not optimistic although the confidence sets held."""
    has_beliefs = runs[0].audit.good_event is not None
    return str(sum(run.audit.not_optimistic for run in runs)) if has_beliefs else "-"


def _last_baseline(runs: Sequence[Run]) -> str:
    """Probability with which the last episode played the baseline."""
    last = [float(run.baseline[-1]) for run in runs if run.baseline is not None]
    return _spread(last) if last else "-"


def _speed(runs: Sequence[Run]) -> str:
    mean = float(np.mean([speed_of(run) for run in runs]))
    return "-" if np.isnan(mean) else _short(float(f"{mean:.3g}"), 3)


def _from_then_on(runs: Sequence[Run]) -> str:
    """Return the first episode from which every policy kept the budgets."""
    first = [run.first_feasible for run in runs if run.first_feasible <= run.n_episodes]
    if len(first) == len(runs):
        return _spread(first)
    return "never" if not first else f"{len(runs) - len(first)} of {len(runs)}\nnever"


def _spread(values: Sequence[float] | Floats) -> str:
    """Return the mean, and under it the least and the greatest if they differ."""
    found = np.asarray(values, dtype=float)
    if not np.isfinite(found).all():
        return "-"
    mean, least, most = (_short(float(v), 4) for v in (found.mean(), found.min(), found.max()))
    if least == most:
        return mean
    return f"{mean}\n{_short(float(found.min()), 3)}..{_short(float(found.max()), 3)}"


def _short(value: float, count: int) -> str:
    """Return a number in at most that many digits, unless it has more before the point."""
    return f"{value:.0f}" if abs(value) >= 10**count else digits(value, count)
