"""The report in a real browser: it loads, its switches work, its numbers are the records'."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from axe_playwright_python.sync_playwright import Axe

from tightrope.experiments.curves import KINDS
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.problems import model_of
from tightrope.experiments.statistics import Resamples
from tightrope.show.report.page import page_of

PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
HOSTILE = "</script><img src=x onerror=alert(1)><b>&amp;"
TRACES = """([id, plot, index]) => {
  const canvas = document.querySelector(`#${id} [data-plot=${plot}][data-index="${index}"]`);
  return canvas.data.map((t) => (
    {name: t.name, meta: t.meta, x: [...t.x], y: t.customdata ? [...t.customdata] : null}));
}"""
SCALE = "([id, index]) => document.querySelector(`#${id} [data-index=${index}]`).dataset.scale"
AXIS = "([id, index]) => document.querySelector(`#${id} [data-index=${index}]`)._fullLayout.yaxis"

PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789\N{MINUS SIGN}")
READOUT = "document.querySelectorAll('#c0 .readout')[1].textContent"


@pytest.fixture
def opened(browser):
    """Open a page and keep what it asks for and complains about."""
    contexts = []

    def open_page(path, viewport=LAPTOP, scheme="light"):
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.asked, page.heard = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.heard.append(message.text))
        page.on("pageerror", lambda error: page.heard.append(str(error)))
        page.on("dialog", lambda dialog: page.heard.append(dialog.message))
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-drawn]")
        return page

    yield open_page
    for context in contexts:
        context.close()


def traces(page, index, plot="regret", chapter="c0"):
    return page.evaluate(TRACES, [chapter, plot, str(index)])


def waited(page, expression, holds):
    """Ask until it holds; the page's own policy forbids it to evaluate words."""
    for _ in range(100):
        if holds(page.evaluate(expression)):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} is still {page.evaluate(expression)}")


def names(page, index="cost_plus", meta="line"):
    return [each["name"] for each in traces(page, index) if each["meta"] == meta]


def ends(study, column, algorithm, environment="ring"):
    """The last value of each seed on the model's scale, largest over constraints."""
    specs = [s for s in study.specs() if (s.algorithm, s.environment) == (algorithm, environment)]
    tables = [pq.read_table(study.folder(spec).record) for spec in specs]
    return np.array([t[column].to_numpy()[t["episode"].to_numpy() == 300].max() for t in tables])


def test_it_loads_from_disk_without_a_complaint_and_asks_for_nothing_else(opened, report):
    page = opened(report)
    page.select_option("#chapter", "c1")
    page.wait_for_selector("body[data-drawn^=c1]")
    assert page.heard == []
    assert page.asked == [report.as_uri()]
    assert page.locator("h1").inner_text() == "two worlds"


def test_every_figure_of_every_problem_is_drawn(opened, report):
    page = opened(report)
    for chapter in ("c0", "c1"):
        page.select_option("#chapter", chapter)
        canvases = page.locator(f"#{chapter} .canvas")
        # four regrets, violations, one multiplier, and the optimum beside four learners
        assert canvases.count() == 4 + 1 + 1 + 5
        assert all(c.locator("svg.main-svg").count() for c in canvases.all())


