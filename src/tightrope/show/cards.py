"""Notebook cards of models, plans and runs: HTML with small pictures as inline SVG.

Titles, facts, heads and captions are escaped here; arguments described as HTML are not. The
pictures take the color of the text around them, so that they can be read on light and dark pages.
The result is well-formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from tightrope.arrays import Bools, Floats
from tightrope.model import Layout, Model, Plan, Unit
from tightrope.model.base import writable_problem
from tightrope.model.draft import default_names
from tightrope.text import counted, cut, digits

if TYPE_CHECKING:
    from tightrope.experiments.run import Run
    from tightrope.interop.gym.realized import Realized
    from tightrope.learners.base import Learner
    from tightrope.learners.interactive import InteractiveLearner
    from tightrope.offline.fit import Fit
    from tightrope.offline.log import Log
    from tightrope.plan.bound import Bounds
    from tightrope.plan.frontier import Frontier

MOST_STATES = 80  # of a picture by states; and as many stages and actions
MOST_ROWS = 12  # of a table
MOST_CELLS = 2500  # of a map
BLUE, RED = "#2f86c1", "#d55e00"
CARD = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;max-width:62em"
CELL = "padding:1px 12px 1px 0;text-align:{side};border:0;background:none;white-space:nowrap"
SHADES, FAINTEST, WALL = 16, 0.12, 0.6
OPTIMISTIC = (  # of planned values
    "optimistic values, which drive exploration; they may be better than is possible and are no "
    "estimates"
)
ROUNDING = 1e-9  # of a budget, beyond which a use is an excess
CAPTIONS = {
    "cost": "cost, signed",
    "cost_plus": "cost, positive parts",
    "constraint": "budgets, signed",
    "constraint_plus": "budgets, positive parts",
}


def model_card(model: Model) -> str:
    """Return the sizes, the budgets, and a small map or picture of the costs."""
    S, A = model.n_states, model.n_actions
    aim = "maximize" if model.cost_unit.is_maximized else "minimize"
    facts = [f"{S} states", f"{A} actions", *model.criterion_in_words]
    facts.append(f"{aim} {model.measure} {model.cost_unit.name}")
    rows = []
    for i, name in enumerate(model.constraint_names[:MOST_ROWS]):
        unit = model.constraint_units[i]
        counted = "" if unit.name == name else unit.name
        rows.append([escape(name), _limit(unit, model.budget[i]), escape(counted)])
    heads = ["constraint", "budget", "unit"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    parts = [table(heads, rows), _rest(model.n_constraints)] if rows else []
    return card(type(model).__name__, facts, *parts, _ground(model))


def plan_card(plan: Plan, names: Sequence[str] = ()) -> str:
    """Return the cost, the use and price of each budget, and a small picture of the visits.

    Without a model, the numbers are those of the optimistic model that was planned for, and
    ``names`` are those of the constraints.
    """
    model = plan.model
    if model is None:
        facts = [] if np.isnan(plan.value) else [f"planned cost {number(plan.value)}"]
    else:
        gap = max(plan.gap, 0.0)
        facts = [f"{model.measure} {model.cost_unit.name} {number(plan.value)}"]
        if np.isfinite(gap):
            facts.append(f"certified within {gap:.1g}" if gap else "certified")
    facts.append(plan.method)
    if model is None and not np.isnan(plan.value) and plan.method != "file":
        facts.append(OPTIMISTIC)
    if not plan.is_feasible:
        facts.append("no policy is within the budgets: least violation")
    return card("Plan", facts, _uses(plan, names), _visits(plan))


def frontier_card(frontier: Frontier) -> str:
    """Return the breakpoints of a frontier with the price between them."""
    unit, cost = frontier.constraint_unit, frontier.cost_unit
    rows = [
        [number(budget), number(value), "" if k == 0 else number(frontier.multiplier[k - 1])]
        for k, (budget, value) in enumerate(zip(frontier.budget, frontier.value, strict=True))
    ][:MOST_ROWS]
    facts = [
        f"{cost.name} against the budget of {unit.name}",
        f"{frontier.budget.size} breakpoints",
    ]
    return card("Frontier", facts, table([unit.name, cost.name, "price before"], rows))


def bounds_card(bounds: Bounds) -> str:
    """Return lower and upper bounds, and whether each budget is kept."""
    rows = [["cost", number(bounds.cost[0]), number(bounds.cost[1]), "", ""]]
    for i, (low, high) in enumerate(bounds.constraint_cost[:MOST_ROWS]):
        limit = number(bounds.budget[i])
        cells = number(low), number(high), limit, bounds.verdicts[i]
        rows.append([escape(bounds.constraint_names[i]), *cells])
    heads = ["", "at least", "at most", "budget", ""]
    return card("Bounds", [bounds.words], table(heads, rows))


def learner_card(learner: InteractiveLearner) -> str:
    """Return the algorithm, its options and how many episodes it has observed."""
    task = learner.task
    facts = [learner.algorithm, f"{learner.n_observed} of {task.n_episodes} episodes observed"]
    facts += [counted(task.n_states, "state"), counted(task.n_actions, "action")]
    facts += [f"horizon {task.horizon}"]
    return listing("Learner", facts, ["option", "value"], option_rows(learner.learner))


def option_rows(learner: Learner) -> list[tuple[str, str]]:
    """Return the names and values of a learner's options."""
    return [(name, cut(str(value))) for name, value in learner.options.items()]


