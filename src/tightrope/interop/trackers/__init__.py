"""Export of finished runs to experiment trackers: TensorBoard, MLflow, Weights & Biases, Trackio.

Every run becomes a run of the tracker, with its configuration, its curves against episodes and its
totals. All four write to this machine; nothing is sent over a network, except to the address of
an MLflow server that is given as target.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from tightrope.arrays import check_choice, flag, positive
from tightrope.errors import DependencyError, StoreError
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.problems import model_of
from tightrope.experiments.run_files import read_run
from tightrope.experiments.spec import RunSpec
from tightrope.interop.trackers.tracker import TrackedRun, Tracker, tracked_returns, tracked_run

__all__ = ["TRACKERS", "export_runs"]

TRACKERS = ("tensorboard", "mlflow", "wandb", "trackio")
NAMES = {"tensorboard": "TensorBoard", "mlflow": "MLflow", "wandb": "wandb", "trackio": "Trackio"}


def export_runs(
    experiment: Experiment,
    to: str,
    target: str | Path | None = None,
    *,
    follow: bool = False,
    every: float = 2.0,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Send the finished runs of an experiment to a tracker, each run once.

    Parameters
    ----------
    experiment : Experiment
        Whose runs to send.
    to : {"tensorboard", "mlflow", "wandb", "trackio"}
        The tracker; its package is in the extra ``trackers``.
    target : str or path, optional
        A directory, by default one of the tracker's name in the experiment's. For MLflow also
        the address of a server or a database, such as ``"http://..."`` or ``"sqlite:///..."``.
    follow : bool
        Whether to export runs as they finish, until all are finished.
    every : float
        Seconds between looks for finished runs.
    progress : callable, optional
        Called with the number of runs that the tracker has and their total.

    Returns
    -------
    int
        Number of runs sent by this call.

    Raises
    ------
    DependencyError
        If the package of the tracker is not installed.
    StoreError
        If no run is finished, unless it follows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> from tightrope.interop.trackers import export_runs
    >>> with TemporaryDirectory() as folder:
    ...     experiment = tr.Experiment(folder)
    ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
    ...     outcome = experiment.run(engine="here", progress=False)
    ...     export_runs(experiment, "tensorboard"), export_runs(experiment, "tensorboard")
    (2, 0)
    """
    check_choice("to", to, TRACKERS)
    flag("follow", follow)
    positive("every", every)
    place = str(target) if target is not None else str(experiment.path / to)
    n_finished = len(experiment.finished())
    if not (n_finished or follow):
        raise StoreError.about(str(experiment.path), shown="no run is finished yet")
    tracker = open_tracker(to, place, experiment.path.resolve().name)
    n_sent, known = 0, tracker.known()
    while True:
        pending = {spec.id for spec in experiment.pending()}  # read first: runs may finish now
        specs = experiment.specs()
        for spec in specs:
            if spec.id not in pending and spec.id not in known:
                tracker.send(_read(experiment, spec))
                known.add(spec.id)
                n_sent += 1
            if progress is not None:
                progress(len(known & {each.id for each in specs}), len(specs))
        if not (follow and pending):
            return n_sent
        time.sleep(every)


def open_tracker(to: str, target: str, project: str) -> Tracker:
    """Return a tracker that writes to a target, or raise a `DependencyError`."""
    try:
        module = import_module(f"tightrope.interop.trackers.to_{to}")
        found: Tracker = module.open_tracker(target, project)
    except ImportError as error:
        raise DependencyError(
            f"{NAMES[to]} is not installed; pip install 'tightrope[trackers]'",
            argument="to",
            found=to,
        ) from error
    return found


def _read(experiment: Experiment, spec: RunSpec) -> TrackedRun:
    if spec.is_gym:
        return tracked_returns(spec, experiment.folder(spec))
    cmdp = model_of(spec, experiment.model(spec))
    return tracked_run(spec, cmdp, read_run(spec, cmdp, experiment.folder(spec)))
