"""Status of an experiment: progress of every run."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import NamedTuple

from tightrope.experiments.spec import RunSpec
from tightrope.experiments.storage import RunFolder

HEADS = ("problem", "learner", "runs finished", "episodes")


class RunStatus(NamedTuple):
    """Progress of one run."""

    run: str  # id
    environment: str
    algorithm: str
    seed: int
    episode: int  # episodes on disk
    episodes: int  # number of episodes K
    is_finished: bool

    @classmethod
    def of(cls, spec: RunSpec, folder: RunFolder) -> RunStatus:
        """Return the status of the run with a spec in a directory."""
        done = folder.is_finished
        episode, names = spec.episodes if done else folder.episode(), (spec.id, spec.environment)
        return cls(*names, spec.algorithm, spec.seed, episode, spec.episodes, done)


@dataclass(frozen=True)
class Status:
    """Progress of an experiment.

    Parameters
    ----------
    path : Path
        Directory of the experiment.
    runs : tuple of RunStatus
        Every run, in the order in which they were added: ``run`` (its id), ``environment``,
        ``algorithm``, ``seed``, ``episode`` (episodes on disk), ``episodes``, ``is_finished``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     experiment = tr.Experiment(folder)
    ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
    ...     experiment.status().rows()
    [('ring', 'uniform', '0 of 2', '0 of 40')]
    """

    path: Path
    runs: tuple[RunStatus, ...]

    @property
    def finished(self) -> int:
        """Number of finished runs."""
        return sum(run.is_finished for run in self.runs)

    @property
    def begun(self) -> int:
        """Number of runs that have a snapshot and are not finished."""
        return sum(run.episode > 0 and not run.is_finished for run in self.runs)

    @property
    def episodes(self) -> tuple[int, int]:
        """Episodes on disk, and planned episodes."""
        return sum(run.episode for run in self.runs), sum(run.episodes for run in self.runs)

    def __repr__(self) -> str:
        done, wanted = self.episodes
        return (
            f"Status({str(self.path)!r}: {self.finished} of {len(self.runs)} runs finished, "
            f"{self.begun} under way, {done} of {wanted} episodes)"
        )

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return problem, learner, finished runs and episodes as text, per problem and learner.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     experiment.status().rows()
        [('ring', 'uniform', '0 of 2', '0 of 40')]
        """
        groups: dict[tuple[str, str], list[RunStatus]] = {}
        for run in self.runs:
            groups.setdefault((run.environment, run.algorithm), []).append(run)
        return [
            (
                *names,
                f"{sum(run.is_finished for run in mine)} of {len(mine)}",
                f"{sum(run.episode for run in mine):,} of {sum(run.episodes for run in mine):,}",
            )
            for names, mine in groups.items()
        ]

    def _repr_html_(self) -> str:
        from tightrope.show.cards import bar, card, table

        done, wanted = self.episodes
        facts = [str(self.path), f"{self.finished} of {len(self.runs)} runs finished"]
        progress = bar(done, wanted, f"{done:,} of {wanted:,} episodes")
        rows = [[escape(cell) for cell in row] for row in self.rows()]
        return card("Experiment", facts, progress, table(HEADS, rows))
