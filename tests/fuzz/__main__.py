"""``python -m fuzz``: run the fuzz driver by hand, for as long as wanted.

With ``tests`` on the Python path::

    python -m fuzz --inputs 200000 --seed 1
    python -m fuzz --kind toml_model --seed 1 --only 1234
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from fuzz.driver import PATIENCE, Report, fuzz, run_one
from fuzz.kinds import KINDS

INPUTS = 6000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=INPUTS, help="number of inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", help="only this kind; may be repeated")
    parser.add_argument("--only", type=int, help="one input of the kind, in this process")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds until a hang")
    given = parser.parse_args()
    unknown = sorted(set(given.kind or ()) - set(KINDS))
    if unknown:
        parser.error(f"no kind {unknown[0]!r}; kinds: {', '.join(KINDS)}")
    kinds = [KINDS[name] for name in given.kind or KINDS]
    if given.only is not None:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            home, place = Path(folder) / "samples", Path(folder) / "input"
            home.mkdir()
            outcome, details = run_one(
                kinds[0], kinds[0].prepare(home), given.seed, given.only, place
            )
        _write([outcome, details])
        return 0 if outcome in ("accepted", "refused") else 1
    report = fuzz(kinds, given.inputs, given.seed, given.workers, given.patience, _progress)
    _write(report.lines())
    return 1 if report.faults else 0


def _progress(report: Report) -> None:
    sys.stderr.write(f"{report.total} inputs, {len(report.faults)} faults\n")


def _write(lines: list[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
