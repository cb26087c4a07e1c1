"""Overhead of experiments compared with their runs, in one run on one machine.

Speed-up of two processes over one, cost of slices and snapshots, overhead of Dask and Ray for each
run, time to open a large experiment and to build its report, size of records.

    python benchmarks/experiments.py            all of it
    python benchmarks/experiments.py --quick    smaller experiments, no clusters
    python benchmarks/experiments.py --write    also writes docs/benchmarks/experiments.md
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pages import parser, setting, write
from tightrope.cli.app import status
from tightrope.experiments.engines import Engine, open_engine
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.scheduler import Pace, finish_runs
from tightrope.experiments.sweep import specs_of
from tightrope.files import unpacked

PAGE = "experiments.md"
RING = {"environment": "ring", "confidence": {"mode": "tight", "scale": 0.1}}
LARGE = {
    "environment": "random",
    "parameters": {"n_states": 1000, "branching": 5, "n_constraints": 1},
    "confidence": {"scale": 0.01},
}


def planned(folder: Path, table: dict[str, Any]) -> Experiment:
    """An experiment of which no run was begun."""
    experiment = Experiment(folder)
    experiment.add_specs(specs_of(table))
    return experiment


def carried(experiment: Experiment, engine: Engine, pace: Pace | None = None) -> float:
    """Wall seconds of an experiment."""
    start = time.perf_counter()
    outcome = finish_runs(experiment, engine, pace)
    took = time.perf_counter() - start
    engine.close()
    assert not outcome.failed, outcome.failed
    return took


def worked(experiment: Experiment) -> float:
    """Seconds that an experiment's episodes took."""
    about = (
        unpacked(experiment.folder(spec).result.read_bytes())[0] for spec in experiment.specs()
    )
    return float(sum(each["seconds"] for each in about))


def two_over_one(folder: Path, episodes: int) -> list[dict[str, Any]]:
    """The same experiment by one process and by two."""
    table = RING | {"algorithm": "OptPrimalDual", "episodes": episodes, "seeds": 6}
    carried(planned(folder / "warm", table | {"episodes": 10}), open_engine("processes"))
    one, two = (
        carried(planned(folder / f"by{n}", table), open_engine("processes", workers=n))
        for n in (1, 2)
    )
    return [
        told("two processes over one", f"{one / two:.2f}", f"6 runs: {one:.1f} and {two:.1f} s")
    ]


