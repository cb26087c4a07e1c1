"""The four regrets with faithful, tight and scaled constants, the bounds, and the good event."""

from __future__ import annotations

import numpy as np
from scipy.stats import beta

from section import Section, band_words, mean_and_band, problem_name, ranges, rows_of
from tightrope.experiments.statistics import Resamples, slope_of
from tightrope.experiments.summary import Chapter, Findings, Group
from tightrope.model import CMDP
from tightrope.show.regret import KINDS
from tightrope.show.report.figures import chapter_figure
from tightrope.show.report.words import DASH, format_number
from tightrope.text import counted

LINEAR, ROOT = 0.9, 0.55  # slopes above the first are linear still, below the second a root's
PROMISED = {
    "OptCMDP": ("cost_plus", "constraint_plus"),
    "OptCMDP-bonus": ("cost_plus", "constraint_plus"),
    "OptDual": ("cost", "constraint"),
    "OptPrimalDual": ("cost", "constraint"),
}


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
    """
    return float(np.sqrt(_size(cmdp, n_episodes, delta) * n_episodes)) * cmdp.horizon


def below_trivial(cmdp: CMDP, n_episodes: int, delta: float, rho: float = np.inf) -> float:
    """Episodes from which that leading term is below H K, which is certain.

    ``128 H^2 N L S A``, times ``(1 + 1/rho)^2 I`` for the constraints
    of OptDual. Curves before that test no theorem, and lower-order terms move it further.
    """
    factor = 1.0 if np.isinf(rho) else (1 + 1 / rho) ** 2 * cmdp.n_constraints
    return factor * _size(cmdp, n_episodes, delta)


def _size(cmdp: CMDP, n_episodes: int, delta: float) -> float:
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    L = np.log(6 * S * A * H * n_episodes / delta)
    return float(128 * H**2 * most_successors(cmdp) * L * S * A)


def long_enough(findings: Findings) -> list[Chapter]:
    """Experiments with enough episodes for the bound of OptCMDP to say something."""
    return [
        chapter
        for chapter in findings.chapters
        if below_trivial(chapter.cmdp, chapter.n_episodes, chapter.delta) <= chapter.n_episodes
    ]


def growth_section(findings: Findings, resamples: Resamples) -> Section:
    """Figures, fitted exponents and the corrected bounds, problem by problem."""
    section = Section("The four regrets, with the constants of the theorems")
    section.say(
        "Exponents are slopes of log mean regret against log episode over the last tenfold of "
        "episodes, with 95 % bootstrap intervals over seeds; 0.5 is a square root, 1 a constant "
        "loss an episode, and below 0.5 a regret that is leveling off. Each learner is measured "
        "by what its theorem bounds: Reg\N{SUBSCRIPT PLUS SIGN} for OptCMDP and OptCMDP-bonus, "
        "Reg for OptDual and OptPrimalDual. A dash stands where a mean in the last tenfold is not "
        "positive, so that no power fits: the signed regret is then at or below zero."
    )
    section.say(
        "Intervals tell how much seeds differ, not how well a power fits. Leading terms are those "
        "of the corrected bounds, without constants and logarithms: a share above 1 is no "
        "contradiction, nor is one that grows in burn-in. For OptCMDP the leading term with its "
        "constants stands beside it. Whether a curve is in its burn-in is judged by the larger "
        "exponent of what its theorem bounds, cost and constraint. In the figures the dotted line "
        "is c\N{SQUARE ROOT}K through the highest end; panels in which a curve crosses zero are "
        "linear around it and logarithmic beyond, which bends curves where the two meet."
    )
    for k, chapter in enumerate(findings.chapters):
        _add(section, k, chapter, resamples)
    section.findings.append(_in_short(findings, resamples))
    return section


def _add(section: Section, k: int, chapter: Chapter, resamples: Resamples) -> None:
    name = problem_name(chapter.environment, chapter.cmdp)
    seeds = min(group.n_seeds for group in chapter.groups)
    section.say(f"### {name}, {chapter.n_episodes:,} episodes, {seeds} seeds")
    figure = chapter_figure(chapter, f"Regret on {name}", resamples)
    section.show(f"growth-{k}", figure, f"the four regrets on {name}")
    known = _known(chapter)
    section.say(
        rows_of(
            ["exponent", *KINDS.values()],
            [
                [
                    group.name,
                    *(
                        band_words(slope_of(group.episode, group.regret[kind], resamples))
                        for kind in KINDS
                    ),
                ]
                for group in known
            ],
        )
    )
    section.say(
        rows_of(
            [
                "learner",
                "what its theorem bounds",
                "at the end",
                "leading term",
                "share of it",
                "with constants",
            ],
            [row for group in known for row in _against(chapter, group, resamples)],
            n_words=2,
        )
    )
    section.say(_plainly(chapter, known, resamples))


def _known(chapter: Chapter) -> list[Group]:
    """Those of whom a theorem speaks."""
    return [group for group in chapter.groups if group.algorithm in PROMISED]


def _against(chapter: Chapter, group: Group, resamples: Resamples) -> list[list[str]]:
    """What a theorem bounds beside its leading term, on the model's scale."""
    cmdp = chapter.cmdp
    bounds = leading_terms(group.algorithm, cmdp, chapter.n_episodes, group.rho)
    scales = (abs(cmdp.cost_unit.factor), max(abs(unit.factor) for unit in cmdp.constraint_units))
    certain = with_constants(cmdp, chapter.n_episodes, chapter.delta)
    rows = []
    for kind, bound, scale in zip(PROMISED[group.algorithm], bounds, scales, strict=True):
        ends = group.regret[kind][:, -1]
        share = float(ends.mean()) / scale / bound
        rows.append(
            [
                group.name,
                KINDS[kind],
                mean_and_band(ends, resamples),
                format_number(bound * scale),
                f"{share:.2g}" if share > 0 else "below 0",
                format_number(certain * scale) if group.algorithm == "OptCMDP" else DASH,
            ]
        )
    return rows


