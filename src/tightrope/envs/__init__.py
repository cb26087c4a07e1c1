"""Environments: functions that build a CMDP, and the catalogue of their names."""

from tightrope.envs.catalogue import Entry, build, complete_parameters, entry, names, parse

__all__ = ["Entry", "build", "complete_parameters", "entry", "names", "parse"]
