"""What is said of texts that are TOML and no model: keys, rows and quantities by name."""

from __future__ import annotations

import pytest
from toml_samples import refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon", "horizn", "unknown key 'horizn', did you mean 'horizon'?"),
        ("budget", "bugdet", "[[constraint]] 1 ('energy'): unknown key 'bugdet', did you mean 'b"),
        (
            "[objective]\n",
            "[objective]\nrnage = [0, 1]\n",
            "unknown key 'rnage', did you mean 'ran",
        ),
        ("[objective]\n", "[objective]\nkind = 1\n", "unknown key 'kind'; known keys: name, range"),
        ("horizon", "cost = []\nhorizon", "unknown key 'cost'; it belongs in [objective]"),
        ("horizon", "budget = 2\nhorizon", "unknown key 'budget'; it belongs in a [[constraint]]"),
        ("[objective]", "[objective]\nnoise = 'beta'", "[objective]: unknown key 'noise'; it belo"),
        ("horizon = 3\n", "", "key 'horizon' is missing"),
        ('format = "tightrope-model 1"', "", "format: missing, expected format = 'tightrope-model"),
        ("model 1", "model 7", "format: version 7 is newer than this tightrope reads (1); update"),
        ("model 1", f"model {'7' * 5000}", "expected 'tightrope-model 1'; not a model file of"),
        ("horizon = 3", "horizon = 3.0", "horizon: 3.0, expected a whole number of at least 1"),
        ("horizon = 3", "horizon = true", "horizon: True, expected a whole number"),
        ('["idle", "busy"]', "0", "states: 0, expected a list of names, or how many there are"),
        ('["idle", "busy"]', "[]", "states: [], expected a list of names"),
        ('["idle", "busy"]', '["a", "a"]', "transition, row 1: no state is named 'idle'"),
        ('["wait", "serve"]', "true", "actions: True, expected a list of names"),
        ('["idle", "busy"]', "999999999", "transition, row 1: no state is named 'idle'; states h"),
    ],
)
def test_bad_keys_are_named(tmp_path, old, new, message):
    assert message in refused(tmp_path, old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '["idle", "wait", "busy", 0.5]',
            '["idel", "wait", "busy", 0.5]',
            "transition, row 2: no state is named 'idel', did you mean 'idle'?",
        ),
        (
            '"serve", "idle", 1.0',
            '"sreve", "idle", 1.0',
            "transition, row 4: no action is named 'sreve', did you mean 'serve'?",
        ),
        ('"wait", "busy", 1]', '"wait", 2, 1]', "transition, row 3: state 2, expected 0 to 1"),
        ('"wait", "busy", 1]', '"wait", -1, 1]', "transition, row 3: state -1, expected 0 to 1"),
        (
            '"wait", "busy", 1]',
            '"wait", true, 1]',
            "transition, row 3: state True, expected a name or a number",
        ),
        ('"wait", "busy", 1]', '"wait", "busy", "1"]', "transition, row 3: '1', expected a number"),
        (
            '"wait", "busy", 1]',
            '"wait", "busy"]',
            "transition, row 3: ['busy', 'wait', 'busy'], expected a list of 4 or 5 entries",
        ),
        (
            '["idle", "wait", "busy", 0.5]',
            '["idle", "wait", "idle", 0.5]',
            "transition, row 2: ['idle', 'wait', 'idle', 0.5] gives again what transition, row 1",
        ),
        (
            '["idle", "wait", "busy", 0.5]',
            '[0, "idle", "wait", "busy", 0.5]',
            "transition, row 2: [0, 'idle', 'wait', 'busy', 0.5], expected a stage in every row",
        ),
        ("transition = [", "transition = 3\nnoise = [", "transition: expected a list of rows"),
        (
            '["*", "serve", 1]',
            '["busy", "serv", 1]',
            "[[constraint]] 1 ('energy') cost, row 1: no action is named 'serv', did you mean",
        ),
        ('["*", "serve", 1]', '[3, "*", "serve", 1]', "cost, row 1: stage 3, expected 0 to 2"),
        ('["*", "serve", 1]', '["*", "serve", "much"]', "cost, row 1: 'much', expected a number"),
        (
            '["*", "serve", 1]',
            '["*", "serve"]',
            "cost, row 1: ['*', 'serve'], expected a list of 3",
        ),
        ('["*", "serve", 1]', f'["*", "serve", 1{"0" * 400}]', "too large for a float"),
        (
            "horizon",
            'initial = "bsy"\nhorizon',
            "initial: no state is named 'bsy', did you mean 'bu",
        ),
        ("horizon", "initial = 5\nhorizon", "initial: state 5, expected 0 to 1"),
        (
            "horizon",
            "initial = [1.0]\nhorizon",
            "initial: shape (1,), expected a state or shape (2",
        ),
        ("horizon", "initial = { idle = 'x' }\nhorizon", "initial.idle: 'x', expected a number"),
        ("horizon", "noise = 'gauss'\nhorizon", "noise: 'gauss', expected one of 'bernoulli', 'n"),
    ],
)
def test_bad_rows_are_named_by_number_with_a_guess(tmp_path, old, new, message):
    assert message in refused(tmp_path, old, new)


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ("", "has neither of the keys 'budget' and 'floor', expected one"),
        ("budget = 1\nfloor = 1", "has both of the keys 'budget' and 'floor'"),
        ("floor = 1", "'cost' with 'floor'; a cost has a budget, a utility a floor"),
        ("budget = 'x'", "[[constraint]] 1 ('energy') budget: 'x', expected a num"),
        ("budget = 1\nrange = [1, 0]", "range: [1, 0], expected two finite numbers"),
        ("budget = 1\nrange = [0]", "range: [0], expected two finite numbers, the"),
        ("budget = 1\nrange = 'x'", "range: expected an array of real numbers"),
        ("budget = 1\nrange = [-1e308, 1e308]", "expected two finite numbers"),
        ("budget = 1\nshown = 2", "'shown' needs a factor and a shift"),
        ("budget = 1\nshown = { factor = 0, shift = 0 }", "unit 'energy': factor 0"),
        ("budget = 1\nshown = { factr = 0 }", "unknown key 'factr', did you mean"),
    ],
)
def test_bounds_ranges_and_units_that_make_no_sense_are_named(tmp_path, bound, message):
    assert message in refused(tmp_path, "budget = 0.5", bound)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"energy"', "3", "[[constraint]] 1 name: 3, expected text in quotes"),
        ("[[constraint]]", "[constraint]", "constraint: expected tables headed [[constraint]]"),
        ("[objective]\ncost", "objective = []\nnoise", "objective: expected a table headed [objec"),
        ("[objective]\n", "[objective]\nreward = []\n", "has both of the keys 'cost' and 'reward'"),
        (
            "[objective]\n",
            "[objective]\nname = 1\n",
            "[objective] name: 1, expected text in quotes",
        ),
    ],
)
def test_tables_that_make_no_sense_are_named(tmp_path, old, new, message):
    assert message in refused(tmp_path, old, new)
