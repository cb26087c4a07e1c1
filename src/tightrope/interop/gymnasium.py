"""Import this to have the catalogue in Gymnasium: ``gymnasium.make("tightrope/grid-v0")``.

``gymnasium.make("tightrope.interop.gymnasium:tightrope/grid-v0")`` imports it on the way.
"""

from tightrope.interop.environment import CMDPEnv
from tightrope.interop.registry import register
from tightrope.interop.six_tuple import SixTuple
from tightrope.interop.vector import CMDPVectorEnv

__all__ = ["IDS", "CMDPEnv", "CMDPVectorEnv", "SixTuple"]

IDS = register()
