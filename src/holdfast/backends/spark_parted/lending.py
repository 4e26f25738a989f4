"""The files of DataFrames that show relations: they stay until the process ends, or only as long as some work takes."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_lent: ContextVar[list[str] | None] = ContextVar("lent", default=None)  # folders with files of DataFrames


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


def frame_folder(parent: Path) -> str:
    """A new folder for the files of a DataFrame, which outlives the knowledge base."""
    folder, lent = tempfile.mkdtemp(prefix="holdfast-frame-", dir=str(parent)), _lent.get()
    if lent is None:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    else:
        lent.append(folder)
    return folder
