"""Draws in arrays: the same distributions as in the compiled simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import tightrope as tr
from tightrope.interop.gym.environment import Draws, draw_costs


def test_beta_draws_have_the_shapes_of_the_simulation():
    rng = np.random.default_rng(0)
    drawn = draw_costs(np.full(20_000, 0.3), "beta", rng)
    # a beta with shapes 0.6 and 1.4 has mean 0.3 and variance 0.3 * 0.7 / 3 = 0.07; the standard
    # error of the mean is 0.0019, that of the variance below 0.001
    assert abs(drawn.mean() - 0.3) < 0.01
    assert abs(drawn.var() - 0.07) < 0.005
    np.testing.assert_array_equal(draw_costs(np.array([0.0, 1.0]), "beta", rng), [0.0, 1.0])


def test_bernoulli_draws_are_zeros_and_ones_with_the_right_mean():
    drawn = draw_costs(np.full((100, 200), 0.3), "bernoulli", np.random.default_rng(1))
    assert set(np.unique(drawn)) == {0.0, 1.0}
    assert abs(drawn.mean() - 0.3) < 5 * np.sqrt(0.21 / drawn.size)


def test_means_are_passed_without_noise_and_not_shared():
    mean = np.array([0.2, 0.7])
    drawn = draw_costs(mean, "none", np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, mean)
    assert not np.shares_memory(drawn, mean)


@pytest.mark.parametrize("by_stage", [False, True])
def test_next_states_follow_the_kernel_and_never_leave_its_support(by_stage):
    rng = np.random.default_rng(3)
    S, A, H, n = 5, 2, 3, 20_000
    p = rng.dirichlet(np.ones(S) * 0.5, size=(H, S, A) if by_stage else (S, A))
    p[..., 2] = 0.0
    p /= p.sum(axis=-1, keepdims=True)
    cmdp = tr.CMDP(p, np.zeros((S, A)), horizon=None if by_stage else H)
    stages, states, actions = (np.full(n, x) for x in (2, 3, 1))
    found = Draws(cmdp).next_states(stages, states, actions, rng)
    share = np.bincount(found, minlength=S) / n
    exact = p[2, 3, 1] if by_stage else p[3, 1]
    assert share[2] == 0.0
    assert np.abs(share - exact).max() < 5 * np.sqrt(0.25 / n)


def test_explicit_zeros_of_a_sparse_kernel_are_never_drawn():
    data, columns = np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 1, 0, 1])
    kernel = csr_array((data, columns, np.array([0, 2, 4])), shape=(2, 2))
    cmdp = tr.CMDP(kernel, np.zeros((2, 1)), horizon=1)
    states = np.repeat([0, 1], 500)
    zeros = np.zeros(1000, dtype=int)
    found = Draws(cmdp).next_states(zeros, states, zeros, np.random.default_rng(0))
    np.testing.assert_array_equal(found, states)


def test_start_states_follow_their_distribution():
    cmdp = tr.CMDP(np.eye(3)[:, None], np.zeros((3, 1)), horizon=1, initial=[0.25, 0.75, 0.0])
    found = Draws(cmdp).start(10_000, np.random.default_rng(0))
    assert set(np.unique(found)) == {0, 1}
    assert abs(found.mean() - 0.75) < 5 * np.sqrt(0.1875 / 10_000)
