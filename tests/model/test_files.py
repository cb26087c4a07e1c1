from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from model_samples import models, same, shop

from refusals import refuses
from tightrope.errors import ModelError, StoreError
from tightrope.model import CMDP

KINDS = pytest.mark.parametrize("kind", [".npz", ".toml"])
anywhere = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@KINDS
@anywhere
@given(model=models())
def test_a_model_read_back_is_the_model_written_bit_for_bit(tmp_path, kind, model):
    path = tmp_path / f"model{kind}"

    model.save(path)

    assert same(CMDP.load(path), model)


@KINDS
@anywhere
@given(model=models())
def test_writing_what_was_read_gives_the_same_file(tmp_path, kind, model):
    first, second = tmp_path / f"a{kind}", tmp_path / f"b{kind}"
    model.save(first)

    CMDP.load(first).save(second)

    assert first.read_bytes() == second.read_bytes()


@KINDS
def test_rows_that_need_rounding_come_back_unchanged(tmp_path, kind):
    rng = np.random.default_rng(3)
    p = rng.random((40, 3, 40)).astype(np.float32)
    p /= p.sum(axis=2, keepdims=True)
    model = CMDP(p, np.zeros((40, 3)), horizon=2)
    path = tmp_path / f"model{kind}"

    model.save(path)

    assert same(CMDP.load(path), model)


@KINDS
def test_an_existing_file_is_replaced(tmp_path, kind):
    path = tmp_path / f"model{kind}"
    path.write_bytes(b"old")

    CMDP(**shop()).save(path)

    assert same(CMDP.load(path), CMDP(**shop()))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_writing_through_a_link_replaces_what_it_points_to(tmp_path):
    target, link = tmp_path / "target.npz", tmp_path / "link.npz"
    target.write_bytes(b"old")
    link.symlink_to(target)

    CMDP(**shop()).save(link)

    assert link.is_symlink()
    assert same(CMDP.load(target), CMDP(**shop()))


def test_a_path_given_as_text_works(tmp_path):
    CMDP(**shop()).save(str(tmp_path / "model.NPZ"))

    assert same(CMDP.load(str(tmp_path / "model.NPZ")), CMDP(**shop()))


@KINDS
def test_a_full_disk_is_named_and_leaves_the_old_file_and_no_litter(tmp_path, kind, monkeypatch):
    path = tmp_path / f"model{kind}"
    path.write_bytes(b"old")

    def no_space(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with refuses(StoreError, "No space left", argument=str(path)):
        CMDP(**shop()).save(path)

    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_directory_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def denied(*args, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with refuses(StoreError, argument=str(tmp_path / "model.npz")):
        CMDP(**shop()).save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_writing_into_a_missing_directory_or_onto_a_directory_is_named(tmp_path):
    (tmp_path / "taken.npz").mkdir()

    with refuses(StoreError, argument=str(tmp_path / "nowhere" / "model.npz")):
        CMDP(**shop()).save(tmp_path / "nowhere" / "model.npz")
    with refuses(StoreError, argument=str(tmp_path / "taken.npz")):
        CMDP(**shop()).save(tmp_path / "taken.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["taken.npz"]


@pytest.mark.parametrize("name", ["model.json", "model"])
def test_another_suffix_is_refused_in_both_directions(tmp_path, name):
    with refuses(ModelError, argument=str(tmp_path / name)):
        CMDP(**shop()).save(tmp_path / name)
    with refuses(ModelError, argument=str(tmp_path / name)):
        CMDP.load(tmp_path / name)


@KINDS
def test_files_that_are_not_there_are_named(tmp_path, kind):
    (tmp_path / f"folder{kind}").mkdir()
    (tmp_path / f"empty{kind}").touch()

    for name in ("missing", "folder", "empty"):
        path = tmp_path / f"{name}{kind}"
        with refuses(ModelError, argument=str(path)):
            CMDP.load(path)


def test_a_pipe_is_refused_rather_than_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")

    with refuses(ModelError, argument=str(tmp_path / "pipe.toml"), found="a directory or device"):
        CMDP.load(tmp_path / "pipe.toml")


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "model.npz").write_bytes(b"PK")

    def denied(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with refuses(ModelError, argument=str(tmp_path / "model.npz")):
        CMDP.load(tmp_path / "model.npz")


def test_content_that_contradicts_the_name_is_recognized(tmp_path):
    CMDP(**shop()).save(tmp_path / "model.npz")
    CMDP(**shop()).save(tmp_path / "model.toml")
    (tmp_path / "zip.toml").write_bytes((tmp_path / "model.npz").read_bytes())
    (tmp_path / "text.npz").write_bytes((tmp_path / "model.toml").read_bytes())
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")

    with refuses(ModelError, argument=str(tmp_path / "zip.toml")):
        CMDP.load(tmp_path / "zip.toml")
    wanted = {"expected": "an .npz model file"}
    path = tmp_path / "text.npz"
    with refuses(ModelError, argument=str(path), found="not a zip archive", **wanted):
        CMDP.load(path)
    path = tmp_path / "array.npz"
    with refuses(ModelError, argument=str(path), found="a single .npy array", **wanted):
        CMDP.load(path)


@KINDS
def test_a_bad_value_in_a_file_is_reported_with_the_name_of_the_file(tmp_path, kind):
    from tightrope.model.draft import draft
    from tightrope.model.files import read_model, write_model
    from tightrope.model.units import Unit

    path = tmp_path / f"bad{kind}"
    bad = draft(**{**shop(), "cost": [[0.2, 0.0], [1.5, 0.4]]})
    write_model(path, bad, Unit(), [Unit()], None)

    assert read_model(path)[0].cost[0, 1, 0] == 1.5
    with refuses(
        ModelError,
        argument="cost",
        entry="s='busy', a='wait'",
        found=1.5,
        expected="a number in [0, 1]",
    ):
        CMDP.load(path)
