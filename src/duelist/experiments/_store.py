"""The result directory: one file per finished cell, and a manifest that says what made them.

    DIR/manifest.json     settings, versions, machine, command
    DIR/cells/KEY.npz     regret by kind, of a cell that of each step, and its description as JSON

A file is written beside its place and moved into it, so it is whole or not there. The archives
carry check sums, so one that was cut short by other means is noticed when it is read.
"""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from duelist.experiments._files import output_directory, write_atomically
from duelist.experiments._job import Job, Outcome, R

_FORMAT: Final = 1
_IDENTITY: Final = ("format", "settings", "versions")


class StoreError(Exception):
    """A result directory that cannot be used, and what to do about it."""


@dataclass(frozen=True)
class Store:
    """A result directory that is ready to be written to."""

    directory: Path

    def save(self, cell: Job[Any], result: Outcome) -> Path:
        """Write a finished cell in one step.

        Raises:
            StoreError: it cannot be written; cells already written are safe.
        """
        path = self._path(cell)
        meta = {
            "description": cell.description(),
            "seconds": result.seconds,
            "compile_seconds": result.compile_seconds,
        }
        text = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        archive = io.BytesIO()
        np.savez_compressed(archive, allow_pickle=False, meta=text, **result.regret)
        try:
            return write_atomically(path, archive.getvalue())
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be written: {error.strerror}. Finished cells are safe; "
                "make room and go on with --resume"
            ) from error

    def load(self, cell: Job[R]) -> R | None:
        """A cell finished before, or None if it was not.

        Raises:
            StoreError: its file is damaged.
        """
        path = self._path(cell)
        if not path.exists():
            return None
        try:
            arrays = _read(path.read_bytes())
            meta = json.loads(arrays["meta"].tobytes())
            return _result(cell, arrays, meta)
        except _DAMAGE as error:
            raise StoreError(
                f"{path}: expected a finished cell, got a damaged file ({error}); "
                "delete it and go on with --resume"
            ) from error

    def _path(self, cell: Job[Any]) -> Path:
        return self.directory / "cells" / f"{cell.key}.npz"


_DAMAGE: Final = (
    *(OSError, EOFError, ValueError, TypeError, KeyError),
    # What a bit that flipped makes of the archive and its entries.
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
)


def _read(content: bytes) -> dict[str, Any]:
    """The arrays of an archive, none of which is looked at before all check sums are right."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if (damaged := archive.testzip()) is not None:
            raise ValueError(f"the check sum of {damaged} is wrong")
    return dict(np.load(io.BytesIO(content), allow_pickle=False))


def _result(cell: Job[R], arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> R:
    if meta["description"] != cell.description():
        raise ValueError("it describes another cell than its name")
    shapes = cell.shapes()
    regret = {kind: np.asarray(arrays[kind], np.float64) for kind in shapes}
    if any(values.shape != shapes[kind] for kind, values in regret.items()):
        raise ValueError(f"expected regrets of shapes {shapes}")
    return cell.result(regret, meta["seconds"], meta["compile_seconds"])


def open_store(
    directory: Path,
    *,
    resume: bool,
    settings: Mapping[str, Any],
    versions: Mapping[str, str],
    notes: Mapping[str, Any],
) -> Store:
    """Make a result directory, or go on with one.

    Args:
        directory: where.
        resume: whether to go on with what is there, if anything is.
        settings: that all of its cells share.
        versions: of whatever may change a number.
        notes: for the reader of the manifest: command, machine.

    Raises:
        StoreError: it holds results and `resume` is false, or results of other settings or
            versions, or something else than results, or it cannot be written.
    """
    identity = {"format": _FORMAT, "settings": dict(settings), "versions": dict(versions)}
    identity = json.loads(json.dumps(identity))
    manifest = directory / "manifest.json"
    try:
        fresh = not directory.is_dir() or _unused(directory)
        if not fresh:
            _check_same(manifest, identity, resume)
        output_directory(directory)
        if fresh:
            write_atomically(manifest, json.dumps({**identity, **notes}, indent=2) + "\n")
        output_directory(directory / "cells")
    except (OSError, ValueError) as error:
        raise StoreError(f"{directory}: cannot be used as result directory: {error}") from error
    return Store(directory)


def _unused(directory: Path) -> bool:
    """Whether there is nothing in it but what a run leaves that ended before its first cell."""
    return all(
        path.name == "manifest.json"
        or path.match("manifest.json.*.partial")
        or (path.name == "cells" and path.is_dir() and not any(path.iterdir()))
        for path in directory.iterdir()
    )


def _check_same(manifest: Path, identity: Mapping[str, Any], resume: bool) -> None:
    directory = manifest.parent
    if not manifest.exists():
        raise StoreError(
            f"{directory}: holds files but no manifest.json, so these are no results that could be "
            "gone on with; choose another directory with --out"
        )
    if not resume:
        raise StoreError(
            f"{directory}: already holds results; go on with them with --resume, or choose "
            "another directory with --out"
        )
    try:
        found = json.loads(manifest.read_bytes())
        differences = _differences({k: found[k] for k in _IDENTITY}, identity)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{manifest}: expected a manifest, got a damaged file: {error}") from error
    if differences:
        listed = "; ".join(differences)
        raise StoreError(
            f"{directory}: was made by other settings or versions ({listed}), and results are not "
            "mixed; choose another directory with --out"
        )


def _differences(found: Any, wanted: Any, name: str = "") -> list[str]:
    """What differs, one text each: `settings.horizon is 50 there and 2000 here`."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = dict.fromkeys([*found, *wanted])
        return [
            difference
            for key in keys
            for difference in _differences(
                found.get(key), wanted.get(key), f"{name}.{key}" if name else key
            )
        ]
    return [] if found == wanted else [f"{name} is {found!r} there and {wanted!r} here"]