def log_card(log: Log) -> str:
    """Return the sizes of a log and the mean totals of its episodes."""
    facts = [f"{counted(log.n_episodes, 'episode')} of {counted(log.horizon, 'step')}"]
    facts += [counted(log.n_states, "state"), counted(log.n_actions, "action")]
    if log.n_left_out:
        facts.append(f"{log.n_left_out} excluded")
    episodes = log.episodes
    means = [episodes.cost.sum(axis=1).mean(), *episodes.constraint_cost.sum(axis=2).mean(axis=0)]
    names = [unit.name for unit in (log.cost_unit, *log.constraint_units)]
    rows = [[escape(n), number(m)] for n, m in zip(names, means, strict=True)]
    return card("Log", facts, table(["per episode", "mean"], rows[:MOST_ROWS]))


def fit_card(fit: Fit) -> str:
    """Return the cards of the log, of the plan and of its bounds."""
    plan = plan_card(fit.plan, fit.log.constraint_names)
    return card("Fit", [fit.plan.method], log_card(fit.log), plan, bounds_card(fit.bounds))


def realized_card(record: Realized) -> str:
    """Return mean realized totals per episode beside the budgets."""
    limits = ["", *map(number, record.budget)]
    means = map(number, record.totals.mean(axis=0))
    rows = [list(row) for row in zip(map(escape, record.names), means, limits, strict=True)]
    facts = [record.algorithm, counted(record.n_episodes, "episode")]
    return card("Realized episodes", facts, table(["", "mean per episode", "budget"], rows))


def _limit(unit: Unit, budget: float) -> str:
    return f"{'≥' if unit.is_maximized else '≤'} {number(budget)}"


def _rest(n_constraints: int) -> str:
    hidden = n_constraints - MOST_ROWS
    return f"<div>and {hidden} more constraints</div>" if hidden > 0 else ""


def _ground(model: Model) -> str:
    layout = _small_map(model)
    if layout is not None:
        hazard = writable_problem(model).constraint_cost.max(axis=(0, 1, 3), initial=0.0)
        picture = _draw_map(layout, hazard, "map")
        return figure(picture, "map: walls, and where constraint costs arise")
    mean = writable_problem(model).cost[:, :MOST_STATES, :MOST_STATES].mean(axis=0).T
    cut = f" (first {MOST_STATES} of {model.n_states})" if model.n_states > MOST_STATES else ""
    return figure(heat(mean, "cost of a step"), f"cost of a step: actions down, states across{cut}")


def _small_map(model: Model) -> Layout | None:
    """Return the map, unless there is none or it is too large for a small picture."""
    layout = model.layout
    if layout is None or len(layout.rows) * max(map(len, layout.rows)) > MOST_CELLS:
        return None
    return layout


def _draw_map(layout: Layout, by_state: Floats, name: str) -> str:
    """Return the map with its walls and the sum of the values of the states in each cell."""
    walls = np.zeros((len(layout.rows), max(map(len, layout.rows))))
    for r, row in enumerate(layout.rows):
        walls[r, : len(row)] = [letter == "#" for letter in row]
    ground = np.zeros_like(walls)
    for (row, column), value in zip(layout.cells, by_state, strict=True):
        if row >= 0:
            ground[row, column] += value
    return heat(ground, name, walls)


def _uses(plan: Plan, names: Sequence[str]) -> str:
    model, I = plan.model, len(plan.constraint_value)
    names = names or default_names(I)
    rows = []
    for i in range(min(I, MOST_ROWS)):
        used, price = float(plan.constraint_value[i]), float(plan.saving[i])
        if model is None:
            rows.append([escape(names[i]), number(used), number(price)])
            continue
        unit, budget = model.constraint_units[i], float(model.budget[i])
        share = bar(unit.read(used), unit.read(budget), f"{number(used)} of {number(budget)}")
        cells = number(used), _limit(unit, budget), share, number(price)
        rows.append([escape(model.constraint_names[i]), *cells])
    if not rows:
        return ""
    heads = ["constraint", "value", "budget", "", "price"]
    heads = heads if model is not None else ["constraint", "planned", "price"]
    return table(heads, rows) + _rest(I)


