"""Array types, the records of arrays that kernels read, and the checks of arguments.

Axes always run ``i, h, s, a, t`` (constraint, stage, state, action, next state). Transitions are
CSR triples by stage: row ``s*A + a`` of stage ``g``, with one stage when nothing depends on time.

A check of a single value returns it as a plain Python object; NumPy scalars are accepted. Checks of
arrays raise a `ModelError` and those of single values a `ConfigError`, or the ``error`` given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tightrope.errors import ConfigError, ModelError, TightropeError, describe
from tightrope.text import guess, number

T = TypeVar("T")
Error = type[TightropeError]

Floats = NDArray[np.float64]
Ints = NDArray[Any]
Bools = NDArray[np.bool_]
Names = Mapping[str, Sequence[str] | None]
"""Names by axis letter; an axis without names is shown by number."""
CERTAINTY = 2.0  # sum of the two shapes of a beta-distributed cost
MOST = 2**63 - 1  # largest integer that an array can hold
SEED_BITS = 11  # dropped of 64 in seeds that are drawn, so that every program can read them


class Transitions(NamedTuple):
    """Kernels by stage as CSR triples; G is 1 (stationary) or H, rows are ``s*A + a``."""

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    data: Floats  # (G, E), zero past indptr[:, -1]


class Large(NamedTuple):
    """A kernel with so many states that threads share each stage; `plan.threads` computes it."""

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    data: Floats  # (G, E)
    key: int  # of the crew that has the threads
    mail: Ints  # (4,) addresses of the arrays of a call
    sweep: tuple[Any, Any]  # call of a best response
    evaluate: tuple[Any, Any]  # call of an evaluation


class Box(NamedTuple):
    """Kernels between two bounds, row by row, on a sparsity pattern.

    A successor that is not listed may get any probability from 0 to ``rest`` of its row.
    """

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    lower: Floats  # (G, E)
    upper: Floats  # (G, E)
    rest: Floats  # (G, S*A), or (G, 0) when unlisted successors are impossible


class Stationary(NamedTuple):
    """A kernel for every step of an infinite horizon: costs are discounted or averaged."""

    indptr: Ints  # (1, S*A + 1)
    indices: Ints  # (1, E)
    data: Floats  # (1, E)
    discount: float  # below 1; or 1 for long-run averages


class StationaryBox(NamedTuple):
    """A box of kernels for every step of an infinite horizon."""

    indptr: Ints  # (1, S*A + 1)
    indices: Ints  # (1, E)
    lower: Floats  # (1, E)
    upper: Floats  # (1, E)
    rest: Floats  # (1, 0): unlisted successors are impossible
    discount: float


class L1Ball(NamedTuple):
    """Kernels within an L1 distance of a center, and between bounds where there are any.

    A row without a center (all zeros) holds every distribution.
    """

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    center: Floats  # (G, E)
    radius: Floats  # (G, S*A)
    lower: Floats  # (G, E), or (G, 0) for 0 everywhere
    upper: Floats  # (G, E), or (G, 0) for 1 everywhere
    rest: Floats  # (G, S*A) bound of unlisted successors, or (G, 0) for 1


class Empirical(NamedTuple):
    """An estimated kernel: listed successors, and mass spread evenly over all states.

    A pair that was never visited has all its mass spread evenly, which a sparsity pattern cannot
    list.
    """

    indptr: Ints  # (G, S*A + 1)
    indices: Ints  # (G, E)
    data: Floats  # (G, E)
    even: Floats  # (G, S*A)


AnyKernels = Transitions | Large | Box | L1Ball | Empirical | Stationary | StationaryBox


class Caps(NamedTuple):
    """Costs of constraints by stage that are zero except in a range of stages."""

    cost: Floats  # (I, H, S, A)
    first: Ints  # (I,) first stage with costs
    last: Ints  # (I,) the stage after the last with costs
    together: int  # most constraints with costs at one stage


class Problem(NamedTuple):
    """What a compiled planner reads: a kernel or a set of kernels, losses and budgets.

    Losses keep one stage when nothing depends on time. ``allowed`` has no stages when every action
    exists everywhere.
    """

    kernels: AnyKernels
    initial: Floats  # (S,)
    cost: Floats  # (G', S, A)
    constraint_cost: Floats  # (I, G'', S, A); inside a solve `Caps` where it helps
    budget: Floats  # (I,)
    allowed: Bools  # (0 or 1 or H, S, A)


class PessimisticProblem(NamedTuple):
    """An optimistic problem, and upper bounds on its constraint costs."""

    optimistic: Problem
    constraint_high: Floats  # (I, G'', S, A)


def is_set(kernels: AnyKernels) -> bool:
    """Whether the kernels are a set of which planning chooses a member.

    Such a plan stores one order of the states per stage to identify the member it uses.
    """
    return isinstance(kernels, (Box, L1Ball, StationaryBox))


def as_box(kernels: StationaryBox) -> Box:
    """Return the box of an infinite-horizon problem, for one step."""
    return Box(kernels.indptr, kernels.indices, kernels.lower, kernels.upper, kernels.rest)


def is_lasting(kernels: AnyKernels) -> bool:
    """Whether the horizon is infinite, so that costs are discounted or averaged."""
    return isinstance(kernels, (Stationary, StationaryBox))


def count_steps(kernels: AnyKernels, stages: int) -> float:
    """Return the largest possible total of a cost of one per step: H, or 1/(1 - discount), or 1."""
    if not isinstance(kernels, (Stationary, StationaryBox)):
        return stages
    return 1.0 / (1.0 - kernels.discount) if kernels.discount < 1.0 else 1.0


def entry(name: str, index: Sequence[int], axes: str, names: Names | None = None) -> str:
    """Return an array entry in words, by names if it has any: ``cost[h=0, s='idle', a=1]``."""
    parts = []
    for axis, position in zip(axes, index, strict=True):
        known = (names or {}).get("s" if axis == "t" else axis)
        parts.append(f"{axis}={known[position]!r}" if known else f"{axis}={int(position)}")
    return f"{name}[{', '.join(parts)}]"


def new_record(fields: Sequence[tuple[str, str]], values: Mapping[str, Any] | None = None) -> Any:
    """A NumPy record of named numbers, zero unless given; kernels read and write it in place.

    Parameters
    ----------
    fields : sequence of (name, dtype)
    values : mapping of str to number, optional
    """
    made = np.zeros(1, _record_type(tuple(fields)))
    for name, value in (values or {}).items():
        made[name] = value
    return made[0]


@lru_cache
def _record_type(fields: tuple[tuple[str, str], ...]) -> np.dtype[Any]:
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


def read_only(record: Any) -> Any:
    """Return a record of arrays and records with read-only views in place of its arrays."""
    if isinstance(record, np.ndarray):
        view = record.view()
        view.flags.writeable = False
        return view
    return type(record)(*map(read_only, record))


def as_floats(name: str, value: Any, error: Error = ModelError) -> Floats:
    """Return the value as a C-ordered float array."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"dtype {array.dtype}")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        expected = "an array of real numbers"
        raise error.about(name, expected=expected, more=f", got {cause}") from cause


