"""Safe learners: the rule by hand, against dense NumPy, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import naive
import tightrope as tr
from driven import instance, told, walk
from refusals import refuses
from tightrope.belief.confidence import as_confidence
from tightrope.errors import ConfigError, ModelError
from tightrope.experiments.simulate import Simulation
from tightrope.learners import LEARNERS
from tightrope.learners.oracle import Oracle

K = 40
SAFE = ["Safe-OptCMDP", "Safe-OptCMDP-bonus", "Safe-OptDual"]
every_safe = pytest.mark.parametrize("name", SAFE)


def begin(name, cmdp, K=K, confidence="faithful", seed=0, **options):
    """A simulation before its first episode."""
    kind = LEARNERS[name]
    own = {"rho": 2.0, **options} if name == "Safe-OptDual" else options
    learner = kind.from_options(own).resolve(Oracle(cmdp))
    rng = np.random.default_rng(seed)
    return Simulation(cmdp, learner, K, 0.0, rng, 0.1, as_confidence(confidence))


def two_actions(budget=0.5):
    """One state, one step: action 0 costs 1 and spends nothing, action 1 is free and spends 1."""
    p = np.ones((1, 2, 1))
    return tr.CMDP(p, [[1.0, 0.0]], [[[0.0, 1.0]]], [budget], 1, noise="none")


def test_the_probability_of_the_baseline_equals_the_one_computed_by_hand():
    # without data action 1 is optimistic and may spend 1: (1 - 0.5) / (1 - 0.1) = 5/9; episodes
    # that play it leave the upper bound at 1, so nothing changes
    cmdp = two_actions()
    policy = np.array([[[0.9, 0.1]]])
    simulation = begin("Safe-OptDual", cmdp, K=5, baseline=policy, confidence={"scale": 1.0})
    for _ in walk(simulation, 1):
        decision = simulation.agent.decision
        assert decision.note.baseline == pytest.approx(5 / 9)
        assert decision.upper.tolist() == [1.0]
        shares = [share for share, _ in decision.mixture]
        np.testing.assert_allclose(shares, [4 / 9, 5 / 9])
        # both start at the first action, which the plan takes for free
        np.testing.assert_array_equal(decision.mixture[1][1], policy)


def worst(lower, upper, cost, pi, initial):
    """Greatest value of a policy over a box, by dense induction, at most 1 for each step left."""
    H, S, _ = cost.shape
    V = np.zeros(S)
    for h in range(H - 1, -1, -1):
        kernel = naive.greedy(lower[h], upper[h], -V)
        V = (pi[h] * np.minimum(cost[h] + kernel @ V, H - h)).sum(axis=1)
    return min(initial @ V, H)


@pytest.mark.parametrize("scale", [1.0, 0.2, 0.02])
@every_safe
def test_upper_bounds_and_probabilities_are_those_of_the_formulas(name, scale):
    cmdp = instance(2, I=2, is_sparse=True)
    seen = naive.Statistics(3, 2, 3, 2, K, scale=scale)
    simulation = begin(name, cmdp, confidence={"scale": scale})
    learner = simulation.agent.learner
    shares = set()
    for step in walk(simulation, K):
        decision = simulation.agent.decision
        never = seen.n == 0
        high = np.where(never, 1.0, np.minimum(1.0, seen.dbar + seen.beta_c))
        lower, upper = seen.box
        if name == "Safe-OptCMDP-bonus":
            high = high + np.where(never, 3.0, 3 * seen.beta_p.sum(axis=-1))
            lower = upper = seen.pbar
        share = 0.0
        for i in range(2):
            w = worst(lower, upper, high[i], decision.planned, np.asarray(cmdp.initial))
            assert decision.upper[i] == pytest.approx(w, abs=1e-9)
            if w > cmdp.budget[i]:
                share = max(share, (w - cmdp.budget[i]) / (w - learner.use[i]))
        assert decision.note.baseline == pytest.approx(share, abs=1e-9)
        shares.add(round(share, 9))
        seen.observe(step.episode)
    assert len(shares) > 1 or scale > 0.02


@every_safe
def test_the_wrapped_learner_plans_as_it_does_alone(name):
    cmdp = instance(5, I=2)
    confidence = {"scale": 0.0005 if "bonus" in name else 0.02}
    alone = told(cmdp, name.removeprefix("Safe-"), K, confidence)
    safe = begin(name, cmdp, confidence=confidence)
    for step in walk(safe, K):
        plan = alone.plan()
        np.testing.assert_allclose(plan.policy, safe.agent.decision.planned, rtol=0, atol=1e-9)
        np.testing.assert_allclose(plan.multiplier, step.lam, rtol=0, atol=1e-9)
        alone.observe(step.episode)


SHARP = {"mode": "tight", "pool": True, "kl_costs": True, "mixture": True}


@pytest.mark.parametrize(
    "confidence", ["faithful", "tight", {"mode": "tight", "pool": True}, SHARP], ids=str
)
@pytest.mark.parametrize("environment", ["ring", "media"])
@every_safe
def test_no_budget_is_exceeded_while_the_beliefs_hold(name, environment, confidence):
    cmdp = tr.envs.build(environment)
    run = tr.learn(cmdp, name, 400, confidence=confidence, baseline="share:0.2")
    assert run.audit.good_event
    assert run.audit.bound_failures == 0
    assert run.n_violations == 0
    assert (run.baseline <= 1.0).all()
    assert run.baseline.shape == run.episode.shape


def test_without_the_baseline_budgets_are_exceeded():
    run = tr.learn(tr.envs.build("ring"), "OptCMDP", 400, confidence="tight")
    assert run.n_violations > 300
    assert run.baseline is None


@pytest.mark.parametrize("transition", ["kl", "l1", "kl+l1"])
def test_upper_bounds_hold_over_every_kind_of_set(transition):
    confidence = {"mode": "tight", "transition": transition, "pool": True, "clip": False}
    confidence |= {"mixture": transition == "kl+l1", "kl_costs": transition == "l1"}
    cmdp = instance(3, is_stationary=True, is_sparse=True)
    run = tr.learn(cmdp, "Safe-OptCMDP", 300, confidence=confidence)
    assert run.audit.bound_failures == run.n_violations == 0


def test_wrong_bounds_are_counted():
    # with hardly any radius and noisy costs, what was seen is often less than what is true
    run = tr.learn(instance(3), "Safe-OptCMDP", 200, confidence={"scale": 1e-4})
    assert run.audit.bound_failures > 0


def test_mixtures_are_averages_of_occupancies_too():
    cmdp = instance(3)
    options = {"confidence": {"scale": 0.05}, "average": True}
    run = tr.learn(cmdp, "Safe-OptCMDP", K, **options)
    assert 0 < run.baseline.max() < 1
    found = tr.evaluate(cmdp, run.average_policy)
    excess = run.regret["constraint"][-1] / K + cmdp.budget
    np.testing.assert_allclose(found.constraint_value, excess, rtol=0, atol=1e-9)
    assert found.value == pytest.approx(run.regret["cost"][-1] / K + run.optimum, abs=1e-9)


def test_the_coin_decides_between_the_two_policies_at_its_rate():
    cmdp, n = two_actions(), 4000
    # action 1 always; 5/9 of the episodes play the baseline, which always takes action 0
    simulation = begin(
        "Safe-OptDual", cmdp, K=n, baseline=np.array([[[1.0, 0.0]]]), confidence={"scale": 1e3}
    )
    drawn = [int(simulation.agent.decision.note.plays_baseline) for _ in walk(simulation, n)]
    share = simulation.agent.decision.note.baseline
    assert share == pytest.approx(0.5)
    assert abs(np.mean(drawn) - share) < 4 * np.sqrt(share * (1 - share) / n)


def test_interactive_learners_say_what_to_play():
    cmdp = two_actions()
    policy = np.array([[[0.9, 0.1]]])
    safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=policy, bound=0.1)
    learner = tr.learner(safe, 1, 2, 1, [0.5], 200, confidence="tight")
    played = set()
    for _ in range(200):
        plan = learner.plan()
        assert learner.baseline_probability <= 0.5 / 0.9 + 1e-12
        played.add(learner.plays_baseline)
        assert learner.plays_baseline == np.array_equal(plan.policy, policy)
        action = int(plan.policy[0, 0].argmax())
        cost, spent = cmdp.cost[0, 0, action], cmdp.constraint_cost[0, 0, 0, action]
        learner.observe(tr.Episode([0, 0], [action], [cost], [[spent]]))
    assert played == {True, False}


# baselines and bounds


def test_baselines_in_all_forms_are_the_same_policy(tmp_path):
    cmdp = tr.envs.build("ring")
    plan = tr.solve(cmdp.with_budget(0.2 * cmdp.budget))
    plan.save(tmp_path / "plan.npz")
    forms = [plan, plan.policy, str(tmp_path / "plan.npz")]
    learners = [tr.learners.Safe(tr.learners.OptCMDP(), baseline=each) for each in forms]
    assert len(set(learners)) == 1
    runs = [tr.learn(cmdp, each, 50, confidence="tight") for each in (learners[0], "Safe-OptCMDP")]
    rule = tr.learn(cmdp, "Safe-OptCMDP", 50, confidence="tight", baseline="share:0.2")
    np.testing.assert_array_equal(rule.regret["cost"], runs[0].regret["cost"])
    assert (runs[1].baseline <= runs[0].baseline).all()


def test_shares_may_be_numbers():
    assert LEARNERS["Safe-OptCMDP"](baseline=0.2).baseline == "share:0.2"


def test_bounds_are_in_the_units_of_the_model():
    cmdp = tr.envs.build("inventory")
    exact = LEARNERS["Safe-OptCMDP"](baseline="share:0.2").resolve(Oracle(cmdp))
    shown = [u.show(float(x)) for u, x in zip(cmdp.constraint_units, exact.use, strict=True)]
    stated = LEARNERS["Safe-OptCMDP"](baseline="share:0.2", bound=",".join(map(repr, shown)))
    np.testing.assert_allclose(stated.resolve(Oracle(cmdp)).use, exact.use, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "share:1.5"}, "baseline: .*expected a share of the budgets"),
        ({"baseline": "nowhere.npz"}, "baseline: nowhere.npz: cannot be read"),
        ({"baseline": "least-us"}, "baseline: 'least-us', expected least-use.*did you mean"),
        ({"baseline": "policy:f1,2,2:AAAA"}, "baseline: a packed policy that cannot be read"),
        ({"baseline": "policy:f9999999,9999999,9:AAAA"}, "baseline: a packed policy"),
        ({"bound": "0.1,many"}, "bound: '0.1,many', expected 'exact'"),
        ({"bound": "0.1,0.2"}, "bound: 2 numbers, expected 1"),
        ({"bound": 0.5}, r"baseline\['.*'\] uses 0.5, expected less than 0.5"),
        ({"bound": -0.5}, r"baseline\['.*'\] uses -0.5, expected at least 0"),
        ({"baseline": np.full((2, 2, 2), 0.5)}, r"baseline: policy: shape \(2, 2, 2\)"),
        ({"baseline": np.array([[[0.5, 0.1]]])}, "baseline: policy"),
        ({"baseline": np.array([[[0.4, 0.6]]])}, r"baseline\['.*'\] uses 0.6, expected"),
    ],
)
def test_what_cannot_be_a_baseline_is_refused(options, message):
    with pytest.raises(ModelError, match=message):
        tr.learn(two_actions(), "Safe-OptCMDP", 5, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "baseline: 'least-use' needs the true model"),
        ({"baseline": "uniform"}, "bound: missing"),
        ({"baseline": "uniform", "bound": 0.7}, r"baseline\[0\] uses 0.7, expected less"),
    ],
)
def test_a_real_process_needs_a_policy_and_its_use(options, message):
    with pytest.raises(ModelError, match=message):
        tr.learner("Safe-OptCMDP", 1, 2, 1, [0.5], 10, **options)


def test_a_use_that_leaves_no_room_is_refused_in_the_units_of_the_budget():
    cmdp = tr.envs.build("perishable")
    assert cmdp.constraint_units[0].size == 5.0
    fields = {"argument": "baseline", "found": "1", "expected": "less than 1"}
    with refuses(ConfigError, entry="'units wasted'", **fields):
        tr.learn(cmdp, "Safe-OptCMDP", 5, bound=1.0)
    options = {"baseline": "uniform", "bound": 3.0, "constraint_range": [(0.0, 2.0)]}
    with refuses(ConfigError, argument="baseline", entry="0", found="3", expected="less than 2.5"):
        tr.learner("Safe-OptCMDP", 1, 2, 4, [2.5], 10, **options)


def test_only_optimistic_learners_can_be_wrapped():
    with refuses(
        ConfigError, argument="learner", expected="one of OptCMDP(), OptCMDPBonus(), OptDual()"
    ):
        tr.learners.Safe(tr.learners.OptPrimalDual())


# margin search


def test_the_search_adopts_a_baseline_with_at_least_half_of_the_largest_margin():
    cmdp = tr.envs.build("ring")
    n, confidence = 3000, {"mode": "tight", "scale": 0.2}
    simulation = begin(
        "Safe-OptCMDP", cmdp, n, confidence, baseline="share:0.9", margin_search=True
    )
    first = simulation.agent.state.use.copy()
    simulation.advance(n)
    state, decision = simulation.agent.state, simulation.agent.decision
    assert not state.note.is_searching
    assert (state.use < first).all()
    used = tr.evaluate(cmdp, decision.baseline).constraint_value
    assert (used <= state.use + 1e-9).all()
    assert 2 * (cmdp.budget - state.use).min() >= tr.slater(cmdp).slack
    run = tr.learn(
        cmdp, "Safe-OptCMDP", n, confidence="tight", baseline="share:0.9", margin_search=True
    )
    assert run.n_violations == 0


def test_the_search_ends_at_once_where_the_baseline_has_room_enough():
    runs = {}
    for is_searched in (True, False):
        options = {"baseline": "share:0.2", "margin_search": is_searched}
        simulation = begin("Safe-OptCMDP", two_actions(), **options)
        simulation.advance(1)
        assert not simulation.agent.state.note.is_searching
        decision = simulation.agent.decision
        runs[is_searched] = decision.upper.tolist(), decision.note.baseline, decision.planned
    # the first episode is one of the wrapped learner, with its bound and its coin
    assert runs[True][:2] == runs[False][:2] == ([1.0], pytest.approx(5 / 9))
    np.testing.assert_array_equal(runs[True][2], runs[False][2])


def test_a_search_that_ends_at_once_exceeds_no_budget():
    run = tr.learn(
        tr.envs.build("media"), "Safe-OptCMDP", 20, baseline="share:0.2", margin_search=True
    )
    assert run.audit.good_event
    assert run.audit.bound_failures == run.n_violations == 0


@pytest.mark.parametrize("I", [1, 3])
def test_the_optimistic_margin_is_that_of_the_linear_program(I):
    from tightrope.learners.safe import seek_margin

    cmdp = instance(5, I=I)
    cmdp = cmdp.with_budget(cmdp.budget + 0.1)
    confidence = {"scale": 0.05}
    simulation = begin("Safe-OptCMDP", cmdp, K, confidence, margin_search=True)
    seen = naive.Statistics(3, 2, 3, I, K, scale=0.05)
    for step in walk(simulation, 20):
        seen.observe(step.episode)
    agent = simulation.agent
    state = agent.learner.init(agent.task, agent.problem).search
    found = seek_margin(agent.problem.optimistic, state, agent.decision)
    lower, upper = seen.box
    allowed = np.ones((3, 3, 2), dtype=bool)

    def is_possible(margin):
        args = cmdp.initial, lower, upper, np.zeros((3, 3, 2)), seen.dbar - seen.beta_c
        return brute.optimistic(*args, cmdp.budget - margin, allowed) is not None

    assert found <= cmdp.budget.min()
    assert is_possible(found - 1e-4)
    assert not is_possible(found + 1e-4) or found == cmdp.budget.min()


@pytest.mark.parametrize("n_before", [3, 30])
def test_a_learner_with_margin_search_continues_from_a_file(n_before):
    cmdp = instance(5, I=2)
    one = told(cmdp, "Safe-OptCMDP", K, {"scale": 0.05}, margin_search=True)
    steps = [step.episode for step in walk(begin("Safe-OptCMDP", cmdp), K)]
    for episode in steps[:n_before]:
        one.plan()
        one.observe(episode)
    two = tr.InteractiveLearner.from_bytes(one.to_bytes())
    for episode in steps[n_before:]:
        np.testing.assert_array_equal(one.plan().policy, two.plan().policy)
        one.observe(episode)
        two.observe(episode)
    assert one.to_bytes() == two.to_bytes()


# what is stored of a run


def test_runs_keep_the_probabilities_of_the_baseline_in_experiments_and_files(tmp_path):
    experiment = tr.Experiment(tmp_path / "runs")
    policy = tr.solve(tr.envs.build("ring").with_budget([0.6]))
    safe = tr.learners.Safe(tr.learners.OptCMDP(), baseline=policy)
    experiment.add("ring", [safe, "OptCMDP"], episodes=50, seeds=1, confidence="tight")
    experiment.run("here")
    runs = {run.spec.algorithm: run.load() for run in experiment.runs()}
    assert runs["OptCMDP"].baseline is None
    found = runs["Safe-OptCMDP"]
    assert found.learner == safe
    assert found.baseline.shape == (50,)
    assert 0 < found.baseline[-1] < 1
    column = experiment.to_arrow()["baseline"].to_pylist()
    assert sorted(x for x in column if x is not None) == sorted(found.baseline.tolist())
    found.save(tmp_path / "run.npz")
    again = tr.Run.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.baseline, found.baseline)
    assert again.audit.bound_failures == found.audit.bound_failures == 0
