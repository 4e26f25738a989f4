"""Create a store, open it for writing, or begin it again: one process at a time, by a lock."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from holdfast.errors import DamagedData, Diagnostic, HoldfastError, UsageError
from holdfast.store.files import Files
from holdfast.store.manifests import PIPELINE, cannot, identity, not_a_store, read_identity
from holdfast.store.reading import StoreContents, is_unfinished, read_store
from holdfast.store.writing import Snapshot, Store, switch, write_snapshot


def open_store(folder: Path) -> tuple[Store, StoreContents]:
    """Open and lock an existing store; returns its contents too."""
    if not (folder / "HOLDFAST").exists():
        raise not_a_store(folder)
    lock = locked(folder)
    try:
        stored = read_store(folder)
        if PIPELINE in read_identity(folder).features:
            raise _of_pipeline(folder)
        return resume_store(stored, lock), stored
    except BaseException:
        os.close(lock)
        raise


def resume_store(stored: StoreContents, lock: int, keep: int = 1) -> Store:
    """Continue writing to a store that this process has locked."""
    store = Store(stored.folder, stored, lock, Files(), keep)
    if not stored.closed:
        store.recover(stored.log_bytes())
    store.sweep()
    return store


def exists(folder: Path) -> bool:
    """Whether a store exists; False if one can be created; raises otherwise."""
    try:
        if not folder.exists() or is_unfinished(folder):
            return False
    except OSError as error:
        raise cannot(folder, "read", error) from error
    if not folder.is_dir() or not (folder / "HOLDFAST").exists():
        raise not_a_store(folder)
    return True


def create_store(folder: Path, snapshot: Snapshot) -> Store:
    """Create a store, with its first snapshot on disk."""
    files = Files()
    try:
        files.make_folder(folder.absolute())
        lock = locked(folder)
    except OSError as error:
        raise cannot(folder, "written", error) from error
    try:
        if exists(folder):  # another process was faster
            raise _is_locked(folder)
        for path in sorted(folder.iterdir()):
            if path.name != "lock":
                files.remove(path)
        return begin_store(folder, snapshot, lock)
    except BaseException as error:
        os.close(lock)
        if isinstance(error, OSError):
            raise cannot(folder, "written", error) from error
        raise


def begin_store(folder: Path, snapshot: Snapshot, lock: int, features: Iterable[str] = (), keep: int = 1) -> Store:
    """Begin with a snapshot in a folder that this process has locked; switching CURRENT makes it valid."""
    files = Files()
    try:
        if not _has_identity(folder):
            files.replace_file(folder / "HOLDFAST", identity(secrets.token_hex(16), features))
        manifest, data = write_snapshot(folder, snapshot, files)
        if (folder / "CLOSED").exists():  # it describes another log
            files.remove(folder / "CLOSED")
            files.sync_folder(folder)
        switch(folder, manifest.version, data, files)
    except OSError as error:
        raise cannot(folder, "written", error) from error
    return Store(folder, read_store(folder, check_facts=False), lock, files, keep)


def _has_identity(folder: Path) -> bool:
    """Whether HOLDFAST exists and is intact; refuses a newer format."""
    try:
        return (folder / "HOLDFAST").exists() and bool(read_identity(folder))
    except DamagedData:
        return False


def locked(folder: Path) -> int:
    """Lock a store; the system releases the lock when the process ends."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise cannot(folder, "written", error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise _is_locked(folder) from None
    except OSError as error:
        os.close(lock)
        raise cannot(folder, "locked", error) from error
    return lock


def _of_pipeline(folder: Path) -> HoldfastError:
    message = f"the store {folder.as_posix()} belongs to a pipeline, which alone may write to it"
    help = "open it with read_only=True, or send updates through the pipeline"
    return UsageError(Diagnostic("E1311", message, help=help))


def _is_locked(folder: Path) -> HoldfastError:
    message = f"the store {folder.as_posix()} is open for writing in another process or knowledge base"
    return UsageError(Diagnostic("E1303", message, help="close that one, or wait until its process has ended"))