def find_first(bad: Bools | np.bool_, what: str = "entries") -> tuple[tuple[int, ...], str] | None:
    """Return the index of the first true entry and a note on how many there are, None if none."""
    count = int(np.count_nonzero(bad))
    if count == 0:
        return None
    where = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return tuple(map(int, where)), "" if count == 1 else f"; {count} such {what}"


def require_entries(
    name: str,
    values: Any,
    bad: Bools,
    axes: str,
    expected: str,
    names: Names | None = None,
    error: Error = ModelError,
) -> None:
    """Raise for the first entry where ``bad`` holds: the entry, its value, what was expected."""
    first = find_first(bad)
    if first is not None:
        index, more = first
        where, value = entry(name, index, axes, names), values[index]
        raise error.about(
            where, verb="is", found=value, shown=number(value), expected=expected, more=more
        )


def require_finite(
    name: str, values: Floats, axes: str, names: Names | None = None, error: Error = ModelError
) -> None:
    """Raise for the first entry that is NaN or infinite."""
    require_entries(name, values, ~np.isfinite(values), axes, "a finite number", names, error)


def require_range(
    name: str,
    values: Floats,
    low: float,
    high: float,
    axes: str,
    names: Names | None = None,
    error: Error = ModelError,
) -> None:
    """Raise for the first entry outside ``[low, high]``."""
    bad = ~((values >= low) & (values <= high))
    require_entries(name, values, bad, axes, f"a number in [{low:g}, {high:g}]", names, error)


def require_integers(name: str, values: Any, low: int, high: int) -> None:
    """Raise unless this is an array of integers from ``low`` to ``high``.

    Every entry is compared by itself, so that no sum or difference can wrap around.
    """
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iu":
        kind = str(getattr(values, "dtype", type(values).__name__))
        raise ModelError.about(name, shown=kind, expected="an array of integers")
    first = find_first((values < low) | (values > high))
    if first is not None:
        index, more = first
        where, expected = ", ".join(map(str, index)), f"an integer from {low} to {high}"
        raise ModelError.about(
            f"{name}[{where}]", verb="is", found=int(values[index]), expected=expected, more=more
        )


