"""Quotation marks of CSV that do not match: one line is lost, or the file is refused by line."""

from __future__ import annotations

import pytest
from log_samples import RANGES, as_csv

import tightrope as tr
from tightrope.interop.logs import csv_steps


def read(path, **options):
    return tr.read_log(path, ranges=RANGES, **options)


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
    monkeypatch.setattr(csv_steps, "BLOCK", block)
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
