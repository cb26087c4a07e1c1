"""A CMDP as a Gymnasium environment, single or vectorized.

::

    reward        = the model's reward, or -cost  of the step, as drawn
    info["cost"]  = the constraint cost           a float; of shape (I,) when there are several
    truncated     = after the horizon's last step

All are in the units of the model. A cost in [0, 1] without a unit of its own gives the reward
``1 - cost``.

States are observed as numbers. A policy of a finite horizon depends on the stage as well, which is
``info["stage"]``; the actions that exist are ``info["action_mask"]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from tightrope.arrays import CERTAINTY, Bools, Floats, Ints, check_choice, whole
from tightrope.errors import ModelError
from tightrope.model import CMDP, Layout, Unit
from tightrope.model.base import writable_problem
from tightrope.model.units import Range

if TYPE_CHECKING:
    Numbers = spaces.Discrete[Any]
else:  # Gymnasium 1.0 has no number types
    Numbers = spaces.Discrete

PIXELS = 24  # side of a cell
WALKER = "@"
FREE = ". "
# colors of Okabe and Ito, paler for the ground
GROUND = {"#": (89, 89, 89), "S": (246, 221, 168), "G": (158, 219, 199)}
PLAIN, HAZARD, LINE, AGENT = (255, 255, 255), (238, 178, 146), (217, 217, 217), (0, 114, 178)


def draw_costs(mean: Floats, noise: str, rng: np.random.Generator) -> Floats:
    """Draw costs in [0, 1] with these means, of any shape, and the noise of a model."""
    if noise == "bernoulli":
        return (rng.random(mean.shape) < mean).astype(np.float64)
    if noise == "beta":
        drawn = mean.copy()
        inside = (mean > 0.0) & (mean < 1.0)
        drawn[inside] = rng.beta(CERTAINTY * mean[inside], CERTAINTY * (1.0 - mean[inside]))
        return drawn
    return mean.copy()


def reward_of(unit: Unit, cost: Floats, horizon: int) -> Floats:
    """Convert costs of one step on the internal scale to rewards in the user's unit."""
    if unit.is_plain:
        return 1.0 - cost
    shown = unit.show_step(cost, horizon)
    return shown if unit.is_maximized else 0.0 - shown


def ranges_of(cmdp: CMDP) -> tuple[Range, dict[str, Range]]:
    """Return least and greatest reward of a step, and those of each cost by its names in ``info``.

    Without a name of its own, a constraint is ``cost``, or ``cost i`` if there are several.
    """
    H, ends = cmdp.horizon, np.array([0.0, 1.0])
    low, high = np.sort(reward_of(cmdp.cost_unit, ends, H)).tolist()
    found: dict[str, Range] = {}
    for i, (name, unit) in enumerate(
        zip(cmdp.constraint_names, cmdp.constraint_units, strict=True)
    ):
        least, most = np.sort(unit.show_step(ends, H)).tolist()
        alone = "cost" if cmdp.n_constraints == 1 else f"cost {i}"
        found |= dict.fromkeys((alone, name, f"cost_{name}"), (least, most))
    return (low, high), found


class Layer(NamedTuple):
    """The successors of one stage as points of a line."""

    points: Floats  # (E,), those of row r in (r, r + 1]
    targets: Ints  # (E,)
    last: Ints  # (S*A,) where the points of a row end; rounding never leads past them

    def targets_at(self, rows: Ints, points: Floats) -> Ints:
        """Return the successor of each point of a row."""
        at = np.searchsorted(self.points, points, side="right")
        return self.targets[np.minimum(at, self.last[rows])]


