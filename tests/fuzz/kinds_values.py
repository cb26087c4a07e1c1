"""Values that no argument expects, and valid values with one thing wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["WORDS", "hostile", "mutate_bytes", "mutate_text", "perturb", "pick"]

WORDS = [
    "",
    " ",
    "x",
    "-",
    "=",
    "a=b",
    "=1",
    "nan",
    "inf",
    "-1",
    "0",
    "1",
    "2.5",
    "1e999",
    "-1e-300",
    "9" * 400,
    "1" * 5000,
    "0x10",
    "1_000",
    "\u0661",
    "true",
    "None",
    "[]",
    "{}",
    "a" * 300,
    "a" * 5000,
    "../..",
    "/",
    "/dev/null",
    "/nonexistent/file.npz",
    "model.npz",
    "model.toml",
    "\x1b[31m",
    "a\nb",
    "a\tb",
    "\u2028",
    "\u202e",
    "\ud800",
    "\U0010ffff",
    "=cmd()",
    "ring",
    "OptCMDP",
    "0:1",
    "x=0:1",
    "x=1:0",
    "x=nan:inf",
    "1-3",
    "gym:",
    "gym:FrozenLake-v1",
    "sqlite://",
    "postgresql://u:secret@nowhere.invalid/x",
    "http://x",
    "*",
    "%s",
    "{0}",
    "'; DROP TABLE x; --",
]


def pick(rng: np.random.Generator, options: Any) -> Any:
    """One of a sequence, whatever its types."""
    options = list(options)
    return options[int(rng.integers(len(options)))]


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def _sparse(rng: np.random.Generator) -> Any:
    matrix = sparse.random(
        int(rng.integers(1, 8)), int(rng.integers(1, 5)), 0.5, random_state=int(rng.integers(99))
    )
    return getattr(matrix, pick(rng, ["tocsr", "tocsc", "tocoo", "tolil", "todok", "tobsr"]))()


def _array(rng: np.random.Generator) -> Any:
    shape = tuple(rng.integers(0, 4, size=int(rng.integers(0, 5))))
    kinds = [
        "f8",
        "f4",
        "f2",
        ">f8",
        "i8",
        "u8",
        "i1",
        "bool",
        "c16",
        "U3",
        "S3",
        "O",
        "M8[s]",
        "m8[s]",
        "g",
    ]
    array = rng.integers(-2, 3, size=shape)
    try:
        return array.astype(np.dtype(pick(rng, kinds)))
    except (TypeError, ValueError):
        return array.astype(object)


VALUES: list[Callable[[np.random.Generator], Any]] = [
    lambda rng: None,
    lambda rng: bool(rng.integers(2)),
    lambda rng: pick(
        rng, [0, 1, -1, 2, 3, 7, 10, 2**31, 2**63, -(2**63), 2**64, 10**400, 10**5000]
    ),
    lambda rng: pick(rng, [0.0, -0.0, 0.5, 1.0, -1.0, 1.5, 1e-300, 5e-324, 1e18, 1e308]),
    lambda rng: pick(rng, [np.nan, np.inf, -np.inf]),
    lambda rng: pick(rng, [np.int64(2), np.uint8(3), np.float32(0.5), np.float64(2), np.bool_(1)]),
    lambda rng: pick(rng, WORDS),
    lambda rng: pick(rng, WORDS).encode("utf-8", "surrogatepass"),
    lambda rng: pick(rng, [(), [], {}, set(), "", b"", frozenset()]),
    lambda rng: [hostile(rng) for _ in range(int(rng.integers(1, 4)))],
    lambda rng: tuple(hostile(rng) for _ in range(int(rng.integers(1, 4)))),
    lambda rng: {pick(rng, ["cost", "d0", "x", 0, None, (1,)]): hostile(rng)},
    lambda rng: pick(rng, [[[0.5], [0.5, 0.5]], [[1, 2], 3], _nested(40), _nested(900)]),
    lambda rng: pick(rng, [1j, Fraction(1, 3), Decimal("0.1"), Path("x"), range(3), slice(2)]),
    lambda rng: pick(rng, [object, object(), int, len, np, NotImplemented, ..., Exception("x")]),
    lambda rng: (each for each in (1, 2, 3)),
    lambda rng: iter([]),
    lambda rng: memoryview(b"abc"),
    lambda rng: np.ma.masked_array([0.5, 0.5], mask=[True, False]),
    lambda rng: np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    lambda rng: np.array([1, "a", None], dtype=object),
    lambda rng: np.asmatrix(np.eye(2)),
    lambda rng: lambda *given, **named: 0,
    _array,
    _array,
    _sparse,
]


def hostile(rng: np.random.Generator) -> Any:
    """A value of a kind that the argument hardly expects."""
    return pick(rng, VALUES)(rng)


NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 2.0, 1e308, -1e308, 5e-324, 1e-300, 0.0, 1e18, -1e-9]


def perturb(rng: np.random.Generator, value: Any) -> Any:
    """A valid value with one thing wrong: an entry, a shape, a type."""
    if isinstance(value, np.ndarray):
        try:
            return _perturb_array(rng, value)
        except (TypeError, ValueError, IndexError, OverflowError, SystemError):  # not of this type
            return value
    if sparse.issparse(value):  # before tables: one of the formats is a dict
        try:
            return _perturb_sparse(rng, value) if _is_sound(value) else value
        except (TypeError, ValueError, IndexError, OverflowError):
            return value
    if isinstance(value, (list, tuple)) and value:
        changed = list(value)
        k = int(rng.integers(len(changed)))
        what = int(rng.integers(4))
        if what == 0:
            changed[k] = perturb(rng, changed[k])
        elif what == 1:
            changed[k] = hostile(rng)
        elif what == 2:
            del changed[k]
        else:
            changed.insert(k, changed[k])
        return changed if rng.random() < 0.8 else tuple(changed)
    if isinstance(value, dict) and value:
        changed_table = dict(value)
        key = pick(rng, changed_table)
        what = int(rng.integers(4))
        if what == 0:
            changed_table[key] = perturb(rng, changed_table[key])
        elif what == 1:
            changed_table[key] = hostile(rng)
        elif what == 2:
            del changed_table[key]
        else:
            changed_table[pick(rng, WORDS)] = changed_table[key]
        return changed_table
    if isinstance(value, str):
        return mutate_text(rng, value)
    if isinstance(value, bool):
        return pick(rng, [np.bool_(value), int(value), str(value), None])
    if isinstance(value, (int, float)) and abs(value) < 2**60:
        return pick(
            rng,
            [
                -value,
                value + 1,
                value * 1e18,
                float(value),
                np.float32(value),
                np.float64(value),
                np.array(value),
                np.array([value]),
                str(value),
                [value],
                np.int64(int(value)),
                np.uint8(int(abs(value)) % 256),
            ],
        )
    return hostile(rng)


def _perturb_array(rng: np.random.Generator, value: Any) -> Any:
    value = value.copy()
    what = int(rng.integers(9))
    if what <= 2 and value.size:
        flat = value.reshape(-1)
        k = int(rng.integers(flat.size))
        if value.dtype.kind == "f":
            flat[k] = pick(rng, NUMBERS)
        elif value.dtype.kind in "iu":
            info = np.iinfo(value.dtype)
            flat[k] = pick(rng, [info.min, info.max, info.min // 2, info.max // 2 + 1, 0, 1, 7])
        elif value.dtype.kind == "b":
            flat[k] = not flat[k]
        return flat.reshape(value.shape)
    if what == 3 and value.ndim:
        return np.delete(value, 0, axis=int(rng.integers(value.ndim)))
    if what == 4 and value.ndim:
        return np.concatenate([value, value], axis=int(rng.integers(value.ndim)))
    if what == 5:
        return pick(rng, [value[None], value.T, np.asfortranarray(value), value.reshape(-1)])
    if what == 6:
        kinds = ["f4", "f2", ">f8", "i8", "u1", "bool", "c16", "O", "U8", "S8", "g", ">i4"]
        return value.astype(pick(rng, kinds))
    if what == 7:
        return value.tolist()
    return pick(rng, [value[..., ::-1], value * np.nan, value - 1, value * 0, value[:0]])


def _is_sound(value: Any) -> bool:
    """Whether SciPy can convert a matrix without leaving its arrays."""
    if value.format in ("csr", "csc"):
        try:
            value.check_format(full_check=True)
        except (TypeError, ValueError, IndexError, OverflowError):
            return False
    if value.format == "coo":
        pairs = ((value.row, value.shape[0]), (value.col, value.shape[1]))
        return all(((part >= 0) & (part < size)).all() for part, size in pairs)
    return True


def _perturb_sparse(rng: np.random.Generator, value: Any) -> Any:
    value = copy.deepcopy(value)
    parts = [part for part in ("indices", "indptr", "data", "row", "col") if hasattr(value, part)]
    part = pick(rng, parts)
    array = getattr(value, part)
    what = int(rng.integers(5)) if value.format in ("csr", "csc", "coo") else 0
    if what <= 2 and array.size:
        wrong = NUMBERS if part == "data" else [-1, 1, 3, 4, 7, 2**31 - 1, -(2**31), 2**20]
        array[int(rng.integers(array.size))] = pick(rng, wrong)
    elif what <= 3:
        return value.astype(pick(rng, [np.float32, np.int64, np.complex128, np.bool_]))
    else:
        return pick(rng, [value.T, value[:-1] if value.format == "csr" else value, value.todense()])
    return value


PIECES = [
    b"",
    b"\x00",
    b"\n",
    b",",
    b'"',
    b"[",
    b"]" * 20,
    b"[" * 2000,
    b"{" * 2000,
    b"-1",
    b"nan",
    b"1e999",
    b"9" * 400,
    b"1" * 5000,
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"true",
    b"null",
    b"PK\x03\x04",
    b"=1+1",
    b"\\ud800",
    b"\\u0000",
]


def mutate_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    """Content with a few pieces changed, doubled, moved or cut out."""
    for _ in range(int(rng.integers(1, 4))):
        n = len(content)
        k = int(rng.integers(n + 1))
        length = int(rng.integers(1, 2 + min(40, n)))
        what = int(rng.integers(7))
        if what == 0:
            content = content[:k] + pick(rng, PIECES) + content[k:]
        elif what == 1:
            content = content[:k] + pick(rng, PIECES) + content[k + length :]
        elif what == 2:
            content = content[:k] + content[k + length :]
        elif what == 3:
            content = content[:k] + content[k : k + length] * 2 + content[k + length :]
        elif what == 4:
            content = content[:k]
        elif what == 5 and n:
            k = min(k, n - 1)
            content = (
                content[:k] + bytes([content[k] ^ 1 << int(rng.integers(8))]) + content[k + 1 :]
            )
        else:
            content = content[:k] + rng.bytes(length) + content[k + length :]
    return content


def mutate_text(rng: np.random.Generator, text: str) -> str:
    """Text with a few pieces changed, or a word that has nothing to do with it."""
    if rng.random() < 0.4:
        return str(pick(rng, WORDS))
    content = text.encode("utf-8", "surrogatepass")
    return mutate_bytes(rng, content).decode("utf-8", "replace")
