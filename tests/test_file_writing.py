"""Files are replaced whole, keep their mode, and leave nothing behind."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tightrope.errors import StoreError
from tightrope.files import PART, put, writing

HALF = """
import sys
from pathlib import Path
from tightrope.files import writing
with writing(Path(sys.argv[1])) as file:
    file.write(b"half")
    print("writing", flush=True)
    sys.stdin.read()
"""
MANY = """
import sys
from pathlib import Path
from tightrope.files import put
print("ready", flush=True)
sys.stdin.readline()
for number in range(500):
    put(Path(sys.argv[1]) / str(number % 3), b"content")
"""


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(PART.format("*")))


def start_writing(path: Path) -> subprocess.Popen[str]:
    """A process that is halfway through a file."""
    process = subprocess.Popen(
        [sys.executable, "-c", HALF, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def test_the_part_file_of_a_killed_process_is_removed_by_the_next_write(tmp_path: Path) -> None:
    with start_writing(tmp_path / "a") as process:
        process.kill()
    assert len(parts(tmp_path)) == 1
    put(tmp_path / "b", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_the_part_file_of_a_process_at_work_is_left_to_it(tmp_path: Path) -> None:
    with start_writing(tmp_path / "a") as process:
        put(tmp_path / "b", b"whole")
        assert len(parts(tmp_path)) == 1
        process.communicate()
    assert process.returncode == 0
    assert (tmp_path / "a").read_bytes() == b"half"
    assert parts(tmp_path) == []


def test_processes_that_write_into_one_folder_do_not_disturb_each_other(tmp_path: Path) -> None:
    words = [sys.executable, "-c", MANY, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    writers = [subprocess.Popen(words, text=True, **pipes) for _ in range(4)]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.communicate()[1] for writer in writers] == [""] * 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    with writing(path) as file:
        (part,) = parts(tmp_path)
        assert stat.S_IMODE(part.stat().st_mode) == mode
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_mode_that_the_user_asks_for(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        put(tmp_path / "a", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing(tmp_path: Path) -> None:
    put(tmp_path / "a", b"old")
    with pytest.raises(StoreError, match="cannot be written: No space"), writing(tmp_path / "a"):
        raise OSError(28, "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"
