"""Radii of confidence sets and bonuses as functions of the number of visits; optimistic costs.

The constants of a belief are a NumPy record, one kind for each kind of belief (`sets`, `bonus`);
`COST_RULES` are the fields that all of them have.
"""

from __future__ import annotations

import math
from typing import Any

from tightrope.belief.confidence import Confidence
from tightrope.belief.counts import Counts
from tightrope.kernels.compiled import inlined
from tightrope.kernels.widths import bernstein, hoeffding, kl_lower, kl_upper
from tightrope.model.task import Task

COST_RULES = [
    ("n_episodes", "f8"),  # K, or 0 for radii without it
    ("cost_term", "f8"),  # inside the logarithm, without K
    ("cost_factor", "f8"),
    ("tight_costs", "?"),
    ("known_costs", "?"),
    ("clip", "?"),
]


def cost_rules(task: Task, confidence: Confidence) -> dict[str, Any]:
    """Values of `COST_RULES`."""
    pairs = task.n_states * task.n_actions * task.horizon / task.delta
    return {
        "n_episodes": 0.0 if confidence.any_time else float(task.n_episodes),
        "cost_term": 6.0 * pairs * (task.n_constraints + 1),
        "cost_factor": float(confidence.cost_factor),
        "tight_costs": confidence.tight_costs,
        "known_costs": confidence.known_costs,
        "clip": confidence.clip,
    }


@inlined
def log_term(term: float, n_episodes: float, n: float) -> float:
    """Logarithm of a union bound over n up to K, or over all n with weights 1/(n(n+1))."""
    n = max(n, 1.0)
    return math.log(term * (n_episodes if n_episodes > 0.0 else n * (n + 1.0)))


@inlined
def cost_radius(rules: Any, n: float) -> float:
    """Radius of a mean cost after n visits: the paper's, or half of it.

    The tight radius is at most 1 and equals 1 before the first visit, where the range [0, 1] is
    all that is known. The factor applies before this cap.
    """
    if rules.known_costs:
        return 0.0
    term = log_term(rules.cost_term, rules.n_episodes, n)
    if not rules.tight_costs:
        return float(rules.cost_factor * hoeffding(2.0 * term, n))
    return 1.0 if n < 1.0 else float(min(1.0, rules.cost_factor * hoeffding(0.5 * term, n)))


@inlined
def box_bounds(rules: Any, p: float, n: float) -> tuple[float, float]:
    """Least and greatest probability of a successor that made up a share p of n visits."""
    term = log_term(rules.transition_term, rules.n_episodes, n)
    if rules.has_kl:
        low, high = kl_lower(p, term / n), kl_upper(p, term / n)
        factor = rules.transition_factor
        return max(0.0, p - factor * (p - low)), min(1.0, p + factor * (high - p))
    width = rules.transition_factor * bernstein(p, term, n)
    return max(0.0, p - width), min(1.0, p + width)


@inlined
def ball_radius(rules: Any, S: int, n: float) -> float:
    """L1 radius of a distribution over S states from n draws; 2 holds everything."""
    if n < 1.0:
        return 2.0
    term = S * math.log(2.0) + log_term(rules.ball_term, rules.n_episodes, n)
    return float(min(2.0, rules.transition_factor * math.sqrt(2.0 * term / n)))


@inlined
def refresh_costs(c: Counts, b: Any, lost: float, h: int, s: int, a: int) -> None:
    """Costs of one pair at one stage: estimate minus radius, minus ``lost``."""
    _, _, A = b.cost_low.shape
    row = s * A + a
    layer = min(h, b.cost_low.shape[0] - 1)
    gc = min(h, c.cost_visits.shape[0] - 1)
    n = float(c.cost_visits[gc, row])
    radius = cost_radius(b.rules, n)
    for i in range(c.constraint_sum.shape[0] + 1):
        if b.rules.known_costs:
            low = b.known_cost[i, min(h, b.known_cost.shape[1] - 1), row]
        else:
            total = c.cost_sum[gc, row] if i == 0 else c.constraint_sum[i - 1, gc, row]
            low = total / max(n, 1.0) - radius
        if b.rules.clip:
            low = max(0.0, low)
        if i == 0:
            b.cost_low[layer, s, a] = low - lost
        else:
            b.constraint_low[i - 1, layer, s, a] = low - lost


@inlined
def refresh_upper_costs(c: Counts, b: Any, gained: float, h: int, s: int, a: int) -> None:
    """Upper bounds on constraint costs of one pair, where there is room for them.

    Estimate plus radius, at most 1, plus ``gained``. A cost that was never observed may be 1
    whatever the factors on the radii are.
    """
    if b.constraint_high.shape[1] == 0:
        return
    row = s * b.cost_low.shape[2] + a
    layer = min(h, b.cost_low.shape[0] - 1)
    gc = min(h, c.cost_visits.shape[0] - 1)
    n = float(c.cost_visits[gc, row])
    radius = cost_radius(b.rules, n)
    for i in range(c.constraint_sum.shape[0]):
        if b.rules.known_costs:
            high = b.known_cost[i + 1, min(h, b.known_cost.shape[1] - 1), row]
        else:
            high = min(1.0, c.constraint_sum[i, gc, row] / n + radius) if n > 0.0 else 1.0
        b.constraint_high[i, layer, s, a] = high + gained


@inlined
def pooled_layers(c: Counts, b: Any) -> int:
    """Stages of the costs that one visit changes: all of them where counts are pooled, else 0."""
    layers = b.cost_low.shape[0]
    is_pooled = c.visits.shape[0] < layers or c.cost_visits.shape[0] < layers
    return layers if is_pooled else 0
