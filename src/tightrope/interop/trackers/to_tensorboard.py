"""TensorBoard: an event file for each run, in a directory of problem, learner and seed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from tightrope.files import make_folder
from tightrope.interop.trackers.tracker import TrackedRun
from tightrope.text import plain_word

ENDING = re.compile(r"-([0-9a-f]{16})$")


class TensorBoard:
    """A log directory of TensorBoard; the name of each run's directory ends in its id."""

    def __init__(self, folder: Path) -> None:
        import tensorboard.summary.writer.event_file_writer  # noqa: F401 - fails early

        self.folder = folder
        make_folder(folder)

    def known(self) -> set[str]:
        """Return the ids of runs that are there."""
        names = [path.name for path in self.folder.glob("*/*/*") if path.is_dir()]
        return {match[1] for name in names if (match := ENDING.search(name))}

    def send(self, run: TrackedRun) -> None:
        """Write the event file of a run aside, then move it to its place."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.plugins.text.metadata import create_summary_metadata
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
        from tensorboard.util.tensor_util import make_tensor_proto

        parent = self.folder / plain_word(run.problem, "run") / plain_word(run.learner, "run")
        make_folder(parent)
        aside = parent / f".{run.id}"
        shutil.rmtree(aside, ignore_errors=True)
        writer = EventFileWriter(str(aside))
        words = json.dumps(dict(run.config), indent=1)
        text = Summary.Value(
            tag="configuration",
            metadata=create_summary_metadata("configuration", ""),
            tensor=make_tensor_proto([f"```\n{words}\n```".encode()]),
        )
        writer.add_event(Event(step=0, summary=Summary(value=[text])))
        for episode, values in run.points():
            writer.add_event(_scalars(episode, values))
        totals = {f"total/{name}": value for name, value in run.totals.items()}
        writer.add_event(_scalars(int(run.episode[-1]), totals))
        writer.close()
        aside.rename(parent / f"seed-{run.config['seed']}-{run.id}")


def _scalars(episode: int, values: dict[str, float]) -> Any:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    shown = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
    return Event(step=episode, wall_time=0.0, summary=Summary(value=shown))


def open_tracker(target: str, project: str) -> TensorBoard:
    """Return the log directory of that name."""
    del project  # the directories say it
    return TensorBoard(Path(target))
