"""Steps in Parquet: places are rows, and names come in any type."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from log_samples import COLUMNS, ROWS, changed, parquet_at, read

import tightrope as tr


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path):
    path = tmp_path / "log.parquet"
    columns = [pa.array(column) for column in zip(*ROWS, strict=True)]
    pq.write_table(pa.table(columns, names=[*COLUMNS[:-1], "cost"]), path)
    with pytest.raises(tr.ModelError, match=r"log\.parquet: the column 'cost' appears more than"):
        read(path)


def test_places_in_parquet_are_rows(tmp_path):
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): cost 11, expected"):
        read(parquet_at(tmp_path, changed(3, cost=11.0)))
    rows = [tuple(row) for row in changed(3, cost=None)]
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): cost is missing"):
        read(parquet_at(tmp_path, rows))
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): state is missing"):
        read(parquet_at(tmp_path, [tuple(row) for row in changed(3, state=None)]))


def test_a_step_of_parquet_is_a_whole_number(tmp_path):
    with pytest.raises(tr.LogError, match=r"row 4 \(episode b\): step 1.5, expected a whole"):
        read(
            parquet_at(
                tmp_path,
                [(e, k * 1.5, *rest) if e == "b" else (e, k * 1.0, *rest) for e, k, *rest in ROWS],
            )
        )


def test_dictionary_columns_of_parquet_are_names(tmp_path):
    path = tmp_path / "log.parquet"
    table = pa.table(dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True)))
    for name in ("state", "action", "next_state"):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table[name].dictionary_encode())
    pq.write_table(table, path)
    assert read(path).state_names == ("busy", "idle")
