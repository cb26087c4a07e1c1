"""Public names that no page of the reference documents."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import tightrope

__all__ = ["more", "placed"]

DIRECTIVE = re.compile(r"^\.\. auto(?:class|function|exception):: (\w+)$", re.M)


def placed(folder: Path) -> list[str]:
    """Public names of `tightrope` that the pages of a folder document."""
    text = "\n".join(page.read_text() for page in sorted(folder.glob("*.md")))
    return [name for name in DIRECTIVE.findall(text) if name in tightrope.__all__]


def more(folder: Path) -> str:
    """The other names, as Markdown."""
    lines = [".. currentmodule:: tightrope", ""]
    for name in sorted(set(tightrope.__all__) - set(placed(folder))):
        thing = getattr(tightrope, name)
        is_error = inspect.isclass(thing) and issubclass(thing, Exception)
        kind = "exception" if is_error else "class" if inspect.isclass(thing) else "function"
        lines += [f".. auto{kind}:: {name}", *(["   :members:"] if kind == "class" else []), ""]
    return "\n".join(["```{eval-rst}", *lines, "```", ""]) if len(lines) > 2 else ""
