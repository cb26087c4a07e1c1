"""Model files: arrays in ``.npz`` for any size, text in ``.toml`` for models edited by hand.

Files are written atomically. Reading never runs code; an error names the file and the reason.
Reading checks the structure only: bad values stay in the draft, for the linter to list.

The members of an ``.npz`` file are plain arrays::

    format            "tightrope-model 1"
    about             JSON: horizon (or discount, 1 for long-run averages), noise, names, units, map
    indptr            (G, S*A + 1), row ends of each stage; G is 1 when nothing depends on time
    indices, data     successors and probabilities, stage after stage without padding
    cost              (S, A) or (H, S, A)
    constraint_cost   (I, S, A) or (I, H, S, A)
    budget, initial   (I,), (S,)
    allowed           (S, A) or (H, S, A); absent when every action exists everywhere
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightrope.arrays import Transitions, as_floats, require_integers, require_pointers
from tightrope.errors import ModelError, StoreError
from tightrope.files import first_line, put, read_arrays, reason, require_kind
from tightrope.model.csr import stack
from tightrope.model.draft import Draft, assemble, check_discount, required_horizon
from tightrope.model.layout import Layout, layout_from
from tightrope.model.units import Unit

NAME, VERSION = "tightrope-model", 1
FORMAT = f"{NAME} {VERSION}"
MOST_DIGITS = 9  # most digits of a version
KINDS = (".npz", ".toml")
NEEDED = ("about", "indptr", "indices", "data", "cost", "constraint_cost", "budget", "initial")

Arrays = Mapping[str, NDArray[Any]]
Contents = tuple[Draft, Unit | None, tuple[Unit, ...] | None, Layout | None]
"""The arguments of `CMDP.from_draft`."""


def write_model(
    path: Path, model: Draft, cost_unit: Unit, units: Sequence[Unit], layout: Layout | None
) -> None:
    """Write a settled draft to a ``.npz`` or ``.toml`` file atomically."""
    from tightrope.model.toml_text import encode_toml

    encode = encode_npz if _kind(path) == ".npz" else encode_toml
    with in_file(path):
        content = encode(model, cost_unit, units, layout)
    put(path, content)


def read_model(path: Path) -> Contents:
    """Read a model file of this or an earlier version; its values are not checked."""
    _kind(path)
    return contents_of(path, content_of(path))


def contents_of(path: Path, content: bytes) -> Contents:
    """Return the model in the content of a file of that name; its values are not checked."""
    from tightrope.model.toml import decode_toml

    kind = _kind(path)
    with in_file(path):
        if not content:
            raise ModelError("the file is empty", found="an empty file")
        is_zip = content.startswith(b"PK")
        if kind == ".toml" and is_zip:
            raise ModelError(
                "a zip archive under a .toml name; an .npz model must end in .npz",
                found="a zip archive",
                expected="TOML",
            )
        if kind == ".npz" and not is_zip:
            is_array = content.startswith(b"\x93NUMPY")
            found = "a single .npy array" if is_array else "not a zip archive"
            expected = "an .npz model file"
            raise ModelError(f"{found}, expected {expected}", found=found, expected=expected)
        return decode_npz(content) if kind == ".npz" else decode_toml(content)


@contextmanager
def in_file(path: str | PathLike[str]) -> Iterator[None]:
    """Put the name of a file before the errors of its content.

    An error that is about no part of the content has the file as its argument.
    """
    try:
        yield
    except ModelError as error:
        again = error.with_message(f"{Path(path)}: {error}")
        again.argument = error.argument or str(path)
        raise again from error


def _kind(path: Path) -> str:
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise ModelError(
            f"{path}: a model file ends in .npz or .toml, this name in "
            f"{repr(path.suffix) if path.suffix else 'neither'}",
            argument=str(path),
        )
    return kind


def content_of(path: Path) -> bytes:
    """Return the content of a model file, or raise a `ModelError` with the reason."""
    try:
        if path.exists() and not path.is_file():
            raise ModelError.about(
                str(path), shown="a directory or device", expected="a model file"
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: no such file", argument=str(path)) from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read: {reason(error)}", argument=str(path)) from error


def require_format(found: object) -> None:
    """Raise unless the format line is one that this version reads."""
    name, _, version = str(found).partition(" ")
    if name != NAME or not version.isdecimal() or len(version) > MOST_DIGITS:
        raise ModelError.about(
            "format", found=found, expected=repr(FORMAT), more="; not a model file of tightrope"
        )
    if int(version) > VERSION:
        raise ModelError.about(
            "format",
            more=(
                f"version {int(version)} is newer than this tightrope reads ("
                f"{VERSION}); update tightrope"
            ),
        )
    if int(version) < 1:
        raise ModelError.about("format", found=found, expected=repr(FORMAT))


def encode_npz(
    model: Draft, cost_unit: Unit, constraint_units: Sequence[Unit], layout: Layout | None
) -> bytes:
    """Return the archive of a settled draft."""
    p = model.transitions
    about = {
        **({"horizon": model.horizon} if model.discount is None else {"discount": model.discount}),
        "noise": model.noise,
        "state_names": model.names["s"],
        "action_names": model.names["a"],
        "constraint_names": model.names["i"],
        "cost_unit": _words(cost_unit),
        "constraint_units": [_words(unit) for unit in constraint_units],
        "layout": None if layout is None else layout.as_lists(),
    }
    used = p.indptr[:, -1]
    arrays: dict[str, Any] = {
        "format": FORMAT,
        "about": json.dumps(about).encode("ascii"),
        "indptr": p.indptr,
        "indices": np.concatenate([row[:n] for row, n in zip(p.indices, used, strict=True)]),
        "data": np.concatenate([row[:n] for row, n in zip(p.data, used, strict=True)]),
        "cost": _without_single_stage(model.cost, 0),
        "constraint_cost": _without_single_stage(model.constraint_cost, 1),
        "budget": model.budget,
        "initial": model.initial,
    }
    if model.allowed.shape[0]:
        arrays["allowed"] = _without_single_stage(model.allowed, 0)
    file = BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def decode_npz(content: bytes) -> Contents:
    """Return the contents of an archive; its structure must fit, its values may be bad."""
    arrays = _members(content)
    about = _about(arrays["about"])
    discount = about.get("discount")
    if discount is not None:
        discount = check_discount(discount)
        if "horizon" in about:
            raise ModelError.about("about", shown="horizon and discount", expected="one of them")
    H = required_horizon(about.get("horizon")) if discount is None else 1
    transitions, S = _transitions(arrays, H)
    losses = arrays["cost"], arrays["constraint_cost"], arrays["budget"]
    others = arrays["initial"], arrays.get("allowed"), about.get("noise", "")
    states, actions, constraints = (
        _names(about, f"{axis}_names") for axis in ("state", "action", "constraint")
    )
    names = states, actions, constraints
    model = assemble(transitions, S, H, *losses, *others, *names, discount)
    shown = about.get("constraint_units")
    if not isinstance(shown, list) or len(shown) != model.budget.size:
        raise ModelError.about(
            "about.constraint_units", expected=f"a list of {model.budget.size} units"
        )
    units = tuple(_unit(f"constraint_units[{i}]", words) for i, words in enumerate(shown))
    chart = about.get("layout")
    layout = None if chart is None else layout_from(chart)
    return model, _unit("cost_unit", about.get("cost_unit")), units, layout


def _members(content: bytes) -> Arrays:
    try:
        require_kind(content, NAME)
        arrays = read_arrays(content, ["format"])
        if "format" not in arrays:
            raise ModelError(
                "no member 'format': an .npz of something else, not a tightrope model",
                argument="format",
            )
        require_format(arrays["format"].tolist())
        arrays = read_arrays(content, [*NEEDED, "allowed"])
    except StoreError as error:
        raise ModelError(str(error)).with_fields_of(error) from error
    for name in NEEDED:
        if name not in arrays:
            raise ModelError.about(name, more="missing from the archive")
    return arrays


def _about(member: NDArray[Any]) -> dict[str, Any]:
    try:
        about = json.loads(member.item()) if member.dtype.kind in "SU" else None
    except (ValueError, RecursionError) as error:
        raise ModelError.about(
            "about", shown="not JSON text", more=f": {first_line(error)}"
        ) from error
    if not isinstance(about, dict):
        raise ModelError.about("about", expected="JSON text of an object")
    return about


def _transitions(arrays: Arrays, H: int) -> tuple[Transitions, int]:
    """Return transitions and S, after every check that keeps an index inside its array."""
    indptr, indices = arrays["indptr"], arrays["indices"]
    S = as_floats("initial", arrays["initial"]).size
    _require("initial", S > 0, "at least one state")
    shape = indptr.shape
    fits = len(shape) == 2 and shape[0] in (1, H) and shape[1] > S and (shape[1] - 1) % S == 0
    _require("indptr", fits, f"shape (1 or {H}, S*A + 1) with S = {S}, got {shape}")
    size = indices.size
    require_pointers("indptr", indptr, shape[1] - 1, size)
    ends = indptr.astype(np.int64)
    whole = sum(map(int, ends[:, -1])) == size
    _require("indices", indices.ndim == 1 and whole, f"as many as indptr says, got {size}")
    data = as_floats("data", arrays["data"])
    _require("data", data.shape == indices.shape, f"shape {indices.shape}, got {data.shape}")
    require_integers("indices", indices, 0, S - 1)
    stages, start = [], 0
    for row_ends in ends:
        columns = indices[start : start + row_ends[-1]].astype(np.int64)
        rows = np.repeat(np.arange(row_ends.size - 1), np.diff(row_ends))
        rising = bool((np.diff(rows * S + columns) > 0).all())
        _require("indices", rising, "successors that rise within each row")
        stages.append((row_ends, columns, data[start : start + row_ends[-1]]))
        start += int(row_ends[-1])
    return stack(stages), S


def _require(name: str, holds: bool, expected: str) -> None:
    if not holds:
        raise ModelError.about(name, expected=expected)


def _names(about: Mapping[str, Any], key: str) -> list[str] | None:
    names = about.get(key)
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelError.about(f"about.{key}", expected="a list of names")
    return names


def _unit(key: str, words: Any) -> Unit:
    kinds = [type(word) for word in words] if isinstance(words, list) else []
    if kinds != [str, float, float]:
        raise ModelError.about(
            f"about.{key}", found=words, shown=repr(words), expected="a name, a factor and a shift"
        )
    return Unit(*words)


def _words(unit: Unit) -> list[Any]:
    return [unit.name, float(unit.factor), float(unit.shift)]


def _without_single_stage(values: NDArray[Any], axis: int) -> NDArray[Any]:
    return values.squeeze(axis) if values.shape[axis] == 1 else values
