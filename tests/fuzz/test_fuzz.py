"""The fuzz driver finds what it looks for, and the library gives it nothing to find."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuzz.driver import Kind, fuzz
from fuzz.kinds import KINDS
from tightrope.errors import ModelError

INPUTS = os.environ.get("TIGHTROPE_FUZZ_INPUTS", "6000")
SEED = os.environ.get("TIGHTROPE_FUZZ_SEED", "0")


def end_in_every_way(state, rng, folder):
    """Accept, refuse, refuse at length, raise, crash."""
    assert folder.is_dir()
    what = int(rng.integers(5))
    if what == 1:
        raise ModelError("no")
    if what == 2:
        raise ModelError("")
    if what == 3:
        raise KeyError("x")
    if what == 4:
        os.abort()


def sleep_now_and_then(state, rng, folder):
    if rng.random() < 0.1:
        time.sleep(3600)


def test_the_driver_distinguishes_every_outcome_and_continues_after_a_crash():
    report = fuzz([Kind("every", end_in_every_way)], 60, seed=1, n_workers=2)
    assert report.total == 60
    assert min(report.accepted["every"], report.refused["every"]) > 3
    found = {fault.what.split(" at ")[0] for fault in report.faults}
    assert found == {
        "KeyError",
        "unreadable message of 0 characters",
        "crash: the process ended with status -6",
    }


def test_an_input_depends_on_seed_kind_and_number_alone():
    first, second = (
        fuzz([Kind("every", end_in_every_way)], 40, seed=3, n_workers=n) for n in (1, 2)
    )
    assert sorted((f.number, f.what) for f in first.faults) == sorted(
        (f.number, f.what) for f in second.faults
    )


def test_a_hang_is_reported_and_the_inputs_after_it_are_done():
    report = fuzz([Kind("sleep", sleep_now_and_then)], 20, seed=2, n_workers=2, patience=2.0)
    hangs = [fault.number for fault in report.faults]
    assert hangs
    assert report.accepted["sleep"] == 20 - len(hangs)


@pytest.mark.slow
def test_inputs_of_every_kind_are_accepted_or_refused_in_words():
    """About two minutes of work; ``TIGHTROPE_FUZZ_INPUTS`` and ``_SEED`` ask for more."""
    tests = Path(__file__).parent.parent
    path = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", "--inputs", INPUTS, "--seed", SEED],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=tests,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"\n{name} " in done.stdout for name in KINDS)
