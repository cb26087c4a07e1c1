"""Decorators that compile kernels, and the folder in which compiled kernels are cached.

Numba notices a change in the file of a cached function, but not in the files of the functions it
calls. The cache folder is therefore named by the content of every source file that compiled code
can depend on, so changed sources never run with kernels compiled from older ones.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core import config as numba_config
from numba.core import event
from numba.core.caching import FunctionCache

from tightrope.compiling import CLOCK, COMPILING

LOG = logging.getLogger(__name__)
config: Any = numba_config  # without types
F = TypeVar("F", bound=Callable[..., Any])

# `kernels.linking` depends on the inside of Numba's compiler, which other versions may change;
# with those, or if the variable is set, kernels compile as any function does, in twice the time
TESTED = ((0, 61), (0, 68))
VERSION = tuple(int(word) for word in numba.__version__.split(".")[:2])
IS_LINKED = TESTED[0] <= VERSION <= TESTED[1] and not os.environ.get("TIGHTROPE_PLAIN_NUMBA")
if IS_LINKED:
    from tightrope.kernels.linking import COMPACT, CalleeCompiler, Kernel

# Without Numba's runtime a kernel that allocates does not compile, and arrays are not reference
# counted, which inside a loop over rows costs as much as the row. The caller keeps them alive.
WITHOUT_ALLOCATION: Any = {"_nrt": False, "error_model": "numpy"}
# for functions that `overload` makes available to compiled code
CALLEE: Any = {"nogil": True, **WITHOUT_ALLOCATION}
if IS_LINKED:
    CALLEE["pipeline_class"] = CalleeCompiler
INLINED: Any = {"forceinline": True, **CALLEE}

PACKAGE = Path(__file__).parent.parent
FOLDER = "tightrope-kernels-"  # start of the name of a cache folder; the key follows
MOST_FOLDERS = 8  # in one parent; the least recently used are removed when another is made
IMPORT = re.compile(r"^from tightrope([\w.]*) import (?:\(([^)]*)\)|([^\n(]*))", re.M)


def find_compiled_sources(package: Path) -> dict[str, bytes]:
    """Find the source files that compiled code can depend on.

    Content by path relative to the package: the files that import this module, and all files of the
    package that those import, directly or through others.
    """
    contents = {str(path.relative_to(package)): path.read_bytes() for path in _sources(package)}
    found: dict[str, bytes] = {}
    waiting = [name for name, content in contents.items() if b"kernels.compiled import" in content]
    waiting.append("kernels/linking.py")  # its import depends on the version of Numba
    while waiting:
        name = waiting.pop()
        if name in found or name not in contents:
            continue
        found[name] = contents[name]
        for module, several, few in IMPORT.findall(contents[name].decode()):
            path = Path(*module.split("."))
            waiting += [str(path) + ".py", str(path / "__init__.py")]
            waiting += [str(path / f"{word}.py") for word in re.findall(r"\w+", several or few)]
    return found


def _sources(package: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(package):
        folders[:] = [name for name in folders if name != "__pycache__"]
        paths = (Path(folder, name) for name in files if name.endswith(".py"))
        yield from (path for path in paths if path.is_file())  # editors leave broken links


def prepare_cache(package: Path) -> Path | None:
    """Make the folder for compiled kernels, and remove folders that were not used for long.

    It lies in ``NUMBA_CACHE_DIR`` if that is set, else beside the sources, else in the user's cache
    directory; None if there is no source to name it by or none can be written.
    """
    sources = find_compiled_sources(package)
    if not sources:
        return None
    key = hashlib.sha256(f"{numba.__version__} {config.BOUNDSCHECK} {IS_LINKED}".encode())
    for name, content in sorted(sources.items()):
        key.update(f"\n{name} {len(content)}\n".encode() + content)
    for parent in _parents(package):
        folder = parent / f"{FOLDER}{key.hexdigest()[:16]}"
        with suppress(OSError):
            is_new = not folder.is_dir()
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)  # used now
            if is_new:
                _remove_old(parent)
            return folder
    return None


def _parents(package: Path) -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    yield package / "__pycache__"
    user = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home directory
        yield (Path(user) if user else Path.home() / ".cache") / "tightrope"


def _remove_old(parent: Path) -> None:
    def last_used(folder: Path) -> float:
        with suppress(OSError):  # removed by another process meanwhile
            return folder.stat().st_mtime
        return 0.0

    folders = sorted(parent.glob(f"{FOLDER}*"), key=last_used)
    for folder in folders[:-MOST_FOLDERS]:
        shutil.rmtree(folder, ignore_errors=True)


CACHE = prepare_cache(PACKAGE)


class KernelCache(FunctionCache):
    """Numba's cache of one function; a result that cannot be saved is used all the same.

    Code for records of other packages is not cached: the folder does not notice changes in their
    sources, and an index that names their classes can be read only where they can be imported.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load compiled code, None if there is none."""
        if has_foreign_record(sig):
            return None
        return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code, and say once if that is not possible."""
        if has_foreign_record(sig):
            return
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            NOTICES.say_uncached(f"{error.strerror}: {self.cache_path}")


