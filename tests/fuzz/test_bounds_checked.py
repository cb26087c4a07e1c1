"""Kernels compiled with bounds checks: every index they compute stays inside its array."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tightrope

HERE = Path(__file__).parent
SOURCE = Path(tightrope.__file__).parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """Variables of a process with bounds checks, whose compiled kernels have their own cache."""
    paths = [str(SOURCE.parent), str(HERE.parent)]
    return {**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": os.pathsep.join(paths)}


def run(script: str, environment: dict[str, str], *arguments: str) -> str:
    """Standard output of a script that must succeed."""
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_an_index_past_the_end_of_an_array_is_reported(environment: dict[str, str]) -> None:
    """The mode itself works here; without it the other tests of this file would prove nothing."""
    run("report_bad_index.py", environment)


def test_planning_over_a_ball_stays_inside_its_arrays(environment: dict[str, str]) -> None:
    run("plan_over_ball.py", environment)


def test_hostile_inputs_never_take_an_index_outside_its_array(environment: dict[str, str]) -> None:
    counts = json.loads(run("bounds_inputs.py", environment))
    assert sum(count["inputs"] for count in counts.values()) >= 4000
    for kind, count in counts.items():
        assert count["accepted"] + count["refused"] == count["inputs"], kind
        assert count["accepted"] > 0, f"{kind}: no kernel read any of them"
