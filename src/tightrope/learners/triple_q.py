"""Triple-Q: model-free learning with two tables of action values and a virtual queue.

No kernel is estimated. Each step of an episode updates the values of cost and constraint cost at
the pair visited, with a bonus; the queue ``Z`` sums how far the constraint is over its budget, and
moves once in a frame of K^0.6 episodes. With ``t`` visits of a pair in the frame::

    pi_k          greedy in  Q + (Z / eta) C
    after each step (h, s, a), with b the action taken next in state s'
        rate      = (chi + 1) / (chi + t),      bonus = H sqrt(iota rate) / 4
        Q_h(s,a)  = (1 - rate) Q_h(s,a) + rate (c + Q_{h+1}(s',b) - bonus)       C alike, with d
    after each frame
        Q         = Q - 2 H^3 sqrt(iota) / eta
        Q, C      = -h at the pairs where either is below -h,      h = 0, ..., H-1
        Z         = max(0, Z + mean of C_0(s_0,a_0) over the frame - budget + epsilon)
        t         = 0

    chi = eta = K^0.2,   iota = 128 ln(sqrt(2 S A H) K),   epsilon = 8 sqrt(S A H^6 iota^3) / K^0.2

Cost and violation grow as K^0.8 at most, and the violation is zero once K is large. With these
constants that is beyond any feasible K; two factors make them smaller, as a heuristic. There must
be exactly one constraint.

Wei, Liu, Ying (2022), arXiv:2106.01577.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, Problem, new_record
from tightrope.belief.counts import Steps
from tightrope.belief.none import NoBelief
from tightrope.kernels.compiled import compiled
from tightrope.learners.base import Decision, Learner, option
from tightrope.learners.opt_dual import name_changes
from tightrope.learners.uopt_rpgpd import FACTOR_HELP
from tightrope.model.draft import at_stages
from tightrope.model.task import Task

QUEUE = (
    ("length", "f8"),  # Z
    ("total", "f8"),  # sum over the frame of the constraint's value at the start
    ("n_episodes", "i8"),  # of the frame
)
SETTINGS = (
    ("chi", "f8"),
    ("eta", "f8"),
    ("frame", "i8"),  # episodes of a frame
    ("bonus", "f8"),  # H sqrt(iota) / 4
    ("lift", "f8"),  # what a frame adds to the optimism of the cost
    ("slack", "f8"),  # epsilon
    ("budget", "f8"),
)


class QueueState(NamedTuple):
    """Tables of values, visits in the frame, the queue, and settings."""

    cost: Floats  # (H, S, A) Q
    constraint: Floats  # (H, S, A) C
    visits: Ints  # (H, S, A)
    queue: Any  # record of `QUEUE`
    settings: Any  # record of `SETTINGS`
    allowed: Bools  # (H, S, A)

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold; the rest follows from task and options."""
        return ("cost", "constraint", "visits", *(f"queue.{name}" for name, _ in QUEUE))


@compiled
def step(problem: Any, state: QueueState, rng: np.random.Generator, decision: Decision) -> None:
    """The policy that is greedy in the priced values."""
    H, S, A = state.cost.shape
    price = state.queue.length / state.settings.eta
    has_changed = False
    decision.value[:] = 0.0
    for h in range(H):
        for s in range(S):
            best = np.inf
            first = 0
            for a in range(A):
                if state.allowed[h, s, a]:
                    value = state.cost[h, s, a] + price * state.constraint[h, s, a]
                    if value < best:
                        best = value
                        first = a
            if decision.choice[h, s] != first:
                decision.choice[h, s] = first
                has_changed = True
            if h == 0:
                decision.value[0] += problem.initial[s] * state.cost[h, s, first]
                decision.value[1] += problem.initial[s] * state.constraint[h, s, first]
    decision.lam[0] = price
    decision.note.is_changed = has_changed
    decision.note.is_deterministic = True
    decision.note.bound = -np.inf


