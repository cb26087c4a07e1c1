"""Models of QuantEcon: `DiscreteDP` in its product form and in that of state-action pairs.

Over a horizon, the discount factor becomes part of the rewards: those of stage h are multiplied by
``beta**h``, as in QuantEcon's backward induction. Without a horizon it is that of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from tightrope.arrays import Floats, as_floats, check_choice, check_table, require_integers
from tightrope.errors import ModelError
from tightrope.interop.arrays import form_of, model_of_rewards, reward_of
from tightrope.model import DiscountedCMDP, Model
from tightrope.model.base import as_model
from tightrope.model.csr import as_csr, matrix_of
from tightrope.model.draft import MOST_ACTIONS


def from_quantecon(
    process: Any,
    horizon: int | None = None,
    constraint_cost: Mapping[str, Any] | None = None,
    budget: Mapping[str, float] | None = None,
    *,
    average: bool = False,
    **options: Any,
) -> Model:
    """Return a model from a `quantecon.markov.DiscreteDP`, whose reward is maximized.

    Parameters
    ----------
    process : DiscreteDP
        In either form. A reward of minus infinity means that an action does not exist.
    horizon : int, optional
        Number of steps H; by default infinite, with the process's beta as discount.
    constraint_cost : mapping of str to array, optional
        Quantities with a budget, by name, in the shape of the process's R; discounted as it is.
    budget : mapping of str to float, optional
        Largest expected (discounted) sum of each, or long-run average.
    average : bool
        Whether the horizon is infinite and rewards are averaged, without the beta.
    **options
        The remaining arguments of ``from_rewards`` of the model: initial, names and so on.

    Returns
    -------
    CMDP, DiscountedCMDP or AverageCMDP
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
    if not all(hasattr(process, part) for part in ("num_states", "R", "Q", "beta")):
        raise ModelError.about("process", found=process, expected="a quantecon.markov.DiscreteDP")
    is_discounted = horizon is None and average is False
    form = form_of(horizon, float(process.beta) if is_discounted else None, average)
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
    stages = np.arange(form.options.get("horizon", 1))
    weight: Floats = np.asarray(float(process.beta) ** stages, dtype=np.float64)

    def tabulate(values: Floats) -> Floats:
        """Return values of pairs over (S, A), or over (H, S, A) if discounted."""
        table = np.zeros((S, A))
        table[states, actions] = values.reshape(-1)[exists]
        return table if (weight == 1.0).all() else weight[:, None, None] * table

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
        form,
        None if allowed.all() else allowed,
        options,
    )


def to_quantecon(
    cmdp: Model | str, multiplier: Any = None, form: str = "product"
) -> tuple[Any, ...]:
    """Return arguments for `quantecon.markov.DiscreteDP`.

    The discount factor is that of a `DiscountedCMDP`, and otherwise one.

    Parameters
    ----------
    cmdp : CMDP, DiscountedCMDP, AverageCMDP or str
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
    cmdp = as_model(cmdp)
    beta = cmdp.discount if isinstance(cmdp, DiscountedCMDP) else 1.0
    reward = reward_of(cmdp, multiplier)
    allowed = cmdp.allowed[0]
    if form == "product":
        kernel = cmdp.transition
        kernel[~allowed] = 1.0 / cmdp.n_states
        return np.where(allowed, reward, -np.inf), kernel, beta
    states, actions = np.nonzero(allowed)
    kernel = matrix_of(cmdp.transitions, 0, cmdp.n_states)
    rows = kernel[states * cmdp.n_actions + actions]
    return reward[allowed], csr_array(rows), beta, states, actions


def _rows(Q: Any, n_pairs: int, S: int) -> csr_array:
    """Return transitions by pair, from (S, A, S) or (L, S), dense or sparse."""
    if issparse(Q):
        return csr_array(as_csr("Q", Q, (n_pairs, S)))
    return csr_array(np.asarray(Q, dtype=np.float64).reshape(-1, S))
