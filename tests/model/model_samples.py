"""Models that the tests of this folder share, and what it means for two models to be the same."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tightrope.model import CMDP, Layout, Unit
from tightrope.model.base import writable_problem
from tightrope.model.draft import draft

FORMS = {
    "dense": lambda p: p,
    "csr": lambda p: csr_array(p.reshape(-1, p.shape[-1])),
}


def random_kernel(rng, *lead, S, A):
    """Kernels (..., S, A, S) with about half of the successors impossible."""
    p = rng.random((*lead, S, A, S)) * (rng.random((*lead, S, A, S)) < 0.5)
    p[..., 0] += 0.1
    return p / p.sum(axis=-1, keepdims=True)


def shop():
    """Two states, two actions, stationary; serving when idle does not exist.

    Over H = 3 from idle: never serving spends no energy; the most is spent by serving whenever
    busy: busy at stage 1 with 0.5, at stage 2 with 0.5 * 0 + 0.5 * 0.5 = 0.25, so 0.75 in all.
    """
    return {
        "transition": [[[0.5, 0.5], [0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]],
        "cost": [[0.2, 0.0], [1.0, 0.4]],
        "constraint_cost": [[[0.0, 0.0], [0.0, 1.0]]],
        "budget": [0.5],
        "horizon": 3,
        "allowed": [[True, False], [True, True]],
        "state_names": ["idle", "busy"],
        "action_names": ["wait", "serve"],
        "constraint_names": ["energy"],
    }


def same(one: CMDP, other: CMDP) -> bool:
    """Whether two models agree bit for bit, names, units and map included."""
    for name in ("transition", "cost", "constraint_cost", "budget", "initial", "allowed"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    inside = [writable_problem(each)[1:] for each in (one, other)]
    for ours, theirs in zip(*inside, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(one.transitions, other.transitions, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert one.names == other.names
    assert (one.horizon, one.noise) == (other.horizon, other.noise)
    assert (one.cost_unit, one.constraint_units) == (other.cost_unit, other.constraint_units)
    assert (one.layout is None) == (other.layout is None)
    if one.layout is not None:
        np.testing.assert_array_equal(one.layout.cells, other.layout.cells)
        assert (one.layout.rows, one.layout.moves) == (other.layout.rows, other.layout.moves)
    return True


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
units = st.builds(
    Unit,
    words,
    st.floats(-1e6, 1e6).filter(bool),
    st.floats(-1e6, 1e6),
)


@st.composite
def models(draw):
    """Any small CMDP: by stage or not, with or without constraints, names, units and a map."""
    sizes = st.integers(1, 4)
    H, S, A, I = draw(sizes), draw(sizes), draw(st.integers(1, 3)), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    staged = [H] if draw(st.booleans()) else []
    allowed = None
    if draw(st.booleans()):
        allowed = rng.random(([H] if draw(st.booleans()) else []) + [S, A]) < 0.6
        allowed[..., 0] |= ~allowed.any(axis=-1)
    cost = rng.random(([H] if draw(st.booleans()) else []) + [S, A])
    bounded = rng.random([I] + ([H] if draw(st.booleans()) else []) + [S, A])
    bounded *= rng.random(bounded.shape) < 0.7

    def names(size):
        return draw(st.none() | st.lists(words, min_size=size, max_size=size, unique=True))

    layout = None
    if draw(st.booleans()):
        cells = np.array([[-1, -1]] + [[0, s] for s in range(1, S)])
        layout = Layout(("." * S,), cells, ((0, 1),) * A)
    model = draft(
        random_kernel(rng, *staged, S=S, A=A),
        cost,
        bounded,
        rng.random(I) * H,
        horizon=H,
        initial=rng.dirichlet(np.ones(S)) if draw(st.booleans()) else int(rng.integers(S)),
        allowed=allowed,
        noise=draw(st.sampled_from(["bernoulli", "none", "beta"])),
        state_names=names(S),
        action_names=names(A),
        constraint_names=names(I),
    )
    cost_unit = draw(st.none() | units)
    constraint_units = draw(st.none() | st.lists(units, min_size=I, max_size=I))
    return CMDP.from_draft(model, cost_unit, constraint_units, layout)
