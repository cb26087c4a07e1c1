"""The door to HiGHS: duals and signs by hand, statuses in words, no surprises from its defaults."""

from __future__ import annotations

import threading

import highspy
import numpy as np
import pytest

from refusals import refuses
from tightrope.errors import ConfigError, ModelError, SolverError
from tightrope.plan.highs import Program, minimize

SOLVERS = ["simplex", "ipm", "interior"]
FREE = np.inf

# min -x - 2y  s.t.  x + y <= 4,  x + 3y <= 6:  both bind at (3, 1), and -1 = -0.5 - 0.5,
# -2 = -0.5 - 3 * 0.5 gives the duals.
CORNER = Program(
    objective=np.array([-1.0, -2.0]),
    start=np.array([0, 2, 4]),
    row=np.array([0, 1, 0, 1]),
    value=np.array([1.0, 1.0, 1.0, 3.0]),
    row_lower=np.array([-FREE, -FREE]),
    row_upper=np.array([4.0, 6.0]),
)


def line(**sides: float) -> Program:
    """min 2x under one row ``x`` and the bounds of one column."""
    given = {"row_lower": -FREE, "row_upper": FREE, "col_lower": 0.0, "col_upper": FREE} | sides
    return Program(
        np.array([2.0]),
        np.array([0, 1]),
        np.array([0]),
        np.array([1.0]),
        **{name: np.array([side]) for name, side in given.items()},
    )


@pytest.mark.parametrize("solver", SOLVERS)
def test_optimum_and_duals_are_those_found_by_hand(solver):
    found = minimize(CORNER, solver)

    np.testing.assert_allclose(found.x, [3.0, 1.0], atol=1e-8)
    np.testing.assert_allclose(found.row_dual, [-0.5, -0.5], atol=1e-8)
    assert found.objective == pytest.approx(-5.0, abs=1e-8)
    assert found.iterations > 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_binding_lower_side_has_a_positive_dual(solver):
    found = minimize(line(row_lower=3.0), solver)

    np.testing.assert_allclose(found.x, [3.0], atol=1e-8)
    np.testing.assert_allclose(found.row_dual, [2.0], atol=1e-8)


def test_columns_stay_within_their_bounds():
    assert minimize(line(col_lower=-7.0)).objective == pytest.approx(-14.0)
    assert minimize(line(row_lower=3.0, col_upper=2.0)) is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_program_without_a_point_has_no_solution(solver):
    torn = CORNER._replace(row_lower=np.array([5.0, -FREE]), row_upper=np.array([FREE, 1.0]))

    assert minimize(torn, solver) is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_unbounded_program_raises_with_the_status_in_words(solver):
    with pytest.raises(SolverError, match=f"1 rows .*{solver}.*: unbounded"):
        minimize(line(col_lower=-FREE), solver)


def test_nan_is_named_instead_of_solved():
    bad = CORNER._replace(objective=np.array([1.0, np.nan]))

    with refuses(ModelError, argument="objective", entry="j=1", expected="a number"):
        minimize(bad)


def test_a_row_that_does_not_exist_is_refused():
    with pytest.raises(SolverError, match="refused"):
        minimize(CORNER._replace(row=np.array([0, 1, 0, 2])))


def test_an_unknown_solver_is_named():
    with refuses(
        ConfigError, argument="solver", found="magic", expected="one of simplex, ipm, interior"
    ):
        minimize(CORNER, "magic")


def test_coefficients_below_the_default_cut_of_highs_are_kept():
    tiny = line(row_lower=1.0)._replace(value=np.array([1e-11]))

    np.testing.assert_allclose(minimize(tiny).x, [1e11])


def test_optima_of_random_programs_satisfy_duality():
    # b.y = c.x with y <= 0 and c - B'y >= 0 proves both sides optimal.
    for seed in range(30):
        rng = np.random.default_rng(seed)
        m, n = int(rng.integers(1, 6)), int(rng.integers(1, 8))
        B = rng.normal(size=(m, n))
        b = np.abs(rng.normal(size=m))
        c = rng.random(n) - B.T @ rng.random(m)
        by_columns = Program(
            c,
            np.arange(n + 1) * m,
            np.tile(np.arange(m), n),
            B.T.ravel(),
            np.full(m, -FREE),
            b,
        )
        found = minimize(by_columns, SOLVERS[seed % 2])

        assert found.x.min() >= -1e-9
        assert (b - B @ found.x).min() >= -1e-9
        assert found.row_dual.max() <= 1e-9
        assert (c - B.T @ found.row_dual).min() >= -1e-9
        assert b @ found.row_dual == pytest.approx(found.objective, abs=1e-8)
        assert c @ found.x == pytest.approx(found.objective, abs=1e-8)


def test_a_pool_of_workers_made_by_someone_else_is_no_obstacle():
    # HiGHS keeps one pool per calling thread and refuses to run with another number of workers.
    solutions = []

    def elsewhere():
        other = highspy.Highs()
        other.setOptionValue("output_flag", False)
        other.setOptionValue("threads", 2)
        other.addVar(0.0, 1.0)
        other.run()
        solutions.append(minimize(CORNER))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()

    assert solutions[0].objective == pytest.approx(-5.0)


def test_nothing_is_printed(capfd):
    minimize(CORNER)
    with pytest.raises(SolverError):
        minimize(line(col_lower=-FREE))

    assert capfd.readouterr() == ("", "")
