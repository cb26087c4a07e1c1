"""A Gymnasium environment known only through its steps, as a process with a fixed horizon.

Observations and actions are numbered from 0. An episode that ends early stays in an extra
state, n, without reward and cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, as_floats, whole
from tightrope.belief.episode import Episode
from tightrope.errors import ConfigError, ModelError, StoreError
from tightrope.interop.gym import make_env
from tightrope.interop.gym.costs import CostRule, Step, cost_rules
from tightrope.learners.files import read_generator
from tightrope.model import CMDP, Unit
from tightrope.model.start import LEARNED, is_learned
from tightrope.model.units import Range, onto_unit_interval, required_budget, required_range

REWARD_RANGE = (0.0, 1.0)
MOST = 10_000_000  # most points of a space with a table of counts


@dataclass(frozen=True)
class Numbering:
    """The points of a space in order, the last coordinate running fastest."""

    sizes: tuple[int, ...]  # number of values of each coordinate
    starts: tuple[int, ...]  # least value of each
    shape: str  # of a point: "number", "array" or "tuple"

    @property
    def n(self) -> int:
        """Number of points."""
        return int(np.prod(self.sizes, dtype=object))

    def number(self, point: Any, where: str) -> int:
        """Return the number of a point, or raise a `ModelError` that begins with the place."""
        try:
            values = np.asarray(point)
            is_whole = values.dtype.kind in "iu" and values.size == len(self.sizes)
        except ValueError:
            is_whole = False
        if not is_whole:
            raise ModelError.about(
                where, verb="is", found=point, shown=repr(point), expected=self._expected
            )
        offsets = values.ravel().astype(np.int64) - np.array(self.starts)
        if ((offsets < 0) | (offsets >= self.sizes)).any():
            raise ModelError.about(
                where, verb="is", found=point, shown=repr(point), expected=self._expected
            )
        return int(np.ravel_multi_index(tuple(offsets), self.sizes))

    def point(self, number: int) -> Any:
        """Return the point of a number, as the environment expects it."""
        offsets = np.unravel_index(number, self.sizes)
        values = [int(k) + start for k, start in zip(offsets, self.starts, strict=True)]
        if self.shape == "number":
            return values[0]
        return np.array(values) if self.shape == "array" else tuple(values)

    @property
    def _expected(self) -> str:
        ends = [f"{low} to {low + n - 1}" for low, n in zip(self.starts, self.sizes, strict=True)]
        return ends[0] if self.shape == "number" else f"whole numbers in {', '.join(ends)}"


def numbering(space: Any, what: str) -> Numbering:
    """Return the numbering of a space: Discrete, MultiDiscrete, or a Tuple of Discretes.

    Raises a `ModelError` that begins with ``what`` for a space that is infinite or too large.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        found = Numbering((int(space.n),), (int(space.start),), "number")
    elif isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        starts = np.broadcast_to(space.start, space.nvec.shape)
        found = Numbering(tuple(space.nvec.tolist()), tuple(starts.tolist()), "array")
    elif isinstance(space, spaces.Tuple) and all(
        isinstance(part, spaces.Discrete) for part in space.spaces
    ):
        parts: Any = space.spaces
        sizes = tuple(int(part.n) for part in parts)
        found = Numbering(sizes, tuple(int(part.start) for part in parts), "tuple")
    else:
        raise ModelError.about(
            what,
            shown=str(space),
            expected="Discrete, MultiDiscrete, or a Tuple of Discrete spaces",
        )
    if found.n > MOST:
        raise ModelError.about(
            what, shown=f"{space} has {found.n} points", expected=f"at most {MOST}"
        )
    return found


class Played(NamedTuple):
    """An episode for a learner, and its sums in the environment's units."""

    episode: Episode
    reward: float
    costs: Floats  # (I,)
    steps: int  # before it ended


