"""Safe-OptCMDP and DOPE on the problems of DOPE's repository: violations, regret and time.

The baseline is the optimum with a fifth of the budgets, and its use is known exactly. All radii
keep the guarantees. Regret is compared with a run of our DOPE of the same length: K0 episodes, the
length of its first phase, with the constants of the code and of the paper.

    python benchmarks/safe.py            20 seeds, a million episodes: about 35 minutes of one core
                                         (fewer seeds where plans are made in every episode)
    python benchmarks/safe.py --quick    2 seeds, 20,000 episodes
    python benchmarks/safe.py --write    also writes docs/benchmarks/safe.md, as rows are finished
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import tightrope as tr
from pages import parser, report, sections, setting, write
from tightrope.belief.confidence import as_confidence
from tightrope.envs import build
from tightrope.learners import DOPE, OptCMDP, SafeOptCMDP
from tightrope.learners.oracle import Oracle
from tightrope.model.task import simulated_task

PAGE = "safe.md"
PROBLEMS = ("media", "inventory", "ring")
BASELINE = "share:0.2"
SAFE = SafeOptCMDP(baseline=BASELINE)
TIGHT = {"mode": "tight", "pool": True}
SHARP = TIGHT | {"kl_costs": True, "mixture": True}
SETTINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("code", "as above", SHARP),
    ("code", "with the L1 ball", SHARP | {"transition": "kl+l1"}),
    ("code", "tight", TIGHT),
    ("code", "each stage by itself", SHARP | {"pool": False}),
    ("code", "costs, successors known", SHARP | {"known_costs": True, "known_support": True}),
    ("paper", "as above", SHARP),
]
LONG, SEEDS = 1_000_000, 20
PLANNED = {"media": 6, "inventory": 5, "ring": 5}  # long runs with a plan in every episode
LEVELS = (0.5, 0.1, 0.05, 0.01)  # probabilities of the baseline
QUICK, FEW = 20_000, 2
TIMED = 20_000  # episodes of a time measurement
ROUNDING = 1e-12

Rows = list[dict[str, Any]]


def first_phase(name: str, constants: str) -> int:
    """Episodes for which DOPE plays its baseline."""
    cmdp = build(name)
    learner = DOPE(baseline=BASELINE, constants=constants).resolve(Oracle(cmdp))
    return learner.n_first(simulated_task(cmdp, 1, 0.1))


def run_safe(name: str, n: int, confidence: Any, seed: int) -> tr.Run:
    """One run of the safe learner."""
    return tr.learn(build(name), SAFE, n, seed, confidence=confidence)


def violations(name: str, plans: str, found: list[tr.Run]) -> dict[str, Any]:
    """Long runs: violations, upper bounds that failed, and the smallest margin."""
    return {
        "problem": name,
        "plans": plans,
        "runs": len(found),
        "good event held": sum(bool(each.audit.good_event) for each in found),
        "episodes in violation": sum(each.n_violations for each in found),
        "failed upper bounds": sum(each.audit.bound_failures for each in found),
        "smallest margin, share of the budget": f"{margin(found, build(name).budget):.3f}",
    }


def failures(name: str, plans: str, seed: int, found: tr.Run) -> Rows:
    """The run if its confidence sets missed the true model: when, and what came of it."""
    return [
        {
            "problem": name,
            "plans": plans,
            "seed": seed,
            "sets of": event,
            "first episode": f"{found.audit.first_bad[event]:,}",
            "episodes": f"{n:,}",
            "failed upper bounds": found.audit.bound_failures,
            "episodes in violation": found.n_violations,
        }
        for event, n in found.audit.bad_episodes.items()
        if n
    ]


def use_of_baseline(name: str, found: list[tr.Run]) -> dict[str, Any]:
    """Long runs: how long the baseline is needed."""
    n = int(found[0].episode[-1])
    firsts = {f"at most {level}": [first_below(each, level) for each in found] for level in LEVELS}
    firsts["without"] = [first_below(each, 0.0) for each in found]
    return {
        "problem": name,
        **{words: quartiles(values, n) for words, values in firsts.items()},
        "mean baseline": f"{np.median([mean_baseline(each) for each in found]):.4f}",
        "at the end": f"{np.median([each.baseline[-1] for each in found]):.4f}",
    }


def margin(runs: list[tr.Run], budget: Any) -> float:
    """Smallest distance of an episode's expected use from a budget, as a share of the budget."""
    found = min((-each.worst_violation / budget).min() for each in runs)
    return float(found) + 0.0 if abs(found) > ROUNDING else 0.0


