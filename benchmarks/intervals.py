"""Intervals for one policy from logs: how wide they are and how often they fail, in simulated logs.

A machine over the seven days of a week is stopped for some hours, and a log of weeks bounds the
expected hours, and the expected cost, of a policy that was fixed beforehand, at delta 0.1 for both.
The methods:

replayed            `Log.bound`: logged steps put together to episodes of the policy
importance weights  totals times the ratio of the probabilities of the actions, which are known here
model by splitting  backward induction in the estimated model; each day uses another seventh of the
                    weeks, so that what comes after is independent of its data, and each
                    state and action has its own bound
every policy        the confidence sets of a learner, for every policy at once

The first three use the same betting bound of a mean.

    python benchmarks/intervals.py            all tables, some minutes
    python benchmarks/intervals.py --quick    few logs
    python benchmarks/intervals.py --write    also writes docs/benchmarks/intervals.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import beta, binom

import tightrope as tr
from pages import parser, report, sections, write
from tightrope.arrays import Floats
from tightrope.belief.intervals import least_mean
from tightrope.envs.maintenance import maintenance
from tightrope.offline.log import Log, scaled_episodes, scaled_totals

PAGE = "intervals.md"
WEEKS = (50, 150, 500)
LOGS, QUICK = 200, 10
DELTA, SURE = 0.1, 1e-3
SHIFT = 8  # hours
HOURS = {"another than that of the log": 4.7, "that of the log": 8.2}

Ends = Floats  # (2, 2) lower and upper bound, of the scaled cost and of the shifts of downtime


def policies() -> tuple[tr.CMDP, dict[str, Floats]]:
    """The machine, and its policies: mixtures of the optimal one with others, by hours."""
    cmdp = maintenance(levels=4, wear=0.3, fragility=0.2, repair=0.6, horizon=7, budget=2.0)
    plan = tr.solve(cmdp).policy
    serviced = np.where(cmdp.allowed[0], [[0.0, 1, 1, 0]], 0.0)
    even = cmdp.allowed[0] / cmdp.allowed[0].sum(axis=1, keepdims=True)
    low, high = HOURS.values()
    return cmdp, dict(
        zip(HOURS, (mixed(cmdp, plan, serviced, low), mixed(cmdp, plan, even, high)), strict=True)
    )


def mixed(cmdp: tr.CMDP, one: Floats, other: Floats, hours: float) -> Floats:
    """The mixture of two policies that is expected to stop the machine for that long."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        share = (low + high) / 2
        policy = (1 - share) * one + share * other
        found = SHIFT * tr.evaluate(cmdp, policy).constraint_value[0]
        low, high = (share, high) if found < hours else (low, share)
    assert abs(found - hours) < 1e-6
    return policy


def by_replay(log: Log, policy: Floats, played: Floats, cmdp: tr.CMDP) -> Ends:
    """`Log.bound`."""
    found = log.bound(policy, budget_of(cmdp), DELTA, stationary=True)
    return np.array([found.cost / cmdp.cost_unit.size, found.constraint_cost[0]])


def by_weights(log: Log, policy: Floats, played: Floats, cmdp: tr.CMDP) -> Ends:
    """Importance weighting of whole episodes, with the true probabilities of the log's actions."""
    episodes = scaled_episodes(log)
    states, actions = episodes.states[:, :-1], episodes.actions
    stages = np.arange(cmdp.horizon)
    taken = [pi[stages, states, actions] for pi in (policy, played)]
    weights = (taken[0] / taken[1]).prod(axis=1)
    totals, chance = scaled_totals(log) / cmdp.horizon, DELTA / 4
    return cmdp.horizon * np.array(
        [
            (least_mean(weights * x, chance), 1 - least_mean(weights * (1 - x), chance))
            for x in totals.T
        ]
    )


def by_model(log: Log, policy: Floats, played: Floats, cmdp: tr.CMDP) -> Ends:
    """Backward induction with a bound for each state and action, by another part for each stage."""
    H, episodes = cmdp.horizon, scaled_episodes(log)
    used = [tuple(cell) for cell in np.argwhere(policy > 0).tolist()]
    chance = DELTA / (4 * len(used))
    parts = np.array_split(np.arange(len(episodes.states)), H)
    costs = episodes.cost, episodes.constraint_cost[:, 0]
    found = np.empty((2, 2))
    for c, cost in enumerate(costs):
        # of what is left of the greatest total, so that both sides are lower bounds
        for side, loss in enumerate((cost, 1.0 - cost)):
            V = np.zeros((H + 1, cmdp.n_states))
            for h, s, a in reversed(used):
                part = parts[h]
                here = (episodes.states[part, :-1] == s) & (episodes.actions[part] == a)
                after = episodes.states[part, 1:][here]
                total = (loss[part][here] + V[h + 1, after]) / (H - h)
                least = least_mean(total, chance) if total.size else 0.0
                V[h, s] += policy[h, s, a] * (H - h) * least
            value = cmdp.initial @ V[0]
            found[c, side] = value if side == 0 else H - value
    return found


