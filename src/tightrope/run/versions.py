"""Versions of everything that decides the bits of a run."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("tightrope", "numpy", "scipy", "numba", "llvmlite", "highspy", "pyarrow")


def versions() -> dict[str, str]:
    """Packages, Python, system and processor."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found | {"system": platform.system(), "machine": platform.machine()}


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """What differs between two sets of versions, in words; empty when nothing does.

    Parameters
    ----------
    before, now : mapping of str to str
    """
    return ", ".join(
        f"{name} {before.get(name, 'unknown')}, now {now.get(name, 'unknown')}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    )
