"""Tiny problems whose docstrings state the answer, and random ones of any size.

A problem is what compiled planners read. These are built from dense arrays by plain NumPy, so that
they can contradict the kernels. At the end stand the kernels' opinions on a problem: `least` by
backward induction, `by_columns` by column generation.
"""

from __future__ import annotations

import numpy as np

from tightrope.arrays import Bools, Box, Floats, Ints, L1Ball, Problem, Transitions
from tightrope.kernels.bellman import induct, price
from tightrope.kernels.scratch import desk
from tightrope.plan.generate import generate

__all__ = [
    "any_problem",
    "ball",
    "boxed",
    "by_columns",
    "fork",
    "interval",
    "known",
    "least",
    "problem",
    "random_problem",
    "ransom",
    "shifting",
    "tempting_box",
]


def known(p: Floats) -> Transitions:
    """Dense (G, S, A, S) kernels as CSR triples; zeros are not listed."""
    listed = p.reshape(p.shape[0], -1, p.shape[3]) != 0
    indptr, indices, (data,) = _csr(listed, [p])
    return Transitions(indptr, indices, data)


def interval(lower: Floats, upper: Floats, rest: Floats | None = None) -> Box:
    """Dense (G, S, A, S) bounds as a box; what can only be zero is not listed.

    With a (G, S*A) ``rest``, what lies between 0 and the rest of its row is not listed either.
    """
    G, S, A, _ = upper.shape
    cap = np.zeros((G, S * A)) if rest is None else rest
    low, up = (bound.reshape(G, S * A, S) for bound in (lower, upper))
    listed = (up != cap[:, :, None]) | (low != 0)
    indptr, indices, (lo, hi) = _csr(listed, [lower, upper])
    return Box(indptr, indices, lo, hi, np.empty((G, 0)) if rest is None else rest)


def ball(indptr: Ints, indices: Ints, center: Floats, radius: Floats) -> L1Ball:
    """An L1 ball without bounds: any successor may take all the mass that the radius moves."""
    none = np.zeros((len(indptr), 0))
    return L1Ball(indptr, indices, center, radius, none, none, none)


def _csr(listed: Bools, values: list[Floats]) -> tuple[Ints, Ints, list[Floats]]:
    """Pointers, indices and values of the listed entries by stage, padded to equal length."""
    G, rows, S = listed.shape
    indptr = np.zeros((G, rows + 1), dtype=np.int64)
    np.cumsum(listed.sum(axis=2), axis=1, out=indptr[:, 1:])
    E = int(indptr[:, -1].max())
    indices = np.zeros((G, E), dtype=np.uint32)
    out = [np.zeros((G, E)) for _ in values]
    for g in range(G):
        n = indptr[g, -1]
        indices[g, :n] = np.nonzero(listed[g])[1]
        for array, value in zip(out, values, strict=True):
            array[g, :n] = value[g].reshape(rows, S)[listed[g]]
    return indptr, indices, out


def problem(
    kernels: Transitions | Box,
    cost: Floats,
    constraint_cost: Floats,
    budget: Floats,
    initial: Floats | None = None,
    allowed: Bools | None = None,
) -> Problem:
    """A problem; the start is state 0 and every action allowed unless said otherwise."""
    _, S, A = cost.shape
    return Problem(
        kernels,
        np.eye(S)[0] if initial is None else initial,
        cost,
        constraint_cost.reshape(-1, *constraint_cost.shape[-3:]),
        budget,
        np.ones((0, S, A), dtype=np.bool_) if allowed is None else allowed,
    )


def fork(budget: float = 0.25) -> Problem:
    """One state, one stage: action 0 costs 3 and spends nothing, action 1 costs 1 and spends 1.

    For a budget b in [0, 1] the answer plays action 1 with probability b: value 3 - 2b, price 2.
    Beyond 1 the value is 1 and the price 0; below 0 there is no answer and the least violation -b.
    """
    p = np.ones((1, 1, 2, 1))
    return problem(
        known(p), np.array([[[3.0, 1.0]]]), np.array([[[[0.0, 1.0]]]]), np.array([budget])
    )