def require_pointers(name: str, indptr: Any, n_rows: int, n_entries: int) -> None:
    """Raise unless each row of ``indptr`` splits at most ``n_entries`` entries into rows."""
    require_integers(name, indptr, 0, n_entries)
    if indptr.ndim == 0 or indptr.shape[-1] != n_rows + 1:
        raise ModelError.about(name, shape=indptr.shape, expected=f"{n_rows + 1} pointers")
    if (indptr[..., 0] != 0).any() or (indptr[..., 1:] < indptr[..., :-1]).any():
        raise ModelError.about(name, expected="pointers that start at 0 and never decrease")


def row_sums(indptr: Ints, data: Floats) -> Floats:
    """Return the sum of each CSR row of (..., E) arrays; zero for an empty one."""
    starts, used = indptr[:-1], data[..., : indptr[-1]]
    filled = starts < indptr[1:]
    if filled.all():
        return np.asarray(np.add.reduceat(used, starts, axis=-1))
    sums = np.zeros((*data.shape[:-1], starts.size))
    if filled.any():
        sums[..., filled] = np.add.reduceat(used, starts[filled], axis=-1)
    return sums


def whole(
    name: str, value: Any, least: int = 1, most: int = MOST, error: Error = ConfigError
) -> int:
    """Return an integer of at least ``least`` and at most ``most``."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise error.about(name, found=value, expected=f"a whole number of at least {least}")
    if value > most:
        raise error.about(name, found=value, expected=f"a whole number of at most {most}")
    return int(value)


def as_seed(name: str, value: Any) -> int:
    """Return a seed as a whole number: itself, that of a SeedSequence, or a fresh one for None.

    A `SeedSequence` of a number that was not spawned stands for that number; any other gives a
    number drawn from it, always the same.
    """
    sequence = np.random.SeedSequence() if value is None else value
    if not isinstance(sequence, np.random.SeedSequence):
        return whole(name, value, 0)
    entropy = sequence.entropy
    if isinstance(entropy, int) and entropy <= MOST and not sequence.spawn_key:
        return entropy
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(SEED_BITS))


def positive(name: str, value: Any, error: Error = ConfigError) -> float:
    """Return a finite number above zero."""
    if not is_number(value) or not value > 0:
        raise error.about(name, found=value, expected="a positive number")
    return float(value)


def factor(name: str, value: Any, error: Error = ConfigError) -> float:
    """Return a finite number of at least zero."""
    if not is_number(value) or not value >= 0:
        raise error.about(name, found=value, expected="a number of at least 0")
    return float(value)


def share(name: str, value: Any, error: Error = ConfigError) -> float:
    """Return a number strictly between zero and one."""
    if not is_number(value) or not 0 < value < 1:
        raise error.about(name, found=value, expected="a number in (0, 1)")
    return float(value)


def flag(name: str, value: Any, error: Error = ConfigError) -> bool:
    """Return a truth value."""
    if not isinstance(value, (bool, np.bool_)):
        raise error.about(name, found=value, expected="true or false")
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[str], error: Error = ConfigError) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices))
        hint = guess(value, choices) if isinstance(value, str) else ""
        raise error.about(name, found=value, expected=f"one of {known}", more=hint)
    return str(value)


def check_kind(name: str, value: Any, kind: type[T], error: Error = ConfigError) -> T:
    """Return an object of a class of this library."""
    if not isinstance(value, kind):
        raise error.about(name, found=value, expected=f"an object of type {kind.__name__}")
    return value


def check_callback(name: str, value: Any) -> Callable[..., Any] | None:
    """Return a function, or None."""
    if value is not None and not callable(value):
        raise ConfigError.about(name, found=value, expected="a function")
    return cast(Callable[..., Any] | None, value)


def check_list(name: str, value: Any, expected: str, error: Error = ConfigError) -> tuple[Any, ...]:
    """Return the elements of a sequence or iterator."""
    if not isinstance(value, (str, bytes, Mapping)) and isinstance(value, Iterable):
        try:
            return tuple(value)
        except (TypeError, NotImplementedError):  # arrays without axes, and sparse matrices
            pass
    raise error.about(name, found=value, expected=f"a list of {expected}")


def check_names(name: str, value: Any, error: Error = ConfigError) -> tuple[str, ...]:
    """Return a sequence of words."""
    names = check_list(name, value, "names", error)
    for k, word in enumerate(names):
        if not isinstance(word, str):
            raise error.about(f"{name}[{k}]", found=word, expected="a name")
    return tuple(map(str, names))


def check_table(name: str, value: Any, error: Error = ConfigError) -> dict[str, Any]:
    """Return a table by names; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise error.about(name, found=value, expected="a table by names")
    for key in value:
        if not isinstance(key, str):
            shown = f"{describe(key)} as a key"
            raise error.about(name, found=key, shown=shown, expected="a name")
    return {str(key): each for key, each in value.items()}


def is_number(value: Any) -> bool:
    """Whether this is a finite number that a float can hold, and not a truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False
