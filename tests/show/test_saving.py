"""Files of figures: whole or not at all, and named when they cannot be."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from refusals import refuses
from tightrope.errors import ConfigError, StoreError
from tightrope.files import put
from tightrope.show.figures import save


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("A.PNG", b"\x89PNG")],
)
def test_the_name_decides_the_kind_of_file(name, start, tmp_path):
    save(Figure(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("name", "found"), [("a.gif", "'.gif'"), ("a", "nothing")])
def test_another_kind_of_file_is_refused_with_the_kinds_there_are(name, found, tmp_path):
    with refuses(ConfigError, f"in {found}$", argument=str(tmp_path / name)):
        save(Figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    save(Figure(), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "nowhere" / "a.png"
    with refuses(StoreError, "No such file", argument=str(path)):
        save(Figure(), path)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.png"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(StoreError, match=r"a.png: cannot be written"):
        put(path, b"new")
    assert [found.name for found in tmp_path.iterdir()] == ["a.png"]
    assert (path / "inside").exists()


def test_a_figure_that_cannot_be_drawn_leaves_nothing(tmp_path):
    class Broken(Figure):
        def savefig(self, *arguments: object, **options: object) -> None:
            raise RuntimeError("ink is out")

    with pytest.raises(RuntimeError, match="ink is out"):
        save(Broken(), tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
