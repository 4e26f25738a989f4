"""Write files atomically: each file on its own, or all files of a run together."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias, cast

from holdfast.formats.places import refuse


class Staged:
    """The files of one run, each staged beside its target; `commit` moves all of them into place, or none."""

    def __init__(self) -> None:
        self._files: list[tuple[Path, Path]] = []  # the staged file and its target
        self._folders: list[Path] = []

    def folder(self, path: Path) -> None:
        """Create a folder, which is removed if the run fails."""
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        for folder in reversed(missing):
            with _writing(folder):
                folder.mkdir(exist_ok=True)
            self._folders.append(folder)

    @contextmanager
    def replacing(self, path: Path) -> Iterator[Path]:
        """A temporary file that will replace `path`."""
        if any(path.resolve() == other.resolve() for _, other in self._files):
            refuse("E0624", f"two outputs of the run go to {path.as_posix()}", help="give each its own file")
        temporary = _beside(path, "tmp")
        self._files.append((temporary, path))
        with _writing(path):
            yield temporary

    def commit(self) -> None:
        """Move all files into place; if one fails, restore those already replaced."""
        undo: list[Callable[[], None]] = []
        kept: list[Path] = []
        try:
            for temporary, path in self._files:
                with _writing(path):
                    undo.append(_keep_old(path, kept))
                    temporary.replace(path)
        except BaseException:
            for step in reversed(undo):
                with suppress(OSError):
                    step()
            raise
        finally:
            _remove(kept)
        self._files, self._folders = [], []

    def discard(self) -> None:
        """Remove everything that was not committed."""
        _remove(temporary for temporary, _ in self._files)
        for folder in reversed(self._folders):
            with suppress(OSError):
                folder.rmdir()


@contextmanager
def all_or_none() -> Iterator[Staged]:
    """Files that appear together if the block succeeds, and not at all otherwise."""
    staged = Staged()
    try:
        yield staged
        staged.commit()
    finally:
        staged.discard()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it if the block succeeds, and is removed otherwise."""
    with all_or_none() as staged, staged.replacing(path) as temporary:
        yield temporary


Replacing: TypeAlias = Callable[[Path], AbstractContextManager[Path]]


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.{ending}")


def _keep_old(path: Path, kept: list[Path]) -> Callable[[], None]:
    """Keep a copy of the file to be replaced; returns a function that restores it."""
    if not path.exists():
        return lambda: path.unlink(missing_ok=True)
    old = _beside(path, "old")
    kept.append(old)
    try:
        os.link(path, old)
    except OSError:  # the file system has no links
        shutil.copy2(path, old)
    return partial(os.replace, old, path)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        refuse("E0611", f"{path.as_posix()} cannot be written: {(error.strerror or str(error)).lower()}")


@contextmanager
def writing(path: Path, *, compressed: bool = False, replacing: Replacing = replacing) -> Iterator[IO[bytes]]:
    """An open file, gzip if its name or `compressed` says so, that is written atomically."""
    with replacing(path) as temporary, temporary.open("xb") as file:
        if compressed or path.suffix == ".gz":
            # without name and time, so that equal facts give equal files
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=6, mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            yield file


def write_bytes(
    path: Path, parts: Iterable[bytes | memoryview], *, compressed: bool = False, replacing: Replacing = replacing
) -> None:
    """Write a file atomically."""
    with writing(path, compressed=compressed, replacing=replacing) as file:
        file.writelines(parts)
