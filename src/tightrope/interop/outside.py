"""A Gymnasium environment known only through its steps, as a process with a fixed horizon.

An episode that ends early rests in a state of its own, at no reward and no cost. Unless the start
is given, the process begins one stage earlier in a state from which nothing but the first
observation follows: so the distribution of the start is learned like any other.

::

    0 .. n-1    what is observed       n    over       n+1    before the start
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from tightrope.arrays import Bools, Floats, as_floats, whole
from tightrope.errors import ModelError
from tightrope.estimate.episode import Episode
from tightrope.interop.cost_rules import CostRule, Step, cost_rules
from tightrope.interop.extra import made
from tightrope.interop.numbering import numbering
from tightrope.model import CMDP, Unit
from tightrope.model.units import Range, onto_unit_interval, required_budget, required_range

A_REWARD = (0.0, 1.0)


class Played(NamedTuple):
    """An episode as a learner is told it, and what it came to in the environment's own units."""

    episode: Episode
    reward: float
    costs: Floats  # (I,)
    steps: int  # before it ended


@final
class Outside:
    """An environment that policies are played in.

    Parameters
    ----------
    env : gymnasium.Env
        With finitely many observations and actions.
    horizon : int
        Steps of an episode.
    rules : sequence of CostRule
        Its constraints.
    reward_range : (float, float)
        Least and greatest reward of a step; checked at each.
    initial : int or (n,) array, optional
        Number of the first observation, or their distribution; learned when not given.
    allowed : (n, A) or (H, n, A) booleans, optional
        Actions that exist where something is observed.
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
        self.low, self.high = required_range("reward_range", reward_range)
        self._seen = numbering(env.observation_space, "observation_space")
        self._done = numbering(env.action_space, "action_space")
        self.n_actions, self.over = self._done.n, self._seen.n
        self.is_start_learned = initial is None
        self.initial, self.allowed = self._start(initial), self._mask(allowed)
        self._n_episodes = 0
        self._require_patience()

    @property
    def n_states(self) -> int:
        """States of the process: observations, the end, and where the start is not known that."""
        return self.over + 1 + self.is_start_learned

    @property
    def horizon(self) -> int:
        """Stages of the process."""
        return self.n_steps + self.is_start_learned

    @property
    def units(self) -> tuple[Unit, ...]:
        """From the totals that a learner is told to the environment's: reward, then costs."""
        H = self.n_steps
        reward = Unit.of_reward("reward", self.low, self.high, H)
        return (reward, *(Unit.of_range(rule.name, rule.low, rule.high, H) for rule in self.rules))

    @property
    def budget(self) -> Floats:
        """Budgets on the scale of the costs that a learner is told, (I,)."""
        scaled = [
            required_budget(
                f"budget: {rule.budget:g} for {rule.name!r}", rule.budget, unit, self.n_steps
            )
            for rule, unit in zip(self.rules, self.units[1:], strict=True)
        ]
        return np.array(scaled, dtype=np.float64)

    def play(self, policy: Floats, rng: np.random.Generator) -> Played:
        """Play a policy for an episode.

        Parameters
        ----------
        policy : (H, S, A) array
            Probability of each action, by stage of the process and state.
        rng : Generator
            Draws the actions and, before the first episode, the environment's seed.
        """
        H, offset = self.n_steps, int(self.is_start_learned)
        self._n_episodes += 1
        seed = int(rng.integers(2**31)) if self._n_episodes == 1 else None
        observation, _ = self.env.reset(seed=seed)
        states = np.full(H + 1, self.over)
        actions, rewards = np.zeros(H, dtype=np.int64), np.zeros(H)
        costs, steps = np.zeros((len(self.rules), H)), H
        states[0] = self._seen.number(observation, f"{self._where(0)}: the observation")
        for h in range(H):
            weights = np.cumsum(policy[h + offset, states[h]])
            drawn = np.searchsorted(weights, rng.random() * weights[-1], side="right")
            actions[h] = min(int(drawn), int(weights.argmax()))
            following, rewards[h], costs[:, h], has_ended = self._step(h, states[h], actions[h])
            if has_ended:  # even at the last step: pooled counts see no difference between stages
                steps = h + 1
                break
            states[h + 1] = following
        self._require_rest(steps)
        return Played(
            self._told(states, actions, rewards, costs), rewards.sum(), costs.sum(1), steps
        )

    def _step(self, h: int, state: int, action: int) -> tuple[int, float, Floats, bool]:
        where = self._where(h + 1)
        try:
            told = self.env.step(self._done.point(action))
            observation, reward, terminated, truncated, info = told
        except ModelError:
            raise
        except Exception as error:  # whatever somebody else's environment raises
            kind = type(error).__name__
            raise ModelError(f"{where}: the environment failed: {kind}: {error}") from error
        following = self._seen.number(observation, f"{where}: the observation")
        try:
            paid = float(reward)
        except (TypeError, ValueError):
            raise ModelError(f"{where}: the reward is {reward!r}, expected a number") from None
        if not isinstance(info, Mapping):
            raise ModelError(f"{where}: info is {type(info).__name__}, expected a dict")
        if not self.low <= paid <= self.high:
            raise ModelError(
                f"{where}: the reward is {paid:g}, expected a number in "
                f"[{self.low:g}, {self.high:g}]; reward_range (--range reward=LOW:HIGH) says "
                "otherwise where it must"
            )
        step = Step(int(state), int(action), following, paid, bool(terminated), info)
        costs = np.array([rule.cost(step, where) for rule in self.rules])
        if truncated and not terminated and h + 1 < self.n_steps:
            raise ModelError(
                f"{where}: truncated by the environment before the horizon of {self.n_steps}; "
                "take a shorter horizon, or make it with a larger max_episode_steps"
            )
        return following, paid, costs, bool(terminated)

    def _told(self, states: Any, actions: Any, rewards: Floats, costs: Floats) -> Episode:
        """On the scale of [0, 1], with the stage before the start, which is free."""
        cost = onto_unit_interval(rewards, self.low, self.high, maximised=True)
        bounded = np.array([
            onto_unit_interval(row, rule.low, rule.high)
            for row, rule in zip(costs, self.rules, strict=True)
        ]).reshape(len(self.rules), self.n_steps)  # fmt: skip
        if self.is_start_learned:
            states = np.append(self.over + 1, states)
            actions, cost = np.append(0, actions), np.append(0.0, cost)
            bounded = np.pad(bounded, ((0, 0), (1, 0)))
        return Episode(states, actions, cost, bounded)

    def _where(self, step: int) -> str:
        place = f"step {step}" if step else "reset"
        return f"{place} of episode {self._n_episodes}"

    def _start(self, initial: Any) -> Any:
        if initial is None:
            return self.over + 1
        if np.ndim(initial) == 0:
            if whole("initial", initial, 0) >= self.over:
                raise ModelError(f"initial: {initial}, expected 0 to {self.over - 1}")
            return int(initial)
        given = as_floats("initial", initial)
        if given.shape != (self.over,):
            raise ModelError(f"initial: shape {given.shape}, expected {(self.over,)}")
        return np.append(given, 0.0)

    def _mask(self, allowed: Any) -> Bools:
        """Before the start and after the end there is nothing to choose."""
        known = (self.over, self.n_actions)
        given = np.ones(known) if allowed is None else as_floats("allowed", allowed)
        if given.shape not in (known, (self.n_steps, *known)):
            raise ModelError(
                f"allowed: shape {given.shape}, expected {known} or {(self.n_steps, *known)}"
            )
        if given.ndim == 3 and self.is_start_learned:
            given = np.concatenate((given[:1], given))
        mask = np.ones((*given.shape[:-2], self.n_states, self.n_actions), dtype=np.bool_)
        mask[..., self.over :, 1:] = False
        mask[..., : self.over, :] = given != 0.0
        return mask

    def _require_patience(self) -> None:
        limit = self.env.spec.max_episode_steps if self.env.spec is not None else None
        if limit is not None and limit < self.n_steps:
            raise ModelError(
                f"horizon: {self.n_steps}, but {self.env.spec.id} truncates episodes after {limit} "
                f"steps; make it with max_episode_steps={self.n_steps}"
            )

    def _require_rest(self, steps: int) -> None:
        """After the end rewards and costs are zero, which their ranges must hold."""
        ranges = {"reward_range": (self.low, self.high)}
        ranges |= {f"cost_range of {rule.name}": (rule.low, rule.high) for rule in self.rules}
        for word, (low, high) in ranges.items() if steps < self.n_steps else ():
            if not low <= 0.0 <= high:
                raise ModelError(
                    f"episode {self._n_episodes} ended after {steps} of {self.n_steps} steps, and "
                    f"the rest counts 0, which {word} [{low:g}, {high:g}] does not hold"
                )


def opened(
    env: Any,
    horizon: int,
    budget: Any,
    costs: Any,
    reward_range: Range,
    cost_range: Any,
    initial: Any,
    allowed: Any,
) -> Outside:
    """An environment made ready; the arguments are those of `learn_gymnasium`."""
    steps = whole("horizon", horizon)
    source = made(env, max_episode_steps=steps) if isinstance(env, str) else made(env)
    n_states = numbering(source.observation_space, "observation_space").n
    n_actions = numbering(source.action_space, "action_space").n
    if allowed is None:
        # which actions exist is part of the question, as in every model of ours
        own = getattr(source.unwrapped, "cmdp", None)
        if isinstance(own, CMDP) and own.horizon >= steps:
            allowed = own.allowed[:steps]
    rules = cost_rules(source, n_states, n_actions, costs, budget, cost_range)
    return Outside(source, steps, rules, reward_range, initial, allowed)