def test_lines_and_tables_have_the_means_of_the_records(opened, report, study):
    page = opened(report)
    cmdp = model_of(study.specs()[0])
    scale = {
        "cost": abs(cmdp.cost_unit.factor),
        "constraint": abs(cmdp.constraint_units[0].factor),
    }
    for k, (kind, column) in enumerate(
        {
            "cost": "cost_regret",
            "cost_plus": "cost_regret_plus",
            "constraint": "constraint_regret",
            "constraint_plus": "constraint_regret_plus",
        }.items(),
        start=1,
    ):
        found = {each["name"]: each for each in traces(page, kind) if each["meta"] == "line"}
        assert len(found) == 4
        for name, line in found.items():
            algorithm = name.removesuffix(" (heuristic)")
            expected = ends(study, column, algorithm).mean() * scale[kind.removesuffix("_plus")]
            assert line["x"][-1] == 300
            assert line["y"][-1] == pytest.approx(expected, rel=1e-5, abs=1e-9)
            row = page.locator("#c0-ends tr", has_text=f"{algorithm}, mean")
            told = row.locator("td").nth(k - 1).get_attribute("data-value")
            assert float(told) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_violations_and_multipliers_are_those_of_the_records(opened, report, study):
    page = opened(report)
    for line in (each for each in traces(page, "", "share") if each["meta"] == "line"):
        algorithm = line["name"].removesuffix(" (heuristic)")
        expected = 100 * ends(study, "violations", algorithm).mean() / 300
        assert line["y"][-1] == pytest.approx(expected, rel=1e-5, abs=1e-9)
    for line in (each for each in traces(page, 0, "multiplier") if each["meta"] == "line"):
        algorithm = line["name"].removesuffix(" (heuristic)")
        expected = ends(study, "multiplier", algorithm).mean()
        assert line["y"][-1] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_learners_bands_and_references_come_and_go(opened, report):
    page = opened(report)
    assert len(names(page)) == len(names(page, meta="band")) == 4
    assert names(page, meta="reference") == ["c√K"]
    page.get_by_role("checkbox", name="OptCMDP-bonus").uncheck()
    assert names(page) == [
        f"{name} (heuristic)" for name in ("OptCMDP", "OptDual", "OptPrimalDual")
    ]
    page.get_by_role("checkbox", name="bands").uncheck()
    assert names(page, meta="band") == []
    page.get_by_role("checkbox", name="c√K").uncheck()
    assert names(page, meta="reference") == []
    page.get_by_role("checkbox", name="OptCMDP-bonus").check()
    assert len(names(page)) == 4
    for box in page.locator("#learners input").all():
        box.uncheck()
    assert traces(page, "cost_plus") == []
    assert page.heard == []


def test_the_reference_meets_the_highest_line_at_its_end(opened, report):
    found = traces(opened(report), "cost_plus")
    (reference,) = (each for each in found if each["meta"] == "reference")
    highest = max(each["y"][-1] for each in found if each["meta"] == "line")
    assert reference["y"][-1] == pytest.approx(highest, rel=1e-5)
    first, last = reference["x"][0], reference["x"][-1]
    assert reference["y"][-1] / reference["y"][0] == pytest.approx((last / first) ** 0.5)


def test_axes_are_those_of_the_figures_of_matplotlib(opened, report, study):
    page, figure = opened(report), study.figure(problem="ring")
    scales = []
    for axes, kind in zip(figure.axes, KINDS, strict=True):
        scales.append(axes.get_yscale())
        assert page.evaluate(SCALE, ["c0", kind]) == scales[-1]
        drawn = page.evaluate(AXIS, ["c0", kind])
        title = drawn["title"]["text"].replace("<br>", "\n")
        assert title == axes.get_ylabel()
        assert title.startswith("cumulative regret")
        if scales[-1] != "linear":
            low, high = axes.get_ylim()
            labels = zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
            said = [text.get_text().translate(PLAIN) for at, text in labels if low <= at <= high]
            assert [re.sub("</?sup>", "", text) for text in drawn["ticktext"]] == said
        if scales[-1] != "symlog":
            continue
        # one tick of Matplotlib's transformation is another of ours, up to a common unit
        ticks = np.array([tick for tick in axes.get_yticks() if tick])
        places = [place for place in drawn["tickvals"] if place]
        ratio = axes.transScale.transform(np.column_stack([np.ones(len(ticks)), ticks]))[:, 1]
        ratio /= places
        np.testing.assert_allclose(ratio, ratio[0])
    assert "symlog" in scales
    page.get_by_role("radio", name="linear").check()
    assert {page.evaluate(SCALE, ["c0", kind]) for kind in KINDS} == {"linear"}
    page.get_by_role("radio", name="logarithmic").check()
    assert [page.evaluate(SCALE, ["c0", kind]) for kind in KINDS] == scales


def test_the_values_under_the_pointer_stand_below_the_figure(opened, report):
    page = opened(report)
    figure = page.locator("#c0 figure").nth(1)
    readout, canvas = figure.locator(".readout"), figure.locator(".canvas")
    assert readout.inner_text().startswith("episode 300")
    canvas.hover()
    waited(page, READOUT, lambda words: not words.startswith("episode 300"))
    episode = int(readout.locator("b").inner_text().removeprefix("episode "))
    said = dict(words.rsplit(" ", 1) for words in readout.locator("span").all_inner_texts())
    lines = [line for line in traces(page, "cost_plus") if line["meta"] == "line"]
    assert len(lines) == 4
    for line in lines:
        value = line["y"][line["x"].index(episode)]
        shown = said[line["name"].removesuffix(" (heuristic)")].replace(",", "")
        assert float(shown) == pytest.approx(value, rel=1e-3)
    assert page.locator(".hoverlayer .hovertext").count() == 0
    box = canvas.bounding_box()
    assert readout.bounding_box()["y"] >= box["y"] + box["height"]