def _visits(plan: Plan) -> str:
    model, reached = plan.model, plan.occupancies.sum(axis=2)
    layout = None if model is None else _small_map(model)
    if layout is not None:
        words = "expected visits" if model is None else model.visits
        return figure(_draw_map(layout, reached.sum(axis=0), "visits"), words)
    H = len(reached)
    stages = np.unique(np.linspace(0, H - 1, min(H, MOST_STATES)).round().astype(int))
    states = np.sort(np.argsort(-reached.sum(axis=0), kind="stable")[:MOST_STATES])
    cut = f" ({MOST_STATES} visited most)" if reached.shape[1] > MOST_STATES else ""
    if model is not None and not plan.has_stages:
        picture = heat(reached[:, states], model.visits)
        return figure(picture, f"{model.visits}: states across{cut}")
    picture = heat(reached[np.ix_(stages, states)].T, "visits")
    return figure(picture, f"visits: stages across, states down{cut}")


def run_card(run: Run) -> str:
    """Return the learner, its four regrets, and whether the assumptions of the theorems held.

    The regret in budgets is the largest over the constraints (`Units.largest`).
    """
    facts = [counted(run.n_episodes, "episode"), f"seed {run.seed}", run.constants]
    warning = f'<div style="color:{RED}">heuristic: no guarantee</div>' if run.is_heuristic else ""
    pictures = []
    for key, caption in CAPTIONS.items():
        curve = np.asarray(run.regret[key])  # type: ignore[literal-required]
        if curve.ndim == 2:
            curve = run.units.largest(curve)
            caption += "" if run.units.are_alike else ", in ranges of a step"
        picture = spark(run.episode, curve, f"regret in {caption}")
        pictures.append(figure(picture, f"{caption}: {number(curve[-1])}"))
    lines = f"<div>{escape(_budgets(run))}</div><div>{escape(_audit(run))}</div>"
    return card(run.algorithm, facts, warning, f"<div>{''.join(pictures)}</div>", lines)


def _budgets(run: Run) -> str:
    if not run.n_violations:
        return "Every policy kept the budgets."
    is_kept = run.first_feasible <= run.n_episodes
    kept = f"kept from episode {run.first_feasible:,} on"
    since = kept if is_kept else "also by the last policy"
    return f"Budgets exceeded in {run.n_violations:,} of {run.n_episodes:,} episodes, {since}."


def _audit(run: Run) -> str:
    a = run.audit
    if a.good_event is None:
        return "Audit: the learner uses no confidence sets; nothing to audit."
    if a.good_event:
        held = "the confidence sets contained the true model"
    else:
        bad = [f"{name} {count:,}" for name, count in a.bad_episodes.items() if count]
        held = f"episodes whose confidence sets missed the true model: {', '.join(bad)}"
    bounds = ""
    if run.baseline is not None:
        bounds = f" Failed upper bounds: {a.bound_failures:,}."
    return (
        f"Audit: {held}; {a.not_optimistic} plans not optimistic, "
        f"{a.infeasible_plans} of {a.plans:,} infeasible.{bounds}"
    )


def listing(
    title: str,
    facts: Sequence[str],
    heads: Sequence[str] = (),
    rows: Sequence[Sequence[str | float]] = (),
) -> str:
    """Return a card with one table, cut after some rows; its cells are text or numbers."""
    cells = [
        [escape(each) if isinstance(each, str) else number(each) for each in row]
        for row in rows[:MOST_ROWS]
    ]
    rest = len(rows) - len(cells)
    more = f"<div>and {rest:,} more</div>" if rest else ""
    return card(title, facts, table(heads, cells) if cells else "", more)


