"""What the pages say of the code is so: names, commands, errata, pictures, the gallery."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tightrope as tr
from pages.command_line import command_line, commands
from pages.gallery import action_gap, hardness, lasting_chapters
from pages.offline import fetched
from pages.pictures import PAGES, shown
from pages.reference import more, placed
from tightrope.envs.catalog import build, lasting_names, names

DOCS = Path(__file__).parent
ROOT = DOCS.parent
ERRATA = (DOCS / "theory" / "errata.md").read_text()
TABLE_FROM = "<!-- this table is written by papers/efroni2020/reproduce.py -->"
TABLE_TO = "<!-- end of the table -->"
OTHER_PAGES = ("README", "confidence", "errata")
LEARNERS = sorted(p for p in (DOCS / "theory").glob("*.md") if p.stem not in OTHER_PAGES)
MATHS = re.compile(r"\^|<=|>=|\bsqrt|\bsum_|\bln\b|\b(?:alpha|beta|lam|pi|delta)_\w|\w_hat|^\w$")
ITEM = re.compile(r"^(?:\| )?\[E(\d+)\]\{#e\1\}(?::| \|)", re.M)


def test_every_erratum_is_there_once():
    assert sorted(map(int, ITEM.findall(ERRATA))) == list(range(1, 50))


def test_the_files_and_tests_that_the_errata_name_exist():
    text = " ".join(ERRATA.split())
    for name in re.findall(r"In `([\w/.]+)`\.", text):
        assert (ROOT / "src" / "tightrope" / name).exists(), name
    tested = re.findall(r"Tested in `([\w/.]+)`: \*([^*]+)\*", text)
    assert len(tested) > 25
    for name, words in tested:
        test = f"def test_{words.replace(' ', '_')}("
        assert test in (ROOT / "tests" / name).read_text(), words


@pytest.mark.parametrize("page", LEARNERS, ids=lambda p: p.stem)
def test_the_algorithm_of_a_learner_and_its_mathematics_are_typeset(page):
    text = page.read_text()
    assert re.search(r"^> \$\$$", text, re.M), "the algorithm in a box"
    assert "```" not in text
    prose = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)", "", text, flags=re.S)
    code = re.findall(r"`([^`]+)`", prose)
    assert not [word for word in code if MATHS.search(word)], "a formula as code"
    assert not re.findall(r"\b\w+\^|sqrt|\blam_|\w_hat", prose), "a formula as text"


@pytest.mark.parametrize("page", LEARNERS, ids=lambda p: p.stem)
def test_the_page_of_a_learner_says_what_it_promises_changes_costs_and_is_for(page):
    text = page.read_text()
    for part in ("Guarantee", "What we changed", "Cost", "When"):
        heads = re.findall(rf"^(?:\*\*{part}\.\*\*|## {part}$)", text, re.M)
        proven = part == "Guarantee" and not heads and "**Theorem 1.**" in text
        assert len(heads) == 1 or proven, part
    assert "(README.md#notation)" in text


@pytest.mark.parametrize("page", sorted((DOCS / "theory").glob("opt-*.md")), ids=lambda p: p.stem)
def test_the_page_of_a_learner_of_the_paper_names_the_errata(page):
    assert "(errata.md#e" in page.read_text()


def test_every_public_name_is_in_the_reference_once():
    taken = placed(DOCS / "reference")
    assert len(taken) == len(set(taken))
    rest = re.findall(r"^\.\. auto\w+:: (\w+)$", more(DOCS / "reference"), re.M)
    assert sorted([*taken, *rest]) == sorted(tr.__all__)


@pytest.mark.parametrize("package", [tr.learners, tr.envs])
def test_every_name_of_a_public_package_is_in_the_reference(package):
    text = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    documented = re.findall(r"^\.\. auto\w+:: (?:tightrope\.)?(\w+)$", text, re.M)
    assert set(package.__all__) <= set(documented)


def test_a_name_that_no_page_has_taken_is_not_lost(tmp_path):
    (tmp_path / "some.md").write_text(".. autofunction:: solve\n.. autoclass:: CMDP\n")
    text = more(tmp_path)
    assert ".. autofunction:: learn\n" in text
    assert ".. autoclass:: Plan\n   :members:" in text
    assert ":: solve\n" not in text


def test_the_reference_has_every_command_and_option():
    text = command_line()
    found = dict(commands())
    assert {"solve", "learn", "report"} <= set(found)
    for name, command in found.items():
        _, _, chapter = text.partition(f"## {name}\n")
        chapter = chapter.split("\n## ")[0]
        for parameter in command.params:
            if parameter.opts[0] != "--help":
                word = parameter.metavar if parameter.opts[0][0] != "-" else parameter.opts[0]
                assert f"`{word}" in chapter, (name, word)


@pytest.mark.parametrize("name", PAGES)
def test_the_pictures_of_a_page_are_those_that_its_code_writes(name):
    text = (DOCS / name).read_text()
    assert shown(DOCS / name)
    for picture in shown(DOCS / name):
        assert (DOCS / "pictures" / picture).exists()
        stem = Path(picture).stem
        assert f'"{picture}"' in text or f"{stem}.html" in text


def test_a_gap_by_hand():
    # one step: the priced costs of the three actions of the only state are 0.2, 0.5 and 0.9
    cmdp = tr.CMDP(np.ones((1, 3, 1)), [[0.5, 0.2, 0.9]], horizon=1)
    assert action_gap(cmdp, tr.solve(cmdp), np.zeros(0)) == pytest.approx(0.3)


def test_where_there_is_no_choice_there_is_no_gap():
    cmdp = tr.CMDP(np.ones((1, 2, 1)), [[0.5, 0.2]], horizon=2, allowed=[[True, False]])
    assert action_gap(cmdp, tr.solve(cmdp), np.zeros(0)) == 0.0


@pytest.mark.parametrize("name", names())
def test_the_hardness_of_an_environment_has_a_second_opinion(name):
    cmdp = build(name)
    plan = tr.solve(cmdp, tolerance=1e-12)
    hard = hardness(cmdp, plan)
    # every optimal multiplier is bounded by the Slater ratio
    assert hard.norm <= hard.rho / 2 * (1 + 1e-6)
    limits, sizes = tr.feasibility(cmdp), cmdp.units.sizes
    assert hard.slack <= (abs(cmdp.budget - limits.alone) / sizes).min() + 1e-6
    if cmdp.n_constraints == 1:
        frontier, cost = tr.frontier(cmdp), cmdp.units.cost
        price = abs(plan.value - frontier.value[-1]) / cost.size
        assert hard.price == pytest.approx(price, abs=1e-6)
        slack = abs(cmdp.budget[0] - frontier.budget[0]) / sizes[0]
        assert hard.slack == pytest.approx(slack, abs=1e-6)


def test_the_gallery_has_the_infinite_horizon_environments(tmp_path):
    chapters = lasting_chapters(tmp_path, "gallery")
    assert len(chapters) == len(lasting_names())
    for name, text in zip(lasting_names(), chapters, strict=True):
        assert f"## {name}\n" in text
        assert "stages" not in text
        assert (tmp_path / f"{name}.png").exists()
    assert "20 states, 2 actions, discount 0.95." in chapters[1]


def test_what_a_page_loads_from_elsewhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org">a link</a><script src="x.js"></script>'
        '<script defer src="https://cdn.example.org/y.js"></script>'
        '<link rel="stylesheet" href="//cdn.example.org/z.css">'
    )
    (tmp_path / "b.css").write_text("@font-face { src: url(https://example.org/f.woff2) }")
    assert [word.split("//", 1)[1] for word in fetched(tmp_path)] == [
        "cdn.example.org/y.js",
        "cdn.example.org/z.css",
        "example.org/f.woff2",
    ]


def test_the_results_in_the_readme_are_those_of_the_page():
    readme, results = (
        (ROOT / name).read_text() for name in ("README.md", "docs/results/README.md")
    )
    table = readme.split(TABLE_FROM)[1].split(TABLE_TO)[0].strip().splitlines()
    page = results.split("| experiment |")[1].split("\n\n")[0].splitlines()
    rows, told = (
        [[cell.strip() for cell in row.split("|")[1:-1]] for row in r[2:]] for r in (table, page)
    )
    assert rows
    assert rows == [[row[0], row[-1]] for row in told]
