"""Logs of every format give the same episodes; what is wrong with one is told by line."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from log_samples import (
    COLUMNS,
    RANGES,
    ROWS,
    WRITERS,
    as_csv,
    changed,
    csv_at,
    json_episodes_at,
    json_rows_at,
    parquet_at,
)

import tightrope as tr
from tightrope.interop.logs import csv_steps, json_steps, parquet_steps


def read(path, **options):
    return tr.read_log(path, ranges=RANGES, **options)


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("block", [1, 4, 2000])
def test_every_format_gives_the_episodes_of_the_log_on_the_unit_scale(
    tmp_path, monkeypatch, form, block
):
    for module in (csv_steps, json_steps, parquet_steps):
        monkeypatch.setattr(module, "BLOCK", block)
    log = read(WRITERS[form](tmp_path))
    assert log.state_names == ("busy", "idle")
    assert log.action_names == ("go", "wait")
    assert log.episode_names == ("a", "b", "c")
    assert log.constraint_names == ("risk",)
    np.testing.assert_array_equal(log.episodes.states, [[1, 0, 1], [1, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(log.episodes.actions, [[0, 1], [1, 0], [0, 0]])
    np.testing.assert_array_equal(log.episodes.cost, [[0.5, 0], [1, 0.5], [0.25, 0.75]])
    np.testing.assert_array_equal(
        log.episodes.constraint_cost[:, 0], [[0.5, 0], [0, 1], [0.25, 0.5]]
    )
    assert (log.horizon, log.n_left_out, log.end) == (2, 0, None)
    assert log.layout == ("episodes" if form == "json episodes" else "rows")
    assert log.place == ("row" if form == "parquet" else "line")
    np.testing.assert_array_equal(log.starts, [0, 1])
    assert log.visits.sum() == 6
    assert log.visits[0, 1].tolist() == [2, 1]
    assert log.cost_unit.show(1.75) == pytest.approx(17.5)
    np.testing.assert_allclose(log.budget({"risk": 3.0}), [1.5])


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


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_may_have_other_separators_a_mark_and_windows_lines(tmp_path, separator):
    path = tmp_path / "log.csv"
    text = as_csv(delimiter=separator).replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(read(path).episodes) == 3


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
        (2, {"next_state": ""}, r"line 4 \(episode b\): next_state is missing"),
        (2, {"episode": ""}, r"line 4: episode is missing"),
        (2, {"step": "x"}, r"line 4 \(episode b\): step 'x', expected a whole number"),
        (2, {"step": 0.5}, r"line 4 \(episode b\): step '0.5', expected a whole number"),
        (3, {"step": 2}, r"line 5 \(episode b\): step 2 after step 0: what lies between"),
        (3, {"step": 0}, r"line 5 \(episode b\): step 0 again, after line 4"),
        (2, {"step": 1}, r"line 4 \(episode b\): the episode begins with step 1"),
        (3, {"state": "busy"}, r"line 5 \(episode b\): state 'busy', but line 4 went to 'idle'"),
    ],
)
def test_a_bad_row_is_told_with_its_line(tmp_path, at, values, message):
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


@pytest.mark.parametrize("writer", [csv_at, parquet_at, json_rows_at])
def test_blanks_around_names_are_no_part_of_them(tmp_path, writer):
    rows = [
        (f"{e} ", step, f" {s}", f"{a}\t", f"{t} ", *costs) for e, step, s, a, t, *costs in ROWS
    ]
    log = read(writer(tmp_path, rows))
    assert log.state_names == ("busy", "idle")
    assert log.action_names == ("go", "wait")
    assert log.episode_names == ("a", "b", "c")


def test_all_faults_are_kept_and_the_first_three_are_told(tmp_path):
    rows = [(f"e{k}", 0, "s", "a", "s", 2.0) for k in range(5)]
    with pytest.raises(tr.LogError, match=r"5 faults: line 2 .*; line 4 .*; and 2 more") as caught:
        tr.read_log(csv_at(tmp_path, rows, COLUMNS[:-1]))
    assert [fault.place for fault in caught.value.faults] == [2, 3, 4, 5, 6]
    with pytest.raises(tr.ModelError, match="no whole episode"):
        tr.read_log(csv_at(tmp_path, rows, COLUMNS[:-1]), skip_bad=True)


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


def test_names_of_thousands_of_digits_are_names(tmp_path):
    rows = [(1, 0, "9" * 5000, 0, "10", 0.5), (2, 0, "10", 0, "2", 0.5)]
    log = tr.read_log(csv_at(tmp_path, rows, COLUMNS[:-1]))
    assert log.state_names == ("2", "10", "9" * 5000)


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path):
    path = tmp_path / "log.parquet"
    columns = [pa.array(column) for column in zip(*ROWS, strict=True)]
    pq.write_table(pa.table(columns, names=[*COLUMNS[:-1], "cost"]), path)
    with pytest.raises(tr.ModelError, match=r"log\.parquet: the column 'cost' appears more than"):
        read(path)


def test_places_in_parquet_are_rows(tmp_path):
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): cost 11, expected"):
        read(parquet_at(tmp_path, changed(3, cost=11.0)))
    rows = [tuple(row) for row in changed(3, cost=None)]
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): cost is missing"):
        read(parquet_at(tmp_path, rows))
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): state is missing"):
        read(parquet_at(tmp_path, [tuple(row) for row in changed(3, state=None)]))


def test_a_step_of_parquet_is_a_whole_number(tmp_path):
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): step 1.5, expected a whole"):
        read(
            parquet_at(
                tmp_path,
                [(e, k * 1.5, *rest) if e == "b" else (e, k * 1.0, *rest) for e, k, *rest in ROWS],
            )
        )


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


def whole_ones(rows, horizon):
    """Episodes without a fault, by looking at them one after the other."""
    episodes = {}
    for row in rows:
        episodes.setdefault(row[0], []).append(row)
    first = min(row[1] for row in rows)
    good = []
    for name, steps in episodes.items():
        steps.sort(key=lambda row: row[1])
        ends = [row[-1] == "true" for row in steps]
        is_whole = (
            [row[1] for row in steps] == [first + k for k in range(len(steps))]
            and all(0 <= row[5] <= 1 for row in steps)
            and all(one[4] == two[2] for one, two in pairwise(steps))
            and not any(ends[:-1])
            and (len(steps) == horizon or (len(steps) < horizon and ends[-1]))
        )
        if is_whole:
            good.append(name)
    return good


@pytest.mark.parametrize("seed", range(20))
def test_the_same_episodes_are_left_out_as_by_looking_at_each(tmp_path, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(30):
        states = [str(s) for s in rng.integers(0, 3, 5)]
        length = 4 if rng.random() < 0.7 else int(rng.integers(1, 4))
        for h in range(length):
            over = "true" if h == length - 1 and (length < 4 or rng.random() < 0.2) else ""
            rows.append([f"e{k}", h, states[h], "a", states[h + 1], 0.5, over])
    for _ in range(8):
        row = rows[rng.integers(len(rows))]
        column = int(rng.choice([1, 2, 4, 5, 6]))
        row[column] = {1: int(rng.integers(0, 5)), 5: 1.5, 6: "true"}.get(column, "2")
    del rows[rng.integers(len(rows))]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    path = csv_at(tmp_path, rows, (*COLUMNS[:-1], "done"))
    log = tr.read_log(path, horizon=4, skip_bad=True)
    names = {row[0] for row in rows}
    good = whole_ones(rows, 4)
    assert {fault.episode for fault in log.faults} == names - set(good)
    assert (len(log.episodes), log.n_left_out) == (len(good), len(names) - len(good))
    lines = path.read_text().splitlines()
    assert all(lines[f.place - 1].startswith(f"{f.episode},") for f in log.faults)


EARLY = [
    ("a", 0, "idle", "go", "gone", 5.0, "true"),
    ("b", 0, "idle", "go", "idle", 5.0, "false"),
    ("b", 1, "idle", "go", "idle", 5.0, ""),
    ("c", 0, "idle", "go", "idle", 5.0, "no"),
    ("c", 1, "idle", "go", "", 5.0, "yes"),
]


def test_an_episode_that_is_over_waits_in_a_state_of_its_own(tmp_path):
    path = csv_at(tmp_path, EARLY, (*COLUMNS[:-1], "done"))
    log = tr.read_log(path, ranges={"cost": (-5.0, 15.0)})
    assert log.state_names == ("idle", "(end)")
    np.testing.assert_array_equal(log.episodes.states, [[0, 1, 1], [0, 0, 0], [0, 0, 1]])
    # nothing is paid after the end, which is a quarter of the way from -5 to 15
    np.testing.assert_array_equal(log.episodes.cost, [[0.5, 0.25], [0.5, 0.5], [0.5, 0.5]])
    assert log.end.state == 1
    np.testing.assert_array_equal(log.end.cost, [0.25])
    assert log.cost_unit.show(0.5 + 0.25) == pytest.approx(5.0)
    with pytest.raises(tr.ModelError, match=r"range of 'cost': \[1, 10\] does not hold 0"):
        tr.read_log(path, ranges={"cost": (1.0, 10.0)})


def test_a_terminal_state_ends_episodes_without_a_column(tmp_path):
    rows = [row[:-1] for row in EARLY[:3]]
    path = csv_at(tmp_path, rows, COLUMNS[:-1])
    options = {"ranges": {"cost": (0.0, 10.0)}}
    with pytest.raises(tr.LogError, match=r"line 2 \(episode a\): the episode ends after 1 of 2"):
        tr.read_log(path, **options)
    log = tr.read_log(path, **options, terminal=["gone"])
    assert log.end is not None
    assert len(log.episodes) == 2


def test_an_episode_that_is_over_just_at_the_horizon_ends_as_the_shorter_ones_do(tmp_path):
    columns, options = (*COLUMNS[:-1], "done"), {"ranges": {"cost": (0.0, 10.0)}}
    rows = [*EARLY[:4], ("c", 1, "idle", "go", "gone", 5.0, "yes")]
    for terminal in ((), ("gone",)):
        log = tr.read_log(csv_at(tmp_path, rows, columns), **options, terminal=terminal)
        assert log.state_names == ("idle", "(end)")
        np.testing.assert_array_equal(log.episodes.states, [[0, 1, 1], [0, 0, 0], [0, 0, 1]])


def test_done_in_the_last_step_of_all_episodes_says_only_that_time_is_out(tmp_path):
    columns = (*COLUMNS, "done")
    rows = [(*row, "true" if row[1] == 1 else "") for row in ROWS]
    path = csv_at(tmp_path, rows, columns)
    log = read(path)
    assert log.end is None
    np.testing.assert_array_equal(log.episodes.states, [[1, 0, 1], [1, 1, 0], [1, 1, 0]])
    timed = tr.read_log(csv_at(tmp_path, ROWS[2:4]), ranges=RANGES, terminal=["busy"])
    np.testing.assert_array_equal(timed.episodes.states, [[0, 0, 1]])
    assert timed.state_names == ("idle", "(end)")


@pytest.mark.parametrize("writer", [csv_at, parquet_at, json_rows_at])
def test_a_repeated_row_or_a_reused_name_spoils_one_episode_alone(tmp_path, writer):
    repeated = [*ROWS[:2], ROWS[1], *ROWS[2:]]
    reused = [*ROWS, *ROWS[:2]]
    shift = 1 if writer is csv_at else 0  # the header
    for rows, place in ((repeated, 3), (reused, 7)):
        log = read(writer(tmp_path, rows), skip_bad=True)
        (fault,) = log.faults
        assert (fault.place, fault.episode) == (place + shift, "a")
        assert " again, after " in fault.message
        assert (log.horizon, log.episode_names, log.n_left_out) == (2, ("b", "c"), 1)


def test_a_gap_or_a_jump_does_not_make_the_horizon_longer(tmp_path):
    longer = [("a", 3, "idle", "go", "idle", 5.0, 1.0), ("c", 2, "idle", "go", "idle", 5.0, 1.0)]
    log = read(csv_at(tmp_path, [*ROWS, *longer]), skip_bad=True)
    assert (log.horizon, log.episode_names) == (2, ("b",))
    assert [fault.message[:6] for fault in log.faults] == ["step 3", "state "]


def test_without_a_sound_episode_the_faults_are_still_told_for_what_they_are(tmp_path):
    rows = [row for row in changed(1, step=2) if row[0] == "a"]
    with pytest.raises(tr.LogError, match="step 2 after step 0: what lies between"):
        read(csv_at(tmp_path, rows))


def test_what_comes_after_the_end_or_the_horizon_is_a_fault(tmp_path):
    columns = (*COLUMNS[:-1], "done")
    options = {"ranges": {"cost": (0.0, 10.0)}}
    late = [*EARLY, ("c", 2, "idle", "go", "idle", 5.0, "")]
    with pytest.raises(tr.LogError, match=r"line 7 \(episode c\): .* line 6 said that it was over"):
        tr.read_log(csv_at(tmp_path, late, columns), **options)
    with pytest.raises(tr.LogError, match=r"line 4 \(episode b\): step 1 is past the horizon of 1"):
        tr.read_log(csv_at(tmp_path, EARLY, columns), horizon=1, **options)
    odd = [*EARLY[:4], (*EARLY[4][:-1], "maybe")]
    with pytest.raises(tr.LogError, match=r"line 6 \(episode c\): done 'maybe', expected true or"):
        tr.read_log(csv_at(tmp_path, odd, columns), **options)


def test_done_may_be_truth_values_or_numbers(tmp_path):
    columns = (*COLUMNS[:-1], "done")
    for yes, no in ((True, False), (1, 0), (1.0, 0.0)):
        rows = [(*row[:-1], yes if row[-1] in ("true", "yes") else no) for row in EARLY]
        for writer in (parquet_at, json_rows_at):
            log = tr.read_log(writer(tmp_path, rows, columns), ranges={"cost": (0.0, 10.0)})
            np.testing.assert_array_equal(log.episodes.states, [[0, 1, 1], [0, 0, 0], [0, 0, 1]])


def test_rewards_are_maximised(tmp_path):
    rows = [row[:-1] for row in ROWS]
    log = tr.read_log(
        csv_at(tmp_path, rows, (*COLUMNS[:-2], "reward")), ranges={"reward": (0.0, 10.0)}
    )
    np.testing.assert_array_equal(log.episodes.cost[0], [0.5, 1.0])
    assert log.cost_unit.is_maximised
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
def test_columns_and_options_that_cannot_be_are_named(tmp_path, columns, options, message):
    with pytest.raises(tr.ModelError, match=r"log\.csv: .*" + message):
        tr.read_log(csv_at(tmp_path, ROWS, columns), **{"ranges": RANGES, **options})


def test_the_file_is_named_even_when_the_message_begins_like_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tr.ModelError, match=r"^no: no such file$"):
        tr.read_log("no")


def test_files_that_are_no_logs_are_named(tmp_path):
    cases = {
        "nowhere.csv": (None, "nowhere.csv: no such file"),
        "log.xlsx": (b"x", "a log ends in .csv, .parquet"),
        "empty.csv": (b"", "no header"),
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
    with pytest.raises(tr.ModelError, match="a directory or device"):
        tr.read_log(tmp_path / "folder.csv")


def test_a_log_without_rows_has_no_episode(tmp_path):
    csv_at(tmp_path, [])
    empty = pa.table({name: pa.array([], type=pa.string()) for name in COLUMNS})
    pq.write_table(empty, tmp_path / "log.parquet")
    for name in ("log.csv", "log.parquet"):
        with pytest.raises(tr.ModelError, match="no whole episode"):
            tr.read_log(tmp_path / name)


def test_one_wrong_step_does_not_move_where_all_others_begin(tmp_path):
    rows = [[e, step + 1, *rest] for e, step, *rest in ROWS]
    rows[4][1] = 0
    with pytest.raises(tr.LogError, match=r"line 6 \(episode c\): the episode begins with step 0"):
        read(csv_at(tmp_path, rows))


def test_budgets_are_named_and_in_the_units_of_the_log(tmp_path):
    log = read(csv_at(tmp_path))
    for bounds, message in (
        ({}, "budget of 'risk': missing"),
        ({"risk": 1, "rsk": 1}, "budget of 'rsk': no such constraint, did you mean 'risk'"),
        ({"risk": 5}, r"budget of 'risk': 5, expected a number in \[0, 4\]"),
    ):
        with pytest.raises(tr.ModelError, match=message):
            log.budget(bounds)


def test_dictionary_columns_of_parquet_are_names(tmp_path):
    path = tmp_path / "log.parquet"
    table = pa.table(dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True)))
    for name in ("state", "action", "next_state"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].dictionary_encode())
    pq.write_table(table, path)
    assert read(path).state_names == ("busy", "idle")


def test_a_state_may_be_called_what_the_end_would_be(tmp_path):
    rows = [(1, 0, "(end)", "a", "", 0.5, "true"), (2, 0, "(end)", "a", "(end)", 0.5, "")]
    rows += [(2, 1, "(end)", "a", "(end)", 0.5, "")]
    log = tr.read_log(csv_at(tmp_path, rows, (*COLUMNS[:-1], "done")))
    assert log.state_names == ("(end)", "((end))")


def test_json_rows_may_leave_done_out(tmp_path):
    path = tmp_path / "log.jsonl"
    rows = [dict(zip((*COLUMNS[:-1], "done"), row, strict=True)) for row in EARLY]
    for row in rows:
        row["cost"] /= 10
        if row["done"] not in ("true", "yes"):
            del row["done"]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert len(tr.read_log(path).episodes) == 3
