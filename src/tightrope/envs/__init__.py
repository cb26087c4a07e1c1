"""Environments: functions that build a CMDP, and the catalog of their names."""

from tightrope.envs.catalog import Entry, build, complete_parameters, entry, names, parse

__all__ = ["Entry", "build", "complete_parameters", "entry", "names", "parse"]
