"""Errors carry what is wrong as fields, and keep them on the way between processes."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import tightrope as tr
from tightrope.errors import ConfigError, DataError, LogError, ModelError, TightropeError


def fields(error):
    return error.argument, error.entry, error.found, error.expected


def test_an_error_about_an_argument_shows_its_fields():
    error = ConfigError.about("delta", found=2, expected="a number in (0, 1)")
    assert str(error) == "delta: 2, expected a number in (0, 1)"
    assert fields(error) == ("delta", None, 2, "a number in (0, 1)")
    error = ModelError.about("policy", shape=(3, 2), expected="(H, S, A)")
    assert str(error) == "policy: shape (3, 2), expected (H, S, A)"
    assert fields(error) == ("policy", None, (3, 2), "(H, S, A)")
    error = ModelError.about("rho", shown="missing", more="; give a number")
    assert str(error) == "rho: missing; give a number"
    assert fields(error) == ("rho", None, "missing", None)
    error = ModelError.about("cost", where="step 3", verb="is", found="much", expected="a number")
    assert str(error) == "step 3: cost is 'much', expected a number"
    assert fields(error) == ("cost", None, "much", "a number")
    assert fields(ModelError("no whole episode")) == (None, None, None, None)


@pytest.mark.parametrize(
    ("name", "argument", "entry"),
    [
        ("transition[s=1, a=0]", "transition", "s=1, a=0"),
        ("cost[s='a[0]', a=1]", "cost", "s='a[0]', a=1"),
        ("cost[s='a[', a=1]", "cost", "s='a[', a=1"),
        ("transition[1].indices[3]", "transition[1].indices", "3"),
        ("budget['risk']", "budget", "'risk'"),
        ("constraint_cost['risk'][s=2, a=0]", "constraint_cost['risk']", "s=2, a=0"),
        ("layout.rows", "layout.rows", None),
        ("[[constraint]] 2", "[[constraint]] 2", None),
    ],
)
def test_brackets_at_the_end_of_an_argument_are_its_entry(name, argument, entry):
    error = ModelError.about(name, verb="is", found=3, expected="1")
    assert str(error) == f"{name} is 3, expected 1"
    assert (error.argument, error.entry) == (argument, entry)


def test_a_model_names_its_first_bad_row():
    with pytest.raises(ModelError) as caught:
        tr.CMDP([[[0.2, 0.8]], [[0.7, 0.0]]], [[0.0], [1.0]], horizon=3)
    assert fields(caught.value) == ("transition", "s=1, a=0", 0.7, "1 within 1e-06")
    assert type(caught.value) is ModelError


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (True, True),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        ("word", "word"),
        ((np.int64(2), 3), (2, 3)),
        (None, "None"),
        ([1, 2], "[1, 2]"),
        (Fraction(10**400, 3), None),
        (10**30, "a number of about 30 digits"),
        ("x" * 2000, None),
        (lambda: None, None),
    ],
)
def test_found_is_a_plain_value_or_a_description(value, kept):
    found = ModelError.about("x", found=value).found
    assert found == kept if kept is not None else isinstance(found, str)
    assert type(found) in (bool, int, float, str, tuple)


@pytest.mark.parametrize("again", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_copy_keeps_kind_message_and_fields(again):
    error = DataError.about("cost[h=1]", verb="is", found=np.float64(3), expected="at most 1")
    other = again(error)
    assert type(other) is DataError
    assert (str(other), fields(other)) == (str(error), fields(error))
    log = again(LogError("line 2: no", ((2, "a", "no"),)))
    assert (str(log), log.faults) == ("line 2: no", ((2, "a", "no"),))
    unmet = again(tr.InfeasibleError("budgets clash", (0, 1), (0.5, 0.0)))
    assert unmet.facts == ((0, 1), (0.5, 0.0), (), ())


def test_other_words_keep_kind_and_fields():
    error = ConfigError.about("delta", found=2, expected="a number in (0, 1)")
    other = error.with_message(f"spec.toml: {error}")
    assert type(other) is ConfigError
    assert str(other) == "spec.toml: delta: 2, expected a number in (0, 1)"
    assert fields(other) == fields(error)
    assert str(error) == "delta: 2, expected a number in (0, 1)"
    faults = ((2, "a", "no"),)
    assert LogError("line 2", faults).with_message("x.csv: line 2").faults == faults


def test_every_kind_is_a_tightrope_error():
    for name in ("ConfigError", "DataError", "EngineError", "DependencyError"):
        assert issubclass(getattr(tr, name), ModelError)  # until version 0.2
    assert issubclass(LogError, DataError)
    for name in ("ModelError", "InfeasibleError", "SolverError", "StoreError"):
        assert issubclass(getattr(tr, name), TightropeError)
