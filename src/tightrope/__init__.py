"""tightrope: learn and plan under budgets, exactly and fast.

The names below are the public interface. Each loads its part of the library when first used, so
that ``import tightrope`` stays light.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOMES = {
    "ConfigError": "tightrope.errors",
    "DataError": "tightrope.errors",
    "DependencyError": "tightrope.errors",
    "EngineError": "tightrope.errors",
    "InfeasibleError": "tightrope.errors",
    "LogError": "tightrope.errors",
    "ModelError": "tightrope.errors",
    "SolverError": "tightrope.errors",
    "StoreError": "tightrope.errors",
    "TightropeError": "tightrope.errors",
    "Confidence": "tightrope.belief.confidence",
    "Episode": "tightrope.belief.episode",
    "Episodes": "tightrope.belief.episode",
    "read_drn": "tightrope.interop.storm",
    "write_drn": "tightrope.interop.storm",
    "from_gymnasium": "tightrope.interop.gym.models",
    "from_arrays": "tightrope.interop.arrays",
    "to_arrays": "tightrope.interop.arrays",
    "learn_gymnasium": "tightrope.interop.gym.learn",
    "Log": "tightrope.offline.log",
    "read_log": "tightrope.offline.read",
    "simulate": "tightrope.offline.simulate",
    "from_quantecon": "tightrope.interop.quantecon",
    "to_quantecon": "tightrope.interop.quantecon",
    "Realized": "tightrope.interop.gym.realized",
    "rehearse": "tightrope.interop.gym.learn",
    "to_gymnasium": "tightrope.interop.gym",
    "from_toolbox": "tightrope.interop.mdptoolbox",
    "to_toolbox": "tightrope.interop.mdptoolbox",
    "learner": "tightrope.learners.interactive",
    "InteractiveLearner": "tightrope.learners.interactive",
    "PythonLearner": "tightrope.learners.python_learner",
    "AverageCMDP": "tightrope.model",
    "CMDP": "tightrope.model",
    "DiscountedCMDP": "tightrope.model",
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
    "slater": "tightrope.plan.solve",
    "solve": "tightrope.plan.solve",
    "Fit": "tightrope.offline.fit",
    "fit": "tightrope.offline.fit",
    "Experiment": "tightrope.experiments.experiment",
    "learn": "tightrope.experiments.learn",
    "Run": "tightrope.experiments.run",
    "Study": "tightrope.study.study",
    "Told": "tightrope.study.telling",
    "Terms": "tightrope.study.terms",
}
_PACKAGES = ("envs", "learners")  # ``tr.envs.build("ring")``, ``tr.learners.OptDual(rho=4.0)``

__all__ = [
    "CMDP",
    "AverageCMDP",
    "Bounds",
    "Confidence",
    "ConfigError",
    "DataError",
    "DependencyError",
    "DiscountedCMDP",
    "EngineError",
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
    "PythonLearner",
    "Realized",
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
    "simulate",
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
    from tightrope import envs as envs
    from tightrope import learners as learners
    from tightrope.belief.confidence import Confidence
    from tightrope.belief.episode import Episode, Episodes
    from tightrope.errors import (
        ConfigError,
        DataError,
        DependencyError,
        EngineError,
        InfeasibleError,
        LogError,
        ModelError,
        SolverError,
        StoreError,
        TightropeError,
    )
    from tightrope.experiments.experiment import Experiment
    from tightrope.experiments.learn import learn
    from tightrope.experiments.run import Run
    from tightrope.interop.arrays import from_arrays, to_arrays
    from tightrope.interop.gym import to_gymnasium
    from tightrope.interop.gym.learn import learn_gymnasium, rehearse
    from tightrope.interop.gym.models import from_gymnasium
    from tightrope.interop.gym.realized import Realized
    from tightrope.interop.mdptoolbox import from_toolbox, to_toolbox
    from tightrope.interop.quantecon import from_quantecon, to_quantecon
    from tightrope.interop.storm import read_drn, write_drn
    from tightrope.learners.interactive import InteractiveLearner, learner
    from tightrope.learners.python_learner import PythonLearner
    from tightrope.model import CMDP, AverageCMDP, DiscountedCMDP, Finding, Layout, Plan, Unit
    from tightrope.offline.fit import Fit, fit
    from tightrope.offline.log import Log
    from tightrope.offline.read import read_log
    from tightrope.offline.simulate import simulate
    from tightrope.plan.bound import Bounds
    from tightrope.plan.evaluate import evaluate, occupancy
    from tightrope.plan.feasibility import feasibility
    from tightrope.plan.frontier import frontier
    from tightrope.plan.optimistic import solve_optimistic
    from tightrope.plan.solve import slater, solve
    from tightrope.study.study import Study
    from tightrope.study.telling import Told
    from tightrope.study.terms import Terms


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"tightrope.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'tightrope' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, "__version__"})
