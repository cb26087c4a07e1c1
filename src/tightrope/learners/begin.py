"""A new interactive learner, from what is known before the first episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tightrope.errors import ModelError
from tightrope.estimate.beliefs import begin_beliefs
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.learners.algorithms import LEARNERS, Options, learner_named, new_memory
from tightrope.learners.interactive import InteractiveLearner
from tightrope.learners.tasks import task_from


def learner(
    algorithm: str,
    n_states: int,
    n_actions: int,
    horizon: int,
    budget: Any,
    episodes: int,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    rho: float | None = None,
    initial: Any = 0,
    allowed: Any = None,
    cost: Any = None,
    constraint_cost: Any = None,
    stationary: bool = False,
    successors: Any = None,
    dual_step: float = 1.0,
    primal_step: float = 1.0,
    tolerance: float = 1e-8,
) -> InteractiveLearner:
    """A learner for a process that is known only through its episodes.

    Parameters
    ----------
    algorithm : str
        ``"OptCMDP"``, ``"OptCMDP-bonus"``, ``"OptDual"`` or ``"OptPrimalDual"``.
    n_states, n_actions, horizon : int
        Sizes S, A, H.
    budget : (I,) array
        Largest allowed expected sums over the H steps, in [0, H].
    episodes : int
        Number of episodes K; radii and step sizes are made for it.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options, see `Confidence`.
    rho : float, optional
        Bound on the multipliers; OptDual and OptPrimalDual need it.
    initial : int or (S,) array
        Start state, or distribution over start states.
    allowed : (S, A) or (H, S, A) booleans, optional
        Actions that exist in a state.
    cost : (S, A) or (H, S, A) array, optional
        Mean costs where they are known (with ``known_costs`` in the confidence).
    constraint_cost : (I, S, A) or (I, H, S, A) array, optional
        The same for the constraints.
    stationary : bool
        Whether the process is the same at every stage, so that counts may be pooled (with ``pool``
        in the confidence).
    successors : (S, A, S) booleans, optional
        Which successors are possible, where that is known (with ``known_support`` in the
        confidence); otherwise only room for counts.
    dual_step, primal_step : float
        Factors on the paper's step sizes.
    tolerance : float
        Relative gap of each plan.
    """
    chosen = learner_named(algorithm)
    if chosen.name not in LEARNERS:
        raise ModelError(f"algorithm: {algorithm!r} is a reference for simulations, not a learner")
    if chosen.needs_rho and rho is None:
        raise ModelError(
            f"rho: missing; {chosen.name} needs a bound on the multipliers, at least twice the "
            "cost that the safest policy gives up divided by the room it leaves in the tightest "
            "budget (2 * horizon / room is always enough)"
        )
    task = task_from(
        n_states,
        n_actions,
        horizon,
        budget,
        episodes,
        delta,
        initial,
        allowed,
        cost,
        constraint_cost,
        stationary,
        successors,
    )
    options = Options(1.0 if rho is None else rho, dual_step, primal_step, tolerance)
    radii = as_confidence(confidence)
    if radii.known_support and successors is None:
        raise ModelError("confidence: known_support is set, but no successors were given")
    if cost is not None and not radii.known_costs:
        raise ModelError("cost: given, but the confidence does not say known_costs")
    beliefs = begin_beliefs(task, radii, chosen.is_bonus)
    return InteractiveLearner(
        chosen.name,
        task,
        radii,
        beliefs,
        new_memory(chosen, task, beliefs.problem, options),
        grows=successors is None,
    )
