"""OptCMDP-bonus: plan in the estimated model, with costs lowered by a bonus for what is unknown.

Each episode solves one constrained problem under the estimated kernel::

    b    = beta_c + H sum_t beta_p(t)
    pi_k = argmin over pi of  V(c_hat - b; pi, p_hat)
           subject to         V(d_hat_i - b; pi, p_hat) <= budget_i   for every i

No set of kernels is searched, so a plan costs no more than in a known model; in return the bonus
has order S H^2 and must fall below one before constraints have an effect. Cost and violation of
every single episode are bounded in sum, without cancellation. Lowered costs are not truncated at
zero: optimism needs them negative.

The planning step is that of OptCMDP, over an estimate instead of a set; infeasible problems are
treated alike.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tightrope.belief.bonus import BonusBelief
from tightrope.learners.opt_cmdp import OptCMDP


@dataclass(frozen=True)
class OptCMDPBonus(OptCMDP):
    """OptCMDP-bonus, by column generation in the estimated model.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learn("ring", tr.learners.OptCMDPBonus(), episodes=20).audit.plans
    20
    """

    name: ClassVar[str] = "OptCMDP-bonus"
    belief: ClassVar[Any] = BonusBelief
