"""Draws of the simulator: the numbers of NumPy's generators, and which generator there is."""

from __future__ import annotations

import numpy as np
import pytest

import tightrope as tr
from tightrope.kernels.compiled import compiled
from tightrope.kernels.draws import new_generator, uniform


@compiled
def fill(rng, out):
    for k in range(out.size):
        out[k] = uniform(rng)


def seeds():
    return np.random.SeedSequence(5)


@pytest.mark.parametrize("kind", ["pcg64", "philox"])
def test_uniform_draws_the_numbers_of_the_generator(kind):
    drawn = np.zeros(50)
    fill(new_generator(seeds(), kind), drawn)
    np.testing.assert_array_equal(drawn, new_generator(seeds(), kind).random(50))


def test_the_usual_generator_is_the_default_of_numpy():
    expected = np.random.default_rng(seeds())
    assert new_generator(seeds()).bit_generator.state == expected.bit_generator.state


def test_a_counter_leads_to_any_draw_of_philox_without_those_before():
    drawn = np.zeros(41)
    fill(new_generator(seeds(), "philox"), drawn)
    later = new_generator(seeds(), "philox")
    later.bit_generator.advance(10)  # blocks of four
    assert uniform(later) == drawn[40]


def test_runs_repeat_with_either_generator_and_differ_between_them():
    runs = {
        kind: [tr.learn("ring", "OptCMDP", episodes=40, generator=kind) for _ in range(2)]
        for kind in ("pcg64", "philox")
    }
    for first, second in runs.values():
        np.testing.assert_array_equal(first.regret["cost"], second.regret["cost"])
    usual = tr.learn("ring", "OptCMDP", episodes=40)
    np.testing.assert_array_equal(usual.regret["cost"], runs["pcg64"][0].regret["cost"])
    costs = [run.regret["cost"].tolist() for run, _ in runs.values()]
    assert costs[0] != costs[1]


def test_other_generators_are_refused():
    with pytest.raises(tr.ConfigError) as caught:
        tr.learn("ring", "OptCMDP", episodes=2, generator="mt19937")
    assert caught.value.argument == "generator"
