"""Call a kernel with an index past the end of an array; succeed if that raises IndexError."""

from __future__ import annotations

import sys

import numpy as np

from tightrope.kernels.scratch import place_states

try:
    place_states(np.array([0, 7], dtype=np.uint32), np.zeros(2, dtype=np.uint32))
except IndexError:
    sys.exit(0)
sys.exit("no IndexError")
