"""Told episodes from files of every format are the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tightrope as tr
from telling import as_line, episode, shape
from tightrope.study.telling import entry_of, told_in

TERMS = shape()
COLUMNS = ("episode", "step", "state", "action", "next_state", "cost", "wear", "cost_noise")


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
def test_files_of_every_format_tell_the_same_episodes(tmp_path, kind):
    task = TERMS.task()
    found = [entry_of(told, TERMS, task) for told in told_in([written(tmp_path, kind)], TERMS)]
    assert found == [entry_of(episode(k), TERMS, task) for k in range(4)]


def test_where_states_are_named_by_numbers_every_format_means_the_names(tmp_path):
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


def test_faults_of_a_table_are_told_by_line_and_nothing_is_told(tmp_path):
    path = written(tmp_path, "csv")
    path.write_text(path.read_text().replace("worn", "wron", 1))
    with pytest.raises(tr.LogError, match=r"told\.csv: .*line \d+ .*'wron' is unknown, did you"):
        next(told_in([path], TERMS))


def test_an_episode_that_is_over_early_is_none_of_a_study(tmp_path):
    path = tmp_path / "told.csv"
    path.write_text(f"{','.join(COLUMNS)},done\nx,0,fine,hard,,0.5,0,0,true\n")
    with pytest.raises(tr.ModelError, match="an episode is over early, expected 3 steps of all"):
        next(told_in([path], TERMS))


def test_other_units_are_the_same_in_every_format(tmp_path):
    terms = replace(TERMS, ranges={"cost": [0, 3]})  # thirds are not exact in any format
    found = []
    for kind in ("jsonl", "csv", "parquet"):
        (told,) = list(told_in([written(tmp_path, kind)], terms))[:1]
        found.append(entry_of(told, terms, terms.task()).content)
    assert found[0] == found[1] == found[2]
