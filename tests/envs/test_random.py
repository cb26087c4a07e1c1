"""Random CMDPs: their shape, and what tightness promises."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from tightrope.envs.random import random_cmdp
from tightrope.errors import ConfigError, InfeasibleError


def row_sizes(cmdp):
    return np.diff(cmdp.transitions.indptr, axis=1)


@pytest.mark.parametrize(("n_states", "branching"), [(7, 1), (7, 3), (7, 7), (1, 1)])
@pytest.mark.parametrize("time_dependent", [False, True])
def test_every_pair_has_that_many_different_successors(n_states, branching, time_dependent):
    cmdp = random_cmdp(n_states, 3, 4, 2, branching, time_dependent=time_dependent)
    assert cmdp.is_stationary != time_dependent
    assert cmdp.transitions.indptr.shape[0] == (4 if time_dependent else 1)
    np.testing.assert_array_equal(row_sizes(cmdp), branching)


def test_the_seed_decides_the_model():
    one, same, other = (random_cmdp(seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.transition, same.transition)
    np.testing.assert_array_equal(one.cost, same.cost)
    assert not np.array_equal(one.cost, other.cost)


def test_tightness_changes_nothing_but_the_budgets():
    slack, tight = random_cmdp(tightness=0.1), random_cmdp(tightness=0.9)
    np.testing.assert_array_equal(slack.transition, tight.transition)
    np.testing.assert_array_equal(slack.constraint_cost, tight.constraint_cost)
    assert tight.budget.sum() < slack.budget.sum()


@pytest.mark.parametrize("n_constraints", [1, 3])
@pytest.mark.parametrize("time_dependent", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_tightness_inside_zero_and_one_is_feasible_and_binds(n_constraints, time_dependent, seed):
    for tightness in (0.05, 0.5, 0.95):
        cmdp = random_cmdp(
            12, 3, 6, n_constraints, 3, tightness, time_dependent=time_dependent, seed=seed
        )
        plan = tr.solve(cmdp)
        assert (plan.constraint_value <= cmdp.budget + 1e-9).all()
        assert plan.multiplier.max() > 1e-6


@pytest.mark.parametrize("n_constraints", [1, 3])
@pytest.mark.parametrize("tightness", [1.01, 2.0, 100.0])
def test_tightness_beyond_one_is_infeasible(n_constraints, tightness):
    cmdp = random_cmdp(12, 3, 6, n_constraints, 3, tightness)
    with pytest.raises(InfeasibleError):
        tr.solve(cmdp)


def test_tightness_zero_is_the_value_without_constraints():
    cmdp = random_cmdp(tightness=0.0)
    free = cmdp.with_budget(np.full(cmdp.n_constraints, cmdp.horizon))
    np.testing.assert_allclose(tr.solve(cmdp).value, tr.solve(free).value, rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"branching": 21}, ("branching", 21, "a number in [1, 20]")),
        ({"tightness": -1.5}, ("tightness", -1.5, "at least -1")),
        ({"n_states": 0}, ("n_states", 0, "at least 1")),
        ({"seed": -1}, ("seed", -1, "at least 0")),
    ],
)
def test_bad_sizes_are_named(parameters, said):
    with refuses(ConfigError, said):
        random_cmdp(**parameters)


def test_below_zero_budgets_are_slack_and_without_constraints_there_are_none():
    slack = random_cmdp(tightness=-0.5)
    assert tr.solve(slack).multiplier.tolist() == [0.0, 0.0]
    assert np.all(tr.solve(slack).constraint_value < slack.budget)
    assert random_cmdp(n_constraints=0).n_constraints == 0


def test_with_a_uniform_start_every_state_is_reached_and_the_budget_is_of_that_start():
    one, spread = (random_cmdp(5, 3, 4, 1, 2, 0.5, uniform_start=start) for start in (False, True))
    np.testing.assert_array_equal(one.transition, spread.transition)
    np.testing.assert_allclose(spread.initial, 0.2)
    assert (tr.occupancy(spread, tr.solve(spread).policy)[0].sum(axis=1) > 0).all()
    ends = [tr.solve(random_cmdp(5, 3, 4, 1, 2, t, uniform_start=True)) for t in (0.0, 1.0)]
    between = np.mean([plan.constraint_value[0] for plan in ends])
    np.testing.assert_allclose(spread.budget[0], between)
    assert tr.solve(spread).multiplier[0] > 0
