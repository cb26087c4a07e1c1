"""Safe: an optimistic learner that keeps every budget while it learns, with the help of a baseline.

The baseline pi_0 is a policy whose use beta_i of every budget is known to be less than the budget.
Before episode k::

    pi_k  = plan of the wrapped learner
    w_i   = greatest value of constraint i under pi_k over the confidence set, at most H
    lam_k = max over i with w_i > budget_i of  (w_i - budget_i) / (w_i - beta_i),   0 without any

With probability lam_k the whole episode plays pi_0, else pi_k. While the confidence sets contain
the true model, the expected use of every budget in every episode is at most the budget. With
``margin_search``, episodes first look for a baseline with more room: the policy with the largest
optimistic margin becomes the baseline once its certain margin is at least half of that.

The rule of S-OPS and MA-OPS, arXiv:2610.12153; docs/theory/safe has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints, PessimisticProblem, Problem, flag, new_record
from tightrope.belief.bonus import PessimisticBonus
from tightrope.belief.sets import PessimisticSet
from tightrope.errors import ConfigError
from tightrope.kernels.bellman import evaluate_capped
from tightrope.kernels.columns import RUNNING, UNASKED, advance, begin, columns
from tightrope.kernels.compiled import compiled
from tightrope.kernels.pivot import violation
from tightrope.kernels.scratch import Desk, copy, desk
from tightrope.learners.base import Decision, Learner, option, take_step
from tightrope.learners.baseline import EXACT, LEAST_USE, BaselineLearner
from tightrope.learners.opt_cmdp import MOST_SWEEPS, OptCMDP, PlanState, recover
from tightrope.learners.opt_cmdp_bonus import OptCMDPBonus
from tightrope.learners.opt_dual import OptDual
from tightrope.model.task import Task

SEARCH_TOLERANCE = 1e-6  # relative gap of the largest optimistic margin
NO_ROOM = 1  # columns of a search that is never made
SAFE = (
    ("is_new", "?"),  # the baseline was not handed out yet
    ("is_searching", "?"),  # episodes look for a baseline with a larger margin
)


class SafeState(NamedTuple):
    """The wrapped learner's state, what is known of the baseline, and scratch."""

    inner: Any
    use: Floats  # (I,) of the baseline, at most
    note: Any  # record of `SAFE`
    search: PlanState
    V: Floats  # (H+1, S)
    order: Ints  # (S,)
    work: Desk

    @property
    def settings(self) -> Any:
        """Step sizes of the wrapped learner."""
        return self.inner.settings

    def stored(self) -> tuple[str, ...]:
        """Fields that files hold; the rest is scratch or follows from the options."""
        nested = {"inner": self.inner}
        if len(self.search.columns.actions) > NO_ROOM:
            nested["search"] = self.search
        names = [f"{part}.{name}" for part, state in nested.items() for name in state.stored()]
        return ("use", "note.is_new", "note.is_searching", *names)


@compiled
def bound_plan(problem: PessimisticProblem, state: SafeState, decision: Decision) -> None:
    """Upper bounds on the constraint values of the current policy, into ``decision.upper``."""
    kernels, initial = problem.optimistic.kernels, problem.optimistic.initial
    for i in range(decision.upper.size):
        evaluate_capped(
            kernels,
            problem.constraint_high[i],
            decision.pi,
            decision.choice,
            decision.note.is_deterministic,
            state.V,
            state.order,
            state.work,
        )
        w = 0.0
        for s in range(initial.size):
            w += initial[s] * state.V[0, s]
        decision.upper[i] = min(w, float(decision.pi.shape[0]))
    decision.note.sweeps += decision.upper.size


@compiled
def seek_margin(problem: Problem, state: PlanState, decision: Decision) -> float:
    """Plan for the largest common margin over the beliefs; returns an upper bound on it.

    Budgets are lowered so far that every policy exceeds them; the least violation is then the
    largest margin. No margin exceeds a budget, because costs are at least 0.
    """
    c, H = state.columns, decision.pi.shape[0]
    shift = 0.0
    for k in range(problem.constraint_cost.size):
        shift = max(shift, -H * problem.constraint_cost.flat[k])
    least, largest = np.inf, 0.0
    for i in range(problem.budget.size):
        least, largest = min(least, problem.budget[i]), max(largest, problem.budget[i])
    shift += largest + 1.0
    for i in range(problem.budget.size):
        state.budget[i] = problem.budget[i] - shift
    lowered = Problem(
        problem.kernels,
        problem.initial,
        problem.cost,
        problem.constraint_cost,
        state.budget,
        problem.allowed,
    )
    begin(lowered, c)
    c.progress.is_about_violation = True
    c.progress.least_violation = -np.inf
    c.lam[:] = UNASKED  # so that a sweep proves a bound even if prices stay the same
    status = RUNNING
    while status == RUNNING and c.progress.n_sweeps < MOST_SWEEPS:
        status = advance(lowered, c, state.settings.tolerance, 0.0, MOST_SWEEPS)
    recover(problem, state, decision)
    decision.note.sweeps += c.progress.n_sweeps
    return float(min(least, shift - min(c.progress.least_violation, violation(c.master))))


