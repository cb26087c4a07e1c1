"""``tightrope learn``: learners against a model that they do not see, over several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from tightrope.cli.files import require_figure
from tightrope.cli.learner_words import confidence_of, learners_of, rho_of
from tightrope.cli.progress import READY, working
from tightrope.cli.run_tables import show_trials
from tightrope.cli.runs import (
    Trial,
    by_learner,
    confidence_words,
    regret_curves,
    rho_words,
    trials_data,
)
from tightrope.cli.screen import emit, say
from tightrope.cli.solve import solved
from tightrope.cli.source import Source
from tightrope.cli.studies import Workers, learn_into, specs_in_words
from tightrope.errors import ModelError
from tightrope.experiments.job import setting_of
from tightrope.experiments.learn import played
from tightrope.experiments.spec import RunSpec
from tightrope.learners.algorithms import Learner
from tightrope.model import CMDP
from tightrope.plan.slater import slater
from tightrope.run.setting import truth_of


class Choice(NamedTuple):
    """Who learns and how, in the words of the command line."""

    algorithms: Sequence[str]
    seeds: str
    confidence: Sequence[str]
    rho: str
    options: Mapping[str, Any]  # further fields of a spec


def run(
    source: Source,
    choice: Choice,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Let the learners run on the model that was named, and show what came of it."""
    learners, options = learners_of(choice.algorithms), choice.options
    bound = rho_of(choice.rho)
    if options["method"] == "lp" and [learner.name for learner in learners] != ["OptCMDP"]:
        raise ModelError("--method lp is for OptCMDP alone; add --algorithm OptCMDP")
    require_figure(figure)
    cmdp = source.load()
    specs, _ = specs_in_words(source, _table(choice))
    solved(source.name, cmdp, "columns", 1e-12)  # budgets that clash are told in words
    _require_room(source.name, cmdp, learners, bound)
    trials = [tried(source.name, cmdp, spec) for spec in specs]
    if figure is not None:
        _draw(source.name, cmdp, trials, figure)
    if as_json:
        emit({**trials_data(source.name, cmdp, trials), "figure": figure and str(figure)})
        return
    show_trials(source.name, cmdp, trials)
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
    """The same runs as a study in a folder."""
    if figure is not None:
        raise ModelError("--figure: a study has its pictures in tightrope report; leave it out")
    learn_into(folder, source, _table(choice), workers, as_json)


def _table(choice: Choice) -> dict[str, Any]:
    """The sweep that the words mean, but for its model."""
    return {
        "algorithm": [learner.name for learner in learners_of(choice.algorithms)],
        "seeds": choice.seeds,
        "confidence": asdict(confidence_of(choice.confidence)),
        "rho": rho_of(choice.rho),
        **choice.options,
    }


def tried(name: str, cmdp: CMDP, spec: RunSpec) -> Trial:
    """One run, with progress; its speed leaves out the time to compile."""
    with working(f"{spec.algorithm} on {name}, seed {spec.seed}", "episodes") as work:
        work.note = READY
        began = 0.0

        def report(done: int) -> None:
            nonlocal began
            if not began:
                began = work.since = monotonic()
            work.report(done, done / spec.episodes)

        setting = setting_of(spec, cmdp)
        truth = truth_of(cmdp, setting.learner, spec.rho)
        found = played(setting, truth, spec.generator(), spec.seed, report)
        spent, n = monotonic() - began, spec.episodes
    return Trial(found, (n - 1) / spent if n > 1 and spent > 0 else float("nan"))


def _require_room(name: str, cmdp: CMDP, learners: Sequence[Learner], rho: float | str) -> None:
    """Refuse before the first run a rule for which the budgets leave no room."""
    needing = [learner.name for learner in learners if learner.needs_rho]
    if not needing or not isinstance(rho, str):
        return
    with working(f"measuring the room in the budgets of {name}"):
        room = slater(cmdp)
    if not np.isfinite(room.rho[rho]):
        raise ModelError(
            f"{needing[0]} needs a bound on the multipliers, but no policy keeps every budget of "
            f"{name} with room to spare, so no rule gives one; give a number, as in --rho 10"
        )


def _draw(name: str, cmdp: CMDP, trials: Sequence[Trial], path: Path) -> None:
    from tightrope.show.figures import save
    from tightrope.show.regret import RegretCurves, regret_figure

    first = trials[0].run
    seeds = len({trial.run.seed for trial in trials})
    runs = [group[0].run for group in by_learner(trials).values()]
    words = [
        f"{seeds} seed{'s' if seeds > 1 else ''}",
        f"delta {first.delta:g}",
        *(said for said, _ in confidence_words(runs)),
        rho_words(runs),
    ]
    curves = [
        RegretCurves(*each, run.is_heuristic)
        for each, run in zip(regret_curves(cmdp, trials), runs, strict=True)
    ]
    units = {unit.name for unit in cmdp.constraint_units}
    n_constraints, unit = cmdp.n_constraints, "".join(units) if len(units) == 1 else "constraints"
    counted = f"largest of {n_constraints} {unit}" if n_constraints > 1 else unit
    with working(f"drawing {name}"):
        figure = regret_figure(
            curves,
            f"Regret on {name}, {first.n_episodes} episodes",
            "; ".join(word for word in words if word),
            cmdp.cost_unit.name,
            counted,
        )
        save(figure, path)
