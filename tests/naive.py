"""A second reading of the four learners: dense NumPy, straight from the specification's formulas.

Counts, estimates, radii and steps are those of the paper with its errata (docs/theory). Nothing is
incremental: every plan is computed from all episodes.
"""

from __future__ import annotations

import numpy as np

import brute

__all__ = [
    "PSRL",
    "Learner",
    "OptCMDP",
    "OptCMDPBonus",
    "OptDual",
    "OptDualBonus",
    "OptPrimalDual",
    "Statistics",
    "TripleQ",
    "UOptRPGPD",
    "extended_value_iteration",
    "greedy",
    "mirror_step",
    "truncated",
]


def greedy(lower, upper, V):
    """Members of boxes (..., S) that minimize the expectation of V (extended value iteration)."""
    order = np.argsort(V, kind="stable")
    lo, up = lower[..., order], upper[..., order]
    cap = up - lo
    before = np.cumsum(cap, axis=-1) - cap
    filled = lo + np.clip(1.0 - lo.sum(axis=-1, keepdims=True) - before, 0.0, cap)
    out = np.empty_like(filled)
    out[..., order] = filled
    return out


def extended_value_iteration(loss, lower, upper, allowed):
    """Values (H+1, S), choices (H, S) and kernels (H, S, A, S) of the least loss over a box."""
    H, S, A = loss.shape
    V, choice = np.zeros((H + 1, S)), np.zeros((H, S), dtype=int)
    kernel = np.zeros((H, S, A, S))
    for h in range(H - 1, -1, -1):
        kernel[h] = greedy(lower[h], upper[h], V[h + 1])
        Q = np.where(allowed[h], loss[h] + kernel[h] @ V[h + 1], np.inf)
        choice[h], V[h] = Q.argmin(axis=1), Q.min(axis=1)
    return V, choice, kernel


def truncated(loss, kernel, pi):
    """Truncated evaluation: Q (H, S, A) and V (H+1, S), clipped at zero by stage."""
    H, S, _ = loss.shape
    Q, V = np.zeros(loss.shape), np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        Q[h] = np.maximum(loss[h] + kernel[h] @ V[h + 1], 0.0)
        V[h] = (pi[h] * Q[h]).sum(axis=1)
    return Q, V


def mirror_step(pi, Q, step):
    """The product form ``pi exp(-step Q)``, normalized."""
    weight = pi * np.exp(-step * (Q - Q.min(axis=-1, keepdims=True)))
    return weight / weight.sum(axis=-1, keepdims=True)


class Statistics:
    """Counts and sums of all episodes so far, with the estimates and radii they give."""

    def __init__(self, S, A, H, I, K, delta=0.1, scale=1.0):
        self.S, self.A, self.H, self.I, self.K = S, A, H, I, K
        self.delta, self.scale = delta, scale
        self.n = np.zeros((H, S, A))
        self.N = np.zeros((H, S, A, S))
        self.cost_sum = np.zeros((H, S, A))
        self.constraint_sum = np.zeros((I, H, S, A))

    def observe(self, episode):
        for h in range(self.H):
            s, a, t = episode.states[h], episode.actions[h], episode.states[h + 1]
            self.n[h, s, a] += 1
            self.N[h, s, a, t] += 1
            self.cost_sum[h, s, a] += episode.cost[h]
            for i in range(self.I):
                self.constraint_sum[i, h, s, a] += episode.constraint_cost[i][h]

    @property
    def least_one(self):
        return np.maximum(self.n, 1.0)

    @property
    def pbar(self):
        share = self.N / self.least_one[..., None]
        return np.where(self.n[..., None] > 0, share, 1.0 / self.S)

    @property
    def cbar(self):
        return self.cost_sum / self.least_one

    @property
    def dbar(self):
        return self.constraint_sum / self.least_one

    @property
    def Lp(self):
        return np.log(6 * self.S * self.A * self.H * self.K / self.delta)

    @property
    def Lc(self):
        return 2 * np.log(6 * self.S * self.A * self.H * (self.I + 1) * self.K / self.delta)

    @property
    def beta_p(self):
        n, p = self.least_one[..., None], self.pbar
        return self.scale * (2 * np.sqrt(p * (1 - p) * self.Lp / n) + 14 / 3 * self.Lp / n)

    @property
    def beta_c(self):
        return self.scale * np.sqrt(self.Lc / self.least_one)

    @property
    def box(self):
        """Bounds (H, S, A, S); a pair that was never visited may go anywhere."""
        never = self.n[..., None] == 0
        lower = np.where(never, 0.0, np.clip(self.pbar - self.beta_p, 0, 1))
        upper = np.where(never, 1.0, np.clip(self.pbar + self.beta_p, 0, 1))
        return lower, upper

    @property
    def bonus(self):
        return self.beta_c + self.H * self.beta_p.sum(axis=-1)


