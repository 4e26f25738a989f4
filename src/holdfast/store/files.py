"""The system calls that change a store's folder, in one place so that tests can make each of them fail."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, cast

_PIECE: Final = 1 << 23  # bytes written by one call
_SYNC_FILE_RANGE_WRITE: Final = 2


@cache
def _begin_sync() -> Callable[[int, int, int, int], int] | None:
    """Linux's `sync_file_range`."""
    try:
        import ctypes

        call = ctypes.CDLL(None).sync_file_range
        call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    except (ImportError, AttributeError, OSError, TypeError):
        return None
    return cast("Callable[[int, int, int, int], int]", call)


class Files:
    """The system's calls; each raises `OSError`, and `write` may write less than given."""

    syncs_aside = True
    """Whether a sync may begin, perhaps in another thread, while this one continues."""

    def create(self, path: Path) -> int:
        """Create an empty file, open for reading and writing; truncates an existing one."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)

    def open(self, path: Path) -> int:
        """Open an existing file for reading and writing."""
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def write(self, handle: int, data: memoryview, offset: int) -> int:
        """Write at an offset; returns the number of bytes written."""
        return os.pwrite(handle, data, offset)

    def truncate(self, handle: int, size: int) -> None:
        """Truncate a file."""
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        """Sync the contents and size of a file to disk."""
        getattr(os, "fdatasync", os.fsync)(handle)

    def begin_sync(self, handle: int, offset: int, size: int) -> None:
        """Let the system begin to write some bytes to disk, where it can; a later `sync` then takes less long.

        Errors are those of `sync`, which reports what became of all bytes.
        """
        if (begin := _begin_sync()) is not None:
            begin(handle, offset, size, _SYNC_FILE_RANGE_WRITE)

    def sync_folder(self, path: Path) -> None:
        """Sync the names in a folder to disk."""
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def replace(self, old: Path, new: Path) -> None:
        """Rename a file, replacing any file with the new name."""
        old.replace(new)

    def unlink(self, path: Path) -> None:
        """Delete a file."""
        path.unlink()

    def mkdir(self, path: Path) -> None:
        """Create a folder, whose parent exists."""
        path.mkdir()

    def rmdir(self, path: Path) -> None:
        """Delete an empty folder."""
        path.rmdir()

    # --- built from these --------------------------------------------------------------------------------

    def write_all(self, handle: int, data: bytes | memoryview, offset: int) -> None:
        """Write everything."""
        view = memoryview(data)
        while view:
            written = self.write(handle, view[:_PIECE], offset)
            view, offset = view[written:], offset + written

    def write_file(self, path: Path, data: bytes) -> None:
        """Create a file and sync its contents; its name is durable once its folder is synced."""
        handle = self.create(path)
        try:
            self.write_all(handle, data, 0)
            self.sync(handle)
        finally:
            os.close(handle)

    def replace_file(self, path: Path, data: bytes) -> None:
        """Replace a file's contents atomically and durably."""
        beside = path.with_name(path.name + ".new")
        self.write_file(beside, data)
        self.replace(beside, path)
        self.sync_folder(path.parent)

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents, durably."""
        if not path.is_dir():
            self.make_folder(path.parent)
            self.mkdir(path)
            self.sync_folder(path.parent)

    def remove(self, path: Path) -> None:
        """Delete a file, or a folder with its contents, if it exists."""
        if path.is_dir() and not path.is_symlink():
            for inside in sorted(path.iterdir()):
                self.remove(inside)
            self.rmdir(path)
        elif path.exists():
            self.unlink(path)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
