"""Specs: what decides a run, what it is called, and the luck it meets."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tightrope.errors import ModelError
from tightrope.experiments.spec import RunSpec, spec_of

RING = {"environment": "ring", "algorithm": "OptDual", "episodes": 100}


def test_defaults_are_filled_in_and_the_same_meaning_is_the_same_run():
    plain = spec_of(RING)
    assert plain.parameters == {"horizon": 6, "budget": 3.0}
    assert plain.confidence["transition"] == "bernstein"
    full = RING | {
        "parameters": {"budget": 3},
        "confidence": {"mode": "faithful", "scale": 1},
        "delta": 0.1,
        "seed": 0,
    }
    assert spec_of(full) == plain
    assert spec_of(full).id == plain.id
    assert spec_of(json.loads(plain.to_json())).id == plain.id


@pytest.mark.parametrize(
    "change",
    [
        {"episodes": 101},
        {"seed": 1},
        {"algorithm": "OptCMDP"},
        {"delta": 0.2},
        {"confidence": "tight"},
        {"confidence": {"scale": 0.5}},
        {"rho": 3.0},
        {"rho": "paper"},
        {"parameters": {"horizon": 7}},
        {"budget": {"cost": 2.0}},
        {"dual_step": 2.0},
        {"audit_visits": True},
        {"points": 100},
        {"luck": "own"},
        {"model": "sha256:00"},
    ],
    ids=str,
)
def test_whatever_decides_a_run_changes_its_id(change):
    assert spec_of(RING | change).id != spec_of(RING).id


def test_runs_that_differ_in_their_seed_belong_together():
    assert spec_of(RING | {"seed": 1}).group == spec_of(RING | {"seed": 2}).group
    assert spec_of(RING | {"delta": 0.2}).group != spec_of(RING).group


def luck_of(spec):
    return spec.generator().integers(2**63, size=4).tolist()


def test_luck_is_shared_by_learners_and_options_but_not_by_seeds_and_models():
    luck = luck_of(spec_of(RING))
    for change in ({"algorithm": "OptCMDP"}, {"episodes": 7}, {"confidence": "tight"}):
        assert luck_of(spec_of(RING | change)) == luck
    for change in ({"seed": 1}, {"parameters": {"horizon": 7}}, {"environment": "ring-uniform"}):
        assert luck_of(spec_of(RING | change)) != luck
    own = [luck_of(spec_of(RING | {"luck": "own", "algorithm": a})) for a in ("OptDual", "OptCMDP")]
    assert len({str(each) for each in (luck, *own)}) == 3


def test_nothing_depends_on_what_a_model_file_is_called():
    first, second = (
        spec_of(RING | {"environment": name, "model": "sha256:abc", "parameters": {}})
        for name in ("a.toml", "b.toml")
    )
    assert (first.id, first.group, luck_of(first)) == (second.id, second.group, luck_of(second))
    other = spec_of(RING | {"environment": "a.toml", "model": "sha256:abd", "parameters": {}})
    assert other.id != first.id


def test_ids_and_luck_do_not_depend_on_the_process():
    code = (
        "from tightrope.experiments.spec import spec_of; "
        f"s = spec_of({RING!r}); print(s.id, s.generator().integers(2**63, size=4).tolist())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    spec = spec_of(RING)
    assert told.stdout.strip() == f"{spec.id} {luck_of(spec)}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"episods": 5},
            r"unknown field 'episods', did you mean 'episodes'\? \(fields: environment",
        ),
        ({"environment": "rin"}, "'rin' is unknown, did you mean 'ring'"),
        ({"parameters": {"slip": 1}}, "parameter 'slip' of ring is unknown"),
        ({"parameters": {"horizon": "long"}}, "horizon is 'long', expected a whole number"),
        ({"parameters": 3}, "parameters: 3, "),
        ({"algorithm": "OptDul"}, "did you mean 'OptDual'"),
        ({"algorithm": 3}, "algorithm: 3, "),
        ({"episodes": 0}, "episodes: 0, expected a whole number of at least 1"),
        ({"episodes": 2.5}, r"episodes: 2\.5, expected a whole number"),
        ({"delta": 1}, r"delta: 1, expected a number in \(0, 1\)"),
        ({"confidence": {"scal": 1}}, "unknown option 'scal', did you mean 'scale'"),
        ({"confidence": "tigth"}, "'tigth', expected 'faithful' or 'tight'"),
        ({"rho": "papers"}, r"rho: 'papers', expected a number or one of .*did you mean 'paper'\?"),
        ({"rho": -1}, "rho: -1, expected a positive number"),
        ({"budget": {"cost": "much"}}, r"budget\.cost: 'much', "),
        ({"budget": 2.0}, r"budget: 2\.0, expected a table"),
        ({"method": "lpp"}, r"method: 'lpp', expected one of 'columns', 'lp', did you mean 'lp'\?"),
        ({"luck": "ownn"}, r"luck: 'ownn', expected one of 'shared', 'own', did you mean 'own'\?"),
        ({"confidence": {"mod": "tight"}}, "unknown option 'mod', did you mean 'mode'"),
        (
            {"environment": "a.npz", "model": "sha256:a", "parameters": {"horizon": 3}},
            r"parameters: a\.npz is a model file, which has none",
        ),
        ({"seed": -1}, "seed: -1, expected a whole number of at least 0"),
        ({"audit_visits": "yes"}, "audit_visits: 'yes', expected true or false"),
        ({"tolerance": 0}, "tolerance: 0, expected a positive number"),
    ],
)
def test_what_cannot_be_right_is_refused_by_name(change, message):
    with pytest.raises(ModelError, match=f"^spec: .*{message}"):
        spec_of(RING | change)


def test_what_is_missing_is_named():
    with pytest.raises(ModelError, match="spec: episodes: missing"):
        spec_of({"environment": "ring", "algorithm": "OptDual"})
    with pytest.raises(ModelError, match="spec: environment: missing"):
        spec_of({})


def test_a_spec_does_not_change():
    spec = spec_of(RING)
    with pytest.raises(Exception, match="frozen"):
        spec.seed = 3
    assert isinstance(spec, RunSpec)
