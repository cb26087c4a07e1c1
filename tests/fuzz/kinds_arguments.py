"""Every public function and method with arguments of a wrong kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import tightrope as tr
from driven import own_options
from fuzz.driver import Kind
from fuzz.kinds_values import hostile, perturb, pick

__all__ = ["KINDS", "LOG", "small_model"]

Case = tuple[Callable[..., Any], dict[str, Any]]

LOG = """episode,step,state,action,next_state,cost,wear
a,0,fine,hard,worn,0.1,0.5
a,1,worn,gentle,fine,0.4,1
b,0,worn,gentle,fine,0.3,1
b,1,fine,hard,fine,0,0.2
c,0,fine,gentle,fine,0.2,0
c,1,fine,gentle,worn,0.2,1
"""


def small_model() -> tr.CMDP:
    """Three states, two actions, three stages, one budget."""
    rng = np.random.default_rng(5)
    return tr.CMDP(
        rng.dirichlet(np.ones(3), size=(3, 2)),
        rng.random((3, 2)),
        rng.random((1, 3, 2)),
        [1.5],
        horizon=3,
    )


class Samples:
    """Valid objects, made once in each worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cmdp = small_model()
        self.p = np.array(self.cmdp.transition)
        self.cost = np.array(self.cmdp.cost)[0]
        self.risk = np.array(self.cmdp.constraint_cost)[:, 0]
        self.policy = tr.solve(self.cmdp).policy
        (folder / "log.csv").write_text(LOG)
        self.log = tr.read_log(folder / "log.csv", constraints=["wear"])
        self.cmdp.save(folder / "model.npz")
        tr.write_drn(self.cmdp, folder / "model.drn")
        self.study = tr.Study.new(folder / "studies.sqlite", "pump", terms())

    def learner(self) -> Any:
        """A learner that may be changed."""
        return tr.learner("OptCMDP", 3, 2, 3, [1.5], 20, confidence="tight")


def terms(**change: Any) -> tr.Terms:
    """Terms of a small study."""
    given = {"states": ["fine", "worn"], "actions": ["hard", "gentle"], "horizon": 2}
    return tr.Terms(**{**given, "budget": {"wear": 1.0}, "episodes": 20, **change})


EPISODE = {
    "states": [0, 1, 2, 0],
    "actions": [0, 1, 0],
    "cost": [0.1, 0.2, 0.3],
    "constraint_cost": [[0.0, 1.0, 0.0]],
}
TOLD = {
    "episode": "e1",
    "states": ["fine", "worn", "fine"],
    "actions": ["hard", "gentle"],
    "cost": [0.1, 0.2],
    "constraint_cost": {"wear": [0.5, 1.0]},
    "policy": 1,
    "place": "",
}


def _observe(samples: Samples, **given: Any) -> None:
    learner = samples.learner()
    learner.plan()
    learner.observe(tr.Episode(**given))


def _absorb(samples: Samples, **given: Any) -> None:
    samples.learner().absorb(tr.Episodes(**given))


def _load(samples: Samples, path: Any) -> None:
    tr.CMDP.load(path)


def _terms(**given: Any) -> None:
    made = tr.Terms(**given)
    tr.Terms.from_json(made.as_json())
    made.learner()


def _unit(name: Any, factor: Any, shift: Any) -> None:
    cmdp = small_model()
    unit = tr.Unit(name, factor, shift)
    made = tr.CMDP(cmdp.transition, np.zeros((3, 2)), [np.zeros((3, 2))], [1.0], 3, cost_unit=unit)
    str(made), made._repr_html_()


def _gym() -> Any:
    import gymnasium

    return gymnasium.make("FrozenLake-v1", desc=["SF", "HG"], is_slippery=False)


def _from_gym(**given: Any) -> None:
    tr.from_gymnasium(_gym(), **given)


def _learn_gym(**given: Any) -> None:
    tr.learn_gymnasium(_gym(), **given)


def _rehearse(**given: Any) -> None:
    tr.rehearse(_gym(), **given)


