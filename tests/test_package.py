"""Rules of the package: imports, docstrings and signatures, what loads on first use, names."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tightrope

SOURCE = Path(tightrope.__file__).parent
# a package imports only from packages before it
LAYERS = (
    "errors",
    "compiling",
    "text",
    "arrays",
    "files",
    "progress",
    "model",
    "kernels",
    "belief",
    "plan",
    "learners",
    "envs",
    "experiments",
    "offline",
    "study",
    "interop",
    "show",
    "cli",
)
MAY_IMPORT = {name: set(LAYERS[:place]) for place, name in enumerate(LAYERS)}
MAY_IMPORT["kernels"] = {"arrays", "compiling"}
HEAVY = {
    "numba",
    "scipy",
    "matplotlib",
    "highspy",
    "rich.progress",
    "jinja2",
    "sqlalchemy",
    "gymnasium",
}


def files() -> list[Path]:
    return sorted(
        path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem in MAY_IMPORT
    )


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def nodes_that_count(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but imports of `tightrope.show` in methods, which only show an object on demand."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            for each in ast.walk(child):
                module = getattr(each, "module", None) if isinstance(each, ast.ImportFrom) else None
                if module is None or not module.startswith("tightrope.show"):
                    yield each
        else:
            yield child
            yield from nodes_that_count(child)


def packages_imported(path: Path) -> Iterator[str]:
    for node in nodes_that_count(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            names = [node.module]
            if node.module == "tightrope":
                names = [f"tightrope.{a.name}" for a in node.names if a.name != "__version__"]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("tightrope."))


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_imports_only_what_the_table_allows(path: Path) -> None:
    package = package_of(path)
    assert set(packages_imported(path)) <= MAY_IMPORT[package] | {package}


def test_every_file_belongs_to_a_package_of_the_table() -> None:
    outside = {package_of(path) for path in SOURCE.rglob("*.py")} - set(MAY_IMPORT)
    assert outside <= {"__init__", "__main__"}


def modules() -> list[str]:
    found = pkgutil.walk_packages([str(SOURCE)], prefix="tightrope.")
    return sorted(module.name for module in found if not module.name.endswith("__main__"))


def public_callables() -> Iterator[tuple[str, Any]]:
    for module_name in modules():
        module = importlib.import_module(module_name)
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module_name:
                continue
            thing = getattr(thing, "py_func", thing)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield f"{module_name}.{name}", thing
            if inspect.isclass(thing):
                for word, member in vars(thing).items():
                    function = getattr(member, "__func__", member)
                    if not word.startswith("_") and inspect.isfunction(function):
                        yield f"{module_name}.{name}.{word}", function


def documented(docstring: str) -> list[str]:
    """Names in the Parameters section, in order."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", docstring, re.S | re.M)
    if section is None:
        return []
    heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :|$)", section[1], re.M)
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def parameters(thing: Any) -> list[str]:
    names = inspect.signature(thing).parameters
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


@pytest.mark.parametrize(
    ("name", "thing"), [pytest.param(*item, id=item[0]) for item in public_callables()]
)
def test_a_public_docstring_matches_its_signature(name: str, thing: Any) -> None:
    docstring = inspect.getdoc(thing)
    assert docstring, f"{name} has no docstring"
    if documented(docstring):
        assert documented(docstring) == parameters(thing)


def test_the_public_names_are_those_that_are_imported_on_first_use() -> None:
    assert sorted(tightrope.__all__) == sorted(tightrope._HOMES)
    assert set(tightrope.__all__) <= set(dir(tightrope))
    with pytest.raises(AttributeError, match="no attribute 'solv'"):
        _ = tightrope.solv


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_public_packages_list_only_their_public_names() -> None:
    for package in (tightrope.learners, tightrope.envs):
        assert dir(package) == sorted(package.__all__)


def test_importing_the_library_loads_no_heavy_part() -> None:
    loaded = loaded_after("import tightrope")
    assert not loaded & HEAVY
    assert not loaded & {"numpy", "rich", "typer"}
    assert len([name for name in loaded if name.startswith("tightrope")]) == 1


def test_help_loads_no_heavy_part() -> None:
    code = (
        "import io, contextlib\n"
        "sys.argv = ['tightrope', '--help']\n"
        "from tightrope.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main()"
    )
    assert not loaded_after(code) & (HEAVY | {"numpy"})


BRITISH = re.compile(
    r"(maxim|minim|random|real|optim|normal|recogn|summar|organ|initial|general|regular|penal|serial"
    r"|parametr|discret)is(e|ed|es|ing|ation)(?![a-z])|(col|behavi|fav|neighb|hon|tum)our|centre"
    r"|programmes?(?![a-z])|(label|cancel|model|level|travel)l(ed|ing)(?![a-z])|catalogue|analyse"
)


def test_names_are_in_american_spelling() -> None:
    found = {
        (path.stem, name)
        for path in SOURCE.rglob("*.py")
        for name in (path.stem, *re.findall(r"[A-Za-z]\w+", path.read_text(encoding="utf-8")))
        if BRITISH.search(name.lower())
    }
    old = {("storage", "centre")}  # in files of earlier versions
    assert found == old


def test_no_two_files_of_tests_have_the_same_name() -> None:
    """pytest imports each by its name alone, and refuses to collect a second one."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_the_version_is_written_in_one_place() -> None:
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"]
    assert "version" not in project
    for name in ("CITATION.cff", "docs/conf.py", "README.md", "paper/paper.md"):
        assert tightrope.__version__ not in (root / name).read_text(), name
