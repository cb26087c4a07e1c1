"""Large models: time per sweep, memory, and what threads gain, against the bandwidth of the memory.

Every measurement runs in a process of its own, so that peak memory is its own. Seconds are wall
seconds of the best of several tries, with CPU seconds of the whole process next to them: on a busy
machine only these compare.

    python benchmarks/large.py                    S = 100,000 and 1,000,000
    python benchmarks/large.py --states 100000    other sizes
    python benchmarks/large.py --write            also writes docs/benchmarks/large.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from scipy.sparse import csr_array

import tightrope as tr
from pages import processor, report, sections, setting, write
from tightrope.model.base import writable_problem
from tightrope.model.choices import Choices
from tightrope.plan import threads
from tightrope.plan.threads import crew_of, limited_threads, shared_stages

PAGE = "large.md"
A, H, SUCCESSORS = 5, 50, 5
SIZES = (100_000, 1_000_000)
TRIES = 5


def instance(S: int) -> tr.CMDP:
    """A random model with one binding budget; successors are drawn from all states."""
    rng = np.random.default_rng(0)
    rows = S * A
    drawn = rng.integers(0, S - SUCCESSORS + 1, size=(rows, SUCCESSORS), dtype=np.int32)
    successors = np.sort(drawn, axis=1) + np.arange(SUCCESSORS, dtype=np.int32)
    weights = rng.standard_exponential((rows, SUCCESSORS))
    weights /= weights.sum(axis=1, keepdims=True)
    indptr = np.arange(rows + 1, dtype=np.int64) * SUCCESSORS
    transition = csr_array((weights.ravel(), successors.ravel(), indptr), shape=(rows, S))
    return tr.CMDP(transition, rng.random((S, A)), rng.random((1, S, A)), [0.2 * H], horizon=H)


@njit(nogil=True)  # type: ignore[untyped-decorator]
def add(a: Any, b: Any) -> None:
    """A loop that only reads and writes memory in order."""
    for k in range(a.size):
        a[k] += b[k]


def best(work: Callable[[], Any], tries: int = TRIES) -> tuple[float, float]:
    """Least wall and CPU seconds of several tries."""
    wall, cpu = np.inf, np.inf
    for _ in range(tries):
        start, before = time.perf_counter(), time.process_time()
        work()
        wall = min(wall, time.perf_counter() - start)
        cpu = min(cpu, time.process_time() - before)
    return wall, cpu


def loop_rate(size: int = 20_000_000) -> float:
    """Gigabytes per CPU second of a plain loop over memory."""
    x, y = np.ones(size), np.ones(size)
    add(x, y)
    return float(3 * x.nbytes / best(lambda: add(x, y))[1] / 1e9)


def gigabytes() -> float:
    """Peak memory of this process; the usual call also counts what ran before an exec."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


def stage_bytes(cmdp: tr.CMDP) -> int:
    """Bytes of one stage of a sweep, each array read or written once."""
    p, S = writable_problem(cmdp).kernels, cmdp.n_states
    kernel = sum(part[0].nbytes for part in (p.indptr, p.indices, p.data))
    return int(kernel + S * (8 * A + 8 + 8 + 2))  # loss, values read and written, actions


def sweep_row(S: int, n_threads: int) -> dict[str, Any]:
    """A sweep and an evaluation, by a number of threads, compared with a loop over memory."""
    stream = loop_rate()
    cmdp = instance(S)
    loss, choice = np.array(writable_problem(cmdp).cost), np.zeros((H, S), dtype=np.int16)
    with limited_threads(n_threads), shared_stages(writable_problem(cmdp), H) as shared:
        crew = crew_of(shared.kernels)
        crew.respond(loss, choice)
        wall, cpu = best(lambda: crew.respond(loss, choice))
        policy = Choices.pure(choice, A)
        crew.evaluate(policy)
        evaluation = best(lambda: crew.evaluate(policy))
    rate = H * stage_bytes(cmdp) / cpu / 1e9
    return {
        "S": f"{S:,}",
        "I": 1,
        "processor": processor(),
        "threads": n_threads,
        "sweep, wall s": f"{wall:.2f}",
        "sweep, CPU s": f"{cpu:.2f}",
        "evaluation, wall s": f"{evaluation[0]:.2f}",
        "evaluation, CPU s": f"{evaluation[1]:.2f}",
        "GB/s by CPU": f"{rate:.1f}",
        "loop, GB/s": f"{stream:.1f}",
        "share": f"{100 * rate / stream:.0f}%",
        "peak GB": f"{gigabytes():.1f}",
    }


