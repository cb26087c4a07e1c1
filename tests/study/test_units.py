"""Studies told in euros or hours are those told in costs from 0 to 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from telling import episode, shape
from tightrope.study.study import totals_of
from tightrope.study.telling import episode_of


def in_euros(told):
    """The same episode, told in units of which a step has from 0 to 32, and from -4 to 4."""
    cost = [32 * each for each in told.cost]
    wear = [8 * each - 4 for each in told.constraint_cost["wear"]]
    return replace(told, cost=cost, constraint_cost={**told.constraint_cost, "wear": wear})


def test_told_in_other_units_a_study_is_the_same(where):
    plain = shape()
    budget = {**plain.budget, "wear": 8 * plain.budget["wear"] - 4 * plain.horizon}
    ranges = {"cost": [0, 32], "wear": [-4, 4]}
    first = tr.Study.new(where, "plain", plain)
    second = tr.Study.new(where, "euros", replace(plain, budget=budget, ranges=ranges))
    for k in range(3):
        first.tell([episode(k)])
        second.tell([in_euros(episode(k))])
    for one, other in zip(first.rows(), second.rows(), strict=True):
        mine, yours = (episode_of(row.content, 2) for row in (one, other))
        np.testing.assert_allclose(mine.cost, yours.cost, atol=1e-12)
        np.testing.assert_allclose(mine.constraint_cost, yours.constraint_cost, atol=1e-12)
    one, other = first.ask(), second.ask()
    assert one.plan.value == pytest.approx(other.plan.value, abs=1e-9)
    np.testing.assert_allclose(one.bounds.budget, other.bounds.budget, atol=1e-12)
    mine, _ = totals_of(first.rows(), first.terms)
    yours, _ = totals_of(second.rows(), second.terms)
    assert yours[0].mean == pytest.approx(32 * mine[0].mean)
    assert yours[0].margin == pytest.approx(32 * mine[0].margin)
    assert yours[1].mean == pytest.approx(8 * mine[1].mean - 4 * plain.horizon)
    assert tr.Study(where, "euros").terms == second.terms


def test_what_is_outside_its_range_is_told_in_its_own_units(where):
    study = tr.Study.new(where, "euros", replace(shape(), ranges={"cost": [0, 32]}))
    dear = replace(episode(1), cost=[1.0, 40.0, 3.0])
    with pytest.raises(tr.ModelError, match=r"cost\[h=1\] is 40, expected a number in \[0, 32\]"):
        study.tell([dear])
