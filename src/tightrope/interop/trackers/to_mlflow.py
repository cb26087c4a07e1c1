"""MLflow: a run in an experiment of its own name, in a SQLite database or on a server."""

from __future__ import annotations

import logging
import os
import re
import time
from pathlib import Path

from tightrope.errors import StoreError
from tightrope.files import first_line, make_folder
from tightrope.interop.trackers.tracker import TrackedRun

MOST = 1000  # metrics in a batch
MOST_PARAMS = 100
MOST_RUNS = 1000  # in a page of a search
TAG = "tightrope.run"


class MLflow:
    """An experiment of MLflow; a tag of each run holds its id."""

    def __init__(self, address: str, project: str) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # before the import reads it
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        # after the import, which sets another level; it tells of the tables that it makes
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        self.address = address
        try:
            self.client = MlflowClient(tracking_uri=address)
            found = self.client.get_experiment_by_name(project)
            self.experiment = (
                self.client.create_experiment(project) if found is None else found.experiment_id
            )
        except MlflowException as error:
            raise StoreError.about(address, more=f"MLflow fails: {first_line(error)}") from error

    def known(self) -> set[str]:
        """Return the ids of stored complete runs."""
        ids, token = set(), None
        while True:
            page = self.client.search_runs(
                [self.experiment], "attributes.status = 'FINISHED'", 1, MOST_RUNS, None, token
            )
            ids |= {str(run.data.tags[TAG]) for run in page if TAG in run.data.tags}
            token = page.token
            if not token:
                return ids

    def send(self, run: TrackedRun) -> None:
        """Write a run; one that is cut short is not marked as finished."""
        from mlflow import entities
        from mlflow.exceptions import MlflowException

        now = int(1000 * time.time())
        params = [entities.Param(_plain(k), str(v)[:500]) for k, v in run.config.items()]
        metrics = [
            entities.Metric(_plain(name), value, now, episode)
            for episode, values in run.points()
            for name, value in values.items()
        ]
        last = int(run.episode[-1])
        metrics += [
            entities.Metric(_plain(f"total/{name}"), value, now, last)
            for name, value in run.totals.items()
        ]
        try:
            made = self.client.create_run(
                self.experiment, tags={TAG: run.id, "learner": run.learner}, run_name=run.name
            )
            for k in range(0, len(params), MOST_PARAMS):
                self.client.log_batch(made.info.run_id, params=params[k : k + MOST_PARAMS])
            for k in range(0, len(metrics), MOST):
                self.client.log_batch(made.info.run_id, metrics=metrics[k : k + MOST])
            self.client.set_terminated(made.info.run_id)
        except MlflowException as error:
            name = f"{self.address}: run {run.id}"
            raise StoreError.about(name, more=first_line(error)) from error


def _plain(name: str) -> str:
    """Return a name of letters that MLflow takes."""
    return re.sub(r"[^\w\-. /]", "_", name)


def open_tracker(target: str, project: str) -> MLflow:
    """Return the tracker at an address, or in the database of a directory."""
    if "://" in target:
        return MLflow(target, project)
    folder = Path(target).absolute()
    make_folder(folder)
    return MLflow(f"sqlite:///{folder / 'mlflow.db'}", project)
