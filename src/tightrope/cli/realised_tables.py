"""Realised sums as a table and as plain data: means over all episodes and over the last ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.cli.screen import say, table
from tightrope.cli.words import percent
from tightrope.interop.gym.learn import BAND_WORDS, Band, Realised
from tightrope.text import digits

LAST = 5  # the last episodes are one in so many
MOST_POINTS = 200  # of a curve in JSON


def window_of(record: Realised) -> int:
    """How many episodes count as the last ones."""
    return max(1, record.n_episodes // LAST)


def show_realised(word: str, horizon: int, records: Sequence[Realised]) -> None:
    """Print what the episodes came to, with bands, against the budgets."""
    first, n = records[0], window_of(records[0])
    counted = f"{first.n_episodes} episodes of {horizon} steps"
    say(f"{word}: {counted}, learned through its steps alone", style="bold")
    say("realised sums an episode: mean, and between which numbers its expectation lies")
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
        said = f"{record.algorithm}, seed {record.seed}: confidence {record.confidence}"
        early = int((record.steps < horizon).sum())
        said += f"; {early} episodes ended before step {horizon}"
        say(said + (f"; {relaxed} plans had to break a budget" if relaxed else ""))
    sure = percent(1 - first.delta)
    say(f"bands: {BAND_WORDS}; all of a run hold together with probability {sure},", style="dim")
    say(
        "those over all episodes at every episode; they are about the average of the policies "
        "played",
        style="dim",
    )


def _row(record: Realised, j: int, n: int) -> list[str]:
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


def _bands(record: Realised, name: str, n: int) -> tuple[Band, Band]:
    """Over all episodes and over the last n, each at half the chance to miss."""
    half = record.delta / 2
    return record.band(name, delta=half), record.band(name, last=n, delta=half)


def _between(band: Band) -> str:
    return f"{digits(band.low[-1], 4)} and {digits(band.high[-1], 4)}"


def _verdict(band: Band, budget: float) -> str:
    if band.high[-1] <= budget:
        return "yes"
    return "no" if band.low[-1] > budget else "cannot tell yet"


def realised_data(word: str, horizon: int, records: Sequence[Realised]) -> dict[str, Any]:
    """The same as plain data, curves included."""
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


def _sum_data(record: Realised, j: int) -> dict[str, Any]:
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
