"""Rows of a record, as functions given as ``on_record`` get them during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tightrope.arrays import Floats
from tightrope.experiments.regret import Record
from tightrope.model.units import Units

Row = dict[str, Any]
OnRecord = Callable[[Row], object]


def rows_since(record: Record, first: int, units: Units, names: Sequence[str]) -> Iterator[Row]:
    """Yield the recorded episodes from place ``first`` on, in the units of the model.

    A row has the columns of `Run.to_pandas` that differ between episodes; what belongs to
    constraints is a dict by their ``names``.
    """
    cost, sizes = units.cost.size, units.sizes
    n = record.n_recorded
    excess = units.show_excess(record.excess_curve[:n])
    prices = units.show_prices(record.multiplier_curve[:n])
    shares = record.baseline_curve[:n].tolist()  # empty without a baseline

    def named(values: Floats) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    for k in range(first, n):
        yield {
            "episode": int(record.recorded[k]),
            "cost_excess": float(excess[k, 0]),
            "cost_regret": float(cost * record.signed_curve[k, 0]),
            "cost_regret_plus": float(cost * record.positive_curve[k, 0]),
            "constraint_excess": named(excess[k, 1:]),
            "constraint_regret": named(sizes * record.signed_curve[k, 1:]),
            "constraint_regret_plus": named(sizes * record.positive_curve[k, 1:]),
            "multiplier": named(prices[k]),
            "violations": int(record.violation_curve[k]),
            **({"baseline": shares[k]} if shares else {}),
        }
