"""Mixture: the policies of the episodes so far, to draw one of them before an episode.

The theorems of the dual learners bound averages over episodes. Drawing an episode uniformly and
playing its policy has these averages as its expected values, in every model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from tightrope.arrays import Floats, require_integers
from tightrope.errors import ConfigError, ModelError, StoreError
from tightrope.learners.base import Decision
from tightrope.model.task import Task
from tightrope.plan.evaluate import require_policy

ROUNDING = 1e-9  # of the sum of weights, relative to the number of episodes
PARTS = ("weight", "choice", "policy")
PREFIX = "average."


@final
@dataclass(frozen=True)
class Mixture:
    """Policies, one of which is drawn before an episode and followed throughout.

    Parameters
    ----------
    policies : (N, H, S, A) array
        Different policies, in the order in which they were first played.
    weights : (N,) array
        Probabilities with which they are drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from tightrope.learners.mixture import Mixture
    >>> policies = np.array([[[[1.0, 0.0]]], [[[0.0, 1.0]]]])
    >>> mixture = Mixture(policies, weights=np.array([0.25, 0.75]))
    >>> mixture.draw(np.random.default_rng(0)).shape
    (1, 1, 2)
    """

    policies: Floats
    weights: Floats

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw the policy of one episode, (H, S, A).

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draw.

        Returns
        -------
        (H, S, A) array
            Probabilities of the actions.

        Examples
        --------
        >>> import numpy as np
        >>> from tightrope.learners.mixture import Mixture
        >>> mixture = Mixture(np.eye(2).reshape(2, 1, 1, 2), np.array([0.0, 1.0]))
        >>> mixture.draw(np.random.default_rng(0))
        array([[[0., 1.]]])
        """
        if not isinstance(rng, np.random.Generator):
            raise ConfigError.about("rng", found=rng, expected="a numpy.random.Generator")
        return np.array(self.policies[rng.choice(len(self.weights), p=self.weights)])

    def __repr__(self) -> str:
        n, H, S, A = self.policies.shape
        return f"Mixture({n} policies, horizon {H}, {S} states, {A} actions)"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        rows = [(f"policy {k}", weight) for k, weight in enumerate(self.weights)]
        return listing("Mixture", [f"{len(rows)} policies"], ["", "weight"], rows)


class PolicyCounts:
    """In how many episodes each policy was played; deterministic ones are stored as actions."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.weights: dict[bytes, float] = {}  # packed policies, in order of first use

    def add(self, decision: Decision) -> None:
        """Count the episode of a decision; a drawn baseline counts with its probability."""
        for weight, policy in decision.mixture:
            key = _pack(policy)
            self.weights[key] = self.weights.get(key, 0.0) + weight

    def mixture(self) -> Mixture:
        """Return the policies with their shares of the episodes."""
        if not self.weights:
            raise ConfigError.about(
                "average", shown="no episode of a planned policy was observed yet"
            )
        total = np.array(list(self.weights.values()))
        policies = np.stack([self._unpack(key) for key in self.weights])
        return Mixture(policies, total / total.sum())

    def to_arrays(self) -> dict[str, Any]:
        """Return everything as arrays, by name."""
        task, size = self.task, self._size
        H, S, A = task.horizon, task.n_states, task.n_actions
        choice = [key for key in self.weights if len(key) == size]
        policy = [key for key in self.weights if len(key) != size]
        is_choice = [len(key) == size for key in self.weights]
        arrays = {
            "weight": np.array(list(self.weights.values())),
            "choice": np.frombuffer(b"".join(choice), dtype=np.int16).reshape(-1, H, S),
            "policy": np.frombuffer(b"".join(policy)).reshape(-1, H, S, A),
            "is_choice": np.array(is_choice, dtype=np.bool_),
        }
        return {f"{PREFIX}{name}": array for name, array in arrays.items()}

    @classmethod
    def from_arrays(cls, task: Task, arrays: Mapping[str, Any], n_observed: int) -> PolicyCounts:
        """Return the counts that `to_arrays` gave, or raise a `StoreError`."""
        H, S, A = task.horizon, task.n_states, task.n_actions
        made = cls(task)
        try:
            weight, choice, policy, is_choice = (
                arrays[f"{PREFIX}{name}"] for name in (*PARTS, "is_choice")
            )
            shapes = {
                "weight": (weight, np.float64, (is_choice.size,)),
                "choice": (choice, np.int16, (int(is_choice.sum()), H, S)),
                "policy": (policy, np.float64, (int((~is_choice).sum()), H, S, A)),
                "is_choice": (is_choice, np.bool_, (is_choice.size,)),
            }
            for name, (array, kind, shape) in shapes.items():
                if (array.dtype, array.shape) != (kind, shape):
                    raise ModelError.about(
                        f"{PREFIX}{name}",
                        verb="is",
                        shown=f"{array.dtype} of shape {array.shape}",
                        expected=f"{np.dtype(kind)} of shape {shape}",
                    )
            require_integers(f"{PREFIX}choice", choice, 0, A - 1)
            for each in (*np.eye(A)[choice], *policy):
                require_policy(f"{PREFIX}policy", each, task)
            is_sum = weight.sum() <= n_observed * (1.0 + ROUNDING)
            if not ((weight > 0).all() and is_sum):
                raise ModelError.about(
                    f"{PREFIX}weight", expected=f"positive numbers of sum {n_observed} at most"
                )
        except (KeyError, TypeError, ValueError, ModelError) as error:
            raise StoreError(f"corrupt: {error}").with_fields_of(error) from error
        choices, policies = iter(choice), iter(policy)
        for share, is_one in zip(weight.tolist(), is_choice.tolist(), strict=True):
            made.weights[next(choices if is_one else policies).tobytes()] = share
        if len(made.weights) != weight.size:
            raise StoreError.about(
                f"{PREFIX}policy", where="corrupt", shown="some policy is there twice"
            )
        return made

    @property
    def _size(self) -> int:
        """Bytes of a packed deterministic policy; others take more."""
        return 2 * self.task.horizon * self.task.n_states

    def _unpack(self, key: bytes) -> Floats:
        H, S, A = self.task.horizon, self.task.n_states, self.task.n_actions
        if len(key) == self._size:
            choice = np.frombuffer(key, dtype=np.int16).reshape(H, S)
            return np.asarray(np.eye(A)[choice])
        return np.frombuffer(key).reshape(H, S, A)


def _pack(policy: Floats) -> bytes:
    """Return the actions of a deterministic policy, or the probabilities of another one."""
    choice = policy.argmax(axis=2)
    if (policy.max(axis=2) == 1.0).all() and np.count_nonzero(policy) == choice.size:
        return bytes(choice.astype(np.int16).tobytes())
    return bytes(policy.tobytes())
