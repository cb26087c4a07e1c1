"""Policies in short: the same probabilities as arrays, and files of large plans."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from tightrope.envs import build
from tightrope.kernels.bellman import evaluate_all
from tightrope.kernels.occupancy import follow, occupancy, policy_of
from tightrope.kernels.scratch import desk
from tightrope.model import plan_files as plans
from tightrope.model.base import writable_problem
from tightrope.model.choices import Choices
from tightrope.plan.certify import Reached
from tightrope.plan.generate import blend_policies, generate


@pytest.fixture(scope="module")
def cmdp():
    return build("random", n_states=12, n_actions=3, horizon=6, n_constraints=2, branching=4)


@pytest.fixture(scope="module")
def plan(cmdp):
    return tr.solve(cmdp)


@settings(deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.floats(0, 1),
)
def test_a_policy_in_short_gives_back_its_probabilities(H, S, A, seed, mixed):
    rng = np.random.default_rng(seed)
    policy = np.eye(A)[rng.integers(0, A, (H, S))]
    drawn = rng.random((H, S)) < mixed
    policy[drawn] = rng.dirichlet(np.ones(A), (H, S))[drawn]
    short = Choices.of(policy)
    np.testing.assert_array_equal(short.dense(), policy)
    np.testing.assert_array_equal(short.sparse().toarray().reshape(H, S, A), policy)
    rows = [[short.row(h, s) for s in range(S)] for h in range(H)]
    np.testing.assert_array_equal(np.array(rows), policy)
    np.testing.assert_array_equal(np.diff(short.mixed) > 0, True)


def test_a_mixture_in_short_is_the_policy_of_its_occupancy(cmdp):
    problem, H = writable_problem(cmdp), cmdp.horizon
    mixture = generate(problem, H, 1e-8)
    assert len(mixture.weights) > 1
    (S, A), q = (cmdp.n_states, cmdp.n_actions), np.zeros((H, cmdp.n_states, cmdp.n_actions))
    for weight, actions, order in zip(
        mixture.weights, mixture.actions, mixture.orders, strict=True
    ):
        none, reach = np.zeros((H, 0)), np.empty((2, S))
        follow(
            problem.kernels, problem.initial, actions, order, float(weight), q, none, reach, desk(S)
        )
    policy = np.empty_like(q)
    policy_of(q, mixture.choice, policy)
    found = blend_policies(problem, mixture)
    np.testing.assert_array_equal(found.dense(), policy)
    reached = np.empty((H, S, A))
    order, work = np.zeros(S, dtype=np.uint32), desk(S)
    occupancy(problem.kernels, problem.initial, policy, reached, np.empty((2, S)), order, work)
    short = Reached(problem.kernels, problem.initial, found)
    np.testing.assert_array_equal(short.dense(), reached)
    np.testing.assert_allclose(reached, q, atol=1e-15)


def test_a_plan_makes_arrays_when_they_are_asked_for(cmdp):
    plan = tr.solve(cmdp)
    assert not {"_policy_made", "_occupancy_made"} & set(vars(plan))
    assert "12 states" in repr(plan)
    assert plan.n_randomized == 2
    assert not {"_policy_made", "_occupancy_made"} & set(vars(plan))
    assert plan.policy is plan.policy
    np.testing.assert_array_equal(plan.policy, plan.choices.dense())
    problem, (H, S) = writable_problem(cmdp), (cmdp.horizon, cmdp.n_states)
    values, V = np.empty(3), np.empty((H + 1, S))
    order = np.zeros(S, dtype=np.uint32)
    evaluate_all(problem.kernels, problem, plan.policy, V, order, desk(S), values)
    assert cmdp.cost_unit.show(values[0]) == plan.value


def test_an_action_is_that_of_the_policy(plan):
    for h, s in np.ndindex(plan.policy.shape[:2]):
        taken = np.flatnonzero(plan.policy[h, s])
        if len(taken) == 1:
            assert plan.action(h, s) == taken[0]
        else:
            with pytest.raises(tr.ConfigError) as caught:
                plan.action(h, s)
            assert caught.value.argument == "rng"
            rng = np.random.default_rng(0)
            drawn = np.bincount([plan.action(h, s, rng) for _ in range(2000)], minlength=3) / 2000
            np.testing.assert_allclose(drawn, plan.policy[h, s], atol=0.07)  # six deviations


@pytest.mark.parametrize(("stage", "state"), [(6, 0), (0, 12), (-1, 0), (0, -1), (0.5, 0)])
def test_an_action_of_no_state_is_refused(plan, stage, state):
    with pytest.raises(tr.ConfigError) as caught:
        plan.action(stage, state)
    assert caught.value.argument in ("stage", "state")


def test_a_stationary_plan_acts_alike_in_every_step():
    plan = tr.solve(
        tr.DiscountedCMDP(
            [[[0.5, 0.5], [1, 0]], [[0, 1], [1, 0]]],
            [[0, 0.1], [1, 0.5]],
            np.zeros((0, 2, 2)),
            [],
            discount=0.9,
        )
    )
    assert plan.action(0, 1) == plan.action(1000, 1) == np.argmax(plan.policy[1])
    np.testing.assert_array_equal(plan.sparse_policy().toarray(), plan.policy)


def test_the_file_of_a_large_plan_has_actions_and_loads_as_it_was(plan, tmp_path, monkeypatch):
    plan.save(tmp_path / "usual.npz")
    monkeypatch.setattr(plans, "MOST_DENSE", 0)
    plan.save(tmp_path / "large.npz")
    with np.load(tmp_path / "large.npz") as file:
        assert not {"policy", "occupancy"} & set(file)
        assert file["actions"].dtype == np.uint8
        arrays = dict(file)
    usual, large = (tr.Plan.load(tmp_path / f"{name}.npz") for name in ("usual", "large"))
    for name in ("policy", "occupancy", "constraint_value", "multiplier", "saving", "value", "gap"):
        np.testing.assert_array_equal(getattr(large, name), getattr(usual, name))
    read, _ = plans.read_policy(tmp_path / "large.npz")
    np.testing.assert_array_equal(read, plan.policy)
    large.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes()[:100] == (tmp_path / "large.npz").read_bytes()[
        :100
    ]
    wrong = arrays["mixed"].copy()
    wrong[-1] = plan.policy.size
    for change in (
        {"actions": arrays["actions"] + 3},
        {"actions": arrays["actions"].astype(float)},
        {"actions": arrays["actions"][0]},
        {"mixed": wrong},
        {"mixed": arrays["mixed"][::-1]},
        {"shares": arrays["shares"][:1]},
        {"reached": arrays["reached"][:1]},
    ):
        np.savez(tmp_path / "wrong.npz", **(arrays | change))
        with pytest.raises(tr.StoreError, match=r"actions|mixed|reached"):
            tr.Plan.load(tmp_path / "wrong.npz")