class Learner:
    """What the four have in common: a task, its statistics, multipliers from zero."""

    def __init__(self, cmdp, K, rho=1.0, delta=0.1, scale=1.0):
        S, A, H = cmdp.n_states, cmdp.n_actions, cmdp.horizon
        self.budget, self.initial = np.asarray(cmdp.budget), np.asarray(cmdp.initial)
        self.allowed = np.broadcast_to(cmdp.allowed, (H, S, A))
        self.seen = Statistics(S, A, H, self.budget.size, K, delta, scale)
        self.rho, self.H, self.K, self.I = rho, H, K, self.budget.size
        self.lam = np.zeros(self.I)
        self.rate = rho / (H * np.sqrt(max(self.I, 1) * K))

    def observe(self, episode):
        self.seen.observe(episode)


class OptCMDP(Learner):
    """Least optimistic cost over policies and kernels of the box."""

    def losses(self):
        s = self.seen
        return s.cbar - s.beta_c, s.dbar - s.beta_c

    def kernels(self):
        return self.seen.box

    def value(self, budget=None):
        """Optimum of the optimistic program, or None when it is infeasible."""
        cost, bounded = self.losses()
        lower, upper = self.kernels()
        room = self.budget if budget is None else budget
        return brute.optimistic(self.initial, lower, upper, cost, bounded, room, self.allowed)

    def least_spending(self):
        """Least optimistic value of the first constraint by itself."""
        cost, bounded = self.losses()
        lower, upper = self.kernels()
        none = np.zeros((0, *cost.shape))
        return brute.optimistic(
            self.initial, lower, upper, bounded[0], none, np.zeros(0), self.allowed
        )


class OptCMDPBonus(OptCMDP):
    """The same with the estimated kernel and costs lowered by the bonus."""

    def losses(self):
        s = self.seen
        return s.cbar - s.bonus, s.dbar - s.bonus

    def kernels(self):
        return self.seen.pbar, self.seen.pbar


class OptDual(Learner):
    """Best response to the prices over the box, then the prices' step."""

    def plan(self):
        """Policy (H, S, A), planned values (I+1,), prices it answers, Lagrangian value."""
        s, lam = self.seen, self.lam
        cost, bounded = s.cbar - s.beta_c, s.dbar - s.beta_c
        loss = cost + np.einsum("i,ihsa->hsa", lam, bounded)
        V, choice, kernel = extended_value_iteration(loss, *s.box, self.allowed)
        policy = np.eye(s.A)[choice]
        q = brute.forward(kernel, self.initial, policy)
        planned = np.array([(q * each).sum() for each in (cost, *bounded)])
        self.lam = np.maximum(0.0, lam + self.rate * (planned[1:] - self.budget))
        return policy, planned, lam, float(self.initial @ V[0] - lam @ self.budget)


class OptDualBonus(Learner):
    """Best response to the prices in the estimated model, values cut off after the minimum."""

    def plan(self):
        """Policy (H, S, A), truncated values (I+1,), prices it answers, Lagrangian value."""
        s, lam = self.seen, self.lam
        cost, bounded = s.cbar - s.bonus, s.dbar - s.bonus
        loss = cost + np.einsum("i,ihsa->hsa", lam, bounded)
        V, choice = np.zeros((self.H + 1, s.S)), np.zeros((self.H, s.S), dtype=int)
        for h in range(self.H - 1, -1, -1):
            Q = np.where(self.allowed[h], loss[h] + s.pbar[h] @ V[h + 1], np.inf)
            choice[h], V[h] = Q.argmin(axis=1), np.maximum(Q.min(axis=1), 0.0)
        policy = np.eye(s.A)[choice]
        values = [truncated(each, s.pbar, policy)[1][0] for each in (cost, *bounded)]
        planned = np.array(values) @ self.initial
        self.lam = np.maximum(0.0, lam + self.rate * (planned[1:] - self.budget))
        return policy, planned, lam, float(self.initial @ V[0] - lam @ self.budget)


