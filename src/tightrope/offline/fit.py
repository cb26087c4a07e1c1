"""fit: plan a policy from logged episodes, with the coverage of the log.

Confidence sets hold for data collected by any policies that did not know the outcomes in advance,
so plans of learners and bounds on policies mean the same as for data of the learner itself. Regret
bounds apply only to the learner's own episodes.

The radii are valid for a number of episodes fixed before the data were seen. If collection stopped
because of the data, use radii that do not depend on it (``any_time``).

The learners are optimistic and may take actions that were never tried; ``"certainty-equivalence"``
plans in the estimated model and takes only actions that were tried.

Bounds from the confidence sets hold for every policy at once, and need many episodes. With
``hold_out``, the policy is planned from the first episodes, and the last ones, which it does not
depend on, bound the values of this policy alone (`tightrope.offline.replay`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from scipy.sparse import csr_array

from tightrope.arrays import Bools, Floats, Ints, check_kind, flag, share, whole
from tightrope.belief.confidence import Confidence, as_confidence
from tightrope.errors import ConfigError
from tightrope.learners import CertaintyEquivalence, Learner, OptCMDP, as_learner
from tightrope.learners.baseline import BaselineLearner
from tightrope.learners.files import Labels
from tightrope.learners.interactive import InteractiveLearner, absorb_scaled, learner
from tightrope.model import CMDP, Plan
from tightrope.model.draft import draft
from tightrope.offline.log import Log, cells_of, scale_budget, scaled_end, scaled_episodes, start_of
from tightrope.offline.replay import bound_average, bound_by_replay
from tightrope.plan.bound import Bounds
from tightrope.plan.solve import solve
from tightrope.text import counted

EMPIRICAL = CertaintyEquivalence.name


@final
@dataclass(frozen=True)
class Coverage:
    """Coverage of a log, without the state of finished episodes.

    Parameters
    ----------
    visits : (H, S, A) array
        How often each action was taken in each state at each stage.
    exists : (H, S, A) booleans
        Actions that exist.

    Examples
    --------
    >>> import tightrope as tr
    >>> log = tr.simulate("ring", [[0.0, 1.0]] * 3, episodes=5, seed=0)
    >>> coverage = tr.fit(log, {"moves": 6.0}, algorithm="certainty-equivalence").coverage
    >>> coverage
    Coverage(6 of 36 (stage, state, action) seen, 0 states never seen)
    """

    visits: Ints  # (H, S, A)
    exists: Bools  # (H, S, A)

    @property
    def states_seen(self) -> Ints:
        """Number of states that occurred at each stage, (H,)."""
        return np.asarray(self.visits.any(axis=2).sum(axis=1))

    @property
    def pairs_seen(self) -> Ints:
        """Number of pairs (state, action) that occurred at each stage, (H,)."""
        return np.asarray((self.visits > 0).sum(axis=(1, 2)))

    @property
    def untried(self) -> Ints:
        """Number of actions never taken in a state that occurred, by stage, (H,)."""
        occurred = self.visits.any(axis=2, keepdims=True)
        return np.asarray((occurred & self.exists & (self.visits == 0)).sum(axis=(1, 2)))

    @property
    def unseen_states(self) -> list[int]:
        """States in which no action was ever taken."""
        is_possible = self.exists.any(axis=(0, 2))
        return [int(s) for s in np.flatnonzero(is_possible & ~self.visits.any(axis=(0, 2)))]

    @property
    def unseen_pairs(self) -> list[tuple[int, int]]:
        """Actions never taken, at any stage, in a state that occurred."""
        occurred: Bools = np.asarray(self.visits.any(axis=(0, 2)))
        never = occurred[:, None] & self.exists.any(axis=0) & ~self.visits.any(axis=0)
        return [(int(s), int(a)) for s, a in np.argwhere(never)]

    @property
    def pooled(self) -> Coverage:
        """The coverage of all stages together, as a single stage."""
        exists: Bools = np.asarray(self.exists.any(axis=0, keepdims=True))
        return Coverage(self.visits.sum(axis=0, keepdims=True), exists)

    def __repr__(self) -> str:
        return f"Coverage({', '.join(self._facts)})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        return listing("Coverage", self._facts)

    @property
    def _facts(self) -> list[str]:
        n_pairs, seen = self.exists.sum(), self.pairs_seen.sum()
        unseen = counted(len(self.unseen_states), "state")
        return [f"{seen:,} of {n_pairs:,} (stage, state, action) seen", f"{unseen} never seen"]


@final
@dataclass(frozen=True)
class Fit:
    r"""A plan from logged episodes, with bounds on its policy, in the log's units.

    Parameters
    ----------
    log : Log
        The episodes.
    coverage : Coverage
        Which states and actions they cover.
    model : CMDP
        The estimated model, with the names and units of the log.
    learner : InteractiveLearner
        The learner after all episodes; it can observe more.
    plan : Plan
        The policy, and its values as planned.
    bounds : Bounds
        Lower and upper bounds on the costs of the policy, given the data.
    start_radius : float
        Largest L1 distance of the true start distribution from the assumed one; included in the
        bounds.
    average : Bounds
        Bounds on the average values of the policies that made the log; `Log.mean_totals` has the
        observed means.
    n_planned : int
        Number of first episodes that the policy was planned from.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("episode,step,state,action,next_state,cost\n1,0,a,go,a,0.5\n")
    ...     fit = tr.fit(tr.read_log(path), algorithm="certainty-equivalence")
    >>> fit.plan.value, fit.bounds.cost
    (0.5, array([0., 1.]))
    """

    log: Log
    coverage: Coverage
    model: CMDP
    learner: InteractiveLearner
    plan: Plan
    bounds: Bounds
    start_radius: float
    average: Bounds
    n_planned: int

    def __repr__(self) -> str:
        return f"Fit({self.plan.method}, {self.log!r}, {self.bounds!r})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import fit_card

        return fit_card(self)


def fit(
    log: Log,
    budget: Mapping[str, float] | None = None,
    algorithm: str | Learner | None = None,
    delta: float = 0.1,
    confidence: str | Mapping[str, Any] | Confidence = "tight",
    initial: Any = None,
    allowed: Any = None,
    stationary: bool = False,
    steps: int = 1000,
    more: int = 1,
    hold_out: float = 0.0,
    seed: int = 0,
    **options: Any,
) -> Fit:
    r"""Plan a policy from logged episodes.

    Parameters
    ----------
    log : Log
        From `read_log`. The number of its episodes enters the radii and must have been fixed
        independently of their outcomes; ``any_time`` in `confidence` removes this condition.
    budget : mapping of str to float, optional
        Largest expected total of an episode for each constraint, in the log's units.
    algorithm : str or Learner, optional
        A learner, or ``"certainty-equivalence"``, which plans in the estimated model and takes
        only actions that were tried. By default the latter if the process is stationary, else
        OptCMDP.
    delta : float
        Probability with which the confidence sets may fail.
    confidence : str, mapping or Confidence
        Radii of the confidence sets, see `Confidence`.
    initial : int, str or (S,) array, optional
        Start state, its name, or a distribution. By default the shares of the log, and
        bounds then include the error of these shares.
    allowed : (S, A) or (H, S, A) booleans, optional
        Actions that exist in a state.
    stationary : bool
        Whether the process is the same at every stage, so that counts are pooled over stages.
    steps : int
        Steps of a dual learner, whose plans are averaged.
    more : int
        Number of episodes that the learner may still observe; the radii cover these too.
    hold_out : float
        Share of the episodes, the last ones of the log, that are not planned from but bound the
        policy: much narrower bounds, which hold for this policy alone.
    seed : int
        Seed of the draws of actions with which held out episodes are replayed.
    **options
        Options of the learner by name: OptDual and OptPrimalDual need ``rho``, a bound on the
        multipliers for costs scaled to [0, 1] per step.

    Returns
    -------
    Fit
        The plan, with bounds on its policy and the coverage of the log.

    Raises
    ------
    InfeasibleError
        If no policy is within the budgets by the estimates (``"certainty-equivalence"`` only).

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> rows = ["episode,step,state,action,next_state,cost,cost_wear"]
    >>> for k in range(40):
    ...     action, cost, wear = [("run", 0.2, 0.5), ("stop", 1.0, 0.0)][k % 2]
    ...     rows.append(f"{k},0,on,{action},on,{cost},{wear}")
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("\n".join(rows))
    ...     fit = tr.fit(tr.read_log(path), {"wear": 0.25}, algorithm="certainty-equivalence")
    >>> fit.plan.policy.round(3)
    array([[[0.5, 0.5]]])
    >>> fit.bounds.verdicts
    ('undecided',)
    """
    check_kind("log", log, Log)
    stationary = flag("stationary", stationary)
    first = log if hold_out == 0 else log.part(0, _n_first(log, hold_out))
    start = first.starts if initial is None else start_of(log, initial)
    exists = _exists(log, allowed)
    limits = scale_budget(log, budget)
    model = empirical_model(first, limits, start, exists, stationary)
    if algorithm is None:
        algorithm = EMPIRICAL if stationary else OptCMDP.name
    chosen = as_learner(algorithm, options)
    is_empirical = isinstance(chosen, CertaintyEquivalence)
    if not chosen.can_learn:
        raise ConfigError.about("algorithm", more=f"{chosen.name!r} does not plan from data")
    if isinstance(chosen, BaselineLearner):
        raise ConfigError.about(
            "algorithm",
            more=f"{chosen.name} chooses between its plan and a baseline episode by episode, and "
            "a fit is one policy; fit OptCMDP, or tell the log to a study",
        )
    count, radii = whole("steps", steps), as_confidence(confidence)
    episodes = first.n_episodes + whole("more", more)
    # step sizes of dual learners depend on the number of steps
    pace = float(np.sqrt(episodes / count))
    steps_of = ("dual_step", "primal_step")
    paced = {name: pace * chosen.options[name] for name in steps_of if name in chosen.options}
    fitted = learner(
        OptCMDP() if is_empirical else replace(chosen, **paced),
        log.n_states,
        log.n_actions,
        log.horizon,
        limits,
        episodes,
        delta,
        replace(radii, pool=True) if stationary else radii,
        start,
        exists,
        stationary=stationary,
    )
    absorb_scaled(fitted, scaled_episodes(first), scaled_end(log))
    radius = start_radius(first, delta, radii.any_time) if initial is None else 0.0
    units = (log.cost_unit, *log.constraint_units)
    fitted.labels = Labels(tuple(log.state_names), tuple(log.action_names), units, radius)
    plan = replace(solve(model), method=EMPIRICAL) if is_empirical else fitted.settle(count)
    if hold_out == 0:
        bounds = replace(fitted.bound(plan.policy), constraint_names=log.constraint_names)
    else:
        rest = log.part(first.n_episodes, log.n_episodes)
        bounds = bound_by_replay(rest, plan.policy, budget, delta, initial, stationary, seed)
    seen, average = seen_in(log, allowed), bound_average(log, budget, delta)
    return Fit(log, seen, model, fitted, plan, bounds, radius, average, first.n_episodes)


def _n_first(log: Log, hold_out: Any) -> int:
    """Return the number of episodes that are not held out, at least one of each kind."""
    K = log.n_episodes
    n = K - round(share("hold_out", hold_out) * K)
    if not 0 < n < K:
        expected = f"a share that leaves some of the {K} episodes on both sides"
        raise ConfigError.about("hold_out", found=hold_out, expected=expected)
    return n


def seen_in(log: Log, allowed: Any = None) -> Coverage:
    """Return the coverage of a log, even if planning fails; ``allowed`` as for `fit`."""
    visits, exists = log.visits, _exists(log, allowed)
    if log.end is not None:
        visits[:, log.end.state] = 0
        exists[:, log.end.state] = False
    return Coverage(visits, exists)


def start_radius(log: Log, delta: float, any_time: bool = False) -> float:
    """Return a bound on the L1 distance of the true start distribution from that of the log.

    The radii leave a third of delta unused (the paper's share for visit counts), which is used
    here, for K episodes::

        P( |shares - true distribution|_1 >= e ) <= 2^S exp(-K e^2 / 2)

    With ``any_time`` it holds for every K at once, with weights 1 / (K (K + 1)). Zero only when
    there is a single state to start in.
    """
    S, K = log.n_states - (log.end is not None), log.n_episodes
    if S == 1:
        return 0.0
    weight = K * (K + 1) if any_time else 1
    return min(2.0, float(np.sqrt(2 * (S * np.log(2) + np.log(3 * weight / delta)) / K)))


def _exists(log: Log, allowed: Any) -> Bools:
    """Return which actions exist, (H, S, A); in the state of finished episodes only the first."""
    shape = (log.horizon, log.n_states, log.n_actions)
    mask = np.ones(shape, dtype=np.bool_)
    if allowed is not None:
        try:
            given = np.asarray(allowed)
        except ValueError as error:
            raise ConfigError.about("allowed", found=allowed, expected="booleans") from error
        rows = log.n_states if log.end is None else log.n_states - 1
        fits = given.dtype == np.bool_ and given.ndim in (2, 3)
        fits = fits and given.shape[-2:] in ((log.n_states, log.n_actions), (rows, log.n_actions))
        if not fits or (given.ndim == 3 and len(given) != log.horizon):
            axes = rows, log.n_actions
            raise ConfigError.about(
                "allowed",
                shown=f"{given.dtype} of shape {given.shape}",
                expected=f"booleans over {axes} or {(log.horizon, *axes)}",
            )
        mask[:, : given.shape[-2]] = given
    if log.end is not None:
        mask[:, log.end.state] = np.arange(log.n_actions) == 0
    return mask


def empirical_model(
    log: Log,
    budget: Floats,
    initial: Floats,
    allowed: Bools | None = None,
    stationary: bool = False,
) -> CMDP:
    """Return the estimated model of a log; if stationary, stages are pooled.

    In a state seen at a stage, only the actions tried there exist, so a plan in this model takes
    only tried actions. A state without actions in the log is absorbing with the greatest cost.
    Budgets are those of `scale_budget`.
    """
    H, S, A, I = log.horizon, log.n_states, log.n_actions, len(log.constraint_names)
    seen: Ints = log.visits.sum(axis=0, keepdims=True) if stationary else log.visits
    if log.end is not None:
        seen[:, log.end.state, 0] += 1
    exists = np.ones((H, S, A), dtype=np.bool_) if allowed is None else np.asarray(allowed)
    tried = exists & (seen > 0)
    stages = seen.shape[0]
    cells = cells_of(log, stages)
    totals = _totals(log, cells, seen.shape)
    costs = np.where(seen > 0, totals / np.maximum(seen, 1), 1.0)
    kernels = [_kernel(log, cells, h, stages, seen[h], S, A) for h in range(stages)]
    model = draft(
        kernels[0] if stationary else kernels,
        costs[0, 0] if stationary else costs[0],
        costs[1:, 0] if stationary else costs[1:],
        budget,
        H,
        initial,
        np.where(tried.any(axis=2, keepdims=True), tried, exists),
        state_names=log.state_names,
        action_names=log.action_names,
        constraint_names=log.constraint_names if I else None,
    )
    return CMDP.from_draft(model, log.cost_unit, log.constraint_units)


def _totals(log: Log, cells: Ints, shape: tuple[int, ...]) -> Floats:
    """Return sums of cost and constraint costs, (I+1, stages, S, A)."""
    size, episodes = int(np.prod(shape)), scaled_episodes(log)
    each = [episodes.cost, *np.moveaxis(episodes.constraint_cost, 1, 0)]
    sums = [np.bincount(cells.reshape(-1), cost.reshape(-1), size).astype(float) for cost in each]
    totals: Floats = np.stack(sums).reshape(len(each), *shape)
    end = scaled_end(log)
    if end is not None:
        totals[:, :, end.state, 0] += end.cost[:, None]
    return totals


def _kernel(log: Log, cells: Ints, h: int, stages: int, seen: Ints, S: int, A: int) -> csr_array:
    """Return shares of the successors at a stage; an unseen pair stays in its state."""
    here = slice(None) if stages == 1 else slice(h, h + 1)
    rows = (cells[:, here] - h * S * A).reshape(-1)
    successors = scaled_episodes(log).states[:, 1:][:, here].reshape(-1)
    unseen = np.flatnonzero(seen.reshape(-1) == 0)
    shares = np.concatenate((1.0 / seen.reshape(-1)[rows], np.ones(unseen.size)))
    rows = np.concatenate((rows, unseen))
    successors = np.concatenate((successors, unseen // A))
    if log.end is not None:
        row = log.end.state * A
        rows, successors = np.append(rows, row), np.append(successors, log.end.state)
        shares = np.append(shares, 1.0 / seen.reshape(-1)[row])
    return csr_array((shares, (rows, successors)), shape=(S * A, S))
