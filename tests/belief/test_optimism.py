"""Optimism of the beliefs for every policy, not only for the planned ones."""

from __future__ import annotations

import numpy as np
import pytest

import brute
import naive
import tightrope as tr
from driven import dense, driven, instance
from tightrope.belief.audit import CONSTRAINT, COST, TRANSITION
from tightrope.belief.beliefs import refresh_everything, start_beliefs
from tightrope.belief.bonus import BonusBelief
from tightrope.belief.confidence import as_confidence
from tightrope.belief.radii import box_bounds, log_term
from tightrope.belief.sets import SetBelief
from tightrope.kernels.calls import Block
from tightrope.model.task import simulated_task

K = 3000
SHARP = {"mode": "tight", "kl_costs": True, "mixture": True}
MODES = ["faithful", "tight", {"tight_costs": True, "clip": True}, SHARP]


class Believing:
    """A learner's beliefs after some episodes, dense, beside the true model."""

    def __init__(self, seed, algorithm, confidence, n_episodes):
        self.cmdp = instance(seed, I=2, is_sparse=seed % 2 > 0, noise="bernoulli")
        H, S, A = self.cmdp.horizon, self.cmdp.n_states, self.cmdp.n_actions
        self.shape = H, S, A, S
        simulation = driven(self.cmdp, algorithm, K, confidence=confidence, seed=seed)
        simulation.advance(n_episodes)
        agent, events = simulation.agent, simulation.world.watch.audit.events
        assert not events.bad[[TRANSITION, COST, CONSTRAINT]].any()  # the good event
        self.counts, self.believed = agent.beliefs.counts, agent.beliefs.belief
        self.p = brute.by_stages(self.cmdp.transition, H, 4)
        self.true_costs = [self.cmdp.cost, *self.cmdp.constraint_cost]
        self.lowered = [agent.problem.cost, *agent.problem.constraint_cost]

    @property
    def box(self):
        b, c = self.believed, self.counts
        bounds = dense(c, b.lower), dense(c, b.upper, b.rest)
        return [bound.reshape(self.shape) for bound in bounds]

    @property
    def estimate(self):
        S = self.shape[-1]
        b = self.believed
        listed = dense(self.counts, b.center).reshape(self.shape)
        return listed + b.even.reshape(self.shape[:3])[..., None] / S

    def policies(self, n=20):
        """Random policies, from nearly deterministic to nearly even."""
        rng = np.random.default_rng(0)
        H, S, A, _ = self.shape
        for spread in np.geomspace(0.05, 20, n):
            pi = rng.dirichlet(np.full(A, spread), size=(H, S)) + 1e-12
            yield pi / pi.sum(axis=2, keepdims=True)


def values(cost, p, pi):
    """Cost to go (H+1, S) of a policy under dense kernels, or under the best ones of a box."""
    H, S, _ = pi.shape
    V = np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        kernel = naive.greedy(p[0][h], p[1][h], V[h + 1]) if isinstance(p, list) else p[h]
        V[h] = (pi[h] * (cost[h] + kernel @ V[h + 1])).sum(axis=1)
    return V


@pytest.mark.parametrize("confidence", MODES[:2], ids=str)
@pytest.mark.parametrize("n_episodes", [0, 30, K])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_kernel_of_the_box_flatters_every_policy(confidence, n_episodes, seed):
    found = Believing(seed, "OptDual", confidence, n_episodes)
    largest = -np.inf
    for pi in found.policies():
        for low, cost in zip(found.lowered, found.true_costs, strict=True):
            optimistic = values(low, found.box, pi)
            assert (optimistic <= values(cost, found.p, pi) + 1e-12).all()
            largest = max(largest, optimistic[0].max())
    assert n_episodes < K or largest > 0.5, "nothing but zero was promised"


@pytest.mark.parametrize("confidence", MODES, ids=str)
@pytest.mark.parametrize("n_episodes", [0, 30, K])
@pytest.mark.parametrize("seed", [1, 2])
def test_bonuses_flatter_every_policy_at_every_stage_also_truncated(confidence, n_episodes, seed):
    found = Believing(seed, "OptPrimalDual", confidence, n_episodes)
    H = found.shape[0]
    room = (H - np.arange(H))[:, None, None]
    largest = 0.0
    for pi in found.policies():
        for low, cost in zip(found.lowered, found.true_costs, strict=True):
            low = np.broadcast_to(low, cost.shape)
            true, plain = values(cost, found.p, pi), values(low, found.estimate, pi)
            Q, V = naive.truncated(low, found.estimate, pi)
            assert (plain <= V + 1e-12).all()
            assert (true >= V - 1e-12).all()
            assert (Q >= 0).all()
            assert (room >= Q - 1e-12).all()
            ahead = np.einsum("hsat,ht->hsa", found.p, V[1:])
            assert (np.maximum(cost + ahead, 0) + 1e-12 >= Q).all()
            largest = max(largest, V[0].max())
    assert n_episodes < K or confidence != "tight" or largest > 0.5, "all was truncated"


