"""A run taken up from its arrays goes on as if it had never stopped."""

from __future__ import annotations

import numpy as np
import pytest

from driven import driven, instance
from tightrope.errors import StoreError
from tightrope.run.state import restore, state_of

ALGORITHMS = ["OptCMDP", "OptCMDP-bonus", "OptDual", "OptPrimalDual"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("replan", ["always", "doubling"])
@pytest.mark.parametrize("at", [0, 1, 57])
def test_a_run_taken_up_equals_the_run_never_stopped_bit_for_bit(algorithm, replan, at):
    cmdp = instance(5, I=2, noise="beta")
    options = {"confidence": {"scale": 0.01, "replan": replan}, "audits_visits": True}
    whole, first, second = (driven(cmdp, algorithm, 120, **options) for _ in range(3))
    whole.advance(120)
    first.advance(at)
    state = state_of(first)
    first.advance(3)  # the copy does not follow
    restore(second, state)
    second.advance(120 - at)
    expected, found = state_of(whole), state_of(second)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_a_programme_is_taken_up_too():
    cmdp = instance(2)
    whole, first, second = (driven(cmdp, "OptCMDP", 12, method="lp") for _ in range(3))
    whole.advance(12)
    first.advance(5)
    restore(second, state_of(first))
    second.advance(7)
    np.testing.assert_array_equal(second.world.book.signed_curve, whole.world.book.signed_curve)


def test_a_state_of_another_run_is_refused_and_changes_nothing():
    cmdp = instance(5)
    dual, other = driven(cmdp, "OptDual", 20), driven(cmdp, "OptPrimalDual", 20)
    longer, larger = driven(cmdp, "OptDual", 30), driven(instance(5, S=4), "OptDual", 20)
    before = state_of(dual)
    for stranger in (other, longer, larger):
        stranger.advance(3)
        with pytest.raises(StoreError, match="snapshot: "):
            restore(dual, state_of(stranger))
    after = state_of(dual)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_learners_share_their_luck_episode_by_episode():
    # so that differences between them are paired: each episode takes the same number of draws
    cmdp = instance(5, noise="bernoulli")
    states = set()
    for algorithm in ALGORITHMS:
        simulation = driven(cmdp, algorithm, 40, confidence={"scale": 0.01}, seed=3)
        simulation.advance(40)
        states.add(str(simulation.rng.bit_generator.state))
    assert len(states) == 1
