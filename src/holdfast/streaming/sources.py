"""Sources of updates: any iterable, read in another thread, and files that appear in a folder."""

from __future__ import annotations

import gzip
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from holdfast.errors import Diagnostic, HoldfastError, UsageError
from holdfast.formats.paths import inside
from holdfast.interrupts import deferred
from holdfast.streaming.queue import Incoming, UpdateQueue
from holdfast.update_lines import UpdateLine, update_lines
from holdfast.updates import Update, the_update

END = "END"
"""A file of this name in a watched folder ends the stream."""

_PAUSE = 0.05  # seconds between two checks of a folder


def feed(queue: UpdateQueue, updates: Iterable[Update | UpdateLine]) -> threading.Thread:
    """Put updates into a queue from another thread, waiting while it is full; closes it at the end."""

    def run() -> None:
        try:
            for update in updates:
                queue.put_item(_incoming(update))
        except BaseException as failure:
            queue.close(failure)
        else:
            queue.close()

    thread = threading.Thread(target=run, name="holdfast updates", daemon=True)
    with deferred():  # a signal handler that raises inside `start` would corrupt its locks
        thread.start()
    return thread


def _incoming(given: Update | UpdateLine) -> Callable[[int], Incoming]:
    """Parse lines of JSON here, in the feeding thread."""
    if not isinstance(given, UpdateLine):
        return lambda number: Incoming(number, the_update(given))
    try:
        update, error = given.update(), None
    except HoldfastError as failure:
        update, error = None, given.placed(failure)
    return lambda number: Incoming(number, update, error, given.placed)


def watched_folder(
    folder: Path, stop: threading.Event | None = None, longest: int | None = None
) -> Iterator[UpdateLine]:
    """The updates in the files of a folder (JSON lines, plain or .gz) and in files that appear later.

    The stream ends when a file named END appears or `stop` is set.

    Files that arrive together are read in order of their names, with numbers in names compared by value: 9.jsonl before
    10.jsonl.  A producer renames a file when it is complete; names that begin with a dot or an underscore, or end in
    .tmp, are skipped.  A file that cannot be read to its end counts as one refused update.
    """
    seen, number = set[str](), 0
    while stop is None or not stop.is_set():
        try:
            there = [path for path in folder.iterdir() if path.name not in seen]
        except OSError as failure:
            raise UsageError(Diagnostic("E0921", f"{folder} cannot be watched: {failure.strerror}")) from failure
        fresh = sorted((path for path in there if _is_ready(path)), key=lambda path: _natural(path.name))
        for path in fresh:
            seen.add(path.name)
            for line in _lines(path, longest):
                number += 1
                yield replace(line, number=number)
        if any(path.name == END for path in there) and not fresh:
            return
        if not fresh:
            time.sleep(_PAUSE)


def _is_ready(path: Path) -> bool:
    return path.is_file() and path.name != END and path.name[0] not in "._" and path.suffix != ".tmp"


def _lines(path: Path, longest: int | None) -> Iterator[UpdateLine]:
    name, line = path.as_posix(), 0
    try:
        inside(path.parent, path.name)
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for found in update_lines(cast("BinaryIO", file), name, longest):
                line = found.line
                yield found
    except OSError as failure:
        error = UsageError(Diagnostic("E0921", f"{path} cannot be read: {failure.strerror}"))
        yield UpdateLine(name, line + 1, 0, b"", error)
    except HoldfastError as error:
        yield UpdateLine(name, line + 1, 0, b"", error)


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that compares digits by value and the rest as text."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]
