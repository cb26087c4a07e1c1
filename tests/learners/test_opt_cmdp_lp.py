"""OptCMDP by linear programs: the same plans, counted the same."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
import zoo
from driven import KNOWN, curves, driven, instance
from tightrope.learners.opt_cmdp_lp import plan_by_lp
from tightrope.plan.lp import extended_lp, full_box


def test_column_generation_plans_the_values_of_the_extended_program():
    cmdp = instance(2, is_sparse=True)
    simulation = driven(cmdp, "OptCMDP", 30, confidence={"scale": 0.02})
    n_feasible = 0
    for _ in range(30):
        problem = simulation.agent.problem
        boxed = problem._replace(kernels=full_box(problem.kernels, 3))
        answer = extended_lp(boxed, 3)
        simulation.advance(1)
        if answer is not None:
            n_feasible += 1
            assert simulation.agent.decision.value[0] == pytest.approx(answer.objective, abs=1e-7)
    assert n_feasible > 5


@pytest.mark.parametrize("transition", ["l1", "bernstein+l1", "kl+l1"])
@pytest.mark.parametrize("knows_support", [False, True])
def test_over_l1_balls_too_column_generation_plans_the_values_of_the_program(
    transition, knows_support
):
    cmdp = instance(2, is_sparse=True, I=2)
    confidence = {"scale": 0.02, "transition": transition, "known_support": knows_support}
    simulation = driven(cmdp, "OptCMDP", 30, confidence=confidence)
    n_binding = 0
    for _ in range(30):
        plan = plan_by_lp(simulation.agent.problem, 3)
        simulation.advance(1)
        decision = simulation.agent.decision
        assert plan.is_relaxed == decision.note.is_relaxed
        if not plan.is_relaxed:
            assert decision.value[0] == pytest.approx(plan.value[0], abs=1e-7)
            n_binding += bool((plan.multiplier > 0).any())
    assert n_binding > 5


@pytest.mark.parametrize("scale", [1.0, 0.0005])
def test_optcmdp_bonus_plans_the_values_of_the_occupancy_program(scale):
    cmdp = instance(2, is_sparse=True, I=2)
    simulation = driven(cmdp, "OptCMDP-bonus", 30, confidence={"scale": scale})
    n_binding = 0
    for _ in range(30):
        plan = plan_by_lp(simulation.agent.problem, 3)
        simulation.advance(1)
        decision = simulation.agent.decision
        assert plan.is_relaxed == decision.note.is_relaxed
        if not plan.is_relaxed:
            assert decision.value[0] == pytest.approx(plan.value[0], rel=1e-7, abs=1e-7)
            n_binding += bool((plan.multiplier > 0).any())
    assert (n_binding > 5) == (scale < 1)


def test_optcmdp_runs_by_linear_programs_too():
    for cmdp in (zoo.coin(), zoo.stairs()):
        run = tr.learn(cmdp, "OptCMDP-lp", 5, confidence=KNOWN)
        assert run.regret["cost_plus"][-1] <= 1e-6
        assert run.regret["constraint_plus"].max() <= 1e-6
    cmdp = instance(2, tightness=0.9)
    runs = [tr.learn(cmdp, "OptCMDP-lp", 40, confidence={"scale": 0.01}, seed=1) for _ in range(2)]
    np.testing.assert_array_equal(curves(runs[0]), curves(runs[1]))
    np.testing.assert_allclose(runs[0].policy.sum(axis=2), 1.0)


def test_the_bonus_learner_runs_by_linear_programs_too():
    cmdp = instance(2, is_sparse=True, I=2)
    values = []
    for name in ("OptCMDP-bonus", "OptCMDP-bonus-lp"):
        simulation = driven(cmdp, name, 30, confidence={"scale": 0.0005})
        simulation.advance(1)  # later ones have other beliefs, as plans of one value may differ
        values.append(simulation.agent.decision.value[0])
    assert values[1] == pytest.approx(values[0], rel=1e-7)
    lp = tr.learn(cmdp, "OptCMDP-bonus-lp", 30, confidence={"scale": 0.0005})
    assert lp.audit.plans == 30
    assert lp.audit.not_optimistic == 0
    known = tr.learn(zoo.coin(), "OptCMDP-bonus-lp", 5, confidence=KNOWN)
    assert known.regret["constraint_plus"].max() <= 1e-6


def test_infeasible_programs_are_counted_like_infeasible_columns():
    cmdp = instance(5, tightness=0.95, noise="bernoulli")
    simulation = driven(cmdp, "OptCMDP", 200, confidence={"scale": 1e-3})
    n_relaxed = 0
    for _ in range(200):
        plan = plan_by_lp(simulation.agent.problem, 3)
        simulation.advance(1)
        assert plan.is_relaxed == simulation.agent.decision.note.is_relaxed
        # at the least violation the cost is steep in what rounding allows, the violation is not
        agreed = 1 if plan.is_relaxed else 0
        np.testing.assert_allclose(
            plan.value[agreed], simulation.agent.decision.value[agreed], atol=1e-6
        )
        n_relaxed += plan.is_relaxed
    assert 0 < n_relaxed < 200
    run = tr.learn(cmdp, "OptCMDP-lp", 40, confidence={"scale": 1e-3})
    assert run.audit.plans == 40
    assert 0 < run.audit.infeasible_plans < 40
    assert run.multiplier.any()
    rare = tr.learn(cmdp, "OptCMDP-lp", 40, confidence={"replan": "doubling"})
    assert rare.audit.plans < 40
