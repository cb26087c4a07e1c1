"""Media streaming: two servers fill a playback buffer, and the faster one is limited.

``media``: a packet comes from the fast server with probability 0.9 per step, but the use of
that server has a budget; an empty buffer is penalized::

    up    mu (1 - l)            mu = 0.9 (fast), 0.1 (slow);  l = 0.8, the departure probability
    down  (1 - mu) l
    stay  mu l + (1 - mu)(1 - l)
    reward -1 in an empty buffer;  constraint cost 1 for the fast server

Bura, HasanzadeZonuzy, Kalathil, Shakkottai, Chamberland (2022), DOPE: Doubly Optimistic and
Pessimistic Exploration for Safe Reinforcement Learning, arXiv:2112.00885.

``streaming``: the same with a floor: the slow server must be used often enough::

    up    (1 - rho) mu          mu = mu1 (fast), 1 - mu1 (slow)
    down  rho (1 - mu)
    stay  otherwise
    reward 1 in a buffer that is not empty;  utility 1 for the slow server, sum >= floor

Kitamura et al. (2025), with mu1 = 0.7 and rho = 0.25.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightrope.arrays import Floats
from tightrope.envs.building import kernel, require_at_least, require_chances
from tightrope.model import CMDP

SERVERS = ("fast server", "slow server")


def media(
    buffer: int = 9,
    fast: float = 0.9,
    slow: float = 0.1,
    departure: float = 0.8,
    horizon: int = 10,
    budget: float = 5.0,
) -> CMDP:
    """Media streaming control with a budget on the fast server.

    Parameters
    ----------
    buffer : int
        Largest content of the buffer, which starts empty.
    fast, slow : float
        Probability that a packet arrives from each server.
    departure : float
        Probability that a packet is played.
    horizon : int
        Number of steps.
    budget : float
        Expected number of uses of the fast server.
    """
    require_chances(fast=fast, slow=slow, departure=departure)
    mu = np.array([fast, slow])
    reward, uses_fast = np.zeros((buffer + 1, 2)), np.zeros((buffer + 1, 2))
    reward[0] = -1.0
    uses_fast[:, 0] = 1.0
    return CMDP.from_rewards(
        _buffer(buffer, mu * (1.0 - departure), (1.0 - mu) * departure),
        reward,
        horizon=horizon,
        constraint_cost=[uses_fast],
        budget=[budget],
        reward_range=(-1.0, 0.0),
        state_names=_contents(buffer),
        action_names=SERVERS,
        constraint_names=["uses of the fast server"],
    )


def streaming(
    buffer: int = 5, mu1: float = 0.7, rho: float = 0.25, horizon: int = 4, floor: float = 2.4
) -> CMDP:
    """Media streaming with a floor on the use of the slow server.

    Parameters
    ----------
    buffer : int
        Largest content of the buffer, which starts empty.
    mu1 : float
        Arrival probability of the fast server; the slow one has ``1 - mu1``.
    rho : float
        Probability that a packet is played rather than stored.
    horizon : int
        Number of steps.
    floor : float
        Least expected number of uses of the slow server.
    """
    require_chances(mu1=mu1, rho=rho)
    mu = np.array([mu1, 1.0 - mu1])
    reward, uses_slow = np.ones((buffer + 1, 2)), np.zeros((buffer + 1, 2))
    reward[0] = 0.0
    uses_slow[:, 1] = 1.0
    return CMDP.from_rewards(
        _buffer(buffer, (1.0 - rho) * mu, rho * (1.0 - mu)),
        reward,
        [uses_slow],
        [floor],
        horizon,
        state_names=_contents(buffer),
        action_names=SERVERS,
        constraint_names=["uses of the slow server"],
    )


def _buffer(most: int, up: Floats, down: Floats) -> Any:
    require_at_least("buffer", most, 1)
    content = np.arange(most + 1)[:, None]
    return kernel(
        most + 1,
        2,
        [
            (np.minimum(content + 1, most), up),
            (np.maximum(content - 1, 0), down),
            (content, 1.0 - up - down),
        ],
    )


def _contents(most: int) -> list[str]:
    return [f"buffer {content}" for content in range(most + 1)]
