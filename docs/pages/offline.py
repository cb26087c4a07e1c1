"""The built pages load nothing from a network: ``python docs/pages/offline.py docs/build``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

__all__ = ["fetched"]

LOADS = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*?\bsrc=["']((?:https?:)?//[^"']+)"""
    r"""|<link\b[^>]*?\bhref=["']((?:https?:)?//[^"']+)"""
)
IMPORTS = re.compile(r"""(?:@import\s+|url\()["']?((?:https?:)?//[^"')\s]+)""")


def fetched(site: Path) -> list[str]:
    """What pages and style sheets would load from elsewhere, with the file that asks for it."""
    found = []
    for kind, asks in (("*.html", LOADS), ("*.css", IMPORTS)):
        for path in sorted(site.rglob(kind)):
            for match in asks.finditer(path.read_text()):
                found.append(f"{path}: {next(filter(None, match.groups()))}")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(fetched(Path(sys.argv[1]))) or 0)