def _cases(s: Samples, folder: Path) -> dict[str, Case]:
    """Functions and valid arguments by name."""
    cmdp, names = s.cmdp, {"state_names": list("xyz"), "action_names": list("ab")}
    run = {"algorithm": "OptCMDP", "episodes": 3, "seed": 1, "delta": 0.1, "confidence": "tight"}
    steps = {"rho": 2.0, "dual_step": 1.0, "primal_step": 1.0}
    rule = pick_rule(len(str(folder)))
    gym = {"horizon": 4, "budget": {"holes": 0.5}, "reward_range": (0.0, 1.0)}
    several = {key: [value] * 2 for key, value in EPISODE.items()}
    return {
        "solve": (
            tr.solve,
            {"cmdp": cmdp, "method": "columns", "tolerance": 1e-8, "progress": None},
        ),
        "solve_lp": (tr.solve, {"cmdp": cmdp, "method": "lp", "tolerance": 1e-8}),
        "evaluate": (tr.evaluate, {"cmdp": cmdp, "policy": s.policy}),
        "occupancy": (tr.occupancy, {"cmdp": cmdp, "policy": s.policy}),
        "feasibility": (tr.feasibility, {"cmdp": cmdp, "tolerance": 1e-8}),
        "slater": (tr.slater, {"cmdp": cmdp, "tolerance": 1e-10}),
        "frontier": (
            tr.frontier,
            {"cmdp": cmdp, "constraint": 0, "tolerance": 1e-8, "most": 50, "progress": None},
        ),
        "solve_optimistic": (
            tr.solve_optimistic,
            {
                "cmdp": cmdp,
                "lower": np.maximum(s.p - 0.1, 0),
                "upper": np.minimum(s.p + 0.1, 1),
                "cost": s.cost,
                "constraint_cost": s.risk,
                "method": "columns",
                "tolerance": 1e-8,
                "progress": None,
            },
        ),
        "from_costs": (
            tr.CMDP.from_costs,
            {
                "transition": s.p,
                "cost": 10 * s.cost,
                "constraint_cost": 4 * s.risk,
                "budget": [5.0],
                "horizon": 3,
                "cost_range": (0, 10),
                "constraint_range": [(0, 4)],
                "cost_name": "euros",
                "constraint_names": ["hours"],
                **names,
            },
        ),
        "from_rewards": (
            tr.CMDP.from_rewards,
            {
                "transition": s.p,
                "reward": s.cost,
                "utility": s.risk,
                "floor": [0.5],
                "horizon": 3,
                "constraint_cost": s.risk,
                "budget": [2.0],
                "reward_range": (0, 1),
                "utility_range": [(0, 1)],
                "constraint_range": [(0, 1)],
                "reward_name": "profit",
            },
        ),
        "from_arrays": (
            tr.from_arrays,
            {
                "transition": s.p,
                "layout": "SAT",
                "cost": s.cost,
                "constraint_cost": s.risk,
                "budget": [1.5],
                "horizon": 3,
            },
        ),
        "to_arrays": (tr.to_arrays, {"cmdp": cmdp, "layout": "ASS"}),
        "from_toolbox": (
            tr.from_toolbox,
            {
                "transition": s.p.transpose(1, 0, 2),
                "reward": s.cost,
                "horizon": 3,
                "constraint_cost": {"wear": s.risk[0]},
                "budget": {"wear": 1.5},
            },
        ),
        "to_toolbox": (tr.to_toolbox, {"cmdp": cmdp, "multiplier": [0.5]}),
        "from_quantecon": (
            tr.from_quantecon,
            {
                "process": _process(s),
                "horizon": 3,
                "constraint_cost": {"wear": s.risk[0]},
                "budget": {"wear": 1.5},
            },
        ),
        "to_quantecon": (
            tr.to_quantecon,
            {"cmdp": cmdp, "multiplier": [0.5], "form": "product"},
        ),
        "to_gymnasium": (
            tr.to_gymnasium,
            {"cmdp": cmdp, "render_mode": None, "num_envs": None},
        ),
        "from_gymnasium": (_from_gym, {**gym, "costs": None, "initial": None, "noise": "none"}),
        "learn_gymnasium": (_learn_gym, {**gym, **run, "tolerance": 1e-8, "stationary": False}),
        "rehearse": (
            _rehearse,
            {"policy": np.zeros((4, 4), dtype=int), "episodes": 3, "seed": 1, "delta": 0.1},
        ),
        "read_drn": (
            tr.read_drn,
            {
                "path": s.folder / "model.drn",
                "horizon": 3,
                "cost": "cost",
                "budget": {"constraint 1": 1.5},
                "ranges": {"cost": (0, 1)},
                "initial": None,
            },
        ),
        "write_drn": (
            tr.write_drn,
            {"cmdp": cmdp, "path": folder / "out.drn", "unroll": False},
        ),
        "read_log": (
            tr.read_log,
            {
                "source": s.folder / "log.csv",
                "horizon": 2,
                "constraints": ["wear"],
                "ranges": {"cost": (0, 1)},
                "states": ["fine", "worn"],
                "actions": ["hard", "gentle"],
                "terminal": [],
                "skip_bad": False,
            },
        ),
        "fit": (
            tr.fit,
            {
                "log": s.log,
                "budget": {"wear": 1.5},
                "algorithm": rule,
                "delta": 0.1,
                "confidence": "tight",
                **own_options(rule, {"rho": 2.0, "tolerance": 1e-8}),
                "initial": "fine",
                "allowed": np.ones((2, 2), dtype=bool),
                "stationary": False,
                "steps": 5,
                "more": 1,
            },
        ),
        "log_average": (s.log.bound_average, {"budget": {"wear": 1.5}, "delta": 0.1}),
        "learn": (
            tr.learn,
            {
                "cmdp": cmdp,
                **run,
                "algorithm": "OptPrimalDual",
                **steps,
                "audit_visits": False,
                "average": False,
                "progress": None,
            },
        ),
        "learner": (
            tr.learner,
            {
                "algorithm": "OptDual",
                "n_states": 3,
                "n_actions": 2,
                "horizon": 3,
                "budget": [1.5],
                "episodes": 10,
                "delta": 0.1,
                "confidence": {"mode": "tight", "pool": True, "known_costs": True},
                "rho": 2.0,
                "dual_step": 1.0,
                "seed": 0,
                "initial": 0,
                "allowed": np.ones((3, 2), dtype=bool),
                "cost": s.cost,
                "constraint_cost": s.risk,
                "stationary": True,
                "successors": np.ones((3, 2, 3), dtype=bool),
            },
        ),
        "observe": (lambda **given: _observe(s, **given), EPISODE),
        "absorb": (lambda **given: _absorb(s, **given), several),
        "settle": (lambda steps: s.learner().settle(steps), {"steps": 3}),
        "bound": (lambda policy: s.learner().bound(policy), {"policy": s.policy}),
        "observe_any": (lambda episode: s.learner().observe(episode), {"episode": None}),
        "absorb_any": (lambda episodes: s.learner().absorb(episodes), {"episodes": None}),
        "learner_load": (tr.InteractiveLearner.load, {"path": folder / "learner.npz"}),
        "learner_bytes": (tr.InteractiveLearner.from_bytes, {"content": b"PK"}),
        "learner_save": (lambda path: s.learner().save(path), {"path": folder / "l.npz"}),
        "load": (lambda path: _load(s, path), {"path": s.folder / "model.npz"}),
        "save": (cmdp.save, {"path": folder / "out.npz"}),
        "with_budget": (cmdp.with_budget, {"budget": [1.0]}),
        "confidence": (
            lambda confidence: tr.learner("OptCMDP", 2, 2, 2, [1.0], 5, confidence=confidence),
            {"confidence": {"mode": "tight", "scale": 0.5, "replan": "doubling", "clip": True}},
        ),
        "unit": (_unit, {"name": "euros", "factor": 2.0, "shift": -1.0}),
        "unit_of_range": (
            tr.Unit.of_range,
            {"name": "euros", "low": 0.0, "high": 2.0, "horizon": 3},
        ),
        "layout": (
            _layout,
            {"rows": ("..", ".#"), "cells": [[0, 0], [0, 1], [1, 0]], "moves": [(0, 1), (1, 0)]},
        ),
        "terms": (
            _terms,
            {
                "states": ["fine", "worn"],
                "actions": ["hard", "gentle"],
                "horizon": 2,
                "budget": {"wear": 1.0},
                "episodes": 20,
                "ranges": {"cost": [0.0, 2.0]},
                "algorithm": "OptCMDP",
                "delta": 0.1,
                "confidence": "tight",
                "options": {"tolerance": 1e-8},
                "initial": 0,
                "allowed": [[True, True], [True, False]],
                "stationary": True,
            },
        ),
        "study": (tr.Study, {"where": s.folder / "studies.sqlite", "name": "pump"}),
        "study_names": (tr.Study.names, {"where": s.folder / "studies.sqlite"}),
        "study_new": (
            tr.Study.new,
            {"where": folder / "new.sqlite", "name": "pump", "terms": terms()},
        ),
        "tell": (lambda **given: s.study.tell([tr.Told(**given)]), TOLD),
        "tell_any": (s.study.tell, {"told": [tr.Told(**TOLD)]}),
        "ask": (s.study.ask, {"report": None}),
    }


