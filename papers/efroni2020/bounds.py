"""Bounds of the corrected theorems, with the constants that their proofs give.

All are in costs scaled to [0, 1]. Only the terms that grow like the square root of K are here; the
proofs add lower-order terms, so the bounds are a little larger than these numbers, and a regret
after K episodes that is below these numbers is below the bounds. For earlier episodes see
`early_bounds`.
"""

from __future__ import annotations

import math

import numpy as np

from tightrope.model import CMDP

BONUS = math.exp(0.25)  # (1 + 1 / (4 H))^H is at most this; theory, "Why the constant is larger"


# what each theorem bounds, for cost and for constraints
PROMISED = {
    "OptCMDP": ("cost_plus", "constraint_plus"),
    "OptCMDP-bonus": ("cost_plus", "constraint_plus"),
    "OptDual": ("cost", "constraint"),
    "OptPrimalDual": ("cost", "constraint"),
}


# orders of the corrected bounds in H, S, A, N, I, 1/slack and rho: theory, "Orders of the paper's
# bounds". Sums of terms have the least and the greatest; rho grows like 1/slack by its rules.
ORDERS = {
    "OptCMDP": (("2", "1/2", "1/2", "1/2", "0", "0", "0"),) * 2,
    "OptCMDP-bonus": (("2", "1/2", "1/2", "1/2", "0", "0", "0"),) * 2,
    "OptDual": (
        ("1 to 2", "0 to 1/2", "0 to 1/2", "0 to 1/2", "0 to 1/2", "0 to 1", "0 to 1"),
        ("2", "1/2", "1/2", "1/2", "1/2", "-1 to 0", "-1 to 0"),
    ),
    "OptPrimalDual": (
        ("2", "0 to 1/2", "0 to 1/2", "0 to 1/2", "0 to 1", "0 to 1", "0 to 1"),
        ("2", "0 to 1/2", "0 to 1/2", "0 to 1/2", "1/2 to 1", "-1 to 0", "-1 to 0"),
    ),
}


def most_successors(cmdp: CMDP) -> int:
    """Largest number N of successors of a pair."""
    return int(np.diff(cmdp.transitions.indptr, axis=1).max())


def transition_term(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    """Sum of the errors of transitions over K episodes, ``11.3 H^2 sqrt(N L S A K)``.

    With ``L = ln(6 S A H K / delta)``. A kernel of the box is at most ``4 sqrt(p L / n)`` from the
    true one, values are at most H, and visits add up as in `cost_term`.
    """
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    L = np.log(6 * S * A * H * n_episodes / delta)
    return float(8 * np.sqrt(2) * H**2 * np.sqrt(most_successors(cmdp) * L * S * A * n_episodes))


def cost_term(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    """Sum of the errors of costs over K episodes, ``5.66 H sqrt(S A K Lc)``.

    ``Lc = 2 ln(6 S A H (I+1) K / delta)``. A cost is at most two radii ``sqrt(Lc / n)`` above its
    optimistic value; by the visit-count event ``n`` is about at least half the expected visits,
    and ``sum_k q_k sqrt(2 / sum_{j<k} q_j)`` is at most ``2 sqrt(2 sum_k q_k)``, summed over
    stages and pairs by Cauchy and Schwarz.
    """
    S, A, H, I = cmdp.n_states, cmdp.n_actions, cmdp.horizon, cmdp.n_constraints
    Lc = 2 * np.log(6 * S * A * H * (I + 1) * n_episodes / delta)
    return float(4 * np.sqrt(2) * H * np.sqrt(S * A * n_episodes * Lc))


def bounds_of(
    algorithm: str,
    cmdp: CMDP,
    n_episodes: int,
    delta: float,
    rho: float = np.nan,
    known_costs: bool = False,
) -> tuple[float, float]:
    """Bounds for cost and constraints: on Reg+ for OptCMDP(-bonus), on Reg for the dual learners.

    ::

        E              transition_term + cost_term, the latter without known costs;
                       with bonuses exp(1/4) times as much
        OptCMDP        E                                  E
        OptDual        E + rho D / 2                      2 (1/rho + sqrt(I)) E + 2 D
        OptPrimalDual  E + rho D / 2 + (1 + I rho) M      2 (1/rho + sqrt(I)) E + 2 D
                                                            + 2 (1/rho + I) M

    where ``D = H sqrt(I K)`` is the term of the multipliers and ``M = H^2 sqrt(2 K ln A)`` that of
    the mirror steps. Those of the constraints need ``rho >= 2 |lambda*|``.
    """
    A, H, I, K = cmdp.n_actions, cmdp.horizon, cmdp.n_constraints, n_episodes
    error = transition_term(cmdp, K, delta)
    if not known_costs:
        error += cost_term(cmdp, K, delta)
    if algorithm in ("OptCMDP-bonus", "OptPrimalDual"):
        error *= BONUS
    if algorithm.startswith("OptCMDP"):
        return error, error
    dual = multiplier_term(cmdp, K)
    mirror = H**2 * math.sqrt(2 * K * math.log(A)) if algorithm == "OptPrimalDual" else 0.0
    cost = error + rho / 2 * dual + (1 + I * rho) * mirror
    over = 2 * (1 / rho + math.sqrt(I)) * error + 2 * dual + 2 * (1 / rho + I) * mirror
    return cost, over


def multiplier_term(cmdp: CMDP, n_episodes: int) -> float:
    """The term D of the steps of the multipliers, ``H sqrt(I K)``."""
    return cmdp.horizon * math.sqrt(cmdp.n_constraints * n_episodes)


def early_bounds(
    algorithm: str,
    cmdp: CMDP,
    n_episodes: int,
    delta: float,
    rho: float = np.nan,
    known_costs: bool = False,
) -> tuple[float, float]:
    """Numbers that, times ``sqrt(k / K)``, are below the bounds after every k <= K episodes.

    A theorem stated for K holds after k episodes with the logarithms and steps of K. Its E and, in
    the constraints, D are then at least ``sqrt(k / K)`` times those after K; so is M, because
    ``(1 + k / K) / 2`` is. In the cost, D is ``k / K`` times that after K, which is less, and is
    left out here.
    """
    cost, over = bounds_of(algorithm, cmdp, n_episodes, delta, rho, known_costs)
    if algorithm.startswith("OptCMDP"):
        return cost, over
    return cost - rho / 2 * multiplier_term(cmdp, n_episodes), over


def informative_from(bound: float, cmdp: CMDP, n_episodes: int) -> float:
    """Episodes from which a bound for K episodes is below H per episode, which is certain.

    The bound after k episodes is taken as ``sqrt(k / K)`` times that after K. Regret before that
    cannot exceed it, whatever the learner, so it tests no theorem.
    """
    return (bound / (cmdp.horizon * math.sqrt(n_episodes))) ** 2
