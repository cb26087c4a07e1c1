"""References: baselines that simulations compare learners with; most of them do not learn.

``uniform`` plays all allowed actions alike. ``optimal`` and ``unconstrained`` play optimal policies
of the true model, with and without its budgets. ``certainty-equivalence`` is OptCMDP-bonus without
bonuses for what was tried: it plans in the estimated model as if that were true.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tightrope.arrays import Problem
from tightrope.belief.bonus import BonusBelief
from tightrope.belief.confidence import Confidence
from tightrope.belief.none import NoBelief
from tightrope.learners.base import Learner
from tightrope.learners.held import HeldPolicy, hold, step
from tightrope.learners.opt_cmdp import OptCMDP
from tightrope.learners.oracle import Oracle
from tightrope.model.task import Task


@dataclass(frozen=True)
class FixedPolicy(Learner):
    """Play one policy in every episode.

    Parameters
    ----------
    policy : (H, S, A) array, optional
        The policy; subclasses find their own.
    """

    policy: Any = field(default=None, compare=False, repr=False, metadata={"is_internal": True})

    name: ClassVar[str] = "fixed"
    belief: ClassVar[Any] = NoBelief
    group: ClassVar[str] = "reference"
    can_learn: ClassVar[bool] = False
    state: ClassVar[type] = HeldPolicy
    step = staticmethod(step)

    def init(self, task: Task, problem: Problem) -> HeldPolicy:
        """The policy, not handed out yet."""
        assert self.policy is not None, "resolve the learner first"
        return hold(self.policy)


@dataclass(frozen=True)
class Uniform(FixedPolicy):
    """Play all allowed actions with equal probability.

    Parameters
    ----------
    policy : array, optional
        Set by `learn`.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.Uniform(), episodes=20).policy[0]
    array([[0.5, 0.5],
           [0.5, 0.5],
           [0.5, 0.5]])
    """

    name: ClassVar[str] = "uniform"

    def init(self, task: Task, problem: Problem) -> HeldPolicy:
        """The uniform policy."""
        shape = (task.horizon, task.n_states, task.n_actions)
        allowed = task.allowed if task.allowed.shape[0] else np.ones((1, *shape[1:]))
        return hold(np.broadcast_to(allowed / allowed.sum(axis=2, keepdims=True), shape))


@dataclass(frozen=True)
class Optimal(FixedPolicy):
    """Play an optimal policy of the true model.

    Parameters
    ----------
    policy : array, optional
        Set by `learn`.

    Examples
    --------
    >>> import tightrope as tr
    >>> run = tr.learn("ring", tr.learners.Optimal(), episodes=20)
    >>> bool(run.regret["cost_plus"][-1] < 1e-6)
    True
    """

    name: ClassVar[str] = "optimal"

    def resolve(self, oracle: Oracle | None) -> Learner:
        """With the policy of the oracle."""
        return replace(self, policy=None if oracle is None else oracle.policy)


@dataclass(frozen=True)
class Unconstrained(FixedPolicy):
    """Play an optimal policy of the true model without budgets.

    Parameters
    ----------
    policy : array, optional
        Set by `learn`.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.Unconstrained(), episodes=20).n_violations
    20
    """

    name: ClassVar[str] = "unconstrained"

    def resolve(self, oracle: Oracle | None) -> Learner:
        """With the policy of least cost."""
        return replace(self, policy=None if oracle is None else oracle.unconstrained_policy)


@dataclass(frozen=True)
class CertaintyEquivalence(OptCMDP):
    """Plan in the estimated model as if it were true.

    Pairs that were tried have no bonus. Pairs that were not keep the largest one, so that they are
    tried. `Study` and `fit` plan otherwise: with tried actions only.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.CertaintyEquivalence(), episodes=20).is_heuristic
    True
    """

    name: ClassVar[str] = "certainty-equivalence"
    belief: ClassVar[Any] = BonusBelief
    guarantees: ClassVar[tuple[str, ...]] = ()
    group: ClassVar[str] = "reference"

    def radii(self, confidence: Confidence) -> Confidence:
        """Without radii."""
        return confidence.without_radii()
