"""Realized: sums of rewards and costs of episodes in a Gymnasium environment, with bands.

The bands are valid while the policy changes (`tightrope.belief.intervals`): each contains the
average, over the episodes so far, of the expected totals of their policies.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, share, whole
from tightrope.belief.intervals import average_band
from tightrope.errors import DependencyError, ModelError
from tightrope.files import put
from tightrope.text import counted, escape_table

if TYPE_CHECKING:
    import pandas as pd

BAND_WORDS = "empirical Bernstein for martingales (Howard et al. 2021, theorem 4)"
TAKEN = ("algorithm", "seed", "episode", "steps", "is_feasible", "reward")  # columns of a record


class Band(NamedTuple):
    """Means of realized sums by number of episodes, and bands of their expectations."""

    mean: Floats
    low: Floats
    high: Floats


@final
@dataclass(frozen=True)
class Realized:
    """Episodes in an environment, in its units.

    Parameters
    ----------
    algorithm : str
        Name of the learner.
    seed : int
        Seed of the randomness.
    names : tuple of str
        ``"reward"``, then the constraints.
    totals : (K, 1+I) array
        Realized sums of each episode.
    ranges : (1+I, 2) array
        Least and greatest possible sum.
    budget : (I,) array
        Largest allowed expected sums.
    steps : (K,) array
        Steps until an episode ended; the horizon if it did not end early.
    planned : (K, 1+I) array
        Sums that the learner planned for each episode; NaN for a fixed policy.
    is_feasible : (K,) booleans
        Whether the learner's plan kept the budgets.
    policy : (H, S, A) array
        The last policy, over the observations of the environment.
    delta : float
        Probability that some band of any quantity fails.
    confidence : str
        Description of the radii of the learner.

    Examples
    --------
    >>> import tightrope as tr
    >>> policy = tr.learn("ring", "uniform", episodes=1).policy
    >>> record = tr.rehearse(tr.to_gymnasium("ring"), policy, budget=[3.0], episodes=50)
    >>> record.band(record.names[1]).mean.shape
    (50,)
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

    def __repr__(self) -> str:
        means = (f"{n} {m:.6g}" for n, m in zip(self.names, self.totals.mean(axis=0), strict=True))
        count = counted(self.n_episodes, "episode")
        return f"Realized({self.algorithm}, {count}, means: {', '.join(means)})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import realized_card

        return realized_card(self)

    @property
    def n_episodes(self) -> int:
        """Number of episodes K."""
        return len(self.totals)

    def band(self, name: str, last: int | None = None, delta: float | None = None) -> Band:
        """Return means of the first n episodes with their bands, for every n.

        The bands of all quantities and all n hold jointly with probability ``1 - delta``: each
        contains the average, over these episodes, of the expected values of their policies.

        Parameters
        ----------
        name : str
            ``"reward"`` or a constraint.
        last : int, optional
            Number of last episodes to use; all by default.
        delta : float, optional
            Failure probability of the bands; by default that of the record.

        Returns
        -------
        Band
            Arrays ``mean``, ``low`` and ``high``.

        Examples
        --------
        >>> import tightrope as tr
        >>> ring = tr.envs.build("ring")
        >>> record = tr.rehearse(tr.to_gymnasium(ring), tr.solve(ring), budget=[3.0], episodes=50)
        >>> band = record.band("reward")
        >>> band.mean.shape, bool((band.low <= band.mean).all())
        ((50,), True)
        """
        if name not in self.names:
            raise ModelError.about(
                "name",
                found=name,
                shown=f"{name!r} is unknown",
                more=f"; there are {', '.join(self.names)}",
            )
        j = self.names.index(name)
        low, high = self.ranges[j].tolist()
        values = self.totals[:, j]
        if last is not None:
            values = values[-whole("last", last) :]
        chance = share("delta", self.delta if delta is None else delta) / len(self.names)
        mean, radius = average_band(values, low, high, chance)
        return Band(mean, np.maximum(mean - radius, low), np.minimum(mean + radius, high))

    def to_pandas(self) -> pd.DataFrame:
        """Return a table with a row for each episode; pandas must be installed.

        Returns
        -------
        DataFrame
            Learner, seed, steps, realized and planned sums.

        Examples
        --------
        >>> import tightrope as tr
        >>> env = tr.to_gymnasium("ring")
        >>> record = tr.learn_gymnasium(env, horizon=6, budget=[3.0], episodes=20)
        >>> table = record.to_pandas()
        >>> len(table), bool((table["reward"] == record.totals[:, 0]).all())
        (20, True)
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise DependencyError(
                "pandas is not installed; pip install pandas", argument="pandas"
            ) from error
        return pd.DataFrame(_columns(self))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the episodes to a file, one row each.

        Parameters
        ----------
        path : path
            Ends in ``.csv`` or ``.parquet``.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> ring = tr.envs.build("ring")
        >>> record = tr.rehearse(tr.to_gymnasium(ring), tr.solve(ring), budget=[3.0], episodes=5)
        >>> with TemporaryDirectory() as folder:
        ...     record.save(f"{folder}/episodes.csv")
        ...     len(Path(folder, "episodes.csv").read_text().splitlines())
        6
        """
        save_episodes([self], path)


def save_episodes(records: list[Realized], path: str | PathLike[str]) -> None:
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
    """Return the format given by a file name, or raise a `ModelError`."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        words = f"{path}: expected a name that ends in .csv or .parquet"
        raise ModelError(words, argument=str(path))
    return kind


def _columns(record: Realized) -> dict[str, object]:
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
