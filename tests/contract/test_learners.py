"""Every learner through one battery: the listed ones, and three as other packages write them.

A learner that is added to the list is tested here without a change of this file.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc

import naive
import tightrope as tr
from driven import driven, instance, own_options, scale_for, successors_of, told, walk
from tightrope.arrays import Bools, Ints, share
from tightrope.belief.confidence import as_confidence
from tightrope.belief.none import NoBelief
from tightrope.errors import ConfigError, ModelError
from tightrope.experiments.regret import Regrets
from tightrope.experiments.simulate import Simulation
from tightrope.experiments.snapshot import restore, take_snapshot
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.files import leaves
from tightrope.kernels.compiled import compiled
from tightrope.learners import LEARNERS, Learner, find_learner, learner_key
from tightrope.learners.base import option
from tightrope.learners.interactive import InteractiveLearner
from tightrope.learners.oracle import Oracle
from tightrope.model.draft import at_stages

K = 23


@dataclass(frozen=True)
class NoisyCosts(tr.PythonLearner):
    """Prefer actions that were cheap so far, with noise that fades.

    Parameters
    ----------
    fading : float
        Share of the noise that is left after an episode.
    """

    fading: float = option(0.5, "Share of the noise that is left after an episode.", share)

    def plan(self, data, rng):
        """Weights by average cost plus noise, which ``data.state`` keeps."""
        noise = data.state.setdefault("noise", np.zeros(data.visits.shape))
        noise *= self.fading
        noise += rng.random(noise.shape)
        mean = data.cost_sum / np.maximum(data.visits, 1)
        weight = np.where(self.task.allowed, np.exp(-mean - noise), 0.0)
        return weight / weight.sum(axis=2, keepdims=True)


class TurnState(NamedTuple):
    """Allowed actions, and the number of turns."""

    allowed: Bools  # (H, S, A)
    turn: Ints  # (1,)


@compiled
def take_turn(problem, state, rng, decision):
    """Play the allowed actions in turn, from a random one on."""
    H, S, A = state.allowed.shape
    state.turn[0] += 1
    first = state.turn[0] + int(A * rng.random())
    for h in range(H):
        for s in range(S):
            for k in range(A):
                if state.allowed[h, s, (first + k) % A]:
                    decision.choice[h, s] = (first + k) % A
    decision.note.is_changed = decision.note.is_deterministic = True


@dataclass(frozen=True)
class InTurn(Learner):
    """Play all actions in turn."""

    name: ClassVar[str] = "in-turn"
    belief: ClassVar[Any] = NoBelief
    state: ClassVar[type] = TurnState
    step = staticmethod(take_turn)

    def init(self, task, problem):
        """No turn yet."""
        allowed = np.array(at_stages(task.allowed, task.horizon))
        return TurnState(allowed, np.zeros(1, dtype=np.int64))


def key(kind):
    """The name by which a class is found."""
    return kind.name if LEARNERS.get(kind.name) is kind else f"{kind.__module__}:{kind.__name__}"


def example_of_the_guide():
    """The learner on the developer page, as the module of another package."""
    page = Path(__file__).parents[2] / "docs" / "developer" / "new-learner.md"
    module = sys.modules["epsilon_dual"] = ModuleType("epsilon_dual")
    code = page.read_text().split("```python\n")[1].split("```\n")[0]
    exec(compile(code, str(page), "exec", dont_inherit=True), vars(module))
    return module.EpsilonDual


OWN = [NoisyCosts, InTurn, example_of_the_guide()]
ALL = [pytest.param(kind, id=kind.name) for kind in (*LEARNERS.values(), *OWN)]
INTERACTIVE = [each for each in ALL if each.values[0].group != "reference"]
OPTIONS = [
    pytest.param(kind, each, id=f"{kind.name}-{each.name}")
    for kind in (*LEARNERS.values(), *OWN)
    for each in kind.option_fields()
]
every_learner = pytest.mark.parametrize("kind", ALL)
every_interactive = pytest.mark.parametrize("kind", INTERACTIVE)
every_option = pytest.mark.parametrize(("kind", "field"), OPTIONS)
replans = pytest.mark.parametrize("replan", ["always", "doubling"])


def model_for(kind, seed, I=2, **more):
    """A model with I constraints, or with as many as the learner must have."""
    return instance(seed, I=kind.n_constraints or I, **more)


def confidence_for(kind, **more):
    """Radii so small that constraints bind and policies change within a few episodes."""
    return {"scale": scale_for(kind), **more}


def begin(kind, cmdp, **more):
    """A simulation before its first episode; references get what they need of the true model."""
    own = kind.from_options(own_options(key(kind), {"rho": 2.0})).resolve(Oracle(cmdp))
    radii = as_confidence(confidence_for(kind, **more))
    return Simulation(cmdp, own, K, 0.0, np.random.default_rng(0), 0.1, radii)


def pair(kind, cmdp, confidence, **more):
    """A simulation and an interactive learner with the same generator of its own."""
    simulation = driven(cmdp, key(kind), K, confidence=confidence)
    other = told(cmdp, key(kind), K, confidence, **more)
    other._agent.rng.bit_generator.state = simulation.agent.rng.bit_generator.state
    return simulation, other


def with_room(kind, cmdp):
    """The model, with budgets that a baseline can keep strictly if the learner needs one."""
    if "baseline" in [each.name for each in kind.option_fields()]:
        return cmdp.with_budget(cmdp.budget + 0.1)
    return cmdp


def assert_same_arrays(one, other):
    assert set(one) == set(other)
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], name)


def assert_is_policy(policy, cmdp):
    allowed = np.broadcast_to(cmdp.allowed, policy.shape)
    np.testing.assert_allclose(policy.sum(axis=2), 1.0, rtol=0, atol=1e-9)
    assert (policy >= 0).all()
    assert not policy[~allowed].any()


# declarations


@every_learner
def test_a_learner_class_is_frozen_and_found_by_its_key(kind):
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert kind.name
    assert kind.group in ("paper", "reference", "other")
    assert set(kind.guarantees) <= set(Regrets.__annotations__)
    assert find_learner(key(kind)) is kind
    assert learner_key(kind()) == key(kind)
    if kind.group == "paper":
        assert kind.guarantees
        assert hasattr(naive, kind.__name__), "no second reading, see test_against_naive"


@every_learner
def test_the_docstring_documents_the_options(kind):
    named = ", ".join(each.name for each in ClassDoc(kind)["Parameters"]).split(", ")
    internal = {each.name for each in fields(kind) if each.metadata.get("is_internal")}
    assert [name for name in named if name and name not in internal] == [
        each.name for each in kind.option_fields()
    ]


@every_learner
def test_the_step_is_compiled_without_allocation(kind):
    assert kind.step.targetoptions["_nrt"] is False


@every_option
def test_an_option_has_help_and_a_default_that_passes_its_check(kind, field):
    assert field.metadata["help"].endswith(".")
    assert field.metadata["check"](field.name, field.default) == field.default
    assert kind().options[field.name] == field.default


@every_option
@pytest.mark.parametrize("wrong", [float("nan"), -1, "x", None, [0.5]], ids=str)
def test_an_option_refuses_wrong_values_by_name(kind, field, wrong):
    if field.name == "bound" and wrong == -1:  # right where the range of a cost begins below zero
        wrong = "-1,x"
    with pytest.raises(ConfigError, match=f"^{field.name}: "):
        kind(**{field.name: wrong})


def test_options_of_one_name_have_one_check():
    checks: dict[str, set] = {}
    for kind in LEARNERS.values():
        for each in kind.option_fields():
            checks.setdefault(each.name, set()).add(each.metadata["check"])
    assert {name for name, found in checks.items() if len(found) > 1} == set()


@every_learner
def test_unknown_options_are_refused(kind):
    with pytest.raises(ConfigError, match=f"^no_such: {kind.name} has no such option"):
        kind.from_options({"no_such": 1.0})


def change(field):
    """Another value of an option than its default."""
    for value in (0.25, 3.0, 2, "bound", "doubling", "code", not field.default):
        try:
            if field.metadata["check"](field.name, value) != field.default:
                return value
        except ModelError:
            pass
    raise AssertionError(f"{field.name}: found no other value than its default")


@every_learner
def test_specs_survive_a_round_trip(kind):
    plain = RunSpec("ring", kind(), 10, parameters={"horizon": 6, "budget": 3.0})
    changes = {each.name: change(each) for each in kind.option_fields()}
    spec = dataclasses.replace(plain, learner=kind(**changes))
    assert spec_of(spec.to_table()) == spec
    assert spec_of(plain.to_table()) == plain
    assert (spec.id != plain.id) == bool(changes)


# one episode after another


@every_interactive
@replans
@pytest.mark.parametrize("is_stationary", [True, False], ids=["stationary", "by-stage"])
def test_the_same_episodes_give_the_same_policies_as_in_simulation(kind, replan, is_stationary):
    cmdp = model_for(kind, 5, is_sparse=is_stationary, is_stationary=is_stationary)
    cmdp = with_room(kind, cmdp)
    confidence = confidence_for(kind, replan=replan)
    simulation, other = pair(kind, cmdp, confidence, successors=successors_of(cmdp))
    for step in walk(simulation, K):
        plan = other.plan()
        planned = [plan.value, *plan.constraint_value]
        np.testing.assert_allclose(plan.policy, step.policy, rtol=0, atol=1e-12)
        expected = step.value if kind().has_model else np.full_like(step.value, np.nan)
        np.testing.assert_allclose(planned, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(plan.multiplier, step.lam, rtol=0, atol=1e-12)
        assert plan.is_feasible != step.note.is_relaxed
        other.observe(step.episode)


@every_interactive
@replans
def test_successors_that_appear_are_as_good_as_successors_that_were_listed(kind, replan):
    cmdp = model_for(kind, 2, is_sparse=True)
    simulation, other = pair(kind, cmdp, confidence_for(kind, replan=replan))
    for step in walk(simulation, K):
        plan = other.plan()
        if not kind().is_due(is_fresh=False):  # the optimum is determined, the policy may not be
            assert plan.value == pytest.approx(step.value[0], rel=1e-7, abs=1e-7)
        else:
            np.testing.assert_allclose(plan.policy, step.policy, rtol=0, atol=1e-9)
            np.testing.assert_allclose(plan.multiplier, step.lam, rtol=0, atol=1e-9)
        other.observe(step.episode)


@every_learner
@replans
def test_a_resumed_run_equals_one_that_never_stopped(kind, replan):
    cmdp = model_for(kind, 5)
    whole = begin(kind, cmdp, replan=replan)
    whole.advance(K)
    stopped = begin(kind, cmdp, replan=replan)
    stopped.advance(K // 3)
    resumed = begin(kind, cmdp, replan=replan)
    assert restore(resumed, take_snapshot(stopped)) == K // 3
    assert_same_arrays(take_snapshot(resumed), take_snapshot(stopped))
    resumed.advance(K - K // 3)
    assert_same_arrays(take_snapshot(resumed), take_snapshot(whole))


@every_interactive
@pytest.mark.parametrize("is_planned", [True, False])
def test_a_loaded_learner_continues_bit_for_bit(kind, is_planned):
    cmdp = model_for(kind, 2, is_sparse=True)
    simulation, one = pair(kind, cmdp, confidence_for(kind))
    steps = list(walk(simulation, K))
    for step in steps[: K // 2]:
        one.plan()
        one.observe(step.episode)
    if is_planned:
        one.plan()
    two = InteractiveLearner.from_bytes(one.to_bytes())
    assert two.learner == one.learner
    assert np.array_equal(two.last_plan.policy, one.last_plan.policy)
    for step in steps[K // 2 :]:
        for name in ("policy", "value", "constraint_value", "multiplier", "gap", "occupancy"):
            found = getattr(one.plan(), name), getattr(two.plan(), name)
            np.testing.assert_array_equal(*found, name)
        one.observe(step.episode)
        two.observe(step.episode)
    assert one.to_bytes() == two.to_bytes()


@every_learner
@replans
def test_what_is_recorded_are_the_values_of_the_policy_played(kind, replan):
    cmdp = model_for(kind, 3)
    simulation = begin(kind, cmdp, replan=replan)
    budget = np.array([0.0, *cmdp.budget])
    total = np.zeros_like(budget)
    for step in walk(simulation, K):
        for weight, policy in simulation.agent.decision.mixture:
            true = tr.evaluate(cmdp, policy)
            total += weight * (np.array([true.value, *true.constraint_value]) - budget)
        np.testing.assert_allclose(simulation.world.record.signed, total, rtol=0, atol=1e-9)
        assert np.isfinite([*step.value, *step.lam]).all()


@every_learner
def test_stored_fields_are_fields_of_the_state(kind):
    state = begin(kind, instance(3)).agent.state
    if hasattr(state, "stored"):
        assert set(state.stored()) <= {name.removeprefix("x.") for name, _ in leaves("x", state)}


@every_learner
def test_plans_are_optimistic_while_beliefs_hold(kind):
    own = kind.from_options(own_options(key(kind), {"rho": 2.0}))
    audit = tr.learn(instance(3), own, K).audit
    assert audit.not_optimistic == 0
    assert (audit.good_event is None) == np.isnan(audit.largest_gap) == (not own.has_model)
    assert audit.good_event is not False or not kind.guarantees


@every_learner
def test_plans_that_follow_from_beliefs_are_the_same_when_made_again(kind):
    simulation = begin(kind, model_for(kind, 5))
    simulation.advance(K // 2)
    agent = simulation.agent
    agent.decide()
    value, policy = agent.decision.value.copy(), agent.decision.policy
    if kind().is_due(is_fresh=False):
        return
    for _ in range(5):
        assert agent.decide() is False
        agent.status.is_fresh = True
        assert agent.decide() is True
        np.testing.assert_allclose(agent.decision.value, value, rtol=0, atol=1e-7)
        np.testing.assert_allclose(agent.decision.policy, policy, rtol=0, atol=1e-6)


@cache
def environment_state(kind):
    """State of the environment's generator after K episodes."""
    simulation = begin(kind, instance(3, noise="bernoulli"))
    simulation.advance(K)
    return repr(simulation.rng.bit_generator.state)


