"""Simulations driven one episode at a time, learners that are told, and small models for both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import brute
import zoo
from tightrope.belief.bonus import BonusBelief, PessimisticBonus
from tightrope.belief.confidence import as_confidence
from tightrope.belief.episode import Episode
from tightrope.experiments.job import begin_run
from tightrope.experiments.run import make_run, run_in_units
from tightrope.experiments.simulate import Simulation
from tightrope.learners import LEARNERS, PAPER, find_learner
from tightrope.learners.interactive import learner
from tightrope.learners.oracle import Oracle
from tightrope.learners.references import FixedPolicy
from tightrope.model import CMDP

__all__ = [
    "ALGORITHMS",
    "KNOWN",
    "SCALES",
    "Step",
    "curves",
    "dense",
    "driven",
    "given_options",
    "instance",
    "own_options",
    "scale_for",
    "simulate_spec",
    "successors_of",
    "told",
    "walk",
]


def scale_for(kind):
    """A scale of the radii with which constraints bind and policies move within a few episodes."""
    return 0.0005 if kind.belief in (BonusBelief, PessimisticBonus) else 0.02


ALGORITHMS = PAPER
SCALES = {name: scale_for(LEARNERS[name]) for name in PAPER}
KNOWN = {"scale": 0.0, "known_costs": True}  # a confidence that leaves nothing to believe


class Step(NamedTuple):
    """One episode of a simulation: what was planned, and what then happened."""

    policy: np.ndarray  # (H, S, A)
    value: np.ndarray  # (I+1,) planned
    lam: np.ndarray  # (I,)
    note: np.ndarray  # gap, bound, sweeps, ...
    episode: Episode


def instance(seed, S=3, A=2, H=3, I=1, *, tightness=0.5, noise="beta", **kind):
    """A random model whose budgets bind: between what cheap and what safe policies spend.

    Observed costs have a density by default, so that estimates do not tie by chance.
    """
    free = zoo.random_cmdp(np.random.default_rng(seed), S, A, H, I, **kind)
    points = brute.points(free)
    cheapest = points[points[:, 0].argmin(), 1:]
    safest = points[points[:, 1:].sum(axis=1).argmin(), 1:]
    return CMDP(
        free.transition,
        free.cost[0] if kind.get("is_stationary") else free.cost,
        free.constraint_cost[:, 0] if kind.get("is_stationary") else free.constraint_cost,
        (1 - tightness) * cheapest + tightness * safest,
        H,
        free.initial,
        free.allowed,
        noise,
    )


def driven(
    cmdp,
    algorithm,
    K,
    *,
    confidence="faithful",
    rho=2.0,
    seed=0,
    policy=None,
    audits_visits=False,
    **options,
):
    """A simulation before its first episode."""
    kind = find_learner(algorithm)
    own = own_options(algorithm, {"rho": rho, **options})
    learns = FixedPolicy(policy)
    if policy is None:
        learns = kind.from_options(own).resolve(Oracle(cmdp))
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    radii = as_confidence(confidence)
    return Simulation(cmdp, learns, K, 0.0, rng, 0.1, radii, audits_visits)


def simulate_spec(spec, cmdp):
    """The run of a spec, all at once."""
    simulation = begin_run(spec, cmdp, Oracle(cmdp))
    simulation.advance(spec.episodes)
    run = make_run(simulation, spec.learner, spec.seed, spec.delta, 1.0)
    return run_in_units(run, cmdp)


def own_options(algorithm, options):
    """Those options that the learner has."""
    names = [each.name for each in find_learner(algorithm).option_fields()]
    return {name: options[name] for name in names if name in options}


def given_options(cmdp, algorithm):
    """Options of a learner that is not told the true model: numbers and policies, no rules."""
    found = own_options(algorithm, {"rho": 2.0, "baseline": "least-use", "bound": "exact"})
    if "baseline" in found:
        safe = find_learner(algorithm).from_options(found).resolve(Oracle(cmdp))
        found |= {"baseline": safe.policy, "bound": ",".join(map(repr, safe.use.tolist()))}
    return found


def told(cmdp, algorithm, K, confidence="faithful", **more):
    """A learner for K episodes that is told a model's sizes, start and budgets."""
    given = {
        **given_options(cmdp, algorithm),
        "initial": cmdp.initial,
        "allowed": cmdp.allowed,
        **more,
    }
    return learner(
        algorithm,
        cmdp.n_states,
        cmdp.n_actions,
        cmdp.horizon,
        cmdp.budget,
        K,
        confidence=confidence,
        **given,
    )


def walk(simulation, n_episodes):
    """Advance episode by episode, yielding each."""
    for _ in range(n_episodes):
        simulation.advance(1)
        decision, trace = simulation.agent.decision, simulation.world.steps
        yield Step(
            decision.policy,
            decision.value.copy(),
            decision.lam.copy(),
            decision.note.copy(),
            Episode(
                trace.states.copy(),
                trace.actions.copy(),
                trace.cost.copy(),
                trace.constraint_cost.T.copy(),
            ),
        )


def curves(run):
    """All of a run that has an entry for each recorded episode, as one array."""
    r = run.regret
    each = [run.episode, r["cost"], r["cost_plus"], run.violations]
    wide = [r["constraint"], r["constraint_plus"], run.excess, run.multiplier]
    return np.column_stack((*each, *wide))


def successors_of(cmdp):
    """Possible successors of a model, (S, A, S), at any stage."""
    H = cmdp.horizon
    return (brute.by_stages(cmdp.transition, H, 4) > 0).any(axis=0)


def dense(counts, entries, others=0.0):
    """Entries of a pattern (G, E) as (G, S*A, S), with ``others`` (by row) where none is listed."""
    G, rows = counts.visits.shape
    S = int(counts.indices.max()) + 1
    out = np.array(np.broadcast_to(np.asarray(others)[..., None], (G, rows, S)), dtype=float)
    for g in range(G):
        for row in range(rows):
            at = slice(counts.indptr[g, row], counts.indptr[g, row + 1])
            out[g, row, counts.indices[g, at]] = entries[g, at]
    return out
