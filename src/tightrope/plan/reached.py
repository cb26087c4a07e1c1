"""How often a plan is in each state, computed when it is asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tightrope.arrays import Floats, Transitions
from tightrope.kernels.occupancy import visit_states
from tightrope.kernels.scratch import desk
from tightrope.model.choices import Choices, Product


class Reached(NamedTuple):
    """Occupancy of a policy of a known kernel, not computed yet."""

    kernels: Transitions
    initial: Floats  # (S,)
    policy: Choices

    def states(self) -> Floats:
        """Return the probability of each state by stage, (H, S)."""
        reach = np.empty(self.policy.actions.shape)
        none = np.zeros(0, dtype=np.uint32)
        visit_states(self.kernels, self.initial, *self.policy, none, desk(1), reach)
        return reach

    def dense(self) -> Floats:
        """Return the occupancy, (H, S, A)."""
        return Product(self.policy, self.states()).dense()
