"""Tellers as real processes: killed at any moment, several at once; what was said is kept."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import telling
import tightrope as tr
from telling import shape

TELLER = [sys.executable, telling.__file__]


def started(*words):
    return subprocess.Popen(
        [*TELLER, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(telling.__file__).parent,
    )


def require_sound(study):
    """Numbers without gaps, no id twice, and the count right; the ids in order."""
    rows = list(study.rows())
    ids = [row.episode for row in rows]
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    assert len(set(ids)) == len(ids) == study.n_told
    return ids


def test_what_was_acknowledged_is_stored_despite_a_kill_at_any_moment(where):
    study = tr.Study.new(where, "pump", shape())
    rng = np.random.default_rng(1)
    acknowledged = []
    for life in range(4):
        teller = started(where, "pump", f"life {life} ".replace(" ", "-"), 3, 10_000)
        teller.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.15))
        teller.send_signal(signal.SIGKILL)
        rest = teller.stdout.read().split()
        teller.wait()
        teller.stdout.close()
        acknowledged += [f"life-{life}-{k}" for k in range(3)] + rest
        ids = require_sound(study)
        assert set(acknowledged) <= set(ids)
        # a batch is there whole or not at all, so never more than one beyond what was said
        assert len(ids) % 3 == 0
        assert len(ids) <= len(acknowledged) + 3 * (life + 1)
    # the file opens, and the study goes on
    assert study.ask().n_told == len(ids)


def test_concurrent_writers_are_serialized_at_any_isolation_level(server):
    apart = "-cdefault_transaction_isolation%3Drepeatable%5C%20read"
    where = f"postgresql://postgres@/postgres?host={server.folder}&options={apart}"
    study = tr.Study.new(where, "apart", shape())
    with study._records.database.reading() as connection:
        assert connection.exec_driver_sql("SHOW default_transaction_isolation").scalar() == (
            "repeatable read"
        )
    tellers = [started(where, "apart", f"t{k}-", 1, 25) for k in range(4)]
    for teller in tellers:
        said, _ = teller.communicate()
        assert (teller.returncode, len(said.split())) == (0, 25)
    assert len(require_sound(study)) == 100


def test_a_kill_at_any_step_of_a_transaction_leaves_all_or_nothing(where):
    study = tr.Study.new(where, "pump", shape())
    done = subprocess.run(
        [*TELLER, "die", where, "pump"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(telling.__file__).parent,
    )
    deaths = [line.split() for line in done.stdout.splitlines()]
    ids = require_sound(study)
    assert len(deaths) > 8, "every statement was tried, before and after"
    for first, second, code in deaths:
        assert (first in ids) == (second in ids)
        assert first in ids or code != "0"
    assert [death[2] for death in deaths].count("0") == 1


def test_concurrent_writers_lose_nothing_and_keep_their_order(where):
    study = tr.Study.new(where, "pump", shape())
    tellers = [started(where, "pump", f"t{j}-", 2, 12) for j in range(4)]
    for teller in tellers:
        out, _ = teller.communicate()
        assert teller.returncode == 0
        assert len(out.splitlines()) == 12
    ids = require_sound(study)
    assert len(ids) == 4 * 24
    for j in range(4):
        assert [name for name in ids if name.startswith(f"t{j}-")] == [
            f"t{j}-{k}" for k in range(24)
        ]


def test_the_same_episodes_from_concurrent_writers_are_stored_once(where):
    study = tr.Study.new(where, "pump", shape())
    tellers = [started(where, "pump", "day-", 2, 10) for _ in range(2)]
    for teller in tellers:
        teller.communicate()
        assert teller.returncode == 0
    assert require_sound(study) == [f"day-{k}" for k in range(20)]


def test_studies_made_at_once_in_a_new_database_are_all_there(where):
    code = (
        "import sys; import tightrope as tr; from telling import shape\n"
        "tr.Study.new(sys.argv[1], sys.argv[2], shape())"
    )
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", code, where, f"study {j}"],
            cwd=Path(telling.__file__).parent,
        )
        for j in range(2)
    ]
    assert [maker.wait() for maker in makers] == [0, 0]
    assert sorted(tr.Study.names(where)) == ["study 0", "study 1"]


@pytest.mark.parametrize("where", ["postgresql"], indirect=True)
def test_a_server_that_fails_at_once_has_all_that_it_acknowledged(where, server):
    study = tr.Study.new(where, "pump", shape())
    for k in range(5):
        study.tell([telling.episode(k)])
    server.crash()
    with pytest.raises(tr.StoreError, match="connection"):
        study.tell([telling.episode(5)])
    server.start()
    assert require_sound(study) == [f"day {k}" for k in range(5)]
    assert study.tell([telling.episode(5)]).n_told == 6
