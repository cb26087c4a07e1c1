"""Docstrings of public objects: sections that match the signature, and examples that run.

Public is what ``tightrope``, ``tightrope.envs`` and ``tightrope.learners`` list, and what the pages
of the reference document.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import tightrope as tr
from tightrope.learners import Learner

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
DIRECTIVE = re.compile(
    r"^\.\. (currentmodule|autofunction|autoclass|autoexception):: ([\w.]+)$", re.M
)
LISTED = (tr, tr.envs, tr.learners)
# numpydoc's order
SECTIONS = (
    "Parameters",
    "Returns",
    "Yields",
    "Raises",
    "See Also",
    "Notes",
    "References",
    "Examples",
)
# methods that a new learner defines and the library calls, see docs/developer/new-learner.md
HOOKS = {
    "baseline_policy",
    "baseline_reason",
    "begin_earlier",
    "check_state",
    "clean_state",
    "episodes_per_call",
    "init",
    "is_due",
    "plan",
    "planned_occupancy",
    "prepare",
    "radii",
    "rescale",
    "resolve",
}
HEAD = re.compile(rf"^({'|'.join(SECTIONS)})\n(-+)$", re.M)


def resolve(dotted: str) -> Any:
    """The object of a dotted name; its module is the longest part that can be imported."""
    module_name, _, rest = dotted.rpartition(".")
    try:
        return getattr(importlib.import_module(module_name), rest)
    except ModuleNotFoundError:
        return getattr(resolve(module_name), rest)


def documented_in(page: Path) -> Iterator[str]:
    """Dotted names of the objects that a page of the reference documents."""
    module = "tightrope"
    for kind, name in DIRECTIVE.findall(page.read_text()):
        if kind == "currentmodule":
            module = name
        else:
            yield name if name.startswith("tightrope.") else f"{module}.{name}"


def public_objects() -> dict[str, Any]:
    """Public functions and classes, by name; each once."""
    names = [f"{module.__name__}.{name}" for module in LISTED for name in module.__all__]
    names += [name for page in sorted(REFERENCE.glob("*.md")) for name in documented_in(page)]
    found: dict[int, tuple[str, Any]] = {}
    for name in names:
        thing = resolve(name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            found.setdefault(id(thing), (name, thing))
    return dict(found.values())


PUBLIC = public_objects()


def members(thing: Any) -> Iterator[tuple[str, Any]]:
    """Public methods and properties of a class; what a base class documents is left out."""
    for word, member in vars(thing).items() if inspect.isclass(thing) else ():
        is_documented = any(hasattr(base, word) for base in thing.__mro__[1:])
        if not word.startswith("_") and not is_documented:
            if isinstance(member, property | cached_property):
                yield word, member
            elif inspect.isfunction(getattr(member, "__func__", member)):
                yield word, getattr(member, "__func__", member)


def returned(function: Any) -> str:
    """The return annotation, as it is written."""
    return str(function.__annotations__.get("return", "None"))


def parameters(thing: Any) -> list[str]:
    """Public parameters of a function or class."""
    names = inspect.signature(thing).parameters
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def sections(docstring: str) -> dict[str, str]:
    """The text of each section of a numpydoc docstring, in order."""
    parts = HEAD.split(docstring)[1:]
    for title, line in zip(parts[0::3], parts[1::3], strict=True):
        assert len(line) == len(title), f"the line under {title}"
    return dict(zip(parts[0::3], parts[2::3], strict=True))


def heads(section: str) -> list[str]:
    """Names that a section of parameters describes."""
    lines = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :|$)", section, re.M)
    return [name.strip().lstrip("*") for line in lines for name in line.split(",")]


def complaints(name: str, thing: Any) -> Iterator[str]:
    """What is missing or wrong in the docstring of an object and of its members."""
    found = sections(inspect.getdoc(thing) or "")
    if list(found) != sorted(found, key=SECTIONS.index):
        yield f"{name}: sections in the order {', '.join(SECTIONS)}"
    if ">>> " not in found.get("Examples", ""):
        yield f"{name}: no Examples"
    yield from wrong_signature(name, thing, found)
    for word, member in members(thing):
        path = f"{name}.{word}"
        found = sections(inspect.getdoc(member) or "")
        if not inspect.getdoc(member):
            yield f"{path}: no docstring"
        if inspect.isfunction(member):
            is_hook = inspect.isclass(thing) and issubclass(thing, Learner) and word in HOOKS
            if not is_hook and ">>> " not in found.get("Examples", ""):
                yield f"{path}: no Examples"
            yield from wrong_signature(path, member, found)


def wrong_signature(name: str, thing: Any, found: dict[str, str]) -> Iterator[str]:
    is_plain_error = (
        inspect.isclass(thing) and issubclass(thing, Exception) and "__init__" not in vars(thing)
    )
    if parameters(thing) and not is_plain_error:
        told = heads(found.get("Parameters", ""))
        if told != parameters(thing):
            yield f"{name}: Parameters {told}, the signature has {parameters(thing)}"
    is_function = inspect.isfunction(thing) and parameters(thing)
    if is_function and returned(thing) != "None" and not {"Returns", "Yields"} & set(found):
        yield f"{name}: no Returns"


@pytest.mark.parametrize(("name", "thing"), PUBLIC.items(), ids=list(PUBLIC))
def test_the_docstring_of_a_public_object_is_complete_and_its_examples_run(
    name: str, thing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not list(complaints(name, thing))
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder().find(thing, name, globs={}):
        output: list[str] = []
        runner.run(test, out=output.append)
        assert runner.failures == 0, "".join(output)


def test_a_docstring_with_faults_is_found() -> None:
    def bare(x, y):  # type: ignore[no-untyped-def]
        """Add.

        Examples
        --------
        >>> 1 + 1
        2

        Parameters
        ----------
        x : int
        """

    found = list(complaints("bare", bare))
    assert len(found) == 2
    assert "order" in found[0]
    assert "['x', 'y']" in found[1]
    assert any("no Examples" in each for each in complaints("Path", Path))
