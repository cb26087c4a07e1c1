"""Specs: what decides a run, its id, and its randomness."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, replace
from pathlib import Path

import pytest

from refusals import refuses
from tightrope.errors import ConfigError
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.learners import LEARNERS, OptCMDPBonusLP, OptCMDPLP, OptDual
from tightrope.learners.base import option

RING = {"environment": "ring", "algorithm": "OptDual", "episodes": 100}


def test_defaults_are_filled_in_and_the_same_meaning_is_the_same_run():
    plain = spec_of(RING)
    assert plain.parameters == {"horizon": 6, "budget": 3.0}
    assert plain.confidence.transition == "bernstein"
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
        {"common_random_numbers": False},
        {"model": "sha256:00"},
    ],
    ids=str,
)
def test_every_setting_of_a_run_changes_its_id(change):
    assert spec_of(RING | change).id != spec_of(RING).id


def test_runs_that_differ_in_their_seed_belong_together():
    assert spec_of(RING | {"seed": 1}).group == spec_of(RING | {"seed": 2}).group
    assert spec_of(RING | {"delta": 0.2}).group != spec_of(RING).group


def draws_of(spec):
    return spec.generator().integers(2**63, size=4).tolist()


EVERY_OPTION = {
    "environment": "ring",
    "parameters": {"horizon": 7, "budget": 2.5},
    "budget": {"cost": 2.0},
    "algorithm": "OptPrimalDual",
    "episodes": 321,
    "delta": 0.2,
    "confidence": {
        "transition": "kl",
        "tight_costs": True,
        "clip": True,
        "tight_bonus": True,
        "replan": "doubling",
        "pool": True,
        "known_costs": True,
        "known_support": True,
        "any_time": True,
        "scale": 0.5,
        "scale_cost": 0.25,
        "scale_transition": 0.75,
        "scale_bonus": 0.125,
    },
    "rho": 3.5,
    "dual_step": 2.0,
    "primal_step": 0.5,
    "audit_visits": True,
    "average": True,
    "seed": 11,
    "common_random_numbers": False,
    "points": 50,
}
FILE = {
    "environment": "shop.toml",
    "model": "sha256:" + 4 * "0123456789abcdef",
    "algorithm": "OptCMDP-bonus",
    "episodes": 50,
    "tolerance": 1e-6,
    "seed": 2,
}
OLD_LINES = Path(__file__).parent.parent / "data" / "experiment-0.1" / "specs.jsonl"
# ids name the runs in every experiment on disk, and draws decide their results: neither may change
FROZEN = {
    "defaults": (
        RING,
        (
            "b8555fdd1b494e3a",
            "b8555fdd1b494e3a",
            "9ba3be0d735edd99",
            [8967970796391500515, 629460382808355835],
        ),
    ),
    "own randomness": (
        RING | {"seed": 5, "common_random_numbers": False},
        (
            "61341e3aaa4ce208",
            "a5f8f459825dc8b1",
            "9ba3be0d735edd99",
            [2201320984448630757, 442873735913957941],
        ),
    ),
    "every option": (
        EVERY_OPTION,
        (
            "33f03646ad800bb0",
            "765985eaefd1268d",
            "53e0c0c2e69f79f8",
            [5577709147497566834, 993079544251807795],
        ),
    ),
    "model file": (
        FILE,
        (
            "83c889836a0f91ec",
            "db498022fd90c217",
            "fc4dc5ce4497bc20",
            [4409417475578550568, 797787261055613393],
        ),
    ),
    "linear program": (
        RING | {"algorithm": "OptCMDP", "method": "lp", "common_random_numbers": False},
        (
            "672e8859678d9d0c",
            "672e8859678d9d0c",
            "9ba3be0d735edd99",
            [5641538649985561833, 7806167254856697587],
        ),
    ),
    "reference": (
        RING | {"algorithm": "uniform", "common_random_numbers": False},
        (
            "dc0041e54a38b158",
            "dc0041e54a38b158",
            "9ba3be0d735edd99",
            [3092883394562874895, 8915599081644870650],
        ),
    ),
}


@pytest.mark.parametrize(("table", "expected"), FROZEN.values(), ids=FROZEN)
def test_ids_groups_and_draws_are_those_of_every_version(table, expected):
    spec = spec_of(table)
    assert (spec.id, spec.group, spec.problem_id, draws_of(spec)[:2]) == expected
    again = spec_of(json.loads(spec.to_json()))
    assert again == spec
    assert (again.id, again.group, again.problem_id, draws_of(again)[:2]) == expected


@pytest.mark.parametrize("name", ["kl_costs", "mixture"])
def test_options_of_the_confidence_added_later_count_only_where_they_are_set(name):
    table = RING | {"common_random_numbers": False}
    plain, unset, set_ = (
        spec_of(table | {"confidence": confidence})
        for confidence in ({}, {name: False}, {name: True})
    )
    assert (unset.id, draws_of(unset)) == (plain.id, draws_of(plain))
    assert set_.id != plain.id
    assert draws_of(set_) != draws_of(plain)
    assert spec_of(json.loads(set_.to_json())) == set_


OLD_IDS = [
    ("OptCMDP", "f0fd0641a27a305c"),
    ("OptCMDP-bonus", "25718904a8d09e25"),
    ("OptDual", "8652bf0fb2a1cb68"),
    ("OptPrimalDual", "0e91455b22029605"),
    ("uniform", "8ad4dd1608451816"),
    ("certainty-equivalence", "8771d1b1ce293806"),
    ("OptCMDP", "49fc0ce76bfe3eb9"),
    ("OptCMDP-bonus", "b7c09c63fcc8a549"),
    ("OptDual", "adf76c43792814dc"),
    ("OptPrimalDual", "8ac1d42d5ae375b9"),
    ("uniform", "c428a2ddf6583a45"),
    ("certainty-equivalence", "19ef42433a521652"),
]


def test_runs_planned_by_version_0_1_keep_their_ids():
    lines = OLD_LINES.read_text().splitlines()
    specs = [spec_of(json.loads(line)) for line in lines]
    assert [(spec.algorithm, spec.id) for spec in specs] == OLD_IDS
    runs = {path.name for path in (OLD_LINES.parent / "runs").iterdir()}
    assert runs == {spec.id for spec in specs}
    for spec, line in zip(specs, lines, strict=True):
        again = spec_of(json.loads(spec.to_json()))
        assert (again.id, again) == (spec.id, spec)
        # planned today the run has another id, and the same group and randomness
        today = spec_of({name: v for name, v in json.loads(line).items() if name != "method"})
        assert today == spec
        assert (today.id, today.content_id) == (spec.content_id, spec.content_id)
        assert (today.group, draws_of(today)) == (spec.group, draws_of(spec))


# as version 0.1 wrote it: options of all learners, whether the run's own learner has them or not
OLD_SEPARATE = (
    '{"environment":"ring","parameters":{"horizon":6,"budget":3.0},"model":"","budget":{},'
    '"algorithm":"OptCMDP","episodes":100,"delta":0.1,"confidence":{"transition":"bernstein",'
    '"tight_costs":false,"clip":false,"tight_bonus":false,"replan":"always","pool":false,'
    '"known_costs":false,"known_support":false,"any_time":false,"scale":1.0,"scale_cost":null,'
    '"scale_transition":null,"scale_bonus":1.0},"rho":3.0,"dual_step":1.0,"primal_step":1.0,'
    '"tolerance":1e-8,"method":"columns","audit_visits":false,"seed":0,"luck":"own","points":2000}'
)


def test_common_random_numbers_are_read_under_their_name_of_version_0_1():
    for choice, common in (("shared", True), ("own", False)):
        table = json.loads(spec_of(RING | {"common_random_numbers": common}).to_json())
        assert "luck" not in table
        assert table.pop("common_random_numbers") is common
        old = spec_of(table | {"luck": choice})
        assert old == spec_of(RING | {"common_random_numbers": common})
    with pytest.raises(ConfigError) as caught:
        spec_of(RING | {"luck": "own", "common_random_numbers": False})
    assert caught.value.argument == "common_random_numbers"


def test_a_run_of_version_0_1_keeps_randomness_that_is_not_shared():
    spec = spec_of(json.loads(OLD_SEPARATE))
    expected = [3322873583800981004, 7967539013269568055, 6134073988070274488]
    for each in (spec, spec_of(json.loads(spec.to_json()))):
        assert each.id == "2291ac87c73ce04e"
        assert draws_of(each)[:3] == expected


@pytest.mark.parametrize("origin", ["2291ac87c73ce04e", "../" * 16 + "0" * 16, "G" * 64, 3, None])
def test_an_origin_that_is_no_hash_is_refused(origin):
    with pytest.raises(ConfigError, match=r"^spec: origin: "):
        spec_of(json.loads(spec_of(RING).to_json()) | {"origin": origin})


@dataclass(frozen=True)
class LaterDual(OptDual):
    """OptDual of a later version, with one more option."""

    patience: float = option(4.0, "Of a later version.")


@pytest.mark.parametrize("common", [True, False])
def test_an_option_that_is_added_later_changes_nothing_where_it_is_not_used(monkeypatch, common):
    table = RING | {"rho": 3.0, "common_random_numbers": common}
    spec = spec_of(table)
    now = spec.id, spec.group, draws_of(spec)
    monkeypatch.setitem(LEARNERS, "OptDual", LaterDual)
    later = spec_of(table)
    assert later.to_table()["options"]["patience"] == 4.0
    assert (later.id, later.group, draws_of(later)) == now
    assert spec_of(table | {"patience": 4.0}).id == now[0]
    used = spec_of(table | {"patience": 5.0})
    assert used.id != now[0]
    assert (draws_of(used) == now[2]) == common


def test_the_method_lp_is_the_learner_of_linear_programs():
    spec = spec_of(RING | {"algorithm": "OptCMDP", "method": "lp"})
    assert spec.learner == OptCMDPLP()
    assert spec == spec_of(RING | {"algorithm": "OptCMDP-lp"})
    bonus = spec_of(RING | {"algorithm": "OptCMDP-bonus", "method": "lp"})
    assert bonus.learner == OptCMDPBonusLP()
    own = [replace(each, common_random_numbers=False) for each in (spec, bonus)]
    assert str(draws_of(own[0])) != str(draws_of(own[1]))
    with refuses(ConfigError, "not for OptDual", argument="method", found="lp"):
        spec_of(RING | {"method": "lp"})


def test_random_numbers_are_shared_by_learners_and_options_but_not_by_seeds_and_models():
    shared = draws_of(spec_of(RING))
    for change in ({"algorithm": "OptCMDP"}, {"episodes": 7}, {"confidence": "tight"}):
        assert draws_of(spec_of(RING | change)) == shared
    for change in ({"seed": 1}, {"parameters": {"horizon": 7}}, {"environment": "ring-uniform"}):
        assert draws_of(spec_of(RING | change)) != shared
    own = [
        draws_of(spec_of(RING | {"common_random_numbers": False, "algorithm": a}))
        for a in ("OptDual", "OptCMDP")
    ]
    assert len({str(each) for each in (shared, *own)}) == 3


def test_nothing_depends_on_what_a_model_file_is_called():
    first, second = (
        spec_of(RING | {"environment": name, "model": "sha256:abc", "parameters": {}})
        for name in ("a.toml", "b.toml")
    )
    assert (first.id, first.group, draws_of(first)) == (second.id, second.group, draws_of(second))
    other = spec_of(RING | {"environment": "a.toml", "model": "sha256:abd", "parameters": {}})
    assert other.id != first.id


def test_ids_and_random_numbers_do_not_depend_on_the_process():
    code = (
        "from tightrope.experiments.spec import spec_of; "
        f"s = spec_of({RING!r}); print(s.id, s.generator().integers(2**63, size=4).tolist())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    spec = spec_of(RING)
    assert told.stdout.strip() == f"{spec.id} {draws_of(spec)}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"episods": 5},
            "did you mean 'episodes'",
        ),
        ({"environment": "rin"}, "did you mean 'ring'"),
        ({"parameters": {"slip": 1}}, "'slip' of ring is unknown"),
        ({"parameters": {"horizon": "long"}}, ("horizon", "long", "a whole number")),
        ({"parameters": 3}, ("parameters", 3, "a table")),
        ({"algorithm": "OptDul"}, "did you mean 'OptDual'"),
        ({"algorithm": 3}, ("algorithm", 3, "a word")),
        ({"episodes": 0}, ("episodes", 0, "a whole number of at least 1")),
        ({"episodes": 2.5}, ("episodes", 2.5, "a whole number of at least 1")),
        ({"delta": 1}, ("delta", 1, "a number in (0, 1)")),
        ({"confidence": {"scal": 1}}, "did you mean 'scale'"),
        (
            {"confidence": "tigth"},
            ("confidence", "tigth", "'faithful' or 'tight' or a table of options"),
        ),
        ({"rho": "papers"}, "^spec: rho: .*mean 'paper'"),
        ({"rho": -1}, ("rho", -1, "a positive number")),
        ({"budget": {"cost": "much"}}, ("budget.cost", "much", "a number")),
        ({"budget": 2.0}, ("budget", 2.0, "a table of constraints and numbers")),
        ({"method": "lpp"}, "^spec: method: .*mean 'lp'"),
        ({"common_random_numbers": "own"}, ("common_random_numbers", "own", "true or false")),
        ({"luck": "ownn"}, "^spec: luck: .*mean 'own'"),
        ({"confidence": {"mod": "tight"}}, "did you mean 'mode'"),
        (
            {"environment": "a.npz", "model": "sha256:a", "parameters": {"horizon": 3}},
            r"parameters: a\.npz is a model",
        ),
        ({"seed": -1}, ("seed", -1, "a whole number of at least 0")),
        ({"audit_visits": "yes"}, ("audit_visits", "yes", "true or false")),
        ({"tolerance": 0}, ("tolerance", 0, "a positive number")),
    ],
)
def test_invalid_values_are_refused_by_name(change, said):
    with refuses(ConfigError, said) as caught:
        spec_of(RING | change)
    assert str(caught.value).startswith("spec: ")


def test_what_is_missing_is_named():
    with pytest.raises(ConfigError, match="spec: episodes: missing"):
        spec_of({"environment": "ring", "algorithm": "OptDual"})
    with pytest.raises(ConfigError, match="spec: environment: missing"):
        spec_of({})


def test_a_spec_does_not_change():
    spec = spec_of(RING)
    with pytest.raises(FrozenInstanceError):
        spec.seed = 3
    assert isinstance(spec, RunSpec)