@every_learner
def test_every_learner_leaves_the_randomness_of_the_environment_alone(kind):
    first = next(iter(LEARNERS.values()))
    assert environment_state(kind) == environment_state(first)


# kinds of models


@every_learner
@pytest.mark.parametrize("seed", [4, 9])
def test_forbidden_actions_are_never_played(kind, seed):
    cmdp = with_room(kind, instance(seed, A=3, S=2, H=2, is_masked=True))
    allowed = np.broadcast_to(cmdp.allowed, (2, 2, 3))
    assert not allowed.all()
    for step in walk(begin(kind, cmdp), K):
        assert_is_policy(step.policy, cmdp)
        assert allowed[np.arange(2), step.episode.states[:-1], step.episode.actions].all()


SHAPES = {
    "no-constraint": {"I": 0},
    "one-constraint": {"I": 1},
    "three-constraints": {"I": 3},
    "one-step": {"H": 1},
    "one-action": {"A": 1},
    "one-state": {"S": 1},
    "stationary": {"is_stationary": True},
}


@every_learner
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_model_runs(kind, shape):
    cmdp = with_room(kind, instance(5, **shape))
    learner = kind.from_options(own_options(key(kind), {"rho": 2.0}))
    I = cmdp.n_constraints
    if kind.n_constraints not in (None, I):
        expected = f"^{kind.name}: {I} constraints, expected exactly {kind.n_constraints}$"
        with pytest.raises(ModelError, match=expected):
            tr.learn(cmdp, learner, K)
        return
    run = tr.learn(cmdp, learner, K, confidence=confidence_for(kind))
    assert_is_policy(run.policy, cmdp)
    assert run.multiplier.shape == (K, I)
    assert (run.multiplier >= 0).all()
    for name, curve in run.regret.items():
        assert curve.shape == ((K, I) if "constraint" in name else (K,))
        assert np.isfinite(curve).all()
    assert run.audit.plans >= 1


