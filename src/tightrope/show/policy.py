"""The panel of a policy: a cell for each stage and state, in the color of its likeliest action."""

from __future__ import annotations

from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tightrope.arrays import Bools, Floats, Ints
from tightrope.model import Model, Plan
from tightrope.show.style import GRAY, INK, PALE, action_colors, count_stages, short, spread, stroke

MOST_STATES = 40
MOST_NAMES = 45
MOST_ACTIONS = 12  # in the legend
BESIDE: dict[str, Any] = {  # where the legend stands
    "loc": "upper left",
    "bbox_to_anchor": (1.01, 1.0),
    "borderaxespad": 0.0,
    "alignment": "left",
    "handlelength": 1.2,
}


class Picture(NamedTuple):
    """The drawn states, their most likely actions and probabilities."""

    states: Ints  # (R,)
    action: Ints  # (R, H)
    reached: Floats  # (R, H)
    is_mixed: Bools  # (R, H)


def picture_of(plan: Plan, most: int = MOST_STATES) -> Picture:
    """Return the reached states, or the most visited of many, in model order."""
    reached = plan.occupancies.sum(axis=2)
    visits = reached.sum(axis=0)
    n_shown = min(most, int(np.count_nonzero(visits)))
    states = np.sort(np.argsort(-visits, kind="stable")[:n_shown])
    policy = plan.policies[:, states]
    return Picture(
        states,
        policy.argmax(axis=2).T,
        reached[:, states].T,
        (((policy > 0).sum(axis=2) > 1) & (reached[:, states] > 0)).T,
    )


def draw_policy(axes: Axes, cmdp: Model, plan: Plan) -> None:
    """Draw a cell per stage and state, colored by action, fainter where rarely reached.

    For an infinite horizon, draw a bar per state as long as its visits, with its share of each
    action.
    """
    picture = picture_of(plan)
    colors = action_colors(cmdp.n_actions)
    used = np.flatnonzero(plan.occupancies.sum(axis=(0, 1)) > 0)
    few = used[spread(len(used), MOST_ACTIONS)]
    handles = [Patch(facecolor=colors[a], label=short(cmdp.action_names[a])) for a in few]
    if not plan.has_stages:
        _draw_visits(axes, cmdp, plan, picture.states)
        axes.legend(handles=handles, **BESIDE, title="action")
        axes.set_title("Policy, and how often it visits a state")
        return
    image = colors[picture.action]
    # relative to the most likely state of a stage; the root keeps one in a hundred visible
    often = np.sqrt(picture.reached / np.maximum(picture.reached.max(axis=0), 1e-300))
    image[:, :, 3] = np.where(picture.reached > 0, 0.12 + 0.88 * often, 0.0)
    axes.set_facecolor(PALE)
    R, H = picture.action.shape
    extent = (-0.5, H - 0.5, R - 0.5, -0.5)
    axes.imshow(_over_white(image), aspect="auto", interpolation="nearest", extent=extent)
    rows, stages = np.nonzero(picture.is_mixed)
    axes.scatter(
        stages,
        rows,
        s=stroke(5.1) ** 2,
        facecolor="white",
        edgecolor=INK,
        linewidth=stroke(1.0),
        zorder=3,
    )
    axes.set_xlabel("stage")
    count_stages(axes, H - 1)
    _name_states(axes, cmdp, picture.states)
    if (picture.reached == 0).any():
        handles.append(
            Patch(facecolor=PALE, edgecolor=GRAY, linewidth=stroke(0.5), label="never here")
        )
    if len(rows):
        handles.append(
            axes.scatter(
                [], [], s=stroke(5.1) ** 2, facecolor="white", edgecolor=INK, label="randomizes"
            )  # type: ignore[arg-type]
        )
    axes.legend(handles=handles, **BESIDE, title="action\n(faint: rarely visited)")
    axes.set_title("Likeliest action")


def _draw_visits(axes: Axes, cmdp: Model, plan: Plan, states: Ints) -> None:
    """Draw a bar per state, a part of it for each action."""
    flow, colors = plan.occupancies[0][states], action_colors(cmdp.n_actions)
    rows, done = np.arange(len(states)), np.zeros(len(states))
    for a in np.flatnonzero(flow.sum(axis=0)):
        axes.barh(rows, flow[:, a], 0.8, done, color=colors[a])
        done += flow[:, a]
    axes.set_xlim(0.0, 1.05 * float(done.max()))
    axes.set_ylim(len(states) - 0.5, -0.5)
    axes.set_xlabel(cmdp.visits)
    axes.grid(axis="x")
    _name_states(axes, cmdp, states)


def _over_white(image: Floats) -> Floats:
    """Return the image on white, transparent where a state is not reached."""
    alpha = image[:, :, 3:]
    mixed = image[:, :, :3] * alpha + (1.0 - alpha)
    return np.concatenate((mixed, (alpha > 0).astype(np.float64)), axis=2)


def _name_states(axes: Axes, cmdp: Model, states: Ints) -> None:
    S = cmdp.n_states
    which = "most visited" if len(states) == MOST_STATES else "all that are visited"
    axes.set_ylabel("state" if len(states) == S else f"state ({len(states)} of {S}, {which})")
    if len(states) <= MOST_NAMES:
        size = mpl.rcParams["ytick.labelsize"] * (1.0 if len(states) <= 25 else 0.78)
        names = [short(cmdp.state_names[s], 22) for s in states]
        axes.set_yticks(range(len(states)), names, fontsize=size)
    axes.tick_params(length=0)
