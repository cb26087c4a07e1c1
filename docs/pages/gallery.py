"""The gallery of environments: a picture of each, and how hard it is, computed from the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tightrope as tr
from tightrope.arrays import Floats
from tightrope.envs import Entry, build, entry, lasting_names, names
from tightrope.model import Model
from tightrope.model.base import writable_problem
from tightrope.show.figures import grid_figure, policy_figure, save

__all__ = ["Hardness", "gallery", "hardness", "lasting_chapters"]

PRICED = 1e-9  # multipliers below this are rounding
HEADS = [
    "environment",
    "S,A,H,I",
    "slack",
    "binding",
    "norm",
    "rho",
    "2H / slack",
    "budgets cost",
    "action gap",
]


@dataclass(frozen=True)
class Hardness:
    """What makes a constrained problem hard, on the scale of costs in [0, 1] a step.

    Parameters
    ----------
    slack : float
        Slater slack: all budgets can be kept with this much to spare.
    binding : int
        Budgets with a price.
    norm : float
        Sum of the optimal multipliers.
    rho : float
        Bound on the multipliers by the rule ``"paper_x2"``.
    bound : float
        The same by the rule ``"bound"``.
    price : float
        Optimal cost with the budgets minus optimal cost without.
    action_gap : float
        What the second best action costs more than the best, taken once and priced by the optimal
        multipliers, on average over where the plan goes and has a choice; 0 where both are best.
    """

    slack: float
    binding: int
    norm: float
    rho: float
    bound: float
    price: float
    action_gap: float


def hardness(cmdp: tr.CMDP, plan: tr.Plan) -> Hardness:
    """The numbers of a model and its optimal plan, with costs scaled to [0, 1] per step."""
    room, units = tr.slater(cmdp), cmdp.units
    most = units.show_totals(np.full(cmdp.n_constraints, float(cmdp.horizon)))
    unbounded = tr.solve(cmdp.with_budget(most))
    multiplier = plan.multiplier * units.sizes / units.cost.size
    return Hardness(
        slack=room.slack,
        binding=int((multiplier > PRICED).sum()),
        norm=float(multiplier.sum()),
        rho=room.rho["paper_x2"],
        bound=room.rho["bound"],
        price=units.cost.read(plan.value) - units.cost.read(unbounded.value),
        action_gap=action_gap(cmdp, plan, multiplier),
    )


def action_gap(cmdp: tr.CMDP, plan: tr.Plan, multiplier: Floats) -> float:
    """Average gap between best and second best action where the plan goes."""
    inside = writable_problem(cmdp)
    loss = inside.cost + np.einsum("i,ihsa->hsa", multiplier, inside.constraint_cost)
    loss = np.broadcast_to(loss, plan.occupancy.shape)
    kernels = cmdp.transition
    lost, visits, to_go = 0.0, 0.0, np.zeros(cmdp.n_states)
    for h in reversed(range(cmdp.horizon)):
        kernel = kernels if cmdp.is_stationary else kernels[h]
        Q: Floats = np.where(cmdp.allowed[h], loss[h] + kernel @ to_go, np.inf)
        best, second = np.sort(Q, axis=1)[:, :2].T
        reached = plan.occupancy[h].sum(axis=1) * np.isfinite(second)
        lost += float(reached @ np.where(np.isfinite(second), second - best, 0.0))
        visits += float(reached.sum())
        to_go = best
    return lost / visits if visits else 0.0


def gallery(folder: Path, prefix: str) -> str:
    """The page as Markdown; its pictures go to a folder, which the page calls ``prefix``."""
    folder.mkdir(parents=True, exist_ok=True)
    summary, chapters = [], []
    for name in names():
        cmdp, plan = _solve_and_draw(name, folder)
        assert isinstance(cmdp, tr.CMDP)
        summary.append(_row(name, cmdp, hardness(cmdp, plan)))
        chapters.append(_chapter(entry(name), cmdp, plan, f"{prefix}/{name}.png"))
    table = [HEADS, ["---"] * len(HEADS), *summary]
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([*lines, "", *chapters, *lasting_chapters(folder, prefix)])


def lasting_chapters(folder: Path, prefix: str) -> list[str]:
    """The chapters of infinite-horizon models, which have no learners and no hardness."""
    return [
        _chapter(entry(name), *_solve_and_draw(name, folder), f"{prefix}/{name}.png")
        for name in lasting_names()
    ]


def _solve_and_draw(name: str, folder: Path) -> tuple[Model, tr.Plan]:
    """The model of an entry and its plan, whose picture goes to a folder."""
    model = build(name)
    plan = tr.solve(model, tolerance=1e-12)
    draw = policy_figure if model.layout is None else grid_figure
    save(draw(model, plan), folder / f"{name}.png")
    return model, plan


def _row(name: str, cmdp: tr.CMDP, hard: Hardness) -> list[str]:
    sizes = f"{cmdp.n_states},{cmdp.n_actions},{cmdp.horizon},{cmdp.n_constraints}"
    numbers = (hard.norm, hard.rho, hard.bound, hard.price, hard.action_gap)
    binding = f"{hard.binding} of {cmdp.n_constraints}"
    return [f"[{name}](#{name})", sizes, f"{hard.slack:.3g}", binding, *map(_number, numbers)]


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) > PRICED else "0"


def _chapter(about: Entry, cmdp: Model, plan: tr.Plan, picture: str) -> str:
    unit = cmdp.cost_unit
    best = "greatest" if unit.is_maximized else "least"
    limits = []
    for i, name in enumerate(cmdp.constraint_names):
        counted = cmdp.constraint_units[i]
        word = "at least" if counted.is_maximized else "at most"
        limits.append(f"{name} {word} {cmdp.budget[i]:.4g}, price {plan.multiplier[i]:.3g}")
    stages = [f"{cmdp.n_stages} stages"] if plan.has_stages else []
    form = ", ".join([*stages, cmdp.criterion_in_words[-1]])
    return f"""({about.name})=
## {about.name}

{cmdp.n_states} states, {cmdp.n_actions} actions, {form}.
Source: {about.source}.

- decided: {about.summary}
- wanted: {about.constraint}
- {best} {cmdp.measure} {unit.name}: {plan.value:.5g}
{chr(10).join(f"- {limit}" for limit in limits)}

![The optimal policy of {about.name}]({picture})
"""
