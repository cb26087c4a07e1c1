"""Many copies of a CMDP stepped together, in arrays.

What each copy goes through is what `CMDPEnv` would give it. A copy that ended begins anew with the
next step, whose action is not read (Gymnasium's next-step autoreset).
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from tightrope.arrays import Bools, Floats, Ints, whole
from tightrope.errors import ModelError
from tightrope.interop.draws import Draws
from tightrope.interop.environment import Actions, cost_info, forbidden
from tightrope.interop.render import drawn_map, render_modes, written_map
from tightrope.model import CMDP


def _autoreset() -> dict[str, Any]:
    """When copies begin anew, in Gymnasium's words; 1.0 had none, and knew no other way."""
    try:
        from gymnasium.vector import AutoresetMode
    except ImportError:
        return {}
    return {"autoreset_mode": AutoresetMode.NEXT_STEP}


@final
class ManyActions(spaces.MultiDiscrete):
    """An action for each copy, of which `sample` draws only those that exist where the copy is.

    Parameters
    ----------
    n : int
        Number of actions A.
    num_envs : int
        Number of copies.
    """

    def __init__(self, n: int, num_envs: int) -> None:
        super().__init__(np.full(num_envs, n))
        self.exist = np.ones((num_envs, n), dtype=np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """An action for each copy, uniform over those that exist unless told otherwise.

        Parameters
        ----------
        mask, probability : optional
            As for `gymnasium.spaces.MultiDiscrete`.
        """
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        drawn = self.np_random.random(self.exist.shape) * self.exist
        return drawn.argmax(axis=1).astype(self.dtype)


@final
class CMDPVectorEnv(VectorEnv[Any, Any, Any]):
    """Copies of a CMDP to be acted in, a step of all at a time.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    num_envs : int
        Number of copies.
    render_mode : {"ansi", "rgb_array"}, optional
        As for one copy.
    """

    def __init__(self, cmdp: CMDP, num_envs: int = 1, render_mode: str | None = None) -> None:
        self.metadata = {"render_modes": render_modes(cmdp, render_mode), **_autoreset()}
        self.render_mode = render_mode
        self.cmdp, self.num_envs = cmdp, whole("num_envs", num_envs)
        self.single_observation_space = spaces.Discrete(cmdp.n_states)
        self.single_action_space = Actions(cmdp.n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = self._choices = ManyActions(cmdp.n_actions, num_envs)
        self._draws = Draws(cmdp)
        self._stages = np.full(num_envs, -1)
        self._states = np.zeros(num_envs, dtype=np.int64)
        self._actions = np.full(num_envs, -1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Ints, dict[str, Any]]:
        """Begin an episode in every copy.

        Parameters
        ----------
        seed : int, optional
            Where randomness starts anew; one generator serves all copies.
        options : dict, optional
            Not read.
        """
        super().reset(seed=seed)
        self._begin(np.ones(self.num_envs, dtype=np.bool_))
        return self._states.copy(), self._places()

    def step(self, actions: Any) -> tuple[Ints, Floats, Bools, Bools, dict[str, Any]]:
        """Take an action in every copy; those that ended begin anew instead.

        Parameters
        ----------
        actions : (num_envs,) whole numbers
            Each one that exists where its copy is.

        Raises
        ------
        ModelError
            When one does not exist, or `reset` was never called.
        """
        if self._stages[0] < 0:
            raise ModelError("step: no episode was begun; reset()")
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ModelError(f"actions: {chosen!r}, expected {self.num_envs} whole numbers")
        goes = self._stages < self.cmdp.horizon
        if not ((chosen[goes] >= 0) & (chosen[goes] < self.cmdp.n_actions)).all():
            raise ModelError(f"actions: {chosen!r}, expected 0 to {self.cmdp.n_actions - 1}")
        cost, bounded = np.ones(self.num_envs), np.zeros((self.num_envs, self.cmdp.n_constraints))
        if goes.any():
            here = self._stages[goes], self._states[goes], chosen[goes].astype(np.int64)
            self._require_allowed(*here)
            cost[goes], bounded[goes] = self._draws.costs(*here, self.np_random)
            self._states[goes] = self._draws.next_states(*here, self.np_random)
            self._stages[goes] += 1
            self._actions[goes] = here[2]
        self._begin(~goes)
        ends = goes & (self._stages == self.cmdp.horizon)
        costs: dict[str, Any] = {}
        for key, values in cost_info(self.cmdp, bounded).items() if goes.any() else ():
            costs |= {key: values.copy(), f"_{key}": goes.copy()}
        never = np.zeros(self.num_envs, dtype=np.bool_)
        return self._states.copy(), 1.0 - cost, never, ends, {**self._places(), **costs}

    def render(self) -> Any:
        """Where each copy is: texts or pictures, as for one."""
        if self.render_mode is None:
            return None
        if self.render_mode == "rgb_array":
            return tuple(drawn_map(self.cmdp, state) for state in self._states.tolist())
        places = zip(
            *(x.tolist() for x in (self._states, self._stages, self._actions)), strict=True
        )
        return tuple(written_map(self.cmdp, *place) for place in places)

    def _require_allowed(self, stages: Ints, states: Ints, actions: Ints) -> None:
        exists = self._draws.allowed(stages, states)[np.arange(len(states)), actions]
        if not exists.all():
            k = int(np.argmin(exists))
            where = int(stages[k]), int(states[k]), int(actions[k])
            raise ModelError(forbidden(self.cmdp, *where))

    def _begin(self, which: Bools) -> None:
        if which.any():
            self._states[which] = self._draws.start(int(which.sum()), self.np_random)
            self._stages[which], self._actions[which] = 0, -1

    def _places(self) -> dict[str, Any]:
        everywhere = np.ones(self.num_envs, dtype=np.bool_)
        self._choices.exist = self._draws.allowed(self._stages, self._states)
        return {
            "stage": self._stages.copy(),
            "_stage": everywhere,
            "action_mask": self._choices.exist.copy(),
            "_action_mask": everywhere.copy(),
        }
