"""Processes that start the same study at once share its runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.sweep import specs_of

N_PROCESSES, N_STARTS = 4, 40
TABLE = {
    "environment": "ring",
    "algorithm": "OptDual",
    "episodes": 20,
    "seeds": 3,
    "confidence": {"mode": "tight", "scale": 0.1},
}
# each line of the input is a folder; the line that is written back says what became of it
STARTER = f"""
import sys
from pathlib import Path
from tightrope.errors import TightropeError
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.sweep import specs_of
print("ready", flush=True)
for line in sys.stdin:
    study = Experiment(Path(line.strip()))
    try:
        study.add_specs(specs_of({TABLE!r}), {{"sha256:00": b"model"}})
        outcome = finish_runs(study, Here())
        print("failed" if outcome.failed else "sound", outcome.failed, flush=True)
    except TightropeError as error:
        print("refused", error, flush=True)
"""


def start_at_once(folder: Path, n_starts: int) -> tuple[list[str], list[int]]:
    """Start studies in four processes each; what each process said, and the runs left undone."""
    finish_runs(_planned(folder / "first"), Here())  # compiles, so that the four run at full speed
    said, undone = [], []
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(N_PROCESSES)
    ]
    try:
        for starter in starters:
            assert starter.stdout is not None
            assert starter.stdout.readline() == "ready\n"
        for start in range(n_starts):
            for starter in starters:
                assert starter.stdin is not None
                starter.stdin.write(f"{folder / str(start)}\n")
                starter.stdin.flush()
            said += [starter.stdout.readline() for starter in starters if starter.stdout]
            undone.append(len(_planned(folder / str(start)).pending()))
    finally:
        for starter in starters:
            starter.communicate()
    return said, undone


def _planned(path: Path) -> Experiment:
    study = Experiment(path)
    study.add_specs(specs_of(TABLE))
    return study


def test_four_processes_that_start_a_study_at_once_finish_it_together(tmp_path: Path) -> None:
    said, undone = start_at_once(tmp_path, N_STARTS)
    assert [line for line in said if not line.startswith("sound")] == []
    assert len(said) == N_PROCESSES * N_STARTS
    assert undone == [0] * N_STARTS
