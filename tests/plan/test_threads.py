"""Threads of a solve: the same plan for any number, and the same as without them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple

import numpy as np
import pytest

import tightrope as tr
from tightrope.arrays import Large
from tightrope.envs import build
from tightrope.kernels.criteria import gather, workspace
from tightrope.model.base import writable_problem
from tightrope.model.choices import Choices
from tightrope.plan import threads
from tightrope.plan.explain import find_randomized
from tightrope.plan.generate import best_response
from tightrope.plan.threads import crew_of, limited_threads, raise_failure, shared_stages

FIELDS = ("policy", "occupancy", "constraint_value", "multiplier", "saving", "value", "gap")
MODELS = {
    "one budget": {"n_constraints": 1},
    "three budgets": {"n_constraints": 3, "seed": 1},
    "no budget": {"n_constraints": 0, "seed": 2},
    "time-dependent": {"n_constraints": 2, "time_dependent": True, "seed": 3},
}


@pytest.fixture
def every_model_is_large(monkeypatch):
    monkeypatch.setattr(threads, "LEAST_ENTRIES", 1)


@pytest.fixture(params=MODELS)
def cmdp(request):
    sizes = {"n_states": 37, "n_actions": 3, "horizon": 8, "branching": 4}
    return build("random", **sizes, **MODELS[request.param])


def assert_same(one, other):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.sweeps == other.sweeps


def test_plans_of_one_two_and_three_threads_are_the_same_bits(cmdp, every_model_is_large):
    plans = [tr.solve(cmdp, threads=n) for n in (1, 2, 3)]
    assert_same(plans[0], plans[1])
    assert_same(plans[0], plans[2])


def test_a_plan_by_threads_is_that_of_the_compiled_loop(cmdp, monkeypatch):
    alone = tr.solve(cmdp)
    monkeypatch.setattr(threads, "LEAST_ENTRIES", 1)
    shared = tr.solve(cmdp, threads=2)
    assert shared.value == pytest.approx(alone.value, rel=1e-8)
    np.testing.assert_allclose(shared.constraint_value, alone.constraint_value, atol=1e-8)
    found = tr.evaluate(cmdp, shared.policy)
    assert found.value == pytest.approx(shared.value, rel=1e-13)
    np.testing.assert_allclose(found.constraint_value, shared.constraint_value, rtol=1e-12)


def test_threads_find_the_best_response_and_its_values_to_the_bit(cmdp, every_model_is_large):
    problem, H = writable_problem(cmdp), cmdp.horizon
    lam = np.linspace(0.3, 0.7, cmdp.n_constraints)
    value, state = best_response(problem, H, lam)
    with limited_threads(2), shared_stages(problem, H) as shared:
        assert isinstance(shared.kernels, Large)
        by_threads, found = best_response(shared, H, lam)
        values = crew_of(shared.kernels).evaluate(Choices.pure(state.choice, cmdp.n_actions))
    assert by_threads == value
    np.testing.assert_array_equal(found.choice, state.choice)
    np.testing.assert_array_equal(found.V[0], state.V[0])
    direct = tr.evaluate(cmdp, np.eye(cmdp.n_actions)[state.choice])
    np.testing.assert_array_equal(cmdp.cost_unit.show(values[0]), direct.value)
    np.testing.assert_array_equal(cmdp.units.show_totals(values[1:]), direct.constraint_value)


def test_a_backward_evaluation_is_the_forward_one_up_to_rounding(cmdp, every_model_is_large):
    problem, (H, S) = writable_problem(cmdp), (cmdp.horizon, cmdp.n_states)
    choice = np.random.default_rng(0).integers(0, 3, size=(H, S)).astype(np.int16)
    order, reach, points = np.zeros((1, 1), dtype=np.uint32), np.empty((H, S)), np.empty((2, 4))
    points = points[:, : 1 + cmdp.n_constraints].copy()
    gather(problem, choice, order, reach, points[0], workspace(problem.kernels, S))
    with limited_threads(2), shared_stages(problem, H) as shared:
        gather(shared, choice, order, reach, points[1], workspace(shared.kernels, S))
        raise_failure(shared.kernels)
    np.testing.assert_allclose(points[1], points[0], rtol=1e-13)


def test_small_models_use_no_threads(monkeypatch):
    monkeypatch.setattr(threads, "Crew", None)  # would fail if it were used
    assert tr.solve("ring").gap < 1e-7


def test_the_number_of_threads_is_that_of_numba_unless_it_is_given(monkeypatch):
    monkeypatch.setattr(threads.config, "NUMBA_NUM_THREADS", 5)
    assert threads.count_threads() == 5
    with limited_threads(3):
        assert threads.count_threads() == 3
        with limited_threads(None):
            assert threads.count_threads() == 3
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(tr.ConfigError) as caught:
            tr.solve("ring", threads=wrong)
        assert caught.value.argument == "threads"


def test_a_solve_uses_as_many_threads_as_it_is_given(cmdp, every_model_is_large, monkeypatch):
    sizes = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, size):
            sizes.append(1 + size)
            super().__init__(size)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Pool)
    before = threading.active_count()
    tr.solve(cmdp, threads=3)
    assert set(sizes) == {3}
    assert threading.active_count() == before


def test_an_interrupt_in_a_sweep_ends_the_solve(cmdp, every_model_is_large, monkeypatch):
    asked = []

    def interrupted(self, *arguments):
        asked.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(threads.Crew, "respond", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tr.solve(cmdp, threads=2)
    assert len(asked) == 1


def test_jobs_of_experiments_use_one_thread(monkeypatch):
    from tightrope.experiments import job

    found = []

    def take_up(given):
        found.append(threads.count_threads())
        raise LookupError

    monkeypatch.setattr(threads.config, "NUMBA_NUM_THREADS", 4)
    monkeypatch.setattr(job, "_taken_up", take_up)
    with pytest.raises(LookupError):
        job.work(job.Job("", b"", 0, b"", 1.0))
    assert found == [1]
    assert threads.count_threads() == 4


def test_infeasible_budgets_are_proven_by_threads(every_model_is_large):
    cmdp = build("random", n_states=20, n_actions=2, horizon=5, n_constraints=1, branching=3)
    with pytest.raises(tr.InfeasibleError):
        tr.solve(cmdp.with_budget([0.01]), threads=2)


def test_a_large_plan_is_evaluated_and_explained_without_dense_arrays(cmdp, monkeypatch):
    small = tr.solve(cmdp)
    explained = find_randomized(cmdp, small)
    monkeypatch.setattr(threads, "LEAST_ENTRIES", 1)
    plan = tr.solve(cmdp)
    dense = tr.evaluate(cmdp, plan.policy.copy())
    plan = tr.solve(cmdp)
    monkeypatch.setattr(Choices, "dense", None)  # would fail if it were used
    found = tr.evaluate(cmdp, plan)
    assert found.value == pytest.approx(dense.value, rel=1e-14)
    np.testing.assert_allclose(found.constraint_value, dense.constraint_value, rtol=1e-14)
    assert [each[:2] for each in map(astuple, find_randomized(cmdp, plan))] == [
        each[:2] for each in map(astuple, explained)
    ]
    assert [each.constraint for each in find_randomized(cmdp, plan)] == [
        each.constraint for each in explained
    ]


def test_a_large_plan_of_forbidden_actions_is_refused(every_model_is_large):
    allowed = np.ones((3, 2), dtype=bool)
    parts = np.full((3, 2, 3), 1 / 3), [[0.0, 1.0]] * 3, None, None, 4
    plan = tr.solve(tr.CMDP(*parts))
    allowed[1, 0] = False
    with pytest.raises(tr.ModelError) as caught:
        tr.evaluate(tr.CMDP(*parts, allowed=allowed), plan)
    assert "not allowed" in str(caught.value)
