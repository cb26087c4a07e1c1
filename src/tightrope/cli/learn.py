"""``tightrope learn``: learners against a model that they do not see, over several seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from tightrope import envs
from tightrope.cli.experiments import Workers, run_and_show
from tightrope.cli.files import require_figure
from tightrope.cli.learner_options import algorithm_names, confidence_of, own_options
from tightrope.cli.run_tables import show_runs
from tightrope.cli.screen import emit, say
from tightrope.cli.solve import solved
from tightrope.cli.source import Source
from tightrope.errors import ModelError
from tightrope.experiments.curves import (
    by_learner,
    confidence_words,
    regret_curves,
    rho_words,
    runs_data,
)
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.run import Run
from tightrope.experiments.scheduler import Outcome
from tightrope.learners import OptCMDP, find_learner
from tightrope.model import CMDP
from tightrope.plan.solve import slater
from tightrope.progress import READY, working

NEVER = 1e9  # seconds between snapshots of runs that nobody will resume


class Choice(NamedTuple):
    """Who learns and how, in the words of the command line."""

    algorithms: Sequence[str]
    seeds: str
    confidence: Sequence[str]
    given: dict[str, Any]  # options of learners
    options: Mapping[str, Any]  # further fields of a spec


def run(source: Source, choice: Choice, as_json: bool, figure: Path | None) -> None:
    """Let the learners run on the model that was named, and show what came of it."""
    names = algorithm_names(choice.algorithms)
    if choice.options["method"] == "lp" and names != [OptCMDP.name]:
        raise ModelError("--method lp is for OptCMDP alone; add --algorithm OptCMDP")
    require_figure(figure)
    with TemporaryDirectory() as folder:
        experiment = Experiment(folder)
        _add(experiment, source, choice)
        cmdp = source.load()
        solved(source.name, cmdp, "columns", 1e-12)  # budgets that clash are told in words
        _require_room(source.name, cmdp, choice)
        outcome = _finish(experiment, source.name)
        if outcome.failed:
            raise ModelError(next(iter(outcome.failed.values())))
        runs = [stored.load() for stored in experiment.runs()]
    if figure is not None:
        _draw(source.name, cmdp, runs, figure)
    if as_json:
        emit({**runs_data(source.name, cmdp, runs), "figure": figure and str(figure)})
        return
    show_runs(source.name, cmdp, runs)
    if figure is not None:
        say(f"\nwritten: {figure}")


def run_into(
    folder: Path,
    source: Source,
    choice: Choice,
    workers: Workers,
    as_json: bool,
    figure: Path | None,
) -> None:
    """The same runs as an experiment in a folder."""
    if figure is not None:
        raise ModelError(
            "--figure: an experiment has its figures in tightrope report; leave it out"
        )
    experiment = Experiment(folder)
    run_and_show(experiment, workers, as_json, _add(experiment, source, choice))


def _add(experiment: Experiment, source: Source, choice: Choice) -> int:
    """Add the runs that the words mean."""
    options = {**choice.given, **choice.options}
    names, episodes = algorithm_names(choice.algorithms), options.pop("episodes")
    problem: Any = source.name
    if source.is_model_file:
        options["budget"], problem = source.bounds(), source.path
    elif source.path is not None:  # another tool's file, budgets and all
        problem = source.load()
    else:
        parameters = envs.parse(source.name, source.settings)
        options["budget"] = source.bounds()
        options["parameters"] = {name: [value] for name, value in parameters.items()}
    confidence = confidence_of(choice.confidence)
    with working(f"planning the runs on {source.name}"):
        try:
            return experiment.add(
                problem,
                names,
                episodes,
                choice.seeds,
                confidence=confidence,
                name=source.name,
                **options,
            )
        except ModelError as error:
            raise ModelError(re.sub("^add: ", "learn: ", str(error))) from error


def _finish(experiment: Experiment, name: str) -> Outcome:
    """Finish the runs in this process, with progress that names the run at work."""
    specs = {spec.id: spec for spec in experiment.specs()}
    total = sum(spec.episodes for spec in specs.values())
    with working(f"learning {name}", "episodes") as work:
        work.note = READY

        def report(outcome: Outcome, under_way: dict[str, int]) -> None:
            if under_way:
                spec = specs[next(iter(under_way))]
                work.what = f"{spec.algorithm} on {name}, seed {spec.seed}"
            if outcome.episodes and not work.done:  # compiled
                work.since = monotonic()
            work.report(outcome.episodes, outcome.episodes / total)

        return experiment.run("here", snapshot=NEVER, progress=report)


def _require_room(name: str, cmdp: CMDP, choice: Choice) -> None:
    """Refuse before the first run a rule for which the budgets leave no room."""
    rules = {}
    for each in algorithm_names(choice.algorithms):
        options = find_learner(each).from_options(own_options(each, choice.given)).options
        if isinstance(options.get("rho"), str):
            rules[each] = options["rho"]
    if not rules:
        return
    with working(f"measuring the room in the budgets of {name}"):
        room = slater(cmdp)
    first, rule = next(iter(rules.items()))
    if not np.isfinite(room.rho[rule]):
        raise ModelError(
            f"{first} needs a bound on the multipliers, but no policy keeps every budget of "
            f"{name} with room to spare, so no rule gives one; give a number, as in --rho 10"
        )


def _draw(name: str, cmdp: CMDP, runs: Sequence[Run], path: Path) -> None:
    from tightrope.show.figures import save
    from tightrope.show.regret import RegretCurves, regret_figure

    seeds = len({run.seed for run in runs})
    firsts = [group[0] for group in by_learner(runs).values()]
    words = [
        f"{seeds} seed{'s' if seeds > 1 else ''}",
        f"delta {runs[0].delta:g}",
        *(said for said, _ in confidence_words(firsts)),
        rho_words(firsts),
    ]
    curves = [
        RegretCurves(*each, run.is_heuristic)
        for each, run in zip(regret_curves(cmdp, runs), firsts, strict=True)
    ]
    units = {unit.name for unit in cmdp.constraint_units}
    n_constraints, unit = cmdp.n_constraints, "".join(units) if len(units) == 1 else "constraints"
    counted = f"largest of {n_constraints} {unit}" if n_constraints > 1 else unit
    with working(f"drawing {name}"):
        figure = regret_figure(
            curves,
            f"Regret on {name}, {runs[0].n_episodes} episodes",
            "; ".join(word for word in words if word),
            cmdp.cost_unit.name,
            counted,
        )
        save(figure, path)
