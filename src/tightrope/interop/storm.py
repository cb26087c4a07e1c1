"""Models of the Storm model checker: read from and written to its explicit DRN files.

A DRN file has no horizon and no budgets; the caller gives the reward structure of the cost, those
with budgets, and the number of steps, a discount, or that costs are averaged. The corresponding
Storm properties are, for 20 steps, for long-run averages, and for a discount without budgets::

    multi(R{"time"}min=? [C<=20], R{"energy"}<=12 [C<=20])
    multi(R{"time"}min=? [LRA], R{"energy"}<=0.6 [LRA])
    R{"time"}min=? [Cdiscount=0.9]

A model that depends on time, or starts at random, is written unrolled: one state for each stage and
state, and a last one, ``done``, without rewards; total rewards (``[C]``) then work as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tightrope.arrays import Bools, Floats, check_names, check_table, flag, is_number
from tightrope.errors import ModelError
from tightrope.files import as_path, put
from tightrope.interop.arrays import Form, depends_on_time, form_of
from tightrope.interop.drn import RESERVED, DrnState, DrnText, parse, write_lines
from tightrope.model import CMDP, DiscountedCMDP, Model
from tightrope.model.base import as_model
from tightrope.model.files import content_of, in_file
from tightrope.model.units import Range
from tightrope.text import guess

NO_NAME = "__NOLABEL__"


def read_drn(
    path: str | PathLike[str],
    horizon: int | None = None,
    cost: str | None = None,
    budget: Mapping[str, float] | None = None,
    reward: str | None = None,
    floor: Mapping[str, float] | None = None,
    ranges: Mapping[str, Range] | None = None,
    initial: Any = None,
    *,
    discount: float | None = None,
    average: bool = False,
) -> Model:
    """Read a model from a DRN file of Storm.

    Parameters
    ----------
    path : path
        The file; an MDP, or a Markov chain, with all its numbers given.
    horizon : int, optional
        Number of steps H of an episode. One of ``horizon``, ``discount`` and ``average`` is given.
    cost : str, optional
        Reward structure to minimize; by default the only one, when there is no ``reward``.
    budget : mapping of str to float, optional
        Largest expected sum over an episode for each reward structure that is a constraint;
        discounted or averaged as costs are.
    reward : str, optional
        Reward structure to maximize, instead of ``cost``.
    floor : mapping of str to float, optional
        Least expected sum for each reward structure with a floor; requires ``reward``.
    ranges : mapping of str to (float, float), optional
        Least and greatest value of one step by reward structure; by default those of the file and
        0.
    initial : int, str or (S,) array, optional
        Start state, its name, or a distribution; by default the state labeled ``init``.
    discount : float, optional
        Weight of the next step relative to this one, for an infinite horizon.
    average : bool
        Whether the horizon is infinite and costs are averaged in the long run.

    Returns
    -------
    CMDP, DiscountedCMDP or AverageCMDP
        The model, in the units of the file.

    Raises
    ------
    ModelError
        If the file is not such a model; the message gives the line.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     tr.write_drn("ring", f"{folder}/ring.drn")
    ...     cmdp = tr.read_drn(f"{folder}/ring.drn", 6, reward="reward", budget={"moves": 3})
    >>> round(tr.solve(cmdp).value, 6)
    2.0
    """
    file, form = as_path("path", path), form_of(horizon, discount, average)
    budgets, floors = _totals("budget", budget), _totals("floor", floor)
    for name, word in (("cost", cost), ("reward", reward)):
        if word is not None:
            check_names(name, [word])
    content = content_of(file)
    with in_file(file):
        text, limits = _parse(content), check_table("ranges", ranges)
        return _model(text, form, cost, budgets, reward, floors, limits, initial)


def write_drn(cmdp: Model | str, path: str | PathLike[str], unroll: bool | None = None) -> None:
    """Write a model as a DRN file for Storm, with its costs as reward structures.

    Rewards are in the model's units per step, so that Storm's totals are those of results here.
    Budgets, horizon and discount are not part of the format.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
        The model, or its name in the catalog; a discounted one starts in one state.
    path : path
        The file to write.
    unroll : bool, optional
        Whether time becomes part of the state; by default only if kernel, costs or actions depend
        on the stage, or the start is random. Only a model with a horizon can be unrolled.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     tr.write_drn("ring", f"{folder}/ring.drn")
    ...     "reward moves" in Path(folder, "ring.drn").read_text()
    True
    """
    file = as_path("path", path)
    cmdp = as_model(cmdp)
    needs = must_unroll(cmdp)
    if unroll is not None:
        unroll = flag("unroll", unroll)
    if unroll and not isinstance(cmdp, CMDP):
        raise ModelError.about("unroll", found=unroll, more=", but the model has no horizon")
    if isinstance(cmdp, DiscountedCMDP) and cmdp.initial.max() < 1.0:
        raise ModelError.about(
            "initial",
            shown="a distribution",
            expected="one state",
            more="; a step that draws the start would discount all others",
        )
    if unroll is False and needs:
        raise ModelError.about(
            "unroll",
            found=False,
            more=(
                ", but the model depends on time or starts at random, which "
                "DRN represents for unrolled models only"
            ),
        )
    lines = write_lines(cmdp, needs if unroll is None else unroll)
    put(file, ("\n".join(lines) + "\n").encode())


def must_unroll(cmdp: Model) -> bool:
    """Whether DRN can express the model only with its stages unrolled."""
    is_random = isinstance(cmdp, CMDP) and bool(cmdp.initial.max() < 1.0)
    return depends_on_time(cmdp) or is_random


def _totals(name: str, given: Any) -> dict[str, float]:
    """Return bounds on sums by name."""
    table = check_table(name, given)
    for key, value in table.items():
        if not is_number(value):
            raise ModelError.about(f"{name}[{key!r}]", found=value, expected="a finite number")
    return {key: float(value) for key, value in table.items()}


def _parse(content: bytes) -> DrnText:
    try:
        return parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ModelError(
            f"not UTF-8 text at byte {error.start}, expected DRN", expected="DRN"
        ) from error


def _model(
    text: DrnText,
    form: Form,
    cost: str | None,
    budget: dict[str, float],
    reward: str | None,
    floor: dict[str, float],
    ranges: Mapping[str, Range],
    initial: Any,
) -> Model:
    if floor and reward is None:
        raise ModelError.about("floor", more="a lower limit is for a reward, not for a cost")
    objective = _objective(text, cost, reward, budget)
    for name in (objective, *budget, *floor, *ranges):
        if name not in text.rewards:
            hint = guess(name, text.rewards)
            more = f"{hint}; {_known(text)}"
            raise ModelError.about(f"reward structure {name!r}", shown="not in the file", more=more)
    names, rows = _actions(text.states)
    transition, allowed, values = _tabulate(text, rows, len(names))
    by_name = dict(zip(text.rewards, values, strict=True))
    totals = {**budget, **floor}
    limits = {
        name: ranges.get(name) or _range(by_name[name], totals.get(name, 0.0) / form.steps)
        for name in (objective, *totals)
    }
    options: dict[str, Any] = {
        "initial": _start(text.states) if initial is None else initial,
        "allowed": allowed,
        "state_names": _state_names(text.states),
        "action_names": names,
        "constraint_names": [*floor, *budget] or None,
        "constraint_range": [limits[name] for name in budget] or None,
        "constraint_cost": np.stack([by_name[name] for name in budget]) if budget else None,
        "budget": list(budget.values()) or None,
        **form.options,
    }
    made: Model
    if reward is None:
        made = form.kind.from_costs(
            transition,
            by_name[objective],
            cost_range=limits[objective],
            cost_name=objective,
            **options,
        )
        return made
    made = form.kind.from_rewards(
        transition,
        by_name[objective],
        reward_range=limits[objective],
        reward_name=objective,
        utility=np.stack([by_name[name] for name in floor]) if floor else None,
        floor=list(floor.values()) or None,
        utility_range=[limits[name] for name in floor] or None,
        **options,
    )
    return made


def _objective(
    text: DrnText, cost: str | None, reward: str | None, budget: Mapping[str, float]
) -> str:
    """Return the structure to minimize or maximize: the given one, or the only one left."""
    others = [name for name in text.rewards if name not in budget]
    if cost is None and reward is None and len(text.rewards) - len(budget) == 1:
        return others[0]
    objective = reward if cost is None else cost
    if objective is None or (cost is not None and reward is not None):
        raise ModelError.about(
            "cost", more=f"say which to minimize (or reward, to maximize): {_known(text)}"
        )
    return objective


def _known(text: DrnText) -> str:
    if not text.rewards:
        return "the file has no reward structures"
    return f"the file has {', '.join(map(repr, text.rewards))}"


def _actions(states: list[DrnState]) -> tuple[list[str], list[list[int]]]:
    """Return the names of all actions, and the action of each choice of each state."""
    numbers: dict[str, int] = {}
    rows = []
    for state in states:
        seen: Counter[str] = Counter()
        row = []
        for position, choice in enumerate(state.choices):
            name = str(position) if choice.name == NO_NAME else choice.name
            seen[name] += 1
            name = name if seen[name] == 1 else f"{name} #{seen[name]}"
            row.append(numbers.setdefault(name, len(numbers)))
        rows.append(row)
    return list(numbers), rows


def _state_names(states: list[DrnState]) -> list[str] | None:
    """Return the unique label of each state, or its number if there is none."""
    common = Counter(label for state in states for label in set(state.labels))
    numbers = [str(s) for s in range(len(states))]
    names = []
    for number, state in zip(numbers, states, strict=True):
        own = [x for x in state.labels if common[x] == 1 and x not in RESERVED]
        names.append(own[0] if own else number)
    # a label that looks like the number of another state is ambiguous
    return names if len(set(names)) == len(names) and names != numbers else None


def _start(states: list[DrnState]) -> int:
    starts = [s for s, state in enumerate(states) if "init" in state.labels]
    if len(starts) != 1:
        raise ModelError(
            f"{len(starts)} states are labeled init, expected one, or the argument initial",
            argument="initial",
            found=len(starts),
            expected="one state labeled init",
        )
    return starts[0]


def _range(values: Floats, a_step: float) -> Range:
    """Return the range of one step from the file, wide enough for an inactive bound."""
    low, high = min(0.0, float(values.min()), a_step), max(0.0, float(values.max()), a_step)
    return (low, high) if low < high else (low, low + 1.0)


def _tabulate(text: DrnText, rows: list[list[int]], A: int) -> tuple[csr_array, Bools, Floats]:
    """Return transitions, existing actions, and rewards by structure, state and action.

    Rewards are zero where an action does not exist.
    """
    S = len(text.states)
    allowed = np.zeros((S, A), dtype=np.bool_)
    rewards = np.zeros((len(text.rewards), S, A))
    at: list[int] = []
    successors: list[int] = []
    shares: list[float] = []
    for s, (state, row) in enumerate(zip(text.states, rows, strict=True)):
        allowed[s, row] = True
        for a, choice in zip(row, state.choices, strict=True):
            rewards[:, s, a] = np.add(state.rewards, choice.rewards)
            at += [s * A + a] * len(choice.successors)
            successors += choice.successors
            shares += choice.shares
    return csr_array((shares, (at, successors)), shape=(S * A, S)), allowed, rewards