def by_sets(log: Log, policy: Floats, played: Floats, cmdp: tr.CMDP) -> Ends:
    """The confidence sets of a learner."""
    learner = tr.learner(
        "OptCMDP",
        cmdp.n_states,
        cmdp.n_actions,
        cmdp.horizon,
        cmdp.budget,
        len(scaled_episodes(log)),
        DELTA,
        {"mode": "tight", "pool": True},
        cmdp.initial,
        cmdp.allowed,
        stationary=True,
    )
    learner.absorb(scaled_episodes(log))
    found = learner.bound(policy)
    return np.array([found.cost, found.constraint_cost[0]])


METHODS: dict[str, Callable[..., Ends]] = {
    "replayed": by_replay,
    "importance weights": by_weights,
    "model by splitting": by_model,
    "every policy": by_sets,
}


def budget_of(cmdp: tr.CMDP) -> dict[str, float]:
    """The budget by name."""
    return {cmdp.constraint_names[0]: float(cmdp.budget[0])}


def rows_of(n_logs: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Median intervals in hours, and how often they fail, by policy and number of weeks."""
    cmdp, known = policies()
    played = known["that of the log"]
    widths, failures = [], []
    for weeks in WEEKS:
        every = tr.simulate(cmdp, played, n_logs * weeks, seed=weeks)
        logs = [every.part(k * weeks, (k + 1) * weeks) for k in range(n_logs)]
        for name, policy in known.items():
            truth = tr.evaluate(cmdp, policy)
            true = np.array([truth.value / cmdp.cost_unit.size, truth.constraint_value[0]])
            width: dict[str, Any] = {"policy": f"{name}, {HOURS[name]} h", "weeks": weeks}
            failure = dict(width)
            for method, compute in METHODS.items():
                ends = np.array([compute(log, policy, played, cmdp) for log in logs])
                low, high = SHIFT * np.median(ends[:, 1], axis=0)
                width[method] = f"{low:.1f} to {high:.1f}"
                is_inside = (ends[..., 0] <= true + 1e-9) & (true <= ends[..., 1] + 1e-9)
                n_failed = int((~is_inside.all(axis=1)).sum())
                failure[method] = f"{n_failed}, at most {100 * limit_of(n_failed, n_logs):.1f} %"
                assert n_failed <= binom.ppf(1 - SURE, n_logs, DELTA), method
            report(width)
            report(failure)
            widths.append(width)
            failures.append(failure)
    return widths, failures


def limit_of(n_failed: int, n: int) -> float:
    """Exact upper confidence limit (95 %, Clopper and Pearson) of the probability of a failure."""
    return float(beta.ppf(0.95, n_failed + 1, n - n_failed)) if n_failed < n else 1.0


def main() -> None:
    """Run the tables."""
    chosen = parser(__doc__, PAGE, f"{QUICK} logs only").parse_args()
    n_logs = QUICK if chosen.quick else LOGS
    widths, failures = rows_of(n_logs)
    most = int(binom.ppf(1 - SURE, n_logs, DELTA))
    parts = [
        (
            "Widths",
            f"Median lower and upper bound on the hours of downtime, over {n_logs} logs each.",
            widths,
        ),
        (
            "Failures",
            f"Number of the {n_logs} logs in which the interval of the hours or that of the cost "
            "does not contain the true value, and the exact 95 % limit of the probability of that "
            f"(Clopper and Pearson). With a probability of {DELTA:g}, more than {most} logs would "
            f"fail with a probability below {SURE:g}; the program stops if they do.",
            failures,
        ),
    ]
    if chosen.write:
        lines = [
            "# Intervals for one policy from logs",
            "",
            "Written by `benchmarks/intervals.py`; no times are measured. A machine over the seven "
            "days of a week; a log of weeks bounds the expected hours of downtime (of 56) and the "
            "expected cost of a policy that was fixed beforehand, at delta 0.1 for both together.",
            "",
            "- **replayed**: `Log.bound`, which combines logged steps into episodes of "
            "the policy ([decision 21](../decisions/0021-bounds-from-logs.md)).",
            "- **importance weights**: totals times the ratio of the probabilities of the actions, "
            "which a real log rarely has.",
            "- **model by splitting**: backward induction in the estimated model, with another "
            "seventh of the weeks for each day and a bound for each state and action.",
            "- **every policy**: the confidence sets of a learner, for every policy at once.",
            "",
            "The first three use the same betting bound of a mean.",
            *sections(parts),
        ]
        write(PAGE, lines)


if __name__ == "__main__":
    main()
