"""The code blocks of a page, run in order as a reader would run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.S | re.M)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of each block that can run, on the lines that it has in the page."""
    text = page.read_text()
    found = BLOCK.finditer(text)
    return [(block[1], "\n" * text.count("\n", 0, block.start(2)) + block[2]) for block in found]


def run(page: Path) -> dict[str, object]:
    """Run the blocks of a page in the present folder; the names they leave."""
    names: dict[str, object] = {"__name__": "__main__"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = {**os.environ, "PATH": path}
    env.pop("COLUMNS", None)  # set in parallel test workers; tables would be wrapped
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, str(page), "exec", dont_inherit=True), names)
            continue
        for line, shown in commands(code):
            done = subprocess.run(
                shlex.split(line),
                capture_output=True,
                text=True,
                env=env,
            )
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            assert says(done.stdout, shown), f"{line} says\n{done.stdout}\nthe page\n{shown}"
    return names


def commands(code: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what the page shows under it."""
    parts = re.split(r"^\$ ", code.replace("\\\n", ""), flags=re.M)[1:]
    return [(line, shown.strip()) for line, _, shown in (part.partition("\n") for part in parts)]


def says(output: str, shown: str) -> bool:
    """Whether an output has the lines that a page shows; dots in them stand for anything."""
    wanted = ".*".join(re.escape(part) for part in " ".join(shown.split()).split("..."))
    return re.search(wanted, " ".join(output.split())) is not None
