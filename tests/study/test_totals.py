"""Sums of an episode: means and bands by the textbook."""

from __future__ import annotations

import json

import numpy as np
import pytest

from telling import episode, shape
from tightrope.study.ledger import Row
from tightrope.study.study import totals_of
from tightrope.study.telling import entry_of

TERMS = shape()


def rows(n):
    task = TERMS.task()
    for k in range(n):
        yield Row(k + 1, f"day {k}", entry_of(episode(k), TERMS, task).content, None, "now")


def test_means_and_margins_are_those_of_all_sums_at_once():
    found, last = totals_of(rows(25), TERMS)
    contents = [json.loads(row.content) for row in rows(25)]
    sums = np.array([[np.sum(c["cost"]), *np.sum(c["constraint_cost"], axis=1)] for c in contents])
    np.testing.assert_allclose([total.mean for total in found], sums.mean(axis=0), rtol=1e-12)
    margins = 1.96 * sums.std(axis=0, ddof=1) / 5  # the root of 25
    np.testing.assert_allclose([total.margin for total in found], margins, rtol=1e-12)
    assert [total.name for total in found] == ["cost", "wear", "noise"]
    assert last.episode == "day 24"


def test_a_single_episode_has_no_band_and_none_has_no_mean():
    found, _ = totals_of(rows(1), TERMS)
    assert found[0].mean == pytest.approx(sum(episode(0).cost))
    assert found[0].margin == np.inf
    assert totals_of(rows(0), TERMS)[1] is None
