"""Confidence sets as records: a box, an L1 ball, their intersection."""

from __future__ import annotations

import numpy as np
import pytest

from driven import dense, driven, instance
from tightrope.arrays import Box, L1Ball
from tightrope.belief.audit import excludes
from tightrope.belief.beliefs import start_beliefs
from tightrope.belief.confidence import TRANSITIONS, as_confidence
from tightrope.belief.sets import KINDS, BallBelief, BallInBoxBelief, BoxBelief, SetBelief

BOX, BALL = {"lower", "upper", "rest"}, {"center", "radius"}
ARRAYS = {
    "bernstein": (BoxBelief, BOX),
    "kl": (BoxBelief, BOX),
    "l1": (BallBelief, BALL),
    "bernstein+l1": (BallInBoxBelief, BOX | BALL),
    "kl+l1": (BallInBoxBelief, BOX | BALL),
}
COSTS = {"cost_low", "constraint_low", "constraint_high", "known_cost", "rules"}


def after(transition, n_episodes=40, **more):
    """Task, counts and belief of a learner after some episodes."""
    confidence = {"transition": transition, "scale": 0.3, **more}
    simulation = driven(instance(4, S=4), "OptDual", n_episodes, confidence=confidence)
    simulation.advance(n_episodes)
    agent = simulation.agent
    return agent.task, agent.beliefs.counts, agent.beliefs.belief


def test_every_option_has_a_class():
    assert tuple(KINDS) == TRANSITIONS


@pytest.mark.parametrize("transition", TRANSITIONS)
def test_a_belief_has_the_arrays_of_its_set_and_no_empty_ones(transition):
    kind, arrays = ARRAYS[transition]
    _, counts, b = after(transition)
    assert type(b) is kind
    assert set(b._fields) == arrays | COSTS
    for name in arrays:
        rows = name in ("rest", "radius")
        assert getattr(b, name).shape == (counts.visits if rows else counts.indices).shape


@pytest.mark.parametrize("known_support", [False, True])
def test_a_ball_alone_is_bounded_only_by_the_known_support(known_support):
    task, counts, b = after("l1", known_support=known_support)
    kernels = b.problem(task, counts).kernels
    assert isinstance(kernels, L1Ball)
    assert kernels.lower.shape[1] == kernels.upper.shape[1] == 0
    assert kernels.rest.size == (b.radius.size if known_support else 0)
    assert not kernels.rest.any()


@pytest.mark.parametrize("bounds", ["bernstein", "kl"])
def test_an_intersection_has_the_bounds_of_a_box_and_a_ball_for_half_of_delta(bounds):
    task, counts, both = after(f"{bounds}+l1")
    half = task.__class__(**{**vars(task), "delta": task.delta / 2})
    for transition in (bounds, "l1"):
        radii = as_confidence({"transition": transition, "scale": 0.3})
        alone = start_beliefs(SetBelief, half, radii, counts).belief
        for name in ARRAYS[transition][1]:
            np.testing.assert_array_equal(getattr(both, name), getattr(alone, name), name)
    assert not isinstance(both.problem(task, counts).kernels, Box)


def test_an_intersection_excludes_what_its_box_or_its_ball_excludes():
    task, c, both = after("kl+l1")
    S, rng = task.n_states, np.random.default_rng(0)
    half = task.__class__(**{**vars(task), "delta": task.delta / 2})
    alone = [
        start_beliefs(SetBelief, half, as_confidence({"transition": name, "scale": 0.3}), c).belief
        for name in ("kl", "l1")
    ]
    for b in (alone[1], both):
        b.radius[:, ::2] *= 0.1  # so that some balls lie inside their boxes
    found = set()
    shares = dense(c, c.successors) / np.maximum(c.visits, 1)[..., None]
    for _ in range(40):
        noise = rng.dirichlet(np.ones(S), shares.shape[:2])
        weight = rng.random()
        data = ((1 - weight) * shares + weight * noise).reshape(len(c.visits), -1)
        p = task.pattern._replace(data=data)
        for row in range(c.visits.shape[1]):
            outs = [bool(excludes(p, c, b, 0, 0, row, S)) for b in (*alone, both)]
            assert outs[2] == (outs[0] or outs[1])
            found.add(tuple(outs[:2]))
    assert found == {(False, False), (False, True), (True, False), (True, True)}
