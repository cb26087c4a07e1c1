"""The Markov chain of one policy, and its values and state frequencies by an iterative solver.

One pair of systems serves discounted and average cost. With discount g (1 for averages), loss c and
start distribution mu of a policy with kernel P, relative values h and the gain solve::

    (I - g P) h + gain 1 = c,    h(root) = 0          total cost from s:  h(s) + gain / (1 - g)
    f (I - g P) = (1 - g) mu,    sum f = 1            f(s): share of (discounted) time in s

for one state ``root``, whose column of the matrix is replaced by ones: nothing becomes singular as
the discount tends to one, unless the chain has several recurrent classes.

The solver is GMRES with restarts. Where states that follow each other have numbers close to each
other, as in queues and small grids, it is preconditioned by triangular factors of the banded
matrix, and one step is nearly exact; elsewhere by a symmetric Gauss-Seidel sweep, which is enough
where chains mix fast. What it returns is judged by its residual alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.kernels.compiled import compiled
from tightrope.kernels.scratch import Desk, copy, desk

EPS = 2.0**-52
MOST_STEPS = 40  # between restarts
MOST_CYCLES = 400
PATIENCE = 4  # restarts without progress
PROGRESS = 0.9  # of the residual in one restart, or there is none
MOST_FACTOR = 3e7  # operations of a factorization
MOST_BAND = 1e7  # entries of the factors
SHIFT = 1e-6  # of the diagonal of what is factorized, which may be singular without
CONVERGED = 100.0  # residual, relative to what rounding leaves
LEAST_DIAGONAL = 1e-2  # of the preconditioner, for states that are hardly left


class Chain(NamedTuple):
    """The kernel of a policy row by row, right side and solution of a system, and scratch."""

    start: Ints  # (S+1,)
    target: Ints  # (E,)
    chance: Floats  # (E,)
    flow: Floats  # (N,) mass over the entries of the kernels that the policy chooses from
    right: Floats  # (S,)
    solution: Floats  # (S,) relative values with the gain at the root; or state frequencies
    band: Floats  # (S, 2b+1) factors; or (0, 1) for Gauss-Seidel sweeps
    ones: Floats  # (S,) the preconditioner's answer to ones
    diagonal: Floats  # (S,)
    basis: Floats  # (m+1, S)
    image: Floats  # (S,)
    kept: Floats  # (S,) relative values before the last evaluation
    product: Floats  # (S,)
    corners: Floats  # (m+1, m) the projected system
    rotations: Floats  # (2, m)
    rest: Floats  # (m+1,)
    marked: Ints  # (S,)
    waiting: Ints  # (S,)
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
        flow=np.zeros(max(E, 1)),
        right=np.zeros(S),
        solution=np.zeros(S),
        band=np.zeros((S, 2 * width + 1) if is_narrow else (0, 1)),
        ones=np.zeros(S),
        diagonal=np.zeros(S),
        basis=np.zeros((m + 1, S)),
        image=np.zeros(S),
        kept=np.zeros(S),
        product=np.zeros(S),
        corners=np.zeros((m + 1, m)),
        rotations=np.zeros((2, m)),
        rest=np.zeros(m + 1),
        marked=np.zeros(S, dtype=np.int8),
        waiting=np.zeros(S, dtype=np.uint32),
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
            mass = discount * x[s]
            if mass != 0.0:
                for e in range(w.start[s], w.start[s + 1]):
                    k = np.uint64(e)
                    out[w.target[k]] -= mass * w.chance[k]
        out[root] = total
        return
    gain = x[root]
    x[root] = 0.0
    for s in range(S):
        expected = 0.0
        for e in range(w.start[s], w.start[s + 1]):
            k = np.uint64(e)
            expected += w.chance[k] * x[w.target[k]]
        out[s] = x[s] - discount * expected + gain
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
    if w.band.shape[0] > 0:
        solve_band(w, is_forward, z)
        return
    for turn in range(2):
        for k in range(S):
            s = k if turn == 0 else S - 1 - k
            if turn == 1:
                z[s] *= w.diagonal[s]
            if is_forward:
                z[s] /= w.diagonal[s]
                mass = discount * z[s]
                for e in range(w.start[s], w.start[s + 1]):
                    t = w.target[np.uint64(e)]
                    if (t > s) if turn == 0 else (t < s):
                        # the second turn scales a state when it comes to it
                        share = mass if turn == 0 else mass / w.diagonal[t]
                        z[t] += share * w.chance[np.uint64(e)]
            else:
                total = z[s]
                for e in range(w.start[s], w.start[s + 1]):
                    t = w.target[np.uint64(e)]
                    if (t < s) if turn == 0 else (t > s):
                        total += discount * w.chance[np.uint64(e)] * z[t]
                z[s] = total / w.diagonal[s]


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
def prepare(w: Chain, discount: float) -> None:
    """Make the preconditioner of the chain."""
    S = w.right.size
    for s in range(S):
        stay = 0.0
        for e in range(w.start[s], w.start[s + 1]):
            if w.target[np.uint64(e)] == s:
                stay += w.chance[np.uint64(e)]
        w.diagonal[s] = max(1.0 - discount * stay, LEAST_DIAGONAL)
        w.ones[s] = 1.0
    if w.band.shape[0] > 0:
        factorize_band(w, discount)
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
def solve_chain(w: Chain, discount: float, root: int, is_forward: bool, target: float) -> float:
    """Improve the solution until its largest residual is at most the target, or rounding.

    The chain is prepared; the solution starts from what it holds. Returns the largest residual,
    divided by what rounding leaves: a large number means that it did not converge.
    """
    S, m = w.right.size, w.corners.shape[1]
    least = np.inf
    tries = 0
    size = find_residual(w, discount, root, is_forward)
    for _ in range(MOST_CYCLES):
        if size <= max(target, floor_of(w)) or size == np.inf:
            break
        tries = 0 if size < PROGRESS * least else tries + 1
        if tries > PATIENCE:
            break
        least = min(least, size)
        norm = 0.0
        for s in range(S):
            norm += w.basis[0, s] ** 2
        norm = np.sqrt(norm)
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
    return size / max(floor_of(w), 1e-300)


@compiled
def project(w: Chain, k: int) -> bool:
    """Add the image of basis vector k to the basis and to the projected system; True at the end."""
    S = w.right.size
    before = 0.0
    for s in range(S):
        before += w.image[s] ** 2
    for j in range(k + 1):
        inner = 0.0
        for s in range(S):
            inner += w.image[s] * w.basis[j, s]
        w.corners[j, k] = inner
        for s in range(S):
            w.image[s] -= inner * w.basis[j, s]
    norm = 0.0
    for s in range(S):
        norm += w.image[s] ** 2
    norm = np.sqrt(norm)
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
def find_frequencies(w: Chain, discount: float, initial: Floats) -> float:
    """Solve for the share of (discounted) time in each state; exactly zero where it is zero.

    The chain is filled. The solution depends on the chain alone, not on what it held before.
    Returns what `solve_chain` does.
    """
    S = initial.size
    root = 0
    for s in range(S):
        w.solution[s] = initial[s]
        w.right[s] = (1.0 - discount) * initial[s]
        root = s if initial[s] > initial[root] else root
    w.right[root] = 1.0
    prepare(w, discount)
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
    return off
