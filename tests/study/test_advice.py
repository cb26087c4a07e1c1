"""Safe studies: which policy to play, drawn once, stored, and never expected to exceed a budget."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

import advising
import tightrope as tr
from advising import OWN, safe, simulate
from refusals import refuses
from telling import episode
from tightrope.learners import DOPE, OptCMDP, OptCMDPBonus, OptDual, OptPessLP, Safe
from tightrope.study.advice import Advice, count_plays
from tightrope.study.records import Row

LEARNERS = {
    "Safe-OptCMDP": Safe(OptCMDP(), baseline=OWN, bound=[0.5, 0.25]),
    "Safe-OptCMDP-bonus": Safe(OptCMDPBonus(), baseline=OWN, bound=[0.5, 0.25]),
    "Safe-OptDual": Safe(OptDual(rho=4.0), baseline=OWN, bound=[0.5, 0.25]),
    "DOPE": DOPE(baseline=OWN, bound="0.5,0.25"),
    "OptPess-LP": OptPessLP(baseline=OWN, bound="0.5,0.25"),
}


def change_draw(where, number, plays_baseline):
    """Another draw in the database for a policy number."""
    url = where.replace("postgresql://", "postgresql+psycopg://")
    engine = create_engine(url if "://" in url else f"sqlite:///{url}", poolclass=NullPool)
    one = "FROM tightrope_recommendations WHERE number = :n"
    with engine.begin() as connection:
        content = json.loads(
            connection.execute(text(f"SELECT content {one}"), {"n": number}).scalar()
        )
        content["plays_baseline"] = plays_baseline
        change = text("UPDATE tightrope_recommendations SET content = :c WHERE number = :n")
        connection.execute(change, {"n": number, "c": json.dumps(content)})


@pytest.mark.parametrize("name", LEARNERS)
def test_no_recommendation_uses_more_than_a_budget_by_its_upper_bounds(tmp_path, name):
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", safe(algorithm=LEARNERS[name], options={}))
    assert study.terms.algorithm == name
    for k in range(12):
        answer = study.ask()
        advice = answer.advice
        for constraint, budget in study.terms.budget.items():
            assert advice.expected[constraint] <= budget * (1 + 1e-9)
        assert advice.budget == study.terms.budget
        assert advice.use == pytest.approx({"wear": 0.5, "noise": 0.25})
        assert np.array_equal(answer.plan.policy, OWN) == advice.plays_baseline
        study.tell([episode(k)])
    assert study.plays().n_asked == study.plays().n_credited == 12


def test_what_was_drawn_is_stored_by_the_first_question_and_stays(where):
    study = tr.Study.new(where, "pump", safe())
    assert study.preview().advice == study.ask().advice
    assert list(study.recommendations()) == [1]
    for k in range(8):
        first, again = study.ask(), tr.Study(where, "pump").ask()
        assert again.advice == first.advice == study.recommendations()[k + 1]
        np.testing.assert_array_equal(again.plan.policy, first.plan.policy)
        study.tell([episode(k, policy=first.number)])
    drawn = {each.plays_baseline for each in study.recommendations().values()}
    assert drawn == {True, False}


def test_a_look_records_no_question(where):
    study = tr.Study.new(where, "pump", safe())
    advice = study.preview().advice
    assert not study.recommendations()
    assert study.ask().advice == advice


def test_the_stored_draw_counts_not_the_learners(where):
    study = tr.Study.new(where, "pump", safe())
    number = next(k + 1 for k in range(20) if not ask_and_tell(study, k).plays_baseline)
    study = tr.Study.new(where, "other", safe())
    for k in range(number - 1):
        ask_and_tell(study, k)
    assert not study.ask().advice.plays_baseline
    change_draw(where, number, plays_baseline=True)
    answer = study.ask()
    assert answer.advice.plays_baseline
    np.testing.assert_array_equal(answer.plan.policy, OWN)


def ask_and_tell(study, k):
    advice = study.ask().advice
    study.tell([episode(k)])
    return advice


def test_of_two_draws_the_safe_one_is_stored(where):
    """A library of another version may compute another plan, and draw otherwise."""
    study = tr.Study.new(where, "pump", safe())
    k = 0
    while not study.ask().advice.plays_baseline:
        study.tell([episode(k)])
        k += 1
    change_draw(where, k + 1, plays_baseline=False)
    assert study.ask().advice.plays_baseline
    assert study.recommendations()[k + 1].plays_baseline


def test_the_first_recommendation_is_kept_if_killed_before_its_episode(where):
    study = tr.Study.new(where, "pump", safe())
    study.tell([episode(k) for k in range(3)])
    asker = subprocess.Popen(
        [sys.executable, advising.__file__, where, "pump"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(advising.__file__).parent,
    )
    said = json.loads(asker.stdout.readline())
    asker.send_signal(signal.SIGKILL)
    asker.wait()
    asker.stdout.close()
    assert asker.returncode == -signal.SIGKILL
    assert study.recommendations()[4] == Advice.from_json(json.dumps(said["advice"]))
    answer = study.ask()
    assert answer.advice == study.recommendations()[4]
    np.testing.assert_array_equal(answer.plan.policy, said["policy"])


def test_concurrent_requests_get_the_same_answer(where):
    tr.Study.new(where, "pump", safe()).tell([episode(k) for k in range(2)])
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: tr.Study(where, "pump").ask(), range(8)))
    assert {answer.number for answer in answers} == {3}
    assert len({answer.advice.as_json() for answer in answers}) == 1
    assert list(tr.Study(where, "pump").recommendations()) == [3]


def test_a_corrupt_part_of_a_stored_recommendation_is_named(where):
    study = tr.Study.new(where, "pump", safe())
    study.ask()
    change_draw(where, 1, plays_baseline="perhaps")
    with refuses(tr.StoreError, argument="recommendation"):
        study.ask()


def test_other_learners_have_no_advice_and_nothing_is_recorded(where):
    study = tr.Study.new(where, "pump", advising.shape())
    assert study.ask().advice is None
    assert not study.recommendations()


def test_a_draw_that_cannot_be_stored_is_not_given(tmp_path, monkeypatch):
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", safe())

    def refuse(*_):
        raise tr.StoreError("the disk is full")

    monkeypatch.setattr(study._records, "recommend", refuse)
    with pytest.raises(tr.StoreError, match="the disk is full"):
        study.ask()
    assert study.preview().advice is not None


def test_after_the_last_episode_the_last_recommendation_stays(where):
    study = tr.Study.new(where, "pump", safe(episodes=3))
    for k in range(3):
        last = study.ask()
        study.tell([episode(k)])
    answer = study.ask()
    assert answer.is_last
    assert answer.advice.plays_baseline == last.advice.plays_baseline
    np.testing.assert_array_equal(answer.plan.policy, last.plan.policy)
    assert list(study.recommendations()) == [1, 2, 3]


def test_another_seed_draws_otherwise(tmp_path):
    def draws(seed):
        study = tr.Study.new(tmp_path / f"{seed}.sqlite", "pump", safe(seed=seed))
        return [ask_and_tell(study, k).plays_baseline for k in range(12)]

    assert draws(1) != draws(2)


# a process that is simulated


def test_expected_use_never_exceeds_a_budget_while_the_beliefs_hold(tmp_path):
    """Exact expectations, in the true model, of every recommendation before its draw."""
    cmdp = advising.machine()
    budget = {"wear": 2.4, "noise": 1.1}
    own = np.zeros((3, 2, 2))
    own[:, :, 1] = 1.0  # gentle
    use = tr.evaluate(cmdp, own).constraint_value
    assert (use < [2.4, 1.1]).all()
    terms = tr.Terms(
        states=["fine", "worn"],
        actions=["hard", "gentle"],
        horizon=3,
        budget=budget,
        ranges={"wear": (0.0, 2.0), "cost": (0.0, 40.0)},
        episodes=150,
        algorithm=Safe(OptCMDP(), baseline=own, bound=use.tolist()),
        confidence={"mode": "tight", "pool": True},
        stationary=True,
    )
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", terms)
    rng = np.random.default_rng(3)
    n_over = 0
    for k in range(150):
        answer = study.ask()
        learner = study.learner()
        plan = learner._agent.decision.planned
        planned, p = tr.evaluate(cmdp, plan).constraint_value, answer.advice.probability
        expected = p * use + (1 - p) * planned
        assert (expected <= np.array(list(budget.values())) + 1e-9).all()
        assert (planned <= np.array(list(answer.advice.upper.values())) + 1e-9).all()
        n_over += bool((planned > list(budget.values())).any())
        study.tell([simulate(cmdp, answer.plan.policy, f"day {k}", rng, study.terms)])
    assert n_over > 20, "without the baseline budgets would have been exceeded"
    plays = study.plays()
    drawn = sum(each.plays_baseline for each in study.recommendations().values())
    assert (plays.n_asked, plays.n_credited, plays.n_baseline) == (150, 150, drawn)
    assert plays.n_played == drawn > 0
    assert [b.plays_baseline for b in study.recommendations().values()][:50] != [False] * 50


# by hand


def advice(**change):
    table = {
        "plays_baseline": True,
        "probability": 0.25,
        "is_found": False,
        "reason": "",
        "budget": {"wear": 2.5, "noise": 1.0},
        "use": {"wear": 1.3, "noise": 0.2},
        "upper": {"wear": 2.9, "noise": 0.7},
    }
    return Advice(**(table | change))


def test_the_advice_says_which_policy_to_play_and_why():
    assert advice().words == (
        "Play your own policy this time: the new one could use up to 2.9 of 2.5 wear. "
        "Your own had probability 0.25, which keeps the expected use within the budget."
    )
    assert advice(is_found=True).words.startswith("Play the safe policy found before this time:")
    assert advice(plays_baseline=False).words == (
        "Play the new policy: it could use up to 2.9 of 2.5 wear, and your own policy had "
        "probability 0.25, which keeps the expected use within the budget."
    )
    sure = advice(plays_baseline=False, probability=0.0, upper={"wear": 2.25, "noise": 0.5})
    assert sure.words == (
        "Play the new policy: it uses at most 2.25 of 2.5 wear and 0.5 of 1 noise."
    )
    only = advice(probability=1.0, upper=None, reason="DOPE plays it in its first 9 episodes")
    assert only.words == "Play your own policy this time: DOPE plays it in its first 9 episodes."
    free = advice(plays_baseline=False, probability=0.0, budget={}, use={}, upper={})
    assert free.words == "Play the new policy: it uses no budget."


def test_expected_use_is_that_of_the_mixture():
    # a quarter of 1.3 and three quarters of 2.9; a quarter of 0.2 and three quarters of 0.7
    assert advice().expected == pytest.approx({"wear": 2.5, "noise": 0.575})
    assert advice(upper=None).expected == {"wear": 1.3, "noise": 0.2}


def test_advice_is_read_back_as_it_was():
    for each in (advice(), advice(upper=None, probability=1.0, reason="so")):
        assert Advice.from_json(each.as_json()) == each


@pytest.mark.parametrize(
    "change",
    [
        {"probability": 1.5},
        {"plays_baseline": 1},
        {"use": {"wear": 1.0}},
        {"upper": {"wear": "much", "noise": 0.1}},
        {"budget": None},
        {"other": 1},
    ],
)
def test_corrupt_advice_is_refused(change):
    table = json.loads(advice().as_json()) | change
    with refuses(tr.StoreError, argument="recommendation"):
        Advice.from_json(json.dumps(table))


def test_an_episode_is_credited_to_its_number_or_to_the_last_question():
    def row(number, policy=None):
        return Row(number, f"day {number}", "", policy, "")

    asked = {
        2: advice(),
        4: advice(plays_baseline=False),
        5: advice(),
    }
    rows = [
        row(1),  # before any question
        row(2),  # of 2: the baseline
        row(3),  # of 2 again
        row(4, policy=2),  # of 2, by its number
        row(5, policy=4),  # of 4: not the baseline
        row(6),  # of 5: the baseline
        row(7, policy=3),  # of no recommendation
    ]
    plays = count_plays(rows, asked)
    assert (plays.n_asked, plays.n_baseline) == (3, 2)
    assert (plays.n_credited, plays.n_played, plays.n_other) == (5, 4, 2)


def test_the_baseline_can_be_played_only_where_there_is_one():
    learner = tr.learner("OptCMDP", 1, 2, 1, [0.5], 10)
    learner.plan()
    with pytest.raises(tr.ConfigError) as refused:
        learner.play_baseline()
    assert refused.value.argument == "play_baseline"
    assert learner.baseline_use is None
    assert learner.upper_use is None
    assert not learner.has_found_baseline


# terms


def test_a_learner_and_its_name_with_options_are_the_same_terms():
    learner = Safe(OptCMDP(tolerance=1e-5), baseline=OWN, bound=[0.5, 0.25])
    options = {"tolerance": 1e-5, "baseline": OWN, "bound": {"noise": 0.25, "wear": 0.5}}
    named = safe(algorithm="Safe-OptCMDP", options=options)
    given = safe(algorithm=learner, options={})
    assert named.learner().learner == given.learner().learner
    assert given.options["bound"] == named.options["bound"] == "0.5,0.25"
    assert tr.Terms.from_json(given.as_json()) == given
    with pytest.raises(tr.ConfigError) as refused:
        safe(algorithm=learner, options={"tolerance": 1e-5})
    assert (refused.value.argument, refused.value.entry) == ("options", "'tolerance'")


@pytest.mark.parametrize(
    ("bound", "entry", "expected"),
    [
        ({"wear": 0.5}, None, None),
        ({"wear": 0.5, "noise": 0.2, "heat": 0.1}, None, None),
        ({"wear": 1.5, "noise": 0.2}, "'wear'", "at least 0 and less than the budget, 1.5"),
        ({"wear": -0.5, "noise": 0.2}, "'wear'", "at least 0 and less than the budget, 1.5"),
        ({"wear": 0.5, "noise": "much"}, "'noise'", "a number"),
        (None, None, None),
        ("exact", None, None),
        (0.2, None, "one for each of wear, noise"),
        ("0.2,0.3,0.4", None, "one for each of wear, noise"),
        ("0.2,1", "'noise'", "at least 0 and less than the budget, 1"),
    ],
)
def test_a_use_that_cannot_be_right_is_refused_by_the_name_of_its_budget(bound, entry, expected):
    options = {"baseline": OWN} | ({} if bound is None else {"bound": bound})
    with pytest.raises(tr.ConfigError) as refused:
        safe(options=options)
    error = refused.value
    assert (error.argument, error.entry, error.expected) == ("bound", entry, expected)
    if isinstance(bound, dict) and "noise" not in bound:
        assert "'noise'" in str(error)


def test_use_is_stated_in_units_that_may_be_negative():
    options = {"baseline": OWN, "bound": {"wear": -2.0, "noise": 0.2}}
    terms = safe(ranges={"wear": (-1.0, 1.0)}, options=options)
    # three steps from -1 to 1: -2 is 0.5 of 3 on the scale of the learner
    np.testing.assert_allclose(terms.learner()._agent.state.use, [0.5, 0.2])
    assert terms.learner().baseline_use == pytest.approx([-2.0, 0.2])


def test_words_that_need_the_true_model_are_refused(tmp_path):
    terms = safe(options={"baseline": "least-use", "bound": "0.5,0.25"})
    with refuses(
        tr.ConfigError,
        argument="baseline",
        found="least-use",
        expected="a policy, a plan or a file with one",
    ):
        tr.Study.new(tmp_path / "a.sqlite", "pump", terms)
    assert not (tmp_path / "a.sqlite").exists()


def test_a_found_baseline_is_called_so(tmp_path):
    """With the search for a better baseline, the policy to fall back on may be another one."""
    cmdp = advising.machine()
    own = np.full((3, 2, 2), 0.5)
    use = tr.evaluate(cmdp, own).constraint_value.tolist()
    learner = Safe(OptCMDP(), baseline=own, bound=use, margin_search=True)
    terms = replace(
        advising.terms_of(cmdp, {"wear": use[0] + 0.05, "noise": use[1] + 0.05}, 2000),
        algorithm=learner,
        confidence={"mode": "tight", "pool": True, "scale": 0.2},
    )
    study = tr.Study.new(tmp_path / "a.sqlite", "pump", terms)
    assert not study.ask().advice.is_found
    rng = np.random.default_rng(0)
    study.tell([simulate(cmdp, own, f"{k}", rng, terms) for k in range(400)])
    found = study.ask().advice
    assert found.is_found
    assert all(found.use[name] < terms.budget[name] - 0.05 for name in terms.budget)
