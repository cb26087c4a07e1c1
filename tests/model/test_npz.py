from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_samples import random_kernel, same, shop

from refusals import refuses
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.files import read_model


def written(path, model=None):
    (model or CMDP(**shop())).save(path)
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def about(members, **changes):
    text = json.loads(members["about"].item())
    return json.dumps({**text, **changes}).encode()


def test_members_are_plain_arrays_without_padding(tmp_path):
    rng = np.random.default_rng(0)
    p = random_kernel(rng, 3, S=4, A=2)
    members = written(tmp_path / "m.npz", CMDP(p, rng.random((4, 2))))

    assert str(members["format"]) == "tightrope-model 1"
    assert members["data"].shape == members["indices"].shape == (np.count_nonzero(p),)
    assert members["cost"].shape == (4, 2)
    assert "allowed" not in members
    assert not any(member.dtype.hasobject for member in members.values())


def test_a_foreign_archive_is_recognized(tmp_path):
    np.savez(tmp_path / "m.npz", weights=np.zeros(3))

    with refuses(ModelError, argument="format"):
        CMDP.load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("tightrope-model 2", r"version 2 is newer than this tightrope reads \(1\)"),
        ("tightrope-model one", "not a model file of tightrope"),
        ("tightrope-model 0", "expected 'tightrope-model 1'"),
        ([1.0, 2.0], "not a model file of tightrope"),
    ],
)
def test_another_format_is_named(tmp_path, tag, message):
    members = written(tmp_path / "m.npz")
    np.savez(tmp_path / "m.npz", **{**members, "format": tag})

    with pytest.raises(ModelError, match=rf"m\.npz: format: .*{message}"):
        CMDP.load(tmp_path / "m.npz")


def test_a_missing_member_is_named(tmp_path):
    members = written(tmp_path / "m.npz")
    del members["budget"]
    np.savez(tmp_path / "m.npz", **members)

    with refuses(ModelError, argument="budget"):
        CMDP.load(tmp_path / "m.npz")


