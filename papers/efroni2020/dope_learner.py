"""OptCMDP with rules of the DOPE repository: at unreached states, and among tied plans."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tightrope.arrays import Floats, Ints, Problem, check_choice
from tightrope.kernels.columns import Columns
from tightrope.kernels.compiled import compiled
from tightrope.learners.base import Decision, option
from tightrope.learners.opt_cmdp import OptCMDP, PlanState
from tightrope.learners.opt_cmdp import step as plan
from tightrope.learners.python_learner import PythonLearner
from tightrope.model.base import writable_problem
from tightrope.model.cmdp import as_cmdp
from tightrope.model.task import Task


class UniformState(NamedTuple):
    """The fields of `PlanState`; the class of the state picks the step."""

    columns: Columns
    budget: Floats
    q: Floats
    flow: Floats
    reach: Floats
    settings: Any

    @staticmethod
    def stored() -> tuple[str, ...]:
        """Fields that files hold."""
        return PlanState.stored()


@compiled
def step(
    problem: Problem, state: UniformState, rng: np.random.Generator, decision: Decision
) -> None:
    """Plan as OptCMDP; play all allowed actions alike where the plan has no occupancy."""
    plan(problem, state, rng, decision)  # type: ignore[arg-type]  # the same fields
    H, S, A = state.q.shape
    for h in range(H):
        for s in range(S):
            reached, n_allowed = 0.0, 0.0
            for a in range(A):
                reached += state.q[h, s, a]
                n_allowed += is_allowed(problem, h, s, a)
            if reached == 0.0:
                for a in range(A):
                    decision.pi[h, s, a] = is_allowed(problem, h, s, a) / n_allowed


@compiled
def is_allowed(problem: Problem, h: int, s: int, a: int) -> float:
    """1 if an action is allowed, else 0."""
    layers = problem.allowed.shape[0]
    if layers == 0:
        return 1.0
    return 1.0 if problem.allowed[min(h, layers - 1), s, a] else 0.0


@dataclass(frozen=True)
class UniformOptCMDP(OptCMDP):
    """OptCMDP that plays uniformly at unreached states, as the DOPE repository does.

    Parameters
    ----------
    tolerance : float
        Relative gap of a plan.
    """

    name: ClassVar[str] = "OptCMDP-uniform"
    group: ClassVar[str] = "other"
    state: ClassVar[type] = UniformState
    step = staticmethod(step)  # type: ignore[assignment]  # of its own state

    def init(self, task: Task, problem: Problem) -> UniformState:  # type: ignore[override]
        """State before the first episode."""
        return UniformState(*super().init(task, problem))


TIES = ("simplex", "frugal", "random")
NUDGE = 1e-6  # of a cost, to choose among plans of the same cost


def check_ties(name: str, value: Any) -> str:
    """One of `TIES`."""
    return check_choice(name, value, TIES)


@dataclass(frozen=True)
class TiedOptCMDP(PythonLearner):
    """OptCMDP as in the DOPE repository, with a choice among plans of the same optimistic cost.

    It knows costs and possible successors of a problem of the catalog, counts over all stages, has
    that code's logarithm ln(6 S^2 H K / delta), and plays uniformly at unreached states. The linear
    program is solved by HiGHS.

    Parameters
    ----------
    problem : str
        Name in the catalog.
    K : int
        Number of episodes in the logarithm; delta is 0.01.
    ties : {"simplex", "frugal", "random"}
        The vertex that the dual simplex method of HiGHS finds; least use of the budget; or the
        least of small random costs.
    """

    problem: str = "inventory"
    K: int = 1_000_000
    ties: str = option("simplex", "Which of the plans of least cost to take.", check_ties)

    name: ClassVar[str] = "OptCMDP-ties"

    def plan(self, data: Any, rng: np.random.Generator) -> Floats:
        """The plan, as a policy (H, S, A)."""
        program = extended_program(self.problem)
        task, (s, a, t) = self.task, program.entries
        visits = data.visits.sum(axis=0)[s, a]
        share = data.transitions.sum(axis=0)[s, a, t] / np.maximum(visits, 1)
        L = np.log(6 * task.n_states**2 * task.horizon * self.K / 0.01)
        n = np.maximum(visits, 1)
        radius = np.minimum(1, 2 * np.sqrt(share * (1 - share) * L / n) + 14 * L / (3 * n))
        low = np.where(visits > 0, np.clip(share - radius, 0, 1), 0.0)
        high = np.where(visits > 0, np.clip(share + radius, 0, 1), 1.0)
        nudge = {
            "simplex": np.zeros(program.cost.size),
            "frugal": program.constraint_cost,
            "random": rng.random(program.cost.size),
        }[self.ties]
        q = program.solve(low, high, NUDGE * nudge)
        policy = np.where(q > CLEAN, q, 0.0)
        mass = policy.sum(axis=2, keepdims=True)
        uniform = task.allowed / task.allowed.sum(axis=2, keepdims=True)
        return np.where(mass > 0, policy / np.where(mass > 0, mass, 1.0), uniform)


CLEAN = 1e-10  # occupancy that counts as none


class Program(NamedTuple):
    """The extended linear program over z_h(s, a, t) of a stationary problem, one constraint."""

    entries: tuple[Ints, Ints, Ints]  # s, a, t of the E possible transitions
    sizes: tuple[int, int, int]  # H, S, A
    cost: Floats  # (H E,)
    constraint_cost: Floats  # (H E,)
    budget: float
    flow: Any  # (H S, H E) sparse, with its right side
    right: Floats

    def solve(self, low: Floats, high: Floats, nudge: Floats) -> Floats:
        """Occupancies (H, S, A) of a best plan with kernels between two bounds, each (E,)."""
        (H, S, A), (s, a, _) = self.sizes, self.entries
        pair, E = s * A + a, s.size
        one = sparse.csr_array((np.ones(E), (pair, np.arange(E))), shape=(S * A, E))
        pooled, own = (one.T @ one).tocsr(), sparse.identity(E, format="csr")
        below = (own - sparse.diags(high) @ pooled).tocsr()[np.flatnonzero(high < 1)]
        above = (sparse.diags(low) @ pooled - own).tocsr()[np.flatnonzero(low > 0)]
        box = sparse.kron(sparse.identity(H), sparse.vstack([below, above]))
        rows = sparse.vstack([box, sparse.csr_array(self.constraint_cost[None])]).tocsr()
        bounds = np.append(np.zeros(rows.shape[0] - 1), self.budget)
        found = linprog(self.cost + nudge, rows, bounds, self.flow, self.right, method="highs-ds")
        assert found.status == 0, found.message
        return np.stack([one @ z for z in found.x.reshape(H, E)]).reshape(H, S, A)


@cache
def extended_program(name: str) -> Program:
    """The program of a problem of the catalog, on the internal scale."""
    cmdp = as_cmdp(name)
    problem = writable_problem(cmdp)
    H, S, A = cmdp.horizon, cmdp.n_states, cmdp.n_actions
    indptr, indices = cmdp.transitions.indptr[0], cmdp.transitions.indices[0]
    pairs = np.repeat(np.arange(S * A), np.diff(indptr))
    is_allowed_pair = np.broadcast_to(cmdp.allowed, (*cmdp.allowed.shape[:-2], S, A))
    kept = is_allowed_pair.reshape(-1, S * A)[0][pairs]
    s, a, t = pairs[kept] // A, pairs[kept] % A, np.asarray(indices[: pairs.size])[kept]
    E = s.size
    leaving = sparse.csr_array((np.ones(E), (s, np.arange(E))), shape=(S, E))
    entering = sparse.csr_array((np.ones(E), (t, np.arange(E))), shape=(S, E))
    flow = sparse.kron(sparse.identity(H), leaving) - sparse.kron(sparse.eye(H, k=-1), entering)
    return Program(
        entries=(s, a, t),
        sizes=(H, S, A),
        cost=np.tile(problem.cost[0][s, a], H),
        constraint_cost=np.tile(problem.constraint_cost[0, 0][s, a], H),
        budget=float(problem.budget[0]),
        flow=flow.tocsr(),
        right=np.concatenate([problem.initial, np.zeros((H - 1) * S)]),
    )
