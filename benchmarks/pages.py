"""What the benchmarks share: their options, lines shown while others run, pages in the docs."""

from __future__ import annotations

import argparse
import os
import platform
import re
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

__all__ = ["parser", "processor", "report", "sections", "setting", "table", "write"]

FOLDER = Path(__file__).parent.parent / "docs" / "benchmarks"

Rows = list[dict[str, Any]]


def parser(words: str, page: str, quick: str) -> argparse.ArgumentParser:
    """The options of a benchmark: ``words`` of its first line, what ``quick`` leaves out."""
    made = argparse.ArgumentParser(description=words.split("\n")[0])
    made.add_argument("--quick", action="store_true", help=quick)
    made.add_argument("--write", action="store_true", help=f"write {page} into docs")
    return made


def report(line: dict[str, Any]) -> None:
    """Show a finished line while the others run."""
    print("  ".join(f"{key} {value}" for key, value in line.items()), flush=True)


def table(rows: Rows) -> str:
    """Rows as a Markdown table; a dash where a row lacks what the first one has."""
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    lines += ["| " + " | ".join(str(line.get(h, "-")) for h in heads) + " |" for line in rows]
    return "\n".join(lines)


def sections(parts: list[tuple[str, str, Rows]]) -> list[str]:
    """Lines of a page: title, words and table of each part."""
    lines = []
    for title, words, rows in parts:
        lines += ["", f"## {title}", "", words, "", table(rows)]
    return lines


def setting(*packages: str) -> str:
    """The machine and the versions that the figures are of, in words."""
    used = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"({processor()}, {platform.machine()}, shared and busy), with {used}."


def processor() -> str:
    """The processor's name where the system tells it, and the number of its cores."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        found = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        name = found[1].replace("(R)", "").replace("(TM)", "") if found else name
    return f"{name}, {os.cpu_count()} cores"


def write(page: str, lines: list[str]) -> None:
    """Write a page of the documentation."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / page).write_text("\n".join(lines) + "\n")
