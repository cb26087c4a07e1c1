"""Learn in simulation: a model, a learner and a seed in, a run with its regrets out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints, Transitions
from tightrope.errors import ModelError
from tightrope.estimate.beliefs import Beliefs, begin_beliefs
from tightrope.estimate.confidence import Confidence, as_confidence
from tightrope.kernels.audit import audit as new_audit
from tightrope.kernels.episode import BERNOULLI, BETA, EXACT, trace
from tightrope.kernels.regret import ledger
from tightrope.learn.algorithms import LEARNERS, Learner, Options, learner_named, new_memory
from tightrope.learn.move import Move, new_move
from tightrope.learn.steps import Memory
from tightrope.model import CMDP
from tightrope.model.task import Task
from tightrope.plan.slater import slater
from tightrope.plan.solve import solve
from tightrope.run.simulate import World, simulate

__all__ = ["Simulation", "begin", "recorded_episodes", "task_of"]

NOISES = {"none": EXACT, "bernoulli": BERNOULLI, "beta": BETA}


@dataclass(frozen=True)
class Simulation:
    """A run under way: advance it as far as wanted, then read its book."""

    world: World
    memory: Memory
    move: Move
    rng: np.random.Generator

    def advance(self, n_episodes: int) -> None:
        """Run that many episodes."""
        simulate(self.world, self.memory, self.move, self.rng, n_episodes)


def recorded_episodes(n_episodes: int, most: int = 2_000) -> Ints:
    """Episodes to record: all of them at first, then evenly on a logarithmic scale; 1 and K in."""
    spaced = np.geomspace(1, n_episodes, num=min(most, n_episodes))
    return np.unique(np.append(np.round(spaced).astype(np.int64), (1, n_episodes)))


def task_of(cmdp: CMDP, n_episodes: int, delta: float) -> Task:
    """What a learner in simulation is told; the true pattern is lent as storage."""
    problem = cmdp.problem
    rows = cmdp.n_states * cmdp.n_actions
    stages = max(problem.cost.shape[0], problem.constraint_cost.shape[1])
    known = [
        np.broadcast_to(cost.reshape(cost.shape[0], rows), (stages, rows))
        for cost in (problem.cost, *problem.constraint_cost)
    ]
    return Task(
        n_states=cmdp.n_states,
        n_actions=cmdp.n_actions,
        horizon=cmdp.horizon,
        budget=problem.budget.copy(),
        initial=problem.initial.copy(),
        allowed=problem.allowed,
        n_episodes=n_episodes,
        delta=delta,
        pattern=Transitions(*cmdp.transitions),
        known_cost=np.stack(known),
        is_stationary_kernel=cmdp.is_stationary,
        is_stationary_cost=stages == 1,
    )


def begin(
    cmdp: CMDP,
    learner: Learner,
    n_episodes: int,
    rng: np.random.Generator,
    delta: float,
    confidence: Confidence,
    options: Options,
    optimum: float,
    audits_visits: bool = False,
) -> Simulation:
    """A run before its first episode."""
    task = task_of(cmdp, n_episodes, delta)
    beliefs = begin_beliefs(task, confidence, learner.is_bonus)
    memory = new_memory(learner, task, confidence, beliefs.problem, options)
    return Simulation(
        _world(cmdp, task, confidence, beliefs, learner, optimum, audits_visits),
        memory,
        new_move(task.horizon, task.n_states, task.n_actions, task.n_constraints),
        rng,
    )


def _world(
    cmdp: CMDP,
    task: Task,
    confidence: Confidence,
    beliefs: Beliefs,
    learner: Learner,
    optimum: float,
    audits_visits: bool,
) -> World:
    H, S, A, I = task.horizon, task.n_states, task.n_actions, task.n_constraints
    visit_term = H * np.log(S * A * H / (task.delta / 3)) if audits_visits else 0.0
    return World(
        truth=cmdp.problem,
        optimum=float(optimum),
        noise=NOISES[cmdp.noise],
        rules=beliefs.rules,
        counts=beliefs.counts,
        believed=beliefs.believed,
        known=task.known_cost,
        problem=beliefs.problem,
        planned_visits=np.zeros_like(beliefs.counts.visits),
        waits=confidence.replan == "doubling",
        plans_anew=learner.plans,
        is_fresh=np.ones(1, dtype=np.int64),
        trace=trace(H, I),
        book=ledger(recorded_episodes(task.n_episodes), H, S, A, I),
        audit=new_audit(H, S, A, I, H, float(visit_term)),
    )
