from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_samples import same, shop
from toml_samples import TEXT, load, refused

from refusals import refuses
from tightrope.errors import ModelError
from tightrope.model import CMDP, Layout, Unit
from tightrope.model.base import writable_problem
from tightrope.model.files import read_model


def test_a_written_model_equals_the_given_model(tmp_path):
    assert same(load(tmp_path, TEXT), CMDP(**shop()))


def test_states_and_actions_may_be_counted_instead_of_named(tmp_path):
    text = TEXT
    for word, number in (("idle", "0"), ("busy", "1"), ("wait", "0"), ("serve", "1")):
        text = text.replace(f'"{word}"', number)
    text = text.replace("states = [0, 1]", "states = 2").replace("actions = [0, 1]", "actions = 2")

    shape = shop()
    del shape["state_names"], shape["action_names"]

    assert same(load(tmp_path, text), CMDP(**shape))


def test_numbers_stand_for_names_too(tmp_path):
    text = TEXT.replace('["busy", "wait", "busy", 1]', '[1, 0, "busy", 1]')

    assert same(load(tmp_path, text), CMDP(**shop()))


@pytest.mark.parametrize(
    ("initial", "expected"),
    [
        ('"busy"', [0, 1]),
        ("1", [0, 1]),
        ("{ idle = 0.25, busy = 0.75 }", [0.25, 0.75]),
        ("[0.25, 0.75]", [0.25, 0.75]),
    ],
)
def test_the_start_is_a_state_or_a_distribution(tmp_path, initial, expected):
    model = load(tmp_path, TEXT.replace("horizon", f"initial = {initial}\nhorizon", 1))

    assert model.initial.tolist() == expected


def test_rewards_floors_and_ranges_are_scaled_and_shown_again(tmp_path):
    text = (
        TEXT.split("[objective]")[0]
        + """
    [objective]
    name = "profit"
    range = [-10, 30]
    reward = [["*", "*", -10], ["busy", "*", 0], ["busy", "serve", 30]]

    [[constraint]]
    name = "served"
    unit = "customers"
    range = [0, 4]
    utility = [["busy", "serve", 3]]
    floor = 2

    [[constraint]]
    range = [-1, 1]
    cost = [["*", "wait", -1], ["busy", "serve", 1]]
    budget = -2
    """
    )
    model = load(tmp_path, text)

    inside = writable_problem(model)
    np.testing.assert_array_equal(inside.cost[0], [[1.0, 0.0], [0.75, 0.0]])
    np.testing.assert_array_equal(inside.constraint_cost[:, 0, 1], [[1.0, 0.25], [0.0, 1.0]])
    np.testing.assert_array_equal(inside.budget, [(3 * 4 - 2) / 4, (-2 + 3) / 2])
    np.testing.assert_array_equal(model.cost[0], [[-10, 0], [0, 30]])
    np.testing.assert_array_equal(model.budget, [2, -2])
    assert model.constraint_names == ("served", "constraint 1")
    assert model.cost_unit == Unit("profit", -40.0, 90.0)
    assert model.constraint_units == (
        Unit("customers", -4.0, 12.0),
        Unit("constraint 1", 2.0, -3.0),
    )


def test_a_leading_stage_makes_rows_time_dependent(tmp_path):
    late = '["*", "serve", 1], [2, "busy", "serve", 0.25]'
    model = load(tmp_path, TEXT.replace('["*", "serve", 1]', late))

    assert model.constraint_cost[0, :, 1, 1].tolist() == [1.0, 1.0, 0.25]

    rows = [[h, state, "wait", "busy", 1.0] for h in range(3) for state in ("idle", "busy")]
    rows += [[1, "busy", "serve", "idle", 1.0]]
    head, tail = TEXT.split("transition = [")
    model = load(tmp_path, f"{head}transition = {rows}\n{tail[tail.index('[objective]') :]}")

    assert not model.is_stationary
    assert model.allowed[:, 1, 1].tolist() == [False, True, False]


def test_an_action_may_be_missing_at_some_stages_of_a_stationary_model(tmp_path):
    model = load(
        tmp_path, TEXT.replace("horizon", 'forbidden = [[2, "busy", "serve"]]\nhorizon', 1)
    )

    assert model.is_stationary
    assert model.allowed[:, 1, 1].tolist() == [True, True, False]


