"""CSV: separators, line breaks and quotation marks, and the lines in which they do not match."""

from __future__ import annotations

import pytest
from log_samples import ROWS, as_csv, read

import tightrope as tr
from tightrope.offline import steps


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
    with pytest.raises(tr.LogError, match=f"line {at}: quotation marks: .* expected after"):
        read(path)
    log = read(path, skip_bad=True)
    assert at in {fault.place for fault in log.faults}
    assert log.episode_names == (("a", "c") if at == 4 else ("a", "b"))


def test_a_quotation_mark_that_swallows_rows_is_told_where_it_opens(tmp_path):
    path = with_line(tmp_path, 4, 'b,0,"idle,wait,idle,10.0,0.0')
    for ending in ("", '"d",0,idle,go,busy,5.0,1.0\n'):
        path.write_text(path.read_text() + ending)
        with pytest.raises(
            tr.ModelError, match=r"log\.csv: line 4: a quotation mark is not closed"
        ):
            read(path, skip_bad=True)
    path.write_text(path.read_text().replace('"d"', 'd"'))
    with pytest.raises(tr.LogError, match=r"line 4: .* values, .* marks reach to line 8"):
        read(path)


def test_a_header_with_stray_quotation_marks_is_refused(tmp_path):
    for header in ('"episode"x,step', '"episode,step'):
        with pytest.raises(tr.ModelError, match=r"log\.csv: line 1: "):
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
