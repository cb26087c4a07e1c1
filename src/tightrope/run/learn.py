"""Learn in simulation: a model, a learner and a seed in, a run with its regrets and audit out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from tightrope.arrays import check_callback, check_kind, flag, share, whole
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.learners.algorithms import Options, learner_named
from tightrope.model import CMDP
from tightrope.run.result import Run, run_of
from tightrope.run.setting import Setting, Truth, truth_of
from tightrope.run.simulation import Simulation, begin

SLICE = 0.2  # seconds of work between two reports


def learn(
    cmdp: CMDP,
    algorithm: str,
    episodes: int,
    seed: int = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    rho: float | str = "paper_x2",
    dual_step: float = 1.0,
    primal_step: float = 1.0,
    tolerance: float = 1e-8,
    method: Literal["columns", "lp"] = "columns",
    audit_visits: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Run a learner against a model that it does not see, and keep the books.

    Parameters
    ----------
    cmdp : CMDP
        The truth. The learner is told its sizes, budgets, start and allowed actions.
    algorithm : str
        ``"OptCMDP"``, ``"OptCMDP-bonus"``, ``"OptDual"`` or ``"OptPrimalDual"``; or one of the
        references ``"uniform"``, ``"optimal"``, ``"unconstrained"``, ``"certainty-equivalence"``.
    episodes : int
        Number of episodes K; radii and step sizes are made for it.
    seed : int
        Of the run's generator. The same seed gives the same bits.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options, see `Confidence`.
    rho : float or str
        Bound on the multipliers for the dual learners: a number, or the rule ``"paper"``,
        ``"paper_x2"`` or ``"bound"`` applied to the true model (SPEC A8).
    dual_step, primal_step : float
        Factors on the paper's step sizes.
    tolerance : float
        Relative gap of each plan.
    method : {"columns", "lp"}
        How OptCMDP plans; ``"lp"`` is the extended linear programme, as in the paper.
    audit_visits : bool
        Whether the visit-count event is audited too.
    progress : callable, optional
        Called now and then with the number of episodes done.

    Returns
    -------
    Run
        Exact regrets at the recorded episodes, the last policy, the audit.
    """
    check_kind("cmdp", cmdp, CMDP)
    check_callback("progress", progress)
    seed = whole("seed", seed, 0)
    setting = Setting(
        cmdp,
        learner_named(algorithm),
        whole("episodes", episodes),
        share("delta", delta),
        as_confidence(confidence),
        Options(1.0, dual_step, primal_step, tolerance, method),
        flag("audit_visits", audit_visits),
    )
    truth = truth_of(cmdp, setting.learner, rho)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    return played(setting, truth, rng, seed, progress)


def played(
    setting: Setting,
    truth: Truth,
    rng: np.random.Generator,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """All episodes of a run.

    Parameters
    ----------
    setting : Setting
        What it is made of.
    truth : Truth
        From `truth_of`.
    rng : Generator
        Its only source of randomness.
    seed : int
        What the run is called by.
    progress : callable, optional
        Called now and then with the number of episodes done.
    """
    simulation = begin(setting, truth, rng)
    seconds = _advance(simulation, setting.n_episodes, progress)
    return run_of(simulation, setting, truth, seed, seconds)


def _advance(
    simulation: Simulation, episodes: int, progress: Callable[[int], None] | None
) -> float:
    """Run all episodes in slices that report on the way; the seconds they took together.

    The first episode counts as the others do, because it may have been compiling.
    """
    simulation.advance(1)
    done, slice_size, seconds = 1, 1, 0.0
    while done < episodes:
        if progress is not None:
            progress(done)
        size = min(slice_size, episodes - done)
        start = time.perf_counter()
        simulation.advance(size)
        took = max(time.perf_counter() - start, 1e-9)
        done, seconds = done + size, seconds + took
        slice_size = max(1, int(size * min(10.0, SLICE / took)))
    if progress is not None:
        progress(done)
    return seconds * episodes / max(episodes - 1, 1)
