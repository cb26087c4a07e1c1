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

ROUNDING = 1e-15  # of a probability or a cost
COST_RULES = [
    ("n_episodes", "f8"),  # K, or 0 for radii without it
    ("cost_term", "f8"),  # inside the logarithm, without K
    ("cost_factor", "f8"),
    ("tight_costs", "?"),
    ("known_costs", "?"),
    ("clip", "?"),
    ("kl_costs", "?"),
    ("mixture", "?"),
]


def count_pairs(task: Task, confidence: Confidence, stages: int) -> float:
    """Stages, states and actions whose bounds share delta, over delta.

    A bound for each n up to K needs all H stages even where counts are pooled, because n grows up
    to K H then. A bound for all n at once needs the stages that are counted apart.
    """
    counted = stages if confidence.mixture else task.horizon
    return task.n_states * task.n_actions * counted / task.delta


def cost_rules(task: Task, confidence: Confidence, counts: Counts) -> dict[str, Any]:
    """Values of `COST_RULES`."""
    pairs = count_pairs(task, confidence, len(counts.cost_visits))
    has_episodes = not (confidence.any_time or confidence.mixture)
    return {
        "n_episodes": float(task.n_episodes) if has_episodes else 0.0,
        "cost_term": 6.0 * pairs * (task.n_constraints + 1),
        "cost_factor": float(confidence.cost_factor),
        "tight_costs": confidence.tight_costs,
        "known_costs": confidence.known_costs,
        "clip": confidence.clip,
        "kl_costs": confidence.kl_costs,
        "mixture": confidence.mixture,
    }


@inlined
def log_term(term: float, n_episodes: float, n: float) -> float:
    """Logarithm of a union bound over n up to K, or over all n with weights 1/(n(n+1))."""
    n = max(n, 1.0)
    return math.log(term * (n_episodes if n_episodes > 0.0 else n * (n + 1.0)))


@inlined
def entropy_term(rules: Any, term: float, n: float) -> float:
    """Bound on n times the relative entropy of an average of n draws to its mean.

    Either by a union bound over n for each of the two sides, or by a mixture, for both at once::

        n kl(average, mean) < ln( sqrt(pi n + 1) / delta' )   for all n, with probability 1 - delta'
    """
    if rules.mixture:
        return math.log(0.5 * term * math.sqrt(math.pi * n + 1.0))
    return log_term(term, rules.n_episodes, n)


@inlined
def cost_radius(rules: Any, n: float) -> float:
    """Radius of a mean cost after n visits: the paper's, or half of it.

    The tight radius is at most 1 and equals 1 before the first visit, where the range [0, 1] is
    all that is known. The factor applies before this cap.
    """
    if rules.known_costs:
        return 0.0
    if not rules.tight_costs:
        term = log_term(rules.cost_term, rules.n_episodes, n)
        return float(rules.cost_factor * hoeffding(2.0 * term, n))
    if n < 1.0:
        return 1.0
    term = entropy_term(rules, rules.cost_term, n)
    return float(min(1.0, rules.cost_factor * hoeffding(0.5 * term, n)))


@inlined
def cost_bounds(rules: Any, mean: float, n: float) -> tuple[float, float]:
    """Least and greatest mean cost where n visits have this average."""
    if rules.known_costs:
        return mean, mean
    if rules.kl_costs and n > 0.0:
        bound, factor = entropy_term(rules, rules.cost_term, n) / n, rules.cost_factor
        low, high = kl_lower(mean, bound), kl_upper(mean, bound)
        return max(0.0, mean - factor * (mean - low)), min(1.0, mean + factor * (high - mean))
    radius = cost_radius(rules, n)
    return mean - radius, mean + radius


@inlined
def is_outside(rules: Any, mean: float, n: float, true: float) -> bool:
    """Whether a mean cost lies outside the bounds from n visits with this average."""
    if rules.kl_costs:
        low, high = cost_bounds(rules, mean, n)
        return true < low - ROUNDING or true > high + ROUNDING
    return abs(mean - true) > cost_radius(rules, n)


@inlined
def box_bounds(rules: Any, p: float, n: float) -> tuple[float, float]:
    """Least and greatest probability of a successor that made up a share p of n visits."""
    if rules.has_kl:
        term = entropy_term(rules, rules.transition_term, n)
        low, high = kl_lower(p, term / n), kl_upper(p, term / n)
        factor = rules.transition_factor
        return max(0.0, p - factor * (p - low)), min(1.0, p + factor * (high - p))
    term = log_term(rules.transition_term, rules.n_episodes, n)
    width = rules.transition_factor * bernstein(p, term, n)
    return max(0.0, p - width), min(1.0, p + width)


@inlined
def ball_radius(rules: Any, S: int, n: float) -> float:
    """L1 radius of a distribution over S states from n draws; 2 holds everything."""
    if n < 1.0:
        return 2.0
    # of the 2^S sets of states, mixtures need one of each pair of complements
    term = S * math.log(2.0) + entropy_term(rules, rules.ball_term, n)
    return float(min(2.0, rules.transition_factor * math.sqrt(2.0 * term / n)))


@inlined
def refresh_costs(c: Counts, b: Any, lost: float, h: int, s: int, a: int) -> None:
    """Costs of one pair at one stage: estimate minus radius, minus ``lost``."""
    _, _, A = b.cost_low.shape
    row = s * A + a
    layer = min(h, b.cost_low.shape[0] - 1)
    gc = min(h, c.cost_visits.shape[0] - 1)
    n = float(c.cost_visits[gc, row])
    for i in range(c.constraint_sum.shape[0] + 1):
        if b.rules.known_costs:
            low = b.known_cost[i, min(h, b.known_cost.shape[1] - 1), row]
        else:
            total = c.cost_sum[gc, row] if i == 0 else c.constraint_sum[i - 1, gc, row]
            low, _ = cost_bounds(b.rules, total / max(n, 1.0), n)
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
    for i in range(c.constraint_sum.shape[0]):
        high = 1.0
        if b.rules.known_costs:
            high = b.known_cost[i + 1, min(h, b.known_cost.shape[1] - 1), row]
        elif n > 0.0:
            _, high = cost_bounds(b.rules, c.constraint_sum[i, gc, row] / n, n)
            high = min(1.0, high)
        b.constraint_high[i, layer, s, a] = high + gained


@inlined
def pooled_layers(c: Counts, b: Any) -> int:
    """Stages of the costs that one visit changes: all of them where counts are pooled, else 0."""
    layers = b.cost_low.shape[0]
    is_pooled = c.visits.shape[0] < layers or c.cost_visits.shape[0] < layers
    return layers if is_pooled else 0