def test_curves_tables_and_pictures_are_saved_as_files(opened, report, study):
    page = opened(report)

    def saved(button):
        with page.expect_download() as found:
            button.click()
        return found.value.suggested_filename, Path(found.value.path()).read_bytes()

    figure = page.locator("#c0 figure").nth(1)
    name, content = saved(figure.get_by_role("button", name="CSV"))
    assert name == "ring-Reg-cost.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    ends = [row for row in rows if row["episode"] == "300" and row["statistic"] == "median"]
    told = {each["name"]: each for each in study.summary()["problems"][0]["learners"]}
    assert len(ends) == len(told) == 4
    for row in ends:
        expected = told[row["learner"]]["regret"]["cost_plus"]["median"]
        for part in ("middle", "low", "high"):
            assert float(row[part]) == pytest.approx(expected[part], rel=1e-5)
    name, content = saved(figure.get_by_role("button", name="PNG"))
    assert (name, content[:4]) == ("ring-Reg-cost.png", b"\x89PNG")
    name, content = saved(figure.get_by_role("button", name="SVG"))
    assert name == "ring-Reg-cost.svg"
    assert b"OptDual" in content
    assert content.startswith(b"<svg")
    name, content = saved(page.locator("[data-table=c0-slopes]"))
    rows = list(csv.reader(io.StringIO(content.decode())))
    assert name == "c0-slopes.csv"
    assert [row[0] for row in rows] == ["learner", *told]
    assert page.heard == []


def test_the_contents_name_every_section_of_the_problem(opened, report):
    page = opened(report)
    links = page.locator("#c0 .contents a")
    headings = page.locator("#c0 h3")
    assert links.all_inner_texts() == headings.all_inner_texts()
    for link in links.all():
        assert page.locator(link.get_attribute("href")).is_visible()


def test_the_legend_stays_in_sight_on_a_phone(opened, report):
    page = opened(report, PHONE)
    bar = page.locator(".toolbar")
    page.evaluate("document.querySelector('#c0-policies').scrollIntoView()")
    assert page.evaluate("scrollY") > 1000
    box = bar.bounding_box()
    assert box["y"] == 0
    assert box["height"] < 0.1 * PHONE["height"]
    assert not page.get_by_role("radio", name="linear").is_visible()
    page.get_by_role("button", name="options").click()
    page.get_by_role("radio", name="linear").check()
    assert bar.bounding_box()["y"] == 0


def test_the_page_of_a_running_experiment_reloads_and_keeps_what_was_chosen(
    opened, findings, tmp_path
):
    path = tmp_path / "running.html"
    draws = Resamples(np.random.default_rng(0))
    path.write_bytes(page_of(findings, draws, "", "before", reload=1.5))
    page = opened(path)
    page.get_by_role("radio", name="median").check()
    page.select_option("#chapter", "c1")
    path.write_bytes(page_of(findings, draws, "", "after"))
    page.wait_for_selector("h1:text-is('after')")
    page.wait_for_selector("body[data-drawn='c1 median log']")
    assert page.get_by_role("radio", name="median").is_checked()
    assert page.locator("body").get_attribute("data-reload") is None


@pytest.mark.parametrize(("statistic", "of"), [("median", np.median), ("IQM", np.median)])
def test_the_statistic_of_lines_and_tables_can_be_chosen(opened, report, study, statistic, of):
    # of three seeds none is cut at a quarter, so the IQM is the mean
    of = of if statistic == "median" else np.mean
    page = opened(report)
    page.get_by_role("radio", name=statistic).check()
    cmdp = model_of(study.specs()[0])
    line = next(each for each in traces(page, "cost_plus") if each["meta"] == "line")
    expected = of(ends(study, "cost_regret_plus", "OptCMDP")) * abs(cmdp.cost_unit.factor)
    assert line["y"][-1] == pytest.approx(expected, rel=1e-5)
    rows = page.locator("#c0-ends tbody tr").all()
    assert {row.get_attribute("data-statistic") for row in rows if row.is_visible()} == {statistic}


