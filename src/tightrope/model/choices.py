"""A policy in short: an action for each stage and state, and shares where it randomizes.

An optimal policy of a CMDP randomizes in few states, so that this takes about as much memory as
one array of actions, and not as many probabilities as there are actions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tightrope.arrays import Bools, Floats, Ints


class Choices(NamedTuple):
    """A policy over (H, S, A) in short."""

    actions: Ints  # (H, S); the likeliest where the policy randomizes
    mixed: Ints  # (n,) places h*S + s where it does, ascending
    shares: Floats  # (n, A) their probabilities

    @classmethod
    def pure(cls, actions: Ints, A: int) -> Choices:
        """Return a policy that takes these actions, (H, S), out of A."""
        return cls(actions, np.zeros(0, dtype=np.int64), np.zeros((0, A)))

    @classmethod
    def of(cls, policy: Floats) -> Choices:
        """Return a policy given as an array (H, S, A)."""
        H, S, A = policy.shape
        actions = policy.argmax(axis=2).astype(smallest_type(A))
        is_mixed = np.take_along_axis(policy, actions[:, :, None].astype(np.int64), 2)[:, :, 0] != 1
        is_mixed |= np.count_nonzero(policy, axis=2) > 1
        mixed = np.flatnonzero(is_mixed)
        return cls(actions, mixed, policy.reshape(H * S, A)[mixed])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Sizes H, S and A."""
        H, S = self.actions.shape
        return H, S, self.shares.shape[1]

    def dense(self) -> Floats:
        """Return the probabilities, (H, S, A)."""
        H, S, A = self.shape
        policy = np.zeros((H * S, A))
        policy[np.arange(H * S), self.actions.ravel()] = 1.0
        policy[self.mixed] = self.shares
        return policy.reshape(H, S, A)

    def takes_only(self, allowed: Bools) -> bool:
        """Whether every action of the policy is among those allowed, (0, 1 or H, S, A)."""
        if not len(allowed):
            return True
        S = self.shape[1]
        for h, actions in enumerate(self.actions):
            if not allowed[min(h, len(allowed) - 1), np.arange(S), actions].all():
                return False
        stages, states = np.divmod(self.mixed, S)
        exists = allowed[np.minimum(stages, len(allowed) - 1), states]
        return not (self.shares[~exists] > 0).any()

    def row(self, stage: int, state: int) -> Floats:
        """Return the probabilities in one state, (A,)."""
        k = int(np.searchsorted(self.mixed, stage * self.shape[1] + state))
        if k < self.mixed.size and self.mixed[k] == stage * self.shape[1] + state:
            return np.array(self.shares[k])
        row = np.zeros(self.shape[2])
        row[self.actions[stage, state]] = 1.0
        return row

    def sparse(self) -> Any:
        """Return the probabilities as a SciPy CSR array (H*S, A)."""
        from scipy.sparse import csr_array

        H, S, A = self.shape
        sizes = np.ones(H * S, dtype=np.int64)
        sizes[self.mixed] = np.count_nonzero(self.shares, axis=1)
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        indices = np.repeat(self.actions.ravel().astype(np.int32), sizes)
        data = np.ones(indices.size)
        for place, shares in zip(self.mixed, self.shares, strict=True):
            entries = slice(indptr[place], indptr[place + 1])
            indices[entries] = np.flatnonzero(shares)
            data[entries] = shares[shares != 0]
        return csr_array((data, indices, indptr), shape=(H * S, A))


class Product(NamedTuple):
    """An occupancy in short: a policy, and the probability of each state by stage."""

    policy: Choices
    reach: Floats  # (H, S)

    def states(self) -> Floats:
        """Return the probability of each state by stage, (H, S)."""
        return self.reach

    def dense(self) -> Floats:
        """Return the occupancy, (H, S, A)."""
        found: Floats = self.reach[:, :, None] * self.policy.dense()
        return found


def smallest_type(A: int) -> Any:
    """Return the type of numbers of A actions."""
    return np.min_scalar_type(max(A - 1, 0))
