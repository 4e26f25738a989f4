"""The input and output of `holdfast stream`."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

from holdfast.cli import codes, files
from holdfast.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from holdfast.update_lines import UpdateLine


@contextmanager
def open_updates(path: Path, longest: int | None = None) -> Iterator[Iterator[UpdateLine]]:
    """The updates in a file (plain or gzip), in the files of a folder, or on standard input, as they arrive."""
    from holdfast.streaming.sources import watched_folder
    from holdfast.update_lines import update_lines

    if str(path) == "-":
        yield update_lines(_standard_input(), "<stdin>", longest)
        return
    if path.is_dir():
        yield watched_folder(path, longest=longest)
        return
    files.existing_file(path)
    try:
        file = gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115  closed below
    except OSError as failure:
        raise UsageError(Diagnostic(codes.UNREADABLE, f"{path} cannot be read: {failure.strerror}")) from failure
    with file:
        yield update_lines(cast("BinaryIO", file), path.as_posix(), longest)


def _standard_input() -> BinaryIO:
    """A duplicate of standard input: a thread may still be reading when Python closes the original at exit."""
    try:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    except (OSError, ValueError):  # not backed by a file descriptor
        return sys.stdin.buffer


@contextmanager
def open_changes(path: Path | None) -> Iterator[TextIO]:
    """A file (plain or gzip) or standard output; output is visible as soon as it is flushed."""
    if path is None:
        yield sys.stdout
        return
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        file = opened(path, "wt", encoding="utf-8")
    except OSError as failure:
        raise UsageError(Diagnostic(codes.CANNOT_WRITE, f"{path} cannot be written: {failure.strerror}")) from failure
    with file:
        yield cast("TextIO", file)


def refuse_overwriting(updates: Path, changes: Path | None) -> None:
    """Refuse to overwrite the stream that is being read, or to read the one being written."""
    if changes is not None and updates.is_dir() and changes.parent.resolve() == updates.resolve():
        raise UsageError(
            Diagnostic(codes.BAD_USAGE, f"{changes} is in the folder of updates, and would be read as an update file")
        )
    if changes is not None and changes.exists() and updates.exists() and changes.samefile(updates):
        raise UsageError(Diagnostic(codes.BAD_USAGE, f"{changes} cannot be both --updates and --changes"))
