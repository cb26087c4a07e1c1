"""The simulation loop: plan, evaluate exactly, play, count, audit, without leaving compiled code.

Everything used in episode k is built from episodes 1 to k-1 (SPEC A2): the step comes before the
play, and counts and beliefs after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, Problem
from tightrope.kernels.audit import (
    NOT_OPTIMISTIC,
    PLANS,
    RELAXED,
    SWEEPS,
    Audit,
    check_pair,
    check_visits,
    close_episode,
)
from tightrope.kernels.believe import Believed, Rules, believe
from tightrope.kernels.compiled import compiled, inlined
from tightrope.kernels.copying import copy
from tightrope.kernels.counts import Counts, count_episode
from tightrope.kernels.episode import Trace, play
from tightrope.kernels.regret import EPISODE, Ledger, enter, exact_values
from tightrope.learners import move as places
from tightrope.learners.move import Move
from tightrope.learners.steps import Memory, take_step

GAP, BOUND, IS_RELAXED = places.GAP, places.BOUND, places.IS_RELAXED
HAS_CHANGED, IS_DETERMINISTIC = places.HAS_CHANGED, places.IS_DETERMINISTIC
MOVE_SWEEPS = places.SWEEPS


class World(NamedTuple):
    """The truth and everything that a run keeps beside its learner's memory."""

    truth: Problem
    optimum: float
    noise: int
    rules: Rules
    counts: Counts
    believed: Believed
    known: Floats  # (I+1, G, S*A) costs where they are known
    problem: Problem  # what the learner plans in; shares the arrays of ``believed``
    planned_visits: Ints  # (G, S*A) at the last renewal of the beliefs
    planned_cost_visits: Ints  # (G', S*A) the same of the costs
    waits: bool  # renew beliefs only when some visits have doubled
    plans_anew: bool  # the step has nothing to do while the beliefs stay the same
    is_fresh: Ints  # (1,) whether beliefs changed since the last step
    trace: Trace
    book: Ledger
    audit: Audit


@inlined
def note_plan(a: Audit, move: Move) -> None:
    """Enter a plan into the audit."""
    a.plans[PLANS] += 1
    a.plans[SWEEPS] += int(move.facts[MOVE_SWEEPS])
    a.gap[0] = max(a.gap[0], move.facts[GAP])
    if move.facts[IS_RELAXED] > 0.0:
        a.plans[RELAXED] += 1
    for i in range(move.lam.size):
        a.lam_range[0, i] = min(a.lam_range[0, i], move.lam[i])
        a.lam_range[1, i] = max(a.lam_range[1, i], move.lam[i])


@inlined
def is_optimistic(move: Move, optimum: float, point: Floats) -> bool:
    """Whether the plan keeps what optimism promises on the good event (SPEC C 18, 20 to 22)."""
    if move.facts[IS_RELAXED] > 0.0:
        return False
    slack = 1e-7 * (1.0 + abs(optimum))
    if move.facts[BOUND] < np.inf:
        return bool(move.facts[BOUND] <= optimum + slack)
    holds = True
    for j in range(move.value.size):
        holds = holds and move.value[j] <= point[j] + slack
    return holds


@inlined
def learn_from(w: World) -> None:
    """Count the episode and renew the beliefs it changes."""
    A = w.truth.cost.shape[2]
    is_doubled = count_episode(
        w.counts,
        A,
        w.trace.states,
        w.trace.actions,
        w.trace.cost,
        w.trace.constraint_cost,
        w.planned_visits,
        w.planned_cost_visits,
    )
    if w.waits and not is_doubled:
        return
    w.is_fresh[0] = 1
    if not w.waits:
        for h in range(w.trace.actions.size):
            renew(w, h, w.trace.states[h], w.trace.actions[h])
        return
    stages = w.counts.visits.shape[0]
    for h in range(max(stages, w.counts.cost_visits.shape[0])):  # either may be pooled
        g = min(h, stages - 1)
        for row in range(w.counts.visits.shape[1]):
            if w.counts.visits[g, row] > w.planned_visits[g, row]:
                renew(w, h, row // A, row % A)
    copy(w.counts.visits, w.planned_visits)
    copy(w.counts.cost_visits, w.planned_cost_visits)


@inlined
def renew(w: World, h: int, s: int, a: int) -> None:
    """Renew the beliefs about one pair, and compare them with the truth."""
    A = w.truth.cost.shape[2]
    believe(w.counts, w.rules, w.believed, w.known, h, s, a)
    check_pair(w.truth, w.counts, w.rules, w.believed, w.audit, h, s * A + a)


@compiled
def simulate(
    w: World, memory: Memory, move: Move, rng: np.random.Generator, n_episodes: int
) -> None:
    """Run that many episodes on from where the run stands.

    Parameters
    ----------
    w : World
    memory : the learner's
    move : Move
    rng : Generator
    n_episodes : int
    """
    audits_visits = w.audit.expected_visits.shape[0] > 0
    for _ in range(n_episodes):
        if audits_visits:
            check_visits(w.audit, w.counts)
        if w.is_fresh[0] != 0 or not w.plans_anew:
            take_step(w.problem, memory, move)
            w.is_fresh[0] = 0
            note_plan(w.audit, move)
        else:
            move.facts[HAS_CHANGED] = 0.0
        is_deterministic = move.facts[IS_DETERMINISTIC] > 0.0
        if move.facts[HAS_CHANGED] > 0.0:
            exact_values(w.truth, move.pi, move.choice, is_deterministic, w.book)
        enter(w.book, w.optimum, w.truth.budget, move.lam)
        is_good = True
        for family in range(3):
            is_good = is_good and w.audit.bad[family] == 0
        if is_good and not is_optimistic(move, w.optimum, w.book.point):
            w.audit.plans[NOT_OPTIMISTIC] += 1
        close_episode(w.audit, w.book.state[EPISODE])
        if audits_visits:
            add_expected_visits(w.audit, w.book, move, is_deterministic)
        play(w.truth, w.noise, move.pi, move.choice, is_deterministic, rng, w.trace)
        learn_from(w)


@inlined
def add_expected_visits(a: Audit, book: Ledger, move: Move, is_deterministic: bool) -> None:
    """Add the occupancy of the policy at hand to what visits are measured against."""
    H, S, A = book.q.shape
    for h in range(H):
        for s in range(S):
            for action in range(A):
                if not is_deterministic:
                    a.expected_visits[h, s * A + action] += book.q[h, s, action]
                elif move.choice[h, s] == action:
                    a.expected_visits[h, s * A + action] += book.reach[h, s]
