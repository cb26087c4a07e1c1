"""Folders of runs: written whole or not at all, locked, and never restarted in silence."""

from __future__ import annotations

import errno
import multiprocessing
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from refusals import refuses
from tightrope.errors import StoreError
from tightrope.experiments.storage import RunFolder, read_columns
from tightrope.files import packed, unpacked

STATE = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros(0, dtype=np.int16)}


def begun(path):
    folder = RunFolder(path / "run")
    folder.begin("{}", {})
    return folder


def test_an_archive_gives_back_what_was_packed():
    about, arrays = unpacked(packed({"episode": 7, "words": "é"}, STATE))
    assert about == {"episode": 7, "words": "é"}
    for name, array in STATE.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_every_cut_and_every_flipped_byte_of_the_data_is_noticed():
    content = packed({"episode": 7}, {"a": np.random.default_rng(0).random(50)})
    for length in range(0, len(content) - 1, 37):
        with pytest.raises(StoreError, match="corrupt"):
            unpacked(content[:length])
    start = content.index(np.random.default_rng(0).random(50).tobytes())
    for place in range(start, start + 400, 13):
        flipped = bytearray(content)
        flipped[place] ^= 0xFF
        with pytest.raises(StoreError, match="corrupt"):
            unpacked(bytes(flipped))


def test_the_two_newest_snapshots_are_kept_and_the_newest_is_read(tmp_path):
    folder = begun(tmp_path)
    assert folder.newest() is None
    for episode in (5, 40, 300, 12_000):
        folder.keep(episode, packed({"episode": episode}, STATE))
    assert [path.name for path in folder.snapshots()] == [
        "snapshot-000000012000",
        "snapshot-000000000300",
    ]
    about, _ = folder.newest()
    assert about["episode"] == 12_000


def test_if_the_newest_snapshot_is_corrupt_an_older_one_is_used_and_logged(tmp_path):
    folder = begun(tmp_path)
    folder.keep(5, packed({"episode": 5}, STATE))
    folder.keep(9, packed({"episode": 9}, STATE)[:-40])
    about, _ = folder.newest()
    assert about["episode"] == 5
    assert "passed over snapshot-000000000009: corrupt" in (folder.path / "run.log").read_text()


def test_nothing_is_restarted_in_silence(tmp_path):
    folder = begun(tmp_path)
    for episode in (5, 9):
        folder.keep(episode, b"half")
    with refuses(StoreError, "remove them to restart", argument=str(folder.path)):
        folder.newest()


def test_a_run_is_finished_when_its_record_is_there_and_then_needs_no_snapshots(tmp_path):
    folder = begun(tmp_path)
    folder.keep(5, packed({"episode": 5}, STATE))
    assert not folder.is_finished
    folder.finish(b"result", b"record")
    assert folder.is_finished
    assert folder.snapshots() == []


def test_of_two_results_the_one_that_cannot_be_read_is_named(tmp_path):
    folder = begun(tmp_path)
    with refuses(StoreError, "No such file", argument=str(folder.result)):
        folder.results()
    folder.result.write_bytes(packed({}, STATE))
    with refuses(StoreError, "No such file", argument=str(folder.record)):
        folder.results()


@pytest.mark.parametrize("error", [errno.EACCES, errno.EIO, errno.EMFILE])
def test_a_file_that_the_system_cannot_read_is_not_to_be_removed(tmp_path, monkeypatch, error):
    folder = begun(tmp_path)
    folder.keep(5, packed({"episode": 5}, STATE))
    folder.finish(packed({}, STATE), b"record")
    folder.keep(5, packed({"episode": 5}, STATE))

    def refuse(*_, **__):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    monkeypatch.setattr(pyarrow.parquet, "ParquetFile", refuse)
    for read in (folder.newest, folder.results, lambda: read_columns(folder.record, ["run"])):
        with pytest.raises(StoreError, match=os.strerror(error)) as caught:
            read()
        assert "remove" not in str(caught.value)


def test_a_corrupt_file_is_to_be_removed(tmp_path):
    folder = begun(tmp_path)
    folder.finish(b"half", b"record")
    folder.keep(5, b"half")
    for read in (folder.newest, folder.results, lambda: read_columns(folder.record, ["run"])):
        with pytest.raises(StoreError, match="remove"):
            read()


def test_a_full_disk_is_an_error_and_leaves_the_old_snapshot(tmp_path, monkeypatch):
    folder = begun(tmp_path)
    folder.keep(5, packed({"episode": 5}, STATE))

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with refuses(StoreError, "No space left", argument=str(folder.path / "snapshot-000000000009")):
        folder.keep(9, packed({"episode": 9}, STATE))
    monkeypatch.undo()
    about, _ = folder.newest()
    assert about["episode"] == 5
    assert {path.name for path in folder.path.iterdir()} == {
        "spec.json",
        "versions.json",
        "snapshot-000000000005",
    }


def test_an_unusable_path_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made: Not a directory"):
        RunFolder(tmp_path / "file" / "run").begin("{}", {})


def hold(path, is_held, may_end):
    with RunFolder(path).lock():
        is_held.set()
        may_end.wait()


def test_only_one_process_writes_a_run_and_its_end_unlocks_it(tmp_path):
    folder = begun(tmp_path)
    context = multiprocessing.get_context("spawn")
    is_held, may_end = context.Event(), context.Event()
    other = context.Process(target=hold, args=(folder.path, is_held, may_end))
    other.start()
    assert is_held.wait(60)
    with pytest.raises(StoreError, match="another process is writing here"), folder.lock():
        pass
    other.kill()
    other.join()
    with folder.lock():
        pass
