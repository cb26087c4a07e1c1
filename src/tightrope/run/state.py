"""The state of a run under way as named arrays, and back: a run taken up again goes on bit for bit.

Everything that later episodes read is here: counts, beliefs, book, audit, the learner's memory, the
last move and the generator. The model and the options are not; they come from the run's spec.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tightrope.archive import leaves, put_back
from tightrope.errors import StoreError
from tightrope.run.simulation import Simulation

__all__ = ["restore", "state_of"]

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
GENERATOR = "generator"


def state_of(simulation: Simulation) -> dict[str, np.ndarray[Any, Any]]:
    """All changing arrays of a run, copied, and its generator's state."""
    state = {name: array.copy() for name, array in _leaves(simulation)}
    text = json.dumps(simulation.rng.bit_generator.state)
    state[GENERATOR] = np.frombuffer(text.encode(), dtype=np.uint8).copy()
    return state


def restore(simulation: Simulation, state: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Put a run just begun where another one stood.

    Parameters
    ----------
    simulation : Simulation
        Begun with the same model and options; written.
    state : mapping of str to array
        From `state_of`.

    Raises
    ------
    StoreError
        When the state belongs to another kind of run; the simulation is then unchanged.
    """
    arrays = {name: array for name, array in state.items() if name != GENERATOR}
    if GENERATOR not in state:
        raise StoreError("snapshot: made by another kind of run (it has no generator)")
    put_back(dict(_leaves(simulation)), arrays, "snapshot")
    simulation.rng.bit_generator.state = json.loads(state[GENERATOR].tobytes().decode())


def _leaves(simulation: Simulation) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    for part in KEPT:
        yield from leaves(part, getattr(simulation.world, part))
    yield from leaves("memory", simulation.memory)
    yield from leaves("move", simulation.move)
