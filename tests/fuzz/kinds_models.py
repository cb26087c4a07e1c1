"""Constructors of models: dense and sparse kernels with one or two things wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tightrope as tr
from fuzz.driver import Kind
from fuzz.kinds_values import hostile, perturb, pick

__all__ = ["KINDS", "arguments_of_model"]


def arguments_of_model(rng: np.random.Generator, is_sparse: bool) -> dict[str, Any]:
    """Valid arguments of `CMDP`."""
    S, A, H, I = (int(n) for n in rng.integers([1, 1, 1, 0], [5, 4, 5, 3]))
    by_stage = bool(rng.integers(2))
    p = rng.dirichlet(np.ones(S), size=(H if by_stage else 1, S, A))
    transition: Any = p if by_stage else p[0]
    if is_sparse:
        form = pick(rng, [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
        stages = [form(each.reshape(S * A, S)) for each in p]
        transition = stages if by_stage else stages[0]
    given = {
        "transition": transition,
        "cost": rng.random((H, S, A) if rng.integers(2) else (S, A)),
        "constraint_cost": rng.random((I, S, A)) if I else None,
        "budget": rng.random(I) * H if I else None,
        "horizon": H,
        "initial": pick(rng, [0, np.full(S, 1 / S)]),
    }
    if rng.integers(2):
        allowed = rng.random((S, A)) < 0.7
        allowed[:, 0] = True
        given["allowed"] = allowed
    if rng.integers(2):
        given["noise"] = pick(rng, ["bernoulli", "none", "beta"])
        given["state_names"] = [f"s{s}" for s in range(S)]
        given["action_names"] = [f"a{a}" for a in range(A)]
        given["cost_unit"] = tr.Unit("euros", 2.0, -0.5)
        given["constraint_units"] = [tr.Unit(f"d{i}") for i in range(I)]
    return given


def _build(rng: np.random.Generator, is_sparse: bool) -> None:
    given = arguments_of_model(rng, is_sparse)
    for _ in range(int(rng.integers(0, 3))):
        key = "transition" if rng.random() < 0.4 else pick(rng, given)
        change = perturb if rng.random() < 0.8 else lambda rng, value: hostile(rng)
        given[key] = change(rng, given[key])
    cmdp = tr.CMDP(**given)
    cmdp.check()
    if rng.random() < 0.3:
        plan = tr.solve(cmdp)
        tr.evaluate(cmdp, plan.policy)
        str(plan), str(cmdp)


def _dense(state: Any, rng: np.random.Generator, folder: Path) -> None:
    _build(rng, is_sparse=False)


def _sparse(state: Any, rng: np.random.Generator, folder: Path) -> None:
    _build(rng, is_sparse=True)


KINDS = [Kind("cmdp_dense", _dense, share=2.0), Kind("cmdp_sparse", _sparse, share=2.0)]