def ransom() -> Problem:
    """Two states, two stages: pay 0.5 now (action 1) and be free, or stay and lose 1 in the end.

    A policy that refuses with probability x costs 0.5 + 0.5 x. Constraint 0 wants x <= 0.8, and
    constraint 1 that one pays with probability at most 0.25. The answer refuses with probability
    0.75: value 0.875, prices 0 and 0.5. Without constraints one pays: value 0.5.
    """
    p = np.zeros((1, 2, 2, 2))
    p[0, 0, 0, 0] = p[0, 0, 1, 1] = 1.0
    p[0, 1, :, 1] = 1.0
    cost = np.zeros((2, 2, 2))
    cost[0, 0, 1] = 0.5
    cost[1, 0, :] = 1.0
    d = np.zeros((2, 2, 2, 2))
    d[0, 1, 0, :] = 1.0
    d[1, 0, 0, 1] = 1.0
    return problem(known(p), cost, d, np.array([0.8, 0.25]))


def shifting(H: int = 4) -> Problem:
    """A ring of three states; action a moves a steps on. State 2 is free, the others cost 1.

    From state 0 one takes action 2 at once and then stays: value 1 for every horizon, whatever the
    kernel of the last stage, which has no entries at all here.
    """
    p = np.zeros((H, 3, 3, 3))
    for s in range(3):
        for a in range(3):
            p[: H - 1, s, a, (s + a) % 3] = 1.0
    cost = np.ones((1, 3, 3))
    cost[0, 2] = 0.0
    return problem(known(p), cost, np.empty((0, 1, 3, 3)), np.empty(0))


def tempting_box() -> Problem:
    """Erratum E32: a kernel that is chosen to keep the budget, at the price of a larger cost.

    Action 0 leads to y (free, spends 1) with probability 0.45 to 1 and else to x (costs 1, spends
    nothing); action 1 leads to x. The budget is 0.5. Cost and spending add up to 1, so that the
    optimistic value is 0.5 and the price 1.
    """
    lower, upper = np.zeros((1, 3, 2, 3)), np.zeros((1, 3, 2, 3))
    lower[0, 0, 0], upper[0, 0, 0] = [0, 0, 0.45], [0, 0.55, 1]
    lower[0, 0, 1, 1] = upper[0, 0, 1, 1] = 1.0
    for s in (1, 2):
        lower[0, s, :, s] = upper[0, s, :, s] = 1.0
    cost, d = np.zeros((2, 3, 2)), np.zeros((1, 2, 3, 2))
    cost[1, 1, :] = 1.0
    d[0, 1, 2, :] = 1.0
    return problem(interval(lower, upper), cost, d, np.array([0.5]))


def random_problem(
    rng: np.random.Generator,
    S: int,
    A: int,
    H: int,
    I: int,
    *,
    tightness: float = 0.5,
    is_signed: bool = False,
    is_masked: bool = False,
    n_successors: int | None = None,
) -> Problem:
    """Random kernels, costs, start and budgets; each depends on time or not by a throw of a coin.

    Budgets are ``(1 - tightness) x + tightness y``: x is spent by the policy of least cost, y by
    the policy that spends least in total. They can be kept up to tightness 1 and not beyond, unless
    x and y have the same sum.

    Parameters
    ----------
    rng : numpy.random.Generator
    S, A, H, I : int
    tightness : float
    is_signed : bool
        Costs are uniform on [-1, 1] instead of [0, 1].
    is_masked : bool
        Some actions are forbidden; rows of kernels that are never used are empty.
    n_successors : int, optional
        Successors of each pair; all S when not given.
    """

    def stages() -> int:
        return int(rng.choice([1, H]))

    p = np.zeros((stages(), S, A, S))
    n = min(n_successors or S, S)
    for row in p.reshape(-1, S):
        row[rng.permutation(S)[:n]] = rng.dirichlet(np.ones(n))
    low = -1.0 if is_signed else 0.0
    cost = rng.uniform(low, 1.0, (stages(), S, A))
    d = rng.uniform(low, 1.0, (I, stages(), S, A))
    initial = rng.dirichlet(np.ones(S)) if rng.random() < 0.5 else np.eye(S)[rng.integers(S)]
    allowed = np.ones((0, S, A), dtype=np.bool_)
    if is_masked:
        allowed = rng.random((stages(), S, A)) < 0.6
        allowed |= np.arange(A) == rng.integers(A, size=(*allowed.shape[:2], 1))
        p[:, ~allowed.any(axis=0)] = 0.0
    free = problem(known(p), cost, d, np.zeros(I), initial, allowed)
    x, y = _spending(p, free, cost, H), _spending(p, free, d.sum(axis=0), H)
    return free._replace(budget=(1 - tightness) * x + tightness * y)


