"""The six-tuple convention of safe-RL code: the cost of a step stands beside its reward."""

from __future__ import annotations

from typing import Any, final

import gymnasium

from tightrope.errors import ModelError


@final
class SixTuple(gymnasium.Wrapper[Any, Any, Any, Any]):
    """``step`` gives observation, reward, cost, terminated, truncated, info.

    Parameters
    ----------
    env : gymnasium.Env
        One whose ``info`` holds ``"cost"`` after every step.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)

    def step(  # type: ignore[override]
        self, action: Any
    ) -> tuple[Any, float, Any, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : any
            As the environment wants it.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        if "cost" not in info:
            raise ModelError('step: info has no "cost" to hand on')
        return observation, float(reward), info["cost"], terminated, truncated, info
