"""Weights & Biases: offline runs in a directory; ``wandb sync`` uploads them."""

from __future__ import annotations

from pathlib import Path

from tightrope.interop.trackers.tracker import SentList, TrackedRun


class WandB:
    """A directory of offline runs."""

    def __init__(self, folder: Path, project: str) -> None:
        import wandb

        self.wandb, self.project = wandb, project
        self.folder, self.sent = folder, SentList(folder)

    def known(self) -> set[str]:
        """Return the ids of runs that are there."""
        return self.sent.read()

    def send(self, run: TrackedRun) -> None:
        """Write a run, then note that it is there."""
        made = self.wandb.init(
            project=self.project,
            name=run.name,
            id=run.id,
            group=f"{run.learner}, {run.problem}",
            dir=str(self.folder),
            mode="offline",
            config=dict(run.config),
            settings=self.wandb.Settings(silent=True, console="off"),
        )
        for episode, values in run.points():
            made.log(values, step=episode)
        made.summary.update({f"total/{name}": value for name, value in run.totals.items()})
        made.finish()
        self.sent.add(run.id)


def open_tracker(target: str, project: str) -> WandB:
    """Return the tracker that writes to a directory."""
    return WandB(Path(target).absolute(), project)
