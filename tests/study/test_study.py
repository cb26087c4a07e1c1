"""Studies: told once, known for good; the same episodes give the same policies to the last bit."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import tightrope as tr
from driven import ALGORITHMS, own_options
from refusals import refuses
from telling import episode, shape
from tightrope.files import packed, unpacked
from tightrope.learners.interactive import observe_scaled
from tightrope.study.telling import entry_of, episode_of, told_in
from tightrope.study.totals import totals_of

NASTY = [
    "'; DROP TABLE tightrope_episodes; --",
    '"; DELETE FROM tightrope_studies; --',
    "$(touch injected)",
    "`touch injected`; touch injected | touch injected",
    "%s %(x)s :name {0} \\",
    "../../injected",
    "-- Jürgen's 机器 🙂",
]


@pytest.fixture
def study(where):
    return tr.Study.new(where, "pump", shape())


def ids(study):
    return [row.episode for row in study.rows()]


def test_told_episodes_are_stored_in_order(study):
    receipt = study.tell([episode(3), episode(1)])
    assert (receipt.n_new, receipt.n_known, receipt.n_told) == (2, 0, 2)
    study.tell([episode(2)])
    assert ids(study) == ["day 3", "day 1", "day 2"]
    assert study.n_told == 3


def test_telling_again_changes_nothing(study, where):
    study.tell([episode(1), episode(2)])
    before = list(study.rows())
    receipt = study.tell([episode(2), episode(1), episode(2)])
    assert (receipt.n_new, receipt.n_known, receipt.n_told) == (0, 3, 2)
    # names instead of numbers, whole numbers instead of floats: the content is the same
    spoken = episode(1, states=["fine", "worn", "fine", "fine"], actions=["gentle", "hard", "hard"])
    assert tr.Study(where, "pump").tell([spoken]).n_known == 1
    assert list(study.rows()) == before


@pytest.mark.parametrize(
    "other", [episode(2, "day 1"), episode(1, policy=4)], ids=["content", "policy"]
)
def test_an_id_with_other_content_is_refused_with_all_of_its_batch(study, other):
    study.tell([episode(1)])
    with refuses(tr.DataError, "nothing was written", argument="episode", entry="day 1"):
        study.tell([episode(5), other, episode(6)])
    with refuses(tr.DataError, argument="episode", entry="day 7", found="other content"):
        study.tell([episode(7), episode(8, "day 7")])
    assert ids(study) == ["day 1"]


def test_one_bad_episode_rejects_its_whole_batch(study):
    with refuses(
        tr.DataError,
        "^episode 'day 2': ",
        argument="episode.cost",
        entry="h=0",
        found=2.0,
        expected="a number in [0, 1]",
    ):
        study.tell([episode(1), episode(2, cost=[2.0, 0.0, 0.0])])
    assert study.n_told == 0


@pytest.mark.parametrize("policy", [3, 99, 3_000_000_000, 10**18])
def test_a_policy_number_that_was_never_asked_for_is_refused(study, policy):
    study.tell([episode(1, policy=1)])
    with refuses(tr.DataError, "number 2 ", argument="policy", entry="day 2", found=policy):
        study.tell([episode(2, policy=policy), episode(3)])
    assert study.n_told == 1
    # a whole history may be told at once: each has been asked for after those before it
    assert study.tell([episode(2, policy=1), episode(3, policy=3), episode(1, policy=1)]).n_new == 2
    with refuses(tr.DataError, argument="episode", entry="day 1", found="another policy number"):
        study.tell([episode(1, policy=policy)])


def test_a_policy_number_beyond_every_column_is_refused(study):
    with refuses(
        tr.DataError,
        "'day 2'",
        argument="policy",
        found="a number of about 26 digits",
        expected="a whole number of at most 9223372036854775807",
    ):
        study.tell([episode(2, policy=10**26)])
    assert study.n_told == 0


@pytest.mark.parametrize(
    "content",
    [
        "nonsense",
        "[1]",
        "{}",
        '{"states":[0,0,0,0],"actions":[0,0,0],"cost":["a","b","c"],"constraint_cost":[]}',
        "states 9",
    ],
)
def test_a_corrupt_episode_is_named(study, where, content):
    study.tell([episode(1), episode(2), episode(3)])
    if content == "states 9":
        row = list(study.rows())[1]
        content = row.content.replace('"states":[0', '"states":[9')
        assert content != row.content
    with engine_of(where).begin() as connection:
        change = text("UPDATE tightrope_episodes SET content = :x WHERE number = 2")
        connection.execute(change, {"x": content})
    with refuses(tr.StoreError, argument="episode", entry="day 2", found=2):
        study.ask()


def test_sums_name_a_corrupt_episode(study, where):
    study.tell([episode(1)])
    with engine_of(where).begin() as connection:
        connection.execute(text("UPDATE tightrope_episodes SET content = '{'"))
    with refuses(tr.StoreError, argument="episode", entry="day 1", found=1):
        totals_of(study.rows(), study.terms)


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM tightrope_episodes WHERE number = 2",
        "DELETE FROM tightrope_episodes WHERE number = 4",
        "DELETE FROM tightrope_episodes",
        "UPDATE tightrope_episodes SET number = 9 WHERE number = 4",
        "UPDATE tightrope_episodes SET number = 0 WHERE number = 3",
        "UPDATE tightrope_episodes SET number = 0 WHERE number = 1",
        "UPDATE tightrope_studies SET n_told = 3",
        "UPDATE tightrope_studies SET n_told = 5",
    ],
)
def test_a_missing_or_misnumbered_episode_is_refused_as_damage(study, where, damage, is_kept):
    study.tell([episode(k) for k in range(2)])
    if is_kept:
        study.ask()
    study.tell([episode(k) for k in range(2, 4)])
    with engine_of(where).begin() as connection:
        connection.execute(text(damage))
    again = tr.Study(where, "pump")
    for look in (again.ask, again.learner, lambda: totals_of(again.rows(), again.terms)):
        with refuses(tr.StoreError, argument="episodes"):
            look()


@pytest.mark.parametrize("n_told", [1, 3])
def test_a_study_with_a_corrupt_count_accepts_no_episodes(study, where, n_told):
    study.tell([episode(1), episode(2)])
    with engine_of(where).begin() as connection:
        connection.execute(text("UPDATE tightrope_studies SET n_told = :n"), {"n": n_told})
    with refuses(tr.StoreError, argument="episodes"):
        study.tell([episode(3)])


def test_a_number_that_is_not_whole_is_refused_as_damage(tmp_path):
    where = str(tmp_path / "studies.sqlite")  # PostgreSQL does not let it in
    study = tr.Study.new(where, "pump", shape())
    study.tell([episode(k) for k in range(4)])
    with engine_of(where).begin() as connection:
        connection.execute(text("UPDATE tightrope_episodes SET number = 2.5 WHERE number = 2"))
    with refuses(tr.StoreError, argument="episodes", found="number 2.5, expected 2"):
        study.ask()


def test_more_episodes_than_the_study_was_made_for_are_refused(where):
    study = tr.Study.new(where, "short", shape(episodes=3))
    study.tell([episode(1), episode(2)])
    with refuses(tr.DataError, argument="episodes", found=4, expected="at most 3"):
        study.tell([episode(3), episode(4)])
    assert study.tell([episode(1), episode(3)]).n_told == 3
    assert study.tell([episode(3)]).n_known == 1


def test_after_the_last_episode_the_last_policy_stays(where):
    study = tr.Study.new(where, "short", shape(episodes=3))
    learner = study.terms.learner()
    for k in range(3):
        plan = learner.plan()
        assert not study.ask().is_last
        observe_scaled(
            learner, episode_of(entry_of(episode(k), study.terms, learner.task).content, 2)
        )
        study.tell([episode(k)])
    for _ in range(2):
        answer = study.ask()
        assert (answer.is_last, answer.number, answer.n_told) == (True, 3, 3)
        np.testing.assert_array_equal(answer.plan.policy, plan.policy)
        expected = learner.bound(plan.policy)
        np.testing.assert_array_equal(answer.bounds.constraint_cost, expected.constraint_cost)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_asking_on_the_way_equals_a_replay_from_scratch_bit_for_bit(where, algorithm):
    terms = shape(algorithm=algorithm, options=own_options(algorithm, {"rho": 2.0}), episodes=40)
    often = tr.Study.new(where, "often", terms)
    rng = np.random.default_rng(0)
    k = 0
    while k < 30:
        size = int(rng.integers(1, 5))
        often.tell([episode(j) for j in range(k, k + size)])
        k += size
        often.ask()
    scratch = terms.learner()
    for j in range(k):
        scratch.plan()
        observe_scaled(scratch, episode_of(entry_of(episode(j), terms, scratch.task).content, 2))
    once = tr.Study.new(where, "once", terms)
    once.tell([episode(j) for j in range(k)])
    for answer in (often.ask(), once.ask(), tr.Study(where, "often").ask()):
        plan = scratch.plan()
        assert answer.number == k + 1
        np.testing.assert_array_equal(answer.plan.policy, plan.policy)
        np.testing.assert_array_equal(answer.plan.multiplier, plan.multiplier)
        assert answer.plan.value == plan.value
        assert often.learner().to_bytes() == scratch.to_bytes()


def test_an_episode_is_a_step_of_the_interactive_learner(study):
    learner = tr.learner(
        "OptCMDP", 3, 2, 3, [1.5, 1.0], 1000, confidence={"mode": "tight", "scale": 0.05}
    )
    for k in range(6):
        plan, answer = learner.plan(), study.ask()
        np.testing.assert_array_equal(answer.plan.policy, plan.policy)
        np.testing.assert_array_equal(answer.bounds.cost, learner.bound(plan.policy).cost)
        told = episode(k)
        bounded = [told.constraint_cost["wear"], told.constraint_cost["noise"]]
        learner.observe(tr.Episode(told.states, told.actions, told.cost, bounded))
        study.tell([told])


def engine_of(where):
    """The database, past the library."""
    plain = where.replace("postgresql:", "postgresql+psycopg:")
    return create_engine(plain if "://" in where else f"sqlite:///{where}", poolclass=NullPool)


@pytest.mark.parametrize(
    "change",
    ["content = 'x'", "version = '0.0.0'", "number = 2"],
    ids=["corrupt", "another version's", "of other episodes"],
)
def test_an_invalid_saved_state_is_recreated(study, where, change):
    study.tell([episode(k) for k in range(8)])
    before = study.ask()
    engine = engine_of(where)
    with engine.begin() as connection:
        if "content" in change:
            change = "content = :x"
        connection.execute(text(f"UPDATE tightrope_states SET {change}"), {"x": b"PK\x03 no"})
    answer = study.ask()
    np.testing.assert_array_equal(answer.plan.policy, before.plan.policy)
    assert answer.n_told == 8
    assert study.learner().n_observed == 8


def forge(where, change):
    """Replace the kept state of the only study, past the library."""
    engine = engine_of(where)
    with engine.begin() as connection:
        content = connection.execute(text("SELECT content FROM tightrope_states")).scalar_one()
        about, arrays = unpacked(bytes(content))
        change(about, arrays)
        forged = {"x": packed(about, arrays)}
        connection.execute(text("UPDATE tightrope_states SET content = :x"), forged)


def swap_episodes(about, arrays):
    """Counts of other episodes with the same sums."""
    for name in ("counts.cost_sum", "counts.constraint_sum"):
        arrays[name] *= 0.5


FORGERIES = {
    "a state that is none": lambda about, arrays: arrays["counts.indices"].fill(2**31),
    "pointers that wrap around": lambda about, arrays: arrays["counts.indptr"].put(
        [1, 2], [2**63 - 1, -(2**63)]
    ),
    "an action that is none": lambda about, arrays: arrays["state.columns.actions"].fill(30_000),
    "orders out of range": lambda about, arrays: arrays["state.columns.orders"].fill(2**31),
    "a column out of range": lambda about, arrays: arrays["state.columns.progress.n_columns"].fill(
        2**40
    ),
    "other costs": swap_episodes,
    "other radii": lambda about, arrays: arrays["belief.rest"].fill(0.0),
    "another confidence": lambda about, arrays: about["confidence"].update(scale=1e-9),
    "another budget": lambda about, arrays: arrays["task.budget"].fill(3.0),
    "another tolerance": lambda about, arrays: about["learner"]["options"].update(tolerance=0.9),
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_kept_state_of_other_episodes_or_terms_is_not_used(study, where, change):
    study.tell([episode(k) for k in range(8)])
    before = study.ask()
    forge(where, change)
    seen = []
    answer = study.ask(seen.append)
    assert seen == list(range(1, 9))
    np.testing.assert_array_equal(answer.plan.policy, before.plan.policy)
    np.testing.assert_array_equal(answer.bounds.cost, before.bounds.cost)


def test_a_kept_state_is_not_used_when_an_episode_was_changed(study, where):
    study.tell([episode(k) for k in range(8)])
    study.ask()
    with engine_of(where).begin() as connection:
        connection.execute(
            text("UPDATE tightrope_episodes SET content = :x WHERE number = 3"),
            {"x": entry_of(episode(70), study.terms, study.terms.task()).content},
        )
    seen = []
    study.ask(seen.append)
    assert seen == list(range(1, 9))


def test_a_kept_state_saves_the_replay(study, where):
    study.tell([episode(k) for k in range(8)])
    study.ask()
    seen = []
    tr.Study(where, "pump").ask(seen.append)
    assert seen == []


def test_an_interrupted_replay_is_not_lost(study, monkeypatch):
    monkeypatch.setattr("tightrope.study.study.SAVE_EVERY", 0.0)
    study.tell([episode(k) for k in range(6)])

    def interrupt(n_observed):
        if n_observed == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        study.ask(interrupt)
    seen = []
    study.ask(seen.append)
    assert seen == [4, 5, 6]  # three were kept; the fourth was on its way


def test_asking_again_writes_nothing(study, monkeypatch):
    study.tell([episode(1)])
    study.ask()
    monkeypatch.setattr(study._records.database, "writing", None)
    assert study.ask().n_told == 1


def test_a_slower_process_does_not_replace_a_newer_snapshot(study):
    study.tell([episode(0)])
    slow = study.learner()
    study.tell([episode(1)])
    study.ask()
    records = study._records
    newest = records.snapshot
    records.save_snapshot(type(newest)(slow.n_observed, newest.version, slow.to_bytes()))
    assert records.snapshot.number == 2


@pytest.mark.parametrize("name", NASTY)
def test_names_and_ids_are_never_interpreted(where, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    terms = shape(
        states=["fine", name, "down"], actions=["hard", name], budget={name: 1.0, "noise": 2.0}
    )
    study = tr.Study.new(where, name, terms)
    other = tr.Study.new(where, "other", shape())
    told = episode(4, name, constraint_cost={name: [0, 1, 0], "noise": [0, 0, 0]})
    told = tr.Told(**{**vars(told), "states": ["fine", name, 0, name], "actions": [name, 0, 0]})
    assert study.tell([told]).n_new == 1
    assert study.tell([told]).n_known == 1
    assert ids(study) == [name]
    assert other.n_told == 0
    again = tr.Study(where, name)
    assert again.terms.states[1] == name
    assert again.ask().n_told == 1
    assert tr.Study.names(where) == [name, "other"]
    left = {path.name.split(".")[0] for path in tmp_path.iterdir()}
    assert left <= {"studies"}, "nothing was run"


def test_studies_in_one_database_do_not_mix(where):
    first, second = (tr.Study.new(where, name, shape()) for name in ("first", "second"))
    first.tell([episode(1), episode(2)])
    second.tell([episode(2, "day 1")])
    assert (ids(first), ids(second)) == (["day 1", "day 2"], ["day 1"])
    assert first.ask().n_told == 2
    assert second.ask().n_told == 1


def test_a_name_that_is_taken_or_missing_is_refused(study, where):
    with refuses(tr.StoreError, argument="name", found="pump"):
        tr.Study.new(where, "pump", shape())
    with refuses(tr.StoreError, argument="name", found="pomp", expected="'pump'"):
        tr.Study(where, "pomp")
    assert study.n_told == 0


def test_a_study_of_a_later_form_is_refused(study, where):
    engine = engine_of(where)
    with engine.begin() as connection:
        connection.execute(text("UPDATE tightrope_studies SET form = 2"))
    with refuses(tr.StoreError, argument="form", found=2, expected="1"):
        tr.Study(where, "pump")


def test_corrupt_terms_are_refused(study, where):
    engine = engine_of(where)
    with engine.begin() as connection:
        connection.execute(text("UPDATE tightrope_studies SET terms = '[1]'"))
    with pytest.raises(tr.StoreError, match="terms are corrupt"):
        tr.Study(where, "pump")


def test_a_large_batch_is_recorded_and_replayed(where):
    study = tr.Study.new(where, "pump", shape(episodes=2000))
    batch = [episode(k) for k in range(1201)]
    assert study.tell(batch).n_new == 1201
    assert study.tell(batch).n_known == 1201
    assert [row.number for row in study.rows(1000)] == list(range(1001, 1202))
    seen = []
    assert study.learner(seen.append).n_observed == seen[-1] == 1201


def test_a_sqlite_file_is_in_wal_mode_and_synced(tmp_path):
    path = tmp_path / "x.sqlite"
    study = tr.Study.new(path, "pump", shape())
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    with study._records.database.writing() as own:
        assert own.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL


def test_a_stored_cost_of_400_digits_is_refused_as_corrupt(study):
    study.tell([episode(1), episode(2)])
    with study._records.database.writing() as own:
        where = "from tightrope_episodes where number = 2"
        table = json.loads(own.execute(text(f"select content {where}")).scalar_one())
        table["cost"][0] = int("9" * 400)
        change = text("update tightrope_episodes set content = :content where number = 2")
        own.execute(change, {"content": json.dumps(table)})
    with refuses(tr.StoreError, argument="episode", entry="day 2", found=2):
        study.ask()


def test_after_an_undo_the_study_equals_one_without_the_episode(study, where):
    study.tell([episode(k) for k in range(5)])
    before = study.ask()
    study.tell([episode(5)])
    study.ask()  # leaves a snapshot after six episodes
    assert study.undo() == "day 5"
    after = study.ask()
    assert after.number == before.number
    np.testing.assert_array_equal(after.plan.policy, before.plan.policy)
    np.testing.assert_array_equal(after.bounds.cost, before.bounds.cost)
    assert study.tell([episode(5)]).n_new == 1
    assert [row.episode for row in study.rows()] == [f"day {k}" for k in range(6)]


def test_nothing_can_be_undone_in_a_new_study(study):
    with pytest.raises(tr.StoreError):
        study.undo()


def test_a_deleted_study_leaves_the_others(study, where):
    other = tr.Study.new(where, "other", study.terms)
    study.tell([episode(0)])
    other.tell([episode(1), episode(2)])
    assert tr.Study.delete(where, study.name) == 1
    assert tr.Study.names(where) == ["other"]
    assert other.n_told == 2
    again = tr.Study.new(where, study.name, study.terms)
    assert again.n_told == 0


def test_an_exported_study_is_recreated_bit_for_bit(study, where, tmp_path):
    study.tell([episode(k, policy=1) for k in range(4)])
    assert study.export(tmp_path / "a.jsonl") == 4
    other = tr.Study.new(where, "other", study.terms)
    other.tell(told_in([tmp_path / "a.jsonl"], other.terms))
    for one, same in zip(study.rows(), other.rows(), strict=True):
        assert (one.episode, one.content, one.policy) == (same.episode, same.content, same.policy)
    with pytest.raises(tr.ConfigError):
        study.export(tmp_path / "a.csv")


# certainty equivalence


def estimating(**change):
    """Terms of six steps that cost up to 3,000 each."""
    table = {
        "states": ["fine", "worn"],
        "actions": ["hard", "gentle"],
        "horizon": 6,
        "budget": {"wear": 4.0},
        "episodes": 200,
        "ranges": {"cost": (0, 3000)},
        "algorithm": "certainty-equivalence",
    }
    return tr.Terms(**(table | change))


def days(n, actions):
    """Episodes of six steps in state fine; the n-th day has the n-th of the actions, in turn."""
    told = []
    for k in range(n):
        action = actions[k % len(actions)]
        cost, wear = {"gentle": (900.0, 0.4), "hard": (300.0, 0.9)}[action]
        steps = [action] * 6
        told.append(tr.Told(f"day {k}", ["fine"] * 7, steps, [cost] * 6, {"wear": [wear] * 6}))
    return told


def test_certainty_equivalence_never_recommends_an_action_that_was_not_tried(tmp_path):
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", estimating())
    study.tell(days(40, ["gentle"]))
    answer = study.ask()
    assert answer.plan.policy[:, 0].tolist() == [[0.0, 1.0]] * 6
    assert answer.plan.value == pytest.approx(6 * 900)
    assert answer.plan.constraint_value == pytest.approx([6 * 0.4])
    # no action was ever tried in the other state
    assert answer.is_undecided.tolist() == [[False, True]] * 6
    assert answer.plan.policy[:, 1].tolist() == [[0.5, 0.5]] * 6


def test_certainty_equivalence_in_a_study_plans_what_fit_plans(tmp_path):
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", estimating())
    study.tell(days(40, ["gentle", "hard"]))
    study.export(tmp_path / "a.jsonl")
    log = tr.read_log(tmp_path / "a.jsonl", constraints=["wear"], ranges={"cost": (0, 3000)})
    found = tr.fit(log, {"wear": 4.0}, algorithm="certainty-equivalence", initial="fine")
    plan = study.ask().plan
    # by hand: hard in x of 6 steps wears 2.4 + 0.5 x <= 4, so x is 3.2
    assert plan.value == pytest.approx(found.plan.value) == pytest.approx(5400 - 600 * 3.2)
    assert plan.constraint_value == pytest.approx([4.0])
    assert plan.multiplier == pytest.approx([1200.0])
    assert plan.is_feasible


def test_certainty_equivalence_has_no_preference_without_data(tmp_path):
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", estimating())
    answer = study.ask()
    assert answer.is_undecided.all()
    assert (answer.plan.policy == 0.5).all()
    assert np.isnan(answer.plan.value)
    assert np.isnan(answer.plan.constraint_value).all()


def test_certainty_equivalence_minimizes_the_violation_of_estimates(tmp_path):
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", estimating(budget={"wear": 2.0}))
    study.tell(days(40, ["gentle", "hard"]))
    answer = study.ask()
    assert not answer.plan.is_feasible
    assert answer.plan.policy[:, 0].tolist() == [[0.0, 1.0]] * 6
    assert answer.plan.constraint_value == pytest.approx([2.4])


@pytest.mark.parametrize("is_pooled", [False, True])
def test_estimated_values_lie_within_what_is_possible(tmp_path, is_pooled):
    terms = estimating(
        stationary=is_pooled, confidence={"mode": "tight", "pool": is_pooled}, initial="learned"
    )
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", terms)
    for told in days(4, ["gentle", "hard"]):
        study.tell([told])
        plan = study.ask().plan
        assert 6 * 300 - 1e-6 <= plan.value <= 6 * 900 + 1e-6
        assert 0.4 * 6 - 1e-9 <= plan.constraint_value[0] <= 6 * 0.9 + 1e-9
