"""Compiling announces itself once, on a terminal; what kernels and their decorators guarantee."""

from __future__ import annotations

import gc
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

from tightrope.kernels.compiled import IS_LINKED, compact, compiled, inlined

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


def test_nothing_is_printed_without_a_terminal(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", CALL], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stderr == ""


def test_the_log_says_once_that_kernels_compile(tmp_path: Path) -> None:
    setup = "import logging\nlogging.basicConfig(level='INFO', format='%(name)s: %(message)s')\n"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", setup + CALL],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        ).stderr.splitlines()
        for _ in range(2)
    )
    assert first == [f"tightrope.kernels.compiled: {NOTICE}"]
    assert second == []


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("argument", [1.0, "text"])
def test_compiling_leaves_garbage_collection_as_it_was(
    is_enabled: bool, argument: float | str
) -> None:
    @compiled
    def tripled(x: float) -> float:
        return x + x + x

    assert gc.isenabled()
    try:
        if not is_enabled:
            gc.disable()
        with suppress(NumbaError):
            tripled(argument)
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()


def test_a_kernel_that_allocates_does_not_compile() -> None:
    @compiled
    def doubled_total(x: np.ndarray) -> float:
        return float((x + x).sum())

    with pytest.raises(NumbaError, match="NRT required"):
        doubled_total(np.ones(2))


@compact
def add_halves(x: np.ndarray, out: np.ndarray) -> float:
    total = 0.0
    for k in range(x.size):
        half = 0.5 * x[k]
        if half > 1.0:
            total += half
        out[k] += half
    return total


@inlined
def larger(a: float, b: float) -> float:
    return a if a > b else b


@compiled
def add_twice(x: np.ndarray, out: np.ndarray) -> float:
    most = 0.0
    for _ in range(2):
        most = larger(most, add_halves(x, out))
    return most


def test_a_kernel_is_finished_only_where_python_calls_it() -> None:
    x, out = np.arange(5.0), np.zeros(5)
    assert add_twice(x, out) == 3.5
    assert out.tolist() == x.tolist()
    assert len(add_twice.overloads) == 1
    assert not add_halves.overloads
    assert not larger.overloads
    translated = add_halves.callee.overloads
    assert add_halves(x, out) == 3.5
    assert out.tolist() == (1.5 * x).tolist()
    assert len(add_halves.overloads) == 1
    # none with a warm cache; kernels of other versions of Numba are compiled whole
    assert len(translated) <= IS_LINKED


def test_what_compiled_callers_get_cannot_be_called_from_python() -> None:
    with pytest.raises(TypeError, match="compiled callers"):
        add_halves.callee(np.ones(2), np.ones(2))


def test_kernels_compiled_as_any_function_give_the_same_bits() -> None:
    code = (
        "import tightrope as tr; plan = tr.solve('ring'); print(plan.value.hex(), plan.gap.hex())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={**os.environ, "TIGHTROPE_PLAIN_NUMBA": plain},
            check=True,
        ).stdout
        for plain in ("", "1")
    }
    assert len(found) == 1
