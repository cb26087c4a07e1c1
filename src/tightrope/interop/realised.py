"""Realised: what episodes in an environment outside came to, with confidence bands.

Regret needs the truth. Here there is none to compare with, so the record holds what can be known:
the realised sum of rewards and of each cost, episode by episode, and how well they tell the mean.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, share, whole
from tightrope.errors import ModelError
from tightrope.files import put
from tightrope.interop.bands import mean_and_radius
from tightrope.text import escape_table

TAKEN = ("algorithm", "seed", "episode", "steps", "is_feasible", "reward")  # columns of a record


class Band(NamedTuple):
    """Means of realised sums by number of episodes, and what their expectations may be."""

    mean: Floats
    low: Floats
    high: Floats


@final
@dataclass(frozen=True)
class Realised:
    """Episodes in an environment, in its own units.

    Parameters
    ----------
    algorithm : str
        Who chose the policies.
    seed : int
        Where randomness started.
    names : tuple of str
        ``"reward"``, then the constraints.
    totals : (K, 1+I) array
        Realised sums of each episode.
    ranges : (1+I, 2) array
        What such a sum can be.
    budget : (I,) array
        Largest allowed expected sums.
    steps : (K,) array
        Steps until an episode ended; the horizon when it did not.
    planned : (K, 1+I) array
        What the learner hoped for, episode by episode; NaN for a fixed policy.
    is_feasible : (K,) booleans
        Whether it held the budgets possible.
    policy : (H, S, A) array
        The last policy, over the observations of the environment.
    delta : float
        Probability with which a band may miss, all quantities together.
    confidence : str
        The radii of the learner, in words.
    """

    algorithm: str
    seed: int
    names: tuple[str, ...]
    totals: Floats  # (K, 1+I)
    ranges: Floats  # (1+I, 2)
    budget: Floats  # (I,)
    steps: Ints  # (K,)
    planned: Floats  # (K, 1+I)
    is_feasible: Bools  # (K,)
    policy: Floats  # (H, S, A)
    delta: float
    confidence: str

    @property
    def n_episodes(self) -> int:
        """Number of episodes K."""
        return len(self.totals)

    def band(self, name: str, last: int | None = None, delta: float | None = None) -> Band:
        """Means of the first n episodes with their bands, for every n.

        The bands of all quantities hold together, for every n, with probability ``1 - delta``: each
        contains the average, over these episodes, of what was to be expected of their policies.

        Parameters
        ----------
        name : str
            ``"reward"`` or a constraint.
        last : int, optional
            Begin with the last so many episodes; all of them when not given.
        delta : float, optional
            Probability with which a band may miss; the record's own when not given.
        """
        if name not in self.names:
            raise ModelError(f"name: {name!r} is unknown; there are {', '.join(self.names)}")
        j = self.names.index(name)
        low, high = self.ranges[j].tolist()
        values = self.totals[:, j]
        if last is not None:
            values = values[-whole("last", last) :]
        chance = share("delta", self.delta if delta is None else delta) / len(self.names)
        mean, radius = mean_and_radius(values, low, high, chance)
        return Band(mean, np.maximum(mean - radius, low), np.minimum(mean + radius, high))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the episodes to a file, a row each.

        Parameters
        ----------
        path : path
            Ends in ``.csv`` or ``.parquet``.
        """
        save_episodes([self], path)


def save_episodes(records: list[Realised], path: str | PathLike[str]) -> None:
    """Write the episodes of several records to one file, ``.csv`` or ``.parquet``."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    content, file = io.BytesIO(), Path(path)
    kind = require_kind(file)
    table = pa.concat_tables([pa.table(_columns(record)) for record in records])
    if kind == ".csv":
        pyarrow.csv.write_csv(escape_table(table), content)
    else:
        pyarrow.parquet.write_table(table, content)
    put(file, content.getvalue())


def require_kind(path: Path) -> str:
    """The kind of file that a name says, or a `ModelError`."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise ModelError(f"{path}: episodes are kept as .csv or .parquet")
    return kind


def _columns(record: Realised) -> dict[str, object]:
    K = record.n_episodes
    columns: dict[str, object] = {
        "algorithm": [record.algorithm] * K,
        "seed": np.full(K, record.seed),
        "episode": np.arange(1, K + 1),
        "steps": record.steps,
        "is_feasible": record.is_feasible,
    }
    for j, name in enumerate(record.names):
        columns[name] = record.totals[:, j]
        columns[f"{name}, planned"] = record.planned[:, j]
    return columns