def first_below(found: tr.Run, level: float) -> float:
    """First recorded episode from which the baseline's probability stays at most the level."""
    above = np.flatnonzero(found.baseline > level)
    k = 0 if above.size == 0 else int(above[-1]) + 1
    return float(found.episode[k]) if k < found.episode.size else np.inf


def mean_baseline(found: tr.Run) -> float:
    """Share of the episodes that the baseline was given, from the recorded ones."""
    return float(np.trapezoid(found.baseline, found.episode) / np.ptp(found.episode))


def quartiles(values: list[float], most: int) -> str:
    """Median and quartiles of episodes."""
    if not np.isfinite(values).any():
        return f"in no run up to {most:,}"
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], method="nearest")
    return " / ".join(
        f"{each:,.0f}" if each < np.inf else f"> {most:,}" for each in (low, middle, high)
    )


def regret(name: str, constants: str, words: str, confidence: Any, seeds: int) -> dict[str, Any]:
    """Regret of both learners after the first phase of DOPE."""
    n = first_phase(name, constants)
    dope = DOPE(baseline=BASELINE, constants=constants)
    before = float(tr.learn(build(name), dope, n, confidence=confidence).regret["cost"][-1])
    runs = [run_safe(name, n, confidence, seed) for seed in range(seeds)]
    after = np.array([each.regret["cost"][-1] for each in runs])
    shares = [mean_baseline(each) for each in runs]
    is_some = after.max() > ROUNDING * n
    return {
        "K0": constants,
        "radii": words,
        "problem": name,
        "episodes": f"{n:,}",
        "DOPE": f"{before:,.0f}",
        "Safe-OptCMDP": f"{after.mean():,.0f}",
        "largest": f"{after.max():,.0f}",
        "of it the baseline": f"{before * np.mean(shares):,.0f}",
        "DOPE / Safe-OptCMDP": f"{before / after.mean():.2f}" if is_some else "no regret",
        "least": f"{before / after.max():.2f}" if is_some else "no regret",
        "episodes in violation": sum(each.n_violations for each in runs),
    }


def seconds(name: str, learner: Any) -> float:
    """CPU seconds of an episode, on average."""
    cmdp, confidence = build(name), as_confidence(SHARP)
    start = time.process_time()
    tr.learn(cmdp, learner, TIMED, confidence=confidence)
    return (time.process_time() - start) / TIMED


def times(name: str) -> dict[str, Any]:
    """Time per episode compared with OptCMDP's, best of three alternating runs."""
    learners = {"OptCMDP": OptCMDP(), "Safe-OptCMDP": SAFE}
    for each in learners.values():
        seconds(name, each)  # compile
    took = dict.fromkeys(learners, np.inf)
    for _ in range(3):
        for key, each in learners.items():
            took[key] = min(took[key], seconds(name, each))
    line: dict[str, Any] = {"problem": name}
    line |= {f"{key} us": f"{1e6 * value:.1f}" for key, value in took.items()}
    line["ratio"] = f"{took['Safe-OptCMDP'] / took['OptCMDP']:.2f}"
    return line


def page(parts: list[tuple[str, str, Rows]]) -> list[str]:
    """The page of the documentation."""
    return [
        "# Learning within budgets",
        "",
        "Written by `benchmarks/safe.py --write`, on one machine",
        setting("numpy", "numba"),
        "The problems are those of DOPE's repository. The baseline is the optimum with a fifth of",
        "the budgets. Unless said otherwise, costs and successors are unknown, delta is 0.1,",
        "visits are counted over all stages together (the models are stationary), and radii are",
        "the tight ones with `kl_costs` and `mixture`, which keep the guarantees",
        "([confidence sets](../theory/confidence.md)). The learner is explained on",
        "[its page](../theory/safe.md).",
        *sections([part for part in parts if part[2]]),
    ]


