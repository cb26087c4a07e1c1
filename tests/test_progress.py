"""Progress shown during work."""

from __future__ import annotations

import io
import sys
from time import sleep
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

from tightrope import compiling, progress
from tightrope.compiling import CompileClock
from tightrope.progress import Work, working


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.02)


def paper(monkeypatch, *, terminal):
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, legacy_windows=False)
    monkeypatch.setattr(progress, "err", lambda: console)
    return console.file


def test_quick_work_is_done_in_silence(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 1.0)
    file = paper(monkeypatch, terminal=False)
    with working("solving"):
        pass
    assert file.getvalue() == ""


def test_longer_work_is_reported_in_plain_lines_with_rate_and_time(monkeypatch, impatient):
    file = paper(monkeypatch, terminal=False)
    with working("solving grid", "sweeps") as work:
        work.report(120, 0.5, "gap 0.1")
        sleep(0.2)
    lines = file.getvalue().splitlines()
    assert 2 <= len(lines) <= 5, "lines come at growing intervals"
    assert lines[0].startswith("tightrope: solving grid: 0 s, 120 sweeps, ")
    assert lines[0].endswith("/s, gap 0.1, about 0 s left")
    assert "\x1b" not in file.getvalue()


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch, impatient):
    file = paper(monkeypatch, terminal=True)
    with working("solving grid", "sweeps") as work:
        work.report(120, note="gap 0.1")
        sleep(0.3)
    assert "solving grid" in file.getvalue()
    assert "120 sweeps" in file.getvalue()
    assert file.getvalue().rstrip().endswith("\x1b[2K"), "the last thing done is to erase the line"


def test_the_watch_ends_when_the_work_fails(monkeypatch, impatient):
    file = paper(monkeypatch, terminal=False)

    def fail():
        with working("solving"):
            sleep(0.05)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    before = file.getvalue()
    sleep(0.1)
    assert file.getvalue() == before


def test_a_share_of_the_work_never_shrinks():
    work = Work("solving")
    for share in (0.4, 0.3, 2.0):
        work.report(1, share)
    assert work.share == 1.0
    work = Work("solving")
    work.report(1, 0.4)
    work.report(2)
    assert work.share == 0.4


def test_one_figure_is_reported_in_the_singular():
    work = Work("drawing", "figures")
    work.report(1)
    assert ", 1 figure, " in work.words()
    work.report(2)
    assert ", 2 figures, " in work.words()


class FakeDisplay:
    """What IPython.display does, written down."""

    HTML = str

    def __init__(self):
        self.shown = []

    def display(self, content, display_id):
        assert display_id is True
        self.shown.append(content)
        return self

    def update(self, content):
        self.shown.append(content)


def test_a_notebook_gets_one_cell_that_is_updated_and_emptied(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    display = FakeDisplay()
    monkeypatch.setattr(progress, "_find_notebook", lambda: progress.Notebook(display))
    with working("learning <b>", "episodes") as work:
        work.report(10, 0.25)
        work.report(20, 0.5)
    first, second, last = display.shown
    assert first.startswith('<div>learning &lt;b&gt; <progress value="0.2500"></progress> 0 s')
    assert "20 episodes" in second
    assert last == ""


def test_only_the_kernel_of_a_notebook_counts_as_one(monkeypatch):
    shell = SimpleNamespace()
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = FakeDisplay()
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert progress._find_notebook() is None  # IPython in a terminal
    shell.kernel = object()
    assert progress._find_notebook().display is ipython.display


def test_compiling_is_named_and_left_out_of_rates_and_time_left(monkeypatch):
    clock, now = CompileClock(), [100.0]
    monkeypatch.setattr(compiling, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "CLOCK", clock)
    work = Work("learning", "episodes", since=now[0])
    clock.start()
    clock.start()  # a function compiles one that it calls
    now[0] += 30.0
    clock.stop()
    assert work.words() == "30 s, compiling kernels (once per machine)"
    clock.stop()
    now[0] += 10.0
    work.report(50, 0.5)
    assert work.words() == "40 s, 50 episodes, 5.0/s, about 10 s left"
    work.compiled_elsewhere = 5.0
    assert work.words() == "40 s, 50 episodes, 10/s, about 5 s left"


def test_quiet_work_is_silent(monkeypatch, impatient):
    file = paper(monkeypatch, terminal=True)
    monkeypatch.setattr(progress.SETTINGS, "is_quiet", True)
    with working("solving grid"):
        sleep(0.1)
    assert file.getvalue() == ""
