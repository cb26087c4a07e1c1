"""The catalogue under Gymnasium's ids: ``tightrope/grid-v0`` and so on."""

from __future__ import annotations

from typing import Any

from tightrope import envs
from tightrope.interop.environment import CMDPEnv
from tightrope.interop.extra import require_gymnasium
from tightrope.interop.vector import CMDPVectorEnv

VERSION = 0


def register() -> tuple[str, ...]:
    """Make the catalogue known to Gymnasium; the ids, which are there only once however often."""
    gym = require_gymnasium()
    ids = {name: f"tightrope/{name}-v{VERSION}" for name in envs.names()}
    for name, its_id in ids.items():
        if its_id not in gym.registry:
            gym.register(
                its_id,
                entry_point="tightrope.interop.registry:catalogued",
                vector_entry_point="tightrope.interop.registry:catalogued_vector",
                kwargs={"model": name},
            )
    return tuple(ids.values())


def catalogued(model: str, render_mode: str | None = None, **parameters: Any) -> CMDPEnv:
    """The environment of a model of the catalogue.

    Parameters
    ----------
    model : str
        Its name.
    render_mode : {"ansi", "rgb_array"}, optional
        What `render` gives.
    **parameters
        Of the model: ``budget``, ``horizon`` and so on.
    """
    return CMDPEnv(envs.build(model, **parameters), render_mode)


def catalogued_vector(
    model: str, num_envs: int = 1, render_mode: str | None = None, **parameters: Any
) -> CMDPVectorEnv:
    """Many copies of a model of the catalogue.

    Parameters
    ----------
    model : str
        Its name.
    num_envs : int
        Number of copies.
    render_mode : {"ansi", "rgb_array"}, optional
        What `render` gives.
    **parameters
        Of the model: ``budget``, ``horizon`` and so on.
    """
    return CMDPVectorEnv(envs.build(model, **parameters), num_envs, render_mode)
