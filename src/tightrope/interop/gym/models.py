"""A tabular Gymnasium environment as a CMDP, with conversion back to its rewards.

``P[state][action]`` lists the outcomes as ``(probability, next state, reward, terminated)``, or
with an ``info`` as fifth. The row of a terminal state may still have rewards: that of the goal in
CliffWalking has -1. Here a state in which episodes end becomes absorbing, without reward and cost.
A state in which only some end keeps its row, and those that end there go to an extra state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from tightrope.arrays import Floats, as_floats
from tightrope.errors import ModelError
from tightrope.interop.arrays import form_of
from tightrope.interop.gym import make_env
from tightrope.interop.gym.costs import CostRule, Step, cost_rules, known_of
from tightrope.model import CMDP, AverageCMDP, Layout, Model
from tightrope.model.units import Range, required_range

OVER = "episode over"
ROUNDING = 1e-6  # tolerance on the sum of a row


@dataclass(frozen=True)
class Scaling:
    """Scaling of an environment in its model.

    A reward r became the cost (high - r)/(high - low), a cost d became (d - low)/(high - low).
    If only some episodes end in a state, the model has an extra state for the end.
    """

    reward_range: Range  # least and greatest reward of a step
    cost_range: dict[str, Range]
    absorbing: tuple[int, ...]  # terminal states, made absorbing
    has_end_state: bool

    @property
    def words(self) -> str:
        """The scaling in one line of text."""
        low, high = self.reward_range
        parts = [f"reward r in [{low:g}, {high:g}] became cost ({high:g} - r)/{high - low:g}"]
        for name, (least, most) in self.cost_range.items():
            kept = (least, most) == (0.0, 1.0)
            became = "kept" if kept else f"became (x - {least:g})/{most - least:g}"
            parts.append(f"{name} in [{least:g}, {most:g}] {became}")
        count = len(self.absorbing)
        if count:
            parts.append(f"{count} state{'s' if count > 1 else ''} made absorbing")
        if self.has_end_state:
            parts.append(f"a state {OVER!r} added")
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"Scaling({self.words})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        return listing("Scaling", self.words.split("; "))

    def undo(self, result: Any) -> dict[str, float]:
        """Return expected sums of a `Plan` or an evaluation in the environment's units, by name."""
        totals = zip(self.cost_range, result.constraint_value, strict=True)
        return {"reward": float(result.value), **{name: float(value) for name, value in totals}}


class Imported(NamedTuple):
    """A model, and the scaling of its environment."""

    cmdp: Model
    scaling: Scaling


