"""``tightrope learn gym:ID``: learning by interaction with an environment, over several seeds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tightrope.cli.experiments import Workers, finish, require_no_figure, show_outcome
from tightrope.cli.names import number_in
from tightrope.cli.screen import emit, percent, require_figure, require_folder, say, table
from tightrope.cli.source import (
    GYM,
    ONLY_GYM,
    Source,
    budgets_by_name,
    id_of,
    in_words,
    own_horizon,
    parameters_of,
    ranges_by_name,
    ranges_of,
)
from tightrope.errors import ConfigError, ModelError
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.returns import LAST
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.sweep import seeds_of
from tightrope.interop.gym import make_env
from tightrope.interop.gym.learn import learn_gymnasium
from tightrope.interop.gym.realized import BAND_WORDS, Band, Realized, require_kind, save_episodes
from tightrope.learners import Learner
from tightrope.progress import working
from tightrope.text import counted, digits

MOST_POINTS = 200  # of a curve in JSON


class GymOptions(NamedTuple):
    """Options of ``learn`` that only apply to Gymnasium environments."""

    totals: Sequence[str]
    initial: int | None
    stationary: bool

    def applies_to(self, source: Source) -> bool:
        """Whether the source is a Gymnasium environment; raise if only options say so."""
        if source.is_gym:
            return True
        given = {
            "--total-range": bool(self.totals),
            "--initial": self.initial is not None,
            "--stationary": self.stationary,
        }
        for option, is_given in given.items():
            if is_given:
                raise ConfigError.about(option, more=f"{ONLY_GYM}; {source.name} determines it")
        return False


def first_observation(word: str | None, is_gym: bool) -> int | None:
    """Return the number of ``--initial``; None if the start is learned, or known by a model."""
    if word is None or word == "learned":
        return None
    if not word.isdecimal():
        expected = "learned, or a number" if is_gym else "learned"
        raise ConfigError.about("--initial", found=word, expected=expected)
    return number_in("--initial", word)


def run_gym(
    source: Source,
    learners: Sequence[Learner],
    settings: dict[str, Any],
    gym: GymOptions,
    out: Path | None,
    workers: Workers,
    as_json: bool,
    figure: Path | None,
) -> None:
    """Run learners in a Gymnasium environment and show the results.

    ``out`` is a file for the episodes, or the directory of an experiment.
    """
    arguments = _arguments(settings, source, gym)
    for learner in learners:
        _require_no_model(learner)
    word = source.name
    horizon, parameters = parameters_of(word, source.settings)
    if out is not None and not out.suffix:
        require_no_figure(figure)
        given = {**arguments, "seeds": settings["seeds"]}
        _run_experiment(source, learners, given, out, workers, as_json)
        return
    if out is not None:
        require_kind(out)
        require_folder(out)
    require_figure(figure)
    records = []
    for learner in learners:
        for seed in seeds_of(settings["seeds"]):
            steps = own_horizon(word, horizon) or {"max_episode_steps": horizon}
            env = make_env(id_of(word), **steps, **parameters)
            own = {"seed": seed, "horizon": horizon}
            records.append(_run_seed(word, env, learner, {**arguments, **own}))
            env.close()
            if out is not None:  # written now, so that an interrupt loses only the current run
                save_episodes(records, out)
    if figure is not None:
        _draw(word, records, figure)
    files = {"figure": figure and str(figure), "saved": out and str(out)}
    if as_json:
        emit({**realized_data(word, horizon, records), **files})
        return
    show_realized(word, horizon, records)
    for path in filter(None, (figure, out)):
        say(f"\nwritten: {path}")


def _run_experiment(
    source: Source,
    learners: Sequence[Learner],
    arguments: dict[str, Any],
    folder: Path,
    workers: Workers,
    as_json: bool,
) -> None:
    """Run learners as an experiment in a directory, and show its runs."""
    word, given = source.name, dict(arguments)
    horizon, parameters = parameters_of(word, source.settings)
    names = ("reward_range", "cost_range", "total_range", "initial", "stationary")
    known = {name: value for name in names if (value := given.pop(name)) is not None}
    experiment = Experiment(folder)
    with working(f"planning the runs in {word}"), in_words():
        try:
            n_new = experiment.add(
                GYM + id_of(word),
                learners,
                parameters={name: [value] for name, value in parameters.items()},
                gymnasium={"horizon": horizon, **known},
                **given,
            )
        except ModelError as error:
            raise error.with_message(re.sub("^add: ", "learn: ", str(error))) from error
    outcome = finish(experiment, workers)
    runs = [run for run in experiment.runs() if run.spec.environment == GYM + id_of(word)]
    same = {"episodes": given["episodes"], "horizon": horizon, "parameters": parameters}
    records = [run.load() for run in runs if _is_like(run.spec, same)]
    if records and not as_json:
        show_realized(word, horizon, records)
        say()
    show_outcome(experiment, outcome, n_new, as_json)


def _is_like(spec: RunSpec, same: dict[str, Any]) -> bool:
    """Whether a run of the experiment is of the problem at hand."""
    found = {**spec.to_table(), "horizon": spec.gymnasium.get("horizon")}
    return all(found[name] == value for name, value in same.items())


def _arguments(settings: dict[str, Any], source: Source, gym: GymOptions) -> dict[str, Any]:
    """Return the common arguments of `learn_gymnasium`."""
    options = dict(settings)
    if options.pop("audit_visits"):
        raise ConfigError.about("--audit-visits", more="gym:ID has no true model to compare with")
    if not options.pop("common_random_numbers"):
        more = "not for gym:ID, whose randomness follows from the seed"
        raise ConfigError.about("--no-common-random-numbers", more=more)
    if options.pop("average"):
        raise ConfigError.about("--average-policy", more="gym:ID has no model to average over")
    del options["points"], options["seeds"]  # every episode is kept; seeds are runs of their own
    if gym.stationary:
        options["confidence"] = replace(options["confidence"], pool=True)
    reward, costs = ranges_by_name(source.ranges)
    return {
        **options,
        "budget": budgets_by_name(source.budgets),
        "reward_range": reward,
        "cost_range": costs,
        "total_range": ranges_of(gym.totals, "--total-range") or None,
        "initial": gym.initial,
        "stationary": gym.stationary,
    }


def _require_no_model(learner: Learner) -> None:
    """Raise for a learner that needs a model."""
    name = learner.name
    if not learner.can_learn:
        raise ConfigError.about("--algorithm", found=name, more=" needs a model; gym:ID has none")
    rho = learner.options.get("rho")
    if isinstance(rho, str):
        more = f" needs a model; give {name} a number, as in --rho 10"
        raise ConfigError.about("--rho", found=rho, more=more)


def _run_seed(word: str, env: Any, learner: Learner, arguments: dict[str, Any]) -> Realized:
    """Run one learner on one seed, with progress."""
    episodes = int(arguments["episodes"])
    what = f"{learner.name} on {word}, seed {arguments['seed']}"
    with working(what, "episodes") as work, in_words():
        return learn_gymnasium(
            env,
            learner,
            progress=lambda done: work.report(done, done / episodes),
            **arguments,
        )


def _draw(word: str, records: Sequence[Realized], path: Path) -> None:
    from tightrope.show.figures import save
    from tightrope.show.runs import record_figure

    with working(f"drawing {word}"):
        save(record_figure(records, title=word), path)


def window_of(record: Realized) -> int:
    """Return how many episodes count as the last ones."""
    return max(1, record.n_episodes // LAST)


def show_realized(word: str, horizon: int, records: Sequence[Realized]) -> None:
    """Print realized sums of the episodes with bands and budgets."""
    first, n = records[0], window_of(records[0])
    size = f"{counted(first.n_episodes, 'episode')} of {counted(horizon, 'step')}"
    say(f"{word}: {size}, learned by interaction only", style="bold")
    say("realized sums per episode: mean, and confidence band of its expectation")
    columns = ["learner", "seed", "sum of", "all", "between", f"last {n}", "between ", "budget"]
    columns += ["kept at last"] if first.budget.size else []
    rows = [
        row[: len(columns)]
        for record in records
        for row in (_row(record, j, n) for j in range(len(record.names)))
    ]
    table(columns, rows, numbers=("seed", "all", f"last {n}", "budget"))
    for record in records:
        relaxed = int((~record.is_feasible).sum())
        words = f"{record.algorithm}, seed {record.seed}: confidence {record.confidence}"
        early = int((record.steps < horizon).sum())
        words += f"; {counted(early, 'episode')} ended before step {horizon}"
        say(words + (f"; {counted(relaxed, 'infeasible plan')}" if relaxed else ""))
    sure = percent(1 - first.delta)
    say(f"bands: {BAND_WORDS}; all of a run hold together with probability {sure},", style="dim")
    say(
        "those over all episodes at every episode; they bound the average of the policies played",
        style="dim",
    )


def _row(record: Realized, j: int, n: int) -> list[str]:
    name = record.names[j]
    whole, last = _bands(record, name, n)
    budget = float(record.budget[j - 1]) if j else np.nan
    return [
        record.algorithm if j == 0 else "",
        str(record.seed) if j == 0 else "",
        name,
        digits(whole.mean[-1], 4),
        _between(whole),
        digits(last.mean[-1], 4),
        _between(last),
        f"<= {digits(budget)}" if j else "",
        _verdict(last, budget) if j else "",
    ]


def _bands(record: Realized, name: str, n: int) -> tuple[Band, Band]:
    """Return bands over all episodes and over the last n, each at half of delta."""
    half = record.delta / 2
    return record.band(name, delta=half), record.band(name, last=n, delta=half)


def _between(band: Band) -> str:
    return f"{digits(band.low[-1], 4)} and {digits(band.high[-1], 4)}"


def _verdict(band: Band, budget: float) -> str:
    if band.high[-1] <= budget:
        return "yes"
    return "no" if band.low[-1] > budget else "cannot tell yet"


def realized_data(word: str, horizon: int, records: Sequence[Realized]) -> dict[str, Any]:
    """Return the results as plain data, including curves."""
    return {
        "environment": word,
        "horizon": horizon,
        "episodes": records[0].n_episodes,
        "delta": records[0].delta,
        "band": BAND_WORDS,
        "runs": [
            {
                "algorithm": record.algorithm,
                "seed": record.seed,
                "confidence": record.confidence,
                "ended_early": int((record.steps < horizon).sum()),
                "infeasible_plans": int((~record.is_feasible).sum()),
                "sums": [_sum_data(record, j) for j in range(len(record.names))],
            }
            for record in records
        ],
    }


def _sum_data(record: Realized, j: int) -> dict[str, Any]:
    name, n = record.names[j], window_of(record)
    whole, last = _bands(record, name, n)
    points = np.unique(np.linspace(0, record.n_episodes - 1, MOST_POINTS).round().astype(int))
    budget = float(record.budget[j - 1]) if j else None
    return {
        "name": name,
        "budget": budget,
        "all": _ends(whole),
        "last": {"episodes": n, **_ends(last)},
        "kept_at_last": None if budget is None else _verdict(last, budget),
        "episode": (points + 1).tolist(),
        **{key: values[points].tolist() for key, values in whole._asdict().items()},
    }


def _ends(band: Band) -> dict[str, float]:
    return {key: float(values[-1]) for key, values in band._asdict().items()}
