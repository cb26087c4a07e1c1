"""Counts, estimates, radii and optimistic costs against a dense recomputation from the episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import naive
from driven import ALGORITHMS, SCALES, dense, driven, instance, walk
from refusals import refuses
from tightrope.belief.beliefs import refresh, start_beliefs, widen_beliefs
from tightrope.belief.bonus import BonusBelief
from tightrope.belief.confidence import as_confidence
from tightrope.belief.counts import count_step
from tightrope.belief.sets import SetBelief
from tightrope.errors import ConfigError
from tightrope.kernels.widths import kl
from tightrope.model.task import simulated_task

K = 40


def seen(simulation, cmdp, n_episodes, scale=1.0):
    """The naive statistics of a simulation's next episodes."""
    sizes = cmdp.n_states, cmdp.n_actions, cmdp.horizon, cmdp.n_constraints
    statistics = naive.Statistics(*sizes, K, scale=scale)
    for step in walk(simulation, n_episodes):
        statistics.observe(step.episode)
    return statistics


def listed(counts):
    """Which successors are listed, (G, S*A, S)."""
    return dense(counts, np.ones(counts.indices.shape)) > 0


@pytest.mark.parametrize("is_sparse", [True, False])
def test_counts_equal_a_recount_of_the_episodes(is_sparse):
    cmdp = instance(2, I=2, is_sparse=is_sparse)
    H, rows = cmdp.horizon, cmdp.n_states * cmdp.n_actions
    simulation = driven(cmdp, "OptDual", K, confidence={"scale": 0.02})
    recount = seen(simulation, cmdp, K)
    c = simulation.agent.beliefs.counts
    np.testing.assert_array_equal(c.visits, recount.n.reshape(H, rows))
    np.testing.assert_array_equal(dense(c, c.successors), recount.N.reshape(H, rows, -1))
    np.testing.assert_array_equal(c.cost_visits, c.visits)
    np.testing.assert_array_equal(c.cost_sum, recount.cost_sum.reshape(H, rows))
    np.testing.assert_array_equal(c.constraint_sum, recount.constraint_sum.reshape(2, H, rows))
    np.testing.assert_array_equal(c.visits.sum(axis=1), K)
    np.testing.assert_array_equal(dense(c, c.successors).sum(axis=2), c.visits)


@pytest.mark.parametrize("n_episodes", [0, 1, K])
def test_estimates_are_distributions_and_even_before_the_first_visit(n_episodes):
    cmdp = instance(2, is_sparse=True)
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    simulation = driven(cmdp, "OptPrimalDual", K)
    recount = seen(simulation, cmdp, n_episodes)
    b, c = simulation.agent.beliefs.belief, simulation.agent.beliefs.counts
    pbar = dense(c, b.center) + b.even[..., None] / S
    np.testing.assert_allclose(pbar, recount.pbar.reshape(H, S * A, S), rtol=1e-15)
    np.testing.assert_allclose(pbar.sum(axis=2), 1.0, rtol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 0.05])
