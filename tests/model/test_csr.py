"""Sparse kernels: every pointer and index is checked before SciPy or a kernel reads it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import tightrope as tr
from refusals import refuses
from tightrope.errors import ModelError
from tightrope.interop.arrays import rows_of
from tightrope.interop.mdptoolbox import from_toolbox
from tightrope.model.csr import as_csr

S, A, H = 4, 2, 3
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
COST = np.zeros((S, A))


def kernel(form: str = "csr") -> object:
    """A kernel in which every pair moves to two states."""
    dense = np.zeros((S * A, S))
    for row in range(S * A):
        dense[row, row % S] = 0.25
        dense[row, (row + 1) % S] = 0.75
    return sparse.csr_array(dense).asformat(form)


def damage(form: str, entry: int, value: int) -> object:
    """The kernel with one column (of CSC: row) index replaced."""
    matrix = kernel(form)
    if form in ("csr", "csc", "bsr"):
        matrix.indices[entry] = value
    elif form == "coo":
        matrix.coords[1][entry] = value
    elif form == "lil":
        matrix.rows[entry][0] = value
    return matrix


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("as_list", [False, True])
def test_every_sparse_format_gives_the_same_model(form, as_list):
    given = [kernel(form)] * H if as_list else kernel(form)
    expected = kernel().toarray().reshape(S, A, S)
    found = tr.CMDP(given, COST, horizon=H).transition
    np.testing.assert_array_equal(found, np.broadcast_to(expected, found.shape))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil"])
@pytest.mark.parametrize("value", [-1, 8, 2**31 - 1])
def test_an_index_outside_the_matrix_is_refused(form, value):
    with pytest.raises(ModelError, match=r"is -?[0-9]+, |no consistent") as caught:
        tr.CMDP(damage(form, 3, value), COST, horizon=H)
    assert caught.value.argument.startswith("transition")
    assert caught.value.entry in ("3", None)


def test_the_error_names_the_first_bad_index_and_counts_the_others():
    matrix = kernel()
    matrix.indices[[3, 5]] = 7, -1
    with refuses(
        ModelError,
        "; 2 such entries$",
        argument="transition.indices",
        entry="3",
        found=7,
        expected="an integer from 0 to 3",
    ):
        tr.CMDP(matrix, COST, horizon=H)


def test_indices_counted_from_one_are_refused():
    matrix = kernel()
    matrix.indices += 1
    with refuses(
        ModelError,
        argument="transition.indices",
        entry="5",
        found=4,
        expected="an integer from 0 to 3",
    ):
        tr.CMDP(matrix, COST, horizon=H)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    "pointers",
    [
        lambda p: p[:-1],
        lambda p: np.append(p, p[-1]),
        lambda p: p + 1,
        lambda p: np.where(np.arange(p.size) == 1, 10**6, p),
        lambda p: np.where(np.arange(p.size) == 2, -1, p),
        lambda p: p[::-1].copy(),
        lambda p: np.where(np.arange(p.size) % 2 == 1, 2**62, p.astype(np.int64)),
        lambda p: p.astype(np.float64),
        lambda p: p.reshape(1, -1),
    ],
)
def test_pointers_that_do_not_split_the_entries_are_refused(form, pointers):
    matrix = kernel(form)
    matrix.indptr = pointers(matrix.indptr)
    with pytest.raises(ModelError, match=r"^transition"):
        tr.CMDP(matrix, COST, horizon=H)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_data_shorter_than_the_indices_are_refused(form):
    matrix = kernel(form)
    matrix.data = matrix.data[:-3]
    with pytest.raises(ModelError, match=r"^transition"):
        tr.CMDP(matrix, COST, horizon=H)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("offsets", np.array([10**6])),
        ("offsets", np.array([0, 1, 2, 3, 4, 5, 6])),
        ("offsets", np.array([0.0])),
        ("data", np.ones((1, S))),
        ("data", np.ones(S)),
    ],
)
def test_diagonals_that_do_not_fit_their_offsets_are_refused(name, value):
    matrix = kernel("dia")
    setattr(matrix, name, value)
    with refuses(ModelError, argument="transition.offsets"):
        tr.CMDP(matrix, COST, horizon=H)


def test_a_list_of_rows_with_more_data_than_indices_is_refused():
    matrix = kernel("lil")
    matrix.data[1] = [0.5] * 1000
    with refuses(ModelError, "differ in length", argument="transition"):
        tr.CMDP(matrix, COST, horizon=H)


def test_a_bad_index_in_a_list_by_stage_names_its_stage():
    with refuses(
        ModelError,
        argument="transition[1].indices",
        entry="3",
        found=7,
        expected="an integer from 0 to 3",
    ):
        tr.CMDP([kernel(), damage("csr", 3, 7), kernel()], COST)


@pytest.mark.parametrize("name", ["lower", "upper"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_bounds_of_an_optimistic_plan_are_checked_too(name, form):
    cmdp = tr.CMDP(kernel(), COST, horizon=H)
    bounds = {"lower": kernel(), "upper": kernel(), name: damage(form, 3, 8)}
    part = "col" if form == "coo" else "indices"
    most = 7 if form == "csc" else 3  # columns, or rows of pairs
    wrong = {"entry": "3", "found": 8, "expected": f"an integer from 0 to {most}"}
    with refuses(ModelError, argument=f"{name}.{part}", **wrong):
        tr.solve_optimistic(cmdp, **bounds)
    bounds[name] = [damage(form, 3, 8)] * H
    with refuses(ModelError, argument=f"{name}[0].{part}", **wrong):
        tr.solve_optimistic(cmdp, **bounds)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_matrices_by_action_are_checked_before_they_are_joined(form):
    good = sparse.identity(S, format="csr")
    bad = sparse.identity(S).asformat(form)
    if form == "coo":
        bad.coords[0][2] = 99
    else:
        bad.indices[2] = 99
    part = "row" if form == "coo" else "indices"
    wrong = {"entry": "2", "found": 99, "expected": f"an integer from 0 to {S - 1}"}
    with refuses(ModelError, argument=f"transition[1].{part}", **wrong):
        rows_of([good, bad], "ass")
    with refuses(ModelError, argument=f"transition[1].{part}", **wrong):
        from_toolbox([good, bad], np.zeros((S, A)), 3)
    with refuses(ModelError, argument=f"reward[1].{part}", **wrong):
        from_toolbox([good, good], [good, bad], 3)


def test_what_a_foreign_class_returns_is_checked():
    class Foreign:
        shape, dtype = (S * A, S), np.dtype(float)

        def tocsr(self):
            return damage("csr", 0, 9)

    with refuses(
        ModelError, argument="p.indices", entry="0", found=9, expected="an integer from 0 to 3"
    ):
        as_csr("p", Foreign(), (S * A, S))


def test_arrays_that_a_model_hands_out_cannot_be_written():
    cmdp = tr.CMDP(kernel(), COST, [COST], [1.0], horizon=H, allowed=[[True, False]] * S)
    for array in (*cmdp.transitions, cmdp.cost, cmdp.constraint_cost, cmdp.allowed):
        assert array.size
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 99
