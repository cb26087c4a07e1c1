"""What the page of results computes: bounds, limits and first times, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from tightrope import envs
from tightrope.show.results.bounds import below_trivial, leading_terms, most_successors
from tightrope.show.results.constants import first_binding, upper_limit
from tightrope.show.results.section import banded, rows_of
from tightrope.show.statistics import Band


def full(S, A, H):
    """A random model in which every state may follow."""
    sizes = {"n_states": S, "n_actions": A, "horizon": H, "n_constraints": 1}
    return envs.build("random", branching=S, **sizes)


@pytest.mark.parametrize(
    ("sizes", "K", "expected"),
    [((3, 2, 3), 1e4, 3e5), ((5, 3, 5), 1e5, 5e6), ((10, 5, 10), 1e4, 1.3e8)],
)
def test_the_bound_says_something_from_where_the_theory_says(sizes, K, expected):
    # SPEC A10 gives these to one or two digits
    assert below_trivial(full(*sizes), K, 0.1) == pytest.approx(expected, rel=0.15)


def test_leading_terms_are_those_of_the_corrected_theorems():
    cmdp = full(3, 2, 3)
    assert most_successors(cmdp) == 3
    plain = np.sqrt(3 * 2 * 3 * 3**4 * 100)
    assert leading_terms("OptCMDP", cmdp, 100, np.nan) == pytest.approx((plain, plain))
    assert leading_terms("OptDual", cmdp, 100, 2.0) == pytest.approx((plain + 60.0, 1.5 * plain))
    mirror = np.sqrt(3**4 * 100 * np.log(2))
    expected = (plain + 3 * mirror, 1.5 * plain + mirror)
    assert leading_terms("OptPrimalDual", cmdp, 100, 2.0) == pytest.approx(expected)


@pytest.mark.parametrize(("count", "n"), [(0, 20), (3, 50), (49, 50)])
def test_the_upper_limit_is_the_probability_at_which_so_few_are_rare(count, n):
    assert binom.cdf(count, n, upper_limit(count, n)) == pytest.approx(0.05)


def test_nothing_limits_a_probability_when_all_failed():
    assert upper_limit(7, 7) == 1.0


def test_a_constraint_binds_from_the_first_positive_multiplier():
    group = SimpleNamespace(
        episode=np.array([1, 10, 100]),
        multiplier=np.array([[[0.0], [0.0], [2.0]], [[0.0], [0.0], [0.0]], [[0.1], [0.0], [0.0]]]),
    )
    np.testing.assert_array_equal(first_binding(group), [100, np.inf, 1])


def test_tables_and_intervals_are_markdown():
    table = rows_of(["a", "b"], [["x", "1"]])
    assert table == "| a | b |\n| --- | ---: |\n| x | 1 |"
    nothing = np.asarray(np.nan)
    assert banded(Band(np.asarray(0.5), np.asarray(0.25), np.asarray(0.75))) == "0.50 [0.25, 0.75]"
    assert banded(Band(np.asarray(0.5), nothing, nothing)) == "0.50"
    assert banded(Band(nothing, nothing, nothing)) == "-"
