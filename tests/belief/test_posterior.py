"""Models drawn from the posterior: means by hand, support, and what is known."""

from __future__ import annotations

import numpy as np
import pytest

from driven import dense, driven, instance
from tightrope.belief.posterior import draw_model

N = 4000


def drawn(simulation, n):
    """Kernels (n, H, S*A, S) and costs (n, I+1, H, S, A) of n draws."""
    agent, rng = simulation.agent, np.random.default_rng(1)
    problem, counts = agent.problem, agent.beliefs.counts
    kernels, costs = [], []
    for _ in range(n):
        draw_model(problem, rng)
        listed = dense(counts, problem.kernels.data)
        kernels.append(listed + problem.kernels.even[..., None] / listed.shape[2])
        costs.append(np.concatenate((problem.cost[None], problem.constraint_cost)))
    return np.array(kernels), np.array(costs)


def test_draws_have_the_means_of_the_posterior():
    simulation = driven(instance(1), "PSRL", 20)
    simulation.advance(6)
    kernels, costs = drawn(simulation, N)
    c = simulation.agent.beliefs.counts
    S = kernels.shape[-1]
    seen = dense(c, c.successors)
    mean = (seen + 1 / S) / (c.visits[..., None] + 1)
    # a probability's standard deviation is at most 1/2, and 4.5 of them hold for 500 entries
    np.testing.assert_allclose(kernels.mean(axis=0), mean, rtol=0, atol=4.5 * 0.5 / N**0.5)
    np.testing.assert_allclose(kernels.sum(axis=-1), 1.0, rtol=0, atol=1e-12)
    sums = np.concatenate((c.cost_sum[None], c.constraint_sum)).reshape(costs.shape[1:])
    mean = (1 + sums) / (2 + c.cost_visits.reshape(sums.shape[1:]))
    np.testing.assert_allclose(costs.mean(axis=0), mean, rtol=0, atol=4.5 * 0.5 / N**0.5)
    assert costs.std(axis=0).min() > 0.01
    assert kernels[:, c.visits > 0].std(axis=0).max(axis=-1).min() > 0.01


def test_a_row_with_data_has_the_variance_of_its_parts():
    """Ten visits to one state: its own share is Beta(10, 1), with variance 10 / (11^2 12)."""
    simulation = driven(instance(1), "PSRL", 20)
    counts = simulation.agent.beliefs.counts
    counts.visits[0, 0] = counts.successors[0, 0] = 10
    kernels, _ = drawn(simulation, N)
    S = kernels.shape[-1]
    share = kernels[:, 0, 0, counts.indices[0, 0]]
    variance = 10 / (11**2 * 12) * ((S - 1) / S) ** 2
    assert share.mean() == pytest.approx((10 + 1 / S) / 11, abs=4.5 * (variance / N) ** 0.5)
    assert share.var() == pytest.approx(variance, rel=0.25)


def test_a_known_support_is_never_left_and_known_costs_are_not_drawn():
    cmdp = instance(2, is_sparse=True)
    simulation = driven(cmdp, "PSRL", 20, confidence={"known_support": True, "known_costs": True})
    simulation.advance(5)
    kernels, costs = drawn(simulation, 200)
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    possible = np.asarray(cmdp.transition).reshape(H, S * A, S) > 0
    assert not kernels[:, ~possible].any()
    assert kernels[:, possible].min(axis=0).max() > 0
    np.testing.assert_array_equal(costs[0, 0], cmdp.cost)
    np.testing.assert_array_equal(costs[0, 1:], cmdp.constraint_cost)
