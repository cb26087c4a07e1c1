"""Logs as they come out of spreadsheets and DataFrames: names, separators, encodings, ranges."""

from __future__ import annotations

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_samples import COLUMNS, RANGES, ROWS, as_csv, changed, csv_at, read

import tightrope as tr
from tightrope.offline.log import scaled_episodes
from tightrope.offline.quantities import SEPARATED, Quantity, decimal_of, propose_range
from tightrope.offline.steps import BLOCK


def same(log, other):
    """Whether two logs have the same names and episodes."""
    for name in ("states", "actions", "cost", "constraint_cost"):
        np.testing.assert_array_equal(
            getattr(scaled_episodes(log), name), getattr(scaled_episodes(other), name)
        )
    assert (log.state_names, log.action_names) == (other.state_names, other.action_names)
    return True


def test_a_data_frame_and_an_excel_sheet_are_read_as_the_csv_file(tmp_path):
    plain = read(csv_at(tmp_path))
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    assert same(tr.read_log(frame, ranges=RANGES), plain)
    frame.to_excel(tmp_path / "log.xlsx", index=False)
    assert same(read(tmp_path / "log.xlsx"), plain)


def sheet_at(folder, rows):
    """An Excel file whose rows end with their last value."""
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in rows:
        sheet.append(row)
    book.save(folder / "log.xlsx")
    return folder / "log.xlsx"


def test_empty_rows_of_a_sheet_are_not_rows_wherever_they_are(tmp_path):
    plain = read(csv_at(tmp_path))
    nothing, spaces = [None] * len(COLUMNS), [" "] * len(COLUMNS)
    # more than a block of them
    gap = [nothing] * (2 * BLOCK)
    assert same(read(sheet_at(tmp_path, [COLUMNS, *ROWS[:3], *gap, *ROWS[3:], spaces])), plain)
    text = as_csv([*ROWS[:3], [""] * len(COLUMNS), *ROWS[3:], ["", ""], spaces], delimiter=";")
    (tmp_path / "log.csv").write_text(f"{text}\n\n")
    assert same(read(tmp_path / "log.csv"), plain)


def test_rows_of_a_sheet_may_end_with_their_last_value(tmp_path):
    path = sheet_at(tmp_path, [COLUMNS, *ROWS[:5], ROWS[5][:6]])
    with pytest.raises(tr.LogError) as caught:
        read(path)
    assert [(fault.place, fault.episode) for fault in caught.value.faults] == [(7, "c")]


