"""The theorems' bounds after correction, up to logarithms (SPEC A10)."""

from __future__ import annotations

import numpy as np

from tightrope.experiments.summary import Chapter, Findings
from tightrope.model import CMDP


def most_successors(cmdp: CMDP) -> int:
    """Largest number N of successors of a pair."""
    return int(np.diff(cmdp.transitions.indptr, axis=1).max())


def leading_terms(algorithm: str, cmdp: CMDP, n_episodes: int, rho: float) -> tuple[float, float]:
    """Leading terms for cost and constraints: of Reg+ for OptCMDP(-bonus), of Reg for the others.

    ::

        plain   = sqrt(S A N H^4 K)
        OptDual        plain + rho sqrt(I H^2 K)                (1 + 1/rho) sqrt(I) plain
        OptPrimalDual  plain + (1 + I rho) sqrt(H^4 K ln A)     (1 + 1/rho) sqrt(I) plain
                                                                  + I sqrt(H^4 K ln A)

    Parameters
    ----------
    algorithm : str
        A learner of the paper.
    cmdp : CMDP
    n_episodes : int
        Number of episodes K.
    rho : float
        Bound on the multipliers; unused by OptCMDP and OptCMDP-bonus.
    """
    S, A, H, I = cmdp.n_states, cmdp.n_actions, cmdp.horizon, cmdp.n_constraints
    K, N = n_episodes, most_successors(cmdp)
    plain = np.sqrt(S * A * N * H**4 * K)
    if algorithm.startswith("OptCMDP"):
        return float(plain), float(plain)
    over = (1 + 1 / rho) * np.sqrt(I) * plain
    if algorithm == "OptDual":
        return float(plain + rho * np.sqrt(I * H**2 * K)), float(over)
    mirror = np.sqrt(H**4 * K * np.log(A))
    return float(plain + (1 + I * rho) * mirror), float(over + I * mirror)


def with_constants(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    """Leading term of OptCMDP's bound with its constants, ``11.3 H^2 sqrt(N L S A K)``.

    ``L = ln(6 S A H K / delta)``.

    Parameters
    ----------
    cmdp : CMDP
    n_episodes : int
        Number of episodes K, in the radii too.
    delta : float
    """
    return float(np.sqrt(_size(cmdp, n_episodes, delta) * n_episodes)) * cmdp.horizon


def below_trivial(cmdp: CMDP, n_episodes: int, delta: float, rho: float = np.inf) -> float:
    """Episodes from which that leading term is below H K, which is certain.

    ``128 H^2 N L S A`` (SPEC A10), times ``(1 + 1/rho)^2 I`` for the constraints
    of OptDual. Curves before that test no theorem, and lower-order terms move it further.

    Parameters
    ----------
    cmdp : CMDP
    n_episodes : int
        Number of episodes K in the radii.
    delta : float
    rho : float
        Bound on the multipliers of OptDual; infinite for OptCMDP.
    """
    factor = 1.0 if np.isinf(rho) else (1 + 1 / rho) ** 2 * cmdp.n_constraints
    return factor * _size(cmdp, n_episodes, delta)


def _size(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    L = np.log(6 * S * A * H * n_episodes / delta)
    return float(128 * H**2 * most_successors(cmdp) * L * S * A)


def tested(findings: Findings) -> list[Chapter]:
    """Experiments with enough episodes for the bound of OptCMDP to say something.

    Parameters
    ----------
    findings : Findings
    """
    return [
        chapter
        for chapter in findings.chapters
        if below_trivial(chapter.cmdp, chapter.n_episodes, chapter.delta) <= chapter.n_episodes
    ]