def main() -> None:
    """Run the tables; the longest runs are last, seed by seed."""
    chosen = parser(__doc__, PAGE, "2 seeds, 20,000 episodes").parse_args()
    n, seeds = (QUICK, FEW) if chosen.quick else (LONG, SEEDS)
    in_time: Rows = []
    in_regret: Rows = []
    in_violations: Rows = []
    in_failures: Rows = []
    in_baseline: Rows = []
    parts = [
        (
            "Violations",
            f"Safe-OptCMDP, {n:,} episodes a run. The guarantee is the same whether a plan is made "
            "in every episode or only when some visits have doubled, because an upper bound stays "
            "valid until the next plan. All seeds are run with the latter, a second each; with a "
            "plan in every episode a run takes about a minute, and there are fewer. The expected "
            "use of the mixture is exact, so a violation is not a sampling error. A margin "
            "of 0 means that an episode used a whole budget, as the rule intends.",
            in_violations,
        ),
        (
            "Runs in which the good event failed",
            "With probability at most delta, here 0.1 a run, the confidence sets miss the true "
            "model in some episode. The guarantee does not cover such a run; the table shows "
            "its violations.",
            in_failures,
        ),
        (
            "How long the baseline is needed",
            f"The runs with plans when visits doubled, {seeds} each: quartiles of the first "
            "episode, among about 2,000 recorded ones, from which the probability of the baseline "
            "stays at most 0.5, 0.1 and so on, and of the first episode without baseline; medians "
            "of the mean probability and of the last one. Where a budget binds, the optimistic "
            "plan uses all of it, and its upper bound exceeds the budget as long as anything is "
            "uncertain: the probability of the baseline goes to 0 as fast as the widths, but it is "
            "positive in every episode.",
            in_baseline,
        ),
        (
            "Regret",
            "Sum of the excess cost after the first phase of DOPE, in units of the model, means "
            f"over {seeds} runs of Safe-OptCMDP with a plan in every episode. DOPE plays its "
            "baseline for K0 episodes, S^2 A H^3 / d^2 in its code and S^2 A H^4 / d^2 in the "
            "paper; its exact regret until then does not depend on the seed. *Of it the baseline* "
            "is the expected number of episodes given to the baseline times its excess cost; it "
            "can be above the total because optimistic plans cost less than the optimum. *Least* "
            "is the ratio of the worst run.",
            in_regret,
        ),
        (
            "Time",
            f"CPU time per episode over {TIMED:,} episodes, exact regret and audit included.",
            in_time,
        ),
    ]

    def add(rows: Rows, line: dict[str, Any]) -> None:
        report(line)
        rows.append(line)
        if chosen.write:
            write(PAGE, page(parts))

    def add_regret(some: str) -> None:
        for constants, words, confidence in SETTINGS:
            for name in PROBLEMS:
                if constants == some:
                    add(in_regret, regret(name, constants, words, confidence, seeds))

    def add_long(plans: str, more: dict[str, Any], wanted: dict[str, int]) -> None:
        runs: dict[str, list[tr.Run]] = {name: [] for name in PROBLEMS}
        before = [list(rows) for rows in (in_violations, in_baseline)]
        for seed in range(max(wanted.values())):
            for name in PROBLEMS:
                if seed < wanted[name]:
                    runs[name].append(run_safe(name, n, SHARP | more, seed))
                    in_failures.extend(failures(name, plans, seed, runs[name][-1]))
            some = {name: found for name, found in runs.items() if found}
            lines = [violations(name, plans, found) for name, found in some.items()]
            in_violations[:] = [*before[0], *lines]
            if not before[1]:  # of the first kind of runs
                in_baseline[:] = [use_of_baseline(name, found) for name, found in some.items()]
            report({"seed": seed} | lines[-1])
            if chosen.write:
                write(PAGE, page(parts))

    for name in PROBLEMS:
        add(in_time, times(name))
    add_regret("code")
    add_long("when visits doubled", {"replan": "doubling"}, dict.fromkeys(PROBLEMS, seeds))
    add_regret("paper")
    add_long("every episode", {}, {k: min(seeds, most) for k, most in PLANNED.items()})


if __name__ == "__main__":
    main()
