"""What every environment of the catalog is worth: published figures, and two methods agreeing."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tightrope as tr
from tightrope import envs

# value, price and unconstrained value in the papers' own units, with the constraint's sum there;
# the digits are those printed by an independent linear program over the authors' tensors
PUBLISHED = {
    "media": (-6.746704, 0.49519, -5.393138, 9.9087),
    "ring": (2.0, 0.66667, 4.0, 6.0),
    "inventory": (6.665322, 0.92121, 7.0, 4.5053),
    "ring-uniform": (6.666667, 2.0, 12.0, 6.0),
    "cliff": (-10.0, 0.5, -7.0, 8.0),
    "marsrover": (1.536288, 0.19298, 1.816822, 1.8168),
    "streaming": (1.900172, 0.3, 2.099672, None),
    # H - floor; rows in single precision, left as they are, would give 5.188402
    "upac-random": (5.188400, 1.0, 9.182172, None),
}


@cache
def solved(name, method):
    return tr.solve(envs.build(name), method=method)


@pytest.mark.parametrize("method", ["columns", "lp"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_optimum_is_met(name, method):
    value, price, _, _ = PUBLISHED[name]
    plan = solved(name, method)
    np.testing.assert_allclose(plan.value, value, rtol=0, atol=6e-7)
    np.testing.assert_allclose(plan.multiplier, [price], rtol=0, atol=6e-6)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_optimum_without_constraint_is_met_at_its_published_cost(name):
    _, _, value, spent = PUBLISHED[name]
    cmdp = envs.build(name)
    unit = cmdp.constraint_units[0]
    enough = cmdp.horizon if spent is None else unit.read(spent + 6e-5)
    plan = tr.solve(cmdp.with_budget([unit.show(min(enough, cmdp.horizon))]))
    np.testing.assert_allclose(plan.value, value, rtol=0, atol=6e-7)


@pytest.mark.parametrize("name", ["ring", "inventory", "ring-uniform", "cliff", "marsrover"])
def test_less_than_the_published_cost_buys_less(name):
    """The other environments have optima that spend less than the published one."""
    _, _, value, spent = PUBLISHED[name]
    cmdp = envs.build(name)
    plan = tr.solve(cmdp.with_budget([spent - 1e-2]))
    assert plan.value < value - 1e-4


@pytest.mark.parametrize("name", envs.names())
def test_both_methods_agree_on_every_environment(name):
    cmdp = envs.build(name)
    columns, lp = solved(name, "columns"), solved(name, "lp")
    size, units = cmdp.cost_unit.size, cmdp.units
    np.testing.assert_allclose(columns.value, lp.value, rtol=0, atol=1e-7 * size)
    for plan in (columns, lp):
        assert plan.gap <= 1e-7 * size
        over = np.where(units.are_floors, -1, 1) * (plan.constraint_value - cmdp.budget)
        assert (over <= 1e-7 * units.sizes).all()
        exact = tr.evaluate(cmdp, plan.policy)
        np.testing.assert_allclose(exact.value, plan.value, rtol=0, atol=1e-8 * size)


@pytest.mark.parametrize("name", envs.names())
def test_some_budget_binds_in_every_environment_by_default(name):
    cmdp, plan = envs.build(name), solved(name, "columns")
    priced = plan.multiplier > 1e-3
    assert priced.any()
    np.testing.assert_allclose(plan.constraint_value[priced], cmdp.budget[priced], atol=1e-7)
    most = cmdp.units.show_totals(np.full(cmdp.n_constraints, float(cmdp.horizon)))
    better = tr.solve(cmdp.with_budget(most)).value - plan.value
    assert better > 0 if cmdp.cost_unit.is_maximized else better < 0


@pytest.mark.parametrize("name", [name for name in envs.names() if name not in ("queue", "random")])
def test_the_slack_of_one_budget_is_what_its_least_use_leaves(name):
    cmdp = envs.build(name)
    least = tr.feasibility(cmdp).alone[0]
    room = tr.slater(cmdp)
    unit = cmdp.constraint_units[0]
    assert room.slack == pytest.approx(unit.read(cmdp.budget[0]) - unit.read(least), abs=1e-7)
    assert room.spare[0] == pytest.approx(abs(cmdp.budget[0] - least), abs=1e-6)
