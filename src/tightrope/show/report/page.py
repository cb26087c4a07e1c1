"""The report page of an experiment: one HTML file with data, text and drawing code."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tightrope import __version__
from tightrope.arrays import Bools, Floats, Ints
from tightrope.experiments.returns import ReturnChapter
from tightrope.experiments.statistics import STATISTICS, Resamples, middle_of, reference_of
from tightrope.experiments.summary import Chapter, Findings, Group, new_resamples
from tightrope.files import put
from tightrope.model import CMDP, Layout, Plan
from tightrope.show.grid import grid_size, visits_of
from tightrope.show.regret import (
    KINDS,
    LINEAR_PART,
    log_ticks,
    looks_of,
    regret_scale,
    regret_ticks,
)
from tightrope.show.report.returns import (
    return_contents,
    return_curves,
    return_summary,
    return_tables,
)
from tightrope.show.report.tables import Table, chapter_tables, overview_of
from tightrope.show.report.words import (
    DARK_COLORS,
    conditions_of,
    curve_statistics,
    heuristics_of,
    missing_words,
    pack_numbers,
    policies_words,
    regret_units,
    summary_of,
)
from tightrope.show.style import short, spread
from tightrope.text import counted, replace_unprintable

# unprintable characters that the text uses
KEPT = "\n\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
PLAIN = {
    "cost": "Cost above the optimum, summed; cheaper episodes offset more expensive ones.",
    "cost_plus": "The same, counting only episodes above the optimum.",
    "constraint": "Use above the budget, summed; episodes below it offset those above.",
    "constraint_plus": "The same, counting only episodes above the budget.",
}
PLOTLY = "plotly/plotly-cartesian.min.js"  # scatter plots and heat maps only
MOST_CELLS = 30_000  # over all stages of one map
MOST_STATES, MOST_STAGES = 40, 80
SELDOM = 1e-4  # no action is drawn in states with fewer visits
DIGITS = 3
TIE = 1e-9  # tolerance for equal probabilities


def write_page(findings: Findings, path: Path, title: str = "", reload: float = 0.0) -> None:
    """Write the report page to a file atomically, see `page_of`."""
    about = f"Written by tightrope {__version__} on {datetime.now(UTC):%Y-%m-%d}."
    put(path, page_of(findings, new_resamples(), about, title, reload))


def page_of(
    findings: Findings, resamples: Resamples, about: str, title: str = "", reload: float = 0.0
) -> bytes:
    """Return the report page as HTML.

    Parameters
    ----------
    findings : Findings
        What the page shows; without chapters it says that no run is finished.
    resamples : Resamples
        For bands.
    about : str
        By whom and when the page was made.
    title : str
        Of the page; the name of the experiment by default.
    reload : float
        Seconds after which the page reloads itself; 0 for never.
    """
    parts = [_part(f"c{k}", each, resamples) for k, each in enumerate(findings.problems)]
    data = {
        part["key"]: _data(part, chapter, resamples)
        for part, chapter in zip(parts, findings.problems, strict=True)
    }
    template = _templates().get_template("page.html")
    page = template.render(
        findings=findings,
        title=title or findings.name,
        reload=reload,
        parts=parts,
        overview=overview_of(findings, resamples) if parts else None,
        missing=missing_words(findings),
        runs=counted(findings.n_finished, "run"),
        about=about,
        kinds=KINDS,
        plain=PLAIN,
        statistics=STATISTICS,
        linear_part=LINEAR_PART,
        data=_embed(data),
        style=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
        plotly=Markup(_text(PLOTLY)),
    )
    return page.encode()


def _data(
    part: dict[str, Any], chapter: Chapter | ReturnChapter, resamples: Resamples
) -> dict[str, Any]:
    """Return what the drawing code reads of one chapter."""
    if isinstance(chapter, ReturnChapter):
        return return_curves(chapter, resamples)
    curves = curves_data(chapter, resamples)
    return {**curves, "units": part["units"], "picture": picture_data(chapter)}


def _part(key: str, chapter: Chapter | ReturnChapter, resamples: Resamples) -> dict[str, Any]:
    """Return the template variables of one chapter."""
    common = {
        "key": key,
        "chapter": chapter,
        "has_model": isinstance(chapter, Chapter),
        "conditions": _tie(conditions_of(chapter)),
        "bandless": _tie(conditions_of(chapter, False)),
        "heuristics": heuristics_of(chapter),
        "specs": [(group.name, json.dumps(group.spec, indent=1)) for group in chapter.groups],
    }
    if isinstance(chapter, ReturnChapter):
        found = return_tables(chapter, resamples)
        return {
            **common,
            "summary": [_tie(sentence) for sentence in return_summary(chapter)],
            "tables": found,
            "contents": return_contents(found),
        }
    cost, constraint = regret_units(chapter.cmdp.units)
    tables = chapter_tables(chapter, resamples)
    return {
        **common,
        "policies": policies_words(chapter),
        "summary": [_tie(sentence) for sentence in summary_of(chapter, resamples)],
        "tables": tables,
        "contents": _contents(tables, chapter.cmdp.n_constraints > 0),
        "units": dict(zip(KINDS, (cost, cost, constraint, constraint), strict=True)),
    }


def _contents(tables: dict[str, list[Table]], has_budgets: bool) -> dict[str, str]:
    """Return the headings of the sections of a chapter, by their ids."""
    sections = {
        "regrets": f"The {'four' if has_budgets else 'two'} regrets",
        "budgets": "Budgets" if has_budgets else "",
        "averaging": "Last and average policies" if tables["averages"] else "",
        "pairing": "Learners in pairs" if tables["pairs"] else "",
        "policies": "Policies and visits",
        "auditing": "Audit",
        "time": "Time",
        "specs": "Run specifications",
    }
    return {key: heading for key, heading in sections.items() if heading}


def _tie(words: str) -> str:
    """Put no-break spaces before percent signs."""
    return words.replace(" %", "\N{NO-BREAK SPACE}%")


def _templates() -> Environment:
    return Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        finalize=_clean,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _clean(data: Any) -> Any:
    """Replace control characters in text, except in `Markup`."""
    if isinstance(data, str) and not isinstance(data, Markup):
        return replace_unprintable(data, KEPT)
    if isinstance(data, dict):
        return {_clean(key): _clean(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_clean(value) for value in data]
    return data


def _embed(data: dict[str, Any]) -> Markup:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(_clean(data), separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def curves_data(chapter: Chapter, resamples: Resamples) -> dict[str, Any]:
    """Return all curves of a chapter as plain data."""
    looks = looks_of([group.name for group in chapter.groups])
    return {
        "kinds": list(KINDS) if chapter.cmdp.n_constraints else list(KINDS)[:2],
        "constraints": list(chapter.cmdp.constraint_names),
        "prices": pack_numbers(chapter.optimum.multiplier),
        "scale": {kind: _scale(chapter, kind) for kind in chapter.groups[0].regret},
        "groups": [
            _group(group, *look, resamples)
            for group, look in zip(chapter.groups, looks, strict=True)
        ],
    }


def _scale(chapter: Chapter, kind: str) -> list[Any]:
    """Return the scale of an axis of regret, as in the figures of Matplotlib, and its ticks."""
    values = np.concatenate([np.ravel(group.regret[kind]) for group in chapter.groups])
    name, threshold = regret_scale(values)
    low, high = float(values.min()), float(values.max())
    if name == "linear":
        return [name, threshold, []]
    ticks = log_ticks(low, high) if name == "log" else regret_ticks(low, high, threshold)
    return [name, threshold, ticks]


def _group(group: Group, color: str, dash: str, resamples: Resamples) -> dict[str, Any]:
    return {
        "name": group.name,
        "n": group.n_seeds,
        "heuristic": group.is_heuristic,
        "color": [color, DARK_COLORS.get(color, color)],
        "dash": dash,
        "rho": None if np.isnan(group.rho) else group.rho,
        "episode": group.episode.tolist(),
        "regret": {
            kind: curve_statistics(values, resamples) for kind, values in group.regret.items()
        },
        "reference": {
            kind: {
                name: reference_of(group.episode, middle_of(values, name)) for name in STATISTICS
            }
            for kind, values in group.regret.items()
        },
        "share": curve_statistics(group.share, resamples),
        "multiplier": [
            curve_statistics(group.multiplier[:, :, i], resamples)
            for i in range(group.multiplier.shape[2])
        ],
    }


def picture_data(chapter: Chapter) -> dict[str, Any]:
    """Return the pictures of the optimum and of every group."""
    cmdp = chapter.cmdp
    plans = [("optimum", chapter.optimum)]
    for group in chapter.groups:
        plans.append((group.name, group.plan))
        if group.average_plan is not None:
            plans.append((f"{group.name}, average policy", group.average_plan))
    actions = [short(name) for name in cmdp.action_names]
    if cmdp.layout is not None:
        return {"actions": actions, **_maps(cmdp, cmdp.layout, plans)}
    return {"actions": actions, **_heats(cmdp, plans)}


def _maps(cmdp: CMDP, layout: Layout, plans: list[tuple[str, Plan]]) -> dict[str, Any]:
    """Return a map of all stages combined and one per stage (a selection if there are many)."""
    rows, columns = grid_size(layout)
    stages: list[int | None] = [None, *spread(cmdp.horizon, max(1, MOST_CELLS // (rows * columns)))]
    starts = [layout.cells[s] for s in np.flatnonzero(cmdp.initial > 0)]
    return {
        "kind": "map",
        "rows": [row.ljust(columns, "#") for row in layout.rows],
        "starts": [[int(r), int(c)] for r, c in starts if r >= 0],
        "moves": [list(move) for move in layout.moves],
        "stages": stages,
        "horizon": cmdp.horizon,
        "panels": [
            {"name": name, "stages": [_map(cmdp, plan, stage, layout) for stage in stages]}
            for name, plan in plans
        ],
    }


def _map(cmdp: CMDP, plan: Plan, stage: int | None, layout: Layout) -> dict[str, Any]:
    visits = visits_of(cmdp, plan, stage, layout)
    most = pack_numbers([visits.most], DIGITS)[0]
    return _cells(visits.often, visits.share, visits.is_end, most=most)


def _heats(cmdp: CMDP, plans: list[tuple[str, Plan]]) -> dict[str, Any]:
    """Return visits and most likely actions by state and stage, for the most visited states."""
    visits = np.sum([plan.occupancy.sum(axis=(0, 2)) for _, plan in plans], axis=0)
    states = np.sort(np.argsort(-visits, kind="stable")[:MOST_STATES])
    stages = np.array(spread(cmdp.horizon, MOST_STAGES))
    return {
        "kind": "heat",
        "states": [short(cmdp.state_names[s], 22) for s in states],
        "all_states": cmdp.n_states,
        "stages": stages.tolist(),
        "horizon": cmdp.horizon,
        "panels": [
            {"name": name, **_heat(plan.occupancy, plan.policy, states, stages)}
            for name, plan in plans
        ],
    }


def _heat(q: Floats, policy: Floats, states: Ints, stages: Ints) -> dict[str, Any]:
    reached = q.sum(axis=2)[np.ix_(stages, states)].T
    chosen = policy[np.ix_(stages, states)].swapaxes(0, 1)
    return _cells(reached, chosen)


def _cells(
    often: Floats, share: Floats, is_end: Bools | bool = False, **more: float | None
) -> dict[str, Any]:
    """Return visits and the most likely action with its probability, per cell."""
    action = np.where(is_end | (often < SELDOM), -1, _likeliest(share))
    return {
        "often": [pack_numbers(row, DIGITS) for row in often],
        **more,
        "action": action.tolist(),
        "share": [pack_numbers(row, DIGITS) for row in share.max(axis=2)],
    }


def _likeliest(share: Floats) -> Ints:
    """Return the most likely action of each cell; -1 where the first two tie."""
    if share.shape[2] == 1:
        return np.zeros(share.shape[:2], dtype=np.int64)
    top = np.sort(share, axis=2)[:, :, -2:]
    return np.where(top[:, :, 1] - top[:, :, 0] > TIE, share.argmax(axis=2), -1)
