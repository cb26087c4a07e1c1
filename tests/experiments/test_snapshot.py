"""A run resumed from its arrays equals one that never stopped."""

from __future__ import annotations

import numpy as np
import pytest

from driven import ALGORITHMS, driven, instance
from tightrope.errors import StoreError
from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.job import Job, at_hand, work
from tightrope.experiments.scheduler import Pace, finish_runs
from tightrope.experiments.snapshot import FIXED, parts_of, restore, take_snapshot
from tightrope.experiments.sweep import specs_of
from tightrope.files import packed, unpacked
from tightrope.learners.storage import MAY_BE_INFINITE, collect_leaves


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("replan", ["always", "doubling"])
@pytest.mark.parametrize("at", [0, 1, 57])
def test_a_run_taken_up_equals_the_run_never_stopped_bit_for_bit(algorithm, replan, at):
    cmdp = instance(5, I=2, noise="beta")
    options = {"confidence": {"scale": 0.01, "replan": replan}, "audits_visits": True}
    whole, first, second = (driven(cmdp, algorithm, 120, **options) for _ in range(3))
    whole.advance(120)
    first.advance(at)
    state = take_snapshot(first)
    first.advance(3)  # the copy does not follow
    restore(second, state)
    second.advance(120 - at)
    expected, found = take_snapshot(whole), take_snapshot(second)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_a_learner_that_plans_outside_compiled_code_is_taken_up_too():
    cmdp = instance(2)
    whole, first, second = (driven(cmdp, "OptCMDP-lp", 12) for _ in range(3))
    whole.advance(12)
    first.advance(5)
    restore(second, take_snapshot(first))
    second.advance(7)
    np.testing.assert_array_equal(second.world.record.signed_curve, whole.world.record.signed_curve)


def test_a_state_of_another_run_is_refused_and_changes_nothing():
    cmdp = instance(5)
    dual, other = driven(cmdp, "OptDual", 20), driven(cmdp, "OptPrimalDual", 20)
    longer, larger = driven(cmdp, "OptDual", 30), driven(instance(5, S=4), "OptDual", 20)
    before = take_snapshot(dual)
    for stranger in (other, longer, larger):
        stranger.advance(3)
        with pytest.raises(StoreError, match="snapshot: "):
            restore(dual, take_snapshot(stranger))
    after = take_snapshot(dual)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_learners_share_random_numbers_episode_by_episode():
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


STATES = {algorithm: take_snapshot(run_after(algorithm, 7)) for algorithm in ALGORITHMS}


GENERATORS = ("generator", "own_generator")


def arrays_of(kinds):
    """Every array of a snapshot of these kinds of types, as test parameters."""
    return [
        pytest.param(algorithm, name, id=f"{algorithm}-{name}")
        for algorithm, state in STATES.items()
        for name, array in state.items()
        if array.dtype.kind in kinds and array.size and name not in GENERATORS
    ]


def refuse(algorithm, change):
    """The error of a changed snapshot; the run it should have continued is unchanged."""
    state = {name: array.copy() for name, array in STATES[algorithm].items()}
    change(state)
    run = run_after(algorithm, 0)
    before = take_snapshot(run)
    with pytest.raises(StoreError, match=r"^snapshot: ") as caught:
        restore(run, state)
    for name, array in take_snapshot(run).items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)
    return str(caught.value)


@pytest.mark.parametrize(("algorithm", "name"), arrays_of("iu"))
@pytest.mark.parametrize("value", [-(2**60), -2, 2**60])
def test_an_integer_outside_its_range_is_refused(algorithm, name, value):
    def change(state):
        info = np.iinfo(state[name].dtype)
        place = 0
        if name in ("state.columns.actions", "state.columns.orders"):
            basis = state["state.columns.master.basis"]
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
@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_that_is_none_is_refused(content, name):
    new = np.frombuffer(content, dtype=np.uint8)
    assert "generator" in refuse("OptDual", lambda state: state.update({name: new}))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_snapshot_without_a_generator_is_refused(name):
    assert f"it has no {name}" in refuse("OptDual", lambda state: state.pop(name))


def test_the_place_in_the_record_must_fit_the_episode():
    def move(state, **places):
        for name, place in places.items():
            state[f"record.state.{name}"].fill(place)

    assert "episode 7" in refuse("OptDual", lambda state: move(state, cursor=3))
    assert "expected 24 of 8 episodes" in refuse(
        "OptDual", lambda state: move(state, episode=8, cursor=8)
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_snapshot_that_holds_scratch_is_still_read(algorithm):
    run, again, never = run_after(algorithm, 7), run_after(algorithm, 0), run_after(algorithm, 20)
    old = {name: array.copy() for name, array in collect_leaves(parts_of(run)).items()}
    state = take_snapshot(run)
    for name in set(old) - set(state) - set(FIXED):
        old[name].fill(77)
    assert restore(again, old | state) == 7
    again.advance(13)
    for name, array in take_snapshot(never).items():
        np.testing.assert_array_equal(take_snapshot(again)[name], array, err_msg=name)


def test_what_the_spec_determines_must_be_the_same():
    run = run_after("OptDual", 7)
    state = take_snapshot(run)
    for name, other in (
        ("record.recorded", np.arange(2, 22)),
        ("audit.plans.visit_term", np.ones(1)),
    ):
        with pytest.raises(StoreError, match=f"{name} is not that of this run"):
            restore(run_after("OptDual", 0), state | {name: other})


@pytest.fixture
def order():
    """A slice to do, from a snapshot after some episodes."""
    spec = specs_of({"environment": "ring", "algorithm": "OptDual", "episodes": 300, "seeds": 1})[0]
    first = work(Job(spec.to_json(), b"", 0, b"", 0.0))
    assert 0 < first.episode < 300
    return Job(spec.to_json(), b"", first.episode, first.state, 0.0)


ABOUTS = {
    "episode of another": (lambda about: about.update(episode=2), "its record holds"),
    "no episode": (lambda about: about.pop("episode"), "episode"),
    "a text": (lambda about: about.update(episode="7"), "episode"),
    "no truth": (lambda about: about.pop("truth"), "truth"),
    "no number": (lambda about: about["truth"].update(optimum="x"), "truth"),
    "no bound": (lambda about: about["truth"]["options"].update(rho=float("nan")), "rho"),
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
    experiment = Experiment(tmp_path)
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 3000, "seeds": 2}
    experiment.add_specs(specs_of(table))

    def stop(outcome, episodes):
        if min(episodes.values(), default=0) > 0 and len(episodes) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        finish_runs(experiment, Here(), Pace(job=0.0, snapshot=0.0), stop)
    at_hand.clear()  # the worker is this process
    first = experiment.folder(experiment.pending()[0])
    for path in first.snapshots():
        about, arrays = unpacked(path.read_bytes())
        arrays["decision.choice"].fill(30_000)
        path.write_bytes(packed(about, arrays))
    outcome = finish_runs(experiment, Here())
    assert outcome.finished == 1
    assert [*outcome.failed] == [first.path.name]
    assert "decision.choice[0, 0] is 30000" in outcome.failed[first.path.name]
