"""The mixture of played policies: its values are the averages that the theorems bound."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tightrope as tr
from driven import SCALES, driven, instance, own_options, successors_of, told, walk
from refusals import refuses
from tightrope.belief.confidence import as_confidence
from tightrope.experiments.run import make_run
from tightrope.experiments.simulate import Simulation
from tightrope.files import packed, unpacked
from tightrope.learners import find_learner
from tightrope.learners.oracle import Oracle

K = 40
LEARNERS = ("OptDual", "OptPrimalDual", "OptCMDP", "Safe-OptDual")
SCALE = {**SCALES, "Safe-OptDual": 0.02}


def followed(algorithm, cmdp, K=K, **more):
    """A learner that records its policies, after the episodes of a simulation."""
    confidence = {"scale": SCALE[algorithm]}
    learner = told(
        cmdp, algorithm, K, confidence, successors=successors_of(cmdp), average=True, **more
    )
    options = {"rho": 2.0, "baseline": "least-use", "bound": "exact"}
    made = find_learner(algorithm).from_options(own_options(algorithm, options))
    simulation = Simulation(
        cmdp,
        made.resolve(Oracle(cmdp)),
        K,
        0.0,
        np.random.default_rng(0),
        confidence=as_confidence(confidence),
        average=True,
    )
    for step in walk(simulation, K):
        learner.plan()
        learner.observe(step.episode)
    return learner, make_run(simulation, made, 0, 0.1, 1.0)


@pytest.mark.parametrize("algorithm", LEARNERS)
def test_the_mixture_visits_what_the_average_policy_of_a_run_visits(algorithm):
    cmdp = instance(5, I=2)
    learner, run = followed(algorithm, cmdp)
    mixture = learner.average()
    assert mixture.weights.sum() == pytest.approx(1.0)
    q = np.array([tr.occupancy(cmdp, policy) for policy in mixture.policies])
    mean = np.einsum("n,nhsa->hsa", mixture.weights, q)
    np.testing.assert_allclose(mean, tr.occupancy(cmdp, run.average_policy), atol=1e-12)
    values = [tr.evaluate(cmdp, policy) for policy in mixture.policies]
    found = tr.evaluate(cmdp, run.average_policy)
    cost = mixture.weights @ [each.value for each in values]
    assert cost == pytest.approx(found.value, abs=1e-12)
    assert cost == pytest.approx(run.regret["cost"][-1] / K, abs=1e-12)


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual"])
def test_each_policy_counts_for_the_episodes_that_played_it(algorithm):
    cmdp = instance(2, I=1)
    played = [
        step.policy
        for step in walk(driven(cmdp, algorithm, K, confidence={"scale": SCALE[algorithm]}), K)
    ]
    learner, _ = followed(algorithm, cmdp)
    mixture = learner.average()
    expected = Counter(policy.tobytes() for policy in played)
    found = {
        policy.tobytes(): round(K * weight)
        for policy, weight in zip(mixture.policies, mixture.weights, strict=True)
    }
    assert found == dict(expected)
    assert len(played) == sum(expected.values()) == K
    if algorithm == "OptDual":
        assert len(mixture.weights) < K  # its policies are deterministic, so they come back
    np.testing.assert_array_equal(mixture.policies[0], played[0])


def test_policies_are_drawn_at_their_weights():
    learner, _ = followed("OptDual", instance(2))
    mixture, n = learner.average(), 4000
    rng = np.random.default_rng(1)
    drawn = Counter(mixture.draw(rng).tobytes() for _ in range(n))
    for policy, weight in zip(mixture.policies, mixture.weights, strict=True):
        slack = 5 * np.sqrt(weight * (1 - weight) / n)
        assert abs(drawn[policy.tobytes()] / n - weight) < slack
    with refuses(tr.ConfigError, argument="rng", expected="a numpy.random.Generator"):
        mixture.draw(3)


@pytest.mark.parametrize("algorithm", ["OptDual", "OptPrimalDual", "Safe-OptDual"])
def test_a_loaded_learner_continues_with_its_mixture(algorithm, tmp_path):
    cmdp = instance(2)
    learner, _ = followed(algorithm, cmdp)
    confidence = {"scale": SCALE[algorithm]}
    again = told(cmdp, algorithm, K, confidence, successors=successors_of(cmdp), average=True)
    steps = walk(driven_like(algorithm, cmdp), K)
    for k, step in enumerate(steps):
        again.plan()
        if k in (0, 11):
            again.save(tmp_path / "learner.npz")
            again = tr.InteractiveLearner.load(tmp_path / "learner.npz")
        again.observe(step.episode)
    assert again.to_bytes() == learner.to_bytes()
    np.testing.assert_array_equal(again.average().policies, learner.average().policies)
    np.testing.assert_array_equal(again.average().weights, learner.average().weights)


def driven_like(algorithm, cmdp):
    """The simulation of `followed`, anew."""
    options = {"rho": 2.0, "baseline": "least-use", "bound": "exact"}
    made = find_learner(algorithm).from_options(own_options(algorithm, options))
    radii = as_confidence({"scale": SCALE[algorithm]})
    rng = np.random.default_rng(0)
    return Simulation(cmdp, made.resolve(Oracle(cmdp)), K, 0.0, rng, confidence=radii)


def test_a_learner_that_does_not_record_has_no_mixture():
    cmdp = instance(2)
    learner = told(cmdp, "OptDual", K)
    learner.plan()
    with pytest.raises(tr.ConfigError, match="average: not recorded"):
        learner.average()
    with pytest.raises(tr.ConfigError, match="no episode of a planned policy"):
        told(cmdp, "OptDual", K, average=True).average()
    with refuses(tr.ConfigError, argument="average", found=1, expected="true or false"):
        told(cmdp, "OptDual", K, average=1)


CHANGES = {
    "a missing part": (lambda arrays: arrays.pop("average.choice"), "average.choice"),
    "another shape": (
        lambda arrays: arrays.update({"average.policy": np.zeros((1, 2))}),
        "average.policy is float64 of shape",
    ),
    "no such action": (
        lambda arrays: arrays["average.choice"].fill(9),
        r"average.choice\[0, 0, 0\] is 9",
    ),
    "more than was observed": (
        lambda arrays: arrays["average.weight"].fill(K + 1.0),
        "positive numbers of sum",
    ),
    "less than nothing": (
        lambda arrays: arrays["average.weight"].fill(-1.0),
        "positive numbers of sum",
    ),
    "no number": (
        lambda arrays: arrays["average.weight"].fill(np.nan),
        "positive numbers of sum",
    ),
    "one policy twice": (lambda arrays: arrays["average.choice"].fill(0), "there twice"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_a_stored_mixture_that_cannot_be_right_is_refused(change, message):
    about, arrays = unpacked(followed("OptDual", instance(2))[0].to_bytes())
    change(arrays)
    with pytest.raises(tr.StoreError, match=message):
        tr.InteractiveLearner.from_bytes(packed(about, arrays))
