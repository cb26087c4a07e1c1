"""Trackio: a local database in a directory; ``trackio show`` with TRACKIO_DIR set displays it."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path

from tightrope.errors import ConfigError
from tightrope.interop.trackers.tracker import SentList, TrackedRun
from tightrope.text import plain_word

PLACE = "TRACKIO_DIR"


class Trackio:
    """A directory of Trackio, which reads its place when it is imported."""

    def __init__(self, folder: Path, project: str) -> None:
        os.environ[PLACE] = str(folder)
        import trackio

        if Path(trackio.TRACKIO_DIR) != folder:
            raise ConfigError.about(
                "target",
                found=str(folder),
                expected=f"{trackio.TRACKIO_DIR}, which Trackio uses in this process",
            )
        self.trackio, self.sent = trackio, SentList(folder)
        self.project = plain_word(project, "experiment")

    def known(self) -> set[str]:
        """Return the ids of runs that are there."""
        return self.sent.read()

    def send(self, run: TrackedRun) -> None:
        """Write a run, then note that it is there."""
        with contextlib.redirect_stdout(io.StringIO()):  # it prints how to show the project
            made = self.trackio.init(
                project=self.project,
                name=f"{run.name} {run.id}",
                group=f"{run.learner}, {run.problem}",
                config=dict(run.config),
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )
            for episode, values in run.points():
                made.log(values, step=episode)
            totals = {f"total/{name}": value for name, value in run.totals.items()}
            made.log(totals, step=int(run.episode[-1]))
            made.finish()
        self.sent.add(run.id)


def open_tracker(target: str, project: str) -> Trackio:
    """Return the tracker that writes to a directory."""
    return Trackio(Path(target).absolute(), project)
