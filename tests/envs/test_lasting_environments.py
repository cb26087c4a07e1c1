"""The infinite-horizon environments."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr


@pytest.mark.parametrize("name", tr.envs.lasting_names())
def test_both_methods_agree_on_environments_without_an_end(name):
    cmdp = tr.envs.build(name)
    plan, other = tr.solve(cmdp), tr.solve(name, method="lp")
    assert plan.method == "columns"
    assert plan.value == pytest.approx(other.value, rel=1e-7)
    found = tr.evaluate(cmdp, plan)
    assert found.value == pytest.approx(plan.value, rel=1e-10)
    assert plan.gap <= 1e-7 * abs(plan.value)
    assert (plan.multiplier > 0).all()  # every budget of the catalog binds
    assert not [each for each in cmdp.check() if each.level != "note"]


@pytest.mark.parametrize("name", tr.envs.lasting_names())
def test_environments_without_an_end_are_for_planning_only(name):
    assert name not in tr.envs.names()
    with pytest.raises(tr.ModelError) as caught:
        tr.learn(name, "OptCMDP", episodes=2)
    assert caught.value.argument == "cmdp"


def test_a_queue_that_admits_everyone_has_the_averages_of_a_birth_and_death_chain():
    cmdp = tr.envs.build("admission", capacity=5, arrival=0.3, slow=0.5)
    P = cmdp.transition[:, 0]  # admit, slow
    up, down = np.diag(P, 1), np.diag(P, -1)
    weights = np.append(1.0, np.cumprod(up / down))
    share = weights / weights.sum()
    found = tr.evaluate(cmdp, np.zeros(6, dtype=int))
    assert found.constraint_value[0] == pytest.approx(share @ np.arange(6), rel=1e-12)
    assert found.value == pytest.approx(0.2 * (1 - share[0]), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "parameters", "argument"),
    [
        ("admission", {"arrival": 1.5}, "arrival"),
        ("replacement", {"discount": 1.0}, "discount"),
        ("service-level", {"level": 1.2}, "level"),
        ("patrol", {"slip": 0.0}, "slip"),
    ],
)
def test_bad_parameters_are_named(name, parameters, argument):
    with pytest.raises(tr.ModelError) as caught:
        tr.envs.build(name, **parameters)
    assert caught.value.argument == argument