def test_columns_without_names_are_not_used(tmp_path):
    plain = read(csv_at(tmp_path))
    rows = [(*row, "", "a note", "") for row in ROWS]
    path = tmp_path / "log.csv"
    path.write_text(as_csv(rows, (*COLUMNS, "", "", ""), delimiter=";"))
    assert same(read(path), plain)
    path.write_text(as_csv(rows, ("All weeks", *[""] * 9)))
    with pytest.raises(tr.DataError, match=r"the log has 'All weeks'$"):
        read(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("mark", ["sep=;\r\n", ""])
def test_a_line_that_states_the_separator_and_breaks_in_names_are_read(tmp_path, mark, encoding):
    header = (*COLUMNS[:5], "cost\nin euros, net", COLUMNS[6])
    path = tmp_path / "log.csv"
    path.write_text(mark + as_csv(columns=header, delimiter=";"), encoding=encoding, newline="")
    options = {"columns": {"cost": header[5]}, "encoding": encoding}
    assert same(read(path, **options), read(csv_at(tmp_path / "..")))
    path.write_text(mark + as_csv([*ROWS[:5], ROWS[5][:4]], header, delimiter=";"), "utf-8")
    with pytest.raises(tr.LogError) as caught:
        read(path, **{**options, "encoding": "utf-8"})
    assert caught.value.faults[-1].place == 8 + bool(mark)  # a line of the file


def test_a_missing_value_in_a_data_frame_is_a_fault_of_its_row():
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    frame.loc[3, "cost"] = np.nan
    frame.loc[5, "state"] = None
    with pytest.raises(tr.LogError) as caught:
        tr.read_log(frame, ranges=RANGES)
    assert [(fault.place, fault.episode) for fault in caught.value.faults] == [(3, "b"), (5, "c")]
    assert (caught.value.n_bad, caught.value.n_episodes) == (2, 3)


def test_columns_may_differ_in_case_and_have_other_names(tmp_path):
    plain = read(csv_at(tmp_path))
    header = ("Episode", "STEP", "Machine", "Action", "Next State", "Cost", "Cost_Risk")
    path = csv_at(tmp_path, columns=header)
    assert same(read(path, columns={"state": "Machine"}, constraints=["risk"]), plain)
    with pytest.raises(tr.DataError) as caught:
        read(path)
    assert caught.value.argument == "column 'state'"
    with pytest.raises(tr.ConfigError) as caught:
        read(path, columns={"state": "Machina"})
    assert (caught.value.argument, caught.value.found) == ("column of 'state'", "Machina")
    for bad in ({"state": 3}, ["state"]):
        with pytest.raises(tr.ConfigError):
            read(path, columns=bad)


def test_a_named_column_goes_before_the_column_of_that_name(tmp_path):
    rows = [(*row, "nowhere") for row in ROWS]
    path = csv_at(tmp_path, rows, ("episode", "step", "place", *COLUMNS[3:], "state"))
    assert same(read(path, columns={"state": "place"}), read(csv_at(tmp_path)))


def test_steps_count_as_in_the_log(tmp_path):
    assert read(csv_at(tmp_path)).first_step == 0
    rows = [(row[0], row[1] + 1, *row[2:]) for row in ROWS]
    assert read(csv_at(tmp_path, rows)).first_step == 1


@pytest.mark.parametrize(("decimal", "style"), [(",", "{:_.2f}"), (".", "{:,.2f}")])
def test_decimal_commas_and_thousands_are_read_when_stated(tmp_path, decimal, style):
    def write(value):
        text = style.format(value)
        return text.replace(".", ",").replace("_", ".") if decimal == "," else text

    rows = [(*row[:5], write(1000 * row[5]), write(row[6])) for row in ROWS]
    path = tmp_path / "log.csv"
    path.write_text(as_csv(rows, delimiter=";"))
    ranges = {"cost": (0.0, 10_000.0), "risk": (0.0, 2.0)}
    assert same(tr.read_log(path, ranges=ranges, decimal=decimal), read(csv_at(tmp_path / "..")))


def test_decimal_commas_that_are_not_stated_are_named(tmp_path):
    rows = [(*row[:5], str(row[5]).replace(".", ","), row[6]) for row in ROWS]
    path = tmp_path / "log.csv"
    path.write_text(as_csv(rows, delimiter=";"))
    with pytest.raises(tr.LogError) as caught:
        read(path)
    assert caught.value.argument == "decimal"
    assert caught.value.n_bad == 3
    assert "decimal=',' reads them" in str(caught.value)
    with pytest.raises(tr.ConfigError) as refused:
        read(path, decimal=";")
    assert refused.value.argument == "decimal"


@given(st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 3)))
def test_numbers_written_in_both_styles_are_read_back(x):
    english = f"{x:,.3f}"
    german = english.translate(str.maketrans(",.", ".,"))
    for decimal, text in ((".", english), (",", german)):
        quantity = Quantity("cost", "cost", 0.0, 1.0, decimal=decimal)
        assert quantity.read([text]).tolist() == [x]
        assert quantity.read([x]).tolist() == [x]


@pytest.mark.parametrize(
    ("text", "expected"), [("1,5", True), ("1.234.567", True), ("1 234,5", True), ("n/a", False)]
)
def test_what_looks_like_a_number_with_separators_is_named_so(text, expected):
    quantity = Quantity("cost", "cost", 0.0, 1.0)
    assert quantity.complain(text).endswith(SEPARATED) == expected
    assert not quantity.complain("12").endswith(SEPARATED)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("1,5", ","),
        ("1.234,5", ","),
        ("1,234.5", "."),
        ("1.234.567", ","),
        ("1 234,567", ","),
        ("1,234", ""),
        ("1 234", ""),
        ("0,25", ","),
    ],
)
def test_the_decimal_mark_is_known_unless_a_number_may_be_read_in_both_ways(text, mark):
    assert decimal_of(text) == mark


