"""Snapshots: the state of a run as named arrays, and back; a resumed run continues bit for bit.

A snapshot contains all state that later episodes read: counts, beliefs, record, audit, the
learner's state, the last decision and both generators, except arrays that the spec determines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tightrope.arrays import require_integers
from tightrope.errors import ModelError, StoreError
from tightrope.experiments.simulate import Simulation
from tightrope.kernels.scratch import Desk
from tightrope.learners.files import read_generator
from tightrope.learners.storage import arrays_to_store, rename_0_1, restore_arrays

FIXED = (
    "counts.indptr",
    "counts.indices",
    "record.recorded",
    "record.order",
    "audit.plans.visit_term",
    *(f"record.work.{name}" for name in Desk._fields),
)  # determined by the spec, or scratch
STATE = ("episode", "cursor", "violations", "last_violation")


def take_snapshot(simulation: Simulation) -> dict[str, np.ndarray[Any, Any]]:
    """Return copies of all changing arrays of a run, and the states of its generators."""
    arrays = arrays_to_store(parts_of(simulation), simulation.agent, FIXED)
    state = {name: array.copy() for name, array in arrays.items()}
    for name, rng in _generators(simulation).items():
        text = json.dumps(rng.bit_generator.state)
        state[name] = np.frombuffer(text.encode(), dtype=np.uint8).copy()
    return state


def restore(simulation: Simulation, state: Mapping[str, np.ndarray[Any, Any]]) -> int:
    """Restore the state of a run from a snapshot.

    Parameters
    ----------
    simulation : Simulation
        Begun with the same model and options; written.
    state : mapping of str to array
        From `take_snapshot`, or of version 0.1.

    Returns
    -------
    int
        Number of recorded episodes.

    Raises
    ------
    StoreError
        If the state belongs to another kind of run or is corrupt; the simulation is then
        unchanged.
    """
    arrays, rngs = dict(state), _generators(simulation)
    is_old = "move.facts" in arrays
    if is_old:
        del rngs["own_generator"]  # no learner of version 0.1 made random choices
    for name in rngs:
        if name not in arrays:
            raise StoreError(
                f"snapshot: made by another kind of run (it has no {name})", argument=name
            )
    found = {name: _generator_state(rng, arrays.pop(name)) for name, rng in rngs.items()}
    parts = parts_of(simulation)
    if is_old:
        arrays = {name: each for name, each in rename_0_1(arrays, parts).items() if _is_kept(name)}
    episode = _recorded_episode(simulation, arrays)
    if episode > 0:  # before the first episode, the initial state
        restore_arrays(parts, arrays, "snapshot", simulation.agent, episode, True, FIXED)
    for name, generator in found.items():
        rngs[name].bit_generator.state = generator
    simulation.agent.n_observed = episode
    return episode


def parts_of(simulation: Simulation) -> dict[str, Any]:
    """Return the records of a run that snapshots contain."""
    world = simulation.world
    more = {"status": simulation.agent.status, "record": world.record, "audit": world.watch.audit}
    return {**simulation.agent.parts(), **more}


def _is_kept(name: str) -> bool:
    """Whether an array of version 0.1 is still stored: not scratch, not given by the options."""
    return not name.startswith(("trace.", "state.settings."))


def _generators(simulation: Simulation) -> dict[str, np.random.Generator]:
    return {"generator": simulation.rng, "own_generator": simulation.agent.rng}


def _generator_state(rng: np.random.Generator, content: np.ndarray[Any, Any]) -> Any:
    try:
        return read_generator(rng, json.loads(content.tobytes()))
    except (RecursionError, ValueError, StoreError) as error:
        raise StoreError(f"snapshot: corrupt: generator: {error}").with_fields_of(error) from error


def _recorded_episode(simulation: Simulation, arrays: Mapping[str, Any]) -> int:
    """Return the number of episodes of a stored record, after checking its indices."""
    record, n_episodes = simulation.world.record, simulation.agent.task.n_episodes
    found: dict[str, int] = {}
    try:
        for name in STATE:
            value = arrays[f"record.state.{name}"]
            if value.shape != (1,):
                raise ModelError.about(
                    f"record.state.{name}", verb="is of", shape=value.shape, expected="(1,)"
                )
            require_integers(f"record.state.{name}", value, 0, n_episodes)
            found[name] = int(value[0])
    except (KeyError, ModelError) as error:
        raise StoreError(f"snapshot: corrupt: {error}").with_fields_of(error) from error
    episode = found["episode"]
    cursor = int(np.searchsorted(record.recorded, episode, side="right"))
    if found["cursor"] != cursor or max(found["violations"], found["last_violation"]) > episode:
        raise StoreError(
            f"snapshot: corrupt: record.state does not fit episode {episode}",
            argument="record.state",
        )
    return episode
