"""Episodes as they are told: names or numbers, files of every format, one form in the database."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tightrope as tr
from draws import MANY
from refusals import refuses
from telling import as_line, episode, shape
from tightrope.study.telling import entry_of, episode_of, line_of, read_lines, told_in

TERMS = shape()
TASK = TERMS.task()
COLUMNS = ("episode", "step", "state", "action", "next_state", "cost", "wear", "cost_noise")
unit = st.floats(0, 1)
three = st.lists(unit, min_size=3, max_size=3)


@MANY
@given(three, three, three)
def test_what_is_written_down_is_read_back_to_the_last_bit(cost, wear, noise):
    told = episode(5, cost=cost, constraint_cost={"noise": noise, "wear": wear})
    found = episode_of(entry_of(told, TERMS, TASK).content, 2)
    np.testing.assert_array_equal(found.cost, np.abs(cost))
    np.testing.assert_array_equal(found.constraint_cost, np.abs([wear, noise]))
    assert (list(found.states), list(found.actions)) == (told.states, told.actions)


def test_equal_episodes_have_equal_text():
    numbers = episode(1, cost=[0, 1, 0.0], constraint_cost={"wear": [0, 0, 0], "noise": [1, 1, 1]})
    names = episode(
        1,
        states=["fine", "worn", "fine", "fine"],
        actions=np.array([1, 0, 0]),
        cost=[-0.0, 1.0, 0],
        constraint_cost={"noise": np.ones(3), "wear": [-0.0, 0, 0]},
    )
    assert entry_of(numbers, TERMS, TASK) == entry_of(names, TERMS, TASK)


def test_without_constraints_there_are_no_constraint_costs():
    terms = shape(budget={})
    entry = entry_of(episode(1, constraint_cost={}), terms, terms.task())
    assert episode_of(entry.content, 0).constraint_cost.shape[0] == 0


BAD = {
    "no id": ({"episode": ""}, r"episode: '', expected 1 to 200 printable characters"),
    "a long id": ({"episode": "x" * 201}, "expected 1 to 200 printable"),
    "a NUL": ({"episode": "a\0b"}, "expected 1 to 200 printable"),
    "half a character": ({"episode": "\ud800"}, "expected 1 to 200 printable"),
    "no text": ({"episode": None}, "episode: None, expected"),
    "unknown state": ({"states": [0, "lost", 0, 0]}, r"states\[1\]: 'lost' is none of fine, worn"),
    "number too large": ({"states": [0, 3, 0, 0]}, r"states\[1\]: 3, expected a number below 3"),
    "a word": ({"states": "fine"}, "states: 'fine', expected a list"),
    "true": ({"actions": [True, 0, 0]}, r"actions\[0\]: True"),
    "a float": ({"actions": [0.5, 0, 0]}, r"actions\[0\]: 0\.5"),
    "too short": ({"states": [0, 0]}, r"episode\.states: .*expected 4 whole numbers"),
    "a policy": ({"policy": "last"}, "policy: 'last', expected a whole number"),
    "cost in words": ({"cost": ["a", "b", "c"]}, r"cost: expected an array of real"),
    "a flat list": ({"constraint_cost": [0, 0, 0]}, "constraint_cost: expected an object"),
    "unknown constraint": (
        {"constraint_cost": {"heat": [0, 0, 0]}},
        "constraint_cost: 'heat' is no constraint; expected wear, noise",
    ),
    "missing constraint": (
        {"constraint_cost": {"wear": [0, 0, 0]}},
        "constraint_cost: 'noise' is missing",
    ),
    "short constraint": (
        {"constraint_cost": {"wear": [0, 0], "noise": [0, 0, 0]}},
        r"constraint_cost\['wear'\]: expected 3 numbers",
    ),
    "ragged constraint": (
        {"constraint_cost": {"wear": [0, [0], 0], "noise": [0, 0, 0]}},
        r"constraint_cost\['wear'\]: expected an array of real numbers",
    ),
    "constraint in words": (
        {"constraint_cost": {"wear": ["x", "y", "z"], "noise": [0, 0, 0]}},
        r"constraint_cost\['wear'\]: expected an array of real numbers",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_an_invalid_episode_is_refused_by_name(change, message):
    with pytest.raises(tr.DataError, match=message):
        entry_of(episode(1, **change) if "episode" not in change else told(change), TERMS, TASK)


def told(change):
    return tr.Told(**(vars(episode(1)) | change))


def test_lines_are_read_with_numbers_and_names():
    lines = [
        json.dumps(as_line(episode(1))),
        "",
        json.dumps({**as_line(episode(2)), "episode": 17}),
    ]
    found = list(read_lines(lines, "log"))
    assert found[0] == episode(1)
    assert found[1].episode == "17"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": [0, 9, 0, 0]}, r"^log, line 2: episode 'day 1': states\[1\]: 9"),
        ({"episode": ""}, "^log, line 2: episode: '', expected 1 to 200"),
    ],
)
def test_a_line_with_an_invalid_episode_is_named(change, message):
    (found,) = read_lines(["\n", json.dumps(as_line(episode(1)) | change)], "log")
    with pytest.raises(tr.DataError, match=message):
        entry_of(found, TERMS, TASK)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "log, line 2: no JSON"),
        ("[" * 100_000, "log, line 2: no JSON"),
        ("[1]", "log, line 2: expected an object with the key 'episode'"),
        ('{"episode": "a"}', "log, line 2: no 'actions'; keys: actions, constraint_cost, cost"),
        (
            json.dumps({**as_line(episode(1)), "reward": 1}),
            "log, line 2: unknown key 'reward'",
        ),
    ],
)
def test_a_line_that_is_no_episode_is_named(line, message):
    with pytest.raises(tr.DataError, match=message):
        list(read_lines(["\n", line], "log"))


def rows(told):
    """An episode with one step a row."""
    states = [TERMS.states[s] for s in told.states]
    for h, action in enumerate(told.actions):
        bounded = told.constraint_cost["wear"][h], told.constraint_cost["noise"][h]
        name = TERMS.actions[action]
        yield told.episode, h, states[h], name, states[h + 1], told.cost[h], *bounded


def written(folder, kind):
    told = [episode(k) for k in range(4)]
    path = folder / f"told.{kind}"
    table = [row for each in told for row in rows(each)]
    if kind == "jsonl":
        path.write_text("".join(json.dumps(as_line(each)) + "\n" for each in told))
    elif kind == "csv":
        lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in table)]
        path.write_text("\n".join(lines))
    else:
        columns = zip(*table, strict=True)
        pq.write_table(pa.table(dict(zip(COLUMNS, columns, strict=True))), path)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_files_of_every_format_give_the_same_episodes(tmp_path, kind):
    task = TERMS.task()
    found = [entry_of(told, TERMS, task) for told in told_in([written(tmp_path, kind)], TERMS)]
    assert found == [entry_of(episode(k), TERMS, task) for k in range(4)]


def test_numbers_as_states_are_names_in_every_format(tmp_path):
    terms = replace(TERMS, states=["1", "2", "3"])
    table, lines = tmp_path / "told.csv", tmp_path / "told.jsonl"
    row = "x,{},{},hard,{},0,0,0"
    steps = [row.format(h, h + 1, min(h + 2, 3)) for h in range(3)]
    table.write_text("\n".join([",".join(COLUMNS), *steps]))
    told = {"states": ["1", 2, 3, "3"], "actions": [0, 0, 0], "cost": [0, 0, 0]}
    bounded = {"wear": [0, 0, 0], "noise": [0, 0, 0]}
    lines.write_text(json.dumps({"episode": "x", **told, "constraint_cost": bounded}))
    found = [entry_of(each, terms, terms.task()) for each in told_in([table, lines], terms)]
    assert found[0] == found[1]
    assert json.loads(found[0].content)["states"] == [0, 1, 2, 2]


def test_faults_of_a_table_are_reported_by_line_and_nothing_is_recorded(tmp_path):
    path = written(tmp_path, "csv")
    path.write_text(path.read_text().replace("worn", "wron", 1))
    with refuses(
        tr.LogError, faults=((5, "day 1", "next_state 'wron' is unknown, did you mean 'worn'?"),)
    ):
        next(told_in([path], TERMS))


def test_an_episode_that_is_over_early_is_none_of_a_study(tmp_path):
    path = tmp_path / "told.csv"
    path.write_text(f"{','.join(COLUMNS)},done\nx,0,fine,hard,,0.5,0,0,true\n")
    with refuses(tr.DataError, found="an episode ends early", expected="3 steps of each"):
        next(told_in([path], TERMS))


def test_other_units_are_the_same_in_every_format(tmp_path):
    terms = replace(TERMS, ranges={"cost": [0, 3]})  # thirds are not exact in any format
    found = []
    for kind in ("jsonl", "csv", "parquet"):
        (told,) = list(told_in([written(tmp_path, kind)], terms))[:1]
        found.append(entry_of(told, terms, terms.task()).content)
    assert found[0] == found[1] == found[2]


@given(
    st.lists(st.integers(0, 300_000), min_size=1, max_size=5),
    st.sampled_from([(0.0, 3000.0), (-2000.0, 3000.0), (0.0, 1e7), (0.0, 4.0), (0.0, 3000.5)]),
)
def test_costs_are_written_down_as_they_were_told(hundredths, limits):
    low, high = limits
    costs = [min(low + k / 100, high) for k in hundredths]
    costs = [round(cost, 2) for cost in costs]
    steps = len(costs)
    terms = tr.Terms(["on"], ["run"], steps, {}, 9, ranges={"cost": limits})
    told = tr.Told("a", ["on"] * (steps + 1), ["run"] * steps, costs, {})
    entry = entry_of(told, terms, terms.task())
    line = line_of("a", entry.content, None, terms)
    assert line["cost"] == costs
    again = entry_of(tr.Told(**line), terms, terms.task())
    assert again.content == entry.content
