"""Folders of this process, which others may remove when it is gone, however it ended."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

_LOCK = "_driver"  # a name that Spark passes over when it reads a folder
_SHARDS, _FRAMES = "holdfast-shards-", "holdfast-frames-"
_locks: dict[str, int] = {}
_frames: dict[Path, Path] = {}  # by parent: the folder for what outlives a knowledge base
_lent: ContextVar[list[str] | None] = ContextVar("lent", default=None)  # folders with files of DataFrames


def new_folder(parent: str | None) -> str:
    """A new folder for the files of a knowledge base; folders beside it that are left of ended processes go."""
    return _made(_SHARDS, parent or tempfile.gettempdir())


def remove_folder(folder: str) -> None:
    """The knowledge base is closed."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(KeyError, OSError):
        os.close(_locks.pop(folder))


def frame_folder(folder: str) -> str:
    """A new folder beside that of a knowledge base for a DataFrame's files, which stay until this process ends."""
    parent = Path(folder).parent
    if parent not in _frames or not _frames[parent].is_dir():
        _frames[parent] = Path(_made(_FRAMES, str(parent)))
        atexit.register(remove_folder, str(_frames[parent]))
    made = tempfile.mkdtemp(dir=_frames[parent])
    if (lent := _lent.get()) is not None:
        lent.append(made)
    return made


@contextmanager
def lending() -> Iterator[None]:
    """Inside a `with` the DataFrames of relations are for jobs that end before it does: their files go then."""
    folders = list[str]()
    token = _lent.set(folders)
    try:
        yield
    finally:
        _lent.reset(token)
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _made(prefix: str, parent: str) -> str:
    _remove_left(Path(parent))
    folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
    new = Path(folder) / f"{_LOCK}.new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(OSError):  # a file system without locks: the folder is not removed then
        fcntl.flock(lock, fcntl.LOCK_EX)
        new.rename(new.with_name(_LOCK))  # when it is locked: who finds it free may remove the folder
    _locks[folder] = lock
    return folder


def _remove_left(parent: Path) -> None:
    for prefix in (_SHARDS, _FRAMES):
        for folder in parent.glob(f"{prefix}*"):
            with suppress(OSError):  # in use, or of another user
                lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(lock)