@pytest.mark.parametrize("n_episodes", [0, 1, K])
def test_boxes_and_optimistic_costs_are_those_of_the_specification(scale, n_episodes):
    cmdp = instance(2, I=2, is_sparse=True)
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    simulation = driven(cmdp, "OptDual", K, confidence={"scale": scale})
    s = seen(simulation, cmdp, n_episodes, scale)
    b, c = simulation.agent.beliefs.belief, simulation.agent.beliefs.counts
    lower, upper = (bound.reshape(H, S * A, S) for bound in s.box)
    np.testing.assert_allclose(dense(c, b.lower), lower, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(dense(c, b.upper, b.rest), upper, rtol=1e-12)
    np.testing.assert_allclose(b.cost_low, s.cbar - s.beta_c, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(b.constraint_low, s.dbar - s.beta_c, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 0.001])
@pytest.mark.parametrize("n_episodes", [0, 1, K])
def test_bonuses_are_those_of_the_specification(scale, n_episodes):
    cmdp = instance(2, I=2, is_sparse=True)
    simulation = driven(cmdp, "OptPrimalDual", K, confidence={"scale": scale})
    s = seen(simulation, cmdp, n_episodes, scale)
    b = simulation.agent.beliefs.belief
    np.testing.assert_allclose(b.cost_low, s.cbar - s.bonus, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(b.constraint_low, s.dbar - s.bonus, rtol=1e-12, atol=1e-13)


def test_the_bonus_before_any_visit_is_720_as_in_the_specifications_table():
    task = simulated_task(instance(1), 10_000, 0.1)
    beliefs = start_beliefs(BonusBelief, task, as_confidence("faithful"))
    np.testing.assert_allclose(beliefs.belief.cost_low, -720, atol=0.5)
    np.testing.assert_allclose(beliefs.belief.constraint_low, -720, atol=0.5)


def test_a_tight_bonus_needs_only_the_remaining_stages_and_the_l1_distance():
    cmdp = instance(2, is_sparse=True)
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    simulation = driven(cmdp, "OptPrimalDual", K, confidence="tight")
    s = seen(simulation, cmdp, K)
    n = s.least_one
    s.delta = 0.1 / 2  # two bounds on the L1 distance, each with half of delta
    ball = np.sqrt(2 * (S * np.log(2) + np.log(3 * S * A * H * K / s.delta)) / n)
    R = np.where(s.n > 0, np.minimum(s.beta_p.sum(axis=-1), np.minimum(ball, 2)), 2)
    left = (H - 1 - np.arange(H))[:, None, None]
    half = np.sqrt(np.log(6 * S * A * H * 2 * K / 0.1) / (2 * n))
    radius = np.where(s.n > 0, half, 1.0)
    b = simulation.agent.beliefs.belief
    lost = left * np.minimum(1, R / 2)
    np.testing.assert_allclose(b.cost_low, np.maximum(0, s.cbar - radius) - lost, atol=1e-12)
    np.testing.assert_allclose(
        b.constraint_low, np.maximum(0, s.dbar - radius) - lost, rtol=1e-12, atol=1e-12
    )


def test_a_tight_box_ends_where_the_relative_entropy_reaches_its_bound():
    cmdp = instance(2, is_sparse=True)
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    simulation = driven(cmdp, "OptDual", K, confidence="tight")
    s = seen(simulation, cmdp, K)
    b, c = simulation.agent.beliefs.belief, simulation.agent.beliefs.counts
    term = np.log(6 * S * S * A * H * K / 0.1)
    lower, upper = dense(c, b.lower), dense(c, b.upper, b.rest)
    share, n = s.pbar.reshape(lower.shape), s.n.reshape(H, S * A)
    for where in np.ndindex(lower.shape):
        if n[where[:2]] > 0:
            p, lo, up = share[where], lower[where], upper[where]
            assert lo <= p <= up
            bound = pytest.approx(term / n[where[:2]], rel=1e-8)
            assert up == 1.0 or kl(p, up) == bound
            assert lo <= 1e-15 or kl(p, lo) == bound
        else:
            assert (lower[where], upper[where]) == (0.0, 1.0)
    assert (b.cost_low >= 0).all()


def test_known_costs_and_supports_leave_nothing_to_estimate():
    cmdp = instance(2, is_sparse=True)
    confidence = {"known_costs": True, "known_support": True}
    simulation = driven(cmdp, "OptDual", K, confidence=confidence)
    seen(simulation, cmdp, 5)
    b = simulation.agent.beliefs.belief
    np.testing.assert_array_equal(b.cost_low, cmdp.cost)
    np.testing.assert_array_equal(b.constraint_low, cmdp.constraint_cost)
    np.testing.assert_array_equal(b.rest, 0.0)


@pytest.mark.parametrize("is_bonus", [False, True], ids=["set", "bonus"])
@pytest.mark.parametrize("mode", ["faithful", "tight"])
def test_beliefs_are_numbers_also_where_an_action_does_not_exist(mode, is_bonus):
    task = simulated_task(instance(4, A=3, S=2, H=2, is_masked=True), K, 0.1)
    assert (np.diff(task.pattern.indptr) == 0).any()  # nothing follows what is forbidden
    confidence = as_confidence({"mode": mode, "known_support": True})
    for array in start_beliefs(BonusBelief if is_bonus else SetBelief, task, confidence).belief[
        :-1
    ]:
        assert np.isfinite(array).all()


def test_pooled_counts_are_the_sums_over_stages():
    cmdp = instance(6, is_stationary=True, is_sparse=True)
    S, A = cmdp.n_states, cmdp.n_actions
    simulation = driven(cmdp, "OptDual", K, confidence={"pool": True, "scale": 0.02})
    recount = seen(simulation, cmdp, K, 0.02)
    c, b = simulation.agent.beliefs.counts, simulation.agent.beliefs.belief
    n = recount.n.sum(axis=0)
    np.testing.assert_array_equal(c.visits, n.reshape(1, S * A))
    np.testing.assert_array_equal(
        dense(c, c.successors), recount.N.sum(axis=0).reshape(1, S * A, S)
    )
    mean = recount.cost_sum.sum(axis=0) / np.maximum(n, 1)
    radius = 0.02 * np.sqrt(recount.Lc / np.maximum(n, 1))
    np.testing.assert_allclose(b.cost_low, (mean - radius)[None], rtol=1e-12, atol=1e-14)


def test_pooling_is_refused_where_every_stage_differs():
    task = simulated_task(instance(2), K, 0.1)
    with refuses(ConfigError, argument="confidence", found="pool"):
        start_beliefs(SetBelief, task, as_confidence({"pool": True}))


@pytest.mark.parametrize("confidence", ["faithful", "tight", {"scale": 0.05}])
def test_an_unlisted_successor_has_the_bounds_of_a_listed_one_that_was_never_seen(confidence):
    cmdp = instance(2, is_sparse=True)
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    task = simulated_task(cmdp, K, 0.1)
    pattern = task.pattern._replace(
        indptr=np.arange(S * A + 1)[None] * S,
        indices=np.tile(np.arange(S, dtype=np.uint32), S * A)[None],
        data=np.zeros((1, S * A * S)),
    )
    chosen = as_confidence(confidence)
    few = start_beliefs(SetBelief, task, chosen)
    every = start_beliefs(SetBelief, replace(task, pattern=pattern), chosen)
    for step in walk(driven(cmdp, "OptDual", K), K):
        e = step.episode
        for h in range(H):
            s, a, t = int(e.states[h]), int(e.actions[h]), int(e.states[h + 1])
            for beliefs in (few, every):
                assert count_step(
                    beliefs.counts, h, s * A + a, t, e.cost[h], e.constraint_cost[:, h]
                )
                refresh(beliefs.counts, beliefs.belief, h, s, a)
    assert not listed(few.counts).all()
    for name, others in (("lower", 0.0), ("upper", few.belief.rest)):
        np.testing.assert_array_equal(
            dense(few.counts, getattr(few.belief, name), others),
            dense(every.counts, getattr(every.belief, name)),
        )


def test_a_pattern_grows_by_the_successors_of_an_episode_and_keeps_its_counts():
    cmdp = instance(2)
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    task = simulated_task(cmdp, K, 0.1)
    empty = task.pattern._replace(
        indptr=np.zeros((1, S * A + 1), dtype=np.int64),
        indices=np.zeros((1, 1), dtype=np.uint32),
        data=np.zeros((1, 1)),
    )
    task = replace(task, pattern=empty)
    beliefs = start_beliefs(SetBelief, task, as_confidence("faithful"))
    recount = naive.Statistics(S, A, H, 1, K)
    for step in walk(driven(cmdp, "OptDual", K), 15):
        e = step.episode
        beliefs = widen_beliefs(beliefs, task, e.states, e.actions)
        assert widen_beliefs(beliefs, task, e.states, e.actions) is beliefs
        for h in range(H):
            s, a, t = int(e.states[h]), int(e.actions[h]), int(e.states[h + 1])
            assert count_step(beliefs.counts, h, s * A + a, t, e.cost[h], e.constraint_cost[:, h])
            refresh(beliefs.counts, beliefs.belief, h, s, a)
        recount.observe(e)
        c = beliefs.counts
        np.testing.assert_array_equal(c.visits, recount.n.reshape(H, -1))
        np.testing.assert_array_equal(
            dense(c, c.successors)[..., :S],
            recount.N.reshape(H, S * A, S)[..., : c.indices.max() + 1],
        )
    np.testing.assert_array_equal(listed(beliefs.counts), recount.N.reshape(H, S * A, S) > 0)
    lower, upper = (bound.reshape(H, S * A, S) for bound in recount.box)
    b, c = beliefs.belief, beliefs.counts
    np.testing.assert_allclose(dense(c, b.lower), lower, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(dense(c, b.upper, b.rest), upper, rtol=1e-12)


def test_a_successor_outside_the_pattern_is_not_counted():
    cmdp = instance(2, is_sparse=True)
    beliefs = start_beliefs(SetBelief, simulated_task(cmdp, K, 0.1), as_confidence("faithful"))
    g, row, t = np.argwhere(~listed(beliefs.counts))[0]
    assert not count_step(beliefs.counts, int(g), int(row), int(t), 0.5, np.zeros(1))
    assert not beliefs.counts.visits.any()
    assert not beliefs.counts.cost_sum.any()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_plan_of_an_episode_does_not_depend_on_what_happens_in_it(algorithm):
    cmdp = instance(1)
    confidence = {"scale": SCALES[algorithm]}
    first, second = (driven(cmdp, algorithm, K, confidence=confidence) for _ in range(2))
    for simulation in (first, second):
        simulation.advance(25)
    second.rng = np.random.default_rng(99)
    (a,), (b,) = walk(first, 1), walk(second, 1)
    assert not np.array_equal(a.episode.cost, b.episode.cost)
    np.testing.assert_array_equal(a.policy, b.policy)
    np.testing.assert_array_equal(a.lam, b.lam)
    np.testing.assert_array_equal(a.value, b.value)
    (a,), (b,) = walk(first, 1), walk(second, 1)
    assert not np.array_equal(a.value, b.value)
