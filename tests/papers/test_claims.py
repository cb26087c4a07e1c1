"""The claims: parts that are experiments, and short versions of the same runs."""

from __future__ import annotations

import sys
from functools import cache

import reproduce
import tightrope as tr
from page import WORDS
from reproduce import CLAIMS
from tightrope.learners import PAPER, learner_names


@cache
def claims(is_quick=False):
    """Runs by part; to list them all takes seconds."""
    return reproduce.claims(is_quick)


def test_the_paper_is_measured_over_a_ladder_of_k_with_its_constants():
    growth = claims()["growth"]
    for environment in {spec.environment for spec in growth}:
        mine = [spec for spec in growth if spec.environment == environment]
        assert {spec.algorithm for spec in mine} == set(PAPER)
        for name in PAPER:
            episodes = {spec.episodes for spec in mine if spec.algorithm == name}
            assert sorted(episodes)[::6] == [10**4, 10**7]
        assert len({spec.seed for spec in mine}) == 20
    assert {spec.confidence.scale for spec in growth} == {1.0}
    assert {spec.confidence.transition for spec in growth} == {"bernstein"}


def test_the_league_has_every_registered_learner_on_nine_problems():
    league = claims()["league"]
    assert {spec.algorithm for spec in league} == set(learner_names("every"))
    assert len({spec.problem_id for spec in league}) >= 9
    cells = {spec.group: [] for spec in league}
    for spec in league:
        cells[spec.group].append(spec.seed)
    assert all(sorted(seeds) == list(range(1, 21)) for seeds in cells.values())
    assert {spec.confidence.is_heuristic for spec in league} == {False, True}


def test_scaled_radii_have_one_factor_for_all_learners():
    for part in ("constants", "league", "phase"):
        for spec in claims()[part]:
            found = spec.learner.radii(spec.confidence)
            if found.scale == 0.0:  # certainty equivalence
                continue
            is_smaller = part == "phase" and spec.algorithm == "UOpt-RPGPD"
            assert found.scale in {0.1, 0.2, 0.5, 1.0}
            assert found.scale_bonus == (0.01 if is_smaller else 1.0)


def test_runs_of_low_seeds_come_first_so_that_a_stopped_part_is_even():
    for specs in claims().values():
        assert [spec.seed for spec in specs] == sorted(spec.seed for spec in specs)


def test_the_short_versions_have_the_same_parts_problems_and_learners():
    full, quick = claims(), claims(is_quick=True)
    assert list(full) == list(quick)
    assert set(full) == set(WORDS)
    for part, specs in quick.items():
        kinds = {(spec.environment, spec.algorithm) for spec in specs}
        assert kinds == {(spec.environment, spec.algorithm) for spec in full[part]}
        assert sum(s.episodes for s in specs) * 20 < sum(s.episodes for s in full[part])


def test_learners_of_the_papers_folder_are_found_beside_the_claims():
    assert str(CLAIMS.parent) in sys.path
    assert any("ties" in spec.learner.options for spec in claims()["dope"])


def test_the_instances_are_the_first_twenty_seeds_that_are_accepted():
    sizes = {}  # a model of each size and seed, whichever learner
    for spec in (*claims()["instances"], *claims()["table"]):
        sizes.setdefault(spec.parameters["seed"], {})[spec.problem_id] = spec
    listed = list(sizes)
    kinds = [{**spec.parameters, "seed": 0} for spec in sizes[listed[0]].values()]
    assert len(kinds) == 13
    assert all([{**s.parameters, "seed": 0} for s in sizes[k].values()] == kinds for k in listed)
    for seed in (*listed[:3], 2, 8, 22):  # some that are accepted, and some that are not
        models = [tr.envs.build("random", **{**kind, "seed": seed}) for kind in kinds]
        slack = min(tr.slater(cmdp).slack / cmdp.horizon for cmdp in models)
        price = min(float(tr.solve(cmdp).multiplier.max()) for cmdp in models)
        assert (slack >= 0.015 and price >= 0.01) == (seed in listed)
    assert len(listed) == 20
