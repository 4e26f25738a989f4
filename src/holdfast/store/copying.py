"""Copies of a store: backups, and stores salvaged from damaged ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import Diagnostic, HoldfastError, UsageError
from holdfast.store.files import Files
from holdfast.store.manifests import cannot, sealed
from holdfast.store.reading import StoreContents, closing, read_store
from holdfast.store.writing import parquet, switch

if TYPE_CHECKING:
    import pyarrow as pa

_TRIES = 5  # a writer may replace the snapshot while it is being copied


def copy_store(folder: Path, to: Path, version: int | None = None, files: Files | None = None) -> StoreContents:
    """Copy a store, which may be open for writing, to a new folder; returns the contents of the copy.

    With a version, copy the store as it was then; damage after that version does not matter.
    """
    files = files or Files()
    for attempt in range(_TRIES):
        pointer = _current(folder)
        try:
            with appearing(to, files) as new:
                stored = read_store(folder) if version is None else read_store(folder, readable=True).at(version)
                return _copied(stored, new, files)
        except (HoldfastError, OSError):
            if attempt == _TRIES - 1 or _current(folder) == pointer or to.exists():
                raise
    raise AssertionError("the last attempt returns or raises")


def _current(folder: Path) -> bytes:
    with suppress(OSError):
        return (folder / "CURRENT").read_bytes()
    return b""


def _copied(stored: StoreContents, to: Path, files: Files) -> StoreContents:
    """Copy the files of a snapshot, and its log up to the last complete record."""
    manifest = stored.manifest
    for path in (file.path for file in manifest.facts):
        files.make_folder((to / path).parent)
        files.write_file(to / path, (stored.folder / path).read_bytes())
        files.sync_folder((to / path).parent)
    data = (stored.folder / manifest.path).read_bytes()
    for path, content in ((manifest.path, data), (manifest.log, stored.log_bytes())):
        files.make_folder((to / path).parent)
        files.write_file(to / path, content)
        files.sync_folder((to / path).parent)
    files.write_file(to / "HOLDFAST", (stored.folder / "HOLDFAST").read_bytes())
    files.write_file(to / "CLOSED", sealed(closing(manifest.version, stored.log.end, stored.log.last)))
    switch(to, manifest.version, data, files)
    return read_store(to)


def write_export(to: Path, program: str, facts: Mapping[str, pa.Table], files: Files | None = None) -> None:
    """Write a program and facts to files for `holdfast run program.dl -F facts`, atomically."""
    files = files or Files()
    with appearing(to, files) as new:
        files.write_file(new / "program.dl", program.encode())
        files.mkdir(new / "facts")
        for name, table in facts.items():
            files.write_file(new / f"facts/{name}.parquet", parquet(table))
        files.sync_folder(new / "facts")
        files.sync_folder(new)


@contextmanager
def appearing(to: Path, files: Files) -> Iterator[Path]:
    """A temporary folder beside the wanted one; it is renamed if the block succeeds, and removed otherwise."""
    if to.exists():
        message = f"{to.as_posix()} exists; a copy goes to a new folder"
        raise UsageError(Diagnostic("E1310", message, help="name a folder that does not exist yet"))
    beside = to.with_name(f".{to.name}.new")
    try:
        files.make_folder(to.absolute().parent)
        files.remove(beside)  # left by an interrupted run
        files.mkdir(beside)
        yield beside
        files.replace(beside, to)
        files.sync_folder(to.absolute().parent)
    except OSError as error:
        raise cannot(to, "written", error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