@compiled
def look_for_baseline(problem: PessimisticProblem, state: SafeState, decision: Decision) -> bool:
    """One episode of the search, which ends when a margin is at least half of what is possible.

    Returns whether the episode has a policy now: not where the current baseline is good enough.
    """
    budget = problem.optimistic.budget
    most = seek_margin(problem.optimistic, state.search, decision)
    margin, found = np.inf, np.inf
    for i in range(budget.size):
        margin = min(margin, budget[i] - state.use[i])
    if 2.0 * margin >= most:
        state.note.is_searching = False
        return False
    decision.lam[:] = 0.0
    decision.note.bound = -np.inf
    bound_plan(problem, state, decision)
    for i in range(budget.size):
        found = min(found, budget[i] - decision.upper[i])
    if 2.0 * found >= most:
        copy(decision.pi, decision.baseline)
        copy(decision.upper, state.use)
        state.note.is_searching = False
        state.note.is_new = True
    return True


@compiled
def step(
    problem: PessimisticProblem, state: SafeState, rng: np.random.Generator, decision: Decision
) -> None:
    """One episode: a plan, upper bounds on its constraint values, probability of the baseline."""
    note, budget = decision.note, problem.optimistic.budget
    is_planned = False
    if state.note.is_searching:
        is_planned = look_for_baseline(problem, state, decision)
    if not is_planned:
        take_step(problem.optimistic, state.inner, rng, decision)
        bound_plan(problem, state, decision)
    share = 0.0
    for i in range(budget.size):
        w = decision.upper[i]
        if w > budget[i]:
            share = max(share, (w - budget[i]) / (w - state.use[i]))
    note.baseline = share
    note.is_rebased = state.note.is_new
    state.note.is_new = False


@dataclass(frozen=True)
class SafeLearner(BaselineLearner):
    """What the safe learners add to the learner that they wrap, which is their next base class.

    Parameters
    ----------
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    margin_search : bool
        Whether to look for a baseline with more room first.
    """

    margin_search: bool = option(False, "Look for a baseline with more room first.", flag)

    state: ClassVar[type] = SafeState
    step = staticmethod(step)

    def init(self, task: Task, problem: Any) -> SafeState:
        """State before the first episode: that of the wrapped learner, and the baseline's use."""
        use, H, S = self.baseline_use(task), task.horizon, task.n_states
        search = OptCMDP(SEARCH_TOLERANCE).init(task, problem.optimistic)
        if not self.margin_search:
            search = search._replace(columns=columns(problem.optimistic, H, NO_ROOM))
        note = {"is_new": True, "is_searching": self.margin_search and task.n_constraints > 0}
        return SafeState(
            inner=super().init(task, problem.optimistic),
            use=use,
            note=new_record(SAFE, note),
            search=search,
            V=np.zeros((H + 1, S)),
            order=np.zeros(S, dtype=np.uint32),
            work=desk(S),
        )

    def planned_occupancy(self, problem: Any, state: Any, decision: Decision) -> Floats:
        """Occupancy of the plan, under the kernel chosen with it."""
        is_adopted = decision.note.is_rebased and np.array_equal(decision.pi, decision.baseline)
        if state.note.is_searching or (self.margin_search and is_adopted):
            return np.array(state.search.q)
        return super().planned_occupancy(problem.optimistic, state.inner, decision)

    def clean_state(self, state: Any, arrays: dict[str, Any]) -> dict[str, Any]:
        """Without what nothing reads again of the wrapped learner's state."""
        inner, search = _part(arrays, "inner"), _part(arrays, "search")
        found = _named("inner", super().clean_state(state.inner, inner))
        if search:
            found |= _named("search", OptCMDP().clean_state(state.search, search))
        return {**arrays, **found}

    def check_state(self, arrays: dict[str, Any], task: Task) -> None:
        """Check the wrapped learner's state, and that the baseline has room in every budget."""
        inner, search = _part(arrays, "inner"), _part(arrays, "search")
        super().check_state(inner, task)
        arrays |= _named("inner", inner)
        if search:
            OptCMDP().check_state(search, task)
            arrays |= _named("search", search)
        use = arrays["use"]
        if not ((use >= 0) & (use < task.budget)).all():
            raise ConfigError.about(
                "use", expected="numbers of at least 0 that are less than the budgets"
            )


