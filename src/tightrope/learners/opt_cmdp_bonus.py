"""OptCMDP-bonus: plan in the estimated model, with costs lowered by a bonus for what is unknown.

Each episode solves one constrained problem under the estimated kernel::

    b    = beta_c + H sum_t beta_p(t)
    pi_k = argmin over pi of  V(c_hat - b; pi, p_hat)
           subject to         V(d_hat_i - b; pi, p_hat) <= budget_i   for every i

No set of kernels is searched, so a plan costs no more than in a known model; the price is a bonus
of order S H^2 that must fall below one before constraints are felt (SPEC A11). Cost and violation
of every single episode are bounded in sum, without cancelling. Lowered costs are not cut off at
zero: optimism needs them negative (SPEC A3).

The planning step is OptCMDP's, over an estimate instead of a set; infeasible problems are treated
alike.

Efroni, Mannor, Pirotta (2020), arXiv:2003.02189, section 4.1; SPEC A7.2 and its errata.
"""

from __future__ import annotations

from tightrope.learners.opt_cmdp import PlanMemory, new_plan_memory, step

__all__ = ["PlanMemory", "new_plan_memory", "step"]