@final
class Process:
    """An environment that runs policies for episodes of ``horizon`` steps.

    Rewards and the costs of ``rules`` are checked against their ranges at each step. ``initial`` is
    the number of the first observation or a distribution, learned by default; ``allowed``, of
    shape (n, A) or (H, n, A), says which actions exist.
    """

    def __init__(
        self,
        env: Any,
        horizon: int,
        rules: Sequence[CostRule],
        reward_range: Range,
        initial: Any = None,
        allowed: Any = None,
    ) -> None:
        self.env, self.rules, self.n_steps = env, tuple(rules), whole("horizon", horizon)
        # name, least and greatest value of one step: of the reward, then of each cost
        self.quantities = [("reward", *required_range("reward_range", reward_range))]
        self.quantities += [(rule.name, rule.low, rule.high) for rule in rules]
        self._seen = numbering(env.observation_space, "observation_space")
        self._taken = numbering(env.action_space, "action_space")
        self.n_actions, self.over = self._taken.n, self._seen.n
        self.initial, self.allowed = self._start(initial), self._mask(allowed)
        self._n_episodes, self._seed = 0, 0
        self._require_patience()

    @property
    def n_states(self) -> int:
        """Number of states: observations and the end."""
        return self.over + 1

    @property
    def units(self) -> tuple[Unit, ...]:
        """Units from the learner's totals to the environment's: reward, then costs."""
        H, (reward, *costs) = self.n_steps, self.quantities
        return (Unit.of_reward(*reward, H), *(Unit.of_range(*cost, H) for cost in costs))

    @property
    def budget(self) -> Floats:
        """Budgets on the learner's scale, (I,)."""
        scaled = [
            required_budget(
                "budget",
                rule.budget,
                unit,
                self.n_steps,
                shown=f"{rule.budget:g} for {rule.name!r}",
            )
            for rule, unit in zip(self.rules, self.units[1:], strict=True)
        ]
        return np.array(scaled, dtype=np.float64)

    def play(self, policy: Floats, rng: np.random.Generator) -> Played:
        """Run a policy (H, S, A) for an episode.

        ``rng`` draws the actions and, before the first episode, the environment's seed.
        """
        H = self.n_steps
        self._n_episodes += 1
        seed = None
        if self._n_episodes == 1:
            seed = self._seed = int(rng.integers(2**31))
        observation, _ = self.env.reset(seed=seed)
        states = np.full(H + 1, self.over)
        actions, steps = np.zeros(H, dtype=np.int64), H
        values = np.zeros((len(self.quantities), H))
        states[0] = self._seen.number(observation, f"{self._where(0)}: the observation")
        for h in range(H):
            weights = np.cumsum(policy[h, states[h]])
            drawn = np.searchsorted(weights, rng.random() * weights[-1], side="right")
            actions[h] = min(int(drawn), int(weights.argmax()))
            following, values[:, h], has_ended = self._step(h, states[h], actions[h])
            if has_ended:  # also at the last step: pooled counts do not distinguish stages
                steps = h + 1
                break
            states[h + 1] = following
        self._require_rest(steps)
        episode = self._scale(states, actions, values)
        return Played(episode, values[0].sum(), values[1:].sum(1), steps)

    def state(self) -> dict[str, Any]:
        """Return the seed of the environment and the state of its generator, between episodes."""
        rng = self.env.unwrapped.np_random
        is_standard = isinstance(rng, np.random.Generator)
        return {"seed": self._seed, "rng": rng.bit_generator.state if is_standard else None}

    def restore(self, state: Mapping[str, Any], n_episodes: int) -> None:
        """Continue after that many episodes, from what `state` returned then."""
        try:
            seed, found = whole("seed", state["seed"], 0), state["rng"]
        except (KeyError, TypeError, ConfigError) as error:
            words = f"snapshot: corrupt: environment: {error}"
            raise StoreError(words, argument="environment") from error
        self.env.reset(seed=seed)
        if found is not None:
            rng = self.env.unwrapped.np_random
            rng.bit_generator.state = read_generator(rng, found)
        self._n_episodes, self._seed = n_episodes, seed

    def _step(self, h: int, state: int, action: int) -> tuple[int, list[float], bool]:
        """Return next state, reward and costs, and whether the episode ended."""
        where = self._where(h + 1)
        try:
            found = self.env.step(self._taken.point(action))
            observation, reward, terminated, truncated, info = found
        except ModelError:
            raise
        except Exception as error:  # an environment may raise anything
            kind = type(error).__name__
            raise ModelError.about(
                where, shown="the environment failed", more=f": {kind}: {error}"
            ) from error
        following = self._seen.number(observation, f"{where}: the observation")
        try:
            paid = float(reward)
        except (TypeError, ValueError):
            raise ModelError.about(
                "the reward",
                where=where,
                verb="is",
                found=reward,
                shown=repr(reward),
                expected="a number",
            ) from None
        if not isinstance(info, Mapping):
            kind = type(info).__name__
            raise ModelError.about("info", where=where, verb="is", shown=kind, expected="a dict")
        _, low, high = self.quantities[0]
        if not low <= paid <= high:
            raise ModelError.about(
                "the reward",
                where=where,
                verb="is",
                found=paid,
                shown=f"{paid:g}",
                expected=f"a number in [{low:g}, {high:g}]",
                more="; reward_range sets another range",
            )
        step = Step(int(state), int(action), following, paid, bool(terminated), info)
        costs = [rule.cost(step, where) for rule in self.rules]
        if truncated and not terminated and h + 1 < self.n_steps:
            raise ModelError(
                f"{where}: truncated by the environment before the horizon {self.n_steps}; "
                "take a shorter horizon, or make it with a larger max_episode_steps",
                argument="horizon",
                found=self.n_steps,
                expected=f"at most {h + 1}",
            )
        return following, [paid, *costs], bool(terminated)

    def _scale(self, states: Any, actions: Any, values: Floats) -> Episode:
        """Scale values to [0, 1]."""
        scaled = np.array([
            onto_unit_interval(row, low, high, maximized=i == 0)
            for i, (row, (_, low, high)) in enumerate(zip(values, self.quantities, strict=True))
        ])  # fmt: skip
        return Episode(states, actions, scaled[0], scaled[1:])

    def _where(self, step: int) -> str:
        place = f"step {step}" if step else "reset"
        return f"{place} of episode {self._n_episodes}"

    def _start(self, initial: Any) -> Any:
        if initial is None or is_learned(initial):
            return LEARNED
        if np.ndim(initial) == 0:
            if whole("initial", initial, 0) >= self.over:
                raise ModelError.about(
                    "initial", found=int(initial), expected=f"0 to {self.over - 1}"
                )
            return int(initial)
        given = as_floats("initial", initial)
        if given.shape != (self.over,):
            raise ModelError.about("initial", shape=given.shape, expected=(self.over,))
        return np.append(given, 0.0)

    def _mask(self, allowed: Any) -> Bools:
        """Return which actions exist; after the end only the first."""
        known = (self.over, self.n_actions)
        given = np.ones(known) if allowed is None else as_floats("allowed", allowed)
        if given.shape not in (known, (self.n_steps, *known)):
            raise ModelError.about(
                "allowed", shape=given.shape, expected=f"{known} or {(self.n_steps, *known)}"
            )
        mask = np.ones((*given.shape[:-2], self.n_states, self.n_actions), dtype=np.bool_)
        mask[..., self.over :, 1:] = False
        mask[..., : self.over, :] = given != 0.0
        return mask

    def _require_patience(self) -> None:
        limit = self.env.spec.max_episode_steps if self.env.spec is not None else None
        if limit is not None and limit < self.n_steps:
            raise ModelError(
                f"horizon: {self.n_steps}, but {self.env.spec.id} truncates episodes after "
                f"{limit} steps; make it with max_episode_steps={self.n_steps}",
                argument="horizon",
                found=self.n_steps,
                expected=f"at most {limit}",
            )

    def _require_rest(self, steps: int) -> None:
        """Check that all ranges contain zero, the reward and cost after the end."""
        for i, (name, low, high) in enumerate(self.quantities if steps < self.n_steps else ()):
            word = f"cost_range of {name}" if i else "reward_range"
            if not low <= 0.0 <= high:
                raise ModelError(
                    f"episode {self._n_episodes} ended after {steps} of {self.n_steps} steps, and "
                    f"the rest counts 0, which {word} [{low:g}, {high:g}] does not hold",
                    argument="cost_range" if i else "reward_range",
                    entry=name if i else None,
                    found=(low, high),
                    expected="a range with 0",
                )


def open_process(
    env: Any,
    horizon: int,
    budget: Any,
    costs: Any,
    reward_range: Range | None,
    cost_range: Any,
    initial: Any,
    allowed: Any,
    parameters: Mapping[str, Any] | None = None,
) -> Process:
    """Return a process from the arguments of `begin_interaction`.

    An environment made from a model knows its ranges, and which actions exist.
    """
    from tightrope.interop.gym.environment import ranges_of

    steps = whole("horizon", horizon)
    source = make_env(env, steps, **(parameters or {}))
    n_states = numbering(source.observation_space, "observation_space").n
    n_actions = numbering(source.action_space, "action_space").n
    usual = REWARD_RANGE
    own_ranges: dict[str, Range] = {}
    own = getattr(source.unwrapped, "cmdp", None)
    if isinstance(own, CMDP):
        usual, own_ranges = ranges_of(own)
        if allowed is None and own.horizon >= steps:
            allowed = own.allowed[:steps]
    rules = cost_rules(source, n_states, n_actions, costs, budget, cost_range, own_ranges)
    rewards = usual if reward_range is None else reward_range
    return Process(source, steps, rules, rewards, initial, allowed)