def _part(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    start = f"{name}."
    return {k.removeprefix(start): each for k, each in arrays.items() if k.startswith(start)}


def _named(name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    return {f"{name}.{key}": each for key, each in arrays.items()}


@dataclass(frozen=True)
class SafeOptCMDP(SafeLearner, OptCMDP):  # type: ignore[misc]  # init and step wrap those of OptCMDP
    """OptCMDP that keeps every budget while it learns, with the help of a baseline.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    margin_search : bool
        Whether to look for a baseline with more room first.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.SafeOptCMDP(baseline="share:0.2"), episodes=20).n_violations
    0
    """

    name: ClassVar[str] = "Safe-OptCMDP"
    belief: ClassVar[Any] = PessimisticSet
    guarantees: ClassVar[tuple[str, ...]] = ("cost_plus", "constraint_plus")
    group: ClassVar[str] = "other"


@dataclass(frozen=True)
class SafeOptCMDPBonus(SafeLearner, OptCMDPBonus):  # type: ignore[misc]  # init and step wrap those of OptCMDPBonus
    """OptCMDP-bonus that keeps every budget while it learns, with the help of a baseline.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    margin_search : bool
        Whether to look for a baseline with more room first.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.SafeOptCMDPBonus(), episodes=20).n_violations
    0
    """

    name: ClassVar[str] = "Safe-OptCMDP-bonus"
    belief: ClassVar[Any] = PessimisticBonus
    guarantees: ClassVar[tuple[str, ...]] = ("cost_plus", "constraint_plus")
    group: ClassVar[str] = "other"


@dataclass(frozen=True)
class SafeOptDual(SafeLearner, OptDual):  # type: ignore[misc]  # init and step wrap those of OptDual
    """OptDual that keeps every budget while it learns, with the help of a baseline.

    Parameters
    ----------
    rho : float or str
        Bound on the multipliers, for costs scaled to [0, 1] per step: a number, or the rule
        ``"paper"``, ``"paper_x2"`` or ``"bound"`` applied to the true model (simulations only).
    dual_step : float
        Factor on the paper's step size of the multipliers.
    baseline : str
        A word for the baseline; arrays, plans and paths of files become one.
    bound : float or str
        What the baseline uses of each budget at most.
    margin_search : bool
        Whether to look for a baseline with more room first.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.SafeOptDual(rho=4.0), episodes=20).n_violations
    0
    """

    name: ClassVar[str] = "Safe-OptDual"
    belief: ClassVar[Any] = PessimisticSet
    guarantees: ClassVar[tuple[str, ...]] = ("constraint_plus",)
    group: ClassVar[str] = "other"


WRAPPED: dict[type[Learner], type[SafeLearner]] = {
    OptCMDP: SafeOptCMDP,
    OptCMDPBonus: SafeOptCMDPBonus,
    OptDual: SafeOptDual,
}


def safe_kind(kind: type[Learner]) -> type[Learner] | None:
    """The class of a learner, or that of its safe version, where one of them has a baseline."""
    return kind if issubclass(kind, BaselineLearner) else WRAPPED.get(kind)


def Safe(
    learner: Learner, baseline: Any = LEAST_USE, bound: Any = EXACT, margin_search: bool = False
) -> Learner:
    """A learner that keeps every budget while it learns, with the help of a baseline.

    Parameters
    ----------
    learner : Learner
        `OptCMDP`, `OptCMDPBonus` or `OptDual` with its options.
    baseline : str, array, Plan or path
        A policy that uses less than every budget, over (H, S, A) or in any form that `evaluate`
        takes; a plan, or the file of one; ``"uniform"``; in simulations ``"least-use"`` or
        ``"share:0.2"``, the optimum with the budgets times 0.2.
    bound : str, float or sequence of float
        What the baseline uses of each budget at most, in the units of the budgets; ``"exact"``
        computes it, in simulations.
    margin_search : bool
        Whether to look for a baseline with more room first.

    Returns
    -------
    Learner
        The learner with the baseline, such as `SafeOptCMDP`.

    Examples
    --------
    >>> import tightrope as tr
    >>> ring = tr.envs.build("ring")
    >>> baseline = tr.solve(ring.with_budget([0.5]))
    >>> safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=baseline)
    >>> tr.learn(ring, safe, episodes=20).n_violations
    0
    """
    if type(learner) not in WRAPPED:
        names = ", ".join(f"{kind.__name__}()" for kind in WRAPPED)
        raise ConfigError.about("learner", found=learner, expected=f"one of {names}")
    stated = bound if isinstance(bound, str) else ",".join(map(repr, np.ravel(bound).tolist()))
    own = {"baseline": baseline, "bound": stated, "margin_search": margin_search}
    return WRAPPED[type(learner)](**learner.options, **own)