def pick_rule(number: int) -> str:
    """One of the rules of `fit`."""
    return ("OptCMDP", "OptDual", "certainty-equivalence")[number % 3]


def _layout(**given: Any) -> None:
    layout = tr.Layout(**given)
    layout.require_fit(3, 2)
    layout.as_lists()


def _process(s: Samples) -> Any:
    """The parts of a DiscreteDP; QuantEcon itself compiles when it is imported."""
    return SimpleNamespace(num_states=3, R=-s.cost, Q=s.p, beta=0.9, s_indices=None)


def _call(samples: Samples, rng: np.random.Generator, folder: Path) -> None:
    cases = _cases(samples, folder)
    function, given = cases[pick(rng, cases)]
    given = dict(given)
    for key in rng.permutation(list(given))[: int(rng.choice([1, 1, 1, 2, 3]))]:
        given[key] = perturb(rng, given[key]) if rng.random() < 0.5 else hostile(rng)
    for key in ("progress", "report"):  # what a function of the caller raises is the caller's
        if callable(given.get(key)):
            given[key] = None
    if "episodes" in given and isinstance(given["episodes"], (int, np.integer)):
        given["episodes"] = min(given["episodes"], 10**6 if "n_states" in given else 20)
    function(**given)


KINDS = [Kind("arguments", _call, Samples, share=6.0)]
