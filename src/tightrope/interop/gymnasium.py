"""Registers the catalog with Gymnasium on import: ``gymnasium.make("tightrope/grid-v0")``.

``gymnasium.make("tightrope.interop.gymnasium:tightrope/grid-v0")`` imports this module.
"""

from __future__ import annotations

from typing import Any, final

import gymnasium

from tightrope import envs
from tightrope.errors import ModelError
from tightrope.interop.gym.environment import CMDPEnv, CMDPVectorEnv
from tightrope.model.cmdp import as_cmdp

__all__ = ["IDS", "CMDPEnv", "CMDPVectorEnv", "SixTuple"]

VERSION = 0


def register() -> tuple[str, ...]:
    """Register the catalog with Gymnasium, unless it is; return the ids."""
    ids = {name: f"tightrope/{name}-v{VERSION}" for name in envs.names()}
    for name, its_id in ids.items():
        if its_id not in gymnasium.registry:
            gymnasium.register(
                its_id,
                entry_point=f"{__name__}:build_env",
                vector_entry_point=f"{__name__}:build_vector_env",
                kwargs={"model": name},
            )
    return tuple(ids.values())


def build_env(model: str, render_mode: str | None = None, **parameters: Any) -> CMDPEnv:
    """Return the environment of a model of the catalog; ``parameters`` are the model's."""
    return CMDPEnv(as_cmdp(envs.build(model, **parameters)), render_mode)


def build_vector_env(
    model: str, num_envs: int = 1, render_mode: str | None = None, **parameters: Any
) -> CMDPVectorEnv:
    """Return a vector environment of the catalog; ``parameters`` are the model's."""
    return CMDPVectorEnv(as_cmdp(envs.build(model, **parameters)), num_envs, render_mode)


@final
class SixTuple(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Wrapper with the six-tuple convention of safe RL: ``step`` also returns the cost.

    ``step`` returns observation, reward, cost, terminated, truncated, info.

    Parameters
    ----------
    env : gymnasium.Env
        An environment with ``info["cost"]`` after every step.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)

    def step(  # type: ignore[override]
        self, action: Any
    ) -> tuple[Any, float, Any, bool, bool, dict[str, Any]]:
        """Take an action."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if "cost" not in info:
            raise ModelError.about("step", more='info has no "cost"')
        return observation, float(reward), info["cost"], terminated, truncated, info


IDS = register()
