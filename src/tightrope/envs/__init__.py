"""Environments: functions that build a CMDP, and the catalog of their names."""

from tightrope.envs.catalog import Entry, build, entry, lasting_names, names

__all__ = ["Entry", "build", "entry", "lasting_names", "names"]


def __dir__() -> list[str]:
    return sorted(__all__)
