"""Environments: functions that build a CMDP, and the catalogue of their names."""

from tightrope.envs.catalogue import Entry, build, completed, entry, names, parse

__all__ = ["Entry", "build", "completed", "entry", "names", "parse"]
