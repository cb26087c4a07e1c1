"""A study: a folder of runs, planned, under way and finished.

::

    specs.jsonl      every run that was ever asked for, a line each
    models/          contents of model files, by their hashes
    runs/ID/         a `RunFolder` for each run that was begun
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import final

from tightrope.errors import StoreError
from tightrope.experiments.spec import RunSpec, spec_of
from tightrope.files import make_folder, put, reason
from tightrope.run.models import content_hash
from tightrope.store.folder import RunFolder
from tightrope.store.lock import locked

PATIENCE = 60.0  # seconds to wait for another process that is planning


@final
class Study:
    """A study on disk.

    Parameters
    ----------
    path : Path
        Its folder, which need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether anything was planned here."""
        return self._specs.is_file()

    @property
    def _specs(self) -> Path:
        return self.path / "specs.jsonl"

    def add(self, specs: Iterable[RunSpec], models: Mapping[str, bytes] | None = None) -> int:
        """Plan runs; those planned before stay as they are. Returns how many are new.

        Parameters
        ----------
        specs : iterable of RunSpec
        models : mapping of str to bytes, optional
            Contents of the model files that the specs name, by their hashes.
        """
        for folder in (self.path, self.path / "models"):
            make_folder(folder)
        with locked(self.path / "lock", PATIENCE):  # whoever plans meanwhile must not be forgotten
            for digest, content in (models or {}).items():
                if not self._model(digest).is_file():
                    put(self._model(digest), content)
            planned = {spec.id: spec for spec in self.specs()} if self.exists else {}
            new = {spec.id: spec for spec in specs if spec.id not in planned}
            if new or not self.exists:
                lines = [spec.to_json() for spec in (*planned.values(), *new.values())]
                put(self._specs, "".join(f"{line}\n" for line in lines).encode())
        return len(new)

    def specs(self) -> list[RunSpec]:
        """All runs of the study, in the order in which they were asked for."""
        try:
            lines = self._specs.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            raise StoreError(f"{self.path}: no study is here") from None
        except NotADirectoryError:
            raise StoreError(f"{self.path}: a file, expected the folder of a study") from None
        except (OSError, ValueError) as error:
            raise StoreError(f"{self._specs}: cannot be read: {reason(error)}") from error
        found = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                table = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise StoreError(
                    f"{self._specs}, line {number}: not JSON: {error}; remove the file and plan "
                    "the study again, finished runs are kept"
                ) from error
            if not isinstance(table, dict):
                raise StoreError(f"{self._specs}, line {number}: expected a table")
            found.append(spec_of(table, f"{self._specs}, line {number}"))
        return found

    def folder(self, spec: RunSpec) -> RunFolder:
        """Where a run is kept."""
        return RunFolder(self.path / "runs" / spec.id)

    def finished(self) -> list[RunSpec]:
        """Runs that are done."""
        return [spec for spec in self.specs() if self.folder(spec).is_finished]

    def pending(self) -> list[RunSpec]:
        """Runs that are not."""
        return [spec for spec in self.specs() if not self.folder(spec).is_finished]

    def model(self, spec: RunSpec) -> bytes:
        """Content of the model file that a spec names; empty for the catalogue."""
        if not spec.model:
            return b""
        try:
            content = self._model(spec.model).read_bytes()
        except OSError as error:
            raise StoreError(
                f"{self.path}: the model {spec.environment} of run {spec.id} cannot be read: "
                f"{reason(error)}"
            ) from error
        if content_hash(content) != spec.model:
            raise StoreError(f"{self._model(spec.model)}: its content has changed")
        return content

    def _model(self, digest: str) -> Path:
        return self.path / "models" / digest.removeprefix("sha256:")
