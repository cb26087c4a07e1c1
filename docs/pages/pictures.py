"""Pictures of the pages, drawn by the code that the pages show: ``make pictures``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pages.blocks import run

__all__ = ["shown", "take"]

DOCS = Path(__file__).parent.parent
PAGES = (
    "start.md",
    "tutorial.md",
    "concepts.md",
    "howto/notebooks.md",
    "howto/infinite-horizon.md",
)
SHOWN = re.compile(r"\]\((?:\.\./)?pictures/([\w.-]+)\)")
WINDOW = "1180,1330"
WINDOWS = {"notebook.png": "860,530"}


def shown(page: Path) -> list[str]:
    """Pictures that a page shows."""
    return SHOWN.findall(page.read_text())


def take(page: Path, into: Path) -> None:
    """Run a page in a folder of its own and keep the pictures it shows.

    A picture that is not drawn but has an HTML page of its name is that page, photographed.
    """
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            run(page)
            for name in shown(page):
                if not Path(name).exists():
                    _photograph(next(Path().rglob(f"{Path(name).stem}.html")), Path(name))
                shutil.copy(name, into / name)
        finally:
            os.chdir(before)


def _photograph(page: Path, picture: Path) -> None:
    window = WINDOWS.get(picture.name, WINDOW)
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={window}"]
    options += ["--virtual-time-budget=9000", f"--screenshot={picture.resolve()}"]
    subprocess.run(["chromium", *options, page.resolve().as_uri()], check=True)


if __name__ == "__main__":
    for word in sys.argv[1:] or PAGES:
        take(DOCS / word, DOCS / "pictures")
