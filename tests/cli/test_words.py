"""Numbers, lists and prices in words."""

from __future__ import annotations

import math

import pytest

from tightrope.cli.screen import _finite, one_line, percent
from tightrope.cli.solve import price_in_words
from tightrope.model import Unit
from tightrope.plan.explain import Use, drop_rounding
from tightrope.text import digits, listed

COST, REWARD = Unit("euros"), Unit("reward", factor=-1.0, shift=5.0)
HOURS, SERVED = Unit("hours", factor=4.0), Unit("served", factor=-2.0, shift=8.0)


def use(unit, slack, price):
    return Use(unit.name, unit, 1.0, 2.0, slack, price)


@pytest.mark.parametrize(
    ("unit", "cost", "slack", "price", "words"),
    [
        (HOURS, COST, 0.0, 2.5, "one more unit of 'hours' saves 2.5 euros"),
        (HOURS, REWARD, 0.0, 2.5, "one more unit of 'hours' earns 2.5 reward"),
        (SERVED, COST, 0.0, 2.5, "lowering the floor of 'served' by one unit saves 2.5 euros"),
        (HOURS, COST, 1.0, 0.0, "'hours' is not binding: more of it would save nothing"),
        (SERVED, REWARD, 1.0, 0.0, "'served' is not binding: a lower floor would earn nothing"),
        (HOURS, COST, 0.0, 0.0, "'hours' is used up, but more of it would save nothing"),
    ],
)
def test_a_price_is_described_as_the_gain_of_one_more_unit(unit, cost, slack, price, words):
    assert price_in_words(use(unit, slack, price), cost) == words


def test_a_limit_shows_its_direction():
    assert use(HOURS, 0.0, 0.0).limit == "<= 2"
    assert use(SERVED, 0.0, 0.0).limit == ">= 2"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_words_are_listed_as_in_a_sentence(words, sentence):
    assert listed(words) == sentence


def test_numbers_have_no_minus_zero_and_no_noise():
    assert [digits(x) for x in (-0.0, 1 / 3, 1e-9, 123456789.0)] == [
        "0",
        "0.333333",
        "1e-09",
        "1.23457e+08",
    ]


@pytest.mark.parametrize(
    ("share", "words"), [(1.0, "100%"), (0.5, "50%"), (0.9999999, "99.99999%"), (1e-6, "0.0001%")]
)
def test_a_share_short_of_all_is_not_called_all(share, words):
    assert percent(share) == words


def test_json_has_null_for_what_is_no_finite_number():
    data = {"a": math.inf, "b": [math.nan, 1.5, (-math.inf,)], "c": None, 1: "x"}
    assert _finite(data) == {"a": None, "b": [None, 1.5, [None]], "c": None, "1": "x"}


def test_a_message_of_several_lines_becomes_one():
    assert one_line("a\n  b\tc\r\x1b[2J") == "a b c ?[2J"


def test_rounding_is_shown_as_nothing_and_small_totals_as_they_are():
    tenths = Unit("reward", factor=-0.1, shift=0.3)
    assert tenths.show(3.0) != 0
    assert drop_rounding(tenths, tenths.show(3.0)) == 0
    assert drop_rounding(Unit("grams", factor=1e-9), 2e-9) == 2e-9
