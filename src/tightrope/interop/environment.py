"""A CMDP as a Gymnasium environment.

::

    reward        = 1 - cost                      of the step, as drawn
    info["cost"]  = the constraint cost           a float; of shape (I,) when there are several
    truncated     = after the horizon's last step

States are observed as numbers. A policy of a finite horizon depends on the stage as well, which is
``info["stage"]``; the actions that exist are ``info["action_mask"]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import gymnasium
import numpy as np
from gymnasium import spaces

from tightrope.arrays import Floats
from tightrope.errors import ModelError
from tightrope.interop.draws import Draws
from tightrope.interop.render import drawn_map, render_modes, written_map
from tightrope.model import CMDP

if TYPE_CHECKING:
    Numbers = spaces.Discrete[Any]
else:  # Gymnasium 1.0 has no types of numbers
    Numbers = spaces.Discrete


@final
class Actions(Numbers):
    """All actions, of which `sample` draws only those that exist where the environment is.

    Parameters
    ----------
    n : int
        Number of actions A.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.exist = np.ones(n, dtype=np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """An action, uniform over those that exist unless a mask or probabilities are given.

        Parameters
        ----------
        mask : (A,) array, optional
            Ones where an action may be drawn.
        probability : (A,) array, optional
            Probability of each action.
        """
        if mask is None and probability is None:
            mask = self.exist
        chances = {} if probability is None else {"probability": probability}
        return super().sample(mask, **chances)


@final
class CMDPEnv(gymnasium.Env[Any, Any]):
    """A CMDP to be acted in, one step at a time.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    render_mode : {"ansi", "rgb_array"}, optional
        What `render` gives: text, or for a grid world a picture.
    """

    def __init__(self, cmdp: CMDP, render_mode: str | None = None) -> None:
        self.metadata = {"render_modes": render_modes(cmdp, render_mode), "render_fps": 4}
        self.render_mode = render_mode
        self.cmdp = cmdp
        self.observation_space = spaces.Discrete(cmdp.n_states)
        self.action_space = self._actions = Actions(cmdp.n_actions)
        self._draws = Draws(cmdp)
        self._stage, self._state, self._action = cmdp.horizon, 0, -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Where randomness starts anew.
        options : dict, optional
            Not read.
        """
        super().reset(seed=seed)
        self._stage, self._action = 0, -1
        self._state = int(self._draws.start(1, self.np_random)[0])
        return self._state, self._place()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Parameters
        ----------
        action : int
            One that exists in this state.

        Raises
        ------
        ModelError
            When it does not exist here, or the episode is over.
        """
        H = self.cmdp.horizon
        if self._stage >= H:
            raise ModelError(f"step: the episode of {H} steps is over, or none was begun; reset()")
        if not self.action_space.contains(action):
            raise ModelError(f"action: {action!r}, expected 0 to {self.cmdp.n_actions - 1}")
        here = np.array([self._stage]), np.array([self._state]), np.array([int(action)])
        if not self._actions.exist[action]:
            raise ModelError(forbidden(self.cmdp, self._stage, self._state, int(action)))
        cost, bounded = self._draws.costs(*here, self.np_random)
        self._state = int(self._draws.next_states(*here, self.np_random)[0])
        self._stage, self._action = self._stage + 1, int(action)
        costs = {
            key: float(value[0]) if value.ndim == 1 else value[0].copy()
            for key, value in cost_info(self.cmdp, bounded).items()
        }
        reward = 1.0 - float(cost[0])
        return self._state, reward, False, self._stage == H, {**self._place(), **costs}

    def render(self) -> Any:
        """Where the environment is: a text, or a picture of shape (height, width, 3)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render: no render_mode was given when this environment was made")
            return None
        if self.render_mode == "rgb_array":
            return drawn_map(self.cmdp, self._state)
        return written_map(self.cmdp, self._state, self._stage, self._action)

    def _place(self) -> dict[str, Any]:
        exist = self._draws.allowed(np.array([self._stage]), np.array([self._state]))[0]
        self._actions.exist = exist
        return {"stage": self._stage, "action_mask": exist.copy()}


def cost_info(cmdp: CMDP, bounded: Floats) -> dict[str, Floats]:
    """Constraint costs, (n, I), under the keys that users of `info` know.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    bounded : (n, I) array
        Constraint costs of n places.
    """
    n_constraints = cmdp.n_constraints
    whole = bounded if n_constraints > 1 else bounded.sum(axis=1)
    named = {f"cost_{name}": bounded[:, i] for i, name in enumerate(cmdp.constraint_names)}
    return {"cost": whole, **named}


def forbidden(cmdp: CMDP, stage: int, state: int, action: int) -> str:
    """What is said of an action that does not exist where it is to be taken.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    stage, state, action : int
        Where, and what.
    """
    return (
        f"action: {cmdp.action_names[action]!r} (number {action}) does not exist in state "
        f"{cmdp.state_names[state]!r} at stage {stage}; "
        'info["action_mask"] has ones for those that do'
    )
