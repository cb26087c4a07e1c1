"""Records: a run in rows, the same columns for all, and no bit changed unnoticed."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
from pyarrow.dataset import dataset

from refusals import refuses
from studies import TABLE, finished
from tightrope import envs
from tightrope.errors import StoreError
from tightrope.experiments.engines import Here
from tightrope.experiments.experiment import Experiment
from tightrope.experiments.learn import learn
from tightrope.experiments.problems import content_hash, model_of
from tightrope.experiments.scheduler import finish_runs
from tightrope.experiments.sweep import specs_of
from tightrope.model import CMDP


def test_a_record_is_the_run_in_rows(tmp_path):
    study = finished(tmp_path, environment="ring", algorithm="OptDual", seeds=1, episodes=500)
    (spec,) = study.specs()
    table = pq.read_table(study.folder(spec).record)
    cmdp = model_of(spec)
    run = learn(cmdp, "OptDual", 500, confidence=spec.confidence)  # other draws, the same shape
    assert table["episode"].to_pylist() == run.episode.tolist()
    assert set(table["run"].to_pylist()) == {spec.id}
    assert set(table["constraint"].to_pylist()) == set(cmdp.constraint_names)
    regret = np.array(table["constraint_regret"])
    excess = np.array(table["constraint_excess"])
    np.testing.assert_allclose(regret, np.cumsum(excess), atol=1e-9)


def test_records_of_every_kind_have_one_schema_and_are_read_together(tmp_path):
    ring = envs.build("ring")
    free = CMDP(ring.transition, ring.cost, np.zeros((0, 3, 2)), [], ring.horizon)
    free.save(tmp_path / "free.npz")
    content = (tmp_path / "free.npz").read_bytes()
    own = {"environment": "free.npz", "model": content_hash(content)}
    few = {**TABLE, "environment": "ring", "episodes": 20, "seeds": 1, "algorithm": "OptCMDP"}
    study = Experiment(tmp_path / "s")
    study.add_specs(specs_of({**few, **own}), {own["model"]: content})
    study.add_specs(specs_of({**few, "audit_visits": [False, True]}))
    finish_runs(study, Here())
    paths = [study.folder(spec).record for spec in study.specs()]
    schemas = [pq.read_schema(path) for path in paths]
    assert schemas[0] == schemas[1] == schemas[2]
    for order in (paths, paths[::-1]):
        assert dataset(order).to_table().num_rows == 60
    first = pq.read_table(paths[1]).to_pylist()[0]
    assert first["parameters"] == '{"budget": 3.0, "horizon": 6}'
    assert (first["episodes"], first["delta"], first["confidence"]) == (
        20,
        0.1,
        "tight, scale=0.1 (heuristic)",
    )


def test_a_flipped_bit_of_a_record_is_noticed(tmp_path):
    study = finished(tmp_path, environment="ring", algorithm="OptDual", seeds=1, episodes=300)
    folder = study.folder(study.specs()[0])
    whole = folder.record.read_bytes()
    assert folder.results()[2] == whole
    rng = np.random.default_rng(0)
    for place in rng.integers(len(whole), size=20):
        corrupt = bytearray(whole)
        corrupt[place] ^= 1 << int(rng.integers(8))
        folder.record.write_bytes(bytes(corrupt))
        with refuses(StoreError, "has changed; remove it", argument=str(folder.record)):
            folder.results()