def from_gymnasium(
    env: Any,
    horizon: int | None = None,
    budget: Any = None,
    costs: Any = None,
    *,
    discount: float | None = None,
    average: bool = False,
    reward_range: Range | None = None,
    cost_range: Any = None,
    initial: Any = None,
    noise: str = "none",
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> Imported:
    """Return the model of a tabular Gymnasium environment, from its table ``env.unwrapped.P``.

    Episodes last ``horizon`` steps; if the environment ends one earlier, the model stays in an
    absorbing state without reward and cost. Likewise with ``discount``; averages in the long run
    need an environment that never ends.

    Parameters
    ----------
    env : str or gymnasium.Env
        FrozenLake, CliffWalking, Taxi or any other with a table, or its id.
    horizon : int, optional
        Number of steps. One of ``horizon``, ``discount`` and ``average`` is given.
    budget : float, sequence or mapping, optional
        Largest allowed expected sum of each cost over an episode: a number for the only one, one
        each, or by name. None means no constraints.
    costs : callable, array, str, or mapping of these, optional
        Cost of a step: a function of a `Step`; an array ``(S, A)``, ``(S, A, S)``, or ``(S,)`` for
        entering a state; a named hazard (``"holes"``, ``"cliff"``, ``"illegal"``, or
        ``"hazard"`` for the only one) or a key of ``info``. By default given by the names of
        ``budget``, or ``info["cost"]``.
    discount : float, optional
        Weight of the next step relative to this one, instead of a horizon.
    average : bool
        Whether the horizon is infinite and rewards and costs are averaged.
    reward_range : (float, float), optional
        Least and greatest reward of a step; by default as in the table, including zero.
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; (0, 1) by default.
    initial : int or (S,) array, optional
        Start state or distribution; by default that of the environment.
    noise : {"none", "bernoulli", "beta"}
        How costs are drawn when the model is simulated, which needs a horizon.
    state_names, action_names : sequence of str, optional
        Names for tables and figures; by default those of a known map.

    Returns
    -------
    Imported
        ``cmdp`` and ``scaling``. Plans have the environment's rewards and costs;
        ``scaling.undo(plan)`` gives them by name.

    Examples
    --------
    >>> import tightrope as tr
    >>> cmdp, scaling = tr.from_gymnasium("FrozenLake-v1", horizon=20, budget={"holes": 0.05})
    >>> cmdp
    CMDP(16 states, 4 actions, horizon 20, 1 constraint, stationary)
    >>> scaling.undo(tr.solve(cmdp))["holes"] <= 0.05 + 1e-6
    True
    """
    source, form = make_env(env), form_of(horizon, discount, average)
    table = read_table(source, initial)
    ends = sorted(table.ends | table.mixed)
    if form.kind is AverageCMDP and ends:
        raise ModelError.about(
            "average",
            more=(
                f"episodes end in state {ends[0]}, so long-run averages are those of the end "
                "only; use horizon or discount"
            ),
        )
    drawn = {"noise": noise} if form.kind is CMDP else {}
    if noise != "none" and not drawn:
        raise ModelError.about("noise", found=noise, expected="'none' without a horizon")
    rules = cost_rules(source, table.n_states, table.n_actions, costs, budget, cost_range)
    rewards, bounded = _means(table, rules)
    low, high = _range(table, reward_range)
    known, has_end = known_of(source), bool(table.mixed)
    layout = known.layout(source.unwrapped)
    if state_names is None and layout is not None:
        state_names = [f"r{row}c{column}" for row, column in layout.cells]
    if has_end and state_names is not None:
        state_names = [*state_names, OVER]
    if has_end and layout is not None:
        layout = Layout(layout.rows, np.vstack([layout.cells, [[-1, -1]]]), layout.moves)
    cmdp = form.kind.from_rewards(
        _kernel(table),
        rewards,
        constraint_cost=bounded if rules else None,
        budget=[rule.budget for rule in rules] if rules else None,
        reward_range=(low, high),
        constraint_range=[(rule.low, rule.high) for rule in rules] if rules else None,
        initial=np.append(table.initial, 0.0) if has_end else table.initial,
        state_names=state_names,
        action_names=known.actions if action_names is None else action_names,
        constraint_names=[rule.name for rule in rules],
        layout=layout,
        **form.options,
        **drawn,
    )
    scaling = Scaling(
        (low, high),
        {rule.name: (rule.low, rule.high) for rule in rules},
        tuple(sorted(table.ends)),
        has_end,
    )
    return Imported(cmdp, scaling)


def _means(table: Table, rules: Sequence[CostRule]) -> tuple[Floats, Floats]:
    """Return mean rewards, (S', A), and costs, (I, S', A); zero after the end."""
    shape = (table.n_states + bool(table.mixed), table.n_actions)
    rewards, bounded = np.zeros(shape), np.zeros((len(rules), *shape))
    for s, a, outcome in table.steps():
        rewards[s, a] += outcome.chance * outcome.reward
        step = Step(s, a, *outcome[1:])
        for i, rule in enumerate(rules):
            bounded[i, s, a] += outcome.chance * rule.cost(step, f"P[{s}][{a}]")
    for i, rule in enumerate(rules):
        if (table.ends or table.mixed) and not rule.low <= 0.0 <= rule.high:
            raise ModelError.about(
                "cost_range",
                found=(rule.low, rule.high),
                shown=f"[{rule.low:g}, {rule.high:g}]",
                more=(
                    f" for {rule.name!r} without 0, which is what a step costs after the "
                    "episode's end"
                ),
            )
        bounded[i] = np.clip(bounded[i], rule.low, rule.high)
    return rewards, bounded


def _range(table: Table, given: Range | None) -> Range:
    found = [outcome.reward for _, _, outcome in table.steps()]
    least, most = min([0.0, *found]), max([0.0, *found])
    if given is None:
        return (least, most) if least < most else (0.0, 1.0)
    low, high = required_range("reward_range", given)
    if not (low <= least and most <= high):
        raise ModelError.about(
            "reward_range",
            more=(
                f"({low:g}, {high:g}), but rewards run from {least:g} to "
                f"{most:g}, the 0 after an episode's end included"
            ),
        )
    return low, high


def _kernel(table: Table) -> csr_array:
    S, A, has_end = table.n_states, table.n_actions, bool(table.mixed)
    entries = [
        (s * A + a, S if o.terminated and o.next_state in table.mixed else o.next_state, o.chance)
        for s, a, o in table.steps()
    ]
    still = [*table.ends, *([S] if has_end else [])]
    entries += [(s * A + a, s, 1.0) for s in still for a in range(A)]
    rows, columns, chances = zip(*entries, strict=True)
    shape = ((S + has_end) * A, S + has_end)
    kernel = csr_array((np.array(chances), (np.array(rows), np.array(columns))), shape=shape)
    kernel.sum_duplicates()
    return kernel


class Outcome(NamedTuple):
    """One outcome of an action."""

    chance: float
    next_state: int
    reward: float
    terminated: bool
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """Outcomes of each action, start distribution and terminal states."""

    outcomes: tuple[tuple[tuple[Outcome, ...], ...], ...]  # by state and action, if possible
    initial: Floats  # (S,)
    ends: frozenset[int]  # states in which episodes only end: absorbing
    mixed: frozenset[int]  # states in which only some episodes end

    @property
    def n_states(self) -> int:
        """Number of states of the environment itself."""
        return len(self.outcomes)

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return len(self.outcomes[0])

    def steps(self) -> Iterator[tuple[int, int, Outcome]]:
        """Yield every state that is not absorbing, with each action and outcome."""
        for s, row in enumerate(self.outcomes):
            if s not in self.ends:
                for a, found in enumerate(row):
                    yield from ((s, a, outcome) for outcome in found)


def read_table(env: Any, initial: Any = None) -> Table:
    """Return the table ``env.unwrapped.P`` of an environment with Discrete spaces, checked."""
    base = env.unwrapped
    S, A = (_size(env, space) for space in ("observation_space", "action_space"))
    if not hasattr(base, "P"):
        raise ModelError(
            f"{_name(env)}: the environment has no table P of what may happen; "
            "learn_gymnasium learns through its steps alone",
            argument="env",
            found=_name(env),
            expected="an environment with a table P",
        )
    if getattr(base, "fickle_passenger", False):
        raise ModelError(
            f"{_name(env)}: with fickle_passenger the table P is incomplete",
            argument="fickle_passenger",
            found=True,
            expected="false",
        )
    outcomes = tuple(tuple(_row(base.P, s, a, S) for a in range(A)) for s in range(S))
    start = _start(env, initial, S)
    going = _reach(outcomes, np.flatnonzero(start).tolist())
    ending = {o.next_state for row in outcomes for found in row for o in found if o.terminated}
    return Table(outcomes, start, frozenset(ending - going), frozenset(ending & going))


def _name(env: Any) -> str:
    return env.spec.id if env.spec is not None else type(env.unwrapped).__name__


def _size(env: Any, which: str) -> int:
    from gymnasium import spaces

    space = getattr(env.unwrapped, which)
    if not isinstance(space, spaces.Discrete) or space.start != 0:
        raise ModelError.about(
            _name(env), shown=f"{which} is {space}", expected="Discrete(n) from 0"
        )
    return int(space.n)


def _row(table: Any, s: int, a: int, S: int) -> tuple[Outcome, ...]:
    try:
        listed = table[s][a]
    except (LookupError, TypeError):
        raise ModelError.about(f"P[{s}][{a}]", shown="missing") from None
    if not isinstance(listed, Iterable):
        raise ModelError.about(f"P[{s}][{a}]", shown=repr(listed), expected="a list of outcomes")
    found = [_outcome(given, f"P[{s}][{a}][{k}]", S) for k, given in enumerate(listed)]
    total = sum(outcome.chance for outcome in found)
    if not abs(total - 1.0) <= ROUNDING:
        raise ModelError.about(
            f"P[{s}][{a}]", shown=f"probabilities add up to {total:.9g}", expected="1"
        )
    return tuple(o._replace(chance=o.chance / total) for o in found if o.chance > 0.0)


def _outcome(given: Any, where: str, S: int) -> Outcome:
    try:
        chance, state, reward, terminated, *rest = given
        info = rest[0] if rest else {}
        outcome = Outcome(float(chance), int(state), float(reward), bool(terminated), info)
    except (TypeError, ValueError):
        rest, outcome, info = [None, None], None, {}
    if outcome is None or len(rest) > 1 or not isinstance(info, Mapping):
        raise ModelError.about(
            where,
            shown=repr(given),
            expected="(probability, next state, reward, terminated), or these and an info",
        )
    if not 0.0 <= outcome.chance <= 1.0 + ROUNDING:
        raise ModelError.about(
            where, shown=f"probability {outcome.chance:g}", expected="a number in [0, 1]"
        )
    if outcome.next_state != state or not 0 <= outcome.next_state < S:
        raise ModelError.about(where, shown=f"next state {state}", expected=f"0 to {S - 1}")
    if not np.isfinite(outcome.reward):
        raise ModelError.about(where, shown=f"reward {outcome.reward}", expected="a finite number")
    return outcome


def _start(env: Any, initial: Any, S: int) -> Floats:
    if initial is None:
        for word in ("initial_state_distrib", "isd"):
            initial = getattr(env.unwrapped, word, initial) if initial is None else initial
    if initial is None:
        raise ModelError.about(
            "initial",
            shown="missing",
            more=(f"; {_name(env)} has no start distribution; give a state or a distribution"),
        )
    given = as_floats("initial", initial)
    if np.ndim(initial) == 0:
        if not (given[0].is_integer() and 0 <= given[0] < S):
            raise ModelError.about(
                "initial", found=initial, shown=repr(initial), expected=f"a state from 0 to {S - 1}"
            )
        given = np.where(np.arange(S) == given[0], 1.0, 0.0)
    if given.shape != (S,) or not (given >= 0).all() or not abs(given.sum() - 1) <= ROUNDING:
        raise ModelError.about("initial", expected=f"{S} probabilities that add up to 1")
    return np.asarray(given / given.sum(), dtype=np.float64)


def _reach(outcomes: tuple[tuple[tuple[Outcome, ...], ...], ...], start: list[int]) -> set[int]:
    """Return the states reachable from the start in which an episode may continue."""
    found, open_ends = set(start), list(start)
    while open_ends:
        for row in outcomes[open_ends.pop()]:
            for outcome in row:
                if not outcome.terminated and outcome.next_state not in found:
                    found.add(outcome.next_state)
                    open_ends.append(outcome.next_state)
    return found
