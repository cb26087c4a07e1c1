"""Versions of everything that decides the bits of a run."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version

__all__ = ["versions"]

PACKAGES = ("tightrope", "numpy", "scipy", "numba", "llvmlite", "highspy", "pyarrow")


def versions() -> str:
    """As JSON: packages, Python, system and processor."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    found |= {"system": platform.system(), "machine": platform.machine()}
    return json.dumps(found, indent=1)
