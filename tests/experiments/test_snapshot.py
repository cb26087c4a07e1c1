"""A run taken up from its arrays goes on as if it had never stopped."""

from __future__ import annotations

import numpy as np
import pytest

from driven import driven, instance
from tightrope.errors import StoreError
from tightrope.experiments.job import Order, at_hand, work
from tightrope.experiments.snapshot import FIXED, _parts, restore, state_of
from tightrope.files import leaves, packed, unpacked
from tightrope.learners.storage import MAY_BE_INFINITE
from tightrope.run.carry_out import Pace, carry_out
from tightrope.run.engines.here import Here
from tightrope.run.study import Study
from tightrope.run.sweep import specs_of

ALGORITHMS = ["OptCMDP", "OptCMDP-bonus", "OptDual", "OptPrimalDual"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("replan", ["always", "doubling"])
@pytest.mark.parametrize("at", [0, 1, 57])
def test_a_run_taken_up_equals_the_run_never_stopped_bit_for_bit(algorithm, replan, at):
    cmdp = instance(5, I=2, noise="beta")
    options = {"confidence": {"scale": 0.01, "replan": replan}, "audits_visits": True}
    whole, first, second = (driven(cmdp, algorithm, 120, **options) for _ in range(3))
    whole.advance(120)
    first.advance(at)
    state = state_of(first)
    first.advance(3)  # the copy does not follow
    restore(second, state)
    second.advance(120 - at)
    expected, found = state_of(whole), state_of(second)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_a_programme_is_taken_up_too():
    cmdp = instance(2)
    whole, first, second = (driven(cmdp, "OptCMDP", 12, method="lp") for _ in range(3))
    whole.advance(12)
    first.advance(5)
    restore(second, state_of(first))
    second.advance(7)
    np.testing.assert_array_equal(second.world.record.signed_curve, whole.world.record.signed_curve)


def test_a_state_of_another_run_is_refused_and_changes_nothing():
    cmdp = instance(5)
    dual, other = driven(cmdp, "OptDual", 20), driven(cmdp, "OptPrimalDual", 20)
    longer, larger = driven(cmdp, "OptDual", 30), driven(instance(5, S=4), "OptDual", 20)
    before = state_of(dual)
    for stranger in (other, longer, larger):
        stranger.advance(3)
        with pytest.raises(StoreError, match="snapshot: "):
            restore(dual, state_of(stranger))
    after = state_of(dual)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_learners_share_their_luck_episode_by_episode():
    # so that differences between them are paired: each episode takes the same number of draws
    cmdp = instance(5, noise="bernoulli")
    states = set()
    for algorithm in ALGORITHMS:
        simulation = driven(cmdp, algorithm, 40, confidence={"scale": 0.01}, seed=3)
        simulation.advance(40)
        states.add(str(simulation.rng.bit_generator.state))
    assert len(states) == 1


def run_after(algorithm, n):
    """A run of twenty episodes after n of them."""
    cmdp = instance(5, I=2, is_masked=True)
    run = driven(cmdp, algorithm, 20, confidence={"scale": 0.01}, audits_visits=True)
    run.advance(n)
    return run


STATES = {algorithm: state_of(run_after(algorithm, 7)) for algorithm in ALGORITHMS}


def arrays_of(kinds):
    """Every array of a snapshot of these kinds of types, as test parameters."""
    return [
        pytest.param(algorithm, name, id=f"{algorithm}-{name}")
        for algorithm, state in STATES.items()
        for name, array in state.items()
        if array.dtype.kind in kinds and array.size and name != "generator"
    ]


def refuse(algorithm, change):
    """The error of a changed snapshot; the run it should have continued is unchanged."""
    state = {name: array.copy() for name, array in STATES[algorithm].items()}
    change(state)
    run = run_after(algorithm, 0)
    before = state_of(run)
    with pytest.raises(StoreError, match=r"^snapshot: ") as caught:
        restore(run, state)
    for name, array in state_of(run).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    return str(caught.value)


@pytest.mark.parametrize(("algorithm", "name"), arrays_of("iu"))
@pytest.mark.parametrize("value", [-(2**60), -2, 2**60])
def test_an_integer_outside_its_range_is_refused(algorithm, name, value):
    def change(state):
        info = np.iinfo(state[name].dtype)
        place = 0
        if name in ("memory.columns.actions", "memory.columns.orders"):
            basis = state["memory.columns.master.basis"]
            place = int(basis[basis < len(state[name])][0]) * state[name][0].size
        is_possible = info.min <= value <= info.max
        state[name].flat[place] = value if is_possible else info.max

    refuse(algorithm, change)


@pytest.mark.parametrize(
    ("algorithm", "name", "value"),
    [
        (algorithm, name, value)
        for algorithm, name in (case.values for case in arrays_of("f"))
        for value in ((np.nan,) if name in MAY_BE_INFINITE else (np.nan, np.inf))
    ],
)
def test_a_float_that_is_not_finite_is_refused(algorithm, name, value):
    refuse(algorithm, lambda state: state[name].put(-1, value))


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"\xff", b'{"bit_generator": "MT19937"}', b"9" * 5000, b"[" * 10**5],
    ids=lambda content: str(content[:8]),
)
def test_a_generator_that_is_none_is_refused(content):
    new = np.frombuffer(content, dtype=np.uint8)
    assert "generator" in refuse("OptDual", lambda state: state.update(generator=new))


