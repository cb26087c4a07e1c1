"""Faithful, tight and scaled constants side by side, and how often the good event held."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta

from section import Section, problem_name, rows_of
from tightrope.experiments.summary import Chapter, Findings, Group
from tightrope.show.report.words import said

FAMILIES = {"transition": "transitions", "cost": "costs", "constraint": "constraint costs"}


def constants_section(findings: Findings) -> Section:
    """When constraints begin to bind, what that gains, and what is then no longer promised."""
    section = Section("Faithful, tight and scaled constants")
    section.say(
        "A constraint binds in the first recorded episode whose policy answers a positive "
        "multiplier (it may be slack again in the next); before that the learner behaves as if "
        "there were no budgets. Tight constants keep every guarantee; a factor below 1 gives up "
        "optimism and with it every bound on regret: where the truth has left the beliefs, a run "
        "may settle on a policy that is not the best one, which the largest regrets over seeds "
        "show. Episodes and regrets are medians over seeds."
    )
    for chapter in findings.chapters:
        section.say(f"### {problem_name(chapter.environment, chapter.cmdp)}")
        section.say(
            rows_of(
                [
                    "learner",
                    "constants",
                    "first binding constraint",
                    "Reg\N{SUBSCRIPT PLUS SIGN} cost (largest)",
                    "Reg\N{SUBSCRIPT PLUS SIGN} constraint (largest)",
                    "good event",
                    "guaranteed",
                ],
                [_row(group) for group in _by_algorithm(chapter)],
                n_words=2,
            )
        )
        section.say(
            f"After {chapter.n_episodes:,} episodes, delta {chapter.delta:g}. Good event: runs in "
            "which the truth stayed inside the beliefs in every episode."
        )
    section.conclude(_gained(findings))
    return section


def _gained(findings: Findings) -> str:
    """First binding constraints with faithful constants and with others that promise as much."""
    said = []
    for chapter in findings.chapters:
        first = {(group.algorithm, group.radii): _first(group) for group in chapter.groups}
        said += [
            f"{name} {first[name, 'tight']} instead of {middle}"
            for (name, radii), middle in first.items()
            if radii == "faithful" and (name, "tight") in first
        ]
    return (
        "First episode with a binding constraint (median) with tight constants, which promise as "
        f"much as those of the theorems: {', '.join(said)}."
    )


def _by_algorithm(chapter: Chapter) -> list[Group]:
    names = list(dict.fromkeys(group.algorithm for group in chapter.groups))
    return sorted(chapter.groups, key=lambda group: names.index(group.algorithm))


def _row(group: Group) -> list[str]:
    missing = int(np.isinf(group.first_binding).sum())
    first = _first(group)
    if 0 < missing < group.n_seeds:
        first += f" (never in {missing} of {group.n_seeds} runs)"
    return [
        group.algorithm,
        group.radii,
        first,
        *(
            f"{said(float(np.median(ends)))} ({said(float(ends.max()))})"
            for ends in (group.regret["cost_plus"][:, -1], group.regret["constraint_plus"][:, -1])
        ),
        f"{int(group.good_event.sum())} of {group.n_seeds}",
        "no" if group.is_heuristic else "yes",
    ]


def _first(group: Group) -> str:
    """Median over seeds of the first episode with a binding constraint."""
    middle = float(np.median(group.first_binding))
    return "never" if np.isinf(middle) else f"{middle:,.0f}"


def coverage_section(findings: Findings) -> Section:
    """How many runs left the good event, family by family."""
    section = Section("Coverage of the good event")
    families = {**FAMILIES, "visits": "visit counts"}
    for chapter in findings.chapters:
        rows = []
        for group in _by_algorithm(chapter):
            bad = {name: int((group.bad_episodes[name] > 0).sum()) for name in families}
            any_bad = group.n_seeds - int(group.good_event.sum())
            rows.append(
                [
                    group.algorithm,
                    group.radii,
                    *(f"{count}" for count in bad.values()),
                    f"{any_bad} of {group.n_seeds}",
                    f"{upper_limit(any_bad, group.n_seeds):.2%}",
                ]
            )
        section.say(
            f"Runs of {chapter.n_episodes:,} episodes on "
            f"{problem_name(chapter.environment, chapter.cmdp)} in which the truth was outside the "
            f"beliefs in some episode, by family of events. Transitions, costs with constraint "
            f"costs, and visit counts may fail with probability delta/3 each, all together with "
            f"delta = {chapter.delta:g}. Two learners stand for the two kinds of beliefs, sets and "
            "bonuses."
        )
        columns = ["learner", "constants", *families.values(), "any", "95 % upper limit"]
        section.say(rows_of(columns, rows, n_words=2))
    section.say(
        "The upper limit is that of Clopper and Pearson (1934), one-sided and exact. Faithful and "
        "tight constants promise a probability of at most delta; a factor below 1 promises nothing."
    )
    section.conclude(_failures(findings))
    return section


def _failures(findings: Findings) -> str:
    """Runs outside the good event, by constants."""
    outside: dict[str, list[int]] = {}
    for chapter in findings.chapters:
        for group in chapter.groups:
            counts = outside.setdefault(group.radii, [0, 0])
            counts[0] += group.n_seeds - int(group.good_event.sum())
            counts[1] += group.n_seeds
    said = [f"{bad:,} of {n:,} ({radii})" for radii, (bad, n) in outside.items()]
    return f"Runs in which the good event failed, by constants: {'; '.join(said)}."


def upper_limit(count: int, n: int, level: float = 0.95) -> float:
    """Largest probability that such a count does not contradict, one-sided and exact."""
    return 1.0 if count == n else float(beta.ppf(level, count + 1, n - count))