class OptPrimalDual(Learner):
    """Truncated evaluation of the current policy, then a step of policy and prices."""

    def __init__(self, cmdp, K, rho=1.0, delta=0.1, scale=1.0):
        super().__init__(cmdp, K, rho, delta, scale)
        self.pi = self.allowed / self.allowed.sum(axis=2, keepdims=True)
        self.step = np.sqrt(2 * np.log(self.seen.A) / (self.H**2 * (1 + self.I * rho) ** 2 * K))
        self.Q = np.zeros(self.allowed.shape)

    def plan(self):
        """Policy (H, S, A), planned values (I+1,) and prices; the combined Q stays in ``Q``."""
        s, pi, lam = self.seen, self.pi, self.lam
        Qc, Vc = truncated(s.cbar - s.bonus, s.pbar, pi)
        self.Q, planned = Qc.copy(), [self.initial @ Vc[0]]
        for i in range(self.I):
            Qd, Vd = truncated(s.dbar[i] - s.bonus, s.pbar, pi)
            self.Q += lam[i] * Qd
            planned.append(self.initial @ Vd[0])
        planned = np.array(planned)
        self.pi = mirror_step(pi, self.Q, self.step)
        self.lam = np.clip(lam + self.rate * (planned[1:] - self.budget), 0.0, self.rho)
        return pi, planned, lam


class UOptRPGPD(Learner):
    """Kitamura et al. (2024): evaluation with entropy, then policy and prices drawn back."""

    def __init__(self, cmdp, K, delta=0.1, scale=1.0):
        super().__init__(cmdp, K, 1.0, delta, scale)
        self.pi = self.allowed / self.allowed.sum(axis=2, keepdims=True)
        self.k = 0

    @property
    def bonus(self):
        s = self.seen
        n, A = s.least_one, s.A
        z = 2 * np.log(np.log(np.maximum(2 * n, np.e)))
        z = np.sqrt((z + 2 * np.log(48 * s.S**2 * A * s.H / s.delta)) / n)
        term = np.log(6 * s.S * A * s.H * (s.I + 1) / s.delta * n * (n + 1))
        root = np.sqrt(s.pbar).sum(axis=-1)
        return s.scale * (z * root + 5 * z**2 + np.sqrt(2 * term / n))

    def evaluate(self, loss, tau):
        """Q (H, S, A) and V (H+1, S), with entropy where tau is positive."""
        H, S, A = loss.shape
        Q, V = np.zeros(loss.shape), np.zeros((H + 1, S))
        log = np.log(np.where(self.pi > 0, self.pi, 1.0))
        for h in range(H - 1, -1, -1):
            Q[h] = np.maximum(loss[h] + self.seen.pbar[h] @ V[h + 1], -tau * np.log(A) * (H - h))
            V[h] = (self.pi[h] * (Q[h] + tau * log[h])).sum(axis=1)
        return Q, V

    def plan(self):
        """Policy (H, S, A), planned values (I+1,) and prices."""
        s, pi, lam = self.seen, self.pi, self.lam
        eta, tau = (self.k + 3) ** -0.53, (self.k + 3) ** -0.4
        self.k += 1
        bonus = self.bonus
        Q, V = self.evaluate(s.cbar - bonus, tau)
        planned = [self.initial @ V[0]]
        for i in range(self.I):
            Qd, Vd = self.evaluate(s.dbar[i] - bonus, 0.0)
            Q = Q + lam[i] * Qd
            planned.append(self.initial @ Vd[0])
        planned = np.array(planned)
        weight = np.where(self.allowed, pi ** (1 - eta * tau) * np.exp(-eta * Q), 0.0)
        self.pi = weight / weight.sum(axis=2, keepdims=True)
        self.lam = np.maximum(0.0, lam + eta * (planned[1:] - self.budget - tau * lam))
        return pi, planned, lam