def test_a_map_is_read(tmp_path):
    text = (
        TEXT
        + """
    [layout]
    rows = ["SG"]
    cells = [[0, 0], [0, 1]]
    moves = [[0, 0], [0, 1]]
    """
    )
    layout = load(tmp_path, text).layout

    assert isinstance(layout, Layout)
    assert (layout.rows, layout.moves) == (("SG",), ((0, 0), (0, 1)))
    assert layout.cells.tolist() == [[0, 0], [0, 1]]


def test_syntax_errors_say_the_line(tmp_path):
    assert refused(tmp_path, "horizon = 3", "horizon = = 3").startswith(
        "not TOML: Invalid value (at"
    )
    assert "line 3" in refused(tmp_path, "horizon = 3", "horizon = = 3")


def test_text_in_another_encoding_is_named(tmp_path):
    (tmp_path / "m.toml").write_bytes(TEXT.replace("energy", "Energie\u00e4").encode("latin-1"))

    with refuses(ModelError, argument=str(tmp_path / "m.toml"), expected="TOML"):
        CMDP.load(tmp_path / "m.toml")


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    (tmp_path / "m.toml").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())

    assert same(CMDP.load(tmp_path / "m.toml"), CMDP(**shop()))


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_is_an_error_and_not_a_crash(tmp_path, depth):
    assert refused(tmp_path, "horizon = 3", f"horizon = {'[' * depth}{']' * depth}")


def test_a_model_too_large_for_text_is_refused_before_it_is_built(tmp_path):
    text = 'format = "tightrope-model 1"\nhorizon = 3\nstates = 999999999\nactions = 9\n'
    text += "transition = []\n[objective]\ncost = []\n"

    with refuses(
        ModelError,
        argument="stages, states and actions",
        found=(1, 999999999, 9),
        expected="at most 100000000 entries",
    ):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '["idle", "wait", 0.2]',
            '["idle", "wait", 2]',
            ("cost[s='idle', a='wait']", 2.0, "a number in [0, 1]"),
        ),
        (
            '["idle", "wait", 0.2]',
            '["idle", "wait", nan]',
            r"cost\[s='idle', a='wait'\] is nan, expected a finite number",
        ),
        ("budget = 0.5", "budget = 4", ("budget[i='energy']", 4.0, "a number in [0, 3]")),
        (
            "budget = 0.5",
            "range = [0, 5]\nbudget = 20",
            ("budget[i='energy']", 20.0, "a number in [0, 15]"),
        ),
        (
            "budget = 0.5",
            "range = [-1, 0.5]\nbudget = 1",
            ("constraint_cost[i='energy', s='busy', a='serve']", 1.0, "a number in [-1, 0.5]"),
        ),
        (
            '"busy", "wait", "busy", 1]',
            '"busy", "wait", "busy", 0.8]',
            ("transition[s='busy', a='wait']", 0.8, "1 within 1e-06"),
        ),
        (
            '"busy", "wait", "busy", 1]',
            '"busy", "wait", "busy", -1]',
            ("transition[s='busy', a='wait', t='busy']", -1.0, "a probability of at least 0"),
        ),
    ],
)
def test_bad_values_survive_reading_and_stop_loading(tmp_path, old, new, said):
    assert old in TEXT
    path = tmp_path / "m.toml"
    path.write_text(TEXT.replace(old, new), encoding="utf-8")

    read_model(path)
    with refuses(ModelError, said):
        CMDP.load(path)


def test_a_state_without_rows_is_one_without_actions(tmp_path):
    text = TEXT.replace('  ["busy", "wait", "busy", 1],\n', "").replace(
        '  ["busy", "serve", "idle", 1.0],\n', ""
    )

    with refuses(
        ModelError, argument="allowed", entry="s='busy'", found="no action", expected="at least one"
    ):
        load(tmp_path, text)


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_corrupt_text_is_an_error_in_one_line_or_a_model(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("files") / "m.toml"
    content = bytearray(TEXT.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)

    try:
        CMDP.load(path)
    except ModelError as caught:
        error = str(caught)
    else:
        error = f"{path}: none"
    assert "\n" not in error
    assert error.startswith(str(path))


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
