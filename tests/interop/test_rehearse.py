"""A given policy in practice."""

from __future__ import annotations

import numpy as np
import pytest
from small_envs import bridge

import tightrope as tr
from tightrope.errors import ModelError

RUN = np.array([[[1.0, 0.0], [1.0, 0.0]]] * 2)


def test_sums_are_those_of_the_policy():
    record = tr.rehearse(
        bridge(), RUN, budget=1.0, episodes=5, reward_range=(0, 10), cost_range=(0, 5)
    )
    np.testing.assert_array_equal(record.totals, [[10.0, 3.0]] * 5)
    assert np.isnan(record.planned).all()
    assert record.algorithm == "given policy"


def test_a_plan_of_the_imported_model_can_be_played_whatever_states_it_added():
    cmdp, _ = tr.from_gymnasium("FrozenLake-v1", 6, {"holes": 0.2})
    record = tr.rehearse("FrozenLake-v1", tr.solve(cmdp), budget={"holes": 0.2}, episodes=3)
    assert record.policy.shape == (6, 16, 4)
    from small_envs import revolving_door

    cmdp, _ = tr.from_gymnasium(revolving_door(), 4)
    record = tr.rehearse(revolving_door(), tr.solve(cmdp), episodes=2000, seed=2)
    # a geometric sum cut at 4 has mean 1.875 and variance below 2
    assert abs(record.totals.mean() - 1.875) < 5 * np.sqrt(2 / 2000)


def test_a_chance_that_cannot_be_is_named_before_anything_is_played():
    def fail(k):
        raise AssertionError(f"episode {k} was played")

    with pytest.raises(ModelError, match=r"delta: 2, expected a number in \(0, 1\)"):
        tr.rehearse(bridge(), RUN, episodes=2, reward_range=(0, 10), delta=2, progress=fail)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (RUN[0], r"policy: shape \(2, 2\), expected \(H, S, A\)"),
        (RUN[:, :1], r"policy: shape \(2, 1, 2\), expected \(2, 2, 2\)"),
        (RUN / 2, "must be probabilities"),
        (RUN - 1, "must be probabilities"),
    ],
)
def test_what_is_no_policy_is_named(policy, message):
    with pytest.raises(ModelError, match=message):
        tr.rehearse(bridge(), policy, episodes=2, reward_range=(0, 10))
