"""Places of files that a command will write, looked at before the work and not after it."""

from __future__ import annotations

from pathlib import Path

from tightrope.errors import ModelError, StoreError


def exists(path: Path) -> bool:
    """Whether a file is there; a name that no file can have is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def require_folder(path: Path) -> None:
    """Raise a `StoreError` when a file cannot be written because its folder is not there."""
    if path.is_dir():
        raise StoreError(f"{path}: cannot be written: it is a directory")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: cannot be written: {path.parent} is no directory")


def require_figure(path: Path | None) -> None:
    """Raise when a picture was asked for and cannot be written there."""
    if path is None:
        return
    from tightrope.show.figures import require_picture

    require_picture(path)
    require_folder(path)


def require_npz(path: Path) -> None:
    """Raise when a plan cannot be saved there."""
    if path.suffix.lower() != ".npz":
        raise ModelError(f"{path}: a plan is saved as .npz, this name ends in {path.suffix!r}")
    require_folder(path)
