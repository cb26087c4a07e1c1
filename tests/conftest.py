"""Marks tests by what they need, so that ``pytest`` alone runs on any machine.

The default run leaves out what needs a browser, a database server, a cluster or Storm, and what
takes minutes; ``make test`` runs everything.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from contextlib import suppress

os.environ.pop("COLUMNS", None)  # set in parallel workers; commands would wrap their tables

# a run in the background ignores interrupts, and so would the commands that tests interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)

FIXTURES = {"browser": "browser", "server": "postgres"}
MODULES = {"test_clusters": "cluster", "test_drn": "storm", "test_processes": "slow"}

collect_ignore = []
if importlib.util.find_spec("stormpy") is None:
    collect_ignore.append("interop/test_drn.py")


def pytest_collection_modifyitems(items):
    for item in items:
        for name, mark in FIXTURES.items():
            if name in item.fixturenames:
                item.add_marker(mark)
        if getattr(item, "callspec", None) and item.callspec.params.get("where") == "postgresql":
            item.add_marker("postgres")
        module = item.module.__name__.rpartition(".")[2]
        if module in MODULES:
            item.add_marker(MODULES[module])


def pytest_sessionstart(session):
    """Compile the kernels once for all workers, before a run of the whole suite."""
    config = session.config
    is_controller = not hasattr(config, "workerinput") and config.getoption("numprocesses", None)
    if is_controller and config.args == config.getini("testpaths"):
        words = [sys.executable, "-m", "tightrope", "compile", "--algorithm", "all"]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