def test_other_encodings_are_read_when_stated_and_proposed_when_not(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(as_csv([(f"{row[0]}é", *row[1:]) for row in ROWS]).encode("cp1252"))
    assert read(path, encoding="cp1252").episode_names == ("aé", "bé", "cé")
    for encoding in (None, "ascii", "no such"):
        with pytest.raises(tr.DataError) as caught:
            read(path, encoding=encoding)
        assert caught.value.argument == "encoding"


def test_a_range_is_proposed_when_most_values_are_outside(tmp_path):
    with pytest.raises(tr.LogError) as caught:
        tr.read_log(csv_at(tmp_path))
    assert caught.value.argument == "range of 'cost'"
    assert "cost=0:10" in str(caught.value)
    with pytest.raises(tr.LogError):
        tr.read_log(csv_at(tmp_path), skip_bad=True)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 48.5, (0.0, 50.0)),
        (2.0, 2.0, (0.0, 2.0)),
        (-7.0, 12.0, (-8.0, 15.0)),
        (1000.5, 1040.5, (1000.0, 1500.0)),
        (-0.03, -0.01, (-0.03, 0.0)),
    ],
)
def test_proposed_ranges_are_round_and_hold_the_data(low, high, expected):
    assert propose_range(low, high) == pytest.approx(expected)


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_every_proposed_range_holds_the_data(one, other):
    low, high = sorted((one, other))
    found = propose_range(low, high)
    assert found[0] <= low + 1e-11 * abs(low)
    assert found[1] >= high - 1e-11 * abs(high)


@pytest.mark.parametrize(
    ("decimal", "text"), [(".", "80,00"), (".", "1.250,25"), (".", "1,23,456"), (",", "1234.5")]
)
def test_a_number_in_the_other_style_is_not_misread(decimal, text):
    quantity = Quantity("cost", "cost", 0.0, 1.0, decimal=decimal)
    assert np.isnan(quantity.read([text])).all()
    assert {".": "1,234.5", ",": "1.234,5"}[decimal] in quantity.complain(text)


def with_costs(folder, costs):
    """A log with these costs, as text."""
    path = folder / "log.csv"
    rows = [(*row[:5], cost, row[6]) for row, cost in zip(ROWS, costs, strict=True)]
    path.write_text(as_csv(rows, delimiter=";"))
    return path


@pytest.mark.parametrize(
    ("costs", "decimal", "advice"),
    [
        (("0", "0", "2,5", "8", "0", "7,5"), None, "decimal=',' reads them"),
        (("0", "0", "2,5", "8", "0", "7,5"), ".", "decimal=',' reads them"),
        (("1,000", "2,000", "0", "0", "0", "0"), None, "decimal=',' or decimal='.'"),
        (("1234.5", "0", "0", "0", "0", "0"), ",", "decimal='.' reads them"),
        (("1.50,5", "0", "0", "0", "0", "0"), ",", "not all are written as 1.234,5"),
    ],
)
def test_a_decimal_comma_among_whole_numbers_is_named(tmp_path, costs, decimal, advice):
    with pytest.raises(tr.LogError) as caught:
        read(with_costs(tmp_path, costs), decimal=decimal)
    assert caught.value.argument == "decimal"
    assert advice in str(caught.value)


def test_a_comma_among_numbers_with_points_is_a_fault_of_its_row(tmp_path):
    with pytest.raises(tr.LogError) as caught:
        read(with_costs(tmp_path, ("0.5", "1.5", "2,5", "8", "0", "7.5")))
    assert [fault.place for fault in caught.value.faults] == [4]


def test_ranges_are_proposed_for_all_that_were_not_declared(tmp_path):
    costs = [(*row[:5], 0.1 * row[5], 0.55 * row[6]) for row in ROWS]  # one of six above 1
    with pytest.raises(tr.LogError) as caught:
        tr.read_log(csv_at(tmp_path, costs))
    assert caught.value.argument == "range of 'risk'"
    assert "such as risk=0:1.5 if" in str(caught.value)
    with pytest.raises(tr.LogError) as caught:
        tr.read_log(csv_at(tmp_path, costs), ranges={"risk": (0.0, 1.0)})
    assert [fault.place for fault in caught.value.faults] == [5]
    with pytest.raises(tr.LogError) as caught:
        tr.read_log(csv_at(tmp_path, [(*row[:5], row[5], 0.55 * row[6]) for row in ROWS]))
    assert "cost=0:10, risk=0:1.5 if" in str(caught.value)


def test_named_columns_may_differ_in_case(tmp_path):
    path = csv_at(tmp_path, columns=("episode", "step", "Machine", *COLUMNS[3:]))
    assert same(read(path, columns={"state": "machine"}), read(csv_at(tmp_path / "..")))


