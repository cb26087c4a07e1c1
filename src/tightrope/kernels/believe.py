"""From counts to beliefs, pair by pair: what may still be true after what was seen (SPEC A2, A3).

An episode touches H pairs, so only their rows change. Set-based learners get a set of kernels and
optimistic costs, bonus-based ones an estimated kernel and costs lowered by a bonus.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tightrope.arrays import Floats
from tightrope.kernels.compiled import compiled, inlined
from tightrope.kernels.counts import Counts
from tightrope.kernels.widths import bernstein, hoeffding, kl_lower, kl_upper


class Believed(NamedTuple):
    """What may still be true. The planner's records share these arrays."""

    lower: Floats  # (G, E) of the box, where there is one
    upper: Floats  # (G, E)
    rest: Floats  # (G, S*A) bound of each unlisted successor
    centre: Floats  # (G, E) estimate: of the ball, or of a bonus-based learner
    radius: Floats  # (G, S*A) of the ball
    even: Floats  # (G, S*A) mass that the estimate spreads evenly
    width: Floats  # (G, S*A) sum of the widths of a row, for the bonus
    cost_low: Floats  # (G'', S, A) optimistic costs
    constraint_low: Floats  # (I, G'', S, A)


class Rules(NamedTuple):
    """How counts become radii; `estimate.confidence` has the options behind it."""

    horizon: int
    transition_term: float  # inside the logarithm of a box, without K
    cost_term: float  # the same for costs
    ball_term: float  # the same for an L1 ball
    n_episodes: float  # K, or 0 for radii without it
    has_box: bool
    has_kl: bool
    has_ball: bool
    is_bonus: bool
    tight_costs: bool
    clip: bool
    tight_bonus: bool
    known_costs: bool
    known_support: bool
    cost_factor: float  # these two include the factor of a bonus
    transition_factor: float


@inlined
def log_term(term: float, n_episodes: float, n: float) -> float:
    """Logarithm of a union bound over n up to K, or over all n with weights 1/(n(n+1)) (T8)."""
    n = max(n, 1.0)
    return math.log(term * (n_episodes if n_episodes > 0.0 else n * (n + 1.0)))


@inlined
def cost_radius(rules: Rules, n: float) -> float:
    """Radius of a mean cost: the paper's, or half of it (T1).

    The tight radius is at most 1 and equals 1 before the first visit, where the range [0, 1] is
    all that is known. The factor applies before this cap.
    """
    if rules.known_costs:
        return 0.0
    term = log_term(rules.cost_term, rules.n_episodes, n)
    if not rules.tight_costs:
        return rules.cost_factor * hoeffding(2.0 * term, n)
    return 1.0 if n < 1.0 else min(1.0, rules.cost_factor * hoeffding(0.5 * term, n))


@inlined
def box_bounds(rules: Rules, p: float, n: float) -> tuple[float, float]:
    """Least and greatest probability of a successor that made up a share p of n visits."""
    term = log_term(rules.transition_term, rules.n_episodes, n)
    if rules.has_kl:
        low, high = kl_lower(p, term / n), kl_upper(p, term / n)
        factor = rules.transition_factor
        return max(0.0, p - factor * (p - low)), min(1.0, p + factor * (high - p))
    width = rules.transition_factor * bernstein(p, term, n)
    return max(0.0, p - width), min(1.0, p + width)


@inlined
def ball_radius(rules: Rules, S: int, n: float) -> float:
    """L1 radius of a distribution over S states from n draws; 2 holds everything."""
    if n < 1.0:
        return 2.0
    term = S * math.log(2.0) + log_term(rules.ball_term, rules.n_episodes, n)
    return min(2.0, rules.transition_factor * math.sqrt(2.0 * term / n))


@inlined
def believe_set(c: Counts, rules: Rules, b: Believed, g: int, row: int, S: int) -> None:
    """Set of kernels of one row: a box, a ball, or both (SPEC A3, T3)."""
    n = float(c.visits[g, row])
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    b.rest[g, row] = 1.0
    b.radius[g, row] = ball_radius(rules, S, n) if rules.has_ball else 2.0
    is_bounded = rules.has_box and n > 0.0
    if is_bounded:
        b.rest[g, row] = box_bounds(rules, 0.0, n)[1]
    if rules.known_support:
        b.rest[g, row] = 0.0
    for e in range(first, last):
        p = c.successors[g, e] / n if n > 0.0 else 0.0
        b.lower[g, e], b.upper[g, e] = 0.0, 1.0
        if is_bounded:
            b.lower[g, e], b.upper[g, e] = box_bounds(rules, p, n)
        if rules.known_support and not n > 0.0:
            p = 1.0 / (last - first)
        b.centre[g, e] = p


