"""Environments: functions that build a CMDP, and the catalogue of their names."""

from tightrope.envs.catalogue import build, completed, entry, names, parse
from tightrope.envs.entries import Entry

__all__ = ["Entry", "build", "completed", "entry", "names", "parse"]
