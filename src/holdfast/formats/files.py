"""Read bytes from files: gzip, and file system errors."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn, cast

from holdfast.formats.places import file_span, refuse
from holdfast.settings import UNLIMITED, Memory

BOM = b"\xef\xbb\xbf"
_PIECE = 1 << 20  # bytes read at a time


def text_size(data: bytes) -> int:
    """The bytes that the data takes as a Python string."""
    return len(data) if data.isascii() else 4 * len(data)


@contextmanager
def reading(path: Path, memory: Memory = UNLIMITED, *, compressed: bool = False) -> Iterator[bytes]:
    """The contents of a file, unpacked if its name or `compressed` says gzip; they count as memory inside the block.

    The file is read piece by piece, so that a small file that unpacks to a huge one is abandoned early.
    """
    what = reading_of(path)
    with ExitStack() as held:
        content = io.BytesIO()
        with _opened(path, compressed or path.suffix == ".gz") as file:
            while piece := file.read(_PIECE):
                held.enter_context(memory.holding(what, len(piece)))
                content.write(piece)
        yield content.getvalue()


def reading_of(path: Path) -> str:
    """The purpose of the memory, for error messages."""
    return f"reading {path.as_posix()} would"


@contextmanager
def _opened(path: Path, is_packed: bool) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield cast("BinaryIO", gzip.GzipFile(fileobj=file)) if is_packed else file
    except EOFError:
        refuse("E0603", f"{path.as_posix()} is truncated: the gzip data ends too early", file_span(path))
    except (gzip.BadGzipFile, zlib.error):
        refuse(
            "E0603",
            f"{path.as_posix()} is not gzip, or is damaged",
            file_span(path),
            help=None if path.suffix == ".gz" else "remove compress=true if the file is not compressed",
        )
    except OSError as error:
        refuse_unreadable(path, error)


def refuse_unreadable(path: Path, error: OSError) -> NoReturn:
    """Raise the data error for a file that cannot be opened."""
    match error:
        case FileNotFoundError():
            refuse("E0601", f"{path.as_posix()} does not exist")
        case IsADirectoryError():
            refuse("E0602", f"{path.as_posix()} is a folder, not a file")
        case PermissionError():
            refuse("E0602", f"{path.as_posix()} cannot be read: permission denied")
    refuse("E0602", f"{path.as_posix()} cannot be read: {(error.strerror or str(error)).lower()}")


def as_text(path: Path, data: bytes) -> str:
    """Decode the data; refuses anything but UTF-8, with the line."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        packed = data.startswith(b"\x1f\x8b")
        refuse(
            "E0604",
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            file_span(path, line, column),
            help="it begins as gzip does: give it a name that ends in .gz" if packed else None,
        )
