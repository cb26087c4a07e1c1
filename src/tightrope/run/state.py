"""The state of a run as named arrays, and back: a resumed run continues bit for bit.

Everything that later episodes read is here: counts, beliefs, record, audit, the learner's memory,
the last decision and the generator. What the run's spec determines is not, and neither is scratch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tightrope.arrays import require_integers
from tightrope.errors import ModelError, StoreError
from tightrope.kernels.regret import CURSOR, EPISODE, LAST_VIOLATION, VIOLATIONS
from tightrope.learners.stored import arrays_to_store, put_stored
from tightrope.run.simulation import Simulation

KEPT = (
    "counts",
    "believed",
    "planned_visits",
    "planned_cost_visits",
    "is_fresh",
    "trace",
    "book",
    "audit",
)
FIXED = (
    "counts.indptr",
    "counts.indices",
    "book.recorded",
    "audit.visit_term",
    "memory.rate",
    "memory.settings",
    "memory.tolerance",
)  # determined by the spec
GENERATOR = "generator"


def state_of(simulation: Simulation) -> dict[str, np.ndarray[Any, Any]]:
    """All changing arrays of a run, copied, and its generator's state."""
    arrays = arrays_to_store(_parts(simulation), FIXED)
    state = {name: array.copy() for name, array in arrays.items()}
    text = json.dumps(simulation.rng.bit_generator.state)
    state[GENERATOR] = np.frombuffer(text.encode(), dtype=np.uint8).copy()
    return state


def restore(simulation: Simulation, state: Mapping[str, np.ndarray[Any, Any]]) -> int:
    """Bring a run just begun to where another one stopped.

    Parameters
    ----------
    simulation : Simulation
        Begun with the same model and options; written.
    state : mapping of str to array
        From `state_of`.

    Returns
    -------
    int
        Episodes that the run's record holds.

    Raises
    ------
    StoreError
        When the state belongs to another kind of run or is damaged; the simulation is then
        unchanged.
    """
    arrays = {name: array for name, array in state.items() if name != GENERATOR}
    if GENERATOR not in state:
        raise StoreError("snapshot: made by another kind of run (it has no generator)")
    generator = _generator_state(simulation, state[GENERATOR])
    episode = _recorded_episode(simulation, arrays)
    if episode > 0:  # before the first one, the run just begun is the state
        put_stored(_parts(simulation), arrays, "snapshot", simulation.task, episode, True, FIXED)
    simulation.rng.bit_generator.state = generator
    return episode


def _generator_state(simulation: Simulation, content: np.ndarray[Any, Any]) -> Any:
    """The generator's state, after another generator has accepted it."""
    try:
        found = json.loads(content.tobytes())
        trial = type(simulation.rng.bit_generator)()
        trial.state = found
        if trial.state != found:
            raise ValueError("it is not a state of this generator")
    except (KeyError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(f"snapshot: damaged: generator: {error}") from error
    return found


def _recorded_episode(simulation: Simulation, arrays: Mapping[str, Any]) -> int:
    """Episodes that a stored record holds, after a check of its places."""
    book = simulation.world.book
    try:
        state = arrays["book.state"]
        if (state.shape, state.dtype) != (book.state.shape, book.state.dtype):
            raise ModelError(f"book.state is {state.dtype} of shape {state.shape}")
        require_integers("book.state", state, 0, simulation.task.n_episodes)
    except (KeyError, ModelError) as error:
        raise StoreError(f"snapshot: damaged: {error}") from error
    episode = int(state[EPISODE])
    cursor = int(np.searchsorted(book.recorded, episode, side="right"))
    if state[CURSOR] != cursor or max(state[VIOLATIONS], state[LAST_VIOLATION]) > episode:
        raise StoreError(f"snapshot: damaged: book.state does not fit episode {episode}")
    return episode


def _parts(simulation: Simulation) -> dict[str, Any]:
    parts = {part: getattr(simulation.world, part) for part in KEPT}
    return {**parts, "memory": simulation.memory, "move": simulation.move}