def _plainly(chapter: Chapter, known: list[Group], resamples: Resamples) -> str:
    """Where curves are still in their burn-in, and from where the bound says anything."""
    found = {group.name: _exponent(group, resamples) for group in known}
    stages = (
        (f"still in burn-in (exponent above {LINEAR})", LINEAR, np.inf),
        ("still bending", ROOT, LINEAR),
        (f"like a square root or less (up to {ROOT})", -np.inf, ROOT),
    )
    words = []
    for stage, low, high in stages:
        names = [name for name, exponent in found.items() if low < exponent <= high]
        if names:
            words.append(f"{stage}: {', '.join(names)}")
    return (
        f"What the theorems bound grew, over the last tenfold, {'; '.join(words)}. "
        f"{_says_from(chapter)}"
    )


def _says_from(chapter: Chapter) -> str:
    """From how many episodes on a bound is below what is certain, where constants are known."""
    known = (chapter.cmdp, chapter.n_episodes, chapter.delta)
    starts = {"OptCMDP": below_trivial(*known)}
    for group in chapter.groups:
        if group.algorithm == "OptDual":
            starts["OptDual"] = below_trivial(*known, group.rho)
    told = [
        f"{format_number(float(f'{start:.2g}'))} for {name} "
        f"({'reached' if start <= chapter.n_episodes else 'not reached'} here)"
        for name, start in starts.items()
    ]
    return (
        "The leading term of its bound, with its constants, is below the trivial bound, H an "
        f"episode, from about this many episodes: {', '.join(told)}. Lower-order terms move that "
        "several times further; for the learners with bonuses, whose constants are larger, it is "
        "not worked out."
    )


def _exponent(group: Group, resamples: Resamples) -> float:
    """The larger exponent of what a theorem bounds; 0 where both are below zero."""
    fits = [
        float(slope_of(group.episode, group.regret[kind], resamples).middle)
        for kind in PROMISED[group.algorithm]
    ]
    return max((fit for fit in fits if not np.isnan(fit)), default=0.0)


def _in_short(findings: Findings, resamples: Resamples) -> str:
    """Ranges of exponents, over the experiments that test the theorems and over the others."""
    enough = long_enough(findings)
    words = []
    for chapters, where in (
        (enough, "with enough episodes for OptCMDP's leading term to say something"),
        ([each for each in findings.chapters if each not in enough], "with fewer"),
    ):
        found: dict[str, list[float]] = {}
        for chapter in chapters:
            for group in _known(chapter):
                found.setdefault(group.algorithm, []).append(_exponent(group, resamples))
        if found:
            words.append(f"in {counted(len(chapters), 'experiment')} {where}, of {ranges(found)}")
    return (
        "What each theorem bounds grew over the last tenfold of episodes with exponents (the "
        f"larger of cost and constraint), {'; '.join(words)}. 0.5 is a square root, above "
        f"{ROOT} a curve is still bending."
    )


def constants_section(findings: Findings) -> Section:
    """When constraints begin to bind, what that gains, and what is then no longer promised."""
    section = Section("Faithful, tight and scaled constants")
    section.say(
        "A constraint binds in the first recorded episode whose policy answers a positive "
        "multiplier (it may be slack again in the next); before that the learner behaves as if "
        "there were no budgets. Tight constants keep every guarantee; a factor below 1 gives up "
        "optimism and with it every bound on regret: where the true model has left the beliefs, a "
        "run may settle on a policy that is not the best one, which the largest regrets over seeds "
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
            "which the true model stayed inside the beliefs in every episode."
        )
    section.conclude(_gained(findings))
    return section


def _gained(findings: Findings) -> str:
    """First binding constraints with faithful constants and with others that promise as much."""
    words = []
    for chapter in findings.chapters:
        first = {(group.algorithm, group.radii): _first(group) for group in chapter.groups}
        words += [
            f"{name} {first[name, 'tight']} instead of {middle}"
            for (name, radii), middle in first.items()
            if radii == "faithful" and (name, "tight") in first
        ]
    return (
        "First episode with a binding constraint (median) with tight constants, which promise as "
        f"much as those of the theorems: {', '.join(words)}."
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
            f"{format_number(float(np.median(ends)))} ({format_number(float(ends.max()))})"
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
    families = {
        "transition": "transitions",
        "cost": "costs",
        "constraint": "constraint costs",
        "visits": "visit counts",
    }
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
            f"{problem_name(chapter.environment, chapter.cmdp)} in which the true model was "
            f"outside the beliefs in some episode, by family of events. Transitions, costs with "
            f"constraint costs, and visit counts may fail with probability delta/3 each, all "
            f"together with delta = {chapter.delta:g}. Two learners stand for the two kinds of "
            "beliefs, sets and bonuses."
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
    words = [f"{bad:,} of {n:,} ({radii})" for radii, (bad, n) in outside.items()]
    return f"Runs in which the good event failed, by constants: {'; '.join(words)}."


def upper_limit(count: int, n: int, level: float = 0.95) -> float:
    """Largest probability that such a count does not contradict, one-sided and exact."""
    return 1.0 if count == n else float(beta.ppf(level, count + 1, n - count))