def test_the_place_in_the_record_must_fit_the_episode():
    assert "episode 7" in refuse("OptDual", lambda state: state["book.state"].put(1, 3))
    assert "expected 24 of 8 episodes" in refuse(
        "OptDual", lambda state: state["book.state"].put([0, 1], 8)
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_snapshot_that_holds_scratch_is_still_read(algorithm):
    run, again, never = run_after(algorithm, 7), run_after(algorithm, 0), run_after(algorithm, 20)
    parts = _parts(run)
    old = {name: array.copy() for part in parts for name, array in leaves(part, parts[part])}
    state = state_of(run)
    for name in set(old) - set(state) - set(FIXED):
        old[name].fill(77)
    assert restore(again, old | state) == 7
    again.advance(13)
    for name, array in state_of(never).items():
        np.testing.assert_array_equal(state_of(again)[name], array, err_msg=name)


def test_what_the_spec_determines_must_be_the_same():
    run = run_after("OptDual", 7)
    state = state_of(run)
    for name, other in (("memory.rate", np.ones(1)), ("book.recorded", np.arange(2, 22))):
        with pytest.raises(StoreError, match=f"{name} is not that of this run"):
            restore(run_after("OptDual", 0), state | {name: other})


@pytest.fixture
def order():
    """A slice to do, from a snapshot after some episodes."""
    spec = specs_of({"environment": "ring", "algorithm": "OptDual", "episodes": 300, "seeds": 1})[0]
    first = work(Order(spec.model_dump_json(), b"", 0, b"", 0.0))
    assert 0 < first.episode < 300
    return Order(spec.model_dump_json(), b"", first.episode, first.state, 0.0)


ABOUTS = {
    "episode of another": (lambda about: about.update(episode=2), "its record holds"),
    "no episode": (lambda about: about.pop("episode"), "episode"),
    "a text": (lambda about: about.update(episode="7"), "episode"),
    "no truth": (lambda about: about.pop("truth"), "truth"),
    "no number": (lambda about: about["truth"].update(optimum="x"), "truth"),
    "no bound": (lambda about: about["truth"].update(rho=float("nan")), "rho"),
    "another run": (lambda about: about.update(run="x"), "of run x"),
    "nothing": (lambda about: about.clear(), "of run None"),
    "seconds": (lambda about: about.update(seconds=float("inf")), "seconds"),
}


@pytest.mark.parametrize(("change", "message"), ABOUTS.values(), ids=ABOUTS)
def test_a_snapshot_whose_table_is_wrong_is_refused(order, monkeypatch, change, message):
    monkeypatch.setattr("tightrope.experiments.job.at_hand", type(at_hand)())
    about, arrays = unpacked(order.state)
    change(about)
    with pytest.raises(StoreError, match=message):
        work(order._replace(state=packed(about, arrays)))


def test_a_forged_snapshot_fails_its_run_and_no_other(tmp_path):
    study = Study(tmp_path)
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 3000, "seeds": 2}
    study.add(specs_of(table))

    def stop(outcome, episodes):
        if min(episodes.values(), default=0) > 0 and len(episodes) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(study, Here(), Pace(slice=0.0, snapshot=0.0), stop)
    at_hand.clear()  # the worker is this process
    first = study.folder(study.pending()[0])
    for path in first.snapshots():
        about, arrays = unpacked(path.read_bytes())
        arrays["decision.choice"].fill(30_000)
        path.write_bytes(packed(about, arrays))
    outcome = carry_out(study, Here())
    assert outcome.finished == 1
    assert [*outcome.failed] == [first.path.name]
    assert "decision.choice[0, 0] is 30000" in outcome.failed[first.path.name]
