"""A policy drawn without a map: the likeliest action over stages and states."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tightrope.arrays import Bools, Floats, Ints
from tightrope.model import CMDP, Plan
from tightrope.show.style import GREY, INK, PALE, action_colours, count_stages, short

MOST_STATES = 40
MOST_NAMES = 45
MOST_ACTIONS = 12  # in the legend


class Picture(NamedTuple):
    """What is drawn: the states that matter, their likeliest actions and how likely they are."""

    states: Ints  # (R,)
    action: Ints  # (R, H)
    reached: Floats  # (R, H)
    is_mixed: Bools  # (R, H)


def picture_of(plan: Plan, most: int = MOST_STATES) -> Picture:
    """The reached states, of many those visited most, in their own order."""
    reached = plan.occupancy.sum(axis=2)
    visits = reached.sum(axis=0)
    n_shown = min(most, int(np.count_nonzero(visits)))
    states = np.sort(np.argsort(-visits, kind="stable")[:n_shown])
    policy = plan.policy[:, states]
    return Picture(
        states,
        policy.argmax(axis=2).T,
        reached[:, states].T,
        (((policy > 0).sum(axis=2) > 1) & (reached[:, states] > 0)).T,
    )


def draw_policy(axes: Axes, cmdp: CMDP, plan: Plan) -> None:
    """Draw a cell for each stage and state: coloured by action, fainter where seldom reached."""
    picture = picture_of(plan)
    colours = action_colours(cmdp.n_actions)
    image = colours[picture.action]
    # against the likeliest state of a stage; the root keeps one in a hundred visible
    often = np.sqrt(picture.reached / np.maximum(picture.reached.max(axis=0), 1e-300))
    image[:, :, 3] = np.where(picture.reached > 0, 0.12 + 0.88 * often, 0.0)
    axes.set_facecolor(PALE)
    R, H = picture.action.shape
    axes.imshow(_over_white(image), aspect="auto", interpolation="nearest", extent=_extent(R, H))
    rows, stages = np.nonzero(picture.is_mixed)
    axes.scatter(stages, rows, s=26, facecolor="white", edgecolor=INK, linewidth=1.0, zorder=3)
    axes.set_xlabel("stage")
    count_stages(axes, H - 1)
    _name_states(axes, cmdp, picture.states)
    used = np.flatnonzero(plan.occupancy.sum(axis=(0, 1)) > 0)
    handles = [Patch(facecolor=colours[a], label=short(cmdp.action_names[a])) for a in _few(used)]
    if (picture.reached == 0).any():
        handles.append(Patch(facecolor=PALE, edgecolor=GREY, linewidth=0.5, label="never here"))
    if len(rows):
        handles.append(
            axes.scatter([], [], s=26, facecolor="white", edgecolor=INK, label="randomises")  # type: ignore[arg-type]
        )
    axes.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        title="action\n(faint: seldom here)",
        alignment="left",
        handlelength=1.2,
    )


def _over_white(image: Floats) -> Floats:
    """The image on white where a state is reached, see-through where it is not."""
    alpha = image[:, :, 3:]
    mixed = image[:, :, :3] * alpha + (1.0 - alpha)
    return np.concatenate((mixed, (alpha > 0).astype(np.float64)), axis=2)


def _extent(R: int, H: int) -> tuple[float, float, float, float]:
    return -0.5, H - 0.5, R - 0.5, -0.5


def _name_states(axes: Axes, cmdp: CMDP, states: Ints) -> None:
    S = cmdp.n_states
    axes.set_ylabel("state" if len(states) == S else f"state ({len(states)} of {S}, most visited)")
    if len(states) <= MOST_NAMES:
        size = 9 if len(states) <= 25 else 7
        names = [short(cmdp.state_names[s], 22) for s in states]
        axes.set_yticks(range(len(states)), names, fontsize=size)
    axes.tick_params(length=0)


def _few(actions: Ints) -> list[int]:
    """All actions, or so many of them that a legend can hold, evenly spread."""
    if len(actions) <= MOST_ACTIONS:
        return [int(a) for a in actions]
    picked = np.linspace(0, len(actions) - 1, MOST_ACTIONS).round().astype(int)
    return [int(a) for a in actions[picked]]
