"""tightrope: learn and plan under budgets, exactly and fast.

The names below are the public interface. Each loads its part of the library when first used, so
that ``import tightrope`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "InfeasibleError": "tightrope.errors",
    "LogError": "tightrope.errors",
    "ModelError": "tightrope.errors",
    "SolverError": "tightrope.errors",
    "StoreError": "tightrope.errors",
    "TightropeError": "tightrope.errors",
    "Confidence": "tightrope.estimate.confidence",
    "Episode": "tightrope.estimate.episode",
    "Episodes": "tightrope.estimate.episode",
    "Experiment": "tightrope.experiments.experiment",
    "read_drn": "tightrope.interop.drn",
    "write_drn": "tightrope.interop.drn",
    "from_gymnasium": "tightrope.interop.from_gymnasium",
    "from_arrays": "tightrope.interop.layouts",
    "to_arrays": "tightrope.interop.layouts",
    "learn_gymnasium": "tightrope.interop.learn_gymnasium",
    "Log": "tightrope.interop.logs.log",
    "read_log": "tightrope.interop.logs.read",
    "from_quantecon": "tightrope.interop.quantecon",
    "to_quantecon": "tightrope.interop.quantecon",
    "Realised": "tightrope.interop.realised",
    "rehearse": "tightrope.interop.rehearse",
    "to_gymnasium": "tightrope.interop.to_gymnasium",
    "from_toolbox": "tightrope.interop.toolbox",
    "to_toolbox": "tightrope.interop.toolbox",
    "learner": "tightrope.learners.begin",
    "InteractiveLearner": "tightrope.learners.interactive",
    "CMDP": "tightrope.model",
    "Finding": "tightrope.model",
    "Layout": "tightrope.model",
    "Plan": "tightrope.model",
    "Unit": "tightrope.model",
    "Bounds": "tightrope.plan.bound",
    "evaluate": "tightrope.plan.evaluate",
    "occupancy": "tightrope.plan.evaluate",
    "feasibility": "tightrope.plan.feasibility",
    "frontier": "tightrope.plan.frontier",
    "solve_optimistic": "tightrope.plan.optimistic",
    "slater": "tightrope.plan.slater",
    "solve": "tightrope.plan.solve",
    "Fit": "tightrope.run.fit",
    "fit": "tightrope.run.fit",
    "learn": "tightrope.run.learn",
    "Run": "tightrope.run.result",
    "Study": "tightrope.study.study",
    "Told": "tightrope.study.telling",
    "Terms": "tightrope.study.terms",
}

__all__ = [
    "CMDP",
    "Bounds",
    "Confidence",
    "Episode",
    "Episodes",
    "Experiment",
    "Finding",
    "Fit",
    "InfeasibleError",
    "InteractiveLearner",
    "Layout",
    "Log",
    "LogError",
    "ModelError",
    "Plan",
    "Realised",
    "Run",
    "SolverError",
    "StoreError",
    "Study",
    "Terms",
    "TightropeError",
    "Told",
    "Unit",
    "evaluate",
    "feasibility",
    "fit",
    "from_arrays",
    "from_gymnasium",
    "from_quantecon",
    "from_toolbox",
    "frontier",
    "learn",
    "learn_gymnasium",
    "learner",
    "occupancy",
    "read_drn",
    "read_log",
    "rehearse",
    "slater",
    "solve",
    "solve_optimistic",
    "to_arrays",
    "to_gymnasium",
    "to_quantecon",
    "to_toolbox",
    "write_drn",
]

if TYPE_CHECKING:
    from tightrope.errors import (
        InfeasibleError,
        LogError,
        ModelError,
        SolverError,
        StoreError,
        TightropeError,
    )
    from tightrope.estimate.confidence import Confidence
    from tightrope.estimate.episode import Episode, Episodes
    from tightrope.experiments.experiment import Experiment
    from tightrope.interop.drn import read_drn, write_drn
    from tightrope.interop.from_gymnasium import from_gymnasium
    from tightrope.interop.layouts import from_arrays, to_arrays
    from tightrope.interop.learn_gymnasium import learn_gymnasium
    from tightrope.interop.logs.log import Log
    from tightrope.interop.logs.read import read_log
    from tightrope.interop.quantecon import from_quantecon, to_quantecon
    from tightrope.interop.realised import Realised
    from tightrope.interop.rehearse import rehearse
    from tightrope.interop.to_gymnasium import to_gymnasium
    from tightrope.interop.toolbox import from_toolbox, to_toolbox
    from tightrope.learners.begin import learner
    from tightrope.learners.interactive import InteractiveLearner
    from tightrope.model import CMDP, Finding, Layout, Plan, Unit
    from tightrope.plan.bound import Bounds
    from tightrope.plan.evaluate import evaluate, occupancy
    from tightrope.plan.feasibility import feasibility
    from tightrope.plan.frontier import frontier
    from tightrope.plan.optimistic import solve_optimistic
    from tightrope.plan.slater import slater
    from tightrope.plan.solve import solve
    from tightrope.run.fit import Fit, fit
    from tightrope.run.learn import learn
    from tightrope.run.result import Run
    from tightrope.study.study import Study
    from tightrope.study.telling import Told
    from tightrope.study.terms import Terms


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tightrope' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
