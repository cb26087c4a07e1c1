"""The learners by name: which beliefs each plans in, and the memory it starts with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tightrope.arrays import Problem, check_choice, positive
from tightrope.errors import ModelError, describe
from tightrope.learners.opt_cmdp import new_plan_memory
from tightrope.learners.opt_dual import new_dual_memory
from tightrope.learners.opt_primal_dual import new_mirror_memory
from tightrope.learners.steps import Memory
from tightrope.model.task import Task
from tightrope.text import guess


@dataclass(frozen=True)
class Learner:
    """One of the algorithms.

    Parameters
    ----------
    name : str
        As in the paper.
    is_bonus : bool
        Whether it lowers costs by a bonus; otherwise it plans over a set of kernels.
    plans : bool
        Whether its step solves a constrained problem; otherwise it takes a dual step.
    needs_rho : bool
        Whether it must be told a bound on the multipliers.
    """

    name: str
    is_bonus: bool
    plans: bool
    needs_rho: bool

    @property
    def is_fixed(self) -> bool:
        """Whether it plays one policy and believes nothing."""
        return not self.plans and not self.needs_rho

    def changed_steps(self, options: Options) -> list[str]:
        """Factors on the paper's steps that this learner takes, in words; none where they are 1.

        Parameters
        ----------
        options : Options
        """
        taken = {}
        if self.needs_rho:
            taken["dual step"] = options.dual_step
        if self.needs_rho and self.is_bonus:
            taken["primal step"] = options.primal_step
        return [
            f"{name} times {factor:g} (heuristic)" for name, factor in taken.items() if factor != 1
        ]


LEARNERS = {
    learner.name: learner
    for learner in (
        Learner("OptCMDP", is_bonus=False, plans=True, needs_rho=False),
        Learner("OptCMDP-bonus", is_bonus=True, plans=True, needs_rho=False),
        Learner("OptDual", is_bonus=False, plans=False, needs_rho=True),
        Learner("OptPrimalDual", is_bonus=True, plans=False, needs_rho=True),
    )
}
REFERENCES = {
    learner.name: learner
    for learner in (
        Learner("uniform", is_bonus=True, plans=False, needs_rho=False),
        Learner("optimal", is_bonus=True, plans=False, needs_rho=False),
        Learner("unconstrained", is_bonus=True, plans=False, needs_rho=False),
        Learner("certainty-equivalence", is_bonus=True, plans=True, needs_rho=False),
    )
}


@dataclass(frozen=True)
class Options:
    """What a learner may be told beside its task and its confidence.

    Parameters
    ----------
    rho : float
        Bound on the multipliers, for the dual learners (SPEC A8).
    dual_step : float
        Factor on the paper's step of the multipliers.
    primal_step : float
        Factor on the paper's step of the policy (OptPrimalDual).
    tolerance : float
        Relative gap of each plan (OptCMDP, OptCMDP-bonus).
    method : {"columns", "lp"}
        How OptCMDP plans: column generation, or the extended linear programme as in the paper.
    """

    rho: float = 1.0
    dual_step: float = 1.0
    primal_step: float = 1.0
    tolerance: float = 1e-8
    method: Literal["columns", "lp"] = "columns"

    def __post_init__(self) -> None:
        for name in ("rho", "dual_step", "primal_step", "tolerance"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        check_choice("method", self.method, ("columns", "lp"))


def learner_named(name: str) -> Learner:
    """The learner of that name, or an error with the nearest one."""
    known_names = {**LEARNERS, **REFERENCES}
    if isinstance(name, str) and name in known_names:
        return known_names[name]
    known = f"{', '.join(known_names)}{guess(name, known_names)}"
    raise ModelError(f"algorithm: {describe(name)} is none of {known}")


def new_memory(learner: Learner, task: Task, problem: Problem, options: Options) -> Memory:
    """The learner's memory before the first episode."""
    H, I, A, K = task.horizon, task.n_constraints, task.n_actions, float(task.n_episodes)
    rho = options.rho
    rate = options.dual_step * rho / (H * np.sqrt(I * K)) if I else 0.0
    if learner.plans:
        return new_plan_memory(problem, H, options.tolerance)
    if not learner.is_bonus:
        return new_dual_memory(problem, H, rate)
    step = options.primal_step * np.sqrt(2.0 * np.log(A) / K) / (H * (1.0 + I * rho))
    return new_mirror_memory(problem, H, rate, float(step), rho)
