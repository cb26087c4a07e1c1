"""An unknown start distribution is learned in a stage before the first, and nobody else sees it."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from driven import given_options, instance, scale_for
from refusals import refuses
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.job import begin_run
from tightrope.experiments.problems import simulated_model
from tightrope.experiments.snapshot import restore, take_snapshot
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.learners import LEARNERS, find_learner
from tightrope.learners.interactive import InteractiveLearner, has_seen
from tightrope.learners.oracle import Oracle
from tightrope.learners.storage import same_arrays
from tightrope.model.start import extend_model, extend_policy, extend_task, trim, trim_task
from tightrope.model.task import simulated_task

NAMES = ["OptCMDP", "OptPrimalDual", "Safe-OptCMDP", "PSRL"]
K = 12


def explicit(cmdp):
    """The model with the extra stage and state, by the public constructor."""
    S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
    transition = np.zeros((H + 1, S + 1, A, S + 1))
    transition[1:, :S, :, :S] = cmdp.transition
    transition[0, :S, :, :S] = transition[1, :S, :, :S]
    transition[:, S, 0, :S] = cmdp.initial
    cost, bounded = np.zeros((H + 1, S + 1, A)), np.zeros((cmdp.n_constraints, H + 1, S + 1, A))
    cost[1:, :S], bounded[:, 1:, :S] = cmdp.cost, cmdp.constraint_cost
    cost[0, :S], bounded[:, 0, :S] = cost[1, :S], bounded[:, 1, :S]
    allowed = np.ones((H + 1, S + 1, A), dtype=bool)
    allowed[1:, :S], allowed[0, :S] = cmdp.allowed, np.broadcast_to(cmdp.allowed, (H, S, A))[0]
    allowed[:, S, 1:] = False
    return tr.CMDP(transition, cost, bounded, cmdp.budget, None, S, allowed, noise="beta")


def spread(seed=5, **kind):
    """A model that may begin in any state."""
    cmdp = instance(seed, I=1, **kind)
    start = np.arange(1.0, cmdp.n_states + 1)
    return tr.CMDP(
        cmdp.transition,
        cmdp.cost,
        cmdp.constraint_cost,
        cmdp.budget,
        None,
        start / start.sum(),
        cmdp.allowed,
        "beta",
    )


def learner_of(name, cmdp, initial, **more):
    return tr.learner(
        name,
        cmdp.n_states,
        cmdp.n_actions,
        cmdp.horizon,
        cmdp.budget,
        K,
        confidence={"scale": scale_for(find_learner(name))},
        initial=initial,
        allowed=cmdp.allowed,
        **{**given_options(cmdp, name), **more},
    )


def played(cmdp, policy, rng):
    """An episode of a policy."""
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    states, actions = [int(rng.choice(S, p=cmdp.initial))], []
    for h in range(H):
        actions.append(int(rng.choice(A, p=policy[h, states[h]])))
        p = np.broadcast_to(cmdp.transition, (H, S, A, S))[h, states[h], actions[h]]
        states.append(int(rng.choice(S, p=p)))
    pairs = np.arange(H), states[:-1], actions
    cost = np.broadcast_to(cmdp.cost, (H, S, A))[pairs]
    I = cmdp.n_constraints
    bounded = np.broadcast_to(cmdp.constraint_cost, (I, H, S, A))[(slice(None), *pairs)]
    return tr.Episode(states, actions, cost, bounded)


# by hand


def test_two_start_states_by_hand():
    """Known costs and one step: the estimated start decides what the plan costs."""
    learner = tr.learner(
        "OptCMDP",
        n_states=2,
        n_actions=2,
        horizon=1,
        budget=[0.5],
        episodes=5,
        initial="learned",
        confidence={"scale": 0.0, "known_costs": True},
        cost=[[0.0, 0.4], [0.0, 0.8]],
        constraint_cost=[[[1.0, 0.0], [1.0, 0.0]]],
    )
    for state in (1, 0, 1, 1):
        plan = learner.plan()
        assert plan.policy.shape == plan.occupancy.shape == (1, 2, 2)
        action = int(plan.policy[0, state].argmax())
        cost = [[0.0, 0.4], [0.0, 0.8]][state][action]
        learner.observe(tr.Episode([state, state], [action], [cost], [[1.0 - action]]))
    # three of four episodes began in state 1, where keeping the budget costs twice as much: the
    # budget of 0.5 is spent there, so the quarter of state 0 and a third of state 1 pay
    plan = learner.plan()
    np.testing.assert_allclose(plan.occupancy.sum(axis=2), [[0.25, 0.75]])
    np.testing.assert_allclose(plan.policy[0], [[0.0, 1.0], [2 / 3, 1 / 3]], atol=1e-7)
    assert plan.value == pytest.approx(0.25 * 0.4 + 0.25 * 0.8)
    bounds = learner.bound(plan.policy)
    np.testing.assert_allclose(bounds.cost, [plan.value] * 2, atol=1e-7)
    np.testing.assert_allclose(bounds.constraint_cost, [[0.5, 0.5]], atol=1e-7)


@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("is_stationary", [False, True])
def test_the_extended_model_has_the_values_of_the_model(is_masked, is_stationary):
    cmdp = instance(3, I=1, is_masked=is_masked, is_stationary=is_stationary)
    wide = extend_model(cmdp)
    assert (wide.n_states, wide.horizon) == (cmdp.n_states + 1, cmdp.horizon + 1)
    assert wide.is_stationary == cmdp.is_stationary
    one, other = tr.solve(cmdp), tr.solve(wide)
    assert other.value == pytest.approx(one.value)
    np.testing.assert_allclose(other.constraint_value, one.constraint_value)
    np.testing.assert_allclose(tr.evaluate(wide, extend_policy(one.policy)).value, one.value)
    np.testing.assert_allclose(trim(tr.occupancy(wide, extend_policy(one.policy))), one.occupancy)
    np.testing.assert_array_equal(trim(extend_policy(one.policy)), one.policy)
    assert tr.solve(explicit(cmdp)).value == pytest.approx(one.value)


def test_tasks_are_extended_and_trimmed_as_models_are():
    for cmdp in (instance(3, is_masked=True), instance(3), tr.envs.build("ring")):
        task = simulated_task(cmdp, 10, 0.1)
        wide, again = extend_task(task), simulated_task(extend_model(cmdp), 10, 0.1)
        for name in ("n_states", "horizon", "budget", "initial", "allowed", "known_cost"):
            assert same_arrays(getattr(wide, name), getattr(again, name)), name
        back = trim_task(wide)
        assert (back.n_states, back.horizon) == (task.n_states, task.horizon)
        assert same_arrays(back.known_cost, task.known_cost)
        stages = np.broadcast_shapes(back.allowed.shape, task.allowed.shape or ())
        if len(task.allowed):
            np.testing.assert_array_equal(
                np.broadcast_to(back.allowed, stages), np.broadcast_to(task.allowed, stages)
            )
        else:
            assert back.allowed.all()


# equal to the model with an explicit stage


@pytest.mark.parametrize("name", NAMES)
def test_a_learner_is_that_of_the_explicit_stage(name):
    cmdp = spread()
    wide, S = explicit(cmdp), cmdp.n_states
    own = learner_of(name, cmdp, "learned")
    more = given_options(cmdp, name)
    if "baseline" in more:
        more["baseline"] = extend_policy(more["baseline"])
    other = learner_of(name, wide, S, **more)
    rng = np.random.default_rng(0)
    for _ in range(K):
        plan, theirs = own.plan(), other.plan()
        np.testing.assert_array_equal(plan.policy, theirs.policy[1:, :S])
        np.testing.assert_array_equal(plan.occupancy, theirs.occupancy[1:, :S])
        np.testing.assert_array_equal(plan.constraint_value, theirs.constraint_value)
        np.testing.assert_array_equal(plan.value, theirs.value)  # NaN without a model
        bounds, wider = own.bound(plan.policy), other.bound(extend_policy(plan.policy))
        np.testing.assert_array_equal(bounds.cost, np.minimum(wider.cost, cmdp.horizon))
        assert bounds.horizon == cmdp.horizon
        told = played(cmdp, plan.policy, rng)
        own.observe(told)
        other.observe(
            tr.Episode(
                [S, *told.states],
                [0, *told.actions],
                [0.0, *told.cost],
                np.pad(told.constraint_cost, ((0, 0), (1, 0))),
            )
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_that_of_the_explicit_stage(name):
    cmdp = spread()
    options = {"confidence": {"scale": scale_for(find_learner(name))}, "seed": 3}
    own = tr.learn(cmdp, name, 40, initial="learned", average=True, **options)
    other = tr.learn(explicit(cmdp), name, 40, average=True, **options)
    for kind in own.regret:
        np.testing.assert_allclose(own.regret[kind], other.regret[kind], atol=1e-9)
    np.testing.assert_allclose(own.policy, other.policy[1:, :-1], atol=1e-9)
    np.testing.assert_allclose(own.occupancy_sum, other.occupancy_sum[1:, :-1], atol=1e-9)
    assert own.average_policy.shape == (cmdp.horizon, cmdp.n_states, cmdp.n_actions)
    assert own.optimum == pytest.approx(tr.solve(cmdp).value)
    # exact regret in the true model: of the last policy, for all but mixtures
    if own.baseline is None:
        excess = tr.evaluate(cmdp, own.policy).value - own.optimum
        assert own.excess[-1, 0] == pytest.approx(excess)


@pytest.mark.parametrize("name", ["OptCMDP", "OptDual", "Safe-OptCMDP"])
def test_interactive_equals_simulated(name):
    cmdp, kind = spread(), find_learner(name)
    options = {} if name != "Safe-OptCMDP" else given_options(cmdp, name)
    if name == "OptDual":
        options = {"rho": 2.0}
    spec = RunSpec("given", kind.from_options(options), K, initial="learned")
    wide = extend_model(cmdp)
    simulation = begin_run(spec, wide, Oracle(wide))
    own = tr.learner(
        kind.from_options(options),
        cmdp.n_states,
        cmdp.n_actions,
        cmdp.horizon,
        cmdp.budget,
        K,
        initial="learned",
        allowed=cmdp.allowed,
    )
    for _ in range(K):
        own.plan()
        simulation.advance(1)
        # before the draw between plan and baseline, which has other seeds
        planned, theirs = own._agent.decision, simulation.agent.decision
        np.testing.assert_allclose(trim(planned.planned), trim(theirs.planned), atol=1e-12)
        assert planned.note.baseline == pytest.approx(theirs.note.baseline)
        steps = simulation.world.steps
        own.observe(
            tr.Episode(
                steps.states[1:], steps.actions[1:], steps.cost[1:], steps.constraint_cost[1:].T
            )
        )


# bounds


def test_bounds_hold_for_every_policy_at_once():
    cmdp = spread(S=2, H=2)
    rng = np.random.default_rng(1)
    own = tr.learner(
        "OptCMDP", 2, cmdp.n_actions, 2, cmdp.budget, 60, confidence="tight", initial="learned"
    )
    shape = (2, 2, cmdp.n_actions)
    narrow = []
    for _ in range(60):
        own.observe(played(cmdp, own.plan().policy, rng))
        policy = rng.dirichlet(np.ones(shape[2]), shape[:2])
        bounds, values = own.bound(policy), tr.evaluate(cmdp, policy)
        assert bounds.cost[0] <= values.value <= bounds.cost[1] <= 2.0
        (low, high), value = bounds.constraint_cost[0], values.constraint_value[0]
        assert low <= value <= high
        narrow.append(high - low)
    assert narrow[-1] < narrow[0]


# files


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_learner_continues_bit_for_bit(name, tmp_path):
    cmdp = spread()
    own = learner_of(name, cmdp, "learned", average=True)
    rng = np.random.default_rng(2)
    for _ in range(4):
        own.observe(played(cmdp, own.plan().policy, rng))
    own.save(tmp_path / "learner.npz")
    again = InteractiveLearner.load(tmp_path / "learner.npz")
    assert again.is_start_learned
    assert again.task.n_states == cmdp.n_states
    for _ in range(3):
        plan, theirs = own.plan(), again.plan()
        np.testing.assert_array_equal(plan.policy, theirs.policy)
        told = played(cmdp, plan.policy, rng)
        own.observe(told)
        again.observe(told)
    assert own.to_bytes() == again.to_bytes()
    assert own.average().policies.shape[1:] == plan.policy.shape


def test_a_resumed_run_equals_the_run_never_stopped():
    cmdp = spread()
    wide = extend_model(cmdp)
    for name in ("OptDual", "Safe-OptCMDP"):
        spec = RunSpec("given", find_learner(name)(), 30, initial="learned")
        whole, part = (begin_run(spec, wide, Oracle(wide)) for _ in range(2))
        part.advance(11)
        resumed = begin_run(spec, wide, Oracle(wide))
        restore(resumed, take_snapshot(part))
        for each in (whole, resumed):
            each.advance(30 - each.episode)
        one, other = take_snapshot(whole), take_snapshot(resumed)
        assert all(np.array_equal(one[key], other[key]) for key in one)


def test_experiments_keep_runs_in_the_stages_of_the_model(tmp_path):
    cmdp = spread()
    own = np.full((cmdp.horizon, cmdp.n_states, cmdp.n_actions), 1.0 / cmdp.n_actions)
    safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline="least-use")
    experiment = Experiment(tmp_path / "runs")
    experiment.add(
        cmdp, ["OptDual", safe], episodes=15, seeds=[0], initial="learned", name="spread"
    )
    experiment.add(cmdp, ["OptDual"], episodes=15, seeds=[0], name="spread")
    experiment.run("here")
    runs = {(run.spec.algorithm, run.spec.initial): run for run in experiment.runs()}
    assert len(runs) == 3
    for (name, initial), stored in runs.items():
        run = stored.load()
        assert run.policy.shape == own.shape
        assert stored.cmdp.horizon == cmdp.horizon
        assert simulated_model(stored.spec, experiment.model(stored.spec)).horizon == (
            cmdp.horizon + (initial == "learned")
        )
        learner = safe if name != "OptDual" else LEARNERS[name]()
        same = tr.learn(cmdp, learner, 15, initial=initial)
        assert run.optimum == pytest.approx(same.optimum)
    ids = {run.spec.problem_id for run in runs.values()}
    assert len(ids) == 2


def test_specs_without_the_field_keep_their_ids():
    table = {"environment": "ring", "algorithm": "OptDual", "episodes": 10}
    known, learned = spec_of(table), spec_of({**table, "initial": "learned"})
    assert spec_of({**table, "initial": "known"}).id == known.id != learned.id
    assert "initial" not in known.problem
    assert learned.problem["initial"] == "learned"
    assert spec_of(learned.to_table()) == learned


# bad input


@pytest.mark.parametrize("initial", ["learnt", "known", True, None])
def test_other_words_for_the_start_are_refused(initial):
    with pytest.raises(tr.ModelError):
        tr.learner("OptCMDP", 2, 2, 2, [1.0], 5, initial=initial)


@pytest.mark.parametrize("initial", ["learnt", 0, None])
def test_other_words_for_the_start_of_a_run_are_refused(initial):
    with pytest.raises(tr.ConfigError) as refused:
        tr.learn("ring", "OptDual", 5, initial=initial)
    assert refused.value.argument == "initial"


def test_entries_of_a_bad_episode_are_counted_without_the_extra_stage():
    own = tr.learner("OptCMDP", 2, 2, 2, [1.0], 5, initial="learned")
    own.plan()
    with pytest.raises(tr.DataError, match=r"episode\.cost\[h=0\]"):
        own.observe(tr.Episode([0, 1, 1], [0, 0], [2.0, 0.0], [[0.0, 0.0]]))
    with pytest.raises(tr.DataError, match=r"episode\.states\[h=0\] is 2"):
        own.observe(tr.Episode([2, 1, 1], [0, 0], [0.0, 0.0], [[0.0, 0.0]]))
    with pytest.raises(tr.ModelError, match="policy"):
        own.bound(np.full((3, 3, 2), 0.5))
    assert own.n_observed == 0


def test_successors_may_be_known_without_the_start():
    own = tr.learner(
        "OptCMDP",
        2,
        2,
        2,
        [1.0],
        5,
        initial="learned",
        successors=np.eye(2)[:, None].repeat(2, axis=1),
        confidence={"known_support": True},
    )
    own.plan()
    own.observe(tr.Episode([1, 1, 1], [0, 0], [0.0, 0.0], [[0.0, 0.0]]))
    own.plan()
    with refuses(tr.DataError, argument="episode.states", entry="h=1", found=0):
        own.observe(tr.Episode([1, 0, 0], [0, 0], [0.0, 0.0], [[0.0, 0.0]]))


def test_a_file_with_a_wrong_first_stage_is_refused(tmp_path):
    from tightrope.files import packed, unpacked

    own = tr.learner("OptCMDP", 2, 2, 2, [1.0], 5)
    about, arrays = unpacked(own.to_bytes())
    about["progress"]["is_start_learned"] = True
    with pytest.raises(tr.StoreError, match="is_start_learned"):
        InteractiveLearner.from_bytes(packed(about, arrays))


def test_absorbed_episodes_are_those_observed():
    cmdp = spread()
    rng = np.random.default_rng(4)
    one, other = (learner_of("OptCMDP", cmdp, "learned") for _ in range(2))
    told = []
    for _ in range(5):
        told.append(played(cmdp, one.plan().policy, rng))
        one.observe(told[-1])
    parts = (np.array([getattr(each, name) for each in told]) for name in vars(told[0]))
    other.absorb(tr.Episodes(*parts))
    policy = np.full((cmdp.horizon, cmdp.n_states, cmdp.n_actions), 1.0 / cmdp.n_actions)
    np.testing.assert_array_equal(one.bound(policy).cost, other.bound(policy).cost)
    assert has_seen(
        one,
        [tr.Episodes(*(np.array([getattr(e, n) for e in told]) for n in vars(told[0])))],
        learner_of("OptCMDP", cmdp, "learned"),
    )
