"""Where policies go, for the page: on the map of a grid world, or by state and stage."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats, Ints
from tightrope.experiments.summary import Chapter
from tightrope.model import CMDP, Layout, Plan
from tightrope.show.grid import grid_size, visits_of
from tightrope.show.report.numbers import packed_numbers
from tightrope.show.style import short

MOST_CELLS = 30_000  # of all stages of one map together
MOST_STATES, MOST_STAGES = 40, 80
SELDOM = 1e-4  # a state visited less often has no action drawn
DIGITS = 3
TIE = 1e-9  # probabilities that are equal


def picture_data(chapter: Chapter) -> dict[str, Any]:
    """The optimum and every group, drawn alike.

    Parameters
    ----------
    chapter : Chapter
    """
    cmdp = chapter.cmdp
    plans = [("optimum", chapter.optimum), *((each.name, each.plan) for each in chapter.groups)]
    actions = [short(name) for name in cmdp.action_names]
    if cmdp.layout is not None:
        return {"actions": actions, **_maps(cmdp, cmdp.layout, plans)}
    return {"actions": actions, **_heats(cmdp, plans)}


def _maps(cmdp: CMDP, layout: Layout, plans: list[tuple[str, Plan]]) -> dict[str, Any]:
    """A map for all stages together and for each stage, of many stages for some."""
    rows, columns = grid_size(layout)
    stages: list[int | None] = [None, *_some(cmdp.horizon, max(1, MOST_CELLS // (rows * columns)))]
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
    action = np.where(visits.is_end | (visits.often < SELDOM), -1, _likeliest(visits.share))
    return {
        "often": [packed_numbers(row, DIGITS) for row in visits.often],
        "most": packed_numbers([visits.most], DIGITS)[0],
        "action": action.tolist(),
        "share": [packed_numbers(row, DIGITS) for row in visits.share.max(axis=2)],
    }


def _heats(cmdp: CMDP, plans: list[tuple[str, Plan]]) -> dict[str, Any]:
    """Visits and the likeliest action by state and stage; of many states those visited most."""
    visits = np.sum([plan.occupancy.sum(axis=(0, 2)) for _, plan in plans], axis=0)
    states = np.sort(np.argsort(-visits, kind="stable")[:MOST_STATES])
    stages = np.array(_some(cmdp.horizon, MOST_STAGES))
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
    action = np.where(reached < SELDOM, -1, _likeliest(chosen))
    return {
        "often": [packed_numbers(row, DIGITS) for row in reached],
        "action": action.tolist(),
        "share": [packed_numbers(row, DIGITS) for row in chosen.max(axis=2)],
    }


def _likeliest(share: Floats) -> Ints:
    """The likeliest action of each place; -1 where the first two are equally likely."""
    if share.shape[2] == 1:
        return np.zeros(share.shape[:2], dtype=np.int64)
    top = np.sort(share, axis=2)[:, :, -2:]
    return np.where(top[:, :, 1] - top[:, :, 0] > TIE, share.argmax(axis=2), -1)


def _some(horizon: int, most: int) -> list[int]:
    """All stages, or so many of them, evenly spread, first and last included."""
    if horizon <= most:
        return list(range(horizon))
    return sorted({int(h) for h in np.linspace(0, horizon - 1, most).round()})
