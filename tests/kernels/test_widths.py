"""Widths of confidence intervals: by hand, and Bernoulli relative entropy against root finding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr

from tightrope.kernels.widths import bernstein, hoeffding, kl, kl_lower, kl_upper

SHARES = [1e-9, 1e-4, 0.01, 0.2, 0.5, 0.77, 0.99, 1 - 1e-6]
BOUNDS = [1e-8, 1e-4, 0.01, 0.3, 1.0, 5.0]


def entropy(p, x):
    return rel_entr(p, x) + rel_entr(1 - p, 1 - x)


@pytest.mark.parametrize("p", SHARES)
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_upper_end_is_the_root_that_brent_finds(p, bound):
    found = kl_upper(p, bound)
    if entropy(p, np.nextafter(1, 0)) <= bound:
        assert found == pytest.approx(1, abs=1e-12)
        return
    root = brentq(lambda x: entropy(p, x) - bound, p, np.nextafter(1, 0), xtol=1e-16, rtol=1e-15)
    # kl is flat at p, so that rounding of kl itself moves a root near it by its square root
    assert found == pytest.approx(root, rel=1e-7, abs=1e-9)
    assert p <= found <= 1


@pytest.mark.parametrize("p", SHARES)
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_lower_end_is_the_mirror_image_of_the_upper(p, bound):
    found = kl_lower(p, bound)
    assert found == 1 - kl_upper(1 - p, bound)
    assert -1e-15 <= found <= p + 1e-15


@pytest.mark.parametrize("bound", BOUNDS)
def test_ends_have_closed_forms_where_the_share_is_zero_or_one(bound):
    assert kl_upper(0.0, bound) == pytest.approx(1 - math.exp(-bound), rel=1e-8)
    assert kl_upper(1.0, bound) == 1.0
    assert kl_lower(0.0, bound) == 0.0
    assert kl_lower(1.0, bound) == pytest.approx(math.exp(-bound), rel=1e-12)


def test_an_interval_of_no_width_is_the_share_itself():
    for p in (0.0, 0.3, 1.0):
        assert kl_upper(p, 0.0) == pytest.approx(p, abs=1e-7)
        assert kl_lower(p, 0.0) == pytest.approx(p, abs=1e-7)


def test_the_entropy_is_infinite_where_the_impossible_was_seen():
    assert kl(0.5, 0.0) == kl(0.5, 1.0) == math.inf
    assert kl(0.0, 0.0) == kl(1.0, 1.0) == kl(0.3, 0.3) == 0.0
    for p, x in ((0.2, 0.7), (0.0, 0.4), (1.0, 0.4)):
        assert kl(p, x) == pytest.approx(entropy(p, x), rel=1e-14)


def test_bernsteins_width_equals_the_one_computed_by_hand():
    # p = 0.5, L = 4, n = 100: 2 sqrt(0.25 * 0.04) + (14/3) 0.04
    assert bernstein(0.5, 4.0, 100.0) == pytest.approx(0.2 + 0.56 / 3, rel=1e-15)
    assert bernstein(0.0, 3.0, 7.0) == bernstein(1.0, 3.0, 7.0) == pytest.approx(2.0, rel=1e-15)
    assert bernstein(0.3, 4.0, 0.0) == bernstein(0.3, 4.0, 1.0)


def test_hoeffdings_width_equals_the_one_computed_by_hand():
    assert hoeffding(4.0, 100.0) == pytest.approx(0.2, rel=1e-15)
    assert hoeffding(4.0, 0.0) == hoeffding(4.0, 1.0) == 2.0
