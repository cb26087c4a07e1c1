"""Learner files: every entry is checked before a kernel reads it, and scratch is not stored."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tightrope as tr
from draws import SOME
from driven import ALGORITHMS, instance, own_options, walk
from driven import driven as drive
from driven import told as begin
from tightrope.files import packed, unpacked
from tightrope.learners.interactive import has_seen
from tightrope.learners.storage import MAY_BE_INFINITE, collect_leaves

K = 12
CMDP = instance(3, I=2, is_sparse=True, is_masked=True)


@cache
def steps():
    return list(walk(drive(CMDP, "OptDual", K, confidence={"scale": 0.02}), K))


def learner_after(algorithm, n, **more):
    """A learner after n episodes, with a plan for the next one."""
    learner = begin(CMDP, algorithm, K, more.pop("confidence", {"scale": 0.02}), **more)
    for step in steps()[:n]:
        learner.plan()
        learner.observe(step.episode)
    learner.plan()
    return learner


@cache
def content_of(algorithm):
    return learner_after(algorithm, 7).to_bytes()


def refuse(content, change):
    """Whether a file is refused after a change of its table and arrays."""
    about, arrays = unpacked(content)
    change(about, arrays)
    with pytest.raises(tr.StoreError) as caught:
        tr.InteractiveLearner.from_bytes(packed(about, arrays))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def arrays_of(kinds):
    """Every stored array of these kinds of types, as test parameters; nothing is planned yet."""
    contents = {each: begin(CMDP, each, K, {"scale": 0.02}).to_bytes() for each in ALGORITHMS}
    return [
        pytest.param(algorithm, name, id=f"{algorithm}-{name}")
        for algorithm, content in contents.items()
        for name, array in unpacked(content)[1].items()
        if array.dtype.kind in kinds and array.size
    ]


@pytest.mark.parametrize(("algorithm", "name"), arrays_of("iu"))
@pytest.mark.parametrize("value", ["least", "greatest", "-2", "2**20"])
def test_an_integer_outside_its_range_is_refused(algorithm, name, value):
    def change(_, arrays):
        array = arrays[name]
        info = np.iinfo(array.dtype)
        new = {"least": info.min, "greatest": info.max, "-2": -2, "2**20": 2**20}[value]
        if name == "decision.note.sweeps" and value == "2**20":
            new = 2**60  # sweeps are counted without a limit of their own
        place = int(np.argmax(np.ravel(used(name, arrays))))
        is_possible = info.min <= new <= info.max and new != 0
        array.flat[place] = new if is_possible else info.max

    refuse(content_of(algorithm), change)


def used(name, arrays):
    """Which entries of an array later plans read."""
    array = arrays[name]
    is_used = np.zeros(array.shape, dtype=bool)
    if name in ("state.columns.actions", "state.columns.orders"):
        basis = arrays["state.columns.master.basis"]
        is_used[basis[basis < len(array)]] = True
        return is_used
    if name in ("counts.indices", "counts.successors"):
        is_used[0, :1] = arrays["counts.indptr"][0, -1] > 0
        return is_used
    return ~is_used


@pytest.mark.parametrize(
    ("algorithm", "name", "value"),
    [
        (algorithm, name, value)
        for algorithm, name in (case.values for case in arrays_of("f"))
        for value in ((np.nan,) if name in MAY_BE_INFINITE else (np.nan, np.inf, -np.inf))
    ],
)
def test_a_float_that_is_not_finite_is_refused(algorithm, name, value):
    def change(_, arrays):
        arrays[name].flat[-1] = value

    refuse(content_of(algorithm), change)


@pytest.mark.parametrize(("algorithm", "name"), arrays_of("b"))
def test_a_boolean_that_is_neither_is_refused(algorithm, name):
    refuse(content_of(algorithm), lambda _, arrays: arrays[name].view(np.uint8).fill(7))


@pytest.mark.parametrize("name", ["counts.indptr", "pattern.indptr"])
def test_pointers_whose_differences_wrap_around_are_refused(name):
    def change(_, arrays):
        ends = arrays[name]
        ends[0, 1:-1] = np.where(np.arange(ends.shape[1] - 2) % 2, -(2**63), 2**63 - 1)
        with np.errstate(over="ignore"):
            assert (np.diff(ends[0, :3]) >= 0).all()

    assert f"{name}[0, 1] is" in refuse(content_of("OptDual"), change)


CHANGES = {
    "an order with a state twice": lambda about, arrays: arrays["state.columns.orders"].fill(1),
    "a column that is not in use": lambda about, arrays: arrays[
        "state.columns.progress.n_columns"
    ].put(0, 1),
    "no policy where there must be one": lambda about, arrays: arrays["decision.pi"].fill(0),
    "a policy that does not sum to 1": lambda about, arrays: arrays["decision.pi"].fill(0.3),
    "an action that does not exist": lambda about, arrays: arrays["decision.pi"].__setitem__(
        ..., np.where(CMDP.allowed, 0.0, 1.0) / np.maximum(1, (~CMDP.allowed).sum(2))[..., None]
    ),
    "more visits than episodes": lambda about, arrays: arrays["counts.visits"].__iadd__(1),
    "costs above the visits": lambda about, arrays: arrays["counts.cost_sum"].fill(1e6),
    "more planned than visited": lambda about, arrays: arrays["planned_visits"].fill(50),
    "a probability above 1": lambda about, arrays: arrays["belief.upper"].fill(1.5),
    "another number of episodes": lambda about, arrays: about["progress"].update(n_observed=6),
    "more episodes than there are": lambda about, arrays: about["progress"].update(
        n_observed=K + 1
    ),
    "a horizon without arrays": lambda about, arrays: about["task"].update(horizon=10**12),
    "more actions than fit": lambda about, arrays: about["task"].update(n_actions=10**6),
    "an integer beyond floats": lambda about, arrays: about["task"].update(n_episodes=10**400),
    "a state without actions": lambda about, arrays: arrays["task.allowed"].fill(False),
    "known costs above 1": lambda about, arrays: arrays.update(
        {"task.known_cost": np.full((3, 1, 6), 2.0)}
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_arrays_that_contradict_each_other_are_refused(change):
    refuse(content_of("OptCMDP"), change)


COLUMNS = {"actions", "lam", "master.basis", "orders", "progress.n_columns"}
PLAN = {f"columns.{name}" for name in COLUMNS}
MIRROR = {"lam", "theta", "pi", "has_moved"}
STORED = {"OptCMDP": PLAN, "OptCMDP-bonus": PLAN, "OptDual": {"lam"}, "OptPrimalDual": MIRROR}


@pytest.mark.parametrize("algorithm", STORED)
def test_scratch_is_not_stored(algorithm):
    names = set(unpacked(content_of(algorithm))[1])
    state = {name.removeprefix("state.") for name in names if name.startswith("state.")}
    assert state == STORED[algorithm]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_file_that_holds_scratch_is_still_read_and_scratch_ignored(algorithm):
    learner = learner_after(algorithm, 7)
    about, arrays = unpacked(learner.to_bytes())
    every = {name: array.copy() for name, array in collect_leaves(learner._agent.parts()).items()}
    assert len(set(every) - set(arrays)) > 5
    for name in set(every) - set(arrays):
        every[name].fill(77)
    again = tr.InteractiveLearner.from_bytes(packed(about, {**arrays, **every, **arrays}))
    for step in steps()[7:]:
        np.testing.assert_array_equal(learner.plan().policy, again.plan().policy)
        learner.observe(step.episode)
        again.observe(step.episode)
    assert learner.to_bytes() == again.to_bytes()


def episodes_of(steps):
    """Steps as one batch of episodes."""
    each = [step.episode for step in steps]
    return tr.Episodes(*(np.array([getattr(e, name) for e in each]) for name in vars(each[0])))


@SOME
@given(
    st.sampled_from(ALGORITHMS),
    st.sampled_from(["always", "doubling"]),
    st.sampled_from(["faithful", "tight"]),
    st.booleans(),
    st.integers(0, K - 1),
)
def test_a_learner_has_seen_its_own_episodes_and_no_others(algorithm, replan, mode, pool, n):
    confidence = {"mode": mode, "scale": 0.02, "replan": replan, "pool": pool}
    learner = learner_after(algorithm, n, confidence=confidence, stationary=True)
    start = begin(CMDP, algorithm, K, confidence, stationary=True)
    assert has_seen(learner, [episodes_of([step]) for step in steps()[:n]], start)
    if n:
        assert has_seen(learner, [episodes_of(steps()[:n])], start)
        assert not has_seen(learner, [episodes_of(steps()[1 : n + 1])], start)
        assert not has_seen(learner, [episodes_of(steps()[: n + 1])], start)
        assert not has_seen(learner, [], start)
    changed = own_options(algorithm, {"dual_step": 2.0, "tolerance": 1e-6})
    other = begin(CMDP, algorithm, K, confidence, stationary=True, **changed)
    assert not has_seen(learner, [episodes_of([step]) for step in steps()[:n]], other)
