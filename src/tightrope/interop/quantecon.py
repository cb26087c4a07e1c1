"""Models of QuantEcon: `DiscreteDP` in its product form and in that of state-action pairs.

A discount factor becomes part of the rewards: those of stage h are multiplied by ``beta**h``, as in
QuantEcon's backward induction over a finite horizon.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from tightrope.arrays import Floats, as_floats, check_choice, check_table, require_integers, whole
from tightrope.errors import ModelError
from tightrope.interop.arrays import model_of_rewards, reward_of
from tightrope.model import CMDP
from tightrope.model.cmdp import as_cmdp
from tightrope.model.csr import as_csr, matrix_of
from tightrope.model.draft import MOST_ACTIONS


def from_quantecon(
    process: Any,
    horizon: int,
    constraint_cost: Mapping[str, Any] | None = None,
    budget: Mapping[str, float] | None = None,
    **options: Any,
) -> CMDP:
    """Return a model from a `quantecon.markov.DiscreteDP`, whose reward is maximized.

    Parameters
    ----------
    process : DiscreteDP
        In either form. A reward of minus infinity means that an action does not exist.
    horizon : int
        Number of steps H.
    constraint_cost : mapping of str to array, optional
        Quantities with a budget, by name, in the shape of the process's R; discounted as it is.
    budget : mapping of str to float, optional
        Largest expected (discounted) sum of each.
    **options
        The remaining arguments of `CMDP.from_rewards`: initial, names and so on.

    Returns
    -------
    CMDP
        The model; its results are rewards.

    Examples
    --------
    >>> import numpy as np
    >>> import tightrope as tr
    >>> from quantecon.markov import DiscreteDP
    >>> reward = np.array([[4.0, 2.0], [1.0, 0.0]])
    >>> kernel = np.array([[[0.5, 0.5], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])
    >>> cmdp = tr.from_quantecon(DiscreteDP(reward, kernel, 0.5), horizon=2)
    >>> round(tr.solve(cmdp).value, 6)
    5.25
    """
    H = whole("horizon", horizon)
    if not all(hasattr(process, part) for part in ("num_states", "R", "Q", "beta")):
        raise ModelError.about("process", found=process, expected="a quantecon.markov.DiscreteDP")
    S = int(process.num_states)
    if getattr(process, "s_indices", None) is None:
        states, actions = np.divmod(np.arange(process.R.size), process.R.shape[1])
        A = int(process.R.shape[1])
    else:
        states, actions = np.asarray(process.s_indices), np.asarray(process.a_indices)
        require_integers("process.s_indices", states, 0, S - 1)
        require_integers("process.a_indices", actions, 0, MOST_ACTIONS - 1)
        A = int(actions.max()) + 1
    reward = np.asarray(process.R, dtype=np.float64)
    exists = reward.reshape(-1) != -np.inf
    states, actions = states[exists], actions[exists]
    allowed = np.zeros((S, A), dtype=np.bool_)
    allowed[states, actions] = True
    rows = _rows(process.Q, reward.size, S)[np.flatnonzero(exists)].tocoo()
    shape, at = (S * A, S), (states * A + actions)[rows.row]
    discount: Floats = np.asarray(float(process.beta) ** np.arange(H), dtype=np.float64)

    def tabulate(values: Floats) -> Floats:
        """Return values of pairs over (S, A), or over (H, S, A) if discounted."""
        table = np.zeros((S, A))
        table[states, actions] = values.reshape(-1)[exists]
        return table if (discount == 1.0).all() else discount[:, None, None] * table

    bounded = {}
    for name, values in check_table("constraint_cost", constraint_cost).items():
        costs = as_floats(f"constraint_cost[{name!r}]", values)
        if costs.shape != reward.shape:
            raise ModelError.about(
                f"constraint_cost[{name!r}]", shape=costs.shape, expected=reward.shape
            )
        bounded[name] = tabulate(costs)
    return model_of_rewards(
        csr_array((rows.data, (at, rows.col)), shape=shape),
        tabulate(reward),
        bounded,
        budget,
        H,
        None if allowed.all() else allowed,
        options,
    )


def to_quantecon(
    cmdp: CMDP | str, multiplier: Any = None, form: str = "product"
) -> tuple[Any, ...]:
    """Return arguments for `quantecon.markov.DiscreteDP`, with a discount factor of one.

    Parameters
    ----------
    cmdp : CMDP or str
        The model, or its name in the catalog; nothing in it may depend on time.
    multiplier : (I,) array, optional
        Price of each constraint, see `Plan.multiplier`; required if there are any, because a
        `DiscreteDP` has no budgets.
    form : {"product", "pairs"}
        R (S, A), Q (S, A, S), beta; or R (L,), Q sparse (L, S), beta and the indices of states and
        actions of the L pairs that exist.

    Returns
    -------
    tuple
        The arguments.

    Examples
    --------
    >>> import tightrope as tr
    >>> R, Q, beta = tr.to_quantecon("ring", multiplier=tr.solve("ring").multiplier)
    >>> R.shape, Q.shape, beta
    ((3, 2), (3, 2, 3), 1.0)
    """
    check_choice("form", form, ("product", "pairs"))
    cmdp = as_cmdp(cmdp)
    reward = reward_of(cmdp, multiplier)
    allowed = cmdp.allowed[0]
    if form == "product":
        kernel = cmdp.transition
        kernel[~allowed] = 1.0 / cmdp.n_states
        return np.where(allowed, reward, -np.inf), kernel, 1.0
    states, actions = np.nonzero(allowed)
    kernel = matrix_of(cmdp.transitions, 0, cmdp.n_states)
    rows = kernel[states * cmdp.n_actions + actions]
    return reward[allowed], csr_array(rows), 1.0, states, actions


def _rows(Q: Any, n_pairs: int, S: int) -> csr_array:
    """Return transitions by pair, from (S, A, S) or (L, S), dense or sparse."""
    if issparse(Q):
        return csr_array(as_csr("Q", Q, (n_pairs, S)))
    return csr_array(np.asarray(Q, dtype=np.float64).reshape(-1, S))
