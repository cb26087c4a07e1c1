"""Episodes: frequencies within binomial tolerances, supports kept, costs drawn around means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import zoo
from driven import driven, instance, walk
from tightrope.experiments.simulate import BERNOULLI, BETA, EXACT, draw_cost, draw_index, new_beta
from tightrope.model import CMDP

N = 4000
# each comparison is wrong with this probability, and there are a few hundred of them
RARE = 1e-9


def is_likely(hits, n, p):
    """Whether a binomial count lies between its quantiles at RARE and 1 - RARE."""
    return binom.ppf(RARE, n, p) <= hits <= binom.isf(RARE, n, p)


def test_an_index_is_drawn_where_the_uniform_number_falls():
    weights = np.array([0.0, 0.25, 0.0, 0.5, 0.25, 0.0])
    drawn = [draw_index(weights, u) for u in (0.0, 0.2, 0.25, 0.7, 0.75, 0.999)]
    assert drawn == [1, 1, 3, 3, 4, 4]


def test_rounding_never_leaves_the_support():
    almost_one = np.nextafter(1.0, 0.0)
    short = np.array([0.0, 0.1, 0.2, 0.7 - 1e-9, 0.0, 0.0])  # sums to a little less than one
    assert draw_index(short, almost_one) == 3
    assert draw_index(np.array([0.0, 1.0, 0.0]), 0.0) == 1
    rng = np.random.default_rng(0)
    for _ in range(200):
        weights = rng.dirichlet(np.ones(9)) * (rng.random(9) < 0.5)
        weights[rng.integers(9)] += 0.1
        weights /= weights.sum() * (1 + 1e-12)
        for u in (0.0, 1e-300, almost_one, *rng.random(5)):
            assert weights[draw_index(weights, u)] > 0


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual"])
def test_frequencies_are_those_of_start_policy_and_kernel(algorithm):
    # with paper constants neither changes its policy within few visits of such a budget
    base = instance(7, I=1, is_sparse=True, tightness=0.0, noise="bernoulli")
    initial = np.array([0.5, 0.2, 0.3])
    cmdp = CMDP(
        base.transition, base.cost, base.constraint_cost, base.budget, 3, initial, None, "bernoulli"
    )
    starts, after = np.zeros(3), np.zeros((3, 2, 3))
    taken, expected = np.zeros((3, 2)), np.zeros((3, 2))
    for step in walk(driven(cmdp, algorithm, N), N):
        s, a = step.episode.states, step.episode.actions
        starts[s[0]] += 1
        after[s[1], a[1], s[2]] += 1
        taken[s[0], a[0]] += 1
        expected[s[0]] += step.policy[0, s[0]]
    assert all(is_likely(hits, N, p) for hits, p in zip(starts, initial, strict=True))
    for s, a, t in np.ndindex(after.shape):
        assert is_likely(after[s, a, t], after[s, a].sum(), cmdp.transition[1, s, a, t])
    assert (after[cmdp.transition[1] == 0] == 0).all()
    if algorithm == "OptPrimalDual":
        np.testing.assert_allclose(expected, np.repeat(starts[:, None] / 2, 2, axis=1))
        assert all(is_likely(taken[s, 0], starts[s], 0.5) for s in range(3))
    else:
        np.testing.assert_array_equal(taken, expected)


def test_costs_without_noise_are_their_means():
    cmdp = instance(1, noise="none")
    for step in walk(driven(cmdp, "OptDual", 50), 50):
        e = step.episode
        for h in range(3):
            s, a = e.states[h], e.actions[h]
            assert e.cost[h] == cmdp.cost[h, s, a]
            assert e.constraint_cost[0, h] == cmdp.constraint_cost[0, h, s, a]


def test_bernoulli_costs_are_zero_or_one_with_the_right_frequency():
    rng = np.random.default_rng(1)
    beta, _block = new_beta(BERNOULLI, rng)
    for mean in (0.0, 0.1, 0.5, 1.0):
        drawn = np.array([draw_cost(mean, BERNOULLI, rng, beta) for _ in range(N)])
        assert set(drawn) <= {0.0, 1.0}
        assert is_likely(drawn.sum(), N, mean)


def test_beta_costs_lie_in_the_unit_interval_and_have_the_right_mean():
    rng = np.random.default_rng(2)
    beta, _block = new_beta(BETA, rng)
    for mean in (0.0, 0.05, 0.5, 1.0):
        drawn = np.array([draw_cost(mean, BETA, rng, beta) for _ in range(N)])
        assert (drawn >= 0).all()
        assert (drawn <= 1).all()
        # shapes add up to 2, so that the variance is mean (1 - mean) / 3; six standard errors
        assert abs(drawn.mean() - mean) <= 6 * np.sqrt(mean * (1 - mean) / 3 / N) + 1e-15
    assert draw_cost(0.3, EXACT, rng, beta) == 0.3


def test_the_state_after_the_last_step_is_drawn_too():
    cmdp = zoo.random_cmdp(np.random.default_rng(0), 3, 2, 1, 1)
    last = np.zeros(3)
    p = np.zeros(3)
    for step in walk(driven(cmdp, "OptDual", 300), 300):
        e = step.episode
        last[e.states[1]] += 1
        p += cmdp.transition.reshape(-1, 3, 2, 3)[0, e.states[0], e.actions[0]]
    for hits, mean in zip(last, p / 300, strict=True):
        assert is_likely(hits, 300, mean)
