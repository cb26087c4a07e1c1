"""Simulate a learner on a known model and return the run with its regrets and audit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tightrope.arrays import as_seed, check_callback, flag, share, whole
from tightrope.belief.confidence import Confidence, as_confidence
from tightrope.experiments.rows import OnRecord, rows_since
from tightrope.experiments.run import Run, make_run, run_in_units, trim_run
from tightrope.experiments.simulate import Simulation, advance_in_slices
from tightrope.kernels.draws import DEFAULT, new_generator
from tightrope.learners import as_learner
from tightrope.learners.base import Learner
from tightrope.learners.oracle import Oracle
from tightrope.model import CMDP
from tightrope.model.cmdp import as_cmdp
from tightrope.model.start import KNOWN, LEARNED, check_start, extend_model
from tightrope.model.task import simulated_task
from tightrope.progress import working_for

LOG = logging.getLogger(__name__)
SLICE = 0.2  # seconds of work between two reports


def learn(
    cmdp: CMDP | str,
    algorithm: str | Learner,
    episodes: int,
    seed: int | np.random.SeedSequence | None = 0,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "faithful",
    audit_visits: bool = False,
    average: bool = False,
    initial: str = KNOWN,
    points: int = 2000,
    progress: bool | Callable[[int], None] | None = None,
    on_record: OnRecord | None = None,
    generator: str = DEFAULT,
    **options: Any,
) -> Run:
    """Simulate a learner on a known CMDP and compute its exact regret.

    Parameters
    ----------
    cmdp : CMDP or str
        The true model, or its name in the catalog. The learner knows its sizes, budgets, start
        and allowed actions.
    algorithm : str or Learner
        A learner such as ``tr.learners.OptDual(rho=4.0)``, or its name; ``tr.learners.LEARNERS``
        lists the names, references such as ``"uniform"`` and ``"optimal"`` among them.
    episodes : int
        Number of episodes K; radii and step sizes depend on it.
    seed : int, SeedSequence or None
        Seed of the run's generator, None for a fresh one. The same seed gives the same results bit
        for bit; ``run.seed`` is a number that repeats the run.
    delta : float
        Probability with which the guarantees may fail.
    confidence : str, mapping or Confidence
        ``"faithful"``, ``"tight"`` or a table of options, see `Confidence`.
    audit_visits : bool
        Whether the visit-count event is audited too.
    average : bool
        Whether `Run.average_policy` is recorded, which costs a forward sweep per episode.
    initial : {"known", "learned"}
        Whether the learner knows the start distribution, or learns it in an extra stage before the
        first; policies do not have that stage.
    points : int
        About how many episodes to record.
    progress : bool or callable, optional
        Whether to show a bar if it takes longer than a second; by default only in notebooks. Or a
        function called from time to time with the number of episodes done.
    on_record : callable, optional
        Called with each recorded episode, in order, soon after it was simulated: a dict with the
        columns of `Run.to_pandas` that differ between episodes, those of constraints as dicts by
        constraint. Nothing that it does changes the run.
    generator : {"pcg64", "philox"}
        Source of randomness: NumPy's default, or the counter-based Philox, whose n-th number
        depends on the seed and n alone.
    **options
        Options of the learner, where it is given by name, such as ``rho`` or ``tolerance``.

    Returns
    -------
    Run
        Exact regrets at the recorded episodes, the last policy, the audit, in the units of the
        model.

    Examples
    --------
    >>> import tightrope as tr
    >>> run = tr.learn("ring", "OptCMDP", episodes=30, seed=1)
    >>> run.n_episodes, run.policy.shape
    (30, (6, 3, 2))
    >>> bool(run.regret["cost_plus"][-1] >= run.regret["cost"][-1])
    True

    A learner with its options, and the randomness of the same seed:

    >>> tr.learn("ring", tr.learners.OptDual(rho=4.0), episodes=30, seed=1).rho
    4.0

    Follow a run as it proceeds:

    >>> seen = []
    >>> run = tr.learn("ring", "uniform", episodes=30, on_record=seen.append)
    >>> len(seen), seen[-1]["episode"], sorted(seen[-1]["constraint_excess"])
    (30, 30, ['moves'])
    """
    model = as_cmdp(cmdp)
    if not isinstance(progress, bool):
        check_callback("progress", progress)
    check_callback("on_record", on_record)
    seed, episodes = as_seed("seed", seed), whole("episodes", episodes)
    given = learner = as_learner(algorithm, options)
    is_unknown = check_start("initial", initial) == LEARNED
    if is_unknown:
        learner = learner.begin_earlier(simulated_task(model, episodes, 0.5))
        model = extend_model(model)
    oracle = Oracle(model)
    delta, radii = share("delta", delta), as_confidence(confidence)
    simulation = Simulation(
        model,
        learner.resolve(oracle),
        episodes,
        oracle.optimum,
        new_generator(np.random.SeedSequence(seed), generator),
        delta,
        radii,
        flag("audit_visits", audit_visits),
        flag("average", average),
        whole("points", points),
    )
    times: list[tuple[int, float]] = []
    record, names, n_told = simulation.world.record, model.constraint_names, 0
    LOG.info("learn: %s, %d episodes, seed %d: started", given.name, episodes, seed)
    with working_for(progress, f"learning with {given.name}", "episodes") as work:

        def tick(done: int, size: int, seconds: float) -> bool:
            nonlocal n_told
            times.append((size, seconds))
            LOG.debug("learn: %s, seed %d: episode %d", given.name, seed, done)
            if on_record is not None:
                for row in rows_since(record, n_told, model.units, names):
                    on_record(row)
                n_told = record.n_recorded
            if work is not None:
                work.report(done, done / episodes)
            elif callable(progress):
                progress(done)
            return True

        advance_in_slices(simulation, episodes, SLICE, tick)
    # the first slice is one episode and may include compilation: timed like the others
    timed = times[1:] or times
    seconds = sum(took for _, took in timed) * episodes / sum(size for size, _ in timed)
    run = make_run(simulation, learner, seed, delta, seconds)
    if is_unknown:
        run = trim_run(run, given)
    LOG.info("learn: %s, seed %d: finished in %.2f s", given.name, seed, seconds)
    return run_in_units(run, model)