def test_pickled_objects_are_never_read(tmp_path):
    members = written(tmp_path / "m.npz")
    np.savez(tmp_path / "m.npz", **{**members, "cost": np.array([print, 1], dtype=object)})

    with refuses(ModelError, "cost: .*forbidden type", argument="cost"):
        CMDP.load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("member", "value", "said"),
    [
        ("indptr", [[0.0, 2.0, 2.0, 3.0, 4.0]], ("indptr", "float64", "an array of integers")),
        (
            "indptr",
            [0, 2, 2, 3, 4],
            ("indptr", None, "shape (1 or 3, S*A + 1) with S = 2, got (5,)"),
        ),
        (
            "indptr",
            [[0, 2, 2, 4]],
            ("indptr", None, "shape (1 or 3, S*A + 1) with S = 2, got (1, 4)"),
        ),
        (
            "indptr",
            [[0, 2, 2, 3, 4]] * 2,
            ("indptr", None, "shape (1 or 3, S*A + 1) with S = 2, got (2, 5)"),
        ),
        (
            "indptr",
            [[1, 2, 2, 3, 4]],
            ("indptr", None, "pointers that start at 0 and never decrease"),
        ),
        (
            "indptr",
            [[0, 3, 2, 3, 4]],
            ("indptr", None, "pointers that start at 0 and never decrease"),
        ),
        ("indptr", [[0, 2, 2, 3, 9]], ("indptr[0, 4]", 9, "an integer from 0 to 4")),
        (
            "indptr",
            [[0, 2**63 - 1, -(2**63), 3, 4]],
            ("indptr[0, 1]", 9223372036854775807, "an integer from 0 to 4"),
        ),
        ("indptr", [[0, 2, 2, 3, 3]], ("indices", None, "as many as indptr says, got 4")),
        ("indices", [0, 1, 1, 2], ("indices[3]", 2, "an integer from 0 to 1")),
        ("indices", [0, -1, 1, 0], ("indices[1]", -1, "an integer from 0 to 1")),
        ("indices", [1, 0, 1, 0], ("indices", None, "successors that rise within each row")),
        ("indices", [0, 0, 1, 0], ("indices", None, "successors that rise within each row")),
        ("indices", [0.0, 1, 1, 0], ("indices", "float64", "an array of integers")),
        ("data", [0.5, 0.5, 1.0], ("data", None, "shape (4,), got (3,)")),
        ("data", ["a", "b", "c", "d"], ("data", None, "an array of real numbers")),
        ("data", [1j] * 4, ("data", None, "an array of real numbers")),
        (
            "cost",
            np.zeros((3, 2)),
            ("cost", (3, 2), "(2, 2) over (S, A) or (3, 2, 2) over (H, S, A)"),
        ),
        ("cost", np.array("x"), ("cost", None, "an array of real numbers")),
        (
            "constraint_cost",
            np.zeros((2, 2, 2)),
            (
                "constraint_cost",
                (2, 2, 2),
                "(1, 2, 2) over (I, S, A) or (1, 3, 2, 2) over (I, H, S, A)",
            ),
        ),
        ("budget", np.zeros((1, 1)), ("budget", (1, 1), "(I,), one number a constraint")),
        ("initial", np.zeros(0), ("initial", None, "at least one state")),
        ("initial", np.zeros((1, 2)), ("initial", (1, 2), "a state or shape (2,)")),
        (
            "allowed",
            np.ones((3, 3)),
            ("allowed", (3, 3), "(2, 2) over (S, A) or (3, 2, 2) over (H, S, A)"),
        ),
        (
            "allowed",
            np.full((2, 2), 2),
            ("allowed", "has values other than True and False", "booleans"),
        ),
        ("about", np.array(3), ("about", None, "JSON text of an object")),
        ("about", np.array(b"{"), ("about", "not JSON text", None)),
        ("about", np.array(b"[]"), ("about", None, "JSON text of an object")),
        ("about", np.array(b"[" * 100_000), ("about", "not JSON text", None)),
        ("about", np.array([b"{}", b"{}"]), ("about", "not JSON text", None)),
    ],
)
def test_members_that_do_not_fit_each_other_are_named(tmp_path, member, value, said):
    members = written(tmp_path / "m.npz")
    np.savez(tmp_path / "m.npz", **{**members, member: value})

    with refuses(ModelError, said) as caught:
        read_model(tmp_path / "m.npz")
    assert str(caught.value).startswith(f"{tmp_path / 'm.npz'}: ")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("horizon", None, ("horizon", "None", "a whole number of at least 1")),
        ("horizon", 2.5, ("horizon", 2.5, "a whole number of at least 1")),
        (
            "horizon",
            10**400,
            ("horizon", "a number of about 400 digits", "a whole number of at most 2147483647"),
        ),
        ("noise", "gauss", ("noise", "gauss", "one of 'bernoulli', 'none', 'beta'")),
        ("noise", {}, ("noise", "{}", "one of 'bernoulli', 'none', 'beta'")),
        ("state_names", ["a"], ("state_names", "1 names", "2")),
        ("state_names", "ab", ("about.state_names", None, "a list of names")),
        ("action_names", [1, 2], ("about.action_names", None, "a list of names")),
        ("constraint_names", ["a", "b"], ("constraint_names", "2 names", "1")),
        (
            "cost_unit",
            ["euro", 1.0],
            ("about.cost_unit", "['euro', 1.0]", "a name, a factor and a shift"),
        ),
        ("cost_unit", None, ("about.cost_unit", "None", "a name, a factor and a shift")),
        (
            "cost_unit",
            ["euro", 0.0, 0.0],
            (
                "unit 'euro'",
                "factor 0.0 and shift 0.0",
                "finite numbers and a factor that is not zero",
            ),
        ),
        (
            "cost_unit",
            ["euro", float("nan"), 0.0],
            (
                "unit 'euro'",
                "factor nan and shift 0.0",
                "finite numbers and a factor that is not zero",
            ),
        ),
        ("constraint_units", [], ("about.constraint_units", None, "a list of 1 units")),
        ("layout", {"rows": []}, ("layout", None, "the keys rows, cells and moves, and no others")),
        ("layout", 7, ("layout", None, "the keys rows, cells and moves, and no others")),
    ],
)
def test_bad_words_are_named(tmp_path, key, value, said):
    members = written(tmp_path / "m.npz")
    np.savez(tmp_path / "m.npz", **{**members, "about": about(members, **{key: value})})

    with refuses(ModelError, said) as caught:
        read_model(tmp_path / "m.npz")
    assert str(caught.value).startswith(f"{tmp_path / 'm.npz'}: ")


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_a_truncated_or_corrupt_archive_is_an_error_or_the_same_model(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("files") / "m.npz"
    written(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(2, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])

    try:
        model = CMDP.load(path)
    except ModelError as caught:
        model, error = CMDP(**shop()), str(caught)
    else:
        error = f"{path}: none"
    assert "\n" not in error
    assert error.startswith(str(path))
    assert same(model, CMDP(**shop()))


def test_a_truncated_archive_is_named(tmp_path):
    written(tmp_path / "m.npz")
    content = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").write_bytes(content[: len(content) // 2])

    with refuses(ModelError, "truncated archive: ", argument=str(tmp_path / "m.npz")):
        CMDP.load(tmp_path / "m.npz")


def test_bad_values_survive_reading(tmp_path):
    members = written(tmp_path / "m.npz")
    members["data"][0] = -2.0
    members["budget"][0] = np.nan
    np.savez(tmp_path / "m.npz", **members)

    model = read_model(tmp_path / "m.npz")[0]

    assert model.transitions.data[0, 0] == -2.0
    assert np.isnan(model.budget[0])
