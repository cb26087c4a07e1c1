"""The simulation loop: decide, evaluate exactly, play, observe, audit, all in compiled code.

Everything used in episode k is built from episodes 1 to k-1: the decision comes before the play,
and counts and beliefs after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import is_
from typing import Any, NamedTuple, Protocol

import numpy as np

from tightrope.arrays import CERTAINTY, Floats, Ints, Problem
from tightrope.belief.audit import (
    Audit,
    Watch,
    audit_everything,
    audit_visits,
    close_episode,
    new_audit,
)
from tightrope.belief.beliefs import observe
from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Steps
from tightrope.experiments.regret import (
    Record,
    evaluate_baseline,
    exact_values,
    mix_values,
    new_regret_record,
    record_episode,
    recorded_episodes,
)
from tightrope.kernels.calls import NO_CALL, Block, Call, invoke, unpack
from tightrope.kernels.compiled import compiled, expanded, inlined
from tightrope.kernels.draws import uniform
from tightrope.learners.agent import Agent, decide, draw_policy, read_steps
from tightrope.learners.base import Decision, Learner, has_reader
from tightrope.model import CMDP
from tightrope.model.base import writable_problem
from tightrope.model.task import simulated_task

EXACT, BERNOULLI, BETA = 0, 1, 2  # how costs are drawn around their means
NOISES = {"none": EXACT, "bernoulli": BERNOULLI, "beta": BETA}


def new_steps(H: int, I: int) -> Steps:
    """Room for an episode."""
    return Steps(
        np.zeros(H + 1, dtype=np.int64),
        np.zeros(H, dtype=np.int64),
        np.zeros(H),
        np.zeros((H, I)),
    )


@inlined
def draw_index(weights: Floats, u: float) -> int:
    """Index drawn from probabilities by one uniform number; rounding never leaves their support."""
    chosen = -1
    for k in range(weights.size):
        if weights[k] > 0.0:
            chosen = k
            u -= weights[k]
            if u < 0.0:
                break
    return chosen


class Beta(NamedTuple):
    """How compiled code draws a beta-distributed cost: by a call, as few models have such costs."""

    call: Call  # to `draw_beta`
    cost: Floats  # (1,) the mean, in whose place the cost is drawn


@compiled
def draw_beta(block: Any) -> int:
    """Draw a cost. The block holds the generator and the mean, in whose place the cost is put."""
    rng, cost = unpack(block)
    mean = cost[0]
    cost[0] = rng.beta(CERTAINTY * mean, CERTAINTY * (1.0 - mean))
    return 0


def new_beta(noise: int, rng: np.random.Generator) -> tuple[Beta, Block]:
    """What draws beta-distributed costs, and the block that has to exist as long as it is used."""
    cost = np.zeros(1)
    block = Block(rng, cost)
    return Beta(block.call(draw_beta) if noise == BETA else NO_CALL, cost), block


@inlined
def draw_cost(mean: float, noise: int, rng: np.random.Generator, beta: Beta) -> float:
    """Observed cost in [0, 1] with that mean."""
    if noise == BERNOULLI:
        return 1.0 if uniform(rng) < mean else 0.0
    if noise == BETA and 0.0 < mean < 1.0:
        beta.cost[0] = mean
        invoke(beta.call)
        return float(beta.cost[0])
    return mean


@expanded
def play(
    true_model: Problem,
    noise: int,
    pi: Floats,
    choice: Ints,
    is_deterministic: bool,
    rng: np.random.Generator,
    beta: Beta,
    out: Steps,
) -> None:
    """Play a policy for H steps.

    Unless costs are beta distributed, an episode takes the same number of draws whatever happens
    in it: learners with generators in the same state see the same randomness, episode by episode.

    Parameters
    ----------
    true_model : Problem
        With a known kernel.
    noise : int
        EXACT, BERNOULLI or BETA.
    pi : (H, S, A) array
    choice : (H, S) array
        Actions, read instead of ``pi`` when the policy is deterministic.
    is_deterministic : bool
    rng : Generator
    beta : Beta
        Draws with the same generator.
    out : Steps
        Written.
    """
    H = choice.shape[0]
    A = true_model.cost.shape[2]
    p: Any = true_model.kernels
    s = draw_index(true_model.initial, uniform(rng))
    for h in range(H):
        out.states[h] = s
        u = uniform(rng)  # drawn in any case, so that learners can share their randomness
        a = choice[h, s] if is_deterministic else draw_index(pi[h, s], u)
        out.actions[h] = a
        out.cost[h] = draw_cost(
            true_model.cost[min(h, true_model.cost.shape[0] - 1), s, a], noise, rng, beta
        )
        layer = min(h, true_model.constraint_cost.shape[1] - 1)
        for i in range(true_model.budget.size):
            mean = true_model.constraint_cost[i, layer, s, a]
            out.constraint_cost[h, i] = draw_cost(mean, noise, rng, beta)
        g = min(h, p.indptr.shape[0] - 1)
        first, last = p.indptr[g, s * A + a], p.indptr[g, s * A + a + 1]
        s = int(p.indices[g, first + draw_index(p.data[g, first:last], uniform(rng))])
    out.states[H] = s


class World(NamedTuple):
    """The true model and what a run keeps beside its agent."""

    optimum: float
    noise: int
    steps: Steps
    record: Record
    watch: Watch


@expanded
def note_plan(a: Audit, decision: Decision) -> None:
    """Add a plan to the audit."""
    a.plans.plans += 1
    a.plans.sweeps += decision.note.sweeps
    a.plans.largest_gap = max(a.plans.largest_gap, decision.note.gap)
    if decision.note.is_relaxed:
        a.plans.relaxed += 1
    for i in range(decision.lam.size):
        a.multiplier_range[0, i] = min(a.multiplier_range[0, i], decision.lam[i])
        a.multiplier_range[1, i] = max(a.multiplier_range[1, i], decision.lam[i])


@expanded
def is_optimistic(decision: Decision, optimum: float, point: Floats) -> bool:
    """Whether the plan is as optimistic as the theory says while the beliefs hold."""
    if decision.note.is_relaxed:
        return False
    slack = 1e-7 * (1.0 + abs(optimum))
    if decision.note.bound < np.inf:
        return bool(decision.note.bound <= optimum + slack)
    holds = True
    for j in range(decision.value.size):
        holds = holds and decision.value[j] <= point[j] + slack
    return holds


@expanded
def are_bounds_wrong(decision: Decision, point: Floats) -> bool:
    """Whether a constraint value of the plan is above the upper bound that was computed for it."""
    are_wrong = False
    for i in range(decision.upper.size):
        slack = 1e-9 * (1.0 + abs(point[1 + i]))
        are_wrong = are_wrong or point[1 + i] > decision.upper[i] + slack
    return are_wrong


@expanded
def add_occupancy(a: Audit, record: Record, decision: Decision) -> None:
    """Add the occupancy of the current episode to the sum over episodes."""
    H, S, A = record.q.shape
    share = decision.note.baseline
    for h in range(H):
        for s in range(S):
            for action in range(A):
                q = 0.0
                if not decision.note.is_deterministic:
                    q = record.q[h, s, action]
                elif decision.choice[h, s] == action:
                    q = record.reach[h, s]
                if share > 0.0:
                    q = (1.0 - share) * q + share * record.baseline_q[h, s, action]
                a.expected_visits[h, s * A + action] += q


@compiled
def simulate(block: Any, n_episodes: int) -> int:
    """Run that many episodes on from where the run stands.

    Parameters
    ----------
    block : Block
        `World`; `Counts`, `Decision` and status of the agent; the calls to `decide`, to `observe`
        and, where the learner reads episodes, to `read_steps`; the generator of starts, actions,
        successors and costs and that of the learner; `Beta`.
    n_episodes : int
    """
    w, counts, decision, status, calls, rng, own_rng, beta = unpack(block)
    decide, observe, read = calls
    true_model, a, note = w.watch.true_model, w.watch.audit, decision.note
    sums_visits = a.expected_visits.shape[0] > 0
    for _ in range(n_episodes):
        if a.plans.visit_term > 0.0:
            audit_visits(a, counts)
        if invoke(decide) > 0:
            note_plan(a, decision)
        draw_policy(note, own_rng)
        if note.is_rebased:
            evaluate_baseline(true_model, decision.baseline, decision.choice, w.record)
        if note.is_changed or note.is_rebased:
            exact_values(true_model, decision.pi, decision.choice, note.is_deterministic, w.record)
        point = mix_values(w.record, note.baseline)
        record_episode(w.record, point, w.optimum, true_model.budget, decision.lam, note.baseline)
        if are_bounds_wrong(decision, w.record.point):
            a.plans.bound_failures += 1
        if close_episode(a, w.record.state.episode) and not is_optimistic(
            decision, w.optimum, w.record.point
        ):
            a.plans.not_optimistic += 1
        if sums_visits:
            add_occupancy(a, w.record, decision)
        pi = decision.baseline if note.plays_baseline else decision.pi
        is_fixed = note.is_deterministic and not note.plays_baseline
        play(true_model, w.noise, pi, decision.choice, is_fixed, rng, beta, w.steps)
        if invoke(observe) > 0:
            status.is_fresh = True
        if read[0] != 0:
            invoke(read)
    return n_episodes


class Simulation:
    """A run under way.

    Parameters
    ----------
    cmdp : CMDP
        The true model.
    learner : Learner
        With its options resolved to numbers.
    n_episodes : int
        Number of episodes K.
    optimum : float
        Optimal cost of the true model.
    rng : Generator
        Of starts, actions, successors and costs; the learner's own generator is derived from it.
    delta : float
    confidence : Confidence
    audit_visits : bool
        Whether the visit-count event is audited too.
    average : bool
        Whether occupancies are summed, for the average policy.
    points : int
        About how many episodes to record.
    """

    def __init__(
        self,
        cmdp: CMDP,
        learner: Learner,
        n_episodes: int,
        optimum: float,
        rng: np.random.Generator,
        delta: float = 0.1,
        confidence: Confidence | None = None,
        audit_visits: bool = False,
        average: bool = False,
        points: int = 2_000,
    ) -> None:
        task = simulated_task(cmdp, n_episodes, delta)
        H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
        self.rng = rng
        self.agent = Agent(learner, task, confidence or Confidence(), rng.spawn(1)[0])
        visit_term = H * np.log(S * A * H / (task.delta / 3)) if audit_visits else 0.0
        audit = new_audit(S, A, I, H, float(visit_term))
        if average:
            audit = audit._replace(expected_visits=np.zeros((H, S * A)))
        watch = Watch(writable_problem(cmdp), audit)
        audit_everything(Block(watch, self.agent.beliefs.counts, self.agent.beliefs.belief))
        recorded = recorded_episodes(n_episodes, points)
        has_baseline = bool(len(self.agent.decision.baseline))
        record = new_regret_record(recorded, H, S, A, I, has_baseline)
        noise = NOISES[cmdp.noise]
        self.world = World(float(optimum), noise, new_steps(H, I), record, watch)
        self._kept: tuple[Any, ...] = ()  # objects of the last call, and its blocks

    @property
    def episode(self) -> int:
        """Episodes done."""
        return int(self.world.record.state.episode)

    def advance(self, n_episodes: int) -> None:
        """Run that many episodes."""
        while n_episodes > 0:
            self.agent.prepare()
            n = self.agent.learner.episodes_per_call(n_episodes)
            self._advance(n)
            n_episodes -= n

    def _advance(self, n_episodes: int) -> None:
        simulate(self._block(), n_episodes)
        self.agent.n_observed = self.episode

    def _block(self) -> Block:
        """The block for `simulate`, made anew where the agent has other objects than before."""
        agent, w = self.agent, self.world
        own = agent.problem, agent.state, agent.beliefs, agent.decision, agent.status, agent.rng
        parts = (*own, w, self.rng)
        if self._kept and all(map(is_, parts, self._kept[0])):
            last: Block = self._kept[-1]
            return last
        plan, read = agent.block(), Block(agent.state, w.steps)
        beta, draw = new_beta(w.noise, self.rng)
        learn = Block(agent.beliefs, agent.task.n_actions, w.steps, w.watch)
        reads = read.call(read_steps) if has_reader(agent.state) else NO_CALL
        calls = plan.call(decide), learn.call(observe), reads
        counts, decision, status = agent.beliefs.counts, agent.decision, agent.status
        whole = Block(w, counts, decision, status, calls, self.rng, agent.rng, beta)
        self._kept = parts, plan, learn, read, draw, whole  # called blocks have to exist
        return whole


class Advancing(Protocol):
    """A run under way, in a known model or in an environment."""

    @property
    def episode(self) -> int:
        """Episodes done."""
        ...

    def advance(self, n_episodes: int) -> None:
        """Run that many episodes more."""
        ...


def advance_in_slices(
    simulation: Advancing,
    n_episodes: int,
    seconds: float,
    tick: Callable[[int, int, float], bool],
) -> None:
    """Run episodes until all are done, in slices of about that many seconds each.

    Parameters
    ----------
    simulation : Advancing
    n_episodes : int
        To be done in all.
    seconds : float
    tick : callable
        Called after each slice with the episodes done, the size of the slice and its seconds;
        False stops.
    """
    size = 1  # of the first slice, which may have to compile
    while simulation.episode < n_episodes:
        size = min(size, n_episodes - simulation.episode)
        start = time.perf_counter()
        simulation.advance(size)
        took = max(time.perf_counter() - start, 1e-9)
        if not tick(simulation.episode, size, took):
            return
        size = max(1, int(size * min(10.0, seconds / took)))
