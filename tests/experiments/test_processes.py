"""Runs do not depend on the process they run in, nor on how many run beside them."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import tightrope as tr
from tightrope.envs import build


def bits(job):
    """A run's curves and last policy as bytes."""
    algorithm, seed = job
    options = {"rho": 4.0} if algorithm == "OptPrimalDual" else {}
    run = tr.learn(build("ring"), algorithm, 200, seed, confidence={"scale": 0.01}, **options)
    kept = [run.excess, run.multiplier, run.violations, run.policy, *run.regret.values()]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in kept)


@pytest.mark.parametrize("n_processes", [1, 3])
def test_the_same_seeds_give_the_same_bits_in_any_number_of_processes(n_processes):
    jobs = [(name, seed) for name in ("OptCMDP", "OptPrimalDual") for seed in (0, 1)]
    here = [bits(job) for job in jobs]
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        there = list(pool.map(bits, jobs))
    assert here == there
    assert len(set(here)) == len(jobs)
