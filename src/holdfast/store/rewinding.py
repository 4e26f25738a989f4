"""Restore an earlier version in place; needs a store that keeps earlier snapshots or a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from holdfast.errors import DamagedData
from holdfast.store.files import Files
from holdfast.store.manifests import read_identity
from holdfast.store.reading import StoreContents, read_snapshot, snapshot_numbers
from holdfast.store.records import LogKey, read_log
from holdfast.store.writing import Store, switch


def kept_snapshots(folder: Path) -> Iterator[tuple[int, StoreContents | DamagedData]]:
    """The snapshots in a store, the oldest first, each with its log as far as it can be read, or its fault."""
    for number in snapshot_numbers(folder):
        try:
            yield number, read_snapshot(folder, number)
        except DamagedData as fault:
            yield number, fault


def kept_versions(folder: Path) -> dict[int, StoreContents]:
    """The versions that can be restored, the oldest first, each with the last snapshot that leads to it."""
    found: dict[int, StoreContents] = {}
    for number, stored in kept_snapshots(folder):
        if isinstance(stored, StoreContents):
            found |= dict.fromkeys((number, *(record.version for record in stored.log.applied())), stored)
    return found


def last_known_version(folder: Path) -> int:
    """The last version in any log of a store, however damaged the rest is; -1 if none has one."""
    numbers = snapshot_numbers(folder)
    versions = [-1, *numbers]
    with suppress(DamagedData):
        id = read_identity(folder).id
        for number in numbers:
            log = read_log((folder / f"log/{number}.hfl").read_bytes(), LogKey(id, number))
            versions += [record.version for record in log.records]
    return max(versions)


def rewind(stored: StoreContents, lock: int, keep: int) -> Store:
    """Make an earlier version the last, in a store that this process has locked; later versions are lost."""
    folder, files = stored.folder, Files()
    files.remove(folder / "CLOSED")
    files.sync_folder(folder)
    store = Store(folder, stored, lock, files, keep)
    store.recover(stored.log_bytes())
    switch(folder, stored.manifest.version, (folder / stored.manifest.path).read_bytes(), files)
    store.sweep()
    return store
