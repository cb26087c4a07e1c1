"""Copies stepped together: the same as copies stepped one by one."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import tightrope as tr
from refusals import refuses
from tightrope import envs
from tightrope.errors import ConfigError, ModelError
from tightrope.interop.gymnasium import CMDPVectorEnv


def still_random():
    """A model in which nothing is random, with forbidden actions and two constraints."""
    rng = np.random.default_rng(5)
    S, A, H, I = 4, 3, 3, 2
    p = np.eye(S)[rng.integers(S, size=(H, S, A))]
    allowed = rng.random((H, S, A)) < 0.7
    allowed[:, :, 0], allowed[0, 0, 2] = True, False
    cost, bounded = rng.random((H, S, A)), rng.random((I, H, S, A))
    return tr.CMDP(p, cost, bounded, [1.0, 1.0], allowed=allowed, noise="none")


def test_a_batch_goes_through_what_single_copies_go_through():
    cmdp, n = still_random(), 5
    alone = SyncVectorEnv([lambda: tr.to_gymnasium(cmdp)] * n)
    batch = tr.to_gymnasium(cmdp, num_envs=n)
    assert batch.metadata["autoreset_mode"] == alone.metadata["autoreset_mode"]
    rng = np.random.default_rng(0)
    (a, a_info), (b, b_info) = alone.reset(seed=0), batch.reset(seed=0)
    for _ in range(3 * cmdp.horizon + 2):
        np.testing.assert_array_equal(a, b)
        same(a_info, b_info)
        mask = a_info["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
        a, *a_rest, a_info = alone.step(actions)
        b, *b_rest, b_info = batch.step(actions)
        for left, right in zip(a_rest, b_rest, strict=True):
            np.testing.assert_array_equal(left, right)


def same(left, right):
    assert set(left) == set(right)
    for key, values in left.items():
        np.testing.assert_allclose(values, right[key], err_msg=key)
        assert np.asarray(values).dtype == right[key].dtype, key


@pytest.mark.parametrize("name", ["upac-random", "ring-uniform", "queue"])
def test_sums_of_many_copies_have_the_exact_expectations(name):
    # of sums over N episodes; 5 standard errors miss once in a million
    cmdp, n = envs.build(name), 4000
    uniform = cmdp.allowed / cmdp.allowed.sum(axis=2, keepdims=True)
    exact = tr.evaluate(cmdp, uniform)
    sign = 1.0 if cmdp.cost_unit.is_maximized else -1.0
    batch = gymnasium.make_vec(f"tightrope/{name}-v0", num_envs=n)
    assert isinstance(batch, CMDPVectorEnv)
    rng = np.random.default_rng(2)
    batch.reset(seed=7)
    total, bounded = np.zeros(n), np.zeros((n, cmdp.n_constraints))
    for h in range(cmdp.horizon):
        _, reward, _, truncated, info = batch.step(rng.integers(cmdp.n_actions, size=n))
        total += sign * reward
        bounded += info["cost"].reshape(n, -1)
        assert truncated.all() == (h == cmdp.horizon - 1)
    for seen, mean in zip([total, *bounded.T], [exact.value, *exact.constraint_value], strict=True):
        assert abs(seen.mean() - mean) < 5 * seen.std() / np.sqrt(n)


def test_the_same_seed_gives_the_same_batch():
    def run(seed):
        batch = gymnasium.make_vec("tightrope/grid-v0", num_envs=3)
        batch.reset(seed=seed)
        return [batch.step(np.ones(3, dtype=int))[0].tolist() for _ in range(40)]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_gymnasiums_own_vectors_take_the_environment_as_well():
    batch = gymnasium.make_vec("tightrope/ring-v0", num_envs=2, vectorization_mode="sync")
    assert batch.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    batch.reset(seed=0)
    info = batch.step(np.array([0, 1]))[4]
    assert info["cost"].shape == (2,)


def test_batches_refuse_by_name():
    cmdp = still_random()
    with refuses(
        ConfigError, argument="num_envs", found=0, expected="a whole number of at least 1"
    ):
        tr.to_gymnasium(cmdp, num_envs=0)
    batch = tr.to_gymnasium(cmdp, num_envs=2)
    with refuses(ModelError, argument="step", found="no episode was started"):
        batch.step(np.zeros(2, dtype=int))
    _, info = batch.reset(seed=0)
    with refuses(
        ModelError, argument="actions", found="array([0, 0, 0])", expected="2 whole numbers"
    ):
        batch.step(np.zeros(3, dtype=int))
    with refuses(ModelError, argument="actions", found="array([0, 3])", expected="0 to 2"):
        batch.step(np.array([0, 3]))
    missing = np.flatnonzero(info["action_mask"][1] == 0)
    assert missing.size, "the model forbids something at its start"
    with refuses(ModelError, "in state '0' at stage 0", argument="action"):
        batch.step(np.array([0, missing[0]]))
    with refuses(ConfigError, argument="render_mode", found="rgb_array", expected="one of 'ansi'"):
        tr.to_gymnasium(cmdp, num_envs=2, render_mode="rgb_array")


def test_each_copy_is_drawn():
    batch = gymnasium.make_vec("tightrope/grid-v0", num_envs=2, render_mode="rgb_array")
    batch.reset(seed=0)
    assert [picture.shape for picture in batch.render()] == [(216, 240, 3)] * 2
    batch = gymnasium.make_vec("tightrope/ring-v0", num_envs=2, render_mode="ansi")
    batch.reset(seed=0)
    assert all(text.startswith("step 0 of 6") for text in batch.render())
    assert gymnasium.make_vec("tightrope/ring-v0", num_envs=2).render() is None


@pytest.mark.parametrize("name", ["maintenance", "inventory"])
def test_a_sample_holds_only_actions_that_exist(name):
    many = CMDPVectorEnv(envs.build(name), 5)
    many.action_space.seed(0)
    many.reset(seed=1)
    for _ in range(30):
        _, _, _, _, info = many.step(many.action_space.sample())
    chosen = many.action_space.sample()
    assert info["action_mask"][np.arange(5), chosen].all()
