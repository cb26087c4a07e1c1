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


class Server:
    """A server with its data in a folder, where its socket is too; its user is ``postgres``."""

    def __init__(self, folder):
        self.folder, self._data, self._programs = folder, folder / "data", programs()
        making = ("-A", "trust", "-U", "postgres", "-E", "UTF8")
        _call(self._programs / "initdb", "-D", self._data, *making)
        self.start()

    def start(self):
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=on"
        log = self.folder / "log"
        _call(self._programs / "pg_ctl", "-D", self._data, "-l", log, "-o", options, "-w", "start")

    def crash(self):
        """Stop at once, as when the power goes: what is not in the log is lost."""
        _call(self._programs / "pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")


@contextmanager
def running_server():
    """A server that runs while the block runs."""
    folder = Path(tempfile.mkdtemp(prefix="tightrope-pg-"))  # a socket's path must be short
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    try:
        server = Server(folder)
        try:
            yield server
        finally:
            server.crash()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
