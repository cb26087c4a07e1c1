"""Every code block of the documentation runs, page by page, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.blocks import blocks, commands, run, says

ROOT = Path(__file__).parent.parent
MADE = {"build", "generated"}
PAGES = [
    ROOT / "README.md",
    ROOT / "paper" / "paper.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.relative_to(ROOT / "docs").parts[0] not in MADE
    ),
]
WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_blocks_of_the_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page)


def test_there_are_pages_with_code() -> None:
    assert len(WITH_CODE) >= 2


def test_what_a_page_shows_under_a_command_is_compared_with_what_it_says() -> None:
    code = "$ first\n$ second \\\n  --option\nall 3 of\n  them ...\n"
    assert commands(code) == [("first", ""), ("second   --option", "all 3 of\n  them ...")]
    assert says("so: all 3 of them are (there)\n", "all 3 of\n  them ... (there)")
    assert not says("all 4 of them", "all 3 of")
    assert says("anything", "")
