"""Rows put together to episodes: where one ends, and which are not whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from log_samples import (
    COLUMNS,
    EARLY,
    RANGES,
    ROWS,
    changed,
    csv_at,
    json_rows_at,
    parquet_at,
    read,
)

import tightrope as tr
from refusals import refuses
from tightrope.offline.log import scaled_episodes

LONG = "step 1 is past the horizon of 1 steps"


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


def test_an_episode_that_is_over_waits_in_a_state_of_its_own(tmp_path):
    path = csv_at(tmp_path, EARLY, (*COLUMNS[:-1], "done"))
    log = tr.read_log(path, ranges={"cost": (-5.0, 15.0)})
    assert log.state_names == ("idle", "(end)")
    np.testing.assert_array_equal(log.episodes.states, [[0, 1, 1], [0, 0, 0], [0, 0, 1]])
    # nothing is paid after the end, which is a quarter of the way from -5 to 15
    np.testing.assert_array_equal(scaled_episodes(log).cost, [[0.5, 0.25], [0.5, 0.5], [0.5, 0.5]])
    assert log.end.state == 1
    np.testing.assert_allclose(log.end.cost, [0.0], atol=1e-12)
    assert log.cost_unit.show(0.5 + 0.25) == pytest.approx(5.0)
    with refuses(tr.ConfigError, argument="range of 'cost'", found="[1, 10]"):
        tr.read_log(path, ranges={"cost": (1.0, 10.0)})


def test_a_terminal_state_ends_episodes_without_a_column(tmp_path):
    rows = [row[:-1] for row in EARLY[:3]]
    path = csv_at(tmp_path, rows, COLUMNS[:-1])
    options = {"ranges": {"cost": (0.0, 10.0)}}
    with refuses(
        tr.LogError,
        faults=((2, "a", "the episode ends after 1 of 2 steps without done or a terminal state"),),
    ):
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


def test_done_in_the_last_step_of_all_episodes_means_the_end_of_time(tmp_path):
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
def test_a_repeated_row_or_a_reused_name_invalidates_one_episode_only(tmp_path, writer):
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


def test_without_a_valid_episode_the_faults_are_still_reported(tmp_path):
    rows = [row for row in changed(1, step=2) if row[0] == "a"]
    with refuses(
        tr.LogError, faults=((3, "a", "step 2 after step 0: the steps between are missing"),)
    ):
        read(csv_at(tmp_path, rows))


def test_what_comes_after_the_end_or_the_horizon_is_a_fault(tmp_path):
    columns = (*COLUMNS[:-1], "done")
    options = {"ranges": {"cost": (0.0, 10.0)}}
    late = [*EARLY, ("c", 2, "idle", "go", "idle", 5.0, "")]
    with refuses(
        tr.LogError, faults=((7, "c", "the episode continues, but it had ended at line 6"),)
    ):
        tr.read_log(csv_at(tmp_path, late, columns), **options)
    with refuses(tr.LogError, faults=((4, "b", LONG), (6, "c", LONG))):
        tr.read_log(csv_at(tmp_path, EARLY, columns), horizon=1, **options)
    odd = [*EARLY[:4], (*EARLY[4][:-1], "maybe")]
    with refuses(tr.LogError, faults=((6, "c", "done 'maybe', expected true or false"),)):
        tr.read_log(csv_at(tmp_path, odd, columns), **options)


def test_one_wrong_step_does_not_move_where_all_others_begin(tmp_path):
    rows = [[e, step + 1, *rest] for e, step, *rest in ROWS]
    rows[4][1] = 0
    with refuses(tr.LogError, faults=((6, "c", "the episode begins with step 0, expected 1"),)):
        read(csv_at(tmp_path, rows))


def test_a_state_may_be_called_what_the_end_would_be(tmp_path):
    rows = [(1, 0, "(end)", "a", "", 0.5, "true"), (2, 0, "(end)", "a", "(end)", 0.5, "")]
    rows += [(2, 1, "(end)", "a", "(end)", 0.5, "")]
    log = tr.read_log(csv_at(tmp_path, rows, (*COLUMNS[:-1], "done")))
    assert log.state_names == ("(end)", "((end))")
