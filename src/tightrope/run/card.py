"""What a run shows in a notebook: four regrets in small, the audit in a line."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from tightrope.model.html import RED, card, figure, number, spark

if TYPE_CHECKING:
    from tightrope.experiments.run import Run

CAPTIONS = {
    "cost": "cost, signed",
    "cost_plus": "cost, positive parts",
    "constraint": "budgets, signed",
    "constraint_plus": "budgets, positive parts",
}


def run_card(run: Run) -> str:
    """Who learned and how, the four regrets, and whether what the theorems assume held.

    The regret in budgets is the largest over the constraints. Numbers are on the model's scale.
    """
    facts = [f"{run.n_episodes:,} episodes", f"seed {run.seed}", run.constants]
    mark = "heuristic: no guarantee"
    warning = f'<div style="color:{RED}">{mark}</div>' if run.is_heuristic else ""
    pictures = []
    for key, caption in CAPTIONS.items():
        curve = np.asarray(run.regret[key])  # type: ignore[literal-required]
        if curve.ndim == 2:
            curve = curve.max(axis=1) if curve.shape[1] else np.zeros(len(curve))
        picture = spark(run.episode, curve, f"regret in {caption}")
        pictures.append(figure(picture, f"{caption}: {number(curve[-1])}"))
    lines = f"<div>{escape(_budgets(run))}</div><div>{escape(_audit(run))}</div>"
    return card(run.algorithm, facts, warning, f"<div>{''.join(pictures)}</div>", lines)


def _budgets(run: Run) -> str:
    if not run.n_violations:
        return "Every policy kept the budgets."
    since = f"kept from episode {run.first_feasible:,} on"
    if run.first_feasible > run.n_episodes:
        since = "the last policy broke them too"
    return f"Budgets broken in {run.n_violations:,} of {run.n_episodes:,} episodes, {since}."


def _audit(run: Run) -> str:
    a = run.audit
    if a.good_event:
        held = "the truth stayed inside what was believed"
    else:
        bad = [f"{name} {count:,}" for name, count in a.bad_episodes.items() if count]
        held = f"episodes with the truth outside what was believed: {', '.join(bad)}"
    return (
        f"Audit: {held}; {a.not_optimistic} plans not optimistic, "
        f"{a.infeasible_plans} of {a.plans:,} infeasible."
    )
