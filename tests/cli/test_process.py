"""The command in a process of its own: streams, statuses, and what is loaded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from shop import CALL, process, shop_at


def test_json_is_all_there_is_on_stdout(tmp_path):
    done = process("solve", shop_at(tmp_path), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["value"] == pytest.approx(15.0)


def test_an_error_is_one_line_on_stderr_and_status_two():
    done = process("solve", "gird")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tightrope: environment 'gird' is unknown")
    assert done.stderr.count("\n") == 1


def test_check_ends_with_one_when_a_model_has_errors(tmp_path):
    done = process("check", shop_at(tmp_path, '"fast", "shop", 1.0', '"fast", "shop", 0.9'))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="closed pipes differ there")
def test_a_reader_that_goes_away_ends_the_command_without_a_word():
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*CALL, "envs"], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=300
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 141


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_an_interrupt_ends_a_long_command_with_one_line():
    words = ["solve", "random", "--set", "n_states=4000", "--set", "horizon=600"]
    with subprocess.Popen(
        [*CALL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stderr is not None
        first = command.stderr.readline()
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=120)
    assert first.startswith(("tightrope: building random: ", "tightrope: solving random: "))
    assert command.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "tightrope: interrupted"
    assert all(line.startswith("tightrope: ") for line in err.splitlines())


def test_a_name_that_the_terminal_cannot_show_is_no_failure(tmp_path):
    path = shop_at(tmp_path, 'name = "hours"', 'name = "\\u6642\\u9593"')
    done = process("solve", path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "one more unit of '??' saves 2.5 euros" in done.stdout


def test_the_command_line_loads_no_heavy_part():
    heavy = "{'numba', 'scipy', 'matplotlib', 'highspy', 'numpy'}"
    code = f"import sys, tightrope.cli; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
