"""Compiling announces itself once, on a terminal, and kernels keep the house's promises."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

from tightrope.kernels.compiled import compiled

NOTICE = "compiling kernels (once per machine)"
CALL = (
    "import numpy as np\n"
    "from tightrope.kernels.scratch import copy\n"
    "out = np.zeros(3)\n"
    "copy(np.arange(3.0), out)\n"
    "copy(np.arange(3), np.zeros(3, dtype=np.int64))\n"
    "assert out.tolist() == [0, 1, 2]\n"
)


def stderr_on_a_terminal(code: str, cache: Path) -> str:
    leader, follower = pty.openpty()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, "-c", code], stderr=follower, env=environment, check=True)
    os.close(follower)
    said = b""
    with suppress(OSError):  # raised when the other end is closed and all is read
        while part := os.read(leader, 4096):
            said += part
    os.close(leader)
    return said.decode()


def test_the_first_compile_is_announced_once_and_a_cached_one_is_silent(tmp_path: Path) -> None:
    first = stderr_on_a_terminal(CALL + "raise SystemExit(0)", tmp_path)
    assert first.count(NOTICE) == 1
    assert NOTICE not in stderr_on_a_terminal(CALL, tmp_path)


def test_nothing_is_announced_where_nobody_watches(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CALL], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stderr == ""


def test_a_kernel_that_allocates_does_not_compile() -> None:
    @compiled
    def doubled_total(x: np.ndarray) -> float:
        return float((x + x).sum())

    with pytest.raises(NumbaError, match="NRT required"):
        doubled_total(np.ones(2))
