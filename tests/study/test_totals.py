"""Sums of an episode: means and bands by the textbook, in any units."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from telling import episode, shape
from tightrope.belief.intervals import average_band
from tightrope.study.records import Row
from tightrope.study.telling import entry_of, episode_of
from tightrope.study.totals import totals_of

TERMS = shape()


def rows(n):
    task = TERMS.task()
    for k in range(n):
        yield Row(k + 1, f"day {k}", entry_of(episode(k), TERMS, task).content, None, "now")


def test_means_and_bounds_are_those_of_all_sums_at_once():
    found, last = totals_of(rows(25), TERMS)
    contents = [json.loads(row.content) for row in rows(25)]
    sums = np.array([[np.sum(c["cost"]), *np.sum(c["constraint_cost"], axis=1)] for c in contents])
    np.testing.assert_allclose([total.mean for total in found], sums.mean(axis=0), rtol=1e-12)
    for j, total in enumerate(found):
        mean, radius = average_band(sums[:, j], 0.0, 3.0, 0.1 / 3)
        assert total.lower == pytest.approx(max(0.0, mean[-1] - radius[-1]))
        assert total.upper == pytest.approx(min(3.0, mean[-1] + radius[-1]))
    assert [total.name for total in found] == ["cost", "wear", "noise"]
    assert last.episode == "day 24"


def test_a_single_episode_leaves_the_limits_and_none_has_no_mean():
    found, _ = totals_of(rows(1), TERMS)
    assert found[0].mean == pytest.approx(sum(episode(0).cost))
    assert (found[0].lower, found[0].upper) == (0.0, 3.0)
    assert totals_of(rows(0), TERMS) == ([], None)


def in_euros(told):
    """The same episode, told in units of which a step has from 0 to 32, and from -4 to 4."""
    cost = [32 * each for each in told.cost]
    wear = [8 * each - 4 for each in told.constraint_cost["wear"]]
    return replace(told, cost=cost, constraint_cost={**told.constraint_cost, "wear": wear})


def test_a_study_in_other_units_is_the_same(where):
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
    assert other.plan.value == pytest.approx(32 * one.plan.value, abs=1e-7)
    np.testing.assert_allclose(other.bounds.cost, 32 * one.bounds.cost, atol=1e-7)
    np.testing.assert_allclose(other.bounds.budget, list(budget.values()), atol=1e-12)
    mine, _ = totals_of(first.rows(), first.terms)
    yours, _ = totals_of(second.rows(), second.terms)
    assert yours[0].mean == pytest.approx(32 * mine[0].mean)
    assert yours[0].upper == pytest.approx(32 * mine[0].upper)
    assert yours[1].mean == pytest.approx(8 * mine[1].mean - 4 * plain.horizon)
    assert tr.Study(where, "euros").terms == second.terms


def test_values_outside_their_range_are_reported_in_their_units(where):
    study = tr.Study.new(where, "euros", replace(shape(), ranges={"cost": [0, 32]}))
    dear = replace(episode(1), cost=[1.0, 40.0, 3.0])
    with refuses(
        tr.DataError, argument="cost", entry="h=1", found=40.0, expected="a number in [0, 32]"
    ):
        study.tell([dear])
