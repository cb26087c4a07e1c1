"""Exact planning with a known model: the least expected cost within every budget.

Also the slack of the budgets (Slater's condition), and the bound on prices that follows.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tightrope.arrays import (
    Box,
    Floats,
    Problem,
    Stationary,
    StationaryBox,
    check_callback,
    check_choice,
    share,
)
from tightrope.errors import SolverError
from tightrope.kernels.occupancy import policy_of
from tightrope.model import CMDP, Model, Plan
from tightrope.model.base import as_model, writable_problem
from tightrope.model.plan import changed, plan_in_units
from tightrope.plan.certify import (
    Certificate,
    certify,
    certify_mixture,
    find_savings,
    is_at_kink,
    purify,
    take_local_prices,
)
from tightrope.plan.classes import UndecidedError, lead, require_unichain
from tightrope.plan.evaluate import rounding_of, values_of
from tightrope.plan.feasibility import infeasible
from tightrope.plan.generate import (
    EASING,
    Progress,
    allowed_excess,
    best_response,
    budget_units,
    generate,
    least_violation,
    mix,
    relax,
    relaxations,
    row_sizes,
)
from tightrope.plan.lasting import bound_of
from tightrope.plan.threads import limited_threads, shared_stages
from tightrope.progress import report_gap, working_for
from tightrope.text import digits, vector

LOG = logging.getLogger(__name__)
Method = Literal["columns", "lp"]
METHODS = ("columns", "lp")
LP_GAP = 1e-6  # HiGHS works to 1e-10 per row; sums over many rows lose some of it
LP_EXCESS = 1e-7
FLOOR = 1e-3  # rho divides step sizes, and the paper's ratio may be zero
ROUNDING_GAP = 1e-6  # a larger gap due to rounding is retried


def solve(
    cmdp: Model | str,
    method: Method = "columns",
    tolerance: float = 1e-8,
    progress: bool | Progress | None = None,
    threads: int | None = None,
) -> Plan:
    """Compute an optimal policy of a constrained MDP, with prices and certificate.

    All numbers are in the units of the model.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog.
    method : {"columns", "lp"}
        Column generation over policies, priced by dynamic programming; or the
        occupancy linear program, solved by HiGHS.
    tolerance : float
        Relative duality gap at which the columns method stops.
    progress : bool or callable, optional
        Whether to show a bar if it takes longer than a second; by default only in notebooks. Or a
        function called from time to time with the number of sweeps, the lower and the upper bound
        on the value.
    threads : int, optional
        Most threads that share the sweeps of a large model with a horizon; by default
        ``NUMBA_NUM_THREADS``, which is the number of cores. Results do not depend on it.

    Returns
    -------
    Plan
        Value and constraint values are exact evaluations of the returned policy; ``gap`` is
        certified by our own sweep. Prices are in units of the cost per unit of the constraint.

    Raises
    ------
    InfeasibleError
        If no policy satisfies all budgets; gives the conflicting ones and the least relaxation.
    SolverError
        If no method certifies an answer. If column generation does not, the linear program is
        tried, and ``method`` of the plan says so.

    Examples
    --------
    A machine with two states, good and worn. Running costs nothing in the good state and 1 in the
    worn one; repairing makes the machine good, and at most one repair is expected in four steps.

    >>> import tightrope as tr
    >>> cmdp = tr.CMDP(
    ...     transition=[[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]],
    ...     cost=[[0.0, 0.0], [1.0, 0.0]],
    ...     constraint_cost=[[[0.0, 1.0], [0.0, 1.0]]],
    ...     budget=[1.0],
    ...     horizon=4,
    ...     constraint_names=["repairs"],
    ... )
    >>> plan = tr.solve(cmdp)
    >>> round(plan.value, 6)
    0.125
    >>> plan.constraint_value.round(6), plan.multiplier.round(6)
    (array([1.]), array([1.]))
    >>> plan.gap < 1e-7
    True
    """
    cmdp = as_model(cmdp)
    start = time.perf_counter()
    with working_for(progress, f"solving a model of {cmdp.n_states:,} states", "sweeps") as work:
        shown = report_gap(work, tolerance) if work is not None else progress or None
        report = progress_in_units(shown, cmdp)  # type: ignore[arg-type]  # no bool is left
        with limited_threads(threads):
            plan = solve_problem(cmdp, writable_problem(cmdp), method, tolerance, report)
    plan = plan_in_units(plan, cmdp.units)
    LOG.info(
        "solve: %d states, value %.6g, gap %.2g, %d sweeps (%s), %.2f s",
        *(cmdp.n_states, plan.value, plan.gap, plan.sweeps, plan.method),
        time.perf_counter() - start,
    )
    return plan


def progress_in_units(progress: Progress | None, cmdp: Model) -> Progress | None:
    """Return a callback that gets its bounds in the units of the model."""
    check_callback("progress", progress)
    if progress is None:
        return None

    def report(sweeps: int, low: float, high: float) -> None:
        progress(sweeps, *sorted((cmdp.cost_unit.show(low), cmdp.cost_unit.show(high))))

    return report


def solve_problem(
    cmdp: Model,
    problem: Problem,
    method: Method,
    tolerance: float,
    progress: Progress | None = None,
) -> Plan:
    """`solve` on the internal scale, for the kernel of a model or a box around it."""
    check_choice("method", method, METHODS)
    require_unichain(problem, cmdp.names)
    try:
        plan = _plan(cmdp, problem, method, share("tolerance", tolerance), progress)
    except MemoryError as error:
        sizes = cmdp.n_stages, cmdp.n_states, cmdp.n_actions
        raise SolverError(
            f"{method}: no memory for sizes H, S, A = {sizes}", argument="cmdp", found=sizes
        ) from error
    return changed(plan, model=cmdp)


def _plan(
    cmdp: Model, problem: Problem, method: Method, tolerance: float, progress: Progress | None
) -> Plan:
    if method == "lp":
        return _by_lp(cmdp, problem)
    try:
        with shared_stages(problem, cmdp.n_stages) as shared:
            return _by_columns(cmdp, shared, problem, tolerance, progress)
    except (SolverError, UndecidedError) as first:
        # nearly equal constraints can be too ill-conditioned to certify
        try:
            return _by_lp(cmdp, problem)
        except (SolverError, UndecidedError) as second:
            if isinstance(first, UndecidedError):
                raise first from second
            raise SolverError(f"{first}; then {second}") from second


def _by_columns(
    cmdp: Model, problem: Problem, own: Problem, tolerance: float, progress: Progress | None
) -> Plan:
    best: Plan | None = None
    failure = SolverError("columns: no certificate")
    # if prices are so large that their rounding hides the gap, slightly larger budgets have smaller
    # ones; its bound holds here too
    near = max(2 * tolerance, ROUNDING_GAP)
    for k, easing in enumerate(relaxations(problem, cmdp.n_stages)):
        eased = relax(problem, easing)
        try:
            mixture = generate(eased, cmdp.n_stages, tolerance, progress, names=cmdp.names)
            if not mixture.is_feasible:
                raise infeasible(cmdp, own)
            is_kink = is_at_kink(eased, mixture)
            if is_kink:
                mixture = take_local_prices(eased, mixture, tolerance)
            mixture = purify(eased, mixture, tolerance)
            claim = Certificate(
                mixture.lam, mixture.bound, mixture.choice, mixture.order, "columns", mixture.sweeps
            )
            allowed = allowed_excess(problem, cmdp.n_stages, easing + mixture.eased)
            plan = certify_mixture(problem, mixture, claim, 2 * tolerance, allowed, cmdp.names)
            if is_kink and problem.budget.size > 1:
                plan = _with_savings(relax(eased, mixture.eased), plan, tolerance)
        except SolverError as error:
            failure = error
        else:
            best = plan if best is None or plan.gap < best.gap else best
        if best is not None and (best.gap <= near * abs(best.value) or k >= len(EASING)):
            break
    if best is None:
        raise failure
    return best


def _with_savings(problem: Problem, plan: Plan, tolerance: float) -> Plan:
    H = plan.choices.shape[0]
    return changed(plan, saving=find_savings(problem, H, plan.value, plan.multiplier, tolerance))


def _by_lp(cmdp: Model, problem: Problem) -> Plan:
    # HiGHS loads on use
    from tightrope.plan.lp import extended_lp, occupancy_lp

    has_box = isinstance(problem.kernels, (Box, StationaryBox))
    program = extended_lp if has_box else occupancy_lp
    allowed = LP_EXCESS * budget_units(problem, cmdp.n_stages)
    failure: SolverError | None = None
    for solver in ("simplex", "ipm"):
        found = program(problem, cmdp.n_stages, solver)
        if found is None:
            break
        value, state = best_response(problem, cmdp.n_stages, found.multiplier)
        if found.values.size and isinstance(problem.kernels, Stationary):
            proven = bound_of(problem.kernels, problem, found.multiplier, found.values)
            value = float(np.fmax(value, proven))
        bound = value - float(found.multiplier @ problem.budget)
        claim = Certificate(
            found.multiplier, bound, state.choice, state.order, "lp", found.iterations
        )
        try:
            plan = certify(problem, found.rounded, found.flow, claim, LP_GAP, allowed, cmdp.names)
            return _with_savings(problem, plan, LP_GAP)
        except SolverError as error:
            failure = error
    if failure is not None:
        raise failure
    try:
        mixture = generate(problem, cmdp.n_stages, 1e-8, names=cmdp.names)
    except SolverError as error:
        raise SolverError("lp: HiGHS calls the problem infeasible, without a proof") from error
    if mixture.is_feasible:
        raise SolverError(
            "lp: HiGHS calls the problem infeasible, but column generation keeps the budgets"
        )
    raise infeasible(cmdp, problem)


@dataclass(frozen=True)
class Slater:
    """The policy with the largest slack under all budgets.

    Parameters
    ----------
    slack : float
        Largest common slack, in widths of the range of one step, so that constraints with different
        units compare: every budget is kept with at least this slack. Negative if the budgets are
        infeasible, and zero if it is less than its rounding error.
    policy : (H, S, A) array
        A policy that attains it.
    value : float
        Its expected cost, in the unit of the cost.
    constraint_value : (I,) array
        Its constraint values, in their units.
    spare : (I,) array
        Its slack in each budget, in the unit of the constraint.
    rho : dict of str to float
        Bounds for the sum of the multipliers by rule: ``"paper"`` is the ratio
        (value - optimum) / slack, ``"paper_x2"`` twice that (what the proofs need, see the errata),
        ``"bound"`` 2H / slack. At least a small positive floor; infinite without slack.
        As the option of learners, it is for costs scaled to [0, 1] per step, whatever the units.
    constraint_names : tuple of str
        Names of the constraints.

    Examples
    --------
    >>> import tightrope as tr
    >>> slater = tr.slater("queue")
    >>> slater.constraint_value <= tr.envs.build("queue").budget
    array([ True,  True])
    """

    slack: float
    policy: Floats = field(repr=False)  # (H, S, A)
    value: float
    constraint_value: Floats  # (I,)
    spare: Floats  # (I,)
    rho: dict[str, float]
    constraint_names: tuple[str, ...]

    def __repr__(self) -> str:
        rules = ", ".join(f"{rule} {digits(bound)}" for rule, bound in self.rho.items())
        return f"Slater(spare {vector(self.spare)}, rho: {rules})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        facts = [f"rho {rule} {digits(bound)}" for rule, bound in self.rho.items()]
        columns = self.constraint_names, self.constraint_value, self.spare
        rows = list(zip(*columns, strict=True))
        return listing("Slater", facts, ["", "expected sum", "spare"], rows)


def slater(cmdp: Model | str, tolerance: float = 1e-10) -> Slater:
    """Compute the largest common slack of the budgets, its policy, and rho by rule.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog.
    tolerance : float
        Relative gap to which the slack and the optimum are computed.

    Returns
    -------
    Slater
        The slack, a policy that attains it, and bounds on the multipliers.

    Examples
    --------
    >>> import tightrope as tr
    >>> slater = tr.slater("ring")
    >>> slater.spare
    array([3.])
    >>> round(slater.rho["paper_x2"], 3)
    1.333
    """
    cmdp, tolerance = as_model(cmdp), share("tolerance", tolerance)
    problem, H, units = writable_problem(cmdp), cmdp.n_stages, cmdp.units
    require_unichain(problem, cmdp.names)
    if cmdp.n_constraints == 0:
        plan = solve(cmdp)
        rho = dict.fromkeys(("paper", "paper_x2", "bound"), FLOOR)
        return Slater(np.inf, plan.policy, plan.value, plan.constraint_value, np.zeros(0), rho, ())
    # no common slack exceeds the least budget, so the least excess over budgets lowered by twice
    # that is positive
    least = float(problem.budget.min())
    shift = 2 * least if least > 0 else float(row_sizes(problem, H).min())
    lowered = relax(problem, -shift)
    unit = np.full(problem.budget.size, shift)
    mixture = least_violation(lowered, H, unit, tolerance, cmdp.names)
    q, _ = mix(problem, mixture)
    policy = np.empty_like(q)
    policy_of(q, mixture.choice, policy)
    policy = lead(problem, q, policy, cmdp.names)
    value, constraint_value = values_of(problem.kernels, problem, policy)
    spare = problem.budget - constraint_value
    error = rounding_of(problem.budget + constraint_value, cmdp.n_steps)
    sure = float((spare - error).min())
    slack = 0.0 if sure <= 0 <= float((spare + error).min()) else float(spare.min())
    if slack <= 0:
        rho = dict.fromkeys(("paper", "paper_x2", "bound"), np.inf)
    else:
        # the ratio must not be too small: both values count with their errors
        plan = solve_problem(cmdp, problem, "columns", tolerance)
        ratio = (value + float(rounding_of(value, cmdp.n_steps)) - (plan.value - plan.gap)) / sure
        rho = {
            "paper": max(ratio, FLOOR),
            "paper_x2": max(2 * ratio, FLOOR),
            "bound": 2 * cmdp.n_steps / sure,
        }
    shown = float(units.cost.show(value)), units.show_totals(constraint_value)
    policy = policy if isinstance(cmdp, CMDP) else policy[0]
    names = tuple(cmdp.constraint_names)
    return Slater(slack, policy, *shown, units.sizes * spare, rho, names)
