"""QuantEcon as a second opinion: its backward induction and ours agree, both ways."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from quantecon.markov import DiscreteDP, backward_induction
from scipy.sparse import csr_matrix

import tightrope as tr
import zoo
from refusals import refuses

H = 5


def made(*arguments):
    with warnings.catch_warnings():
        # DiscreteDP says so of every undiscounted process
        warnings.filterwarnings("ignore", "infinite horizon solution methods are disabled")
        return DiscreteDP(*arguments)


def process(beta, form, seed=0):
    """A random process with one action missing, in either form."""
    rng = np.random.default_rng(seed)
    R, Q = rng.normal(size=(4, 3)) * 5, rng.dirichlet(np.ones(4), size=(4, 3))
    R[1, 2] = -np.inf
    if form == "product":
        return made(R, Q, beta)
    s, a = np.nonzero(np.isfinite(R))
    kernel = Q[s, a] if form == "pairs" else csr_matrix(Q[s, a])
    return made(R[s, a], kernel, beta, s, a)


@pytest.mark.parametrize("form", ["product", "pairs", "sparse pairs"])
@pytest.mark.parametrize("beta", [1.0, 0.9])
def test_the_optimum_is_that_of_backward_induction(beta, form):
    theirs = backward_induction(process(beta, form), H)[0][0]
    for s in range(4):
        cmdp = tr.from_quantecon(process(beta, form), H, initial=s)
        assert tr.solve(cmdp).value == pytest.approx(theirs[s], abs=1e-9)
        assert not cmdp.allowed[0, 1, 2]


@pytest.mark.parametrize("form", ["product", "pairs"])
@pytest.mark.parametrize("seed", range(3))
def test_our_unconstrained_optimum_is_theirs(form, seed):
    free = zoo.random_cmdp(np.random.default_rng(seed), 5, 3, H, 0, is_stationary=True)
    theirs = backward_induction(made(*tr.to_quantecon(free, form=form)), H)[0][0]
    assert tr.solve(free).value == pytest.approx(-free.initial @ theirs, abs=1e-9)


def test_at_the_optimal_prices_the_lagrangian_there_is_the_constrained_optimum_here():
    free = zoo.random_cmdp(np.random.default_rng(3), 4, 3, H, 1, is_stationary=True)
    cheapest = tr.solve(free.with_budget([H]))
    least = tr.feasibility(free).alone[0]
    cmdp = free.with_budget([(least + cheapest.constraint_value[0]) / 2])
    plan = tr.solve(cmdp)
    assert plan.multiplier[0] > 0
    theirs = backward_induction(made(*tr.to_quantecon(cmdp, plan.multiplier)), H)[0][0]
    dual = -cmdp.initial @ theirs - plan.multiplier @ cmdp.budget
    assert dual == pytest.approx(plan.value, abs=1e-8)


def test_budgets_may_be_put_on_their_processes():
    spent = np.abs(np.random.default_rng(1).normal(size=(4, 3)))

    def model(bound):
        return tr.from_quantecon(process(1.0, "product"), H, {"spent": spent}, {"spent": bound})

    free = model(5 * spent.min() + 4.0)
    used, least = tr.solve(free).constraint_value[0], tr.feasibility(free).alone[0]
    half = (used + least) / 2
    tight = model(half)
    plan = tr.solve(tight)
    assert plan.constraint_value[0] == pytest.approx(half)
    assert plan.value < tr.solve(free).value - 0.01
    with refuses(
        tr.ModelError, argument="constraint_cost", entry="'spent'", found=(2,), expected="(4, 3)"
    ):
        tr.from_quantecon(process(1.0, "product"), H, {"spent": [1, 2]}, {"spent": 1})


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_only_minus_infinity_means_that_an_action_does_not_exist(value):
    R = np.array([[value, 1.0], [0.0, -np.inf]])
    with refuses(tr.ModelError, argument="reward", entry="s=0, a=0", expected="a finite number"):
        tr.from_quantecon(made(R, np.full((2, 2, 2), 0.5), 1.0), H)


def test_forms_and_prices_that_cannot_be_are_named():
    cmdp = zoo.random_cmdp(np.random.default_rng(0), 2, 2, 2, 1, is_stationary=True)
    with refuses(tr.ModelError, argument="multiplier", found="missing"):
        tr.to_quantecon(cmdp)
    with refuses(
        tr.ConfigError, argument="form", found="rows", expected="one of 'product', 'pairs'"
    ):
        tr.to_quantecon(cmdp, [0.0], "rows")


@pytest.mark.parametrize(("name", "wrong"), [("s_indices", 99), ("a_indices", -1)])
def test_indices_that_do_not_exist_are_refused(name, wrong):
    indices = {"s_indices": np.array([0, 0, 1]), "a_indices": np.array([0, 1, 0])}
    indices[name][1] = wrong
    process = SimpleNamespace(
        num_states=2, R=np.zeros(3), Q=np.eye(2)[[0, 1, 0]], beta=1.0, **indices
    )
    with refuses(tr.ModelError, argument=f"process.{name}", entry="1", found=wrong):
        tr.from_quantecon(process, horizon=3)


@pytest.mark.parametrize("form", ["product", "pairs", "sparse pairs"])
def test_without_a_horizon_the_optimum_is_that_of_their_policy_iteration(form):
    ddp = process(0.9, form)
    theirs = ddp.solve(method="policy_iteration").v
    for s in range(4):
        model = tr.from_quantecon(ddp, initial=s)
        assert isinstance(model, tr.DiscountedCMDP)
        assert model.discount == 0.9
        assert tr.solve(model).value == pytest.approx(theirs[s], abs=1e-8)


@pytest.mark.parametrize("form", ["product", "pairs"])
def test_the_lagrangian_of_a_discounted_model_has_our_dual_value_there(form):
    rng = np.random.default_rng(3)
    kernel, start = rng.dirichlet(np.ones(5), size=(5, 3)), rng.dirichlet(np.ones(5))
    options = {"discount": 0.95, "initial": start, "allowed": rng.random((5, 3)) < 0.8}
    options["allowed"][:, 0] = True
    losses = rng.random((5, 3)), rng.random((2, 5, 3))
    budget = tr.solve(tr.DiscountedCMDP(kernel, *losses, [20, 20], **options)).constraint_value
    model = tr.DiscountedCMDP(kernel, *losses, budget - [0.3, 0.1], **options)
    plan = tr.solve(model)
    assert plan.multiplier.max() > 0
    ddp = DiscreteDP(*tr.to_quantecon(model, plan.multiplier, form))
    assert ddp.beta == 0.95
    dual = -start @ ddp.solve(method="policy_iteration").v - plan.multiplier @ model.budget
    assert dual == pytest.approx(plan.value, abs=1e-8)


def test_averages_leave_out_their_discount():
    ddp = process(0.9, "product")
    model = tr.from_quantecon(ddp, average=True)
    # averages are the limit of discounted values, times one minus the discount
    limit = DiscreteDP(ddp.R, ddp.Q, 1 - 1e-7).solve(method="policy_iteration").v
    assert tr.solve(model).value == pytest.approx(1e-7 * limit[0], abs=1e-5)
    assert tr.to_quantecon(model)[2] == 1.0
