"""Steps from CSV, JSON Lines and Parquet: what is wrong with one is told by line or row."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from log_samples import (
    COLUMNS,
    EARLY,
    ROWS,
    as_csv,
    changed,
    json_episodes_at,
    json_rows_at,
    parquet_at,
    read,
)

import tightrope as tr
from refusals import refuses
from tightrope.offline import steps

REACH = "9 values, expected 7; a quotation extends to line 8"


def with_line(folder, at, line):
    """The log with one line replaced."""
    lines = as_csv().splitlines()
    lines[at - 1] = line
    path = folder / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("block", [1, 2, 2000])
@pytest.mark.parametrize("at", [4, 7])
def test_a_stray_quotation_mark_is_a_fault_of_its_line(tmp_path, monkeypatch, at, block):
    monkeypatch.setattr(steps, "BLOCK", block)
    path = with_line(tmp_path, at, 'b,0,"idle"x,wait,idle,10.0,0.0')
    with pytest.raises(tr.LogError) as caught:
        read(path)
    assert (at, "") in {(place, episode) for place, episode, _ in caught.value.faults}
    log = read(path, skip_bad=True)
    assert at in {fault.place for fault in log.faults}
    assert log.episode_names == (("a", "c") if at == 4 else ("a", "b"))


def test_an_unclosed_quotation_mark_is_reported_where_it_opens(tmp_path):
    path = with_line(tmp_path, 4, 'b,0,"idle,wait,idle,10.0,0.0')
    for ending in ("", '"d",0,idle,go,busy,5.0,1.0\n'):
        path.write_text(path.read_text() + ending)
        with refuses(tr.DataError, argument="line 4", found="a quotation mark is not closed there"):
            read(path, skip_bad=True)
    path.write_text(path.read_text().replace('"d"', 'd"'))
    with refuses(tr.LogError, faults=((4, "", REACH),)):
        read(path)


def test_a_header_with_stray_quotation_marks_is_refused(tmp_path):
    for header in ('"episode"x,step', '"episode,step'):
        with pytest.raises(tr.DataError, match=r"log\.csv: line 1: "):
            read(with_line(tmp_path, 1, header))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_may_have_other_separators_a_mark_and_windows_lines(tmp_path, separator):
    path = tmp_path / "log.csv"
    text = as_csv(delimiter=separator).replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(read(path).episodes) == 3


def test_lines_are_right_across_quoted_line_breaks_blank_and_ragged_lines(tmp_path):
    rows = [[value if value != "go" else "go\non" for value in row] for row in ROWS]
    rows[5][5] = 99.0
    text = as_csv(rows)
    lines = text.splitlines(keepends=True)
    # the header, a blank line, the first row on two lines, then a row cut short
    text = "".join([lines[0], "\n", *lines[1:3], "z,1\n", *lines[3:]])
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(tr.LogError) as caught:
        read(path)
    numbered = {text.splitlines()[fault.place - 1][:3] for fault in caught.value.faults}
    assert numbered == {"z,1", "c,1"}
    assert [fault.message[:8] for fault in caught.value.faults] == ["2 values", "cost 99."]


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
    with refuses(tr.LogError, faults=((2, "b", "cost inf, expected a number in [0, 10]"),)):
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
def test_a_bad_episode_in_json_is_reported_with_its_line(tmp_path, change, message):
    path = json_episodes_at(tmp_path, b=change)
    with pytest.raises(tr.LogError, match=r"line 2 \(episode b\): " + message):
        read(path)
    assert read(path, skip_bad=True).n_left_out == 1


def test_a_line_that_is_not_json_is_reported(tmp_path):
    path = json_rows_at(tmp_path)
    path.write_text(path.read_text() + "\n{oops\n[1]\n")
    with pytest.raises(tr.LogError) as caught:
        read(path)
    assert [fault.place for fault in caught.value.faults] == [8, 9]
    assert all(fault.message.startswith("not ") for fault in caught.value.faults)


def test_json_rows_may_leave_done_out(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [dict(zip((*COLUMNS[:-1], "done"), row, strict=True)) for row in EARLY]
    for row in rows:
        row["cost"] /= 10
        if row["done"] not in ("true", "yes"):
            del row["done"]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert len(tr.read_log(path).episodes) == 3


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path):
    path = tmp_path / "log.parquet"
    columns = [pa.array(column) for column in zip(*ROWS, strict=True)]
    pq.write_table(pa.table(columns, names=[*COLUMNS[:-1], "cost"]), path)
    with refuses(tr.DataError, argument="columns", found="cost"):
        read(path)


def test_places_in_parquet_are_rows(tmp_path):
    with refuses(tr.LogError, faults=((4, "b", "cost 11, expected a number in [0, 10]"),)):
        read(parquet_at(tmp_path, changed(3, cost=11.0)))
    rows = [tuple(row) for row in changed(3, cost=None)]
    with refuses(tr.LogError, faults=((4, "b", "cost is missing"),)):
        read(parquet_at(tmp_path, rows))
    with refuses(tr.LogError, faults=((4, "b", "state is missing"),)):
        read(parquet_at(tmp_path, [tuple(row) for row in changed(3, state=None)]))


def test_a_step_of_parquet_is_a_whole_number(tmp_path):
    with refuses(tr.LogError, faults=((4, "b", "step 1.5, expected a whole number"),)):
        read(
            parquet_at(
                tmp_path,
                [(e, k * 1.5, *rest) if e == "b" else (e, k * 1.0, *rest) for e, k, *rest in ROWS],
            )
        )


def test_dictionary_columns_of_parquet_are_names(tmp_path):
    path = tmp_path / "log.parquet"
    table = pa.table(dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True)))
    for name in ("state", "action", "next_state"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].dictionary_encode())
    pq.write_table(table, path)
    assert read(path).state_names == ("busy", "idle")
