"""fit: from logged episodes to a policy, with what the log showed and what it could not.

Confidence sets hold for data that anybody collected, by any policies that did not foresee the
outcome (SPEC A3), so that the plans of the learners and the bounds on a policy mean the same as if
the learner had played. Regret bounds are about the learner's own episodes and say nothing here.

The radii are valid for a number of episodes that was fixed before the data were seen. If collection
stopped because of what the data showed, use radii without that number (``any_time``).

The learners' rules are optimistic: they try what may be good, also what nobody has tried.
``"certainty-equivalence"`` plans in the averages and only does what was done before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from tightrope.arrays import Bools, Floats, check_kind, check_table, flag, whole
from tightrope.errors import ModelError, describe
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.interop.logs.coverage import Coverage, coverage
from tightrope.interop.logs.empirical import empirical_model
from tightrope.interop.logs.log import Log
from tightrope.learners.algorithms import LEARNERS, learner_named
from tightrope.learners.begin import learner
from tightrope.learners.interactive import InteractiveLearner
from tightrope.learners.labels import Labels
from tightrope.model import CMDP, Plan
from tightrope.model.draft import start_distribution
from tightrope.plan.bound import Bounds
from tightrope.plan.solve import solve

EMPIRICAL = "certainty-equivalence"


@final
@dataclass(frozen=True)
class Fit:
    """What came of a log.

    Parameters
    ----------
    log : Log
        The episodes.
    coverage : Coverage
        What they show.
    model : CMDP
        Their averages; names and units are the log's.
    learner : InteractiveLearner
        It has counted every episode, and can go on from there.
    plan : Plan
        The policy, and the values that its rule believes of it.
    bounds : Bounds
        What the policy costs at least and at most, by what was seen.
    start_doubt : float
        How far, in L1, the true distribution of the start may be from the one planned with; the
        bounds allow for it.
    """

    log: Log
    coverage: Coverage
    model: CMDP
    learner: InteractiveLearner
    plan: Plan
    bounds: Bounds
    start_doubt: float


def fit(
    log: Log,
    budget: Mapping[str, float] | None = None,
    algorithm: str = "OptCMDP",
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "tight",
    rho: float | None = None,
    initial: Any = None,
    allowed: Any = None,
    stationary: bool = False,
    steps: int = 1000,
    more: int = 1,
) -> Fit:
    """Plan from logged episodes.

    Parameters
    ----------
    log : Log
        What `read_log` read. The number of its episodes enters the radii and must have been fixed
        independently of their outcomes; ``any_time`` in `confidence` removes this condition.
    budget : mapping of str to float, optional
        Largest expected total of an episode for each constraint, in the log's units.
    algorithm : str
        Whose rule plans: a learner, or ``"certainty-equivalence"``, which plans in the averages and
        keeps to actions that were tried.
    delta : float
        Probability with which the confidence sets may fail.
    confidence : str, mapping or Confidence
        Which radii, see `Confidence`.
    rho : float, optional
        Bound on the multipliers; OptDual and OptPrimalDual need it.
    initial : int, str or (S,) array, optional
        Start state, its name, or a distribution. When not given, the shares of the log, also
        where every episode starts in one state; bounds then include the error of these shares.
    allowed : (S, A) or (H, S, A) booleans, optional
        Actions that exist in a state.
    stationary : bool
        Whether the process is the same at every stage, so that stages are counted together.
    steps : int
        Steps of a dual learner, whose plans are averaged.
    more : int
        Episodes that the learner may still be told of; radii are made for these too.
    """
    check_kind("log", log, Log)
    stationary = flag("stationary", stationary)
    start = log.starts if initial is None else _start(log, initial)
    exists = _exists(log, allowed)
    limits = log.budget(check_table("budget", budget))
    model = empirical_model(log, limits, start, exists, stationary)
    rule = learner_named(algorithm).name
    if rule not in (*LEARNERS, EMPIRICAL):
        raise ModelError(f"algorithm: {rule!r} does not plan from data")
    count, radii = whole("steps", steps), as_confidence(confidence)
    episodes = len(log.episodes) + whole("more", more)
    # the steps of dual learners are made for the number of steps that are taken
    pace = float(np.sqrt(episodes / count))
    told = learner(
        "OptCMDP" if rule == EMPIRICAL else rule,
        log.n_states,
        log.n_actions,
        log.horizon,
        limits,
        episodes,
        delta,
        replace(radii, pool=True) if stationary else radii,
        rho,
        start,
        exists,
        stationary=stationary,
        dual_step=pace,
        primal_step=pace,
    )
    told.absorb(log.episodes, log.end)
    plan = replace(solve(model), method=EMPIRICAL) if rule == EMPIRICAL else told.settle(count)
    doubt = start_doubt(log, delta, radii.any_time) if initial is None else 0.0
    units = (log.cost_unit, *log.constraint_units)
    told.labels = Labels(tuple(log.state_names), tuple(log.action_names), units, doubt)
    return Fit(log, coverage(log, exists), model, told, plan, told.bound(plan.policy), doubt)


def seen_in(log: Log, allowed: Any = None) -> Coverage:
    """What a log shows, also where nothing can be planned from it.

    Parameters
    ----------
    log : Log
        The episodes.
    allowed : (S, A) or (H, S, A) booleans, optional
        Actions that exist in a state.
    """
    return coverage(log, _exists(log, allowed))


def start_doubt(log: Log, delta: float, any_time: bool = False) -> float:
    """How far, in L1, the shares of the log may be from the distribution of the start.

    The radii leave a third of delta unused (the paper's share for visit counts), which is used
    here, for K episodes::

        P( |shares - truth|_1 >= e ) <= 2^S exp(-K e^2 / 2)

    Zero only when there is a single state to start in.

    Parameters
    ----------
    log : Log
        The episodes.
    delta : float
        Probability with which everything together may fail.
    any_time : bool
        Whether the bound holds for every K at once, with weights 1 / (K (K + 1)).
    """
    S, K = log.n_states - (log.end is not None), len(log.episodes)
    if S == 1:
        return 0.0
    weight = K * (K + 1) if any_time else 1
    return min(2.0, float(np.sqrt(2 * (S * np.log(2) + np.log(3 * weight / delta)) / K)))


def _start(log: Log, initial: Any) -> Floats:
    start = start_distribution(initial, log.n_states, log.state_names)
    first = log.episodes.states[:, 0]
    if not (start[first] > 0).all():
        k = int((start[first] > 0).argmin())
        name = log.state_names[first[k]]
        raise ModelError(f"initial: an episode begins in {name!r}, which is no start state")
    return start


def _exists(log: Log, allowed: Any) -> Bools:
    """Which actions exist, (H, S, A); in the state of ended episodes the first alone."""
    shape = (log.horizon, log.n_states, log.n_actions)
    mask = np.ones(shape, dtype=np.bool_)
    if allowed is not None:
        try:
            given = np.asarray(allowed)
        except ValueError as error:
            raise ModelError(f"allowed: {describe(allowed)}, expected booleans") from error
        rows = log.n_states if log.end is None else log.n_states - 1
        fits = given.dtype == np.bool_ and given.ndim in (2, 3)
        fits = fits and given.shape[-2:] in ((log.n_states, log.n_actions), (rows, log.n_actions))
        if not fits or (given.ndim == 3 and len(given) != log.horizon):
            raise ModelError(
                f"allowed: {given.dtype} of shape {given.shape}, expected booleans over "
                f"{(rows, log.n_actions)} or {(log.horizon, rows, log.n_actions)}"
            )
        mask[:, : given.shape[-2]] = given
    if log.end is not None:
        mask[:, log.end.state] = np.arange(log.n_actions) == 0
    return mask
