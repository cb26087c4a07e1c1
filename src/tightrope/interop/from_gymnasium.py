"""A tabular Gymnasium environment as a CMDP, with a way back to its own rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Floats, whole
from tightrope.errors import ModelError
from tightrope.interop.cost_rules import CostRule, Step, cost_rules
from tightrope.interop.extra import made
from tightrope.interop.tabular import Table, read_table
from tightrope.interop.toy_text import map_of, move_names
from tightrope.model import CMDP, Layout, Unit
from tightrope.model.units import Range, required_range

OVER = "episode over"


@dataclass(frozen=True)
class Scaling:
    """What was done to an environment to make a model of it, and the way back.

    Parameters
    ----------
    reward_range : (float, float)
        Least and greatest reward of a step; a reward r became the cost (high - r)/(high - low).
    cost_range : mapping of str to (float, float)
        The same for each constraint; a cost d became (d - low)/(high - low).
    reward_unit : Unit
        From a model's total to the sum of rewards.
    cost_units : mapping of str to Unit
        From a model's total to the sum of costs.
    absorbing : tuple of int
        States in which episodes end, made absorbing and free.
    has_end_state : bool
        Whether the model has one more state than the environment, for episodes that end where
        others go on.
    """

    reward_range: Range
    cost_range: dict[str, Range]
    reward_unit: Unit
    cost_units: dict[str, Unit]
    absorbing: tuple[int, ...]
    has_end_state: bool

    @property
    def words(self) -> str:
        """All of it in a line."""
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

    def undo(self, result: Any) -> dict[str, float]:
        """Expected sums of a result in the environment's own units, by name.

        Parameters
        ----------
        result : Plan or Evaluation
            Anything with a ``value`` and a ``constraint_value``.
        """
        sums = {"reward": self.reward_unit.show(float(result.value))}
        for (name, unit), value in zip(
            self.cost_units.items(), result.constraint_value, strict=True
        ):
            sums[name] = unit.show(float(value))
        return sums


class Imported(NamedTuple):
    """A model, and what was done to make it."""

    cmdp: CMDP
    scaling: Scaling


def from_gymnasium(
    env: Any,
    horizon: int,
    budget: Any = None,
    costs: Any = None,
    *,
    reward_range: Range | None = None,
    cost_range: Any = None,
    initial: Any = None,
    noise: str = "none",
    state_names: Sequence[str] | None = None,
    action_names: Sequence[str] | None = None,
) -> Imported:
    """The model of a tabular Gymnasium environment, from its table ``env.unwrapped.P``.

    Episodes last ``horizon`` steps; where the environment ends one sooner, the model rests in an
    absorbing state at no reward and no cost.

    Parameters
    ----------
    env : str or gymnasium.Env
        FrozenLake, CliffWalking, Taxi or any other with a table; an id will do.
    horizon : int
        Number of steps.
    budget : float, sequence or mapping, optional
        Largest allowed expected sum of each cost over an episode: a number for the only one, one
        each, or by name. None means no constraints.
    costs : callable, array, str, or mapping of these, optional
        What a step costs: a function of a `Step`; an array ``(S, A)``, ``(S, A, S)``, or ``(S,)``
        for what entering a state costs; a named hazard (``"holes"``, ``"cliff"``,
        ``"illegal"``, or ``"hazard"`` for whichever there is) or a key of ``info``. Without it
        the names of ``budget`` say it, or ``info["cost"]``.
    reward_range : (float, float), optional
        Least and greatest reward of a step; as found in the table, zero included, when not given.
    cost_range : (float, float) or mapping of these, optional
        Least and greatest cost of a step; (0, 1) when not given.
    initial : int or (S,) array, optional
        Start state or distribution; the environment's own when not given.
    noise : {"none", "bernoulli", "beta"}
        How costs are drawn when the model is simulated.
    state_names, action_names : sequence of str, optional
        Names for tables and pictures; those of a known map when not given.

    Returns
    -------
    Imported
        ``cmdp`` and ``scaling``. Plans are on the model's scale; ``scaling.undo(plan)`` and the
        command line give the environment's own rewards back.
    """
    source, H = made(env), whole("horizon", horizon)
    table = read_table(source, initial)
    rules = cost_rules(source, table.n_states, table.n_actions, costs, budget, cost_range)
    rewards, bounded = _means(table, rules)
    low, high = _range(table, reward_range)
    has_end, layout = bool(table.mixed), map_of(source)
    names = action_names if action_names is not None else move_names(source)
    if state_names is None and layout is not None:
        state_names = [f"r{row}c{column}" for row, column in layout.cells]
    if has_end and state_names is not None:
        state_names = [*state_names, OVER]
    cmdp = CMDP.from_rewards(
        _kernel(table),
        rewards,
        horizon=H,
        constraint_cost=bounded if rules else None,
        budget=[rule.budget for rule in rules] if rules else None,
        reward_range=(low, high),
        constraint_range=[(rule.low, rule.high) for rule in rules] if rules else None,
        initial=np.append(table.initial, 0.0) if has_end else table.initial,
        noise=noise,
        state_names=state_names,
        action_names=names,
        constraint_names=[rule.name for rule in rules],
        layout=_with_end(layout) if has_end else layout,
    )
    scaling = Scaling(
        (low, high),
        {rule.name: (rule.low, rule.high) for rule in rules},
        cmdp.cost_unit,
        dict(zip(cmdp.constraint_names, cmdp.constraint_units, strict=True)),
        tuple(sorted(table.ends)),
        has_end,
    )
    return Imported(cmdp, scaling)


def _means(table: Table, rules: Sequence[CostRule]) -> tuple[Floats, Floats]:
    """Mean rewards, (S', A), and costs, (I, S', A); zero where nothing happens any more."""
    shape = (table.n_states + bool(table.mixed), table.n_actions)
    rewards, bounded = np.zeros(shape), np.zeros((len(rules), *shape))
    for s, a, outcome in table.steps():
        rewards[s, a] += outcome.chance * outcome.reward
        step = Step(s, a, *outcome[1:])
        for i, rule in enumerate(rules):
            bounded[i, s, a] += outcome.chance * rule.cost(step, f"P[{s}][{a}]")
    for i, rule in enumerate(rules):
        if (table.ends or table.mixed) and not rule.low <= 0.0 <= rule.high:
            raise ModelError(
                f"cost_range: [{rule.low:g}, {rule.high:g}] for {rule.name!r} without 0, "
                "which is what a step costs after the episode's end"
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
        raise ModelError(
            f"reward_range: ({low:g}, {high:g}), but rewards run from {least:g} to {most:g}, "
            "the 0 after an episode's end included"
        )
    return low, high


def _kernel(table: Table) -> Any:
    from scipy.sparse import csr_array

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


def _with_end(layout: Layout | None) -> Layout | None:
    if layout is None:
        return None
    return Layout(layout.rows, np.vstack([layout.cells, [[-1, -1]]]), layout.moves)