@final
class Draws:
    """Random draws from a model.

    Every successor gets a point of the line: those of row ``r`` of a stage lie in ``(r, r + 1]``,
    each at a distance of its probability from the one before. A uniform number in ``[r, r + 1)``
    then selects the first point beyond it.
    """

    def __init__(self, cmdp: CMDP) -> None:
        self._n_actions, self._horizon, self._noise = cmdp.n_actions, cmdp.horizon, cmdp.noise
        self._units = cmdp.units
        problem = writable_problem(cmdp)
        self._cost, self._bounded = problem.cost, problem.constraint_cost
        self._allowed = cmdp.allowed
        self._start = np.cumsum(cmdp.initial)
        self._last_start = int(np.flatnonzero(cmdp.initial)[-1])
        self._layers = [_layer(*layer) for layer in zip(*cmdp.transitions, strict=True)]

    def start(self, n: int, rng: np.random.Generator) -> Ints:
        """Draw start states, (n,)."""
        found = np.searchsorted(self._start, rng.random(n), side="right")
        return np.minimum(found, self._last_start)

    def next_states(
        self, stages: Ints, states: Ints, actions: Ints, rng: np.random.Generator
    ) -> Ints:
        """Draw successors, (n,), of n stages, states and actions."""
        rows = states * self._n_actions + actions
        points = rows + rng.random(len(states))
        if len(self._layers) == 1:
            return self._layers[0].targets_at(rows, points)
        found = np.empty(len(states), dtype=np.int64)
        for g in np.unique(stages):
            here = stages == g
            found[here] = self._layers[g].targets_at(rows[here], points[here])
        return found

    def pay(
        self, stages: Ints, states: Ints, actions: Ints, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Draw rewards, (n,), and constraint costs, (n, I), in the units of the model."""
        mean = self._cost[np.minimum(stages, self._cost.shape[0] - 1), states, actions]
        layers = np.minimum(stages, self._bounded.shape[1] - 1)
        bounded = np.ascontiguousarray(self._bounded[:, layers, states, actions].T)
        cost, bounded = draw_costs(mean, self._noise, rng), draw_costs(bounded, self._noise, rng)
        H = self._horizon
        for i, unit in enumerate(self._units.constraints):
            bounded[:, i] = unit.show_step(bounded[:, i], H)
        return reward_of(self._units.cost, cost, H), bounded

    def allowed(self, stages: Ints, states: Ints) -> Ints:
        """Return which actions exist, (n, A), as ones and zeros; after the last stage, as in it."""
        return self._allowed[np.minimum(stages, self._horizon - 1), states].astype(np.int8)


def _layer(indptr: Ints, indices: Ints, data: Floats) -> Layer:
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    likely = np.flatnonzero(data[: rows.size] > 0.0)
    total = np.concatenate(([0.0], np.cumsum(data[: rows.size])))
    inside = (total[1:] - total[indptr[rows]])[likely]
    last = np.cumsum(np.bincount(rows[likely], minlength=indptr.size - 1)) - 1
    return Layer(rows[likely] + np.minimum(inside, 1.0), indices[likely].astype(np.int64), last)


@final
class Actions(Numbers):
    """All actions; by default `sample` draws only those that exist in the current state."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.exist = np.ones(n, dtype=np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw an action, uniform over existing ones unless a mask or probabilities are given."""
        if mask is None and probability is None:
            mask = self.exist
        chances = {} if probability is None else {"probability": probability}
        return super().sample(mask, **chances)


@final
class ManyActions(spaces.MultiDiscrete):
    """An action per copy; by default `sample` draws only those that exist there."""

    def __init__(self, n: int, num_envs: int) -> None:
        super().__init__(np.full(num_envs, n))
        self.exist = np.ones((num_envs, n), dtype=np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw an action for each copy, by default uniform over existing ones."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        drawn = self.np_random.random(self.exist.shape) * self.exist
        return drawn.argmax(axis=1).astype(self.dtype)


@final
class CMDPEnv(gymnasium.Env[Any, Any]):
    """A CMDP as an environment, one step at a time.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    render_mode : {"ansi", "rgb_array"}, optional
        Result of `render`: text, or for a grid world an image.
    """

    def __init__(self, cmdp: CMDP, render_mode: str | None = None) -> None:
        self.metadata = {"render_modes": _render_modes(cmdp, render_mode), "render_fps": 4}
        self.render_mode = render_mode
        self.cmdp = cmdp
        self.observation_space = spaces.Discrete(cmdp.n_states)
        self.action_space = self._actions = Actions(cmdp.n_actions)
        self._draws = Draws(cmdp)
        self._stage, self._state, self._action = cmdp.horizon, 0, -1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; ``options`` are not read."""
        super().reset(seed=seed)
        self._stage, self._action = 0, -1
        self._state = int(self._draws.start(1, self.np_random)[0])
        return self._state, self._place()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Raises
        ------
        ModelError
            If it does not exist here, or the episode is over.
        """
        H = self.cmdp.horizon
        if self._stage >= H:
            raise ModelError.about(
                "step",
                more=f"the episode of {H} steps has ended, or none was started; call reset()",
            )
        if not self.action_space.contains(action):
            raise ModelError.about(
                "action",
                found=action,
                shown=repr(action),
                expected=f"0 to {self.cmdp.n_actions - 1}",
            )
        here = np.array([self._stage]), np.array([self._state]), np.array([int(action)])
        if not self._actions.exist[action]:
            raise _forbidden(self.cmdp, self._stage, self._state, int(action))
        reward, bounded = self._draws.pay(*here, self.np_random)
        self._state = int(self._draws.next_states(*here, self.np_random)[0])
        self._stage, self._action = self._stage + 1, int(action)
        costs = {
            key: float(value[0]) if value.ndim == 1 else value[0].copy()
            for key, value in _cost_info(self.cmdp, bounded).items()
        }
        info = {**self._place(), **costs}
        return self._state, float(reward[0]), False, self._stage == H, info

    def render(self) -> Any:
        """Return the current state as text, or as an image (height, width, 3)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render: no render_mode was given when this environment was made")
            return None
        if self.render_mode == "rgb_array":
            return _draw_map(self.cmdp, self._state)
        return _write_map(self.cmdp, self._state, self._stage, self._action)

    def _place(self) -> dict[str, Any]:
        exist = self._draws.allowed(np.array([self._stage]), np.array([self._state]))[0]
        self._actions.exist = exist
        return {"stage": self._stage, "action_mask": exist.copy()}


def _autoreset() -> dict[str, Any]:
    """Return next-step autoreset as metadata; Gymnasium 1.0 has no other mode."""
    try:
        from gymnasium.vector import AutoresetMode
    except ImportError:
        return {}
    return {"autoreset_mode": AutoresetMode.NEXT_STEP}


@final
class CMDPVectorEnv(VectorEnv[Any, Any, Any]):
    """A vector environment of a CMDP.

    Each copy behaves as a `CMDPEnv`. A copy that ended is reset by the next step, whose action is
    not read (Gymnasium's next-step autoreset).

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
        self.metadata = {"render_modes": _render_modes(cmdp, render_mode), **_autoreset()}
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
        """Begin an episode in every copy; one generator serves all, ``options`` are not read."""
        super().reset(seed=seed)
        self._begin(np.ones(self.num_envs, dtype=np.bool_))
        return self._states.copy(), self._places()

    def step(self, actions: Any) -> tuple[Ints, Floats, Bools, Bools, dict[str, Any]]:
        """Take an action in every copy; those that ended are reset instead.

        Raises
        ------
        ModelError
            If one does not exist in the state of its copy, or `reset` was never called.
        """
        if self._stages[0] < 0:
            raise ModelError.about("step", shown="no episode was started", more="; call reset()")
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise ModelError.about(
                "actions",
                found=chosen,
                shown=repr(chosen),
                expected=f"{self.num_envs} whole numbers",
            )
        goes = self._stages < self.cmdp.horizon
        if not ((chosen[goes] >= 0) & (chosen[goes] < self.cmdp.n_actions)).all():
            raise ModelError.about(
                "actions",
                found=chosen,
                shown=repr(chosen),
                expected=f"0 to {self.cmdp.n_actions - 1}",
            )
        rewards, bounded = (
            np.zeros(self.num_envs),
            np.zeros((self.num_envs, self.cmdp.n_constraints)),
        )
        if goes.any():
            here = self._stages[goes], self._states[goes], chosen[goes].astype(np.int64)
            self._require_allowed(*here)
            rewards[goes], bounded[goes] = self._draws.pay(*here, self.np_random)
            self._states[goes] = self._draws.next_states(*here, self.np_random)
            self._stages[goes] += 1
            self._actions[goes] = here[2]
        self._begin(~goes)
        ends = goes & (self._stages == self.cmdp.horizon)
        costs: dict[str, Any] = {}
        for key, values in _cost_info(self.cmdp, bounded).items() if goes.any() else ():
            costs |= {key: values.copy(), f"_{key}": goes.copy()}
        never = np.zeros(self.num_envs, dtype=np.bool_)
        return self._states.copy(), rewards, never, ends, {**self._places(), **costs}

    def render(self) -> Any:
        """Return the state of each copy as text or image."""
        if self.render_mode is None:
            return None
        if self.render_mode == "rgb_array":
            return tuple(_draw_map(self.cmdp, state) for state in self._states.tolist())
        places = zip(
            *(x.tolist() for x in (self._states, self._stages, self._actions)), strict=True
        )
        return tuple(_write_map(self.cmdp, *place) for place in places)

    def _require_allowed(self, stages: Ints, states: Ints, actions: Ints) -> None:
        exists = self._draws.allowed(stages, states)[np.arange(len(states)), actions]
        if not exists.all():
            k = int(np.argmin(exists))
            raise _forbidden(self.cmdp, int(stages[k]), int(states[k]), int(actions[k]))

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


def _cost_info(cmdp: CMDP, bounded: Floats) -> dict[str, Floats]:
    """Return constraint costs, (n, I), under the keys of ``info``: as an array, and by name."""
    together = bounded if cmdp.n_constraints > 1 else bounded.sum(axis=1)
    named = {f"cost_{name}": bounded[:, i] for i, name in enumerate(cmdp.constraint_names)}
    return {"cost": together, **named}


def _forbidden(cmdp: CMDP, stage: int, state: int, action: int) -> ModelError:
    return ModelError.about(
        "action",
        found=action,
        shown=(
            f"{cmdp.action_names[action]!r} (number {action}) does not "
            f"exist in state {cmdp.state_names[state]!r} at stage {stage}"
        ),
        more='; info["action_mask"] has ones for those that do',
    )


def _render_modes(cmdp: CMDP, wanted: str | None) -> list[str]:
    """Return the render modes of a model; raise a `ModelError` for any other."""
    modes = ["ansi"] if cmdp.layout is None else ["ansi", "rgb_array"]
    if wanted is not None:
        check_choice("render_mode", wanted, modes)
    return modes


def _write_map(cmdp: CMDP, state: int, stage: int, action: int) -> str:
    """Return a line about the step and, for a grid world, the map with ``@`` at the state."""
    last = f" after {cmdp.action_names[action]!r}" if action >= 0 else ""
    line = f"step {stage} of {cmdp.horizon}: {cmdp.state_names[state]}{last}"
    if cmdp.layout is None:
        return f"{line}\n"
    rows = [list(row) for row in cmdp.layout.rows]
    row, column = _cell(cmdp.layout, state)
    if row >= 0:
        rows[row][column] = WALKER
    return "\n".join([line, *map("".join, rows)]) + "\n"


def _draw_map(cmdp: CMDP, state: int) -> NDArray[np.uint8]:
    """Return the map of a grid world, (height, width, 3), with a disc at the state."""
    if cmdp.layout is None:
        raise ModelError.about("layout", more="the model has no map to draw")
    rows = cmdp.layout.rows
    picture = np.empty((len(rows) * PIXELS, max(map(len, rows)) * PIXELS, 3), dtype=np.uint8)
    picture[:] = GROUND["#"]
    for r, row in enumerate(rows):
        for c, letter in enumerate(row):
            part = _part(picture, r, c)
            part[:] = LINE
            part[:-1, :-1] = GROUND.get(letter, PLAIN if letter in FREE else HAZARD)
    place = _cell(cmdp.layout, state)
    if place[0] >= 0:
        offset = np.arange(PIXELS) - (PIXELS - 2) / 2
        disc = np.hypot(*np.meshgrid(offset, offset)) < 0.33 * PIXELS
        _part(picture, *place)[disc] = AGENT
    return picture


def _cell(layout: Layout, state: int) -> tuple[int, int]:
    row, column = np.asarray(layout.cells)[state]
    return int(row), int(column)


def _part(picture: NDArray[np.uint8], row: int, column: int) -> NDArray[np.uint8]:
    return picture[row * PIXELS : (row + 1) * PIXELS, column * PIXELS : (column + 1) * PIXELS]