def solve_row(S: int, n_threads: int) -> dict[str, Any]:
    """A whole solve to 1e-8, kernels compiled before."""
    size, threads.LEAST_ENTRIES = threads.LEAST_ENTRIES, 1
    tr.solve(instance(50))
    threads.LEAST_ENTRIES = size
    cmdp = instance(S)
    model = gigabytes()
    plans = []
    wall, cpu = best(lambda: plans.append(tr.solve(cmdp, threads=n_threads)), tries=1)
    plan = plans[0]
    return {
        "S": f"{S:,}",
        "I": 1,
        "processor": processor(),
        "threads": n_threads,
        "sweeps": plan.sweeps,
        "solve, wall s": f"{wall:.1f}",
        "solve, CPU s": f"{cpu:.1f}",
        "relative gap": f"{plan.gap / plan.value:.0e}",
        "randomized states": int(plan.choices.mixed.size),
        "peak GB, model": f"{model:.1f}",
        "peak GB": f"{gigabytes():.1f}",
    }


def in_process(kind: str, S: int, n_threads: int) -> dict[str, Any]:
    """A row, measured by a process of its own."""
    command = [sys.executable, __file__, kind, str(S), str(n_threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def page(sweeps: list[dict[str, Any]], solves: list[dict[str, Any]]) -> list[str]:
    """The benchmark page of the documentation."""
    return [
        "# Large models: threads and memory",
        "",
        "Written by `benchmarks/large.py --write`. All figures of a table come from one run on",
        f"one machine {setting('numpy', 'numba')}",
        f"Random models, {SUCCESSORS} successors a pair drawn from all states, A = {A}, H = {H}, "
        "and one binding budget (I = 1). Each line is measured in a process of its own, without",
        "compilation. CPU seconds are those of all threads together; on a busy machine wall",
        "seconds say little.",
        *sections(
            [
                (
                    "Sweeps",
                    "A sweep finds a best policy, an evaluation the cost and the constraint value "
                    "of a policy. GB are those of kernel, loss, values and actions, each read or "
                    "written once, per CPU second; the loop is `a[k] += b[k]` in the same process.",
                    sweeps,
                ),
                ("Solves", "To a relative gap of 1e-8, with `threads` as given.", solves),
            ]
        ),
    ]


def main() -> None:
    """Measure and print."""
    if len(sys.argv) == 4 and sys.argv[1] in KINDS:
        print(json.dumps(KINDS[sys.argv[1]](int(sys.argv[2]), int(sys.argv[3]))))
        return
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--states", type=int, nargs="+", default=SIZES, help="sizes of models")
    options.add_argument("--write", action="store_true", help=f"write {PAGE} into docs")
    chosen = options.parse_args()
    sizes = chosen.states
    found: dict[str, list[dict[str, Any]]] = {"sweep": [], "solve": []}
    for S in sizes:
        for kind, n_threads in (("sweep", 1), ("sweep", 2), ("solve", 1), ("solve", 2)):
            found[kind].append(in_process(kind, S, n_threads))
            report(found[kind][-1])
    if chosen.write:
        write(PAGE, page(found["sweep"], found["solve"]))


KINDS = {"sweep": sweep_row, "solve": solve_row}

if __name__ == "__main__":
    main()