@every_learner
@pytest.mark.parametrize("initial", [1, [0.25, 0.0, 0.75]], ids=["state", "distribution"])
def test_starts_are_those_of_the_model(kind, initial):
    free = instance(5)
    budget = free.budget + 0.5
    model = free.transition, free.cost, free.constraint_cost, budget
    cmdp = tr.CMDP(*model, free.horizon, initial)
    simulation = begin(kind, cmdp)
    starts = {int(step.episode.states[0]) for step in walk(simulation, K)}
    assert starts == set(np.flatnonzero(cmdp.initial))
    planned = simulation.agent.planned_occupancy()
    if kind().has_model:
        np.testing.assert_allclose(planned[0].sum(axis=1), cmdp.initial, rtol=0, atol=1e-9)


@every_interactive
def test_bounds_hold_on_pooled_counts_too(kind):
    cmdp = instance(5, is_stationary=True)
    confidence = {"pool": True}
    simulation, other = pair(kind, cmdp, confidence, stationary=True)
    for step in walk(simulation, 5):
        np.testing.assert_allclose(other.plan().policy, step.policy, rtol=0, atol=1e-9)
        other.observe(step.episode)
    found = other.bound(step.policy)
    low, high = found.cost
    assert 0 <= low <= tr.evaluate(cmdp, step.policy).value <= high <= cmdp.horizon
