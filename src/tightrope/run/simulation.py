"""A run under way: the truth, the learner's memory and the book, advanced as far as wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tightrope.arrays import Floats, Problem, Transitions
from tightrope.estimate.beliefs import Beliefs, begin_beliefs
from tightrope.kernels.audit import audit as new_audit
from tightrope.kernels.audit import check_everything
from tightrope.kernels.episode import BERNOULLI, BETA, EXACT, trace
from tightrope.kernels.regret import ledger
from tightrope.learners.algorithms import new_memory
from tightrope.learners.fixed import FixedMemory, new_fixed_memory
from tightrope.learners.move import Move, new_move
from tightrope.learners.steps import Memory
from tightrope.learners.tasks import mean_costs
from tightrope.model import CMDP
from tightrope.model.cmdp import writable_problem
from tightrope.model.task import Task
from tightrope.regret import recorded_episodes
from tightrope.run.programme import ProgrammePlan, plan_by_lp
from tightrope.run.setting import Setting, Truth
from tightrope.run.simulate import World, simulate

NOISES = {"none": EXACT, "bernoulli": BERNOULLI, "beta": BETA}


@dataclass(frozen=True)
class Simulation:
    """A run under way.

    Parameters
    ----------
    task : Task
        What the learner is given.
    world : World
        The truth, counts, beliefs, book and audit.
    memory : a learner's memory
        Whose class says whose steps are taken.
    move : Move
        The last policy and what was planned of it.
    rng : Generator
        Of starts, actions, successors and costs.
    planner : callable, optional
        Plans in place of the compiled step, between episodes (the HiGHS variant).
    """

    task: Task
    world: World
    memory: Memory
    move: Move
    rng: np.random.Generator
    planner: Callable[[Problem], ProgrammePlan] | None = None

    def advance(self, n_episodes: int) -> None:
        """Run that many episodes."""
        if self.planner is None:
            simulate(self.world, self.memory, self.move, self.rng, n_episodes)
            return
        assert isinstance(self.memory, FixedMemory)
        for _ in range(n_episodes):
            if self.world.is_fresh[0]:
                self._take_in(self.planner(self.world.problem), self.memory)
            simulate(self.world, self.memory, self.move, self.rng, 1)

    def _take_in(self, plan: ProgrammePlan, memory: FixedMemory) -> None:
        """Let the next episodes play a plan that was made outside the loop."""
        memory.pi[:] = plan.policy
        memory.is_new[0], memory.is_relaxed[0] = 1.0, float(plan.is_relaxed)
        memory.bound[0] = np.inf if plan.is_relaxed else plan.value[0]
        self.move.value[:], self.move.lam[:] = plan.value, plan.multiplier


def task_of(cmdp: CMDP, n_episodes: int, delta: float) -> Task:
    """What a learner in simulation is told; the true pattern is lent as storage."""
    problem, known_cost = writable_problem(cmdp), mean_costs(cmdp)
    return Task(
        n_states=cmdp.n_states,
        n_actions=cmdp.n_actions,
        horizon=cmdp.horizon,
        budget=problem.budget.copy(),
        initial=problem.initial.copy(),
        allowed=problem.allowed,
        n_episodes=n_episodes,
        delta=delta,
        pattern=Transitions(*problem.kernels),
        known_cost=known_cost,
        is_stationary_kernel=cmdp.is_stationary,
        is_stationary_cost=known_cost.shape[1] == 1,
    )


def begin(
    setting: Setting, truth: Truth, rng: np.random.Generator, policy: Floats | None = None
) -> Simulation:
    """A run before its first episode.

    Parameters
    ----------
    setting : Setting
        What it is made of.
    truth : Truth
        From `truth_of`.
    rng : Generator
        The run's only source of randomness.
    policy : (H, S, A) array, optional
        Played in every episode instead of learning; a reference has its own.
    """
    learner = setting.learner
    options = replace(setting.options, rho=truth.rho)
    task = task_of(setting.cmdp, setting.n_episodes, setting.delta)
    beliefs = begin_beliefs(task, setting.radii, learner.is_bonus)
    H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
    policy = setting.reference_policy() if policy is None else policy
    planner = None
    memory: Memory
    if policy is not None:
        memory = new_fixed_memory(policy)
    elif options.method == "lp":
        memory, planner = new_fixed_memory(np.zeros((H, S, A))), partial(plan_by_lp, horizon=H)
    else:
        memory = new_memory(learner, task, beliefs.problem, options)
    world = _world(setting, task, beliefs, truth.optimum)
    world = world._replace(plans_anew=learner.plans and policy is None)
    return Simulation(task, world, memory, new_move(H, S, A, I), rng, planner)


def _world(setting: Setting, task: Task, beliefs: Beliefs, optimum: float) -> World:
    cmdp = setting.cmdp
    H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
    visit_term = H * np.log(S * A * H / (task.delta / 3)) if setting.audit_visits else 0.0
    audit = new_audit(H, S, A, I, H, float(visit_term))
    check_everything(writable_problem(cmdp), beliefs.counts, beliefs.rules, beliefs.believed, audit)
    recorded = recorded_episodes(setting.n_episodes, setting.points)
    return World(
        truth=writable_problem(cmdp),
        optimum=float(optimum),
        noise=NOISES[cmdp.noise],
        rules=beliefs.rules,
        counts=beliefs.counts,
        believed=beliefs.believed,
        known=task.known_cost,
        problem=beliefs.problem,
        planned_visits=np.zeros_like(beliefs.counts.visits),
        planned_cost_visits=np.zeros_like(beliefs.counts.cost_visits),
        waits=setting.radii.replan == "doubling",
        plans_anew=False,
        is_fresh=np.ones(1, dtype=np.int64),
        trace=trace(H, I),
        book=ledger(recorded, H, S, A, I),
        audit=audit,
    )
