"""Hostile inputs for kernels compiled with bounds checks: run as a script, prints counts as JSON.

Each kind of input is a function of a random generator that hands something to the library and
says whether it was accepted. Refusals are `TightropeError`; what is accepted is used, so that a
kernel reads it. Anything else, above all an `IndexError` of a bounds check, is a failure.

    python tests/fuzz/bounds_inputs.py [times] [seed] [-v]
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import tightrope as tr
import zoo
from driven import ALGORITHMS, driven, instance, told
from telling import episode as told_episode
from telling import shape
from tightrope.errors import TightropeError
from tightrope.experiments.snapshot import restore, take_snapshot
from tightrope.files import packed, unpacked

FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
INTEGERS = (
    *(0, 1, -1, 2, 3, 4, 5, 7, 99, 255, 32_767, 32_768, 65_536, 2**31 - 1, 2**31, 2**32 - 1),
    *(2**40, 2**53, 2**62, 2**63 - 1, -(2**63), -(2**31), -2, -3),
)
FLOATS = (
    *(np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e-200, 1e-19, -0.0, 0.5, 1.0, 2.0, -1.0),
    *(1.5, 1e6, 1e-9, 0.25),
)
PLAIN = (None, True, "x", "", [], {}, 0, -1, 1, 2, 7, 10**9, 10**400, 0.5, float("nan"), 1e308)
VERBOSE = "-v" in sys.argv
K = 12
SMALL = instance(3, I=2, is_sparse=True, is_masked=True)
RADII = (
    {"scale": 0.02},
    {"scale": 0.02, "transition": "l1"},
    {"mode": "tight", "scale": 0.02, "replan": "doubling"},
    {"mode": "tight", "transition": "kl+l1"},
)


def damage(rng: np.random.Generator, array: Any) -> Any:
    """A copy of an array with a few entries, its shape, its type or its memory order changed."""
    array = np.array(array)
    choice = rng.random()
    if choice < 0.05:
        return array[..., :-1].copy() if array.ndim and array.shape[-1] else array.reshape(-1)
    if choice < 0.1:
        kinds = (np.float64, np.int64, np.int16, np.uint32, np.uint64, np.bool_, ">f8", ">i8")
        with np.errstate(all="ignore"):
            return array.astype(kinds[rng.integers(len(kinds))])
    if choice < 0.13:
        return np.asfortranarray(array)
    if choice < 0.16:
        return np.concatenate((array, array)) if array.ndim else array
    for _ in range(int(rng.integers(1, 4))):
        if not array.size:
            break
        place = slice(None) if rng.random() < 0.15 else int(rng.integers(array.size))
        if array.dtype.kind in "iu":
            info = np.iinfo(array.dtype)
            value = INTEGERS[rng.integers(len(INTEGERS))]
            array.flat[place] = min(max(value, info.min), info.max)
        elif array.dtype.kind == "f":
            array.flat[place] = FLOATS[rng.integers(len(FLOATS))]
        elif array.dtype.kind == "b":
            array.view(np.uint8).flat[place] = rng.integers(256)
    return array


def damage_table(rng: np.random.Generator, table: dict[str, Any]) -> None:
    """Change one value of a table of tables."""
    key = list(table)[rng.integers(len(table))]
    if isinstance(table[key], dict) and table[key] and rng.random() < 0.9:
        damage_table(rng, table[key])
    elif rng.random() < 0.1:
        del table[key]
    else:
        table[key] = PLAIN[rng.integers(len(PLAIN))]


def damage_archive(rng: np.random.Generator, content: bytes) -> bytes:
    """An archive with a changed array or table, or with changed bytes."""
    choice = rng.random()
    if choice < 0.1:
        changed = bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            changed[rng.integers(len(changed))] = rng.integers(256)
        return bytes(changed[: rng.integers(1, len(changed))] if choice < 0.02 else changed)
    about, arrays = unpacked(content)
    if choice < 0.25:
        damage_table(rng, about)
    for name in rng.choice(list(arrays), size=rng.integers(1, 3), replace=False):
        if choice > 0.2:
            arrays[name] = damage(rng, arrays[name])
    if choice > 0.97:
        del arrays[name]
    return packed(about, arrays)


def random_model(rng: np.random.Generator) -> tr.CMDP:
    """A small model of random sizes."""
    S, A, H = (int(rng.integers(1, most)) for most in (6, 4, 5))
    I = int(rng.integers(0, 3))
    made = zoo.random_cmdp(rng, S, A, H, I, is_stationary=bool(rng.random() < 0.5))
    return made.with_budget(np.full(I, 0.8 * H))


def use_model(rng: np.random.Generator, cmdp: tr.CMDP) -> None:
    """Plan and evaluate, which reads every array of a model."""
    policy = cmdp.allowed / cmdp.allowed.sum(axis=2, keepdims=True)
    tr.evaluate(cmdp, policy)
    tr.occupancy(cmdp, policy)
    tr.solve(cmdp)


def sparse_kernel(rng: np.random.Generator) -> bool:
    """A model whose sparse kernel has changed pointers, indices or data, in any format."""
    cmdp = random_model(rng)
    S, A = cmdp.n_states, cmdp.n_actions
    matrices = []
    for dense in cmdp.transition.reshape(-1, S * A, S):
        matrix = sparse.csr_array(dense).asformat(FORMATS[rng.integers(len(FORMATS))])
        if rng.random() < 0.8:
            damage_matrix(rng, matrix)
        matrices.append(matrix)
    given = matrices[0] if cmdp.is_stationary else matrices
    budget = cmdp.budget
    made = tr.CMDP(given, cmdp.cost, cmdp.constraint_cost, budget, cmdp.horizon, cmdp.initial)
    use_model(rng, made)
    return True


def damage_matrix(rng: np.random.Generator, matrix: Any) -> None:
    """Change an array of a sparse matrix in place, past the checks of its constructor."""
    names = {
        **dict.fromkeys(("csr", "csc", "bsr"), ("indptr", "indices", "data")),
        "coo": ("coords", "data"),
        "dia": ("offsets", "data"),
        "lil": ("rows", "data"),
        "dok": (),
    }[matrix.format]
    if not names:
        key = (int(rng.integers(99)), int(rng.integers(99)))
        matrix._dict[key] = FLOATS[rng.integers(len(FLOATS))]
        return
    name = names[rng.integers(len(names))]
    if name == "coords":
        coords = list(matrix.coords)
        axis = int(rng.integers(2))
        coords[axis] = damage(rng, coords[axis])
        matrix.coords = tuple(coords)
    elif matrix.format == "lil":
        row = getattr(matrix, name)[rng.integers(matrix.shape[0])]
        values = INTEGERS if name == "rows" else FLOATS
        row[:1] = [values[rng.integers(len(values))]]
    else:
        setattr(matrix, name, damage(rng, getattr(matrix, name)))


def dense_model(rng: np.random.Generator) -> bool:
    """A model with changed dense arguments."""
    cmdp = random_model(rng)
    given = {
        "transition": cmdp.transition,
        "cost": cmdp.cost,
        "constraint_cost": cmdp.constraint_cost,
        "budget": cmdp.budget,
        "initial": cmdp.initial,
        "allowed": cmdp.allowed,
    }
    name = list(given)[rng.integers(len(given))]
    given[name] = damage(rng, given[name])
    use_model(rng, tr.CMDP(**given, horizon=cmdp.horizon))
    return True


def bounds_of_a_kernel(rng: np.random.Generator) -> bool:
    """Optimistic planning between changed bounds, dense or sparse."""
    cmdp = random_model(rng)
    S, A = cmdp.n_states, cmdp.n_actions
    width = rng.choice([0.0, 1e-300, 1e-9, 0.1, 1.0])
    p = cmdp.transition
    bounds = {"lower": np.maximum(p - width, 0.0), "upper": np.minimum(p + width, 1.0)}
    name = ("lower", "upper")[rng.integers(2)]
    if rng.random() < 0.5:
        form = FORMATS[rng.integers(3)]
        for each, bound in bounds.items():
            rows = [sparse.csr_array(dense) for dense in bound.reshape(-1, S * A, S)]
            made = [row.asformat(form) for row in rows]
            if each == name and rng.random() < 0.8:
                damage_matrix(rng, made[0])
            bounds[each] = made if len(made) > 1 else made[0]
    else:
        bounds[name] = damage(rng, bounds[name])
    tr.solve_optimistic(cmdp, **bounds)
    return True


def policy(rng: np.random.Generator) -> bool:
    """A changed policy, evaluated."""
    cmdp = random_model(rng)
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    forms = (np.full((H, S, A), 1.0 / A), rng.integers(A, size=(H, S)), np.full((S, A), 1.0 / A))
    given = damage(rng, forms[rng.integers(3)])
    tr.occupancy(cmdp, given)
    tr.evaluate(cmdp, given)
    return True


def steps_of(rng: np.random.Generator, task: Any) -> tr.Episode:
    """An episode that a task allows."""
    H, S = task.horizon, task.n_states
    states = rng.integers(S, size=H + 1)
    states[0] = rng.choice(np.flatnonzero(task.initial > 0))
    exists = task.allowed if task.allowed.shape[0] else np.ones((1, S, task.n_actions), bool)
    actions = [
        int(rng.choice(np.flatnonzero(exists[min(h, len(exists) - 1), states[h]])))
        for h in range(H)
    ]
    return tr.Episode(states, actions, rng.random(H), rng.random((task.n_constraints, H)))


def use_learner(rng: np.random.Generator, learner: tr.InteractiveLearner) -> None:
    """Plan, observe and bound, which reads every array of a learner."""
    for _ in range(2):
        if learner.n_observed >= learner.task.n_episodes:
            break
        plan = learner.plan()
        learner.bound(plan.policy)
        learner.observe(steps_of(rng, learner.task))
    tr.InteractiveLearner.from_bytes(learner.to_bytes())


def begun_learner(rng: np.random.Generator) -> tr.InteractiveLearner:
    """A learner after a few episodes."""
    algorithm = ALGORITHMS[rng.integers(len(ALGORITHMS))]
    radii = RADII[rng.integers(len(RADII))]
    learner = told(SMALL, algorithm, K, radii, stationary=True)
    for _ in range(int(rng.integers(0, 5))):
        learner.plan()
        learner.observe(steps_of(rng, learner.task))
    if rng.random() < 0.5:
        learner.plan()
    return learner


def observed_episode(rng: np.random.Generator) -> bool:
    """A changed episode, observed."""
    learner = begun_learner(rng)
    learner.plan()
    fields = vars(steps_of(rng, learner.task))
    name = list(fields)[rng.integers(4)]
    learner.observe(tr.Episode(**{**fields, name: damage(rng, fields[name])}))
    use_learner(rng, learner)
    return True


def learner_options(rng: np.random.Generator) -> bool:
    """A learner with radii of any size, over any kind of set."""
    factors = (0.0, 5e-324, 1e-300, 1e-200, 1e-19, 1e-9, 0.1, 1.0, 1e6, 1e100, 1e308)
    radii = {
        "transition": ("bernstein", "kl", "l1", "kl+l1", "bernstein+l1")[rng.integers(5)],
        "scale_transition": factors[rng.integers(len(factors))],
        "scale_cost": factors[rng.integers(len(factors))],
        "tight_costs": bool(rng.random() < 0.5),
        "clip": bool(rng.random() < 0.5),
        "tight_bonus": bool(rng.random() < 0.5),
        "pool": bool(rng.random() < 0.5),
        "any_time": bool(rng.random() < 0.5),
        "kl_costs": bool(rng.random() < 0.5),
        "mixture": bool(rng.random() < 0.5),
    }
    learner = told(SMALL, ALGORITHMS[rng.integers(len(ALGORITHMS))], K, radii, stationary=True)
    try:
        for _ in range(4):
            plan = learner.plan()
            learner.bound(plan.policy)
            learner.observe(steps_of(rng, learner.task))
    except TightropeError as error:
        raise RuntimeError(f"accepted radii fail later: {radii}") from error
    return True


def model_file(rng: np.random.Generator, folder: Path) -> bool:
    """A model file with changed arrays or bytes."""
    path = folder / "model.npz"
    random_model(rng).save(path)
    if rng.random() < 0.2:
        content = bytearray(path.read_bytes())
        for _ in range(int(rng.integers(1, 4))):
            content[rng.integers(len(content))] = rng.integers(256)
        path.write_bytes(content)
    else:
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        name = ("indptr", "indices", "data", "cost", "budget", "initial")[rng.integers(6)]
        arrays[name] = damage(rng, arrays[name])
        np.savez(path, **arrays)
    use_model(rng, tr.CMDP.load(path))
    return True


OLD_LEARNERS = sorted((Path(__file__).parent.parent / "data" / "learners-0.1").glob("Opt*.npz"))


def learner_file(rng: np.random.Generator) -> bool:
    """A learner file, of today or of version 0.1, with changed arrays, table or bytes."""
    if rng.random() < 0.3:
        content = OLD_LEARNERS[rng.integers(len(OLD_LEARNERS))].read_bytes()
    else:
        content = begun_learner(rng).to_bytes()
    content = damage_archive(rng, content)
    use_learner(rng, tr.InteractiveLearner.from_bytes(content))
    return True


def run_snapshot(rng: np.random.Generator) -> bool:
    """A snapshot of a run with changed arrays."""
    algorithm = ALGORITHMS[rng.integers(len(ALGORITHMS))]
    radii = RADII[0]
    run, again = (driven(SMALL, algorithm, K, confidence=radii) for _ in range(2))
    run.advance(int(rng.integers(0, 6)))
    _, arrays = unpacked(damage_archive(rng, packed({"run": "x"}, take_snapshot(run))))
    episode = restore(again, arrays)
    again.advance(min(3, K - episode))
    return True


def study_state(rng: np.random.Generator, folder: Path) -> bool:
    """A study whose kept state was changed in the database; asking must work all the same."""
    path = folder / f"{rng.integers(2**62)}.sqlite"
    study = tr.Study.new(path, "s", shape(algorithm=("OptCMDP", "OptCMDP-bonus")[rng.integers(2)]))
    study.tell([told_episode(k) for k in range(4)])
    expected = study.ask().bounds.cost
    with sqlite3.connect(path) as connection:
        (content,) = connection.execute("SELECT content FROM tightrope_states").fetchone()
        changed = damage_archive(rng, bytes(content))
        connection.execute("UPDATE tightrope_states SET content = ?", (changed,))
    connection.close()
    answer = tr.Study(path, "s").ask()
    assert answer.n_told == 4
    assert answer.bounds.cost.shape == expected.shape
    return True


KINDS: dict[str, tuple[int, Callable[..., bool]]] = {
    "sparse kernel": (700, sparse_kernel),
    "dense model": (300, dense_model),
    "bounds of a kernel": (300, bounds_of_a_kernel),
    "policy": (300, policy),
    "observed episode": (300, observed_episode),
    "learner options": (200, learner_options),
    "model file": (400, model_file),
    "learner file": (900, learner_file),
    "run snapshot": (600, run_snapshot),
    "study state": (100, study_state),
}


def main(times: float = 1.0, seed: int = 0) -> int:
    """Try every kind; print counts, and the first failures with what repeats them."""
    warnings.simplefilter("ignore")
    counts: dict[str, dict[str, int]] = {}
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for k, (kind, (n, attempt)) in enumerate(KINDS.items()):
            count = counts[kind] = {"inputs": 0, "accepted": 0, "refused": 0}
            needs_folder = attempt in (model_file, study_state)
            for case in range(round(n * times)):
                rng = np.random.default_rng([seed, k, case])
                count["inputs"] += 1
                try:
                    attempt(rng, Path(folder)) if needs_folder else attempt(rng)
                    count["accepted"] += 1
                except TightropeError as error:
                    count["refused"] += 1
                    if VERBOSE:
                        sys.stderr.write(f"{kind} {[seed, k, case]}: {error}\n")
                except Exception:  # noqa: BLE001
                    failures += 1
                    sys.stderr.write(f"{kind}, seed {[seed, k, case]}:\n{traceback.format_exc()}\n")
                    if failures >= 5:
                        return 1
    sys.stdout.write(json.dumps(counts) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "-v"]
    sys.exit(main(*map(float, words[:1]), *map(int, words[1:2])))
