"""Logs of every format give the same episodes; what is wrong with one is told by line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from log_samples import (
    COLUMNS,
    EARLY,
    RANGES,
    ROWS,
    WRITERS,
    changed,
    csv_at,
    json_rows_at,
    parquet_at,
    read,
)

import tightrope as tr
from tightrope.offline import steps
from tightrope.offline.log import scale_budget, scaled_episodes


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("block", [1, 4, 2000])
def test_every_format_gives_the_episodes_of_the_log_on_the_unit_scale(
    tmp_path, monkeypatch, form, block
):
    monkeypatch.setattr(steps, "BLOCK", block)
    log = read(WRITERS[form](tmp_path))
    assert log.state_names == ("busy", "idle")
    assert log.action_names == ("go", "wait")
    assert log.episode_names == ("a", "b", "c")
    assert log.constraint_names == ("risk",)
    np.testing.assert_array_equal(log.episodes.states, [[1, 0, 1], [1, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(log.episodes.actions, [[0, 1], [1, 0], [0, 0]])
    np.testing.assert_array_equal(scaled_episodes(log).cost, [[0.5, 0], [1, 0.5], [0.25, 0.75]])
    np.testing.assert_array_equal(
        scaled_episodes(log).constraint_cost[:, 0], [[0.5, 0], [0, 1], [0.25, 0.5]]
    )
    np.testing.assert_allclose(log.episodes.cost, 10 * scaled_episodes(log).cost)
    np.testing.assert_allclose(
        log.episodes.constraint_cost, 2 * scaled_episodes(log).constraint_cost
    )
    assert (log.horizon, log.n_left_out, log.end) == (2, 0, None)
    assert log.layout == ("episodes" if form == "json episodes" else "rows")
    assert log.place == ("row" if form == "parquet" else "line")
    np.testing.assert_array_equal(log.starts, [0, 1])
    assert log.visits.sum() == 6
    assert log.visits[0, 1].tolist() == [2, 1]
    assert log.cost_unit.show(1.75) == pytest.approx(17.5)
    np.testing.assert_allclose(scale_budget(log, {"risk": 3.0}), [1.5])


def test_rows_may_come_in_any_order_and_steps_from_one(tmp_path):
    straight = read(csv_at(tmp_path))
    shuffled = [(e, step + 1, *rest) for e, step, *rest in ROWS]
    shuffled = [shuffled[i] for i in (1, 3, 0, 4, 2, 5)]
    log = read(csv_at(tmp_path, shuffled))
    for mine, theirs in zip(
        vars(log.episodes).values(), vars(straight.episodes).values(), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_whole_numbers_are_names_in_their_own_order_whatever_the_format(tmp_path):
    rows = [(1, 0, 10, 0, 9, 0.5), (2, 0, 2, 0, 10, 0.5)]
    columns = COLUMNS[:-1]
    for writer in (csv_at, parquet_at, json_rows_at):
        assert tr.read_log(writer(tmp_path, rows, columns)).state_names == ("2", "9", "10")
    floats = [(1, 0, 10.0, 0, 9.0, 0.5), (2, 0, 2.0, 0, 10.0, 0.5)]
    assert tr.read_log(parquet_at(tmp_path, floats, columns)).state_names == ("2", "9", "10")


@pytest.mark.parametrize(
    ("at", "values", "message"),
    [
        (3, {"cost": 10.5}, r"line 5 \(episode b\): cost 10.5, expected a number in \[0, 10\]"),
        (3, {"cost": "dear"}, r"line 5 \(episode b\): cost dear, expected a number"),
        (3, {"cost": ""}, r"line 5 \(episode b\): cost is missing"),
        (3, {"cost": "nan"}, r"line 5 \(episode b\): cost nan"),
        (0, {"cost_risk": -0.1}, r"line 2 \(episode a\): cost_risk -0.1, expected .* \[0, 2\]"),
        (2, {"state": ""}, r"line 4 \(episode b\): state is missing"),
        (2, {"action": ""}, r"line 4 \(episode b\): action is missing"),
        (3, {"next_state": ""}, r"line 5 \(episode b\): next_state is missing in the last step"),
        (2, {"episode": ""}, r"line 4: episode is missing"),
        (2, {"step": "x"}, r"line 4 \(episode b\): step 'x', expected a whole number"),
        (2, {"step": 0.5}, r"line 4 \(episode b\): step '0.5', expected a whole number"),
        (3, {"step": 2}, r"line 5 \(episode b\): step 2 after step 0: the steps between"),
        (3, {"step": 0}, r"line 5 \(episode b\): step 0 again, after line 4"),
        (2, {"step": 1}, r"line 4 \(episode b\): the episode begins with step 1"),
        (3, {"state": "busy"}, r"line 5 \(episode b\): state 'busy', but line 4 went to 'idle'"),
    ],
)
def test_a_bad_row_is_reported_with_its_line(tmp_path, at, values, message):
    if values == {"step": 1}:
        rows = [row for k, row in enumerate(changed(at, **values)) if k != 3]
    else:
        rows = changed(at, **values)
    path = csv_at(tmp_path, rows)
    with pytest.raises(tr.LogError, match=message):
        read(path, horizon=2)
    log = read(path, horizon=2, skip_bad=True)
    bad = "a" if at == 0 else "b"
    assert {fault.episode for fault in log.faults} <= {bad, ""}
    assert (len(log.episodes), log.n_left_out) == (2, 1)


def test_unknown_names_are_bad_rows_when_the_names_are_given(tmp_path):
    options = {"states": ["idle", "busy", "broken"], "actions": ["wait", "go"]}
    log = read(csv_at(tmp_path), **options)
    assert log.state_names == ("idle", "busy", "broken")
    path = csv_at(tmp_path, changed(4, state="idel"))
    message = r"line 6 \(episode c\): state 'idel' is unknown, did you mean 'idle'\?"
    with pytest.raises(tr.LogError, match=message):
        read(path, **options)
    log = read(path, **options, skip_bad=True)
    assert len(log.episodes) == 2


def test_names_that_only_bad_episodes_have_are_no_states(tmp_path):
    log = read(csv_at(tmp_path, changed(4, state="idel", cost=99)), skip_bad=True)
    assert log.state_names == ("busy", "idle")


@pytest.mark.parametrize("writer", [csv_at, parquet_at, json_rows_at])
def test_blanks_around_names_are_no_part_of_them(tmp_path, writer):
    rows = [
        (f"{e} ", step, f" {s}", f"{a}\t", f"{t} ", *costs) for e, step, s, a, t, *costs in ROWS
    ]
    log = read(writer(tmp_path, rows))
    assert log.state_names == ("busy", "idle")
    assert log.action_names == ("go", "wait")
    assert log.episode_names == ("a", "b", "c")


def test_all_faults_are_stored_and_the_first_three_are_shown(tmp_path):
    rows = [(f"e{k}", 0, "s", "a", "s", "none") for k in range(5)]
    with pytest.raises(tr.LogError, match=r"5 faults: .*; and 2 more$") as caught:
        tr.read_log(csv_at(tmp_path, rows, COLUMNS[:-1]))
    assert [fault.place for fault in caught.value.faults] == [2, 3, 4, 5, 6]
    with pytest.raises(tr.DataError, match="no whole episode"):
        tr.read_log(csv_at(tmp_path, rows, COLUMNS[:-1]), skip_bad=True)


def test_names_of_thousands_of_digits_are_names(tmp_path):
    rows = [(1, 0, "9" * 5000, 0, "10", 0.5), (2, 0, "10", 0, "2", 0.5)]
    log = tr.read_log(csv_at(tmp_path, rows, COLUMNS[:-1]))
    assert log.state_names == ("2", "10", "9" * 5000)


def test_done_may_be_booleans_or_numbers(tmp_path):
    columns = (*COLUMNS[:-1], "done")
    for yes, no in ((True, False), (1, 0), (1.0, 0.0)):
        rows = [(*row[:-1], yes if row[-1] in ("true", "yes") else no) for row in EARLY]
        for writer in (parquet_at, json_rows_at):
            log = tr.read_log(writer(tmp_path, rows, columns), ranges={"cost": (0.0, 10.0)})
            np.testing.assert_array_equal(log.episodes.states, [[0, 1, 1], [0, 0, 0], [0, 0, 1]])


def test_rewards_are_maximized(tmp_path):
    rows = [row[:-1] for row in ROWS]
    log = tr.read_log(
        csv_at(tmp_path, rows, (*COLUMNS[:-2], "reward")), ranges={"reward": (0.0, 10.0)}
    )
    np.testing.assert_array_equal(scaled_episodes(log).cost[0], [0.5, 1.0])
    np.testing.assert_array_equal(log.episodes.cost[0], [5.0, 0.0])
    assert log.cost_unit.is_maximized
    assert log.cost_unit.show(1.5) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (("episod", *COLUMNS[1:]), {}, "column 'episode': missing, did you mean 'episod'"),
        ((*COLUMNS[:5], "price", "x"), {}, "neither cost nor reward among the columns"),
        ((*COLUMNS[:5], "cost", "reward"), {}, "both cost and reward among the columns"),
        (COLUMNS, {"constraints": ["rsk"]}, "column 'rsk': missing"),
        (COLUMNS, {"constraints": ["risk", "risk"]}, "constraint 'risk': named twice"),
        (COLUMNS, {"ranges": {"rsik": (0, 1)}}, "range of 'rsik': no such quantity, did you mean"),
        (COLUMNS, {"ranges": {"cost": (1, 0)}}, "range of 'cost': .* the lower one first"),
        (COLUMNS, {"horizon": 0}, "horizon: 0, expected a whole number of at least 1"),
        (("episode", "episode", *COLUMNS[2:]), {}, "line 1: the column 'episode' appears more"),
    ],
)
def test_invalid_columns_and_options_are_named(tmp_path, columns, options, message):
    with pytest.raises(tr.ModelError, match=r"log\.csv: .*" + message):
        tr.read_log(csv_at(tmp_path, ROWS, columns), **{"ranges": RANGES, **options})


def test_the_file_is_named_even_when_the_message_begins_like_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tr.DataError, match=r"^no: no such file$"):
        tr.read_log("no")


def test_files_that_are_no_logs_are_named(tmp_path):
    cases = {
        "nowhere.csv": (None, "nowhere.csv: no such file"),
        "log.ods": (b"x", "a log ends in .csv, .tsv, .parquet"),
        "log.xlsx": (b"x", "not an Excel file"),
        "empty.csv": (b"", "header: missing"),
        "empty.jsonl": (b"", "no line is a JSON object"),
        "bad.parquet": (b"PAR", "not a Parquet file"),
        "latin.csv": ("caf\xe9,b\n".encode("latin-1"), "not UTF-8 text"),
        "latin.jsonl": ("{\xe9".encode("latin-1"), "not UTF-8 text"),
        "quote.csv": (
            (",".join(COLUMNS) + '\n"a,1\n').encode(),
            "line 2: quotation marks: unexpected end of",
        ),
    }
    for name, (content, message) in cases.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(tr.ModelError, match=message):
            tr.read_log(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(tr.DataError, match="a directory or device"):
        tr.read_log(tmp_path / "folder.csv")


def test_a_log_without_rows_has_no_episode(tmp_path):
    csv_at(tmp_path, [])
    empty = pa.table({name: pa.array([], type=pa.string()) for name in COLUMNS})
    pq.write_table(empty, tmp_path / "log.parquet")
    for name in ("log.csv", "log.parquet"):
        with pytest.raises(tr.DataError, match="no whole episode"):
            tr.read_log(tmp_path / name)


def test_budgets_are_named_and_in_the_units_of_the_log(tmp_path):
    log = read(csv_at(tmp_path))
    for bounds, message in (
        ({}, "budget of 'risk': missing"),
        ({"risk": 1, "rsk": 1}, "budget of 'rsk': no such constraint, did you mean 'risk'"),
        ({"risk": 5}, r"budget of 'risk': 5, expected a number in \[0, 4\]"),
    ):
        with pytest.raises(tr.ModelError, match=message):
            scale_budget(log, bounds)