def _spending(p: Floats, free: Problem, loss: Floats, H: int) -> Floats:
    """Constraint values of a policy that minimizes a loss, by dense dynamic programming."""
    S = loss.shape[1]
    I = free.budget.size
    V, D = np.zeros(S), np.zeros((I, S))
    for h in range(H - 1, -1, -1):
        kernel = p[min(h, p.shape[0] - 1)]
        Q = loss[min(h, loss.shape[0] - 1)] + kernel @ V
        if free.allowed.shape[0] > 0:
            Q = np.where(free.allowed[min(h, free.allowed.shape[0] - 1)], Q, np.inf)
        a = Q.argmin(axis=1)
        V = Q.min(axis=1)
        d = free.constraint_cost[:, min(h, free.constraint_cost.shape[1] - 1)]
        D = (d + np.einsum("sat,it->isa", kernel, D))[:, np.arange(S), a]
    return D @ free.initial


def boxed(
    rng: np.random.Generator, known_problem: Problem, width: float, has_rest: bool = False
) -> Problem:
    """The same problem over a box around its kernel.

    Radii are uniform on [0, width], some of them zero; with a rest, successors that the kernel does
    not list get up to a random share of ``width`` each.
    """
    p = known_problem.kernels
    radius = rng.uniform(0.0, width, p.data.shape) * (rng.random(p.data.shape) < 0.8)
    lower, upper = np.maximum(p.data - radius, 0.0), np.minimum(p.data + radius, 1.0)
    G, rows = p.indptr.shape[0], p.indptr.shape[1] - 1
    rest = rng.uniform(0.0, width, (G, rows)) if has_rest else np.empty((G, 0))
    return known_problem._replace(kernels=Box(p.indptr, p.indices, lower, upper, rest))


def any_problem(seed: int, tightness: float | None = None) -> tuple[Problem, int]:
    """A random problem of random small sizes (ones included) and its horizon.

    Costs are signed, actions forbidden and kernels sparse in about half of the seeds each.
    """
    rng = np.random.default_rng(seed)
    S, A, H, I = (int(rng.integers(low, high)) for low, high in ((1, 7), (1, 4), (1, 6), (0, 4)))
    drawn = float(rng.choice([0.0, 0.3, 0.7, 1.0, 1.05, 1.5]))
    made = random_problem(
        rng,
        S,
        A,
        H,
        I,
        tightness=drawn if tightness is None else tightness,
        is_signed=bool(rng.random() < 0.5),
        is_masked=bool(rng.random() < 0.5),
        n_successors=int(rng.integers(1, S + 1)),
    )
    return made, H


def least(given: Problem, horizon: int, lam: Floats) -> float:
    """Least priced cost ``(c + lam.d).q - lam.budget`` of any policy (and kernel), by induction."""
    _, S, A = given.cost.shape
    stages = (given.cost.shape[0], given.constraint_cost.shape[1], given.allowed.shape[0])
    loss = np.empty((max(stages), S, A))
    price(given.cost, given.constraint_cost, given.allowed, 1.0, lam, loss)
    V = np.empty((horizon + 1, S))
    choice, order = np.empty((horizon, S), dtype=np.int16), np.empty((horizon, S), dtype=np.uint32)
    induct(given.kernels, loss, 1.0, V, choice, order, desk(S))
    return float(given.initial @ V[0] - lam @ given.budget)


def by_columns(given: Problem, horizon: int) -> float | None:
    """Optimum by column generation to a gap of 1e-10, or None when no policy keeps the budgets."""
    mixture = generate(given, horizon, 1e-10)
    return mixture.value if mixture.is_feasible else None
