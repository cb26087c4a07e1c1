"""A private PostgreSQL server, from Debian's package, on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

__all__ = ["running_server"]


def programs():
    """The newest folder of PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=_version)
    assert found, "PostgreSQL is missing; make test installs it"
    return found[-1].parent


def _version(path):
    return int(path.parts[-3])


def _call(*words):
    # the server refuses to run as root
    lead = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    subprocess.run(
        [*lead, *map(str, words)],
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the server runs
        stderr=subprocess.DEVNULL,
    )


@contextmanager
def running_server():
    """Run a server while the block runs; yields the folder of its socket, user ``postgres``."""
    folder = Path(tempfile.mkdtemp(prefix="tightrope-pg-"))  # a socket's path must be short
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    data, bin_ = folder / "data", programs()
    try:
        _call(bin_ / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=on"
        _call(bin_ / "pg_ctl", "-D", data, "-l", folder / "log", "-o", options, "-w", "start")
        try:
            yield str(folder)
        finally:
            _call(bin_ / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
