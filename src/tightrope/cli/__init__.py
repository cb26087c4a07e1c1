"""The command line: words to calls, calls to words."""

from tightrope.cli.app import main

__all__ = ["main"]
