"""Sentences and number formats of the report: summary, conditions, captions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from tightrope.arrays import Floats
from tightrope.experiments.returns import ReturnChapter
from tightrope.experiments.statistics import LEVEL, STATISTICS, Resamples, band_of, slope_of
from tightrope.experiments.summary import Chapter, Findings, Group
from tightrope.model.units import Units, label_of
from tightrope.show.regret import KINDS
from tightrope.text import counted, listed

LASTING = 0.9  # budgets kept from this share of the episodes on count as kept
MOST_NAMES = 4  # names in one sentence
OFFSET = 0.5  # of the larger of two sums of opposite sign, for them to offset each other
MINUS = "\N{MINUS SIGN}"
DARK_COLORS = {"#0072b2": "#4da6e0", "#555555": "#b0b0b0", "#8c6d31": "#c9a760"}
DASH = "\N{EN DASH}"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def format_number(value: float, count: int = 4) -> str:
    """Return a number in at most ``count`` digits, with thousands separators and a minus sign."""
    if not math.isfinite(value):
        return DASH
    if abs(value) >= 10**count:
        return f"{value:,.0f}".replace("-", MINUS)
    if value != 0 and abs(value) < 1e-12:
        return "0"
    return f"{value + 0.0:,.{count}g}".replace("-", MINUS)


def hundredths(value: float) -> str:
    """Return a number with two decimals."""
    if not math.isfinite(value):
        return DASH
    return f"{round(value, 2) + 0.0:.2f}".replace("-", MINUS)


def percent(share: float) -> str:
    """Return a share in percent, in three digits."""
    if not math.isfinite(share):
        return DASH
    return f"{100 * share:.3g} %"


def interval(low: float, high: float, words: Callable[[float], str] = format_number) -> str:
    """Return a band as text; empty if it is not finite."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    first, second = words(low), words(high)
    return f"{first} to {second}"


def pack_numbers(values: Iterable[float], count: int = 6) -> list[float | None]:
    """Return numbers for JSON in ``count`` digits; None for those that are not finite."""
    array = np.asarray(values, dtype=np.float64)
    return [float(f"{v:.{count}g}") if math.isfinite(v) else None for v in array.tolist()]


def curve_statistics(values: Floats, resamples: Resamples) -> dict[str, list[list[float | None]]]:
    """Return middle, low and high of each statistic: (N, P) to three rows of P."""
    return {
        name: [pack_numbers(part) for part in band_of([values], name, resamples)]
        for name in STATISTICS
    }


def conditions_of(chapter: Chapter | ReturnChapter, has_bands: bool = True) -> str:
    """Return seeds, band, delta, confidence and rho in one line."""
    sizes = sorted({group.n_seeds for group in chapter.groups})
    n = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    parts = [f"n = {n} {'seeds' if sizes[-1] > 1 else 'seed'}"]
    if has_bands and sizes[-1] > 1:
        parts.append(f"bands: {LEVEL:.0%} bootstrap over seeds".replace("%", " %"))
    elif has_bands:
        parts.append("no bands")
    parts.append(f"delta {chapter.delta:g}")
    parts += _radii(chapter)
    for step in dict.fromkeys(step for group in chapter.groups for step in group.steps):
        whose = [group.name for group in chapter.groups if step in group.steps]
        parts.append(f"{step}: {listed(whose)}" if len(whose) < len(chapter.groups) else step)
    bounds = dict.fromkeys(
        f"rho {group.rho:.4g} ({group.rho_rule})"
        for group in chapter.groups
        if not np.isnan(group.rho)
    )
    return "; ".join((*parts, *bounds))


def _radii(chapter: Chapter | ReturnChapter) -> list[str]:
    """Return the confidence settings, grouped by the learners that share them."""
    sharing: dict[str, list[str]] = {}
    for group in chapter.groups:
        if group.radii:
            sharing.setdefault(group.radii, []).append(group.name)
    if len(sharing) == 1:
        return [f"confidence {words}" for words in sharing]
    if len(chapter.groups) > MOST_NAMES:
        return [f"confidence by learner: {' | '.join(sharing)}"]
    return [f"confidence of {listed(names)}: {words}" for words, names in sharing.items()]


def regret_units(units: Units) -> tuple[str, str]:
    """Return the units of the regrets in cost and in constraints."""
    names, n = {unit.name for unit in units.constraints}, len(units.constraints)
    one = "".join(names) if len(names) == 1 else "constraints"
    scale = "" if units.are_alike else ", in ranges of a step"
    return units.cost.name, f"largest of {n} {one}{scale}" if n > 1 else one


def heuristics_of(chapter: Chapter | ReturnChapter) -> str:
    """Return which learners use heuristic constants; empty if none does."""
    names = [group.name for group in chapter.groups if group.is_heuristic]
    if not names:
        return ""
    who, verb = listed(names), "use" if len(names) > 1 else "uses"
    if len(names) == len(chapter.learners) > 1:
        who = "All learners here"
    elif len(names) > MOST_NAMES:
        who = f"{len(names)} of {len(chapter.learners)} learners"
    return f"{who} {verb} heuristic constants; the theoretical guarantees do not apply."


