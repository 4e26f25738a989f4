"""Bytes from files: gzip, and errors of the file system."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import NoReturn

from holdfast.formats.places import file_span, refuse

BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path, *, compressed: bool = False) -> bytes:
    """The content of a file, unpacked if it is gzip by its name or by `compressed`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        refuse_unreadable(path, error)
    return _unpack(path, data) if compressed or path.suffix == ".gz" else data


def refuse_unreadable(path: Path, error: OSError) -> NoReturn:
    """Raise the data error for a file that the system will not give."""
    match error:
        case FileNotFoundError():
            refuse("E0601", f"{path.as_posix()} does not exist")
        case IsADirectoryError():
            refuse("E0602", f"{path.as_posix()} is a folder, not a file")
        case PermissionError():
            refuse("E0602", f"{path.as_posix()} cannot be read: permission denied")
    refuse("E0602", f"{path.as_posix()} cannot be read: {(error.strerror or str(error)).lower()}")


def _unpack(path: Path, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except EOFError:
        refuse("E0603", f"{path.as_posix()} is cut off: the gzip data ends too early", file_span(path))
    except (gzip.BadGzipFile, zlib.error):
        refuse(
            "E0603",
            f"{path.as_posix()} is not gzip, or is damaged",
            file_span(path),
            help=None if path.suffix == ".gz" else "leave out compress=true if the file is not compressed",
        )


def as_text(path: Path, data: bytes) -> str:
    """The data as text; refuses what is not UTF-8, with the line."""
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
