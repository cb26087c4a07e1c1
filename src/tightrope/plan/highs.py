"""Interface to HiGHS: solve a linear program and check the solution.

::

    min  c.x    s.t.  row_lower <= B x <= row_upper,   col_lower <= x <= col_upper

Every solve is cold, from a fresh solver: hot starts have open reports of wrong answers (HiGHS
#3294, #3194). Tolerances are 1e-10, because the defaults left objectives wrong by more than 1e-7.
The solver runs on one thread and prints nothing.

A dual is the change of the optimum per unit of a row's side: at most zero where the upper side
binds, at least zero where the lower side binds.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import highspy
import numpy as np

from tightrope.arrays import Floats, Ints, require_entries
from tightrope.errors import ConfigError, SolverError

Solver = Literal["simplex", "ipm", "interior"]
"""Dual simplex; interior point with crossover to a vertex; interior point that stays inside."""

TOLERANCES = (
    "primal_feasibility_tolerance",
    "dual_feasibility_tolerance",
    "primal_residual_tolerance",
    "dual_residual_tolerance",
    "optimality_tolerance",
    "ipm_optimality_tolerance",
)
SMALLEST = 1e-12  # coefficients below this are dropped; by default HiGHS drops below 1e-9


class Program(NamedTuple):
    """A linear program with n columns and m rows, matrix stored by columns."""

    objective: Floats  # (n,)
    start: Ints  # (n+1,)
    row: Ints  # (start[-1],)
    value: Floats  # (start[-1],)
    row_lower: Floats  # (m,)
    row_upper: Floats  # (m,)
    col_lower: Floats | None = None  # (n,), zero when not given
    col_upper: Floats | None = None  # (n,), infinite when not given


class Solution(NamedTuple):
    """An optimum; entries may exceed their bounds by the solver's tolerance."""

    x: Floats  # (n,)
    row_dual: Floats  # (m,)
    objective: float
    iterations: int  # simplex, interior point and crossover together


def minimize(program: Program, solver: Solver = "simplex") -> Solution | None:
    """Solve a linear program.

    When the solver ends without an answer, the simplex method is tried without presolve and then
    interior point.

    "interior" is interior point without crossover: no vertex, and less accurate than the others.
    Returns None if the program is infeasible. Raises `SolverError` if it is unbounded or malformed,
    or if no method solves it.
    """
    if solver not in get_args(Solver):
        raise ConfigError.about(
            "solver",
            found=solver,
            shown=f"found {solver!r}",
            expected=f"one of {', '.join(get_args(Solver))}",
        )
    for name, numbers in program._asdict().items():
        if numbers is not None:  # HiGHS accepts NaN and reports the result as optimal
            require_entries(name, numbers, np.isnan(numbers), "j", "a number")
    ends = []
    for how, presolve in dict.fromkeys([(solver, "choose"), ("simplex", "off"), ("ipm", "choose")]):
        highs = _load(program, how, presolve)
        _run(highs)
        status = highs.getModelStatus()
        if status == highspy.HighsModelStatus.kOptimal:
            return _read(highs)
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        end = highs.modelStatusToString(status).lower()
        ends.append(f"{how} with presolve {presolve}: {end}")
    raise SolverError(
        f"HiGHS found no optimum of a linear program with {program.row_lower.size} rows and "
        f"{program.objective.size} columns ({'; '.join(ends)})"
    )


def _load(program: Program, solver: str, presolve: str) -> highspy.Highs:
    """Return a new solver with its options and the program."""
    options: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "solver": "simplex" if solver == "simplex" else "ipm",
        "run_crossover": "off" if solver == "interior" else "on",
        "presolve": presolve,
        "small_matrix_value": SMALLEST,
        **dict.fromkeys(TOLERANCES, 1e-10),
    }
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in options.items():
        highs.setOptionValue(name, value)
    n, m = program.objective.size, program.row_lower.size
    lower, upper = program.col_lower, program.col_upper
    status = highs.passModel(
        n,
        m,
        program.value.size,
        highspy.MatrixFormat.kColwise.value,
        highspy.ObjSense.kMinimize.value,
        0.0,
        program.objective,
        np.zeros(n) if lower is None else lower,
        np.full(n, np.inf) if upper is None else upper,
        program.row_lower,
        program.row_upper,
        program.start.astype(np.int32),
        program.row.astype(np.int32),
        program.value,
        np.zeros(n, dtype=np.int32),
    )
    if status == highspy.HighsStatus.kError:
        raise SolverError(
            f"HiGHS refused a linear program with {m} rows and {n} columns; expected finite "
            f"coefficients and rows numbered from 0"
        )
    return highs


def _run(highs: highspy.Highs) -> None:
    """Solve; keep an existing pool of HiGHS workers of another size."""
    status = highs.run()
    if status == highspy.HighsStatus.kError:
        highs.clearSolver()
        highs.setOptionValue("threads", 0)
        highs.run()


def _read(highs: highspy.Highs) -> Solution:
    """Return the optimum of a solver."""
    found, info = highs.getSolution(), highs.getInfo()
    counts = info.simplex_iteration_count, info.ipm_iteration_count, info.crossover_iteration_count
    return Solution(
        np.array(found.col_value),
        np.array(found.row_dual),
        float(info.objective_function_value),
        sum(max(int(count), 0) for count in counts),
    )
