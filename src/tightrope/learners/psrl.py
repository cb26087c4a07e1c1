"""PSRL: plan in a model drawn from the posterior, as if it were true.

At the start of an epoch, which is one episode or lasts until some number of visits has doubled::

    p, c, d  ~  the posterior after all episodes so far
    pi_k     =  argmin over pi of  V(c; pi, p)
                subject to         V(d_i; pi, p) <= budget_i   for every i

The constrained problem is solved exactly, by the column generation of OptCMDP. A drawn model may be
infeasible; then the violation is made least, and cost least at that violation. Randomness takes the
place of optimism: a model in which an action looks good is drawn as often as it is likely.

What is known is Bayesian: regret in expectation over models drawn from the prior. Nothing is
guaranteed for one given model, nor with high probability, and nothing is audited.

Posterior sampling: Osband, Russo, Van Roy (2013), arXiv:1306.0940.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tightrope.arrays import Problem, check_choice
from tightrope.belief.confidence import Confidence
from tightrope.belief.posterior import PosteriorBelief, draw_model
from tightrope.kernels.compiled import compiled
from tightrope.learners.base import Decision, option
from tightrope.learners.opt_cmdp import OptCMDP, PlanState
from tightrope.learners.opt_cmdp import step as plan
from tightrope.model.task import Task

EPOCHS = ("episode", "doubling")


class SampledState(PlanState):
    """The state of OptCMDP, for plans in drawn models."""

    __slots__ = ()


@compiled
def step(problem: Any, state: PlanState, rng: np.random.Generator, decision: Decision) -> None:
    """Draw a model into a problem that is `Sampled`, and plan in it."""
    draw_model(problem, rng)
    drawn = Problem(
        problem.kernels,
        problem.initial,
        problem.cost,
        problem.constraint_cost,
        problem.budget,
        problem.allowed,
    )
    plan(drawn, state, rng, decision)
    decision.note.bound = -np.inf


def check_epoch(name: str, value: Any) -> str:
    """When to draw a model, or a `ConfigError`."""
    return check_choice(name, value, EPOCHS)


@dataclass(frozen=True)
class PSRL(OptCMDP):
    """Posterior sampling: exact constrained plans in models drawn from the posterior.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.
    resample : {"episode", "doubling"}
        Draw a model for every episode, or when some number of visits has doubled.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.PSRL(resample="doubling"), episodes=20).audit.plans <= 20
    True
    """

    resample: str = option("episode", "Draw a model every 'episode' or at 'doubling'.", check_epoch)

    name: ClassVar[str] = "PSRL"
    belief: ClassVar[Any] = PosteriorBelief
    guarantees: ClassVar[tuple[str, ...]] = ()
    group: ClassVar[str] = "other"
    state: ClassVar[type] = SampledState
    step = staticmethod(step)

    def radii(self, confidence: Confidence) -> Confidence:
        """With new beliefs when a model is drawn."""
        return replace(confidence, replan="doubling" if self.resample == "doubling" else "always")

    def is_due(self, is_fresh: bool) -> bool:
        """Whether a model is drawn: the same counts give another one."""
        return is_fresh or self.resample == "episode"

    def init(self, task: Task, problem: Problem) -> SampledState:
        """State before the first episode."""
        return SampledState(*super().init(task, problem))