def test_files_that_are_no_text_in_utf8_are_recognized(tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(as_csv(delimiter="\t").encode("utf-16"))
    with pytest.raises(tr.DataError) as caught:
        read(path)
    assert (caught.value.argument, "'utf-16'" in str(caught.value)) == ("encoding", True)
    assert same(read(path, encoding="utf-16"), read(csv_at(tmp_path / "..")))
    pd.DataFrame(ROWS, columns=COLUMNS).to_excel(tmp_path / "log.xlsx", index=False)
    (tmp_path / "log.xlsx").rename(path)
    for encoding in (None, "cp1252"):
        with pytest.raises(tr.DataError) as caught:
            read(path, encoding=encoding)
        assert ".xlsx" in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("n/a", "cost n/a, expected a number instead of a missing value"),
        ("#N/A", "cost #N/A, expected a number instead of a missing value"),
        ("0.00 €", "cost 0.00 €, expected a number without '€'"),
        ("EUR 5.00 net", "cost EUR 5.00 net, expected a number without 'EUR' and 'net'"),
        ("#DIV/0!", "cost #DIV/0!, expected a number"),
        ("cheap", "cost cheap, expected a number"),
        ("11", "cost 11, expected a number in [0, 10]"),
        ("inf", "cost inf, expected a number in [0, 10]"),
    ],
)
def test_what_is_no_number_is_not_reported_as_out_of_range(tmp_path, value, message):
    with pytest.raises(tr.LogError) as caught:
        read(csv_at(tmp_path, changed(3, cost=value)))
    assert [fault.message for fault in caught.value.faults] == [message]


def test_a_range_may_differ_in_case_from_its_column(tmp_path):
    ranges = {"Cost": (0.0, 10.0), "RISK": (0.0, 2.0)}
    assert same(tr.read_log(csv_at(tmp_path), ranges=ranges), read(csv_at(tmp_path)))
    with pytest.raises(tr.ConfigError) as caught:
        tr.read_log(csv_at(tmp_path), ranges={**ranges, "cost": (0.0, 10.0)})
    assert caught.value.argument == "range of 'cost'"


def test_next_states_are_those_of_the_next_rows_where_they_are_not_given(tmp_path):
    """The last step of an episode needs one, or ``done``; the order of the rows does not matter."""
    plain = read(csv_at(tmp_path))
    rows = [(*row[:4], "" if row[1] == 0 else row[4], *row[5:]) for row in ROWS]
    assert same(read(csv_at(tmp_path, rows[::-1])), read(csv_at(tmp_path, ROWS[::-1])))
    assert same(read(csv_at(tmp_path, rows)), plain)
    with pytest.raises(tr.LogError) as caught:
        read(csv_at(tmp_path, [(*row[:4], "", *row[5:]) for row in ROWS]))
    assert [fault.place for fault in caught.value.faults] == [3, 5, 7]
    assert "or done" in caught.value.faults[0].message


def test_a_log_with_done_needs_no_next_states(tmp_path):
    columns = (*COLUMNS[:4], *COLUMNS[5:], "done")
    rows = [(*row[:4], *row[5:], row[1] == 1) for row in ROWS]
    log = read(csv_at(tmp_path, rows, columns))
    assert log.state_names == ("busy", "idle", "(end)")
    assert log.episodes.states.tolist() == [[1, 0, 2], [1, 1, 2], [1, 1, 2]]
    with pytest.raises(tr.DataError) as caught:
        read(csv_at(tmp_path, [row[:-1] for row in rows], columns[:-1]))
    assert caught.value.argument == "column 'next_state'"
    assert "if there is done" in str(caught.value)


def test_an_episode_ends_in_a_terminal_state_also_where_that_is_the_state_of_the_next_row(tmp_path):
    rows = [(*row[:4], "", *row[5:]) for row in ROWS[:2]]
    with pytest.raises(tr.LogError) as caught:
        read(csv_at(tmp_path, rows), terminal=["busy"])
    message = "the episode continues, but it had ended at line 2"
    assert caught.value.faults == ((3, "a", message),)


def test_other_spreadsheets_are_to_be_saved_as_xlsx(tmp_path):
    (tmp_path / "log.xls").write_bytes(b"")
    with pytest.raises(tr.ConfigError, match=r"save it as \.xlsx"):
        read(tmp_path / "log.xls")
