"""Where a plan randomises, and which constraint makes it do so.

At an optimum the actions that share a state are worth the same once the constraints are priced::

    Q_c(a) + sum_i lam_i Q_i(a)  =  the same for every action a in the mixture

so where they differ in cost, priced constraint values make up for it. The constraint that forces
the mixture is the one whose priced values differ most. Where no price tells them apart, a used-up
budget may still need the mixture, because the action that spends more of it would break it alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightrope.arrays import Floats, Ints, Transitions
from tightrope.errors import ModelError
from tightrope.kernels.bellman import action_values, evaluate
from tightrope.kernels.desk import desk
from tightrope.model import CMDP, Plan
from tightrope.model.cmdp import writable_problem
from tightrope.plan.generate import budget_units

SAME = 1e-9  # values closer than this, relative to the plan's cost or to a budget, are equal


@dataclass(frozen=True)
class Randomised:
    """A stage and state in which a plan randomises.

    Parameters
    ----------
    stage : int
        Counted from 0.
    state : int
        Number of the state.
    reached : float
        Probability of being in the state at that stage.
    actions : tuple of int
        The actions that are mixed.
    shares : tuple of float
        Probability of each; they sum to one.
    constraint : int or None
        The constraint that forces the mixture; None when each of the actions alone would cost
        the same and keep the budgets as well.
    """

    stage: int
    state: int
    reached: float
    actions: tuple[int, ...]
    shares: tuple[float, ...]
    constraint: int | None


def randomisation(cmdp: CMDP, plan: Plan) -> tuple[Randomised, ...]:
    """Every reached stage and state in which a plan randomises, by stage.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    plan : Plan
        A plan for it.
    """
    shape = (cmdp.horizon, cmdp.n_states, cmdp.n_actions)
    if plan.policy.shape != shape:
        raise ModelError(f"plan: a policy of shape {plan.policy.shape}, expected {shape}")
    reached = plan.occupancy.sum(axis=2)
    is_mixed = (plan.policy > 0).sum(axis=2) > 1
    where = np.argwhere(is_mixed & (reached > 0))
    if not len(where):
        return ()
    spread = np.array([_spread(cmdp, plan, i, where) for i in range(cmdp.n_constraints)])
    spread = spread.reshape(cmdp.n_constraints, len(where))
    force = np.vstack(
        (np.full(len(where), SAME * abs(plan.value)), plan.multiplier[:, None] * spread)
    )
    strongest = force.argmax(axis=0)
    unit = budget_units(cmdp.problem, cmdp.horizon)
    is_used_up = plan.constraint_value >= cmdp.budget - SAME * unit
    need = np.vstack((np.full(len(where), SAME), (is_used_up / unit)[:, None] * spread))
    strongest = np.where(strongest > 0, strongest, need.argmax(axis=0))
    found = []
    for k, (h, s) in enumerate(where.tolist()):
        actions = np.flatnonzero(plan.policy[h, s] > 0)
        found.append(
            Randomised(
                stage=h,
                state=s,
                reached=float(reached[h, s]),
                actions=tuple(actions.tolist()),
                shares=tuple(plan.policy[h, s, actions].tolist()),
                constraint=int(strongest[k]) - 1 if strongest[k] else None,
            )
        )
    return tuple(found)


def _spread(cmdp: CMDP, plan: Plan, i: int, where: Ints) -> Floats:
    """How far the values of a constraint differ between the actions mixed at each place."""
    H, S, A = plan.policy.shape
    problem = writable_problem(cmdp)
    kernels, cost = problem.kernels, problem.constraint_cost[i]
    assert isinstance(kernels, Transitions)
    V, Q = np.empty((H + 1, S)), np.empty((H, S, A))
    order, work = np.zeros(S, dtype=np.uint32), desk(S)
    evaluate(kernels, cost, plan.policy, 1.0, V, order, work)
    action_values(kernels, cost, V, Q, order, work)
    stages, states = where.T
    values, is_used = Q[stages, states], plan.policy[stages, states] > 0
    most = np.where(is_used, values, -np.inf).max(axis=1)
    return np.asarray(most - np.where(is_used, values, np.inf).min(axis=1))