@compiled
def end_frame(state: QueueState) -> None:
    """More optimism for the cost, no visits, and a step of the queue."""
    H, S, A = state.cost.shape
    for h in range(H):
        for s in range(S):
            for a in range(A):
                state.visits[h, s, a] = 0
                state.cost[h, s, a] -= state.settings.lift
                if state.cost[h, s, a] < -h or state.constraint[h, s, a] < -h:
                    state.cost[h, s, a] = state.constraint[h, s, a] = -float(h)
    excess = state.queue.total / state.settings.frame - state.settings.budget
    state.queue.length = max(0.0, state.queue.length + excess + state.settings.slack)
    state.queue.total = 0.0
    state.queue.n_episodes = 0


@compiled
def read_steps(state: QueueState, steps: Steps) -> None:
    """Update the values along an episode, each from the values of the next step before it."""
    H = steps.actions.size
    chi = state.settings.chi
    for h in range(H):
        s, a = steps.states[h], steps.actions[h]
        state.visits[h, s, a] += 1
        rate = (chi + 1.0) / (chi + state.visits[h, s, a])
        bonus = state.settings.bonus * math.sqrt(rate)
        cost, bounded = steps.cost[h] - bonus, steps.constraint_cost[h, 0] - bonus
        if h < H - 1:
            cost += state.cost[h + 1, steps.states[h + 1], steps.actions[h + 1]]
            bounded += state.constraint[h + 1, steps.states[h + 1], steps.actions[h + 1]]
        state.cost[h, s, a] += rate * (cost - state.cost[h, s, a])
        state.constraint[h, s, a] += rate * (bounded - state.constraint[h, s, a])
    state.queue.total += state.constraint[0, steps.states[0], steps.actions[0]]
    state.queue.n_episodes += 1
    if state.queue.n_episodes >= state.settings.frame:
        end_frame(state)


@dataclass(frozen=True)
class TripleQ(Learner):
    """Triple-Q: model-free, with a virtual queue; for exactly one constraint.

    Parameters
    ----------
    bonus_factor : float
        Factor on the bonuses. Below 1 a heuristic.
    slack_factor : float
        Factor on the slack epsilon of the queue. Below 1 a heuristic.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.TripleQ(), episodes=20).policy.shape
    (6, 3, 2)
    """

    bonus_factor: float = option(1.0, FACTOR_HELP)
    slack_factor: float = option(1.0, "Factor on the slack of the queue; below 1 a heuristic.")

    name: ClassVar[str] = "Triple-Q"
    belief: ClassVar[Any] = NoBelief
    guarantees: ClassVar[tuple[str, ...]] = ("cost", "constraint")
    n_constraints: ClassVar[int | None] = 1
    state: ClassVar[type] = QueueState
    step = staticmethod(step)
    read_steps = staticmethod(read_steps)

    @property
    def changed_steps(self) -> list[str]:
        """Constants made smaller, in words."""
        return name_changes(bonus=min(1.0, self.bonus_factor), slack=min(1.0, self.slack_factor))

    def init(self, task: Task, problem: Problem) -> QueueState:
        """State before the first episode: values as low as those after a reset, no queue."""
        H, S, A, K = task.horizon, task.n_states, task.n_actions, float(task.n_episodes)
        iota = 128.0 * np.log(np.sqrt(2.0 * S * A * H) * K)
        settings = {
            "chi": K**0.2,
            "eta": K**0.2,
            "frame": max(1, int(K**0.6)),
            "bonus": self.bonus_factor * 0.25 * H * np.sqrt(iota),
            "lift": self.bonus_factor * 2.0 * H**3 * np.sqrt(iota) / K**0.2,
            "slack": self.slack_factor * 8.0 * np.sqrt(S * A * H**6 * iota**3) / K**0.2,
            "budget": task.budget[0],
        }
        start = np.zeros((H, S, A)) - np.arange(H, dtype=np.float64)[:, None, None]
        return QueueState(
            cost=start,
            constraint=start.copy(),
            visits=np.zeros((H, S, A), dtype=np.int64),
            queue=new_record(QUEUE),
            settings=new_record(SETTINGS, settings),
            allowed=np.array(at_stages(task.allowed, H), order="C"),
        )