def upkeep(folder: Path, episodes: int) -> list[dict[str, Any]]:
    """Share of an experiment's time that is not its episodes': slices, states, files."""
    rows = []
    for name, table, n in (("small", RING, episodes), ("15 MB", LARGE, episodes // 500)):
        full = table | {"algorithm": "OptDual", "episodes": n, "seeds": 1}
        carried(planned(folder / f"warm {name}", full | {"episodes": 10}), open_engine("here"))
        experiment = planned(folder / name, full)
        (spec,) = experiment.specs()
        wall = carried(experiment, open_engine("here"))
        share = 1 - worked(experiment) / wall
        rows.append(
            told(
                f"slices of 1 s and snapshots of 10 s, {name} state",
                f"{share:.2%}",
                f"of {wall:.0f} s, aim under 2%; record {size_of(experiment, spec):.0f} KB",
            )
        )
    return rows


def size_of(experiment: Experiment, spec: Any) -> float:
    """Kilobytes of a run's record."""
    return experiment.folder(spec).record.stat().st_size / 1e3


def per_run(folder: Path, n_runs: int) -> list[dict[str, Any]]:
    """What each engine adds to a run that takes no time."""
    table = RING | {"algorithm": "uniform", "episodes": 10, "seeds": n_runs}
    base = carried(planned(folder / "here", table), open_engine("here"))
    rows = [told("a run in this process", ms(base / n_runs), "its folder, spec, log, record")]
    with dask_cluster(folder) as address:
        carried(planned(folder / "dask warm", table | {"seeds": 2}), open_engine("dask", address))
        took = carried(planned(folder / "dask", table), open_engine("dask", address))
    rows.append(told("Dask adds to a run", ms((took - base) / n_runs), "two workers on loopback"))
    with ray_cluster() as address:
        carried(planned(folder / "ray warm", table | {"seeds": 2}), open_engine("ray", address))
        took = carried(planned(folder / "ray", table), open_engine("ray", address))
    rows.append(told("Ray adds to a run", ms((took - base) / n_runs), "two processors on loopback"))
    return rows


def opening(folder: Path, n_runs: int) -> list[dict[str, Any]]:
    """A large experiment, opened and reported."""
    learners = ["uniform", "OptDual", "OptPrimalDual", "certainty-equivalence"]
    table = RING | {"algorithm": learners, "episodes": 3000, "seeds": n_runs // 4}
    made = carried(planned(folder / "many", table), open_engine("here"))
    start = time.perf_counter()
    found = len(Experiment(folder / "many").finished())
    opened = time.perf_counter() - start
    start = time.perf_counter()
    assert status(["report", str(folder / "many")]) == 0
    reported = time.perf_counter() - start
    total = sum(path.stat().st_size for path in (folder / "many" / "runs").rglob("*"))
    return [
        told(f"opening an experiment of {found} runs", f"{opened:.2f} s", f"made in {made:.0f} s"),
        told("building its report", f"{reported:.1f} s", "aim under 20 s together"),
        told("on disk", f"{total / found / 1e3:.0f} KB a run", "folder included"),
    ]


def told(what: str, figure: str, words: str) -> dict[str, Any]:
    """One line of the table, shown while the others run."""
    print(f"{what}: {figure} ({words})", flush=True)
    return {"what": what, "figure": figure, "": words}


def ms(seconds: float) -> str:
    """Milliseconds."""
    return f"{1e3 * seconds:.1f} ms"


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def dask_cluster(folder: Path) -> Iterator[str]:
    """A scheduler and two workers on loopback."""
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = [sys.executable, "-W", "ignore", "-m", "dask"]
    host = ["--host", "127.0.0.1", "--no-dashboard"]
    words = [
        [*dask, "scheduler", *host, "--port", address.rpartition(":")[2]],
        *[[*dask, "worker", address, *host, "--nthreads", "1", "--no-nanny"]] * 2,
    ]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen(each, cwd=folder, **quiet) for each in words]
    try:
        yield address
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextmanager
def ray_cluster() -> Iterator[str]:
    """A head with two processors on loopback."""
    ray, port = Path(sys.executable).parent / "ray", free_port()
    words = ["start", "--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false"]
    words += ["--node-ip-address=127.0.0.1", "--disable-usage-stats"]
    subprocess.run([ray, *words], check=True, capture_output=True)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run([ray, "stop", "--force"], check=True, capture_output=True)


def page(rows: list[dict[str, Any]]) -> list[str]:
    """The benchmark page of the documentation."""
    return [
        "# Experiments: overhead",
        "",
        "Written by `benchmarks/experiments.py --write` in one run on one machine",
        setting("joblib", "distributed", "ray"),
        "",
        "| | | |",
        "| --- | --- | --- |",
        *(f"| {row['what']} | {row['figure']} | {row['']} |" for row in rows),
    ]


def main() -> None:
    """Run the measurements."""
    chosen = parser(__doc__, PAGE, "smaller experiments, no clusters").parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = two_over_one(folder, 300_000 if chosen.quick else 3_000_000)
        rows += upkeep(folder, 1_000_000 if chosen.quick else 20_000_000)
        if not chosen.quick:
            rows += per_run(folder, 50)
        rows += opening(folder, 100 if chosen.quick else 1_000)
    if chosen.write:
        write(PAGE, page(rows))


if __name__ == "__main__":
    main()
