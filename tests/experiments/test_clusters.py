"""Dask and Ray on loopback: the records of the local runs, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from distributed.client import ClosedClientError

from refusals import refuses
from tightrope.errors import EngineError
from tightrope.experiments.clusters import Dask
from tightrope.experiments.engines import Here, open_engine
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.job import Job
from tightrope.experiments.scheduler import Pace, finish_runs
from tightrope.experiments.sweep import specs_of

TABLE = {
    "environment": "ring",
    "algorithm": "OptDual",
    "episodes": 1_000_000,
    "seeds": 3,
    "confidence": {"mode": "tight", "scale": 0.1},
}
BIN = Path(sys.executable).parent


def planned(path):
    study = Experiment(path)
    study.add_specs(specs_of(TABLE))
    return study


def records(study):
    return {spec.id: study.folder(spec).record.read_bytes() for spec in study.specs()}


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    study = planned(tmp_path_factory.mktemp("local"))
    finish_runs(study, Here())
    return records(study)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def dask_cluster(folder, n_workers=2):
    """A scheduler and its workers, and their pids."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    dask = [sys.executable, "-W", "ignore", "-m", "dask"]
    host = ["--host", "127.0.0.1", "--no-dashboard"]
    scheduler = subprocess.Popen([*dask, "scheduler", *host, "--port", str(port)], **quiet)
    worker = [*dask, "worker", address, *host, "--nthreads", "1", "--no-nanny"]
    workers = [subprocess.Popen(worker, **quiet) for _ in range(n_workers)]
    try:
        yield address, [each.pid for each in workers]
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@contextmanager
def ray_cluster(folder):
    """A head with two processors, and a way to the pids of its busy workers."""
    port = free_port()
    environment = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DISABLE_DOCKER_CPU_WARNING": "1",
    }
    words = ["start", "--head", f"--port={port}", "--num-cpus=2", "--include-dashboard=false"]
    words += ["--node-ip-address=127.0.0.1", "--disable-usage-stats"]
    words += ["--object-store-memory=100000000", f"--temp-dir={folder}"]
    subprocess.run([BIN / "ray", *words], env=environment, check=True, capture_output=True)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run([BIN / "ray", "stop", "--force"], check=True, capture_output=True)


def ray_workers():
    return [p.pid for p in psutil.process_iter(["cmdline"]) if _title(p).startswith("ray::work")]


def _title(process):
    return " ".join(process.info["cmdline"] or [])


class Killer:
    """Kills one worker, once, while a run is under way."""

    def __init__(self, pids):
        self.pids, self.killed = pids, None

    def __call__(self, outcome, episodes):
        if self.killed is None and any(done > 50_000 for done in episodes.values()):
            found = self.pids()
            if found:
                self.killed = found[0]
                os.kill(self.killed, signal.SIGKILL)


def carried_out(study, engine, killer):
    try:
        outcome = finish_runs(study, engine, Pace(job=0.2, snapshot=0.3), killer)
    finally:
        engine.close()
    assert killer.killed is not None
    assert (outcome.finished, outcome.failed) == (3, {})
    return records(study)


@pytest.mark.filterwarnings("ignore")
def test_dask_gives_the_local_records_after_a_worker_fails(tmp_path, local):
    with dask_cluster(tmp_path) as (address, pids):
        engine = open_engine("dask", address)
        wait_until(lambda: engine.n_workers == 2)
        study = planned(tmp_path / "study")
        assert carried_out(study, engine, Killer(lambda: pids)) == local


@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_local_records_after_a_worker_fails(tmp_path_factory, local):
    folder = Path("/tmp") / f"tightrope-ray-{os.getpid()}"  # sockets need a short path
    with ray_cluster(folder) as address:
        study = planned(tmp_path_factory.mktemp("ray"))
        engine = open_engine("ray", address)
        assert carried_out(study, engine, Killer(ray_workers)) == local


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_does_not_answer_is_an_error():
    for engine, address in (("dask", "tcp://127.0.0.1"), ("ray", "127.0.0.1")):
        place = f"{address}:{free_port()}"
        with refuses(EngineError, f"engine {engine}: ", argument="address", found=place):
            open_engine(engine, place)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_without_workers_is_an_error(tmp_path):
    with dask_cluster(tmp_path, n_workers=0) as (address, _):
        engine = open_engine("dask", address)
        assert engine.complaint == "the cluster has no workers yet"
        engine.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_closed", [False, True], ids=["connecting", "closed"])
def test_every_call_to_a_failed_dask_scheduler_is_an_error(tmp_path, is_closed):
    with dask_head(tmp_path) as (address, pids):
        engine = open_engine("dask", address)
        (spec, *_) = planned(tmp_path / "study").specs()
        order = Job(spec.to_json(), b"", 0, b"", 1e9)
        engine.submit(spec.id, order)
        for pid in pids():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: engine._client.status == ("closed" if is_closed else "connecting"))
        for call in (
            lambda: engine.n_workers,
            lambda: engine.complaint,
            lambda: engine.submit(spec.id, order),
            lambda: engine.wait(0.1),
        ):
            with pytest.raises(EngineError, match="scheduler stopped"):
                call()
        engine.close()


def test_errors_of_a_closing_dask_client_report_a_lost_scheduler():
    class Client:
        status = "running"

        def nthreads(self):
            self.status = "closing"
            raise AttributeError("'NoneType' object has no attribute 'ncores'")

        def submit(self, *_, **__):
            self.status = "closed"
            raise ClosedClientError("Client is closed. Can't send update-graph message.")

    for call in (lambda e: e.n_workers, lambda e: e.complaint, lambda e: e.submit("run", None)):
        engine = Dask.__new__(Dask)
        engine._client, engine._running = Client(), {}
        with pytest.raises(EngineError, match="scheduler stopped"):
            call(engine)


def wait_until(is_true):
    while not is_true():
        time.sleep(0.05)


@contextmanager
def dask_head(folder):
    with dask_cluster(folder) as (address, _):
        yield address, lambda: [p.pid for p in with_words("dask", "scheduler", address[-5:])]


@contextmanager
def ray_head(folder):
    short = Path("/tmp") / f"tightrope-head-{os.getpid()}"
    with ray_cluster(short) as address:
        yield address, lambda: [p.pid for p in with_words("gcs_server", address[-5:])]


def with_words(*words):
    found = psutil.process_iter(["cmdline"])
    return [p for p in found if all(word in _title(p) for word in words)]


@pytest.mark.parametrize(("engine", "head"), [("dask", dask_head), ("ray", ray_head)])
def test_after_a_cluster_fails_the_experiment_continues_elsewhere(tmp_path, local, engine, head):
    study = planned(tmp_path / "study")
    words = ["resume", str(study.path), "--engine", engine, "--snapshot", "0.2", "--address"]
    with head(tmp_path) as (address, pids):
        command = subprocess.Popen(
            [BIN / "tightrope", *words, address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: command.poll() is not None or list(study.path.rglob("snapshot-*")))
        assert command.poll() is None, command.communicate()
        for pid in pids():
            os.kill(pid, signal.SIGKILL)
        _, err = command.communicate()
    assert command.returncode == 2
    assert "Traceback" not in err
    assert f"engine {engine}: the " in err
    assert "finished work is saved: tightrope" in err
    outcome = finish_runs(study, Here())
    assert outcome.taken_up > 0
    assert records(study) == local
