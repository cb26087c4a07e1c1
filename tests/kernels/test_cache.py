"""Compiled kernels are cached in a folder named by the content of their sources."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tightrope
from tightrope.kernels.compiled import FOLDER, MOST_FOLDERS, find_compiled_sources, prepare_cache

PACKAGE = Path(tightrope.__file__).parent
INNER = """
from tightrope.kernels.compiled import compiled

@compiled
def inner(x):
    return x + {step}
"""
OUTER = """
from tightrope.kernels.compiled import compiled
from tightrope.kernels.inner import inner

@compiled
def outer(x):
    return inner(x)
"""
CALL = "from tightrope.kernels.outer import outer; print(outer(1))"
NOWHERE = os.devnull + "/folder"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, as an editable install, with a kernel that calls another."""
    copy = tmp_path / "install" / "tightrope"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    (copy / "kernels" / "inner.py").write_text(INNER.format(step=1))
    (copy / "kernels" / "outer.py").write_text(OUTER)
    return copy


def call(package: Path, code: str = CALL, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA")}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**inherited, "PYTHONPATH": str(package.parent), **environment},
    )


def test_a_change_in_a_called_kernel_is_noticed(package: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert call(package, NUMBA_CACHE_DIR=str(cache)).stdout == "2\n"
    (package / "kernels" / "inner.py").write_text(INNER.format(step=5))
    assert call(package, NUMBA_CACHE_DIR=str(cache)).stdout == "6\n"
    assert len(list(cache.glob(f"{FOLDER}*"))) == 2


def test_unchanged_kernels_are_not_compiled_again(package: Path) -> None:
    code = (
        "from numba.core import event\n"
        "with event.install_recorder('numba:compile') as compiled:\n"
        f"    {CALL}\n"
        "print(len(compiled.buffer))"
    )
    first, second = call(package, code), call(package, code)
    assert first.stdout.split()[1] != "0"
    assert second.stdout.split() == ["2", "0"]
    assert len(list((package / "__pycache__").glob(f"{FOLDER}*"))) == 1


def test_bounds_checks_have_a_cache_of_their_own(package: Path, tmp_path: Path) -> None:
    call(package, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    call(package, NUMBA_CACHE_DIR=str(tmp_path / "cache"), NUMBA_BOUNDSCHECK="1")
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_without_a_writable_folder_kernels_run_with_a_one_line_notice(package: Path) -> None:
    (package / "__pycache__").write_text("not a folder")
    done = call(package, NUMBA_CACHE_DIR=NOWHERE, XDG_CACHE_HOME=NOWHERE)
    assert done.stdout == "2\n"
    (notice,) = done.stderr.splitlines()
    assert notice.startswith("tightrope: no writable cache folder; ")
    assert "NUMBA_CACHE_DIR" in notice


def test_a_full_disk_costs_the_cache_only(package: Path) -> None:
    code = (
        "import resource, signal\n"
        "import tightrope.kernels.outer\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n" + CALL
    )
    done = call(package, code)
    assert done.stdout == "2\n"
    (notice,) = done.stderr.splitlines()
    assert "compiles its kernels again" in notice


def test_a_folder_that_was_not_used_for_long_is_removed(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tightrope.kernels.compiled.config.CACHE_DIR", str(tmp_path / "cache"))
    folders = []
    for step in range(MOST_FOLDERS + 2):
        (package / "kernels" / "inner.py").write_text(INNER.format(step=step))
        folder = prepare_cache(package)
        assert folder is not None
        os.utime(folder, (step, step))
        folders.append(folder)
    other = tmp_path / "cache" / "of-another-program"
    other.mkdir()
    assert [folder.exists() for folder in folders] == [False] * 2 + [True] * MOST_FOLDERS
    assert other.exists()


def test_a_folder_is_marked_as_used_whenever_a_process_uses_it(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tightrope.kernels.compiled.config.CACHE_DIR", str(tmp_path / "cache"))
    folder = prepare_cache(package)
    assert folder is not None
    os.utime(folder, (0, 0))
    assert prepare_cache(package) == folder
    assert folder.stat().st_mtime > 0


def test_a_broken_link_among_the_sources_is_passed_over(package: Path) -> None:
    (package / "kernels" / ".#inner.py").symlink_to("user@host.123")
    assert "kernels/inner.py" in find_compiled_sources(package)


def test_the_key_covers_every_file_that_compiled_code_imports() -> None:
    covered = find_compiled_sources(PACKAGE)
    starts = {
        name
        for path in PACKAGE.rglob("*.py")
        if "kernels.compiled import" in path.read_text()
        for name in [str(path.relative_to(PACKAGE))]
    }
    assert "experiments/simulate.py" in starts
    assert starts <= set(covered)
    for name in covered:
        assert set(imported(PACKAGE / name, name in starts)) <= set(covered), name
    assert {"learners/opt_dual.py", "learners/agent.py", "arrays.py"} <= set(covered)
    assert "learners/interactive.py" not in covered


def imported(path: Path, has_kernels: bool) -> list[str]:
    """Files of the package that a file imports, by a full reading of its syntax.

    In a file without compiled functions of its own, what is imported when a function is called
    does not count: kernels see the names of the module only. Nor do the imports of methods that
    display an object, which no kernel calls.
    """
    modules = []
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        is_function = isinstance(node, ast.FunctionDef)
        if not is_function or (has_kernels and node.name != "_repr_html_"):
            waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tightrope"):
            modules.append(f"{node.module}")
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
    files = [module.replace(".", "/").removeprefix("tightrope/") + ".py" for module in modules]
    return [file for file in files if (PACKAGE / file).is_file()]
