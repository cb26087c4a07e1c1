"""Fewer coin flips: the same value and budgets with one randomised state for one binding budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import tightrope as tr
from draws import MANY, SOME, cases
from tightrope.model.cmdp import writable_problem
from tightrope.plan.certify import purify
from tightrope.plan.generate import generate, totals


@MANY
@given(cases())
def test_a_purer_mixture_costs_and_spends_no_more(case):
    problem, H = writable_problem(case.cmdp), case.cmdp.horizon
    mixture = generate(problem, H, 1e-12)

    purer = purify(problem, mixture, 1e-9)

    before, after = totals(problem, mixture), totals(problem, purer)
    assert after[0] <= before[0] + 1e-8
    assert (after[1:] <= np.maximum(case.cmdp.budget, before[1:]) + 1e-9).all()
    assert purer.weights.sum() == pytest.approx(1.0)
    differs = [(m.actions != m.actions[0]).any(axis=0).sum() for m in (mixture, purer)]
    assert differs[1] <= differs[0]


@SOME
@given(cases(most=1))
def test_one_budget_never_needs_more_than_one_coin(case):
    assert tr.solve(case.cmdp, tolerance=1e-12).n_randomised <= 1


def test_many_ties_are_settled_with_one_coin():
    """Eight equal choices between paying 1 and spending 1: a budget of 2.5 mixes in one of them."""
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[1, 0]], [[[0, 1]]], [2.5], 8)

    plan = tr.solve(cmdp)

    assert plan.value == pytest.approx(5.5, abs=1e-9)
    assert plan.n_randomised == 1
    shares = plan.policy[:, 0, 1]
    assert np.sort(shares) == pytest.approx([0, 0, 0, 0, 0, 0.5, 1, 1])
