"""Arrays in either order of axes give the same model, and come back as they were."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import tightrope as tr
import zoo
from refusals import refuses


def generic(is_stationary=True, seed=0):
    rng = np.random.default_rng(seed)
    return zoo.random_cmdp(rng, 3, 3, 4, 2, is_stationary=is_stationary)


@pytest.mark.parametrize("is_stationary", [True, False])
@pytest.mark.parametrize("layout", ["sas", "ass"])
def test_arrays_go_out_and_come_back(layout, is_stationary):
    cmdp = generic(is_stationary)
    arrays = tr.to_arrays(cmdp, layout)
    back = tr.from_arrays(
        arrays.transition,
        layout,
        arrays.cost,
        arrays.constraint_cost,
        arrays.budget,
        cmdp.horizon,
        arrays.initial,
        arrays.allowed,
    )
    np.testing.assert_array_equal(back.transition, cmdp.transition)
    np.testing.assert_array_equal(back.cost, cmdp.cost)
    np.testing.assert_array_equal(back.constraint_cost, cmdp.constraint_cost)


def test_the_word_decides_when_the_shape_cannot():
    cmdp = generic()
    s, a, t = 0, 2, 1
    assert tr.to_arrays(cmdp, "sas").transition[s, a, t] == cmdp.transition[s, a, t]
    assert tr.to_arrays(cmdp, "ass").transition[a, s, t] == cmdp.transition[s, a, t]


def test_sparse_matrices_by_action_are_the_same_model():
    cmdp = generic()
    by_action = tr.to_arrays(cmdp, "ass").transition
    sparse = tr.from_arrays(
        [csr_array(matrix) for matrix in by_action], "ass", cmdp.cost[0], horizon=4
    )
    np.testing.assert_array_equal(sparse.transition, cmdp.transition)


@pytest.mark.parametrize(
    ("transition", "layout", "said"),
    [
        (np.ones((2, 2)), "sas", ("transition", (2, 2), "three axes, or four with stages")),
        (
            np.ones((3, 2, 3)),
            "ass",
            ("transition", (3, 2, 3), "(A, S, S) for the layout 'ass', or (H, A, S, S)"),
        ),
        (np.ones((2, 3, 3)), "sas", ("transition", (2, 3, 3), "(S, A, S) or (H, S, A, S)")),
        (
            csr_array(np.eye(2)),
            "ass",
            ("transition", "sparse", "a list of A matrices for the layout 'ass'"),
        ),
        (
            [csr_array(np.eye(2)), csr_array(np.eye(3))],
            "ass",
            ("transition[1]", "shape (3, 3)", "a sparse matrix of shape (2, 2)"),
        ),
    ],
)
def test_kernels_that_cannot_be_are_named(transition, layout, said):
    with refuses(tr.ModelError, said):
        tr.from_arrays(transition, layout, np.zeros((2, 2)), horizon=2)


def test_an_unknown_layout_is_refused():
    with refuses(tr.ConfigError, argument="layout", found="sat", expected="one of 'sas', 'ass'"):
        tr.from_arrays(np.ones((2, 2, 2)), "sat", np.zeros((2, 2)), horizon=2)


@pytest.mark.parametrize("layout", ["sas", "ass"])
@pytest.mark.parametrize("options", [{"discount": 0.95}, {"average": True}])
def test_arrays_of_models_without_a_horizon_go_out_and_come_back(layout, options):
    model = tr.envs.build("replacement" if "discount" in options else "admission")
    arrays = tr.to_arrays(model, layout)
    assert arrays.cost.shape == (model.n_states, model.n_actions)
    units = {"cost_unit": model.cost_unit, "constraint_units": model.constraint_units}
    rest = {"initial": arrays.initial, "allowed": arrays.allowed, **units, **options}
    losses = arrays.cost, arrays.constraint_cost, arrays.budget
    back = tr.from_arrays(arrays.transition, layout, *losses, **rest)
    assert type(back) is type(model)
    assert tr.solve(back).value == pytest.approx(tr.solve(model).value, rel=1e-9)


def test_a_model_has_one_form():
    with refuses(
        tr.ModelError,
        argument="horizon",
        found="together with average",
        expected="one of horizon, discount and average=True",
    ):
        tr.from_arrays(np.ones((1, 1, 1)), "sas", [[0.0]], horizon=3, average=True)
