"""Options of the confidence sets, their constants by hand, and their coverage by exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from driven import instance
from refusals import refuses
from tightrope.belief.beliefs import refresh_everything, start_beliefs
from tightrope.belief.bonus import BonusBelief
from tightrope.belief.confidence import Confidence, as_confidence
from tightrope.belief.radii import ball_radius, box_bounds, cost_bounds, cost_radius, log_term
from tightrope.belief.sets import SetBelief
from tightrope.errors import ConfigError
from tightrope.kernels.calls import Block
from tightrope.model.task import simulated_task

P = np.unique(np.concatenate((np.linspace(0, 1, 41), 0.5 ** np.arange(2, 12), [0.999])))


def rules(confidence="faithful", K=10_000, is_bonus=False):
    """Rules for S = 3, A = 2, H = 3, I = 1, delta = 0.1."""
    kind = BonusBelief if is_bonus else SetBelief
    task = simulated_task(instance(1), K, 0.1)
    return start_beliefs(kind, task, as_confidence(confidence)).belief.rules


def test_the_logarithms_are_those_of_the_hand_computed_table():
    r = rules()
    assert log_term(r.transition_term, r.n_episodes, 1.0) == pytest.approx(16.19, abs=0.01)
    assert 2 * log_term(r.cost_term, r.n_episodes, 1.0) == pytest.approx(33.77, abs=0.01)
    assert cost_radius(r, 1.0) ** 2 == pytest.approx(33.77, abs=0.01)


def test_cost_radii_equal_those_computed_by_hand():
    faithful, tight = rules(), rules("tight")
    X = 6 * 3 * 2 * 3 * 2 * 10_000 / 0.1
    assert cost_radius(faithful, 0.0) == cost_radius(faithful, 1.0)
    assert cost_radius(faithful, 50.0) == pytest.approx(np.sqrt(2 * np.log(X) / 50), rel=1e-14)
    assert cost_radius(tight, 0.0) == 1.0
    assert cost_radius(tight, 50.0) == pytest.approx(np.sqrt(np.log(X) / 100), rel=1e-14)
    assert cost_radius(tight, 50.0) == pytest.approx(cost_radius(faithful, 50.0) / 2, rel=1e-14)


def test_transition_radii_equal_those_computed_by_hand():
    # n = 5000, p = 0.3: 2 sqrt(0.21 * 16.19 / 5000) + (14/3) 16.19 / 5000 = 0.05215 + 0.01511
    low, high = box_bounds(rules(), 0.3, 5000.0)
    assert (high - 0.3, 0.3 - low) == pytest.approx((0.06726, 0.06726), abs=2e-5)
    assert box_bounds(rules(), 0.3, 50.0) == (0.0, 1.0)
    Lp = np.log(6 * 3 * 2 * 3 * 10_000 / 0.1)
    assert box_bounds(rules(), 0.0, 5000.0)[1] == pytest.approx(14 / 3 * Lp / 5000, rel=1e-14)


@pytest.mark.parametrize("confidence", ["faithful", "tight", {"any_time": True}])
def test_radii_do_not_grow_with_visits(confidence):
    r = rules(confidence)
    n = np.arange(1.0, 400.0)
    if confidence != {"any_time": True}:
        start = () if confidence == "tight" else (0.0,)  # before any visit T1 knows of the range
        assert (np.diff([cost_radius(r, k) for k in (*start, *n)]) <= 0).all()
        ball = rules({"mode": confidence, "transition": "l1"})
        assert (np.diff([ball_radius(ball, 3, k) for k in (0.0, *n)]) <= 0).all()
        for p in P:
            bounds = np.array([box_bounds(r, p, k) for k in n])
            assert (np.diff(bounds[:, 0]) >= -1e-15).all()
            assert (np.diff(bounds[:, 1]) <= 1e-15).all()
    else:  # log(n (n+1)) / n falls only after the first few visits
        assert (np.diff([cost_radius(r, k) for k in n]) < 0)[5:].all()


def test_boxes_contain_the_estimate_whatever_the_factor():
    for confidence in ("faithful", "tight", {"scale": 0.0}, {"transition": "kl", "scale": 0.01}):
        r = rules(confidence)
        for n in (1.0, 7.0, 300.0):
            for j in range(int(n) + 1):
                low, high = box_bounds(r, j / n, n)
                assert 0 <= low <= j / n <= high <= 1


def test_factors_multiply_the_radii_and_the_particular_beats_the_general():
    r, scaled = rules(), rules({"scale": 0.25, "scale_cost": 0.5})
    assert cost_radius(scaled, 9.0) == pytest.approx(0.5 * cost_radius(r, 9.0), rel=1e-15)
    high = box_bounds(r, 0.4, 1e4)[1] - 0.4
    assert box_bounds(scaled, 0.4, 1e4)[1] - 0.4 == pytest.approx(0.25 * high, rel=1e-12)
    ball, small = rules({"transition": "l1"}), rules({"transition": "l1", "scale": 0.25})
    assert ball_radius(small, 3, 1e4) == pytest.approx(0.25 * ball_radius(ball, 3, 1e4), rel=1e-15)


def test_factors_apply_before_tight_radii_are_capped():
    r, narrow = rules("tight"), rules({"mode": "tight", "scale": 0.1})
    X = 6 * 3 * 2 * 3 * 2 * 10_000 / 0.1
    assert cost_radius(narrow, 0.0) == 1.0  # without a visit the range is all that is known
    assert cost_radius(narrow, 1.0) == pytest.approx(0.1 * np.sqrt(np.log(X) / 2), rel=1e-14)
    assert cost_radius(narrow, 50.0) == pytest.approx(0.1 * cost_radius(r, 50.0), rel=1e-14)
    assert cost_radius(rules({"mode": "tight", "scale": 4.0}), 50.0) == 1.0


@pytest.mark.parametrize("factors", [{"scale": 0.001}, {"scale_bonus": 0.001}, {"scale": 0.0}])
def test_a_scaled_tight_bonus_stays_optimistic_about_pairs_without_visits(factors):
    task = simulated_task(instance(1), 10_000, 0.1)
    beliefs = start_beliefs(BonusBelief, task, as_confidence({"mode": "tight", **factors}))
    worst = np.arange(task.horizon - 1, -1, -1.0)[:, None, None]  # cost of the stages ahead
    assert (beliefs.belief.cost_low == -worst).all()
    assert (beliefs.belief.constraint_low == -worst).all()


def test_the_factor_of_a_bonus_applies_before_its_caps():
    task = simulated_task(instance(1), 10_000, 0.1)
    radii = as_confidence({"mode": "tight", "scale_bonus": 0.1})
    beliefs = start_beliefs(BonusBelief, task, radii)
    beliefs.counts.visits[:] = beliefs.counts.cost_visits[:] = 1
    beliefs.counts.successors[:] = 0
    beliefs.counts.successors[:, beliefs.counts.indptr[0, :-1]] = 1
    beliefs.counts.cost_sum[:] = 1.0
    sizes = task.horizon, task.n_states, task.n_actions
    refresh_everything(Block(beliefs.counts, beliefs.belief, *sizes))
    # by hand, n = 1: a tenth of Hoeffding's radius, and L1 radii above 2 although scaled
    X = 6 * 3 * 2 * 3 * 2 * 10_000 / 0.1
    ball = 0.1 * np.sqrt(2 * (3 * np.log(2) + np.log(2 * 3 * 3 * 2 * 3 * 10_000 / 0.1)))
    expected = 1 - 0.1 * np.sqrt(np.log(X) / 2) - np.array([2, 1, 0]) * min(1, ball / 2)
    assert beliefs.belief.cost_low[:, 0, 0] == pytest.approx(expected, rel=1e-12)


def test_box_and_ball_of_a_tight_bonus_have_half_of_the_share_of_delta_each():
    tight, plain = rules("tight", is_bonus=True), rules(is_bonus=True)
    assert tight.transition_term == 2 * plain.transition_term
    assert tight.ball_term == 2 * plain.ball_term


def test_radii_without_the_number_of_episodes_do_not_change_with_it():
    a, b = rules({"any_time": True}, K=10), rules({"any_time": True}, K=10_000)
    assert cost_radius(a, 12.0) == cost_radius(b, 12.0)
    X = 6 * 3 * 2 * 3 * 2 * 12 * 13 / 0.1
    assert cost_radius(a, 12.0) == pytest.approx(np.sqrt(2 * np.log(X) / 12), rel=1e-14)
    assert box_bounds(a, 0.1, 500.0) == box_bounds(b, 0.1, 500.0)


def misses(bounds_of, K):
    """Exact probability that a box misses p, summed over n up to K, the worst p for each n."""
    total = 0.0
    for n in range(1, K + 1):
        shares = np.arange(n + 1)
        bounds = np.array([bounds_of(j / n, float(n)) for j in shares])
        is_missed = (P[:, None] < bounds[:, 0]) | (P[:, None] > bounds[:, 1])
        total += (binom.pmf(shares, n, P[:, None]) * is_missed).sum(axis=1).max()
    return total


@pytest.mark.parametrize(
    ("confidence", "least"), [("faithful", 0.0), ({"transition": "kl"}, 1e-3)], ids=str
)
def test_transitions_leave_their_boxes_with_at_most_a_third_of_delta(confidence, least):
    K = 60
    r = rules(confidence, K)
    S, A, H, delta = 3, 2, 3, 0.1
    total = S * A * H * S * misses(lambda p, n: box_bounds(r, p, n), K)
    assert least * delta / 3 <= total <= delta / 3


@pytest.mark.parametrize(
    ("confidence", "least"), [("faithful", 0.0), ({"tight_costs": True}, 1e-4)], ids=str
)
def test_costs_leave_their_radii_with_at_most_a_third_of_delta(confidence, least):
    K = 60
    r = rules(confidence, K)
    S, A, H, I, delta = 3, 2, 3, 1, 0.1
    total = misses(lambda p, n: (p - cost_radius(r, n), p + cost_radius(r, n)), K)
    assert least * delta / 3 <= S * A * H * (I + 1) * total <= delta / 3


def test_l1_balls_cover_with_at_most_a_third_of_delta():
    # over two states the distance is twice that of one share, so that binomial sums are exact
    K, S, A, H, delta = 60, 2, 2, 3, 0.1
    task = simulated_task(instance(1, S=2), K, delta)
    r = start_beliefs(SetBelief, task, as_confidence({"transition": "l1"})).belief.rules
    total = misses(lambda p, n: (p - ball_radius(r, S, n) / 2, p + ball_radius(r, S, n) / 2), K)
    assert S * A * H * total <= delta / 3


def leaves(bounds_of, p, N):
    """Exact probability that the share of n draws leaves its bounds for some n up to N."""
    inside, left = np.array([1.0]), 0.0
    for n in range(1, N + 1):
        inside = np.append(inside * (1 - p), 0.0) + np.append(0.0, inside * p)
        bounds = np.array([bounds_of(j / n, float(n)) for j in range(n + 1)])
        is_out = (p < bounds[:, 0] - 1e-12) | (p > bounds[:, 1] + 1e-12)
        left += inside[is_out].sum()
        inside[is_out] = 0.0
    return left


MIXTURE = {"mode": "tight", "kl_costs": True, "mixture": True}


@pytest.mark.parametrize("p", [0.0, 1e-3, 0.05, 0.3, 0.5, 0.97, 1.0])
def test_mixtures_hold_for_all_numbers_of_visits_at_once(p):
    # delta is 0.9 so that some of it is spent within 200 draws; K is not in the bounds
    task = simulated_task(instance(1), 10, 0.9)
    r = start_beliefs(SetBelief, task, as_confidence(MIXTURE)).belief.rules
    S, A, H, I, delta = 3, 2, 3, 1, 0.9
    each = delta / 3 / (S * A * H * (I + 1))
    found = leaves(lambda mean, n: cost_bounds(r, mean, n), p, 200)
    assert found <= each
    assert found >= 0.1 * each or p in (0.0, 1.0, 1e-3)
    assert leaves(lambda mean, n: box_bounds(r, mean, n), p, 200) <= delta / 3 / (S * A * H * S)


def test_l1_balls_of_mixtures_hold_for_all_numbers_of_visits_at_once():
    # over two states the distance is twice that of one share
    task = simulated_task(instance(1, S=2), 10, 0.9)
    r = start_beliefs(SetBelief, task, as_confidence(MIXTURE | {"transition": "l1"})).belief.rules

    def bounds(share, n):
        return share - 0.5 * ball_radius(r, 2, n), share + 0.5 * ball_radius(r, 2, n)

    for p in (0.1, 0.5):
        found = leaves(bounds, p, 200)
        assert 0.0 < found <= 0.9 / 3 / (2 * 2 * 3)


def test_bounds_of_mixtures_equal_those_computed_by_hand():
    r = rules(MIXTURE)
    X = 3 * 3 * 2 * 3 * 2 / 0.1 * np.sqrt(np.pi * 50 + 1)
    # nothing seen in 50 draws: kl(0, x) = -ln(1 - x)
    assert cost_bounds(r, 0.0, 50.0) == (0.0, pytest.approx(1 - X ** (-1 / 50), rel=1e-12))
    assert cost_bounds(r, 1.0, 50.0) == (pytest.approx(X ** (-1 / 50), rel=1e-12), 1.0)
    assert cost_radius(r, 50.0) == pytest.approx(np.sqrt(np.log(X) / 100), rel=1e-14)
    Y = 3 * 3 * 2 * 3 * 3 / 0.1 * np.sqrt(np.pi * 50 + 1)
    assert box_bounds(r, 0.0, 50.0)[1] == pytest.approx(1 - Y ** (-1 / 50), rel=1e-12)
    ball = rules(MIXTURE | {"transition": "l1"})
    Z = 3 * 3 * 2 * 3 / 0.1 * np.sqrt(np.pi * 500 + 1)
    radius = np.sqrt(2 * (2 * np.log(2) + np.log(Z)) / 500)
    assert ball_radius(ball, 3, 500.0) == pytest.approx(radius, rel=1e-14)


def test_mixtures_need_one_bound_for_stages_that_are_counted_together():
    task = simulated_task(instance(1, is_stationary=True), 10, 0.1)
    apart, pooled = (
        start_beliefs(SetBelief, task, as_confidence(MIXTURE | {"pool": pool})).belief.rules
        for pool in (False, True)
    )
    assert pooled.cost_term == pytest.approx(apart.cost_term / 3)
    assert pooled.transition_term == pytest.approx(apart.transition_term / 3)
    union = start_beliefs(SetBelief, task, as_confidence({"pool": True})).belief.rules
    assert union.cost_term == apart.cost_term  # n grows up to K H


def test_mixtures_do_not_change_bernsteins_widths_but_for_the_number_of_episodes():
    wide, none = rules({"mixture": True}), rules({"any_time": True})
    assert box_bounds(wide, 0.3, 900.0) == box_bounds(none, 0.3, 900.0)
    assert cost_radius(wide, 900.0) == cost_radius(none, 900.0)


@pytest.mark.parametrize("union", [{}, {"mixture": True}], ids=str)
def test_costs_by_relative_entropy_lie_inside_hoeffdings_radius(union):
    wide, tight = rules({"mode": "tight"} | union), rules(MIXTURE | {"mixture": False} | union)
    for n in (10.0, 100.0, 1000.0):
        for mean in (0.0, 0.013, 0.5, 0.98, 1.0):
            low, high = cost_bounds(tight, mean, n)
            radius = cost_radius(wide, n)
            assert max(0.0, mean - radius) <= low <= mean <= high <= min(1.0, mean + radius)
    assert cost_bounds(tight, 0.0, 0.0) == (-1.0, 1.0)  # cut to [0, 1] by the caller


def test_costs_by_relative_entropy_leave_their_bounds_with_at_most_a_third_of_delta():
    K = 60
    r = rules({"kl_costs": True}, K)
    S, A, H, I, delta = 3, 2, 3, 1, 0.1
    total = misses(lambda p, n: cost_bounds(r, p, n), K)
    assert 1e-3 * delta / 3 <= S * A * H * (I + 1) * total <= delta / 3


def test_a_box_and_a_ball_together_share_their_third_of_delta():
    alone, both = rules({"transition": "kl"}), rules({"transition": "kl+l1"})
    assert both.transition_term == 2 * alone.transition_term
    assert both.ball_term == 2 * rules({"transition": "l1"}).ball_term


def test_a_box_by_relative_entropy_lies_inside_bernsteins():
    wide, tight = rules(), rules({"transition": "kl"})
    for n in (10.0, 100.0, 1000.0):
        for j in np.linspace(0, n, 11).round():
            (a, b), (low, high) = box_bounds(wide, j / n, n), box_bounds(tight, j / n, n)
            assert a <= low
            assert high <= b


def test_an_unknown_option_is_refused_with_the_nearest_one():
    with refuses(
        ConfigError, "did you mean 'scale_cost'", argument="confidence", found="scal_cost"
    ):
        as_confidence({"scal_cost": 0.1})
    with refuses(ConfigError, "options: mode, ", argument="confidence", found="xyzzy"):
        as_confidence({"xyzzy": 1})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("loose", ("confidence", "loose", "'faithful' or 'tight' or a table of options")),
        (0.5, ("confidence", 0.5, "a name or a table of options")),
        ({"mode": "loose"}, ("confidence", "loose", "'faithful' or 'tight' or a table of options")),
        ({"scale": -0.1}, ("confidence: scale", -0.1, "a number of at least 0")),
        ({"scale": float("nan")}, "scale: nan, expected a number"),
        ({"scale_cost": 1e308}, ("confidence", "scale_cost is 1e+308", "at most 1e+100")),
        ({"scale_bonus": float("inf")}, "scale_bonus: inf, expected a number"),
        ({"scale_cost": True}, ("confidence: scale_cost", True, "a number of at least 0")),
        (
            {"scale_transition": "small"},
            ("confidence: scale_transition", "small", "a number of at least 0"),
        ),
        ({"scale": None}, ("confidence: scale", "None", "a number of at least 0")),
        ({"scale_bonus": None}, ("confidence: scale_bonus", "None", "a number of at least 0")),
        (
            {"mode": ["tight"]},
            ("confidence", "['tight']", "'faithful' or 'tight' or a table of options"),
        ),
        ({"clip": 1}, ("confidence: clip", 1, "true or false")),
        (
            {"transition": "box"},
            (
                "confidence: transition",
                "box",
                "one of 'bernstein', 'kl', 'l1', 'bernstein+l1', 'kl+l1'",
            ),
        ),
        ({"replan": "never"}, ("confidence: replan", "never", "one of 'always', 'doubling'")),
    ],
)
def test_values_that_cannot_be_right_are_refused(value, said):
    with refuses(ConfigError, said):
        as_confidence(value)


def test_a_checked_confidence_is_checked_again():
    with refuses(
        ConfigError,
        argument="confidence: replan",
        found="never",
        expected="one of 'always', 'doubling'",
    ):
        as_confidence(Confidence(replan="never"))


def test_names_and_tables_make_the_same_confidence():
    assert as_confidence("faithful") == Confidence() == as_confidence({})
    assert as_confidence({"mode": "tight"}) == as_confidence("tight")
    tight = as_confidence({"mode": "tight", "clip": False})
    assert (tight.transition, tight.tight_costs, tight.clip) == ("kl", True, False)


def test_a_confidence_describes_its_changes_and_whether_guarantees_hold():
    assert as_confidence("faithful").words == "faithful"
    assert as_confidence("tight").words == "tight"
    assert as_confidence({"clip": True}).words == "faithful, clip=True"
    heuristic = as_confidence({"scale": 0.1, "pool": True})
    assert heuristic.words == "faithful, pool=True, scale=0.1 (heuristic)"
    assert heuristic.is_heuristic
    assert not as_confidence({"scale": 2.0}).is_heuristic
    assert as_confidence({"scale_bonus": 0.5}).is_heuristic
    assert not as_confidence({"scale": 0.5, "scale_cost": 1, "scale_transition": 1}).is_heuristic
