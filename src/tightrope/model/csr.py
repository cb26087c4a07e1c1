"""Transitions from dense arrays and sparse matrices, by stage or stationary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, Ints, Transitions, require_integers, require_pointers
from tightrope.errors import ModelError

Triple = tuple[Ints, Ints, Floats]


def is_sparse(transition: Any) -> bool:
    """Whether this is a scipy sparse matrix or a list with one in it."""
    if isinstance(transition, (list, tuple)):
        return any(hasattr(matrix, "tocsr") for matrix in transition)
    return hasattr(transition, "tocsr")


def stack(stages: list[Triple]) -> Transitions:
    """Stack the CSR triples of the stages in one record, padded to a common length."""
    longest = max(1, *(int(indptr[-1]) for indptr, _, _ in stages))
    indptrs = np.stack([np.asarray(indptr, dtype=np.int64) for indptr, _, _ in stages])
    indices = np.zeros((len(stages), longest), dtype=np.uint32)
    data = np.zeros((len(stages), longest))
    for g, (indptr, columns, values) in enumerate(stages):
        indices[g, : indptr[-1]] = columns
        data[g, : indptr[-1]] = values
    return Transitions(indptrs, indices, data)


def stack_dense(transition: Floats) -> tuple[Transitions, int, int]:
    """Return transitions, S and A of an array over (S, A, S) or (H, S, A, S)."""
    shape = transition.shape
    if transition.ndim not in (3, 4) or shape[-1] != shape[-3]:
        swapped = transition.ndim in (3, 4) and shape[-1] == shape[-2]
        hint = "; for (A, S, S) pass np.moveaxis(transition, -3, -2)" if swapped else ""
        raise ModelError.about(
            "transition", shape=shape, expected="(S, A, S) or (H, S, A, S)", more=hint
        )
    S, A = shape[-3], shape[-2]
    _require_sizes(S, A, shape[0] if transition.ndim == 4 else 1)
    keys = np.flatnonzero(transition)
    ends = np.searchsorted(keys, np.arange(0, transition.size + 1, S))
    columns, data = (keys % S).astype(np.uint32), transition.reshape(-1)[keys]
    return Transitions(*stack_rows(ends, S * A, columns, data)), S, A


def stack_rows(ends: Ints, n_rows: int, *entries: Any) -> Iterator[Any]:
    """Give the pointers of each stage, and arrays over all entries padded to a common length.

    ``ends`` points to the entries of all rows, of which a stage has ``n_rows``.
    """
    starts, stops = ends[:-1:n_rows, None], ends[n_rows::n_rows, None]
    sizes = stops - starts
    yield np.concatenate((ends[:-1].reshape(-1, n_rows) - starts, sizes), axis=1)
    longest = max(1, int(sizes.max()))
    for values in entries:
        if values.size == sizes.size * longest:
            yield values.reshape(-1, longest)
        else:
            padded = np.zeros((sizes.size, longest), dtype=values.dtype)
            padded[np.arange(longest) < sizes] = values
            yield padded


def list_entries(transitions: Transitions, S: int) -> tuple[Ints, Floats]:
    """Return numbers of entries, ``row*S + t`` with the rows of all stages, and their data."""
    indptr, indices, data = transitions
    is_used = np.arange(indices.shape[1]) < indptr[:, -1:]
    sizes = np.diff(indptr, axis=1).reshape(-1)
    return np.repeat(np.arange(sizes.size) * S, sizes) + indices[is_used], data[is_used]


def as_csr(name: str, matrix: Any, shape: tuple[int, int]) -> Any:
    """Copy a sparse matrix of any format and of this shape to CSR, all its indices checked.

    SciPy's compiled conversions do not check them, so they are checked before the first of these
    and, because not every format is known here, again at the end.
    """
    from scipy.sparse import csr_array

    if not hasattr(matrix, "tocsr") or matrix.shape != shape:
        found = f"shape {matrix.shape}" if hasattr(matrix, "shape") else type(matrix).__name__
        raise ModelError.about(name, shown=found, expected=f"a sparse matrix of shape {shape}")
    if matrix.dtype.kind not in "biuf":
        raise ModelError.about(name, shown=f"dtype {matrix.dtype}", expected="real numbers")
    try:
        kind = getattr(matrix, "format", None)
        if kind in ("csr", "csc", "bsr"):
            _require_compressed(name, matrix, shape)
        elif hasattr(matrix, "tocoo"):
            _require_consistent(name, matrix, shape)
            matrix = matrix.tocoo()
            for axis, (word, size) in enumerate(zip(("row", "col"), shape, strict=True)):
                require_integers(f"{name}.{word}", np.asarray(matrix.coords[axis]), 0, size - 1)
                _require_length(f"{name}.{word}", matrix.coords[axis], matrix.data.size)
        csr = matrix.tocsr()
        if csr.shape != shape:
            raise ValueError(f"tocsr gives shape {csr.shape}, expected {shape}")
        if csr is not matrix or kind != "csr":
            _require_compressed(name, csr, shape)
        used = int(csr.indptr[-1])
        data = csr.data[:used].astype(np.float64)
        return csr_array((data, csr.indices[:used], csr.indptr), shape=shape, copy=True)
    except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
        raise ModelError.about(name, more=f"no consistent sparse matrix: {error}") from error


def _require_compressed(name: str, matrix: Any, shape: tuple[int, int]) -> None:
    """Check the pointers and indices of a CSR, CSC or BSR matrix."""
    major, minor = shape if matrix.format != "csc" else shape[::-1]
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    if matrix.format == "bsr":
        height, width = data.shape[1:]
        if height < 1 or width < 1 or major % height or minor % width:
            raise ValueError(f"blocks of shape {(height, width)} do not tile {shape}")
        major, minor = major // height, minor // width
    elif data.ndim != 1:
        raise ValueError(f"data of shape {data.shape}, expected one dimension")
    if indices.ndim != 1:
        raise ValueError(f"indices of shape {indices.shape}, expected one dimension")
    require_pointers(f"{name}.indptr", indptr, major, min(len(indices), len(data)))
    if indptr.ndim != 1:
        raise ValueError(f"indptr of shape {indptr.shape}, expected one dimension")
    require_integers(f"{name}.indices", indices[: indptr[-1]], 0, minor - 1)


def _require_consistent(name: str, matrix: Any, shape: tuple[int, int]) -> None:
    """Check the assumptions of converting a DIA or LIL matrix to coordinates."""
    kind = getattr(matrix, "format", None)
    if kind == "dia":
        require_integers(f"{name}.offsets", matrix.offsets, 1 - shape[0], shape[1] - 1)
        _require_length(f"{name}.offsets", matrix.offsets, len(matrix.data))
        if matrix.data.ndim != 2 or np.unique(matrix.offsets).size != matrix.offsets.size:
            raise ValueError("expected one row of data for each diagonal, and none twice")
    elif kind == "lil":
        sizes = [[len(row) for row in part] for part in (matrix.rows, matrix.data)]
        if sizes[0] != sizes[1] or len(sizes[0]) != shape[0]:
            raise ValueError("rows and data differ in length")


def _require_length(name: str, values: Any, length: int) -> None:
    if values.shape != (length,):
        raise ModelError.about(name, shape=values.shape, expected=(length,))


def stack_sparse(transition: Any, name: str = "transition") -> tuple[Transitions, int, int]:
    """Return transitions, S and A of a sparse matrix (S*A, S), or a list of one per stage."""
    matrices = list(transition) if isinstance(transition, (list, tuple)) else [transition]
    shape = next(matrix.shape for matrix in matrices if hasattr(matrix, "tocsr"))
    if len(shape) != 2 or shape[0] % max(1, shape[1]):
        raise ModelError.about(
            name, found=shape, shown=f"sparse of shape {shape}", expected="(S*A, S)"
        )
    S, A = shape[1], shape[0] // max(1, shape[1])
    _require_sizes(S, A, len(matrices))
    stages = []
    for h, matrix in enumerate(matrices):
        where = name if len(matrices) == 1 else f"{name}[{h}]"
        csr = as_csr(where, matrix, shape)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        csr.sort_indices()
        stages.append((csr.indptr, csr.indices, csr.data))
    return stack(stages), S, A


def select_rows(transitions: Transitions, keep: Bools) -> Transitions:
    """Return the kernels with only the rows (G, S*A) in ``keep``; the others become empty."""
    stages = []
    for g, indptr in enumerate(transitions.indptr):
        sizes = np.diff(indptr)
        chosen = np.repeat(keep[g], sizes)
        ends = np.concatenate(([0], np.cumsum(sizes * keep[g])))
        columns = transitions.indices[g, : indptr[-1]][chosen]
        stages.append((ends, columns, transitions.data[g, : indptr[-1]][chosen]))
    return stack(stages)


def send_unreached(transitions: Transitions, initial: Floats) -> Transitions:
    """Return a stationary kernel that leads from states that are never reached to the start.

    Such states change no value, and are then in no recurrent class of their own.
    """
    S = initial.size
    indptr, indices, data = (part[0] for part in transitions)
    sizes = np.diff(indptr)
    source = np.repeat(np.arange(S), sizes.reshape(S, -1).sum(axis=1))
    target, used = indices[: indptr[-1]], data[: indptr[-1]] > 0
    reached = find_reached(source[used], target[used], initial > 0)
    if reached.all():
        return transitions
    sent = ~reached[source]
    first = np.zeros(source.size, dtype=np.bool_)
    first[indptr[:-1][sizes > 0]] = True
    indices, data = indices.copy(), data.copy()
    indices[: source.size][sent & first] = np.argmax(initial)
    data[: source.size][sent] = first[sent]
    return Transitions(transitions.indptr, indices[None], data[None])


def find_reached(source: Ints, target: Ints, start: Bools) -> Bools:
    """Return which states edges lead to from a set of states, that set included."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    S = start.size
    first = np.flatnonzero(start)
    rows = np.concatenate((source, np.full(first.size, S)))
    columns = np.concatenate((target.astype(np.int64), first))
    graph = csr_array((np.ones(rows.size), (rows, columns)), shape=(S + 1, S + 1))
    order = breadth_first_order(graph, S, return_predecessors=False)
    reached = np.zeros(S + 1, dtype=np.bool_)
    reached[order] = True
    return reached[:S]


def matrix_of(transitions: Transitions, stage: int, S: int) -> Any:
    """Return the kernel of a stage as a scipy matrix (S*A, S) with 64-bit indices."""
    from scipy.sparse import csr_array

    indptr, indices, data = (part[stage] for part in transitions)
    used = indptr[-1]
    entries = (data[:used], indices[:used].astype(np.int64), indptr)
    return csr_array(entries, shape=(indptr.size - 1, S))


def unstack_dense(transitions: Transitions, S: int) -> Floats:
    """Return dense matrices (G, S*A, S) of the stages."""
    G, rows = transitions.indptr.shape[0], transitions.indptr.shape[1] - 1
    is_full = bool((transitions.indptr[:, -1] == rows * S).all())
    if is_full and (transitions.indices.reshape(-1, S) == np.arange(S)).all():
        return transitions.data.reshape(G, rows, S).copy()
    dense = np.zeros(G * rows * S)
    keys, data = list_entries(transitions, S)
    dense[keys] = data
    return dense.reshape(G, rows, S)


def _require_sizes(S: int, A: int, H: int) -> None:
    for size, what in ((S, "states"), (A, "actions"), (H, "stages")):
        if size == 0:
            raise ModelError.about("transition", shown=f"no {what}", expected="at least one")
