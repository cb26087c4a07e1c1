"""The claims: parts that are studies, and short versions of the same runs."""

from __future__ import annotations

from reproduce import claims
from tightrope.learners import PAPER


def test_the_paper_is_measured_with_its_constants_long_enough_and_often_enough():
    growth = claims()["growth"]
    assert len({str(spec.problem) for spec in growth}) == 4
    assert max(spec.parameters.get("n_constraints", 1) for spec in growth) > 1
    experiments = {(str(spec.problem), spec.episodes) for spec in growth}
    for experiment in experiments:
        mine = [spec for spec in growth if (str(spec.problem), spec.episodes) == experiment]
        assert len({spec.seed for spec in mine}) >= 20
        is_longest = mine[0].episodes == 30_000_000
        learners = {"OptDual", "OptPrimalDual"} if is_longest else set(PAPER)
        assert {spec.algorithm for spec in mine} == learners
    assert sorted(episodes for _, episodes in experiments)[-3:] == [10**7, 10**7, 3 * 10**7]
    assert {spec.confidence["scale"] for spec in growth} == {1.0}
    assert {spec.confidence["transition"] for spec in growth} == {"bernstein"}


def test_the_short_versions_have_the_same_parts_problems_and_learners():
    full, quick = claims(), claims(is_quick=True)
    assert list(full) == list(quick)
    for part, specs in quick.items():
        kinds = {(spec.environment, spec.algorithm, spec.method) for spec in specs}
        assert kinds == {(spec.environment, spec.algorithm, spec.method) for spec in full[part]}
        assert sum(s.episodes for s in specs) * 20 < sum(s.episodes for s in full[part])
