"""Any CMDP as a Gymnasium environment, through a door that loads Gymnasium when it is used."""

from __future__ import annotations

from typing import Any

from tightrope.errors import ModelError
from tightrope.interop.extra import require_gymnasium
from tightrope.model import CMDP


def to_gymnasium(cmdp: CMDP, render_mode: str | None = None, num_envs: int | None = None) -> Any:
    """A Gymnasium environment that behaves as a model says.

    A step gives the reward ``1 - cost`` and ``info["cost"]``, drawn with the model's noise; an
    episode is truncated after the horizon. The ids ``tightrope/NAME-v0`` are the catalogue's.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    render_mode : {"ansi", "rgb_array"}, optional
        What ``render`` gives: text, or for a grid world a picture.
    num_envs : int, optional
        So many copies stepped together, as a vector environment.

    Returns
    -------
    gymnasium.Env or gymnasium.vector.VectorEnv
    """
    require_gymnasium()
    if not isinstance(cmdp, CMDP):
        raise ModelError(f"cmdp: {type(cmdp).__name__}, expected a CMDP")
    if num_envs is None:
        from tightrope.interop.environment import CMDPEnv

        return CMDPEnv(cmdp, render_mode)
    from tightrope.interop.vector import CMDPVectorEnv

    return CMDPVectorEnv(cmdp, num_envs, render_mode)
