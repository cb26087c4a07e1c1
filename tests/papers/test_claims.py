"""The claims: parts that are experiments, and short versions of the same runs."""

from __future__ import annotations

import sys
from functools import cache

import reproduce
from page import WORDS
from reproduce import CLAIMS
from tightrope.learners import LEARNERS, PAPER


@cache
def claims(is_quick=False):
    """Runs by part; to list them all takes seconds."""
    return reproduce.claims(is_quick)


def test_the_paper_is_measured_over_a_ladder_of_k_with_its_constants():
    growth = claims()["growth"]
    for environment in {spec.environment for spec in growth}:
        mine = [spec for spec in growth if spec.environment == environment]
        assert {spec.algorithm for spec in mine} == set(PAPER)
        assert sorted({spec.episodes for spec in mine})[::6] == [10**4, 10**7]
        assert len({spec.seed for spec in mine}) == 20
    assert {spec.confidence.scale for spec in growth} == {1.0}
    assert {spec.confidence.transition for spec in growth} == {"bernstein"}


def test_the_league_has_every_registered_learner_on_nine_problems():
    league = claims()["league"]
    assert {spec.algorithm for spec in league} == set(LEARNERS) - {"OptCMDP-lp"}
    assert len({spec.problem_id for spec in league}) >= 9
    cells = {spec.group: [] for spec in league}
    for spec in league:
        cells[spec.group].append(spec.seed)
    assert all(sorted(seeds) == list(range(1, 21)) for seeds in cells.values())
    assert {spec.confidence.is_heuristic for spec in league} == {False, True}


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