def missing_words(findings: Findings) -> str:
    """Return how many runs are missing; empty if none is."""
    missing = findings.n_planned - findings.n_finished
    if not missing:
        return ""
    return (
        f"{missing:,} of {counted(findings.n_planned, 'planned run')} "
        f"{'is' if missing == 1 else 'are'} not finished and {'is' if missing == 1 else 'are'} "
        "not in this report."
    )


def policies_of(group: Group) -> str:
    """Return which policies the figure of one learner shows."""
    if group.n_seeds == 1:
        return f"{group.name}: last policy, n = 1 seed"
    of = "" if group.n_policies == group.n_seeds else f" of {group.n_seeds}"
    return f"{group.name}: mean of the last policies, n = {group.n_policies}{of} seeds"


def policies_words(chapter: Chapter) -> str:
    """Return which policies the figures show."""
    most = max(group.n_policies for group in chapter.groups)
    if all(group.n_policies == group.n_seeds for group in chapter.groups):
        return "Last policy of each learner" + (", mean over its seeds" if most > 1 else "")
    return f"Last policy of each learner, mean over its first {most} seeds"


def summary_of(chapter: Chapter, resamples: Resamples) -> list[str]:
    """Return the main results in a few sentences."""
    sentences = [_what(chapter), _cost(chapter, resamples)]
    if chapter.cmdp.n_constraints:
        sentences += [_budgets(chapter), _feasible(chapter)]
    return [*sentences, *_offsets(chapter), _growth(chapter, resamples), _trust(chapter)]


def _what(chapter: Chapter) -> str:
    cmdp, n = chapter.cmdp, len(chapter.learners)
    who = chapter.learners[0].name if n == 1 else f"{_number(n).capitalize()} learners"
    names = [group.name for group in chapter.learners]
    others = [group.name for group in chapter.groups if group.name not in names]
    compared = f", compared with {listed(others)}" if others else ""
    sizes = sorted({group.n_seeds for group in chapter.learners})
    runs = counted(sizes[-1], "seed") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} seeds"
    best = f"{format_number(chapter.optimum.value)} {cmdp.cost_unit.name}"
    kept = {0: "", 1: " within its budget"}.get(
        cmdp.n_constraints, f" within its {_number(cmdp.n_constraints)} budgets"
    )
    verb = "earns" if cmdp.cost_unit.is_maximized else "costs"
    return (
        f"{who} ran for {chapter.n_episodes:,} episodes of {chapter.environment} with {runs}"
        f"{' each' if n > 1 else ''}{compared}: {cmdp.n_states:,} states, "
        f"{cmdp.n_actions} actions, "
        f"{cmdp.horizon} stages. The optimal policy {verb} {best} per episode{kept}."
    )


def _cost(chapter: Chapter, resamples: Resamples) -> str:
    ranked = _rank(chapter, lambda group: float(group.regret["cost_plus"][:, -1].mean()))
    unit = chapter.cmdp.cost_unit.name

    def total(group: Group) -> str:
        band = band_of([group.regret["cost_plus"][:, -1]], "mean", resamples)
        spread = interval(float(band.low), float(band.high))
        if format_number(float(band.low)) == format_number(float(band.high)):
            spread = ""
        return f"{format_number(float(band.middle))} {unit}" + (f" ({spread})" if spread else "")

    least, most = ranked[0], ranked[-1]
    but = ""
    if chapter.cmdp.n_constraints and _share(least) > min(map(_share, ranked)):
        but = f", but exceeded a budget {_amount(chapter, least)}"
    if len(ranked) == 1:
        return f"{least.name} had a regret ({KINDS['cost_plus']}) of {total(least)}."
    return (
        f"{least.name} had the lowest regret ({KINDS['cost_plus']}, mean over seeds), "
        f"{total(least)}{but}; {most.name} had the highest, {total(most)}."
    )


def _budgets(chapter: Chapter) -> str:
    ranked = _rank(chapter, _share)
    least, most = ranked[0], ranked[-1]
    largest = max(ranked, key=lambda group: _mean_excess(chapter, group)[0])
    kept = f"{least.name} exceeded no budget in any episode"
    if _share(least) == 0 and least.is_heuristic:
        kept += " (observed only: its constants are heuristic)"
    if len(ranked) == 1:
        return f"It exceeded a budget {_amount(chapter, least)}." if _share(least) else f"{kept}."
    if _share(most) == 0:
        return "No learner exceeded a budget in any episode."
    if _share(least):
        kept = f"{least.name} exceeded a budget least often, {_amount(chapter, least)}"
    if most is largest:
        return f"{kept}; {most.name} exceeded one most often and by most, {_amount(chapter, most)}."
    return (
        f"{kept}; {most.name} exceeded one most often, {_amount(chapter, most)}; "
        f"{largest.name} by most, {_amount(chapter, largest)}."
    )


