"""Learner files of version 0.1 are read, and their learners continue bit for bit.

The files in ``tests/data/learners-0.1`` were written by version 0.1 after eight of twenty episodes,
with and without a plan for the next one; ``expected.npz`` holds the episodes, and the next five
plans of that version.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tightrope as tr
from tightrope.files import packed, unpacked
from tightrope.learners import OptCMDP, OptCMDPBonus, OptDual, OptPrimalDual
from tightrope.learners.interactive import has_seen

OLD = Path(__file__).parent.parent / "data" / "learners-0.1"
OPTIONS = {
    "OptCMDP": OptCMDP(tolerance=1e-6),
    "OptCMDP-bonus": OptCMDPBonus(tolerance=1e-5),
    "OptDual": OptDual(rho=3.1 * 1.7),  # version 0.1 stored the product of rho and dual_step
    "OptPrimalDual": OptPrimalDual(rho=2.3, dual_step=1.7, primal_step=12.6),
    "OptDual-doubling": OptDual(rho=80.0),
    "OptCMDP-doubling": OptCMDP(),
}
PLAN = ("policy", "value", "constraint_value", "multiplier", "gap", "occupancy", "sweeps")
FILES = sorted(path.stem for path in OLD.glob("Opt*.npz"))


@pytest.fixture(scope="module")
def expected():
    with np.load(OLD / "expected.npz") as arrays:
        return dict(arrays)


def episode(expected, k):
    names = ("states", "actions", "cost", "constraint_cost")
    return tr.Episode(*(expected[f"episodes.{name}"][k] for name in names))


def test_there_is_a_file_of_every_algorithm_with_and_without_a_plan():
    algorithms = ("OptCMDP", "OptCMDP-bonus", "OptDual", "OptPrimalDual")
    assert {f"{a}-{kind}" for a in algorithms for kind in ("observed", "planned")} <= set(FILES)
    for name in FILES:
        assert unpacked((OLD / f"{name}.npz").read_bytes())[0]["format"] == "tightrope-learner 1"


@pytest.mark.parametrize("saves", [False, True], ids=["read", "saved again"])
@pytest.mark.parametrize("name", FILES)
def test_a_learner_of_version_0_1_continues_bit_for_bit(expected, tmp_path, name, saves):
    learner = tr.InteractiveLearner.load(OLD / f"{name}.npz")
    assert learner.n_observed == 8
    for k in range(8, 13):
        if saves:  # as a file of today's format, before each plan and after it
            learner.save(tmp_path / "learner.npz")
            learner = tr.InteractiveLearner.load(tmp_path / "learner.npz")
        plan = learner.plan()
        for each in PLAN:
            found = getattr(plan, each)
            np.testing.assert_array_equal(found, expected[f"{name}.{each}"][k - 8], err_msg=each)
        assert plan.is_feasible == expected[f"{name}.is_feasible"][k - 8]
        if saves:
            learner = tr.InteractiveLearner.from_bytes(learner.to_bytes())
        learner.observe(episode(expected, k))
    bounds = learner.bound(expected["policy"])
    np.testing.assert_array_equal(bounds.cost, expected[f"{name}.bound"][0])
    assert learner.n_infeasible == expected[f"{name}.n_infeasible"][0]


@pytest.mark.parametrize("name", FILES)
def test_the_options_of_a_learner_of_version_0_1_follow_from_its_step_sizes(name):
    learner = tr.InteractiveLearner.load(OLD / f"{name}.npz").learner
    expected = OPTIONS[name.removesuffix("-planned").removesuffix("-observed")]
    assert type(learner) is type(expected)
    assert learner.options == pytest.approx(expected.options, rel=1e-14)


def test_a_learner_of_version_0_1_has_seen_its_episodes(expected):
    learner = tr.InteractiveLearner.load(OLD / "OptPrimalDual-observed.npz")
    start, other = (
        tr.learner(
            OptPrimalDual(rho=2.3, dual_step=1.7, primal_step=primal_step),
            learner.task.n_states,
            learner.task.n_actions,
            learner.task.horizon,
            learner.task.budget,
            learner.task.n_episodes,
            delta=0.05,
            confidence=learner.confidence,
            initial=learner.task.initial,
            allowed=learner.task.allowed,
            stationary=True,
        )
        for primal_step in (12.6, 12.7)
    )
    names = ("states", "actions", "cost", "constraint_cost")
    seen = tr.Episodes(*(expected[f"episodes.{name}"][:8] for name in names))
    assert has_seen(learner, [seen], start)
    assert not has_seen(learner, [seen], other)


CHANGES = {
    "no step size": ("OptDual", lambda about, arrays: arrays.pop("memory.rate")),
    "none of them": ("OptDual", lambda about, arrays: arrays.update({"memory.rate": np.empty(0)})),
    "below zero": ("OptDual", lambda about, arrays: arrays["memory.rate"].fill(-1.0)),
    "no number": ("OptPrimalDual", lambda about, arrays: arrays["memory.settings"].fill(np.nan)),
    "too few": (
        "OptPrimalDual",
        lambda about, arrays: arrays.update({"memory.settings": np.ones(2)}),
    ),
    "no tolerance": ("OptCMDP", lambda about, arrays: arrays["memory.tolerance"].fill(0.0)),
    "no multipliers": ("OptDual", lambda about, arrays: arrays.pop("memory.lam")),
    "no decision": ("OptDual", lambda about, arrays: arrays.pop("move.choice")),
    "half a column": ("OptCMDP", lambda about, arrays: arrays["memory.columns.tally"].fill(-1)),
    "no flag": ("OptDual", lambda about, arrays: arrays["move.facts"].fill(0.5)),
    "no facts": ("OptDual", lambda about, arrays: arrays.update({"move.facts": np.ones(3)})),
    "another learner": ("OptDual", lambda about, arrays: about["kept"].update(algorithm="OptCMDP")),
    "a reference": ("OptDual", lambda about, arrays: about["kept"].update(algorithm="uniform")),
    "an import": ("OptDual", lambda about, arrays: about["kept"].update(algorithm="this:Zen")),
    "no progress": ("OptDual", lambda about, arrays: about.pop("kept")),
}


@pytest.mark.parametrize(("algorithm", "change"), CHANGES.values(), ids=CHANGES)
def test_a_corrupt_file_of_version_0_1_is_refused(algorithm, change):
    about, arrays = unpacked((OLD / f"{algorithm}-planned.npz").read_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(about, arrays)
    with pytest.raises(tr.StoreError) as caught:
        tr.InteractiveLearner.from_bytes(packed(about, arrays))
    assert "\n" not in str(caught.value)
