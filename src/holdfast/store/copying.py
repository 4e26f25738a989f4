"""Copies of a store: backups, and stores made from what can be read of another."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.errors import Diagnostic, HoldfastError, UsageError
from holdfast.store.files import Files
from holdfast.store.manifests import cannot, identity, sealed
from holdfast.store.reading import Stored, closing, read_store
from holdfast.store.writing import switch

_TRIES = 5  # a writer may replace the snapshot while it is being copied


def copy_store(folder: Path, to: Path, files: Files | None = None) -> Stored:
    """Copy a store, which may be open for writing, to a new folder; gives what the copy has."""
    files = files or Files()
    for attempt in range(_TRIES):
        pointer = _current(folder)
        try:
            with appearing(to, files) as new:
                return _copied(read_store(folder), new, files)
        except (HoldfastError, OSError):
            if attempt == _TRIES - 1 or _current(folder) == pointer or to.exists():
                raise
    raise AssertionError("the last attempt returns or raises")


def _current(folder: Path) -> bytes:
    with suppress(OSError):
        return (folder / "CURRENT").read_bytes()
    return b""


def _copied(stored: Stored, to: Path, files: Files) -> Stored:
    """The files of a snapshot and its log up to the last whole record."""
    manifest = stored.manifest
    for path in (file.path for file in manifest.facts):
        files.make_folder((to / path).parent)
        files.write_file(to / path, (stored.folder / path).read_bytes())
        files.sync_folder((to / path).parent)
    data = (stored.folder / manifest.path).read_bytes()
    log = (stored.folder / manifest.log).read_bytes()[: stored.log.end]
    for path, content in ((manifest.path, data), (manifest.log, log)):
        files.make_folder((to / path).parent)
        files.write_file(to / path, content)
        files.sync_folder((to / path).parent)
    files.write_file(to / "HOLDFAST", identity(stored.id))
    files.write_file(to / "CLOSED", sealed(closing(manifest.version, stored.log.end, stored.log.last)))
    switch(to, manifest.version, data, files)
    return read_store(to)


@contextmanager
def appearing(to: Path, files: Files) -> Iterator[Path]:
    """A folder beside the one that is wanted, which gets its name when the block ends well, and goes otherwise."""
    if to.exists():
        message = f"{to.as_posix()} exists; a copy goes to a new folder"
        raise UsageError(Diagnostic("E1310", message, help="name a folder that is not there yet"))
    beside = to.with_name(f".{to.name}.new")
    try:
        files.make_folder(to.absolute().parent)
        files.remove(beside)  # what an interrupted run left
        files.mkdir(beside)
        yield beside
        files.replace(beside, to)
        files.sync_folder(to.absolute().parent)
    except OSError as error:
        raise cannot(to, "written", error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