def card(title: str, facts: Sequence[str], *parts: str) -> str:
    """Return a heading, a line of facts and parts that are HTML already."""
    line = escape(", ".join(facts))
    head = f'<div><strong>{escape(title)}</strong> <span style="opacity:.75">{line}</span></div>'
    return f'<div style="{CARD}">{head}{"".join(parts)}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells are HTML already: a column of words, then columns of numbers."""
    looks = [CELL.format(side="right" if k else "left") for k in range(len(heads))]
    top = "".join(
        f'<th style="{look};font-weight:normal;opacity:.75">{escape(head)}</th>'
        for head, look in zip(heads, looks, strict=True)
    )
    cells = (
        "".join(f'<td style="{look}">{cell}</td>' for cell, look in zip(row, looks, strict=True))
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    look = "border-collapse:collapse;margin:4px 0;font-variant-numeric:tabular-nums"
    return f'<table style="{look}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def number(value: float) -> str:
    """Return a number in five digits."""
    return digits(float(value), 5)


def figure(picture: str, caption: str) -> str:
    """Return a small picture with a caption, to stand beside others."""
    words = f'<div style="opacity:.75;font-size:12px">{escape(caption)}</div>'
    return f'<div style="display:inline-block;margin:4px 16px 4px 0">{picture}{words}</div>'


def bar(used: float, limit: float, name: str) -> str:
    """Return a bar of how much of a limit is used: full at the limit, red beyond it.

    ``name`` is the text for screen readers.
    """
    exceeds = used > limit + ROUNDING * abs(limit) + 1e-14
    share = min(used / limit, 1.0) if limit > 0 else float(exceeds)
    color = RED if exceeds else BLUE
    inside = (
        '<rect width="100" height="8" rx="2" fill="currentColor" fill-opacity="0.15"/>'
        f'<rect width="{100 * max(share, 0.0):.2f}" height="8" rx="2" fill="{color}"/>'
    )
    return _svg(100, 8, name, inside)


def spark(x: Floats, y: Floats, name: str) -> str:
    """Return a line without axes, and a faint one at zero.

    ``x`` increases; points where ``y`` is not finite are left out. ``name`` is the text for screen
    readers.
    """
    width, height = 150, 40
    is_drawn = np.isfinite(y)
    x, y = np.asarray(x, dtype=np.float64)[is_drawn], np.asarray(y)[is_drawn]
    if not x.size:
        return _svg(width, height, name, "")
    low, high = min(float(y.min()), 0.0), max(float(y.max()), 0.0)
    up = height - 2 - (height - 4) * (y - low) / ((high - low) or 1.0)
    right = 2 + (width - 4) * (x - x[0]) / (float(x[-1] - x[0]) or 1.0)
    zero = height - 2 + (height - 4) * low / ((high - low) or 1.0)
    kept = _few(right)
    points = " ".join(f"{r:.1f},{u:.1f}" for r, u in zip(right[kept], up[kept], strict=True))
    inside = (
        f'<path d="M2 {zero:.1f}H{width - 2}" stroke="currentColor" stroke-opacity="0.35"/>'
        f'<polyline points="{points}" fill="none" stroke="{BLUE}" stroke-width="1.6"/>'
    )
    return _svg(width, height, name, inside)


def heat(values: Floats, name: str, blocked: Floats | None = None) -> str:
    """Return a picture of a matrix (R, C) of values of at least zero: stronger where larger.

    ``name`` is the text for screen readers; cells where ``blocked`` is not zero are drawn as walls.
    """
    R, C = values.shape
    side = int(np.clip(240 // max(R, C, 1), 4, 14))
    most = float(values.max(initial=0.0)) or 1.0
    # the root, and a faintest shade, keep one in a hundred visible, on dark pages too
    shades = np.rint(SHADES * np.sqrt(np.clip(values / most, 0.0, 1.0)))
    parts = [f'<path d="M0 0h{C}v{R}h-{C}z" fill="currentColor" fill-opacity="0.05"/>']
    for shade in range(1, SHADES + 1):
        opacity = FAINTEST + (1.0 - FAINTEST) * shade / SHADES
        parts.append(_area(shades == shade, BLUE, opacity))
    if blocked is not None:
        parts.append(_area(blocked != 0, "currentColor", WALL))
    scaled = f'<g transform="scale({side})">{"".join(parts)}</g>'
    return _svg(C * side, R * side, name, scaled)


def _area(is_inside: Bools, color: str, shade: float) -> str:
    """Return all cells of one color as one path: a box for each run of cells in a row."""
    boxes = []
    for r, row in enumerate(is_inside):
        edges = np.flatnonzero(np.diff(row.astype(np.int8), prepend=0, append=0))
        for start, end in edges.reshape(-1, 2).tolist():
            boxes.append(f"M{start} {r}h{end - start}v1h-{end - start}z")
    if not boxes:
        return ""
    return f'<path d="{"".join(boxes)}" fill="{color}" fill-opacity="{shade:.2g}"/>'


def _few(right: Floats) -> list[int]:
    """Return points at least half a pixel apart, and always the last."""
    kept = [0]
    for k in range(1, len(right)):
        if right[k] - right[kept[-1]] >= 0.5:
            kept.append(k)
    return kept if kept[-1] == len(right) - 1 else [*kept, len(right) - 1]


def _svg(width: int, height: int, name: str, inside: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(name)}" '
        f'style="vertical-align:middle">{inside}</svg>'
    )