def _feasible(chapter: Chapter) -> str:
    middles = {g.name: float(np.median(g.first_feasible)) for g in chapter.learners}
    # staying within the budgets only in the last few episodes may be chance
    kept = {name: m for name, m in middles.items() if m <= LASTING * chapter.n_episodes}
    if not kept:
        return (
            "In the median run, no learner stayed within every budget over the last "
            f"{1 - LASTING:.0%} of episodes."
        )
    if len(middles) > MOST_NAMES:
        first = min(kept, key=lambda name: kept[name])
        return (
            f"In the median run, {len(kept)} of {len(middles)} learners stayed within every budget "
            f"from some episode on, {first} first, from episode {format_number(kept[first], 6)}."
        )
    since = [f"{name} from episode {format_number(m, 6)} on" for name, m in kept.items()]
    rest = [name for name in middles if name not in kept]
    tail = f"; {listed(rest)} did not" if rest else ""
    return f"In the median run, every budget was kept by {listed(since)}{tail}."


def _offsets(chapter: Chapter) -> list[str]:
    """Return whose episodes above and below the optimal cost offset each other most, if any do."""
    sums = {}
    for group in chapter.learners:
        above = float(group.regret["cost_plus"][:, -1].mean())
        below = above - float(group.regret["cost"][:, -1].mean())
        if min(above, below) > OFFSET * max(above, below):
            sums[group.name] = above, below
    if not sums or not chapter.cmdp.n_constraints:
        return []
    name = max(sums, key=lambda each: min(sums[each]))
    worse, better = map(format_number, sums[name])
    unit = chapter.cmdp.cost_unit.name
    return [
        f"Episodes of {name} offset each other most: in sum, {worse} {unit} worse than the optimum "
        f"and {better} {unit} better."
    ]


def _growth(chapter: Chapter, resamples: Resamples) -> str:
    found = [
        (group.name, float(slope_of(group.episode, group.regret["cost_plus"], resamples).middle))
        for group in chapter.learners
    ]
    known = [(slope, name) for name, slope in found if np.isfinite(slope)]
    if not known:
        return "No learner had a regret in cost whose growth could be measured."
    slopes = listed([f"{hundredths(slope)} for {name}" for slope, name in known])
    if len(known) > MOST_NAMES:
        least, most = min(known), max(known)
        slopes = (
            f"from {hundredths(least[0])} for {least[1]} to {hundredths(most[0])} for {most[1]}"
        )
    return (
        f"Over the last factor of ten in episodes, {KINDS['cost_plus']} grew with exponent "
        f"{slopes} (0.5 is the square root of the theorems)."
    )


def _trust(chapter: Chapter) -> str:
    audited = [group for group in chapter.learners if group.bad_episodes]
    n = sum(group.n_seeds for group in audited)
    if not n:
        return "No learner here uses confidence sets; nothing to audit."
    good = sum(int(group.good_event.sum()) for group in audited)
    not_optimistic = sum(int(group.not_optimistic.sum()) for group in audited)
    everywhere = "the only run" if n == 1 else f"all {n} runs"
    inside = (
        f"The confidence sets contained the true model in {everywhere}"
        if good == n
        else f"The confidence sets missed the true model in {n - good} of {n} runs"
    )
    optimism = "whenever they contained it, every plan was optimistic"
    if not_optimistic:
        plans = counted(not_optimistic, "plan")
        optimism = f"{plans} failed to be optimistic although they contained it"
    return f"{inside}; {optimism}."


def _rank(chapter: Chapter, key: Callable[[Group], float]) -> list[Group]:
    return sorted(chapter.learners, key=key)


def _share(group: Group) -> float:
    """Return the share of episodes in violation, mean over seeds."""
    return float(group.share[:, -1].mean())


def _amount(chapter: Chapter, group: Group) -> str:
    """Return in how many episodes a budget was exceeded, and by how much on average."""
    size, unit = _mean_excess(chapter, group)[1:]
    by = f" and by {format_number(size, 3)} {unit} per episode on average" if size else ""
    return f"in {percent(_share(group))} of its episodes{by}"


def _mean_excess(chapter: Chapter, group: Group) -> tuple[float, float, str]:
    """Return the mean excess of an episode over the budget that is exceeded by most.

    Relative to the range of a step, in the units of the model, and those units.
    """
    cmdp = chapter.cmdp
    excess = group.constraint_ends[1].mean(axis=0) / chapter.n_episodes
    i = int(np.argmax(excess / cmdp.units.sizes))
    unit = cmdp.constraint_units[i].name if cmdp.n_constraints == 1 else label_of(cmdp, i)
    return float(excess[i] / cmdp.units.sizes[i]), float(excess[i]), unit


def _number(n: int) -> str:
    return NUMBERS[n] if n < len(NUMBERS) else f"{n:,}"
