"""A learner that was saved and loaded continues as if it never was."""

from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tightrope as tr
from draws import SOME
from driven import ALGORITHMS, driven, instance, own_options, successors_of, walk
from refusals import refuses
from tightrope.files import packed, unpacked
from tightrope.learners.files import Labels
from tightrope.model.units import Unit

K = 30
CMDP = instance(2, I=2, is_sparse=True, is_stationary=True, is_masked=True)
SUCCESSORS = successors_of(CMDP) | ~CMDP.allowed[0][..., None]  # of no use where nothing exists
STEPS = list(walk(driven(CMDP, "OptDual", K, confidence={"scale": 0.02}), K))

options = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["faithful", "tight"]),
        "transition": st.sampled_from(["bernstein", "kl", "l1", "kl+l1"]),
        "replan": st.sampled_from(["always", "doubling"]),
        "pool": st.booleans(),
        "any_time": st.booleans(),
        "kl_costs": st.booleans(),
        "mixture": st.booleans(),
        "known_costs": st.booleans(),
        "known_support": st.booleans(),
        "scale": st.sampled_from([1.0, 0.02, 0.0005]),
    }
)


def told(algorithm, confidence, **more):
    """A learner of the model above with those options that it has, told what it needs."""
    known = {"cost": CMDP.cost, "constraint_cost": CMDP.constraint_cost}
    return tr.learner(
        algorithm,
        CMDP.n_states,
        CMDP.n_actions,
        CMDP.horizon,
        CMDP.budget,
        K,
        delta=0.05,
        confidence=confidence,
        initial=CMDP.initial,
        allowed=CMDP.allowed,
        stationary=True,
        successors=SUCCESSORS if confidence.get("known_support") else None,
        **(known if confidence.get("known_costs") else {}),
        **own_options(algorithm, {"rho": 3.0, **more}),
    )


def same(first, second):
    """Whether two plans agree in every bit."""
    pairs = [(getattr(first, name), getattr(second, name)) for name in vars(first)]
    return all(np.array_equal(one, other) for one, other in pairs)


@SOME
@given(
    st.sampled_from(ALGORITHMS), options, st.integers(0, K - 1), st.booleans(), st.floats(0.5, 2)
)
def test_a_loaded_learner_continues_bit_for_bit(algorithm, confidence, at, is_planned, step):
    one = told(algorithm, confidence, dual_step=step, primal_step=step, tolerance=1e-8 * step)
    for each in STEPS[:at]:
        one.plan()
        one.observe(each.episode)
    if is_planned:
        one.plan()
    two = tr.InteractiveLearner.from_bytes(one.to_bytes())
    for each in STEPS[at:]:
        assert same(one.plan(), two.plan())
        one.observe(each.episode)
        two.observe(each.episode)
    assert (one.n_observed, one.n_infeasible) == (two.n_observed, two.n_infeasible)
    assert one.confidence == two.confidence
    policy = STEPS[-1].policy
    np.testing.assert_array_equal(one.bound(policy).cost, two.bound(policy).cost)
    assert one.to_bytes() == two.to_bytes()


@pytest.fixture
def saved(tmp_path):
    """The file of a learner after five episodes."""
    learner = told("OptDual", {"scale": 0.02})
    for each in STEPS[:5]:
        learner.plan()
        learner.observe(each.episode)
    learner.save(tmp_path / "learner.npz")
    return tmp_path / "learner.npz"


def test_a_file_is_plain_arrays(saved):
    with np.load(saved, allow_pickle=False) as archive:
        assert json.loads(archive["about"].tobytes())["format"] == "tightrope-learner 2"
        assert {archive[name].dtype.kind for name in archive.files} <= set("biuf")
    assert tr.InteractiveLearner.load(str(saved)).n_observed == 5


def test_a_file_with_the_former_name_of_an_array_is_read(tmp_path):
    path = tmp_path / "learner.npz"
    learner = told("OptCMDP", {"transition": "l1", "scale": 0.02})
    for each in STEPS[:5]:
        learner.plan()
        learner.observe(each.episode)
    learner.save(path)
    whole = path.read_bytes()
    changed(path, lambda _, arrays: arrays.update({"belief.centre": arrays.pop("belief.center")}))
    assert tr.InteractiveLearner.load(path).to_bytes() == whole


