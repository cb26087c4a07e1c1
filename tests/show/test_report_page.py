"""What a report is told and what its words and tables say, against the records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files

import numpy as np
import pytest

import tightrope as tr
from refusals import refuses
from studies import finished, silent
from tightrope import envs
from tightrope.errors import StoreError
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.job import Job, work
from tightrope.experiments.problems import content_hash
from tightrope.experiments.statistics import Resamples
from tightrope.experiments.summary import Findings, baseline_shares
from tightrope.experiments.sweep import specs_of
from tightrope.show.report.page import page_of, picture_data
from tightrope.show.report.tables import chapter_tables, overview_of
from tightrope.show.report.words import (
    conditions_of,
    format_number,
    heuristics_of,
    missing_words,
    percent,
    summary_of,
)
from tightrope.text import counted

# of version 4.1.1, see docs/decisions/0034-plotly-in-the-package.md
PLOTLY_HASH = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"


def draws():
    return Resamples(np.random.default_rng(3))


def embedded(page):
    text = re.search(rb'id="data">(.*?)</script>', page, re.S)[1]
    return json.loads(text)


def test_a_study_under_way_is_reported_with_what_is_missing(tmp_path):
    study = Experiment(tmp_path)
    specs = specs_of({"environment": "ring", "algorithm": "uniform", "episodes": 5, "seeds": 3})
    study.add_specs(specs)
    with refuses(StoreError, "none of its 3 runs", argument=str(study.path), found=0):
        study.findings(silent)
    report = work(Job(specs[1].to_json(), b"", 0, b"", 1e9))
    folder = study.folder(specs[1])
    folder.begin(specs[1].to_json(), {})
    folder.finish(report.result, report.record)
    found = study.findings(silent)
    assert (found.n_planned, found.n_finished) == (3, 1)
    assert missing_words(found).startswith("2 of 3 planned runs are not finished")
    page = page_of(found, draws(), "").decode()
    assert "2 of 3 planned runs are not finished" in page
    assert "n = 1 seed; no bands" in page


def test_a_model_without_constraints_has_two_regrets_and_no_budgets(tmp_path):
    ring = envs.build("ring")
    free = tr.CMDP(
        ring.transition, ring.cost, np.zeros((0, 3, 2)), [], horizon=ring.horizon, initial=0
    )
    free.save(tmp_path / "free.npz")
    content = (tmp_path / "free.npz").read_bytes()
    digest = content_hash(content)
    study = finished(
        tmp_path / "study",
        {digest: content},
        environment="free.npz",
        model=digest,
        algorithm=["OptCMDP", "uniform"],
        episodes=30,
        seeds=2,
    )
    found = study.findings(silent)
    assert set(found.chapters[0].groups[0].regret) == {"cost", "cost_plus"}
    page = page_of(found, draws(), "")
    assert b"The two regrets" in page
    assert b"Share of episodes" not in page
    assert embedded(page)["c0"]["kinds"] == ["cost", "cost_plus"]


def test_average_policies_have_the_mean_cost_and_use_of_all_episodes(tmp_path):
    study = finished(
        tmp_path,
        environment="queue",
        algorithm=["OptDual", "OptPrimalDual", "uniform"],
        episodes=60,
        seeds=3,
        average=True,
        confidence={"scale": 0.05},
    )
    (chapter,) = study.findings(silent).chapters
    cmdp, optimum = chapter.cmdp, chapter.optimum
    (table,) = chapter_tables(chapter, draws())["averages"]
    shown = {name: [cell.value for cell in cells] for name, cells in table.rows}
    np.testing.assert_allclose(shown["optimum"], [optimum.value, *optimum.constraint_value])
    worse = [-1 if unit.is_maximized else 1 for unit in (cmdp.cost_unit, *cmdp.constraint_units)]
    for group in chapter.groups:
        # the regrets sum the excess of every episode
        cost = group.regret["cost"][:, -1].mean()
        over = group.constraint_ends[0].mean(axis=0)
        mean = [optimum.value, *cmdp.budget] + np.multiply(worse, [cost, *over]) / 60
        np.testing.assert_allclose(shown[f"{group.name}, average policy"], mean, atol=1e-8)
        last = [optimum.value, *cmdp.budget] + worse * group.last_excess.mean(axis=0)
        np.testing.assert_allclose(shown[f"{group.name}, last policy"], last, atol=1e-8)
    bold = {name: [cell.is_marked for cell in cells[1:]] for name, cells in table.rows}
    for name, values in shown.items():
        above = np.multiply(worse[1:], np.subtract(values[1:], cmdp.budget)) > 1e-8
        assert bold[name] == above.tolist()
    assert {is_bold for row in bold.values() for is_bold in row} == {True, False}
    panels = [panel["name"] for panel in picture_data(chapter)["panels"]]
    assert panels[1:3] == ["OptDual", "OptDual, average policy"]
    found = study.summary()["problems"][0]["learners"][0]["average_policy"]
    values = [found["value"], *found["constraint_value"]]
    np.testing.assert_allclose(values, shown["OptDual, average policy"])


def test_an_experiment_that_was_not_asked_for_averages_shows_none(findings, study):
    assert chapter_tables(findings.chapters[0], draws())["averages"] == []
    assert study.summary()["problems"][0]["learners"][0]["average_policy"] is None


def test_conditions_name_seeds_band_delta_and_confidence(findings, queue):
    said_of = conditions_of(findings.chapters[0])
    assert said_of == (
        "n = 3 seeds; bands: 95 % bootstrap over seeds; delta 0.1; "
        "confidence tight, scale=0.1 (heuristic); rho 1.333 (paper_x2)"
    )
    several = conditions_of(queue[1].chapters[0])
    assert "faithful" in several
    assert "tight, scale=0.1 (heuristic)" in several


def test_heuristic_constants_are_marked_and_others_are_not(queue, tmp_path):
    words = heuristics_of(queue[1].chapters[0])
    assert words.startswith("OptDual, tight, scale=0.1 uses heuristic constants")
    assert "guarantees do not apply" in words
    sound = finished(
        tmp_path,
        environment="ring",
        algorithm="OptDual",
        episodes=5,
        seeds=1,
        confidence="faithful",
    )
    found = sound.findings(silent)
    assert heuristics_of(found.chapters[0]) == ""
    assert b'class="badge"' not in page_of(found, draws(), "")


def test_the_summary_names_the_best_and_worst_learners(findings):
    (chapter, _) = findings.chapters
    totals = {g.name: g.regret["cost_plus"][:, -1].mean() for g in chapter.groups}
    words = " ".join(summary_of(chapter, draws()))
    assert f"{min(totals, key=totals.get)} had the lowest regret" in words
    assert f"{max(totals, key=totals.get)} had the highest" in words
    assert "300 episodes of ring with 3 seeds each" in words
    assert "earns 2 reward per episode within its budget" in words


def test_tables_hold_what_the_groups_hold(findings):
    chapter = findings.chapters[0]
    found = chapter_tables(chapter, draws())
    violations, use = found["violations"]
    for group, (name, cells) in zip(chapter.groups, violations.rows, strict=True):
        assert name == group.name
        assert cells[0].value == pytest.approx(group.share[:, -1].mean())
        mean = group.regret["constraint_plus"][:, -1].mean() / 300
        assert cells[1].value == pytest.approx(mean)
        assert cells[2].value == group.worst.max()
    budget, best = use.rows[0][1][:2]
    assert budget.value == pytest.approx(chapter.cmdp.budget[0])
    assert best.value == pytest.approx(budget.value, rel=1e-6)  # it binds
    (pairs,) = found["pairs"]
    assert len(pairs.rows) == 6
    first, second = chapter.groups[:2]
    difference = first.regret["cost"][:, -1] - second.regret["cost"][:, -1]
    assert pairs.rows[0][1][1].value == pytest.approx(difference.mean())


def test_pairs_meet_on_common_seeds_only(findings):
    chapter = findings.chapters[0]
    first, second = chapter.groups[:2]
    other = replace(second, seeds=second.seeds + 1)  # seeds 2 and 3 are common
    found = chapter_tables(replace(chapter, groups=(first, other)), draws())["pairs"][0]
    ((_, cells),) = found.rows
    assert cells[0].text == "2"
    expected = first.regret["cost"][1:, -1] - second.regret["cost"][:2, -1]
    assert cells[1].value == pytest.approx(expected.mean())
    for few in (second.seeds + 2, second.seeds + 100):  # one in common has no interval
        strangers = replace(chapter, groups=(first, replace(second, seeds=few)))
        assert chapter_tables(strangers, draws())["pairs"] == []


def test_pairs_say_how_sure_an_improvement_is(findings):
    chapter = findings.chapters[0]
    first, second = chapter.groups[:2]
    worse = {kind: first.regret[kind] + np.array([[1.0], [1.0], [-1.0]]) for kind in first.regret}
    other = replace(second, regret=worse)
    found = chapter_tables(replace(chapter, groups=(first, other)), draws())["pairs"][0]
    assert found.rows[0][1][1].note.endswith("better in 66.7 % (0 % to 100 %)")
    assert "do not share random numbers" not in found.caption
    apart = replace(first, spec={**first.spec, "common_random_numbers": False})
    found = chapter_tables(replace(chapter, groups=(apart, other)), draws())["pairs"][0]
    assert "do not share random numbers" in found.caption


def test_conditions_are_stated_once_in_every_section(findings):
    chapter = findings.chapters[0]
    page = page_of(findings, draws(), "").decode().replace("\N{NO-BREAK SPACE}", " ")
    article = page[page.index('<article class="chapter" id="c0"') : page.index('id="c1"')]
    for section in re.findall(r"<section.*?</section>", article, re.S):
        visible = re.sub(r"<[^>]*>", " ", section)
        key = re.search(r'id="c0-(\w+)"', section)[1]
        # those without numbers over seeds, or with specs that say all of it, state none
        expected = 0 if key in ("title", "time", "specs") else 1
        assert visible.count(f"delta {chapter.delta}") == expected, key


def test_a_title_and_reloading_are_as_asked(findings):
    page = page_of(findings, draws(), "", "Two <worlds>", reload=5.0).decode()
    assert "<h1>Two &lt;worlds&gt;</h1>" in page
    assert "<title>Two &lt;worlds&gt;: experiment report</title>" in page
    assert '<body data-reload="5.0">' in page
    assert "<h1>two worlds</h1>" in page_of(findings, draws(), "").decode()


def test_a_page_before_the_first_finished_run_states_it():
    page = page_of(Findings("waiting", (), 3, 0, ()), draws(), "", reload=5.0).decode()
    assert "3 of 3 planned runs are not finished" in page
    assert embedded(page.encode()) == {}


def test_references_are_compared_with_but_not_ranked(findings):
    chapter = findings.chapters[0]
    idle = replace(chapter.groups[0], name="optimal", is_reference=True)
    words = summary_of(replace(chapter, groups=(*chapter.groups, idle)), draws())
    assert words[0].startswith("Four learners ran")
    assert "compared with optimal" in words[0]
    assert all("optimal" not in sentence for sentence in words[1:])
    alone = summary_of(replace(chapter, groups=(idle,)), draws())
    assert alone[0].startswith("optimal ran")


def test_a_learner_without_beliefs_has_no_constants_and_no_audit(tmp_path):
    study = finished(tmp_path, environment="ring", algorithm=["OptDual", "optimal"], episodes=40)
    (chapter,) = study.findings(silent).chapters
    learner, reference = chapter.groups
    assert (learner.is_heuristic, reference.is_heuristic) == (True, False)
    assert reference.regret["cost"].tolist() == (0 * reference.regret["cost"]).tolist()
    assert heuristics_of(chapter).startswith("OptDual uses heuristic constants")
    cells = chapter_tables(chapter, draws())["audit"][0].rows[1][1]
    assert [cell.text for cell in cells[:2]] == ["none", "no confidence sets"]
    assert len(chapter_tables(chapter, draws())["pairs"][0].rows) == 1


def test_the_audit_of_a_safe_learner_has_its_baseline_and_its_upper_bounds(tmp_path):
    study = finished(
        tmp_path,
        environment="ring",
        algorithm=["OptCMDP", "Safe-OptCMDP"],
        baseline="share:0.2",
        confidence="tight",
        episodes=60,
    )
    found = study.findings(silent)
    plain, safe = found.chapters[0].groups
    runs = [each.load() for each in study.runs() if each.spec.algorithm == "Safe-OptCMDP"]
    shares = np.array([(run.baseline.mean(), run.baseline[-1]) for run in runs])
    np.testing.assert_allclose(safe.baseline, shares)
    assert plain.baseline is None
    failing = replace(safe, bound_failures=np.array([0, 2, 1]))
    (table,) = chapter_tables(replace(found.chapters[0], groups=(plain, failing)), draws())["audit"]
    assert table.columns[-2:] == ["mean probability of the baseline", "failed upper bounds"]
    (_, without), (_, cells) = table.rows
    assert [cell.value for cell in without[-2:]] == [None, None]
    assert cells[-2].value == pytest.approx(shares[:, 0].mean())
    assert cells[-2].note == f"in the last episode {shares[:, 1].mean():.3g}"
    assert (cells[-1].text, cells[-1].is_marked) == ("3", True)
    told = study.summary()["problems"][0]["learners"]
    assert (told[0]["baseline"], told[0]["bound_failures"]) == (None, None)
    assert told[1]["baseline"]["mean"] == pytest.approx(shares[:, 0].mean())
    assert told[1]["baseline"]["last"] == pytest.approx(shares[:, 1].mean())
    assert told[1]["bound_failures"] == 0
    frame = study.to_pandas().groupby("algorithm")["bound_failures"].max()
    assert np.isnan(frame["OptCMDP"])
    assert frame["Safe-OptCMDP"] == 0


def test_the_mean_probability_of_the_baseline_is_over_all_episodes(tmp_path):
    settings = {"episodes": 900, "confidence": "tight", "seed": 1}
    learner = tr.learners.SafeOptCMDP(baseline="share:0.2")
    every, few = (tr.learn("ring", learner, points=n, **settings) for n in (900, 60))
    assert len(few.episode) < 100
    assert baseline_shares(few) == pytest.approx(baseline_shares(every), rel=0.02)
    assert baseline_shares(every) == pytest.approx((every.baseline.mean(), every.baseline[-1]))


def test_equal_chances_have_no_likeliest_action(tmp_path):
    study = finished(tmp_path, environment="grid", algorithm="uniform", episodes=2, seeds=1)
    (chapter,) = study.findings(silent).chapters
    optimum, uniform = picture_data(chapter)["panels"]
    assert np.max(optimum["stages"][0]["action"]) >= 0
    assert np.max(uniform["stages"][0]["action"]) == -1


def test_a_cheap_learner_that_exceeds_budgets_is_reported(findings):
    chapter = findings.chapters[0]
    cheap, dear = chapter.groups[:2]
    cheap = replace(
        cheap,
        regret={**cheap.regret, "cost_plus": 0 * cheap.regret["cost_plus"]},
        violations=np.broadcast_to(cheap.episode, cheap.violations.shape),
    )
    dear = replace(dear, violations=0 * dear.violations)
    sentence = summary_of(replace(chapter, groups=(cheap, dear)), draws())[1]
    assert f"{cheap.name} had the lowest regret" in sentence
    assert "but exceeded a budget in 100 % of its episodes" in sentence


def test_excess_is_reported_by_share_of_episodes_and_by_amount(findings):
    chapter = findings.chapters[0]
    never, often, much = chapter.groups[:3]

    def changed(group, share, excess, **more):
        counts = (share * np.broadcast_to(group.episode, group.violations.shape)).astype(int)
        ends = np.zeros_like(group.constraint_ends)
        ends[1] = 300 * excess
        return replace(group, violations=counts, constraint_ends=ends, **more)

    def told(*groups):
        return summary_of(replace(chapter, groups=groups), draws())[2]

    never = changed(never, 0, 0.0, is_heuristic=False)
    often, much = changed(often, 1, 0.25), changed(much, 0.5, 0.75)
    unit = chapter.cmdp.constraint_units[0].name
    assert told(never, often, much) == (
        f"{never.name} exceeded no budget in any episode; {often.name} exceeded one most often, "
        f"in 100 % of its episodes and by 0.25 {unit} per episode on average; {much.name} by most, "
        f"in 50 % of its episodes and by 0.75 {unit} per episode on average."
    )
    assert f"; {much.name} exceeded one most often and by most, in 50 %" in told(never, much)
    assert told(never, never) == "No learner exceeded a budget in any episode."
    lucky = replace(never, is_heuristic=True)
    assert "any episode (observed only: its constants are heuristic);" in told(lucky, much)
    assert told(often, much).startswith(f"{much.name} exceeded a budget least often, in 50 %")


def test_episodes_that_offset_each_other_are_reported(findings):
    chapter = findings.chapters[0]
    one, other = chapter.groups[:2]
    ends = np.ones_like(one.regret["cost"])
    one = replace(one, regret={**one.regret, "cost_plus": 70 * ends, "cost": -20 * ends})
    other = replace(other, regret={**other.regret, "cost_plus": 9 * ends, "cost": 8 * ends})
    words = summary_of(replace(chapter, groups=(one, other)), draws())
    (sentence,) = (each for each in words if "offset" in each)
    unit = chapter.cmdp.cost_unit.name
    assert sentence == (
        f"Episodes of {one.name} offset each other most: in sum, 70 {unit} worse than the optimum "
        f"and 90 {unit} better."
    )
    alone = summary_of(replace(chapter, groups=(other,)), draws())
    assert not any("offset" in each for each in alone)


def test_a_learner_that_keeps_budgets_to_the_end_is_reported(findings):
    chapter = findings.chapters[0]
    kept = replace(chapter.groups[0], first_feasible=np.array([40, 50, 301]))
    found = chapter_tables(replace(chapter, groups=(kept,)), draws())["violations"][0]
    cell = found.rows[0][1][3]
    assert (cell.value, cell.note) == (50.0, "never in 1 of 3 runs")
    words = " ".join(summary_of(replace(chapter, groups=(kept,)), draws()))
    assert f"kept by {kept.name} from episode 50" in words


def test_problems_are_put_together_relative_to_the_range_of_a_step(findings):
    table = overview_of(findings, draws())
    assert table is not None
    name, cells = table.rows[0]
    runs = np.concatenate(
        [
            chapter.groups[0].regret["cost_plus"][:, -1]
            / abs(chapter.cmdp.cost_unit.factor)
            / (300 * chapter.cmdp.horizon)
            for chapter in findings.chapters
        ]
    )
    assert name == "OptCMDP"
    assert cells[0].value == len(runs) == 6
    assert (cells[1].text, cells[1].is_marked) == ("tight, scale=0.1 (heuristic)", True)
    assert cells[2].value == pytest.approx(np.sort(runs)[1:-1].mean())
    assert table.caption.endswith("with 95 % bootstrap bands stratified by problem; delta 0.1")
    assert overview_of(replace(findings, chapters=findings.chapters[:1]), draws()) is None


def test_pictures_hold_the_occupancy_and_the_likeliest_action(findings):
    ring, grid = findings.chapters
    heat = picture_data(ring)
    assert heat["kind"] == "heat"
    q = ring.optimum.occupancy
    np.testing.assert_allclose(heat["panels"][0]["often"], q.sum(axis=2).T, rtol=1e-2, atol=1e-9)
    reached = q.sum(axis=2).T > 1e-3
    likeliest = ring.optimum.policy.argmax(axis=2).T
    np.testing.assert_array_equal(
        np.array(heat["panels"][0]["action"])[reached], likeliest[reached]
    )
    maps = picture_data(grid)
    assert maps["kind"] == "map"
    assert maps["stages"] == [None, *range(36)]
    assert [panel["name"] for panel in maps["panels"]][:2] == ["optimum", "OptCMDP"]


def test_the_same_study_gives_the_same_page(findings):
    first, second = (page_of(findings, draws(), "now") for _ in range(2))
    assert first == second
    assert b"http-equiv" in first


def test_numbers_read_well():
    assert [format_number(v) for v in (0.0, -1.5, 12345.6, 2172.4, np.nan)] == [
        "0",
        "\N{MINUS SIGN}1.5",
        "12,346",
        "2,172",
        "\N{EN DASH}",
    ]
    assert (percent(0.1234), percent(1.0)) == ("12.3 %", "100 %")
    assert (counted(1, "run"), counted(3000, "episode")) == ("1 run", "3,000 episodes")


def test_changed_steps_are_named_and_marked(tmp_path):
    study = finished(
        tmp_path,
        environment="ring",
        algorithm=["OptDual", "OptPrimalDual", "uniform"],
        episodes=5,
        confidence="faithful",
        dual_step=5.0,
        primal_step=2.0,
    )
    groups = {group.algorithm: group for group in study.findings(silent).chapters[0].groups}
    assert groups["OptDual"].constants == "faithful, dual step times 5 (heuristic)"
    assert "primal step times 2 (heuristic)" in groups["OptPrimalDual"].constants
    assert groups["OptDual"].is_heuristic
    assert not groups["uniform"].is_heuristic


def test_the_drawing_code_is_the_published_one_and_its_license_is_with_it():
    folder = files("tightrope.show.report") / "plotly"
    content = (folder / "plotly-cartesian.min.js").read_bytes()
    assert sha256(content).hexdigest() == PLOTLY_HASH
    assert b"</script" not in content.lower()
    assert "MIT License" in (folder / "LICENSE").read_text()


def test_an_empty_report_has_less_than_two_megabytes():
    assert len(page_of(Findings("empty", (), 0, 0, ()), draws(), "")) < 2_000_000