class PSRL(Learner):
    """A model drawn from the posterior, in the order of `belief.posterior`, and its optimum."""

    def __init__(self, cmdp, K, rng):
        super().__init__(cmdp, K)
        self.rng = rng

    def draw(self):
        """Kernel (H, S, A, S), cost (H, S, A) and constraint costs (I, H, S, A)."""
        s = self.seen
        p = np.zeros(s.N.shape)
        for place in np.ndindex(s.n.shape):
            even = self.rng.standard_gamma(1.0)
            own = np.array([self.rng.standard_gamma(n) if n else 0.0 for n in s.N[place]])
            p[place] = (own + even / s.S) / (own.sum() + even)
        sums = np.concatenate((s.cost_sum[None], s.constraint_sum))
        means = np.zeros(sums.shape)
        for place in np.ndindex(sums.shape):
            total, rest = sums[place], s.n[place[1:]] - sums[place]
            means[place] = self.rng.beta(1 + total, 1 + max(0.0, rest))
        return p, means[0], means[1:]

    def value(self, p, cost, bounded, budget=None):
        """Optimum of the drawn model, or None when it is infeasible."""
        room = self.budget if budget is None else budget
        return brute.optimistic(self.initial, p, p, cost, bounded, room, self.allowed)


class TripleQ(Learner):
    """Wei, Liu, Ying (2022), in rewards 1 - c and utilities 1 - d, as on our theory page.

    C is summed after its update, as in the authors' program; the factors of the bonuses and of
    the slack were not checked against the paper.
    """

    def __init__(self, cmdp, K, bonus_factor=1.0, slack_factor=1.0):
        super().__init__(cmdp, K)
        S, A, H = self.seen.S, self.seen.A, self.H
        self.Q, self.C = np.full((H, S, A), float(H)), np.full((H, S, A), float(H))
        self.N, self.Z, self.Cbar, self.k = np.zeros((H, S, A)), 0.0, 0.0, 0
        self.chi = self.eta = K**0.2
        self.root = np.sqrt(128 * np.log(np.sqrt(2 * S * A * H) * K))  # of iota
        self.factor, self.frame = bonus_factor, int(K**0.6)
        self.epsilon = slack_factor * 8 * np.sqrt(S * A * H**6) * self.root**3 / K**0.2

    def plan(self):
        """Greedy policy (H, S, A) and the price of the constraint."""
        priced = self.Q + self.Z / self.eta * self.C
        choice = np.where(self.allowed, priced, -np.inf).argmax(axis=2)
        return np.eye(self.seen.A)[choice], self.Z / self.eta

    def observe(self, episode):
        """Forward in time: step h - 1 is updated when the action of step h is known."""
        H, s, a = self.H, episode.states, episode.actions
        V, W = np.zeros(H + 1), np.zeros(H + 1)
        for h in range(H + 1):
            if h < H:
                self.N[h, s[h], a[h]] += 1
                V[h], W[h] = self.Q[h, s[h], a[h]], self.C[h, s[h], a[h]]
            if h > 0:
                pair = h - 1, s[h - 1], a[h - 1]
                alpha = (self.chi + 1) / (self.chi + self.N[pair])
                b = self.factor * H * self.root * np.sqrt(alpha) / 4
                r, g = 1 - episode.cost[h - 1], 1 - episode.constraint_cost[0][h - 1]
                self.Q[pair] = (1 - alpha) * self.Q[pair] + alpha * (r + V[h] + b)
                self.C[pair] = (1 - alpha) * self.C[pair] + alpha * (g + W[h] + b)
            if h == 1:
                self.Cbar += self.C[0, s[0], a[0]]
        self.k += 1
        if self.k % self.frame == 0:
            self.N[:] = 0
            self.Q += self.factor * 2 * H**3 * self.root / self.eta
            high = (self.Q > H) | (self.C > H)
            self.Q[high] = self.C[high] = H
            least = H - self.budget[0]
            self.Z = max(0.0, self.Z + least + self.epsilon - self.Cbar / self.frame)
            self.Cbar = 0.0
