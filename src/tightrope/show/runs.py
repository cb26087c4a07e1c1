"""Figures of finished runs: of `learn`, and of `learn_gymnasium`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from matplotlib.figure import Figure

from tightrope.arrays import check_kind, check_list
from tightrope.errors import ConfigError
from tightrope.experiments.curves import by_learner, confidence_words, regret_curves, rho_words
from tightrope.experiments.returns import LAST
from tightrope.experiments.run import Run
from tightrope.interop.gym.realized import Realized
from tightrope.show.regret import (
    Course,
    RealizedPanel,
    RegretCurves,
    realized_figure,
    regret_figure,
)
from tightrope.show.report.words import regret_units
from tightrope.show.style import AxesLike, check_panel
from tightrope.text import counted

T = TypeVar("T", Run, Realized)


def _as_list(name: str, given: T | Sequence[T], kind: type[T]) -> list[T]:
    """Return one object or several as a list, at least one."""
    found = [given] if isinstance(given, kind) else check_list(name, given, kind.__name__)
    if not found:
        raise ConfigError.about(name, shown="an empty list", expected=f"a {kind.__name__}")
    return [check_kind(name, each, kind) for each in found]


def run_figure(
    runs: Run | Sequence[Run],
    ax: AxesLike | None = None,
    panel: str | None = None,
    *,
    title: str = "",
) -> Figure:
    """Draw the regrets of runs of `learn` on one model, with a band over the seeds of a learner.

    Parameters
    ----------
    runs : Run or sequence of Run
        Of one or several learners, with equal numbers of episodes.
    ax : Axes, or array of Axes, optional
        Where to draw instead of on a new figure: four, or one for a single ``panel``.
    panel : {"cost", "cost_plus", "constraint", "constraint_plus"}, optional
        The only regret to draw; all by default.
    title : str
        Name of the model, for the title.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import tightrope as tr
    >>> from tightrope.show.runs import run_figure
    >>> runs = [tr.learn("ring", "uniform", episodes=50, seed=seed) for seed in (1, 2)]
    >>> len(run_figure(runs).axes)
    4
    """
    found = _as_list("runs", runs, Run)
    firsts, seeds = [group[0] for group in by_learner(found).values()], {run.seed for run in found}
    words = [
        counted(len(seeds), "seed"),
        f"delta {found[0].delta:g}",
        *(said for said, _ in confidence_words(firsts)),
        rho_words(firsts),
    ]
    curves = [
        RegretCurves(*each, run.is_heuristic)
        for each, run in zip(regret_curves(found), firsts, strict=True)
    ]
    heading = f"Regret on {title}" if title else "Regret"
    return regret_figure(
        curves,
        f"{heading}, {found[0].n_episodes} episodes",
        "; ".join(word for word in words if word),
        *regret_units(found[0].units),
        ax=ax,
        panel=panel,
    )


def record_figure(
    records: Realized | Sequence[Realized],
    ax: AxesLike | None = None,
    panel: str | None = None,
    *,
    title: str = "",
) -> Figure:
    """Draw the realized sums of runs in an environment, each with its confidence band.

    Parameters
    ----------
    records : Realized or sequence of Realized
        Of `learn_gymnasium` or `rehearse`, in one environment.
    ax : Axes, or array of Axes, optional
        Where to draw instead of on a new figure: one for each quantity, or one for a ``panel``.
    panel : str, optional
        The only quantity to draw: ``"reward"`` or a constraint; all by default.
    title : str
        Name of the environment, for the title.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import tightrope as tr
    >>> from tightrope.show.runs import record_figure
    >>> env = tr.to_gymnasium("ring")
    >>> record = tr.learn_gymnasium(env, horizon=6, budget=[3.0], episodes=20)
    >>> [axes.get_ylabel() for axes in record_figure(record).axes]
    ['reward', 'cost']
    """
    found = _as_list("records", records, Realized)
    first = found[0]
    panels = []
    for name in check_panel(panel, first.names):
        courses = []
        for record in found:
            label = record.algorithm if len(found) == 1 else f"{record.algorithm}, {record.seed}"
            place = record.names.index(name)
            courses.append(Course(label, record.totals[:, place], *record.band(name)))
        budget = None if name == "reward" else float(first.budget[first.names.index(name) - 1])
        panels.append(RealizedPanel(name, budget, courses))
    window = max(1, first.n_episodes // LAST)
    heading = f"{title}, {first.n_episodes} episodes" if title else f"{first.n_episodes} episodes"
    conditions = f"delta {first.delta:g}; confidence: {first.confidence}"
    return realized_figure(panels, heading, conditions, window, ax)
