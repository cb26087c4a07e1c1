"""Steps and episodes in JSON Lines: what is wrong with one is told by line."""

from __future__ import annotations

import json

import pytest
from log_samples import COLUMNS, EARLY, json_episodes_at, json_rows_at, read

import tightrope as tr


@pytest.mark.parametrize("digits", ["1" + "0" * 400, "-1" + "0" * 400, "1" + "0" * 5000])
@pytest.mark.parametrize("column", ["cost", "step"])
def test_a_number_past_all_floats_is_a_fault_of_its_line(tmp_path, column, digits):
    path = json_rows_at(tmp_path)
    lines = path.read_text().splitlines()
    kept = {"cost": '"cost": 5.0', "step": '"step": 1'}[column]
    lines[3] = lines[3].replace(kept, f'"{column}": {digits}')
    path.write_text("\n".join(lines))
    log = read(path, skip_bad=True)
    assert 4 in {fault.place for fault in log.faults}
    assert log.episode_names == ("a", "c")
    with pytest.raises(tr.LogError, match="line 4"):
        read(path)


def test_an_episode_in_json_with_a_number_past_all_floats_is_left_out(tmp_path):
    path = json_episodes_at(tmp_path, b={"cost": [10**400, 1]})
    with pytest.raises(tr.LogError, match=r"line 2 \(episode b\): cost inf, expected a number"):
        read(path)
    assert read(path, skip_bad=True).episode_names == ("a", "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": ["idle"]}, "1 states for 2 actions, expected one more than actions"),
        ({"actions": "go"}, "expected lists of states and actions"),
        ({"cost": [1.0]}, "cost: expected a list of 2 numbers"),
        ({"constraint_cost": {}}, "cost_risk: expected a list of 2 numbers"),
        ({"cost": [1.0, 11.0]}, r"cost 11, expected a number in \[0, 10\]"),
        ({"cost": [1.0, None]}, "cost is missing"),
    ],
)
def test_a_bad_episode_in_json_is_told_with_its_line(tmp_path, change, message):
    path = json_episodes_at(tmp_path, b=change)
    with pytest.raises(tr.LogError, match=r"line 2 \(episode b\): " + message):
        read(path)
    assert read(path, skip_bad=True).n_left_out == 1


def test_a_line_that_is_not_json_is_told(tmp_path):
    path = json_rows_at(tmp_path)
    path.write_text(path.read_text() + "\n{oops\n[1]\n")
    with pytest.raises(tr.LogError, match=r"2 faults: line 8: not JSON.*; line 9: not a JSON obj"):
        read(path)


def test_json_rows_may_leave_done_out(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [dict(zip((*COLUMNS[:-1], "done"), row, strict=True)) for row in EARLY]
    for row in rows:
        row["cost"] /= 10
        if row["done"] not in ("true", "yes"):
            del row["done"]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert len(tr.read_log(path).episodes) == 3
