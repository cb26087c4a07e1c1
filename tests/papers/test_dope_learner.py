"""OptCMDP with rules of the DOPE repository: unreached states, and plans of the same cost."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from dope_learner import TiedOptCMDP, UniformOptCMDP, extended_program

CONFIDENCE = {"mode": "faithful", "known_costs": True, "known_support": True, "pool": True}


def test_unreached_states_are_played_uniformly_and_the_others_as_by_optcmdp():
    own = tr.learn("media", "OptCMDP", episodes=1, confidence=CONFIDENCE).policy
    theirs = tr.learn("media", UniformOptCMDP(), episodes=1, confidence=CONFIDENCE).policy
    assert (theirs[0, 1:] == 0.5).all()  # the start is state 0
    np.testing.assert_array_equal(theirs[0, 0], own[0, 0])
    assert (own[0, 1:] != 0.5).all()


def test_with_the_true_kernel_the_program_finds_the_optimum():
    cmdp = tr.envs.build("inventory")
    program = extended_program("inventory")
    s, a, t = program.entries
    kernel = np.zeros((6, 6, 6))
    indptr, data = cmdp.transitions.indptr[0], cmdp.transitions.data[0]
    rows = np.repeat(np.arange(36), np.diff(indptr))
    kernel.reshape(36, 6)[rows, cmdp.transitions.indices[0][: rows.size]] = data[: rows.size]
    true = kernel[s, a, t]
    q = program.solve(true, true, np.zeros(program.cost.size))
    value = (q * np.asarray(cmdp.cost).reshape(-1, 6, 6)).sum()
    assert value == pytest.approx(tr.solve(cmdp).value, rel=1e-8)


@pytest.mark.parametrize("ties", ["simplex", "frugal", "random"])
def test_every_choice_among_tied_plans_has_the_least_optimistic_cost(ties):
    program = extended_program("inventory")
    E = program.entries[0].size
    nothing = np.zeros(E), np.ones(E)  # before any visit
    q = program.solve(*nothing, np.zeros(program.cost.size))
    usual = q.sum(axis=(1, 2))
    np.testing.assert_allclose(usual, 1.0)
    run = tr.learn("inventory", TiedOptCMDP(ties=ties), episodes=3)
    assert run.policy.shape == (7, 6, 6)


def test_the_frugal_choice_uses_less_of_the_budget_at_first():
    use = {
        ties: tr.learn("inventory", TiedOptCMDP(ties=ties), episodes=1).regret["constraint"][-1, 0]
        for ties in ("frugal", "simplex")
    }
    assert use["frugal"] < use["simplex"]
    with pytest.raises(tr.ConfigError, match="ties"):
        TiedOptCMDP(ties="luck")
