"""Numbers in words, and text of others: what a terminal or a spreadsheet makes of it."""

from __future__ import annotations

import csv
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tightrope as tr
from tightrope.text import (
    ROUNDING,
    apart,
    escape_cell,
    escape_table,
    number,
    replace_unprintable,
    round_up,
)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("fine", "fine"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("@x", "'@x"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("-1.5e3", "-1.5e3"),
        ("a\nb", r"a\nb"),
        ("a\u2028b", r"a\u2028b"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\t=1", r"\t=1"),
        ("", ""),
    ],
)
def test_cells_hold_text_that_nothing_computes(text, escaped):
    assert escape_cell(text) == escaped


def test_tables_are_escaped_in_names_and_text_and_nowhere_else():
    table = pa.table({"=a": ["=x", None, "y"], "n": [-1, 0, 1]})
    assert escape_table(table).to_pydict() == {"'=a": ["'=x", None, "y"], "n": [-1, 0, 1]}


def test_control_characters_are_replaced_for_the_terminal():
    assert replace_unprintable("a\x1b[0m\u202eb\nc") == "a?[0m?b\nc"


def test_names_with_line_separators_survive_a_drn_file(tmp_path):
    names = ["one\u2028state 9", "two\x0bstate 8", "three\x85"]
    cmdp = tr.CMDP(
        [[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]]],
        [[0.1], [0.2], [0.3]],
        horizon=2,
        state_names=names,
        action_names=["a\u2029b"],
    )
    tr.write_drn(cmdp, tmp_path / "m.drn")
    text = (tmp_path / "m.drn").read_text()
    assert all(c.isprintable() or c in "\n\t" for c in text)
    back = tr.read_drn(tmp_path / "m.drn", 2, "cost")
    assert back.n_states == 3
    assert back.action_names == ("a_b",)


def test_a_drn_file_of_others_may_have_line_separators_in_its_names(tmp_path):
    cmdp = tr.CMDP([[[1.0]]], [[0.5]], horizon=1, action_names=["go"])
    tr.write_drn(cmdp, tmp_path / "m.drn")
    text = (tmp_path / "m.drn").read_text().replace(" init", ' "x\u2028y" init')
    (tmp_path / "m.drn").write_text(text)
    assert tr.read_drn(tmp_path / "m.drn", 1, "cost").state_names == ("x\u2028y",)


def test_the_policy_table_of_a_fit_computes_nothing(tmp_path):
    from tightrope.cli.app import status

    rows = ["episode,step,state,action,next_state,cost"]
    rows += [f"{k},0,=1+1,@do,=1+1,0.5" for k in range(3)]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    words = ["fit", str(tmp_path / "log.csv"), "--out", str(tmp_path / "fitted")]
    assert status(words) == 0
    with (tmp_path / "fitted" / "policy.csv").open(newline="") as file:
        table = list(csv.reader(file))
    assert table[1][1:3] == ["'=1+1", "'@do"]


@given(st.floats(allow_nan=False))
def test_a_number_in_words_says_the_number_exactly(value):
    assert float(number(value)) == value


def test_a_number_that_nine_digits_would_round_is_given_in_full():
    assert number(1.5) == "1.5"
    assert number(np.float64(1 + 2**-52)) == "1.0000000000000002"
    assert number(float("nan")) == "nan"


numbers = st.floats(-1e6, 1e6)


@given(numbers)
@example(0.6500000000000001)
def test_what_is_enough_falls_short_by_no_more_than_rounding_and_is_short(value):
    told = float(round_up(value, value))

    rounding = ROUNDING * max(1.0, abs(value))
    assert value - 2 * rounding <= told <= value + 1e-5 * abs(value) + rounding
    assert len(round_up(value, value).lstrip("-0.").replace(".", "").split("e")[0]) <= 6


def test_what_is_enough_is_rounded_up():
    assert round_up(0.1234561, 0.1) == "0.123457"
    assert round_up(0.65 + 1e-16, 1.0) == "0.65"
    assert round_up(-2.0000001, 2.0) == "-2"
    assert round_up(2.0000001, 2.0) == "2.00001"
    assert round_up(1.2345678e-9, 1e-9) == "1.23457e-09"


@given(numbers, numbers)
def test_different_numbers_are_distinguished_and_equal_ones_are_not(first, second):
    near = math.nextafter(first, math.inf)

    assert len(set(apart(first, near))) == 2
    assert (len(set(apart(first, second))) == 2) == (first != second)
    assert apart(0.25, 0.5) == ("0.25", "0.5")
