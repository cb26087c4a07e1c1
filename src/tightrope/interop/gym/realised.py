"""Realised: sums of rewards and costs by episode in an environment, with confidence bands.

Regret needs the true model. Without it the record holds what can be observed: the realised sum of
rewards and of each cost, episode by episode, and how well they tell the mean.

The bands are valid while the policy changes. Each episode of a learner is run by a policy that the
earlier ones chose, so the sums ``x_k`` estimate the average of their expectations, each given the
episodes before it. With ``x`` scaled to [0, 1], any guess ``g_k`` made before episode k, and
``V_n = sum_k (x_k - g_k)^2``, it holds for any ``0 < t < 1`` and all n at once, with probability
``1 - d``, that ::

    | mean_n - average of expectations | <= (log(2/d) + (-log(1-t) - t) V_n) / (t n)

an empirical Bernstein bound for martingales. The guess is the mean so far, and the least over a few
``t`` is taken, each at an equal share of ``d``.

Howard, Ramdas, McAuliffe, Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence
sequences, Annals of Statistics 49, theorem 4 with the boundary of section 3.1.
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
from tightrope.text import escape_table

BAND_WORDS = "empirical Bernstein for martingales (Howard et al. 2021, theorem 4)"
TILTS = np.array([0.9, 0.7, *0.5 ** np.arange(1, 9)])
FIRST_GUESS = 0.5
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
        Name of the learner.
    seed : int
        Seed of the randomness.
    names : tuple of str
        ``"reward"``, then the constraints.
    totals : (K, 1+I) array
        Realised sums of each episode.
    ranges : (1+I, 2) array
        Least and greatest possible sum.
    budget : (I,) array
        Largest allowed expected sums.
    steps : (K,) array
        Steps until an episode ended; the horizon when it did not.
    planned : (K, 1+I) array
        Sums that the learner planned for each episode; NaN for a fixed policy.
    is_feasible : (K,) booleans
        Whether the learner's plan kept the budgets.
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
            Number of last episodes to begin with; all of them when not given.
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


def mean_and_radius(values: Floats, low: float, high: float, delta: float) -> tuple[Floats, Floats]:
    """Means of the first n values in [low, high] and the radii of their bands, for every n.

    The probability that some band misses is at most ``delta``.
    """
    x = (values - low) / (high - low)
    n = np.arange(1, x.size + 1)
    mean = np.cumsum(x) / n
    guess = np.concatenate(([FIRST_GUESS], mean[:-1]))
    spread = np.cumsum((x - guess) ** 2)
    radius = np.full(x.size, np.inf)
    price = np.log(2.0 * TILTS.size / delta)
    for t in TILTS:
        np.minimum(radius, (price + (-np.log1p(-t) - t) * spread) / (t * n), out=radius)
    return np.cumsum(values) / n, radius * (high - low)


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
