"""The model: what its constructor takes and keeps, and how it is shown."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from model_samples import FORMS, random_kernel, same, shop
from scipy.sparse import coo_array, csc_matrix, csr_array

from refusals import refuses
from tightrope.errors import ModelError
from tightrope.model import CMDP, Layout, Unit

forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def test_importing_the_model_loads_no_heavy_library():
    code = "import sys, tightrope.model; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "tightrope.model.cmdp" in loaded
    assert not {"scipy", "numba", "matplotlib", "highspy"} & set(loaded)


@forms
def test_a_stationary_model_keeps_one_kernel_and_shows_full_arrays(form):
    rng = np.random.default_rng(0)
    p = random_kernel(rng, S=4, A=3)
    cost, bounded = rng.random((4, 3)), rng.random((2, 4, 3))
    model = CMDP(form(p), cost, bounded, [1.0, 2.0], horizon=5, initial=2)

    assert (model.n_states, model.n_actions, model.horizon, model.n_constraints) == (4, 3, 5, 2)
    assert model.is_stationary
    assert model.transitions.indptr.shape == (1, 13)
    assert model.cost.shape == (5, 4, 3)
    assert model.constraint_cost.shape == (2, 5, 4, 3)
    np.testing.assert_allclose(model.transition, p, rtol=1e-15)
    np.testing.assert_array_equal(model.cost[4], cost)
    np.testing.assert_array_equal(model.constraint_cost[:, 3], bounded)
    assert model.initial.tolist() == [0, 0, 1, 0]
    assert model.allowed.all()
    assert model.allowed.shape == (5, 4, 3)
    assert repr(model) == "CMDP(4 states, 3 actions, horizon 5, 2 constraints, stationary)"


@pytest.mark.parametrize("kind", [csr_array, csc_matrix, coo_array])
def test_a_list_of_sparse_matrices_is_one_kernel_a_stage(kind):
    rng = np.random.default_rng(1)
    p = random_kernel(rng, 3, S=4, A=2)
    cost = rng.random((3, 4, 2))

    sparse = CMDP([kind(stage.reshape(8, 4)) for stage in p], cost)

    assert same(sparse, CMDP(p, cost))
    assert sparse.horizon == 3
    assert not sparse.is_stationary


def test_one_stage_in_a_list_is_a_horizon_of_one():
    p = np.full((2, 1, 2), 0.5)

    assert CMDP([csr_array(p.reshape(2, 2))], np.zeros((2, 1))).horizon == 1
    assert CMDP(p[None].tolist(), np.zeros((2, 1))).horizon == 1


def test_sparse_duplicates_are_summed_and_zeros_dropped():
    rows, columns, chances = [0, 0, 0, 1], [1, 1, 0, 0], [0.5, 0.5, 0.0, 1.0]
    model = CMDP(coo_array((chances, (rows, columns)), shape=(2, 2)), [[0], [0]], horizon=1)

    assert model.transition.tolist() == [[[0, 1]], [[1, 0]]]
    assert model.transitions.data.shape == (1, 2)


def test_a_model_without_constraints_needs_none():
    for options in ({}, {"constraint_cost": np.zeros((0, 2, 1)), "budget": []}):
        model = CMDP(np.full((2, 1, 2), 0.5), np.zeros((2, 1)), horizon=4, **options)

        assert model.n_constraints == 0
        assert model.constraint_cost.shape == (0, 4, 2, 1)
        assert model.budget.shape == (0,)
        assert model.constraint_units == ()
        assert model.constraint_names == ()


def test_a_single_budget_may_be_a_number():
    assert CMDP(**{**shop(), "budget": 0.5}).budget.tolist() == [0.5]


def test_booleans_serve_as_costs_of_zero_and_one():
    model = CMDP(**{**shop(), "cost": np.array([[False, True], [True, False]])})

    assert model.cost[0].tolist() == [[0, 0], [1, 0]]


def test_names_default_to_numbers():
    model = CMDP(np.full((2, 1, 2), 0.5), np.zeros((2, 1)), np.zeros((1, 2, 1)), [1], horizon=2)

    assert model.state_names == ("0", "1")
    assert model.action_names == ("0",)
    assert model.constraint_names == ("constraint 0",)
    assert model.constraint_units == (Unit("constraint 0"),)


def test_the_model_does_not_change_when_the_arrays_it_came_from_do():
    arrays = {
        "transition": np.full((2, 1, 2), 0.5),
        "cost": np.full((2, 1), 0.5),
        "constraint_cost": np.full((1, 2, 1), 0.5),
        "budget": np.array([0.5]),
        "initial": np.array([0.5, 0.5]),
        "allowed": np.ones((2, 1), dtype=bool),
    }
    model = CMDP(**arrays, horizon=1)
    before = CMDP(**{name: array.copy() for name, array in arrays.items()}, horizon=1)

    for array in arrays.values():
        array[...] = 0

    assert same(model, before)

    budget = np.array([0.25])
    other = model.with_budget(budget)
    budget[0] = 1.0

    assert other.budget.tolist() == [0.25]


def test_rows_of_single_precision_are_renormalized():
    rng = np.random.default_rng(0)
    p = rng.random((5, 2, 5)).astype(np.float32)
    p /= p.sum(axis=2, keepdims=True)
    initial = rng.random(5).astype(np.float32)

    model = CMDP(p, np.zeros((5, 2)), horizon=2, initial=initial / initial.sum())

    np.testing.assert_allclose(model.transition.sum(axis=2), 1.0, rtol=1e-15)
    np.testing.assert_allclose(model.transition, p, rtol=2e-7)
    np.testing.assert_allclose(model.initial.sum(), 1.0, rtol=1e-15)


@forms
def test_rows_and_costs_of_forbidden_actions_are_not_read(form):
    rng = np.random.default_rng(0)
    p, cost, bounded = random_kernel(rng, S=3, A=2), rng.random((3, 2)), rng.random((1, 3, 2))
    allowed = np.array([[True, True], [True, False], [False, True]])
    whole = CMDP(form(p), cost, bounded, [1.0], horizon=2, allowed=allowed)

    p[~allowed] = np.nan
    cost[~allowed] = np.inf
    bounded[:, ~allowed] = -7.0

    assert same(CMDP(form(p), cost, bounded, [1.0], horizon=2, allowed=allowed), whole)
    assert whole.cost[0][~allowed].tolist() == [0, 0]
    assert whole.transition[~allowed].sum() == 0


def test_an_action_missing_at_some_stages_keeps_its_stationary_row():
    allowed = np.ones((3, 2, 2), dtype=bool)
    allowed[1, 1, 1] = False
    model = CMDP(np.full((2, 2, 2), 0.5), np.ones((2, 2)), horizon=3, allowed=allowed)

    assert model.is_stationary
    assert model.transition[1, 1].tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(model.allowed, allowed)


def test_a_mask_that_repeats_or_forbids_nothing_takes_no_room():
    options = {"transition": np.full((2, 2, 2), 0.5), "cost": np.ones((2, 2)), "horizon": 3}
    mask = np.array([[1, 0], [1, 1]])

    assert CMDP(**options, allowed=np.ones((3, 2, 2)))._draft.allowed.shape == (0, 2, 2)
    assert CMDP(**options, allowed=[mask] * 3)._draft.allowed.shape == (1, 2, 2)
    assert CMDP(**options, allowed=mask)._draft.allowed.shape == (1, 2, 2)


def test_other_budgets_leave_the_rest_alone():
    layout = Layout(("..",), np.array([[0, 0], [0, 1]]), ((0, 0), (0, 1)))
    model = CMDP(**shop(), cost_unit=Unit("euro", 3.0, -1.0), layout=layout)

    other = model.with_budget(2.0)

    assert other.budget.tolist() == [2.0]
    assert same(other.with_budget([0.5]), model)
    with refuses(ModelError, argument="budget", found="2 numbers", expected="1"):
        model.with_budget([1.0, 2.0])
    with refuses(
        ModelError, argument="budget", entry="i='energy'", found=9.0, expected="a number in [0, 3]"
    ):
        model.with_budget([9.0])


def test_shared_arrays_cannot_be_written_by_accident():
    model = CMDP(**shop())
    model.budget[0] = 9.0
    model.initial[0] = 9.0

    assert same(model, CMDP(**shop()))
    with pytest.raises(ValueError, match="read-only"):
        model.cost[0, 0, 0] = 1.0


def test_a_model_is_unchanged_in_another_process():
    model = CMDP(**shop(), cost_unit=Unit("euro", 3.0, -1.0))

    assert same(pickle.loads(pickle.dumps(model)), model)


@pytest.mark.parametrize("rows", [(), ("",)])
def test_a_map_without_cells_is_refused(rows):
    layout = Layout(rows, np.full((2, 2), -1), ((0, 1),) * 2)

    with refuses(ModelError, argument="layout.rows", expected="a map of at least one cell"):
        CMDP(**shop(), layout=layout)


@pytest.mark.parametrize(
    ("cells", "moves", "said"),
    [
        ([[0, 0]], 2, ("layout.cells", "1 cells", "2")),
        ([[0.5, 0.0], [0, 1]], 2, r"layout\.cells: expected pairs of whole numbers"),
        (
            [[0, 0], [0, 2]],
            2,
            ("layout.cells[s=1]", "(0, 2)", "a cell of the map, or (-1, -1) for none"),
        ),
        (
            [[0, 0], [-1, 1]],
            2,
            ("layout.cells[s=1]", "(-1, 1)", "a cell of the map, or (-1, -1) for none"),
        ),
        ([[0, 0], [-1, -1]], 3, ("layout.moves", "3 moves", "2")),
    ],
)
def test_a_map_that_does_not_fit_is_named(cells, moves, said):
    with refuses(ModelError, said):
        CMDP(**shop(), layout=Layout(("..",), np.array(cells), ((0, 1),) * moves))
