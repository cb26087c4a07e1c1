"""Least and greatest mean costs that may still be true (SPEC A3)."""

from __future__ import annotations

from tightrope.arrays import Floats
from tightrope.kernels.believe import Rules, cost_radius
from tightrope.kernels.compiled import compiled
from tightrope.kernels.counts import Counts


@compiled
def limit_costs(c: Counts, rules: Rules, known: Floats, low: Floats, high: Floats) -> None:
    """Both ends of each cost's interval, inside [0, 1]; a pair never seen has all of it.

    Parameters
    ----------
    c : Counts
    rules : Rules
    known : (I+1, G, S*A) array
        Cost and constraint costs where they are known, else with no stages.
    low, high : (I+1, G', S*A) arrays, written
        G' stages of the known costs, or of the counts.
    """
    for g in range(low.shape[1]):
        for row in range(low.shape[2]):
            if rules.known_costs:
                for i in range(low.shape[0]):
                    low[i, g, row] = high[i, g, row] = known[i, g, row]
                continue
            n = float(c.cost_visits[g, row])
            radius = cost_radius(rules, n) if n > 0.0 else 1.0
            for i in range(low.shape[0]):
                total = c.cost_sum[g, row] if i == 0 else c.constraint_sum[i - 1, g, row]
                mean = total / max(n, 1.0)
                low[i, g, row] = max(0.0, mean - radius)
                high[i, g, row] = min(1.0, mean + radius)
