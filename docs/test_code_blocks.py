"""Every code block of the documentation runs, page by page, in order."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.S | re.M)


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_blocks_of_the_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    names: dict[str, object] = {"__name__": "__main__"}
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, str(page), "exec"), names)
            continue
        for line in code.splitlines():
            if line.startswith("$ "):
                done = subprocess.run(shlex.split(line[2:]), capture_output=True, text=True)
                assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_there_are_pages_with_code() -> None:
    assert len(WITH_CODE) >= 2
