"""Commands do their work whatever happens to the standard streams, and end cleanly on signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from shop import CALL, shop_at

import tightrope as tr
from telling import episode, shape

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


def in_shell(redirection: str, *words: str, **more: object) -> subprocess.CompletedProcess[str]:
    """Run a command with a redirection of the shell, its other streams captured."""
    line = ["sh", "-c", f'"$@" {redirection}', "sh", *CALL, *words]
    return subprocess.run(line, capture_output=True, text=True, **more)


def assert_plain(stderr: str) -> None:
    """Only lines of our own; on a slow machine some of them tell the progress."""
    assert all(line.startswith("tightrope: ") for line in stderr.splitlines()), stderr


@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_command_does_its_work_with_closed_streams(tmp_path: Path, redirection: str) -> None:
    plan = tmp_path / "plan.npz"
    done = in_shell(redirection, "solve", shop_at(tmp_path), "--save", str(plan))
    assert done.returncode == 0
    assert_plain(done.stderr)
    assert plan.is_file()
    assert ("15" in done.stdout) == (">&-" not in redirection.replace("2>&-", ""))


@pytest.mark.parametrize(
    "redirection", [">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full"]
)
def test_an_error_is_reported_by_status_when_a_stream_is_lost(redirection: str) -> None:
    done = in_shell(redirection, "solve", "gird")
    assert done.returncode == 2
    assert_plain(done.stderr)


def test_results_that_cannot_be_written_are_reported_after_the_work(tmp_path: Path) -> None:
    plan = tmp_path / "plan.npz"
    done = in_shell(">/dev/full", "solve", shop_at(tmp_path), "--save", str(plan))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("tightrope: standard output: ")
    assert_plain(done.stderr)
    assert plan.is_file()
    assert in_shell(">/dev/full", "--help").returncode == 2
    assert in_shell(">/dev/full 2>/dev/full", "envs").returncode == 2


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full", "<&- >&- 2>&-"])
def test_a_database_is_not_written_to_in_place_of_a_stream(
    tmp_path: Path, redirection: str
) -> None:
    where = str(tmp_path / "studies.sqlite")
    tr.Study.new(where, "pump", shape()).tell([episode(1)])
    before = [row.content for row in tr.Study(where, "pump").rows()]
    in_shell(redirection, "study", "status", "pump", "--db", where)
    assert [row.content for row in tr.Study(where, "pump").rows()] == before


def test_episodes_from_a_closed_standard_input_are_refused(tmp_path: Path) -> None:
    where = str(tmp_path / "studies.sqlite")
    tr.Study.new(where, "pump", shape())
    done = in_shell("<&-", "study", "tell", "pump", "--db", where)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("tightrope: standard input: ")
    assert_plain(done.stderr)


# sends an interrupt when a module is looked for
INTERRUPT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == module:
            sys.meta_path.remove(finder)
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run aside
finder, module = Finder(), sys.argv[1]
sys.meta_path.insert(0, finder)
from tightrope.cli import main
sys.argv[:2] = ["tightrope"]
main()
"""


@pytest.mark.parametrize(
    "module",
    ["typer", "rich.console", "tightrope.cli.app", "numpy", "numba", "tightrope.plan.solve"],
)
def test_an_interrupt_during_imports_ends_without_a_traceback(tmp_path: Path, module: str) -> None:
    words = [sys.executable, "-c", INTERRUPT, module, "solve", shop_at(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1:] == ["tightrope: interrupted"]
    assert_plain(done.stderr)
    assert done.returncode == 130


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_puts_runs_on_disk(tmp_path: Path, sent: signal.Signals) -> None:
    out = tmp_path / "study"
    words = ["learn", "ring", "--algorithm", "OptDual", "--episodes", "100000000"]
    words += ["--out", str(out), "--snapshot", "1e6", "--workers", "1"]
    heed = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"  # nohup ignores it
    with subprocess.Popen(
        [sys.executable, "-c", f"{heed}; {CALL[-1]}", *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as command:
        assert command.stderr is not None
        for line in command.stderr:
            if "episodes" in line:
                break
        os.killpg(command.pid, sent)  # as the end of a terminal does
        command.communicate()
    assert command.returncode == 130
    assert list(out.rglob("snapshot-*"))


def test_a_command_that_ignores_hang_ups_continues(tmp_path: Path) -> None:
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from tightrope.experiments.scheduler import interrupt_on_termination\n"
        "with interrupt_on_termination():\n"
        "    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