@inlined
def believe_estimate(c: Counts, rules: Rules, b: Believed, g: int, row: int, S: int) -> None:
    """Estimated kernel of one row and the sum of its widths over all successors."""
    n = float(c.visits[g, row])
    first, last = c.indptr[g, row], c.indptr[g, row + 1]
    term = log_term(rules.transition_term, rules.n_episodes, n)
    possible = last - first if rules.known_support else S
    width = 0.0
    seen = 0
    for e in range(first, last):
        p = c.successors[g, e] / n if n > 0.0 else 0.0
        if p > 0.0:
            width += bernstein(p, term, n)
            seen += 1
        elif rules.known_support and not n > 0.0:
            p = 1.0 / possible
        b.centre[g, e] = p
    b.even[g, row] = 0.0 if n > 0.0 or rules.known_support else 1.0
    if n > 0.0:
        # by number, listed or not: patterns that grew and patterns that were lent agree in all bits
        width += (possible - seen) * bernstein(0.0, term, n)
    elif possible > 0:  # else a forbidden pair, whose row is empty
        width = possible * bernstein(1.0 / possible, term, n)
    b.width[g, row] = rules.transition_factor * width


@inlined
def bonus_of_transitions(
    c: Counts, rules: Rules, b: Believed, g: int, row: int, h: int, S: int
) -> float:
    """What unknown transitions may be worth: H times the widths, or less by T4.

    Without a visit nothing is known of a row, and the tight bonus is the largest possible
    whatever the factors are.
    """
    if not rules.tight_bonus:
        return rules.horizon * float(b.width[g, row])
    n = float(c.visits[g, row])
    distance = min(b.width[g, row], ball_radius(rules, S, n)) if n > 0.0 else 2.0
    return float((rules.horizon - 1 - h) * min(1.0, 0.5 * distance))


@inlined
def believe_costs(
    c: Counts, rules: Rules, b: Believed, known: Floats, h: int, s: int, a: int
) -> None:
    """Optimistic costs of one pair at one stage: estimate minus radius or bonus."""
    _, S, A = b.cost_low.shape
    row = s * A + a
    layer = min(h, b.cost_low.shape[0] - 1)
    gc = min(h, c.cost_visits.shape[0] - 1)
    n = float(c.cost_visits[gc, row])
    radius = cost_radius(rules, n)
    lost = 0.0
    if rules.is_bonus:
        g = min(h, c.visits.shape[0] - 1)
        lost = bonus_of_transitions(c, rules, b, g, row, h, S)
    for i in range(c.constraint_sum.shape[0] + 1):
        if rules.known_costs:
            low = known[i, min(h, known.shape[1] - 1), row]
        else:
            total = c.cost_sum[gc, row] if i == 0 else c.constraint_sum[i - 1, gc, row]
            low = total / max(n, 1.0) - radius
        if rules.clip:
            low = max(0.0, low)
        if i == 0:
            b.cost_low[layer, s, a] = low - lost
        else:
            b.constraint_low[i - 1, layer, s, a] = low - lost


@inlined
def believe(c: Counts, rules: Rules, b: Believed, known: Floats, h: int, s: int, a: int) -> None:
    """Renew all that one visited pair changes.

    Parameters
    ----------
    c : Counts
    rules : Rules
    b : Believed
        Written.
    known : (I+1, G, S*A) array
        Cost and constraint costs where they are known, else with no stages.
    h, s, a : int
    """
    layers, S, A = b.cost_low.shape
    g = min(h, c.visits.shape[0] - 1)
    if rules.is_bonus:
        believe_estimate(c, rules, b, g, s * A + a, S)
    else:
        believe_set(c, rules, b, g, s * A + a, S)
    is_pooled = c.visits.shape[0] < layers or c.cost_visits.shape[0] < layers
    for layer in range(layers if is_pooled else 1):
        believe_costs(c, rules, b, known, layer if is_pooled else h, s, a)


@compiled
def believe_everything(c: Counts, rules: Rules, b: Believed, known: Floats) -> None:
    """Renew every pair, as at the start.

    Parameters
    ----------
    c : Counts
    rules : Rules
    b : Believed
        Written.
    known : (I+1, G, S*A) array
        As for `believe`.
    """
    layers, S, A = b.cost_low.shape
    for h in range(max(layers, c.visits.shape[0])):
        for s in range(S):
            for a in range(A):
                believe(c, rules, b, known, h, s, a)