def has_foreign_record(kind: Any) -> bool:
    """Whether a Numba type, or one of several, has a named tuple of another package in it."""
    if isinstance(kind, tuple):
        return any(map(has_foreign_record, kind))
    own = getattr(kind, "instance_class", None)
    if own is not None and own.__module__.partition(".")[0] != PACKAGE.name:
        return True
    return has_foreign_record(tuple(getattr(kind, "types", ()) or getattr(kind, "args", ())))


def compiled(function: F) -> F:
    """Compile a kernel on first use, cache it on disk, and let other threads run meanwhile."""
    return _kernel(function, WITHOUT_ALLOCATION)


def compact(function: F) -> F:
    """Compile a kernel for size: one with short loops, which gain nothing from being unrolled."""
    if IS_LINKED:
        COMPACT.add(function)
    return compiled(function)


def inlined(function: F) -> F:
    """Compile a function into its callers: a call with records of arrays costs more than a row."""
    return _kernel(function, {"forceinline": True, **WITHOUT_ALLOCATION})


def expanded(function: F) -> F:
    """Put a function into its callers before they are compiled.

    It is then not compiled by itself; for functions with one or two callers.
    """
    return cast(F, njit(nogil=True, inline="always", **WITHOUT_ALLOCATION)(function))


def _kernel(function: F, options: Any) -> F:
    if config.DISABLE_JIT:
        return function
    dispatcher: Any
    if IS_LINKED:
        dispatcher = Kernel(function, {}, {"nopython": True, "nogil": True, **options})
    else:
        dispatcher = njit(nogil=True, **options)(function)
    if CACHE is not None:
        before, config.CACHE_DIR = config.CACHE_DIR, str(CACHE)
        try:
            with suppress(RuntimeError):  # no source file, as at a prompt
                dispatcher._cache = KernelCache(function)  # type: ignore[no-untyped-call]
        finally:
            config.CACHE_DIR = before
    return cast(F, dispatcher)


class CompileNotices(event.Listener):
    """Runs the clock of compilations; says once per process that they began or are not cached."""

    def __init__(self) -> None:
        self.is_compiling_said = self.is_uncached_said = False

    def on_start(self, event: Any) -> None:
        """Start the clock, and announce the first compilation: in the log, and to a person.

        Where a progress bar shows it, nothing is printed.
        """
        CLOCK.start()
        if not self.is_compiling_said:
            LOG.info(COMPILING)
        if CACHE is None:
            self.say_uncached("no writable cache folder")
        elif not self.is_compiling_said and not CLOCK.n_bars and _is_watched():
            _say(f"{COMPILING} ...")
        self.is_compiling_said = True

    def on_end(self, event: Any) -> None:
        """Stop the clock."""
        CLOCK.stop()

    def say_uncached(self, why: str) -> None:
        """Say that the next process compiles again."""
        if not self.is_uncached_said:
            _say(f"{why}; every process compiles its kernels again (set NUMBA_CACHE_DIR)")
        self.is_uncached_said = True


def _is_watched() -> bool:
    """Whether a person reads stderr: on a terminal or in a notebook."""
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def _say(words: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # closed or full
            sys.stderr.write(f"tightrope: {words}\n")
            sys.stderr.flush()


NOTICES = CompileNotices()
event.register("numba:compile", NOTICES)  # type: ignore[no-untyped-call]
