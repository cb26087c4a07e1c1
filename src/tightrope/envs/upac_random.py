"""The published random instance of Kitamura et al. (2024): rewards against their complement.

S = 30, A = 3, H = 10, time-dependent. The utility, which must reach ``floor``, is one minus the
reward. The two thus always add up to H, and the optimum is ``H - floor`` where the floor binds.

Kitamura, Kozuno, Kato, Ichihara, Nishimori, Sannai, Sonoda, Kumagai, Matsuo (2024), A Policy
Gradient Primal-Dual Algorithm for Constrained MDPs with Uniform PAC Guarantees, arXiv:2401.17780.
The arrays are the authors' own, in single precision.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from tightrope.model import CMDP

PUBLISHED_FLOOR = 4.8115997314453125


def upac_random(floor: float = PUBLISHED_FLOOR) -> CMDP:
    """Random CMDP of the Uniform-PAC experiments.

    Parameters
    ----------
    floor : float
        Least expected sum of the utility.
    """
    source = files("tightrope.envs") / "data" / "upac_random_30_3_10.npz"
    with source.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        transition = arrays["P"].astype(np.float64)
        reward, utility, initial = (
            arrays[key].astype(np.float64) for key in ("rew", "utility", "init")
        )
    return CMDP.from_rewards(
        transition / transition.sum(axis=-1, keepdims=True),
        reward,
        [utility],
        [floor],
        initial=initial,
        constraint_names=["utility"],
    )
