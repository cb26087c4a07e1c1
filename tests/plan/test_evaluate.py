"""Values and occupancies of given policies, in every form, and forms that are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import brute
import tightrope as tr
import zoo
from draws import MANY, models, policies
from refusals import refuses
from tightrope.plan.evaluate import as_policy

FORMS = {
    "dense": lambda p: p,
    "csr": lambda p: [csr_array(m.reshape(-1, p.shape[-1])) for m in p],
}


@MANY
@given(st.data())
def test_values_and_occupancies_are_those_of_dense_forward_passes(data):
    cmdp = data.draw(models(0, 3))
    policy = data.draw(policies(cmdp))

    found, q = tr.evaluate(cmdp, policy), tr.occupancy(cmdp, policy)

    expected = brute.values(cmdp, policy)
    assert found.value == pytest.approx(expected[0], abs=1e-12)
    np.testing.assert_allclose(found.constraint_value, expected[1:], atol=1e-12)
    p = brute.by_stages(cmdp.transition, cmdp.horizon, 4)
    np.testing.assert_allclose(q, brute.forward(p, cmdp.initial, policy), atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_backward_and_forward_recursions_agree(form):
    rng = np.random.default_rng(0)
    H, S, A = 4, 3, 2
    p = rng.dirichlet(np.ones(S), size=(H, S, A))
    cost, policy = rng.random((H, S, A)), rng.dirichlet(np.ones(A), size=(H, S))
    cmdp = tr.CMDP(FORMS[form](p), cost, initial=rng.dirichlet(np.ones(S)))

    value = tr.evaluate(cmdp, policy).value

    assert value == pytest.approx((tr.occupancy(cmdp, policy) * cost).sum(), rel=1e-12)
    assert value == pytest.approx(brute.values(cmdp, policy)[0], rel=1e-12)


def test_by_hand_the_short_cut_without_help_spends_all_it_can():
    wait = tr.evaluate(zoo.detour(), np.zeros((3, 5), dtype=int))
    detour = tr.evaluate(zoo.detour(), np.eye(2)[[1, 0, 0, 0, 0]])

    assert (wait.value, wait.constraint_value[0]) == pytest.approx((0.0, 0.8))
    assert (detour.value, detour.constraint_value[0]) == pytest.approx((1.0, 0.0))


def test_a_policy_may_be_given_by_stage_for_all_stages_or_by_actions():
    cmdp = zoo.random_cmdp(np.random.default_rng(2), 3, 2, 4, 1)
    actions = np.array([[0, 1, 1]] * 4)
    same = np.eye(2)[[0, 1, 1]]

    values = [
        tr.evaluate(cmdp, policy).value
        for policy in (actions, actions.astype(np.uint8), same, np.eye(2)[actions], same.tolist())
    ]

    assert len(set(values)) == 1


def test_rows_that_are_almost_distributions_are_put_right():
    cmdp = zoo.coin()

    assert as_policy(cmdp, [[[0.5, 0.5 + 5e-7]]]).sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ([[0.5, 0.5], [1.0]], ("policy", None, "an array of real numbers")),
        (np.ones((2, 2)), r"policy: shape \(2, 2\), expected \(1, 1, 2\) over \(H, S, A\)"),
        ([[[0.5, 0.4]]], ("policy[h=0, s=0]", 0.9, "1")),
        ([[[1.5, -0.5]]], ("policy[h=0, s=0, a=0]", 1.5, "a number in [0, 1]")),
        ([[[np.nan, 1.0]]], r"policy\[h=0, s=0, a=0\] is nan, expected a finite number"),
        ([[7]], ("policy[h=0, s=0]", 7.0, "a number in [0, 1]")),
        ("heads", "policy: expected an array of real numbers"),
        ([[["a", "b"]]], "policy: expected an array of real numbers"),
    ],
)
def test_bad_policies_are_refused_by_entry(policy, message):
    for ask in (tr.evaluate, tr.occupancy):
        with refuses(tr.ModelError, message):
            ask(zoo.coin(), policy)


def test_forbidden_actions_are_refused_by_name():
    cmdp = tr.CMDP(
        np.ones((1, 2, 1)),
        [[0, 0]],
        horizon=1,
        allowed=[[True, False]],
        state_names=["tap"],
        action_names=["on", "off"],
    )

    with refuses(tr.ModelError, argument="policy", entry="h=0, s='tap', a='off'", found="positive"):
        tr.evaluate(cmdp, [[[0.5, 0.5]]])


def test_whole_numbers_that_may_be_actions_or_probabilities_are_refused():
    cmdp = zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 0)

    with pytest.raises(tr.ModelError, match="may be actions"):
        tr.evaluate(cmdp, [[0, 1], [1, 0]])
    as_probabilities = tr.evaluate(cmdp, [[0.0, 1.0], [1.0, 0.0]]).value
    assert as_probabilities == tr.evaluate(cmdp, np.eye(2)[[[1, 0], [1, 0]]]).value