def test_damage_anywhere_is_noticed(saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.integers(len(whole), size=60):
        corrupt = bytearray(whole)
        corrupt[at] ^= 1 << int(rng.integers(8))
        saved.write_bytes(corrupt)
        with contextlib.suppress(tr.StoreError):
            # a bit may say nothing, such as one of the time of a member
            assert tr.InteractiveLearner.load(saved).to_bytes() == whole
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with refuses(tr.StoreError, "cannot be read as a learner", argument=str(saved)):
            tr.InteractiveLearner.load(saved)


def test_files_that_hold_something_else_are_refused(tmp_path):
    other = tmp_path / "other.npz"
    np.savez(other, policy=np.zeros(3))
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    for path in (other, text, tmp_path / "missing.npz", tmp_path):
        with pytest.raises(tr.StoreError, match=f"{path.name}: cannot be read as a learner"):
            tr.InteractiveLearner.load(path)


def changed(path, change):
    """The file with its table or its arrays changed."""
    about, arrays = unpacked(path.read_bytes())
    change(about, arrays)
    path.write_bytes(packed(about, arrays))


def rename(about, name):
    """Say that a file is of another learner."""
    about["learner"] = {"name": name, "options": {}}


CHANGES = {
    "format": (lambda about, _: about.update(format="tightrope-learner 9"), "tightrope-learner 9"),
    "algorithm": (lambda about, _: rename(about, "uniform"), "'uniform' is a reference"),
    "planner": (lambda about, _: rename(about, "certainty-equivalence"), "in only one of"),
    "unknown": (lambda about, _: rename(about, "OptDul"), "did you mean 'OptDual'"),
    "module": (lambda about, _: rename(about, "antigravity:Learner"), "import antigravity first"),
    "no learner": (lambda about, _: rename(about, "json:loads"), "expected a subclass of Learner"),
    "other learner": (lambda about, _: rename(about, "OptCMDP"), "only one"),
    "its options": (lambda about, _: about["learner"].update(name="OptCMDP"), "no such option"),
    "a rule": (lambda about, _: about["learner"]["options"].update(rho="paper"), "rho: missing"),
    "no bound": (lambda about, _: about["learner"]["options"].update(rho=-1), "rho: -1"),
    "generator": (lambda about, _: about["generator"].update(bit_generator="x"), "generator"),
    "no generator": (lambda about, _: about.pop("generator"), "generator"),
    "sizes": (lambda about, _: about["task"].update(n_states=4), "expected"),
    "count": (lambda about, _: about["progress"].update(n_observed=-1), "n_observed: -1"),
    "option": (lambda about, _: about["confidence"].update(speed=2), "speed"),
    "no task": (lambda about, _: about.pop("task"), "task"),
    "no array": (lambda _, arrays: arrays.pop("state.lam"), r"state\.lam"),
    "no pattern": (lambda _, arrays: arrays.pop("counts.indices"), r"counts\.indices"),
    "flat": (
        lambda _, arrays: arrays.update({"counts.indices": np.uint32(0)}),
        "indices is uint32",
    ),
    "outside": (
        lambda _, arrays: arrays["counts.indices"].fill(99),
        r"counts\.indices\[0, 0\] is 99",
    ),
    "backwards": (
        lambda _, arrays: arrays["counts.indptr"].fill(-1),
        r"counts\.indptr\[0, 0\] is -1",
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_a_file_whose_parts_do_not_fit_is_refused(saved, change, message):
    changed(saved, change)
    with pytest.raises(tr.StoreError, match=message):
        tr.InteractiveLearner.load(saved)


LABELS = {
    "other sizes": ({"states": ["a"]}, r"states, actions and units: \(1, 2, 3\), expected \(3,"),
    "no unit": ({"units": [{"name": "euros", "factor": 0.0, "shift": 0.0}] * 3}, "not zero"),
    "no number": ({"units": [{"name": "euros", "factor": [1], "shift": 0.0}] * 3}, "its labels"),
    "less than no doubt": ({"start_radius": -1.0}, "start_radius: -1.0, expected a number of at"),
    "no doubt at all": ({"start_radius": float("nan")}, "start_radius: nan"),
}


@pytest.mark.parametrize(("change", "message"), LABELS.values(), ids=LABELS)
def test_labels_that_do_not_fit_are_refused(saved, change, message):
    learner = tr.InteractiveLearner.load(saved)
    learner.labels = Labels(("a", "b", "c"), ("x", "y"), (Unit(),) * 3, 0.1)
    learner.save(saved)
    assert tr.InteractiveLearner.load(saved).labels == learner.labels
    changed(saved, lambda about, _: about["labels"].update(change))
    with pytest.raises(tr.StoreError, match=message):
        tr.InteractiveLearner.load(saved)


def test_a_file_that_cannot_be_written_leaves_nothing_behind(saved, tmp_path):
    learner = tr.InteractiveLearner.load(saved)
    with pytest.raises(tr.StoreError, match="cannot be written"):
        learner.save(tmp_path / "nowhere" / "learner.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["learner.npz"]
