"""The plan of certainty equivalence in a study: optimal in the estimated model of its episodes.

It takes only actions that were tried, as the plan of `fit` does, so its values are estimates. In
states without a tried action, and before the first episode, all actions have equal probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tightrope.arrays import Bools
from tightrope.belief.episode import Episodes
from tightrope.errors import InfeasibleError
from tightrope.model import Plan
from tightrope.model.draft import at_stages
from tightrope.model.start import is_learned
from tightrope.offline.fit import EMPIRICAL, empirical_model
from tightrope.offline.log import Log
from tightrope.plan.solve import solve
from tightrope.study.terms import Terms

ROUNDING = 1e-9  # added to raised budgets, relative to the largest sum of an episode


def plan_estimated(
    parts: Sequence[Episodes], terms: Terms, is_pooled: bool, undecided: Bools
) -> Plan:
    """Return the plan from told episodes, in the units of the terms.

    If the budgets are infeasible by the estimates, the violation is minimized.

    Parameters
    ----------
    parts : sequence of Episodes
        The told episodes, in any number of parts.
    terms : Terms
    is_pooled : bool
        Whether stages are estimated together.
    undecided : (H, S) booleans
        Where several actions exist and none was tried.
    """
    task = terms.task()
    exists = at_stages(task.allowed, task.horizon)
    uniform = exists / np.maximum(exists.sum(axis=2, keepdims=True), 1)
    if not parts:
        unknown = np.full(task.n_constraints, np.nan)
        occupancy = np.zeros(exists.shape)
        occupancy[0] = task.initial[:, None] * uniform[0]
        none = np.zeros(task.n_constraints)
        return Plan(uniform, np.nan, unknown, none, np.nan, occupancy, EMPIRICAL, 0)
    log = _log_of(parts, terms)
    start = log.starts if is_learned(terms.initial) else task.initial
    model = empirical_model(log, task.budget, start, exists, is_pooled)
    is_feasible = True
    try:
        plan = solve(model)
    except InfeasibleError as error:
        is_feasible = False
        raised = task.budget + np.array(error.excess) / model.units.sizes
        raised = np.minimum(raised + ROUNDING * task.horizon, task.horizon)
        plan = solve(empirical_model(log, raised, start, exists, is_pooled))
    policy = np.where(undecided[:, :, None], uniform, plan.policy)
    return replace(
        plan,
        policy=policy,
        occupancy=plan.occupancy.sum(axis=2, keepdims=True) * policy,
        method=EMPIRICAL,
        is_feasible=is_feasible,
        model=model,
    )


def _log_of(parts: Sequence[Episodes], terms: Terms) -> Log:
    """Return told episodes as a log with the names and units of the terms."""
    arrays = zip(*(vars(part).values() for part in parts), strict=True)
    episodes = Episodes(*(np.concatenate(each) for each in arrays))
    return Log(
        _scaled=episodes,
        episode_names=(),
        state_names=tuple(terms.states),
        action_names=tuple(terms.actions),
        constraint_names=terms.constraints,
        cost_unit=terms.units[0],
        constraint_units=terms.units[1:],
        _end=None,
        faults=(),
        n_left_out=0,
        place="row",
        layout="episodes",
    )
