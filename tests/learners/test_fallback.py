"""DOPE and OptPess-LP against dense NumPy, fed with the same episodes."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import naive
import tightrope as tr
from driven import instance, walk
from tightrope.belief.confidence import as_confidence
from tightrope.experiments.simulate import Simulation
from tightrope.learners import LEARNERS
from tightrope.learners.oracle import Oracle


def begin(name, cmdp, K, scale, **options):
    """A simulation before its first episode."""
    learner = LEARNERS[name].from_options(options).resolve(Oracle(cmdp))
    rng = np.random.default_rng(0)
    return Simulation(cmdp, learner, K, 0.0, rng, 0.1, as_confidence({"scale": scale}))


def roomy(seed, **shape):
    """A model whose budgets leave much room, so that the first phase is short."""
    cmdp = instance(seed, **shape)
    return cmdp.with_budget(np.minimum(cmdp.budget + 0.5, cmdp.horizon))


def check_plan(step, decision, args):
    """Compare one decision with the linear program; whether it was feasible."""
    best = brute.optimistic(*args)
    assert decision.note.baseline == (1.0 if best is None else 0.0)
    if best is not None:
        assert step.value[0] == pytest.approx(best, abs=1e-7 * (1 + abs(best)))
        np.testing.assert_allclose(decision.upper, step.value[1:], rtol=0, atol=0)
    return best is not None


@pytest.mark.parametrize("constants", ["paper", "code"])
def test_dope_solves_its_linear_program_after_the_first_phase(constants):
    H, S, A, I, n_after = 2, 2, 2, 2, 60
    cmdp = roomy(5, S=S, A=A, H=H, I=I)
    scale = 0.01
    probe = begin("DOPE", cmdp, 1, scale, constants=constants).agent
    d = float((cmdp.budget - probe.learner.use).min())
    n_first = int(S**2 * A * H ** (4 if constants == "paper" else 3) / d**2)
    assert probe.state.settings.n_first == n_first
    K = n_first + n_after
    seen = naive.Statistics(S, A, H, I, K, scale=scale)
    simulation = begin("DOPE", cmdp, K, scale, constants=constants)
    n_plans = 0
    for k, step in enumerate(walk(simulation, K)):
        decision = simulation.agent.decision
        if k < n_first:
            assert decision.note.baseline == 1.0
            np.testing.assert_array_equal(step.policy, decision.baseline)
        elif k % 10 == 0:
            never = seen.n == 0
            w = np.where(never, S, np.minimum(seen.beta_p, 1.0).sum(axis=-1))
            bonus = 3 * H / d if constants == "paper" else 0.0
            cost = seen.cbar - bonus * seen.beta_c - H**2 / d * w
            bounded = seen.dbar + seen.beta_c + H * w
            allowed = np.ones((H, S, A), dtype=bool)
            args = cmdp.initial, *seen.box, cost, bounded, cmdp.budget, allowed
            n_plans += check_plan(step, decision, args)
        seen.observe(step.episode)
    assert n_plans > 0


@pytest.mark.parametrize("constants", ["paper", "code"])
def test_optpess_solves_its_linear_program_where_the_baseline_is_known_well(constants):
    H, S, A, I, K = 2, 2, 2, 1, 120
    cmdp = roomy(5, S=S, A=A, H=H, I=I)
    scale = 0.02
    seen = naive.Statistics(S, A, H, I, K, scale=scale)
    simulation = begin("OptPess-LP", cmdp, K, scale, constants=constants)
    use = simulation.agent.learner.use
    d, wide = float((cmdp.budget - use).min()), 1 + S * H
    count = 16 * S**2 * A if constants == "paper" else 32 * S**2
    L = np.log(count * H * K / 0.1)
    n_plans = n_unsure = 0
    for step in walk(simulation, K):
        decision = simulation.agent.decision
        beta = scale * np.sqrt(L / seen.least_one)
        bounded = seen.dbar + wide * beta
        q = brute.forward(seen.pbar, np.asarray(cmdp.initial), decision.baseline)
        values = np.array([(q * each).sum() for each in bounded])
        is_unsure = (values >= (cmdp.budget + use) / 2).any()
        n_unsure += is_unsure
        if is_unsure:
            assert decision.note.baseline == 1.0
        elif n_plans % 10 == 0:
            cost = seen.cbar - (wide + 4 * H * wide / d) * beta
            allowed = np.ones((H, S, A), dtype=bool)
            args = cmdp.initial, seen.pbar, seen.pbar, cost, bounded, cmdp.budget, allowed
            check_plan(step, decision, args)
        n_plans += not is_unsure
        seen.observe(step.episode)
    assert n_unsure > 0
    assert n_plans > 0


@pytest.mark.parametrize("name", ["DOPE", "OptPess-LP"])
def test_no_budget_is_exceeded_while_the_beliefs_hold(name):
    cmdp = roomy(5, S=2, A=2, H=2)
    run = tr.learn(cmdp, name, 2000, confidence="tight")
    assert run.audit.good_event
    assert run.n_violations == run.audit.bound_failures == 0
    assert set(run.baseline) <= {0.0, 1.0}


def test_constants_of_the_code_are_marked_as_heuristic():
    paper, code = (
        tr.learners.DOPE(baseline="share:0.2", constants=each) for each in ("paper", "code")
    )
    assert paper.changed_steps == []
    runs = [tr.learn("ring", each, episodes=5, confidence="tight") for each in (paper, code)]
    assert [run.is_heuristic for run in runs] == [False, True]
    assert "no cost bonus" in runs[1].constants
