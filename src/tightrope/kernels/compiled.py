"""The one decorator of the compiled kernels, and the notice that a first compile is under way.

Compiled code is kept on disk beside the source (or in the user's cache directory when that cannot
be written), so a machine compiles once. The notice goes to stderr and only to a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

__all__ = ["INLINED", "WITHOUT_ALLOCATION", "compiled", "inlined"]

F = TypeVar("F", bound=Callable[..., Any])

# Without Numba's runtime a kernel that allocates does not compile, and arrays are not reference
# counted, which inside a loop over rows costs as much as the row. The caller keeps them alive.
WITHOUT_ALLOCATION: Any = {"_nrt": False, "error_model": "numpy"}
INLINED: Any = {"forceinline": True, **WITHOUT_ALLOCATION}


def compiled(function: F) -> F:
    """Compile a kernel on first use, cache it on disk, and let other threads run meanwhile."""
    return cast(F, njit(cache=True, nogil=True, **WITHOUT_ALLOCATION)(function))


def inlined(function: F) -> F:
    """Compile a function into its callers: a call with records of arrays costs more than a row."""
    return cast(F, njit(cache=True, nogil=True, **INLINED)(function))


class FirstCompileNotice(event.Listener):
    """Says once per process that kernels compile; cached kernels stay silent."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        if not self.said and sys.stderr.isatty():
            sys.stderr.write("tightrope: compiling kernels, once on this machine ...\n")
            sys.stderr.flush()
        self.said = True

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


event.register("numba:compile", FirstCompileNotice())  # type: ignore[no-untyped-call]
