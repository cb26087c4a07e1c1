"""Arguments of a model brought into canonical layout; shapes must fit, values may be bad."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tightrope.arrays import Bools, Floats, as_floats, whole
from tightrope.errors import ModelError, describe
from tightrope.text import guess

MOST_STEPS = 2**31 - 1


def required_horizon(horizon: Any) -> int:
    """The horizon as an int, or a `ModelError`."""
    return whole("horizon", horizon, most=MOST_STEPS)


def staged(name: str, values: Floats, lead: tuple[int, ...], H: int, S: int, A: int) -> Floats:
    """A copy over (s, a) or (h, s, a), after the axes in ``lead``, with its stage axis explicit."""
    if values.shape == (*lead, S, A):
        return values.reshape(*lead, 1, S, A).copy()
    if values.shape == (*lead, H, S, A):
        return values.copy()
    axes = "I, " * len(lead)
    raise ModelError(
        f"{name}: shape {values.shape}, expected {(*lead, S, A)} over ({axes}S, A) "
        f"or {(*lead, H, S, A)} over ({axes}H, S, A)"
    )


def constraint_costs(constraint_cost: Any, I: int, H: int, S: int, A: int) -> Floats:
    """Costs of the I constraints, (I, 1 or H, S, A); none when there are no budgets."""
    if constraint_cost is None:
        if I:
            raise ModelError(f"constraint_cost: missing, expected costs for {I} budgets")
        return np.zeros((0, 1, S, A))
    values = as_floats("constraint_cost", constraint_cost)
    if I == 0:
        if values.size:
            raise ModelError("budget: missing, expected one number for each constraint cost")
        return np.zeros((0, 1, S, A))
    return staged("constraint_cost", values, (I,), H, S, A)


def distinct_names(name: str, given: Iterable[str] | None, size: int) -> tuple[str, ...] | None:
    """So many names, none of them twice; None when none were given."""
    if given is None:
        return None
    if not isinstance(given, Iterable):
        raise ModelError(f"{name}: {describe(given)}, expected a list of {size} names")
    try:
        names = tuple(str(word) for word in given)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ModelError(f"{name}: {describe(error)}, expected a list of {size} names") from error
    if len(names) != size:
        raise ModelError(f"{name}: {len(names)} names, expected {size}")
    twice = [word for word, count in Counter(names).items() if count > 1]
    if twice:
        raise ModelError(f"{name}: {twice[0]!r} appears more than once, expected distinct names")
    return names or None


def action_mask(allowed: Any, H: int, S: int, A: int) -> Bools:
    """The mask with as few stages as it needs: none when every action exists everywhere."""
    if allowed is None:
        return np.ones((0, S, A), dtype=np.bool_)
    if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
        mask = allowed.copy()
    else:
        values = as_floats("allowed", allowed)
        mask = values == 1.0
        if (~mask & (values != 0.0)).any():
            raise ModelError("allowed: has values other than True and False, expected booleans")
    mask = mask.reshape(1, S, A) if mask.shape == (S, A) else mask
    if mask.shape not in ((1, S, A), (H, S, A)):
        raise ModelError(
            f"allowed: shape {mask.shape}, "
            f"expected {(S, A)} over (S, A) or {(H, S, A)} over (H, S, A)"
        )
    if mask.all():
        return np.ones((0, S, A), dtype=np.bool_)
    return mask[:1].copy() if (mask == mask[0]).all() else mask


def start_distribution(initial: Any, S: int, state_names: Sequence[str] | None) -> Floats:
    """A start state, its name or a distribution, as a distribution."""
    if isinstance(initial, str):
        if state_names is None or initial not in state_names:
            hint = guess(initial, state_names or ())
            raise ModelError(f"initial: no state is named {initial!r}{hint}")
        initial = state_names.index(initial)
    if initial is None or np.isscalar(initial):
        if isinstance(initial, (bool, np.bool_)) or not isinstance(initial, (int, np.integer)):
            raise ModelError(
                f"initial: {describe(initial)}, expected a state or a distribution over states"
            )
        if not 0 <= initial < S:
            raise ModelError(
                f"initial: state {describe(initial)}, expected a state from 0 to {S - 1}"
            )
        start = np.zeros(S)
        start[initial] = 1.0
        return start
    start = as_floats("initial", initial)
    if start.shape != (S,):
        raise ModelError(f"initial: shape {start.shape}, expected a state or shape {(S,)}")
    return start.copy()
