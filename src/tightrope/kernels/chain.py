"""The Markov chain of one policy, and its values and state frequencies by an iterative solver.

One pair of systems serves discounted and average cost. With discount g (1 for averages), loss c and
start distribution mu of a policy with kernel P, relative values h and the gain solve::

    (I - g P) h + gain 1 = c,    h(root) = 0          total cost from s:  h(s) + gain / (1 - g)
    f (I - g P) = (1 - g) mu,    sum f = 1            f(s): share of (discounted) time in s

for one state ``root``, whose column of the matrix is replaced by ones: nothing becomes singular as
the discount tends to one, unless the chain has several recurrent classes.

Where a chain mixes fast, applying its kernel again and again is the cheapest solver. Where that
slows down, GMRES with restarts takes over. Where states that follow each other have numbers very
close to each other, as in queues and small grids, it is preconditioned by triangular factors of the
banded matrix, and one step is nearly exact; elsewhere by a symmetric Gauss-Seidel sweep, and by the
factors from the first restart on if the band is not too wide. What is returned is judged by its
residual alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints
from tightrope.kernels.compiled import compiled, inlined
from tightrope.kernels.scratch import Desk, copy, desk, inner

EPS = 2.0**-52
SPAN = 8  # applications of the kernel, after which their progress is judged
FAST = 0.05  # of the residual is left after them, or GMRES takes over
FEW = 3  # except where as many spans more are enough
MOST_STEPS = 40  # between restarts
MOST_CYCLES = 400
PATIENCE = 4  # restarts without progress
PROGRESS = 0.9  # of the residual in one restart, or there is none
NARROW = 16  # distance of successors up to which a chain is factorized at once
MOST_FACTOR = 3e7  # operations of a factorization
MOST_BAND = 1e7  # entries of the factors
SHIFT = 1e-6  # of the diagonal of what is factorized, which may be singular without
CONVERGED = 100.0  # residual, relative to what rounding leaves
LEAST_DIAGONAL = 1e-2  # of the preconditioner, for states that are hardly left
UNMADE, SWEEPS, FACTORS = 0, 1, 2


class Chain(NamedTuple):
    """The kernel of a policy row by row, right side and solution of a system, and scratch."""

    start: Ints  # (S+1,)
    target: Ints  # (E,) increasing in each row
    chance: Floats  # (E,)
    own: Ints  # (2, S) entry at which the targets of a row reach the state, and pass it
    flow: Floats  # (N,) mass over the entries of the kernels that the policy chooses from
    right: Floats  # (S,)
    solution: Floats  # (S,) relative values with the gain at the root; or state frequencies
    band: Floats  # (S, 2b+1) factors; or (0, 1) where there can be none
    solver: Ints  # (1,) preconditioner in use: `UNMADE`, `SWEEPS` or `FACTORS`
    ones: Floats  # (S,) the preconditioner's answer to ones
    inverse: Floats  # (S,) of the diagonal
    basis: Floats  # (m+1, S)
    image: Floats  # (S,)
    kept: Floats  # (S,) relative values before the last evaluation
    product: Floats  # (S,)
    corners: Floats  # (m+1, m) the projected system
    rotations: Floats  # (2, m)
    rest: Floats  # (m+1,)
    marked: Ints  # (S,)
    waiting: Ints  # (S,)
    search: Ints  # (5, S) for the search of recurrent classes
    is_split: Bools  # (1,) whether a policy may have had several recurrent classes
    room: Floats  # (2,) distance of bounds at which pricing may stop; 1 where it did, or 0
    desk: Desk  # for rows of boxes


def chain(S: int, E: int, width: int) -> Chain:
    """Room for chains of S states with up to E entries.

    ``width`` is the largest distance between the numbers of a state and a successor.
    """
    m = min(S, MOST_STEPS)
    is_narrow = S * width * width <= MOST_FACTOR and S * width <= MOST_BAND
    return Chain(
        start=np.zeros(S + 1, dtype=np.int64),
        target=np.zeros(max(E, 1), dtype=np.uint32),
        chance=np.zeros(max(E, 1)),
        own=np.zeros((2, S), dtype=np.int64),
        flow=np.zeros(max(E, 1)),
        right=np.zeros(S),
        solution=np.zeros(S),
        band=np.zeros((S, 2 * width + 1) if is_narrow else (0, 1)),
        solver=np.zeros(1, dtype=np.int8),
        ones=np.zeros(S),
        inverse=np.zeros(S),
        basis=np.zeros((m + 1, S)),
        image=np.zeros(S),
        kept=np.zeros(S),
        product=np.zeros(S),
        corners=np.zeros((m + 1, m)),
        rotations=np.zeros((2, m)),
        rest=np.zeros(m + 1),
        marked=np.zeros(S, dtype=np.int8),
        waiting=np.zeros(S, dtype=np.uint32),
        search=np.zeros((5, S), dtype=np.int64),
        is_split=np.zeros(1, dtype=np.bool_),
        room=np.zeros(2),
        desk=desk(S),
    )


@compiled
def multiply(
    w: Chain, discount: float, root: int, is_forward: bool, x: Floats, out: Floats
) -> None:
    """Multiply by the matrix of values, or by its transpose for frequencies."""
    S = x.size
    if is_forward:
        total = 0.0
        for s in range(S):
            out[s] = x[s]
        for s in range(S):
            total += x[s]
            mass = -discount * x[s]
            if mass != 0.0:
                scatter(w, w.start[s], w.start[s + 1], mass, out, False)
        out[root] = total
        return
    gain = x[root]
    x[root] = 0.0
    for s in range(S):
        out[s] = x[s] - discount * collect(w, w.start[s], w.start[s + 1], x) + gain
    x[root] = gain


@compiled
def factorize_band(w: Chain, discount: float) -> None:
    """Triangular factors of I - discount P in a band, without pivoting: rows are dominant."""
    S, wide = w.band.shape
    b = wide // 2
    for s in range(S):
        for k in range(wide):
            w.band[s, k] = 0.0
        w.band[s, b] = 1.0 + SHIFT
        for e in range(w.start[s], w.start[s + 1]):
            k = np.int64(w.target[np.uint64(e)]) - s + b
            w.band[s, k] -= discount * w.chance[np.uint64(e)]
    for k in range(S):
        for s in range(k + 1, min(k + b + 1, S)):
            share = w.band[s, k - s + b]
            if share != 0.0:
                share /= w.band[k, b]
                w.band[s, k - s + b] = share
                for t in range(1, min(b, S - 1 - k) + 1):
                    w.band[s, k - s + b + t] -= share * w.band[k, b + t]


@compiled
def solve_band(w: Chain, is_forward: bool, z: Floats) -> None:
    """Solve in place with the factors of the band, or transposed."""
    S, wide = w.band.shape
    b = wide // 2
    if is_forward:
        for s in range(S):
            z[s] /= w.band[s, b]
            for t in range(s + 1, min(s + b + 1, S)):
                z[t] -= w.band[s, t - s + b] * z[s]
        for s in range(S - 1, -1, -1):
            for t in range(max(s - b, 0), s):
                z[t] -= w.band[s, t - s + b] * z[s]
        return
    for s in range(S):
        total = z[s]
        for t in range(max(s - b, 0), s):
            total -= w.band[s, t - s + b] * z[t]
        z[s] = total
    for s in range(S - 1, -1, -1):
        total = z[s]
        for t in range(s + 1, min(s + b + 1, S)):
            total -= w.band[s, t - s + b] * z[t]
        z[s] = total / w.band[s, b]


@compiled
def solve_roughly(w: Chain, discount: float, is_forward: bool, z: Floats) -> None:
    """Solve in place with approximate factors of I - discount P, or transposed."""
    S = z.size
    if w.solver[0] == FACTORS:
        solve_band(w, is_forward, z)
        return
    for s in range(S):
        first = w.own[1, s] if is_forward else w.start[s]
        last = w.start[s + 1] if is_forward else w.own[0, s]
        if is_forward:
            z[s] *= w.inverse[s]
            scatter(w, first, last, discount * z[s], z, False)
        else:
            z[s] = (z[s] + discount * collect(w, first, last, z)) * w.inverse[s]
    for s in range(S - 1, -1, -1):
        first = w.start[s] if is_forward else w.own[1, s]
        last = w.own[0, s] if is_forward else w.start[s + 1]
        if is_forward:
            scatter(w, first, last, discount * z[s], z, True)
        else:
            z[s] += discount * collect(w, first, last, z) * w.inverse[s]


@inlined
def scatter(w: Chain, first: int, last: int, mass: float, z: Floats, is_scaled: bool) -> None:
    """Add mass to the targets of some entries, divided by their diagonals if asked."""
    for e in range(first, last):
        k = np.uint64(e)
        t = w.target[k]
        z[t] += mass * w.chance[k] * (w.inverse[t] if is_scaled else 1.0)


@inlined
def collect(w: Chain, first: int, last: int, z: Floats) -> float:
    """Sum of the values of the targets of some entries."""
    total = 0.0
    for e in range(first, last):
        k = np.uint64(e)
        total += w.chance[k] * z[w.target[k]]
    return total


@compiled
def precondition(w: Chain, discount: float, root: int, is_forward: bool, z: Floats) -> None:
    """Solve in place with an approximation of the matrix of values, or with its transpose."""
    S = z.size
    if is_forward:
        total = 0.0
        for s in range(S):
            total += w.ones[s] * z[s]
        z[root] += (z[root] - total) / w.ones[root]
        solve_roughly(w, discount, True, z)
        return
    solve_roughly(w, discount, False, z)
    gain = z[root] / w.ones[root]
    for s in range(S):
        z[s] -= gain * w.ones[s]
    z[root] = gain


@compiled
def prepare(w: Chain, discount: float, is_banded: bool) -> None:
    """Make a preconditioner: factors of the band, or Gauss-Seidel sweeps."""
    w.solver[0] = FACTORS if is_banded else SWEEPS
    if is_banded:
        factorize_band(w, discount)
    for s in range(w.right.size):
        stay = 0.0
        w.own[0, s] = w.own[1, s] = w.start[s]
        for e in range(w.start[s], w.start[s + 1]):
            k = np.uint64(e)
            w.own[0, s] += w.target[k] < s
            w.own[1, s] += w.target[k] <= s
            stay += w.chance[k] if w.target[k] == s else 0.0
        w.inverse[s] = 1.0 / max(1.0 - discount * stay, LEAST_DIAGONAL)
        w.ones[s] = 1.0
    solve_roughly(w, discount, False, w.ones)


@compiled
def find_residual(w: Chain, discount: float, root: int, is_forward: bool) -> float:
    """Write the residual of the solution to the first vector of the basis; its largest entry."""
    multiply(w, discount, root, is_forward, w.solution, w.basis[0])
    largest = 0.0
    for s in range(w.right.size):
        w.basis[0, s] = w.right[s] - w.basis[0, s]
        largest = max(largest, abs(w.basis[0, s]))
        if w.basis[0, s] - w.basis[0, s] != 0.0:
            return np.inf
    return largest


@compiled
def floor_of(w: Chain) -> float:
    """Residual that rounding leaves."""
    right = 0.0
    found = 0.0
    for s in range(w.right.size):
        right = max(right, abs(w.right[s]))
        found = max(found, abs(w.solution[s]))
    return 4.0 * EPS * (right + 2.0 * found)


@compiled
def step(w: Chain, discount: float, root: int, is_forward: bool, x: Floats, out: Floats) -> None:
    """Apply the kernel to values with the gain at the root, or to frequencies with a sum of one."""
    S = x.size
    if is_forward:
        for s in range(S):
            out[s] = w.right[s]
        out[root] = 0.0
        for s in range(S):
            mass = discount * x[s]
            if mass != 0.0:
                scatter(w, w.start[s], w.start[s + 1], mass, out, False)
        others = -out[root]
        for s in range(S):
            others += out[s]
        out[root] = 1.0 - others
        return
    x[root] = 0.0
    for s in range(S):
        out[s] = w.right[s] + discount * collect(w, w.start[s], w.start[s + 1], x)
    gain = out[root]  # with it, the root has no value
    for s in range(S):
        out[s] -= gain
    out[root] = gain


@compiled
def iterate(w: Chain, discount: float, root: int, is_forward: bool, target: float) -> float:
    """Apply the kernel to the solution as long as that is fast; the largest residual."""
    before = np.inf
    while True:
        size = find_residual(w, discount, root, is_forward)
        goal = max(target, floor_of(w))
        left = size / before
        if not goal < size < np.inf or (left > FAST and size * left**FEW > goal):
            return size
        before = size
        for _ in range(SPAN // 2):
            step(w, discount, root, is_forward, w.solution, w.image)
            step(w, discount, root, is_forward, w.image, w.solution)


@compiled
def solve_chain(w: Chain, discount: float, root: int, is_forward: bool, target: float) -> float:
    """Improve the solution until its largest residual is at most the target, or rounding.

    The solution starts from what it holds, for frequencies with a sum of one. Returns the largest
    residual, divided by what rounding leaves: a large number means that it did not converge.
    """
    S, m = w.right.size, w.corners.shape[1]
    if not w.right.any():
        w.solution[:] = 0.0  # relative to it no residual is small, down to numbers that underflow
    least = np.inf
    tries = 0
    size = iterate(w, discount, root, is_forward, target)
    if w.solver[0] == UNMADE and max(target, floor_of(w)) < size < np.inf:
        prepare(w, discount, w.band.shape[0] > 0 and w.band.shape[1] <= 2 * NARROW + 1)
    for _ in range(MOST_CYCLES):
        if size <= max(target, floor_of(w)) or size == np.inf:
            break
        tries = 0 if size < PROGRESS * least else tries + 1
        if tries > PATIENCE:
            break
        least = min(least, size)
        norm = np.sqrt(inner(w.basis[0], w.basis[0]))
        goal = norm * max(target, floor_of(w)) / size
        for s in range(S):
            w.basis[0, s] /= norm
        w.rest[:] = 0.0
        w.rest[0] = norm
        steps = 0
        for k in range(m):
            steps = k + 1
            copy(w.basis[k], w.product)
            precondition(w, discount, root, is_forward, w.product)
            multiply(w, discount, root, is_forward, w.product, w.image)
            if project(w, k) or abs(w.rest[k + 1]) <= 0.5 * goal:
                break
        combine(w, steps)
        precondition(w, discount, root, is_forward, w.product)
        for s in range(S):
            w.solution[s] += w.product[s]
        size = find_residual(w, discount, root, is_forward)
        if steps == MOST_STEPS and w.band.shape[0] > 0 and w.solver[0] == SWEEPS:
            prepare(w, discount, True)
    return size / max(floor_of(w), 1e-300)


@compiled
def project(w: Chain, k: int) -> bool:
    """Add the image of basis vector k to the basis and to the projected system; True at the end."""
    S = w.right.size
    before = inner(w.image, w.image)
    for j in range(k + 1):
        share = inner(w.image, w.basis[j])
        w.corners[j, k] = share
        for s in range(S):
            w.image[s] -= share * w.basis[j, s]
    norm = np.sqrt(inner(w.image, w.image))
    is_end = bool(norm <= EPS * np.sqrt(before))
    w.corners[k + 1, k] = norm
    if not is_end:
        for s in range(S):
            w.basis[k + 1, s] = w.image[s] / norm
    for j in range(k):
        first, second = w.corners[j, k], w.corners[j + 1, k]
        w.corners[j, k] = w.rotations[0, j] * first + w.rotations[1, j] * second
        w.corners[j + 1, k] = w.rotations[0, j] * second - w.rotations[1, j] * first
    first, second = w.corners[k, k], w.corners[k + 1, k]
    length = np.sqrt(first * first + second * second)
    w.rotations[0, k] = first / length if length > 0.0 else 1.0
    w.rotations[1, k] = second / length if length > 0.0 else 0.0
    w.corners[k, k] = length
    w.rest[k + 1] = -w.rotations[1, k] * w.rest[k]
    w.rest[k] *= w.rotations[0, k]
    return is_end


@compiled
def combine(w: Chain, steps: int) -> None:
    """Solve the projected system and combine the basis accordingly."""
    for k in range(steps - 1, -1, -1):
        total = w.rest[k]
        for j in range(k + 1, steps):
            total -= w.corners[k, j] * w.rest[j]
        w.rest[k] = total / w.corners[k, k] if w.corners[k, k] > 0.0 else 0.0
    w.product[:] = 0.0
    for k in range(steps):
        for s in range(w.product.size):
            w.product[s] += w.rest[k] * w.basis[k, s]


@compiled
def find_frequencies(w: Chain, discount: float, initial: Floats) -> tuple[float, float]:
    """Solve for the share of (discounted) time in each state; exactly zero where it is zero.

    The chain is filled, without a preconditioner. The solution depends on the chain alone, not on
    what it held before. Returns what `solve_chain` does, and the share of time in the states that
    are kept: averaged over time, those that follow the most frequent one.
    """
    S = initial.size
    root = 0
    for s in range(S):
        w.solution[s] = initial[s]
        w.right[s] = (1.0 - discount) * initial[s]
        root = s if initial[s] > initial[root] else root
    w.right[root] = 1.0
    off = solve_chain(w, discount, root, True, 0.0)
    # states that cannot be reached have nothing but rounding
    count = 0
    most = 0
    for s in range(S):
        w.marked[s] = 0
        most = s if w.solution[s] > w.solution[most] else most
    for s in range(S):
        if (discount < 1.0 and initial[s] > 0.0) or (discount == 1.0 and s == most):
            w.marked[s] = 1
            w.waiting[count] = s
            count += 1
    done = 0
    while done < count:
        s = w.waiting[done]
        done += 1
        for e in range(w.start[s], w.start[s + 1]):
            t = w.target[np.uint64(e)]
            if w.marked[t] == 0 and w.chance[np.uint64(e)] > 0.0:
                w.marked[t] = 1
                w.waiting[count] = t
                count += 1
    total = 0.0
    for s in range(S):
        w.solution[s] = max(w.solution[s], 0.0) if w.marked[s] == 1 else 0.0
        total += w.solution[s]
    if total > 0.0:
        for s in range(S):
            w.solution[s] /= total
    return off, total
