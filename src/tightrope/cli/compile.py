"""``tightrope compile``: compile the kernels ahead of their first use."""

from __future__ import annotations

from collections.abc import Sequence

from tightrope.cli.learner_options import algorithm_names
from tightrope.cli.screen import emit, say
from tightrope.compiling import CLOCK
from tightrope.experiments.learn import learn
from tightrope.model.cmdp import as_cmdp
from tightrope.plan.frontier import frontier
from tightrope.plan.solve import solve
from tightrope.progress import working

SMALL = "ring"  # compiled code does not depend on the size of a model


def run(names: Sequence[str], as_json: bool) -> None:
    """Compile planning and the named learners, and print how long each took."""
    names = algorithm_names(names)
    cmdp = as_cmdp(SMALL)
    seconds: dict[str, float] = {}
    with working("planning") as work:
        for name in ["planning", *names]:
            before = CLOCK.seconds
            work.what = name
            if name == "planning":
                solve(cmdp)
                frontier(cmdp)
            else:
                learn(cmdp, name, episodes=2)
            seconds[name] = CLOCK.seconds - before
    if as_json:
        emit({"seconds": seconds})
        return
    for name, spent in seconds.items():
        say(f"{name}: {f'compiled in {spent:.0f} s' if spent else 'ready'}")
