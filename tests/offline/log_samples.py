"""A small log by hand, and ways to write it in every format.

Two states, two actions, two steps; three episodes. In units: cost up to 10, risk up to 2.
"""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

import tightrope as tr

COLUMNS = ("episode", "step", "state", "action", "next_state", "cost", "cost_risk")
ROWS = [
    ("a", 0, "idle", "go", "busy", 5.0, 1.0),
    ("a", 1, "busy", "wait", "idle", 0.0, 0.0),
    ("b", 0, "idle", "wait", "idle", 10.0, 0.0),
    ("b", 1, "idle", "go", "busy", 5.0, 2.0),
    ("c", 0, "idle", "go", "idle", 2.5, 0.5),
    ("c", 1, "idle", "go", "busy", 7.5, 1.0),
]
RANGES = {"cost": (0.0, 10.0), "risk": (0.0, 2.0)}
# `done` instead of risk: one episode ends early, one does not, one just at the horizon
EARLY = [
    ("a", 0, "idle", "go", "gone", 5.0, "true"),
    ("b", 0, "idle", "go", "idle", 5.0, "false"),
    ("b", 1, "idle", "go", "idle", 5.0, ""),
    ("c", 0, "idle", "go", "idle", 5.0, "no"),
    ("c", 1, "idle", "go", "", 5.0, "yes"),
]


def read(path, **options):
    """The log in a file, with the ranges of its costs."""
    return tr.read_log(path, ranges=RANGES, **options)


def changed(at, **values):
    """The rows with some values of one of them changed."""
    rows = [list(row) for row in ROWS]
    for name, value in values.items():
        rows[at][COLUMNS.index(name)] = value
    return rows


def as_csv(rows=ROWS, columns=COLUMNS, **dialect):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", **dialect)
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def csv_at(folder, rows=ROWS, columns=COLUMNS):
    path = folder / "log.csv"
    path.write_text(as_csv(rows, columns))
    return path


def parquet_at(folder, rows=ROWS, columns=COLUMNS):
    path = folder / "log.parquet"
    pq.write_table(pa.table(dict(zip(columns, zip(*rows, strict=True), strict=True))), path)
    return path


def json_rows_at(folder, rows=ROWS, columns=COLUMNS):
    path = folder / "log.jsonl"
    lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def json_episodes_at(folder, **changes):
    path = folder / "episodes.jsonl"
    lines = []
    for name in "abc":
        steps = [row for row in ROWS if row[0] == name]
        episode = {
            "episode": name,
            "states": [row[2] for row in steps] + [steps[-1][4]],
            "actions": [row[3] for row in steps],
            "cost": [row[5] for row in steps],
            "constraint_cost": {"risk": [row[6] for row in steps]},
        }
        lines.append(json.dumps({**episode, **changes.get(name, {})}))
    path.write_text("\n".join(lines) + "\n")
    return path


WRITERS = {
    "csv": csv_at,
    "parquet": parquet_at,
    "json rows": json_rows_at,
    "json episodes": json_episodes_at,
}