@pytest.mark.parametrize("confidence", MODES[:2], ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_optimistic_lagrangian_is_a_bound_for_any_prices(confidence, seed):
    found = Believing(seed, "OptDual", confidence, K)
    cmdp, allowed = found.cmdp, np.ones(found.shape[:3], dtype=bool)
    best = tr.solve(cmdp)
    rng = np.random.default_rng(0)
    for lam in [np.zeros(2), *(rng.exponential(2.0, size=(30, 2)))]:
        loss = found.lowered[0] + np.einsum("i,ihsa->hsa", lam, np.array(found.lowered[1:]))
        V, _, _ = naive.extended_value_iteration(loss, *found.box, allowed)
        bound = cmdp.initial @ V[0] - lam @ cmdp.budget
        assert bound <= best.value + lam @ (best.constraint_value - cmdp.budget) + 1e-9
        assert bound <= best.value + 1e-9


def test_a_bonus_that_is_clipped_whole_is_no_longer_optimistic():
    """The transition part of a bonus must be able to make a cost negative.

    Two stages and states x, y; the first stage was seen 20 times and moved to y in 6 of them,
    truly with probability 0.1; the second was seen so often that its costs, 1 at y, are certain.
    """
    cmdp = tr.CMDP(
        [[[0.9, 0.1]], [[0.9, 0.1]]], [[0.0], [1.0]], np.zeros((1, 2, 1)), [2.0], horizon=2
    )
    task = simulated_task(cmdp, 10**7, 0.1)
    confidence = as_confidence({"clip": True})
    beliefs = start_beliefs(BonusBelief, task, confidence)
    c = beliefs.counts
    c.visits[:], c.cost_visits[:] = [[20, 20], [10**6, 10**6]], [[20, 20], [10**6, 10**6]]
    c.successors[0] = [14, 6, 14, 6]
    c.successors[1] = [900_000, 100_000] * 2
    c.cost_sum[:] = c.cost_visits * [0.0, 1.0]
    refresh_everything(Block(c, beliefs.belief, 2, 2, 1))
    low, pbar = beliefs.belief.cost_low, np.array([[[[0.7, 0.3]]] * 2, [[[0.9, 0.1]]] * 2])[:, :, 0]
    true = values(cmdp.cost, brute.by_stages(cmdp.transition, 2, 4), np.ones((2, 2, 1)))
    assert true[0, 0] == pytest.approx(0.1)
    # only the cost part is clipped: optimistic
    assert values(low, pbar, np.ones((2, 2, 1)))[0, 0] <= true[0, 0]
    # the first stage's bonus, clipped away, leaves the estimate 0.3 of reaching y
    assert values(np.maximum(low, 0), pbar, np.ones((2, 2, 1)))[0, 0] > true[0, 0] + 0.1


def test_estimates_and_members_of_the_box_are_close_to_the_true_model():
    """Distance of two members of a box, for every share of n visits and every true row in it."""
    rules = start_beliefs(
        SetBelief, simulated_task(instance(1), 10_000, 0.1), as_confidence("faithful")
    ).belief.rules
    truths = np.unique(np.concatenate((np.linspace(0, 1, 81), np.geomspace(1e-6, 0.1, 40))))
    n_checked = 0
    for n in (1.0, 3.0, 30.0, 300.0, 3000.0, 1e5):
        L = log_term(rules.transition_term, rules.n_episodes, n)
        for share in np.unique(np.round(np.linspace(0, n, 60))) / n:
            low, high = box_bounds(rules, share, n)
            held = truths[(truths >= low) & (truths <= high)]
            near = 2 * np.sqrt(held * L / n) + 11.5 * L / n
            assert (np.abs(share - held) <= near).all()
            for member in (low, high):
                assert (np.abs(member - held) <= 2 * near - 0.1 * L / n + 1e-12).all()
            n_checked += (near < 1).sum()
    assert n_checked > 1000
