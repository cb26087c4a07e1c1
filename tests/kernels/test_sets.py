"""Rows of every set of kernels, unlisted successors included, against scipy's linear programs.

Two stages, one action, the second stage pays ``v``: the first stage's value is the best expectation
of ``v`` over the row of a state. All states have the same row here.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import brute
import problems
from tightrope.arrays import Box, Empirical, L1Ball
from tightrope.kernels.bellman import induct
from tightrope.kernels.occupancy import gather
from tightrope.kernels.scratch import FEW, desk

SIZES = [3, 4, 7, 12, FEW + 20]
TRIALS = range(24)


class Row:
    """A random row: listed successors, a distribution over them, bounds, what the rest may have."""

    def __init__(self, seed, S):
        rng = np.random.default_rng([seed, S])
        self.S = S
        n = S if rng.random() < 0.2 else int(rng.integers(1, S + 1))
        self.indices = np.sort(rng.choice(S, n, replace=False)).astype(np.uint32)
        self.v = np.round(rng.random(S), 1 if seed % 3 == 0 else 8)  # every third has ties
        self.p = rng.dirichlet(np.ones(n))
        width = 0.3 * rng.random(n)
        self.lower, self.upper = np.clip(self.p - width, 0, 1), np.clip(self.p + width, 0, 1)
        self.rest = float(rng.choice([0.0, 0.01, 0.05, 0.3, 1.0]))
        self.radius = float(rng.choice([0.0, 0.1, 0.5, 1.5, 2.0]))
        self.sign = 1.0 if rng.random() < 0.6 else -1.0

    @property
    def pattern(self):
        n = self.indices.size
        return np.arange(self.S + 1)[None] * n, np.tile(self.indices, self.S)[None]

    def everywhere(self, entries):
        return np.tile(entries, self.S)[None]

    def whole(self, entries, others=0.0):
        """Entries of the row over all states."""
        out = np.full(self.S, others)
        out[self.indices] = entries
        return out


def value_of(row, kernels):
    """Best expectation by backward induction, after checking that its flow agrees with it."""
    S, work = row.S, desk(row.S)
    loss = np.zeros((2, S, 1))
    loss[1, :, 0] = row.v
    V, choice = np.zeros((3, S)), np.zeros((2, S), dtype=np.int16)
    orders = np.zeros((2, S), dtype=np.uint32)
    induct(kernels, loss, row.sign, V, choice, orders, work)
    reach, point = np.zeros((2, S)), np.zeros(1)
    started = problems.problem(kernels, loss, np.zeros((0, 1, S, 1)), np.zeros(0))
    gather(started, choice, orders, reach, point, work)
    assert point[0] == pytest.approx(V[0, 0], abs=1e-9)
    assert reach[1].sum() == pytest.approx(1.0, abs=1e-9)
    assert reach[1].min() >= -1e-15
    return V[0, 0], reach[1]


def best_in_both(row, lower, upper):
    """Best expectation within bounds and an L1 distance of the row's estimate, by a program.

    The member is the estimate plus u minus w, with u and w at least zero.
    """
    S, center = row.S, row.whole(row.p)
    answer = linprog(
        row.sign * np.concatenate((row.v, -row.v)),
        A_ub=np.ones((1, 2 * S)),
        b_ub=[row.radius],
        A_eq=np.concatenate((np.ones(S), -np.ones(S)))[None],
        b_eq=[0.0],
        bounds=np.column_stack(
            (np.zeros(2 * S), np.concatenate((np.maximum(upper - center, 0), center - lower)))
        ),
        options=brute.TIGHT,
    )
    assert answer.status == 0, answer.message
    return row.sign * answer.fun + center @ row.v


@pytest.mark.parametrize("S", SIZES)
@pytest.mark.parametrize("has_rest", [True, False])
def test_a_box_gives_unlisted_successors_up_to_the_rest(S, has_rest):
    for seed in TRIALS:
        row = Row(seed, S)
        rest = row.rest if has_rest else 0.0
        cap = np.full((1, S), rest) if has_rest else np.zeros((1, 0))
        lower, upper = row.everywhere(row.lower), row.everywhere(row.upper)
        found, reach = value_of(row, Box(*row.pattern, lower, upper, cap))
        low, up = row.whole(row.lower), row.whole(row.upper, rest)
        assert found == pytest.approx(brute.best_row(row.v, low, up, row.sign), abs=1e-9)
        assert (reach >= low - 1e-12).all()
        assert (reach <= up + 1e-12).all()


@pytest.mark.parametrize("rest", [5e-324, 1e-300, 1e-200, 1e-19, 1e-9])
def test_a_rest_too_small_for_the_quotient_to_be_an_integer_fills_all_unlisted(rest):
    """One listed state with upper bound 1: the unlisted states before it get the rest each."""
    S = 5
    v = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    for listed in range(S):
        row = Row(0, S)
        row.v, row.indices, row.sign = v, np.array([listed], dtype=np.uint32), 1.0
        box = Box(*row.pattern, np.zeros((1, S)), np.ones((1, S)), np.full((1, S), rest))
        found, reach = value_of(row, box)
        assert found == pytest.approx(v[listed], abs=1e-8)
        assert reach[:listed] == pytest.approx(np.full(listed, rest), rel=1e-9)


@pytest.mark.parametrize("S", SIZES)
def test_a_ball_without_bounds_may_give_any_successor_what_it_moves(S):
    for seed in TRIALS:
        row = Row(seed, S)
        none, radius = np.zeros((1, 0)), np.full((1, S), row.radius)
        kernels = L1Ball(*row.pattern, row.everywhere(row.p), radius, none, none, none)
        found, reach = value_of(row, kernels)
        center = row.whole(row.p)
        best = brute.best_in_ball(row.v, center, row.radius, row.sign)
        assert found == pytest.approx(best, abs=1e-9)
        assert np.abs(reach - center).sum() <= row.radius + 1e-12


@pytest.mark.parametrize("S", SIZES)
def test_a_ball_with_bounds_keeps_both(S):
    for seed in TRIALS:
        row = Row(seed, S)
        kernels = L1Ball(
            *row.pattern,
            row.everywhere(row.p),
            np.full((1, S), row.radius),
            row.everywhere(row.lower),
            row.everywhere(row.upper),
            np.full((1, S), row.rest),
        )
        found, reach = value_of(row, kernels)
        low, up = row.whole(row.lower), row.whole(row.upper, row.rest)
        assert found == pytest.approx(best_in_both(row, low, up), abs=1e-9)
        assert (reach >= low - 1e-12).all()
        assert (reach <= up + 1e-12).all()
        assert np.abs(reach - row.whole(row.p)).sum() <= row.radius + 1e-12


@pytest.mark.parametrize("S", SIZES)
@pytest.mark.parametrize("even", [0.0, 0.3, 1.0])
def test_an_estimate_spreads_its_even_mass_over_all_states(S, even):
    for seed in TRIALS:
        row = Row(seed, S)
        data = row.everywhere((1 - even) * row.p)
        found, reach = value_of(row, Empirical(*row.pattern, data, np.full((1, S), even)))
        expected = (1 - even) * row.whole(row.p) + even / S
        assert found == pytest.approx(expected @ row.v, abs=1e-12)
        np.testing.assert_allclose(reach, expected, atol=1e-14)


@pytest.mark.parametrize("radius", [0.0, 0.5, 2.0])
def test_a_ball_row_without_a_center_holds_every_distribution(radius):
    row = Row(1, 4)
    none, zero = np.zeros((1, 0)), row.everywhere(np.zeros(row.p.size))
    for sign, best in ((1.0, row.v.min()), (-1.0, row.v.max())):
        row.sign = sign
        ball = L1Ball(*row.pattern, zero, np.full((1, 4), radius), none, none, none)
        assert value_of(row, ball)[0] == pytest.approx(best, abs=1e-12)