def test_a_map_shows_the_occupancy_of_the_stage_that_is_chosen(opened, report, findings):
    page = opened(report)
    page.select_option("#chapter", "c1")
    chapter = findings.chapters[1]
    layout, q = chapter.cmdp.layout, chapter.optimum.occupancy

    def drawn():
        return page.evaluate("document.querySelector('#c1 .pictures .canvas').data[0].z")

    for place, expected in ((0, q.sum(axis=(0, 2))), (4, q[3].sum(axis=1))):
        page.locator("#c1-stage").fill(str(place))
        z = drawn()
        for state, (r, c) in enumerate(layout.cells):
            if r >= 0:
                assert z[r][c] == pytest.approx(expected[state], rel=1e-2, abs=1e-12)
    assert page.locator("#c1 .stage output").inner_text() == "3 of 0 to 35"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_axe_finds_nothing_to_object_to(opened, report, viewport, scheme):
    page = opened(report, viewport, scheme)
    for chapter in ("c0", "c1"):
        page.select_option("#chapter", chapter)
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_nothing_is_wider_than_the_screen(opened, report):
    page = opened(report, PHONE)
    for chapter in ("c0", "c1"):
        page.select_option("#chapter", chapter)
        for width in (390, 320, 768, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            waited(page, "document.documentElement.scrollWidth", lambda found, w=width: found <= w)


def test_figures_follow_the_light_and_a_turned_phone(opened, report):
    page = opened(report, PHONE)
    look = "document.querySelector('#c0 .canvas')._fullLayout"
    light = page.evaluate(f"{look}.font.color")
    page.emulate_media(color_scheme="dark")
    waited(page, f"{look}.font.color", lambda color: color != light)
    narrow = page.evaluate(f"{look}.width")
    page.set_viewport_size({"width": 844, "height": 390})
    waited(page, f"{look}.width", lambda width: width > narrow)
    assert page.heard == []


def test_print_is_dark_on_white_in_the_dark_theme(opened, report):
    page = opened(report, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    look = "document.querySelector('#c0 .canvas')._fullLayout"
    waited(page, f"{look}.font.color", lambda color: color == "#000000")
    assert page.locator("#learners label").first.is_visible()  # the legend stays, switches go
    assert not any(box.is_visible() for box in page.locator(".toolbar input").all())
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


def test_on_paper_every_spec_is_open_and_afterwards_as_before(opened, report):
    page = opened(report)
    are_open = "[...document.querySelectorAll('details')].map((each) => each.open)"
    before = page.evaluate(are_open)
    assert before
    assert not any(before)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert all(page.evaluate(are_open))
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(are_open) == before


def test_names_that_look_like_markup_stay_words(opened, findings, tmp_path):
    first = findings.chapters[0]
    groups = tuple(replace(group, name=HOSTILE + group.name) for group in first.groups)
    hostile = replace(
        findings,
        name=HOSTILE,
        chapters=(replace(first, name=HOSTILE, environment=HOSTILE, groups=groups),),
    )
    path = tmp_path / "hostile.html"
    path.write_bytes(page_of(hostile, Resamples(np.random.default_rng(0)), HOSTILE))
    page = opened(path)
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("main img").count() == 0
    assert page.heard == []
    assert page.asked == [path.as_uri()]


def test_pages_without_regrets_have_no_switch_for_their_reference(opened, tmp_path):
    experiment = Experiment(tmp_path / "lake")
    known = {"horizon": 8, "stationary": True, "total_range": {"holes": [0, 1], "reward": [0, 1]}}
    experiment.add("gym:FrozenLake-v1", "OptCMDP", 20, 1, budget={"holes": 0.2}, gymnasium=known)
    experiment.add("ring", "uniform", 20, 1)
    experiment.run("here", progress=False)
    experiment.report(tmp_path / "page.html")
    page = opened(tmp_path / "page.html")
    switch = page.locator("#reference")
    shown = {}
    for option in page.locator("#chapter option").all():
        page.select_option("#chapter", option.get_attribute("value"))
        shown[option.inner_text()] = switch.is_visible()
    assert shown == {"ring": True, "gym:FrozenLake-v1": False}
