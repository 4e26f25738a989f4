"""Files named on the command line: find or explain them, read them, and write them atomically."""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from holdfast.cli import codes
from holdfast.errors import Diagnostic, UsageError

_ALIKE = 0.75  # from 0 to 1: how similar a name must be to be suggested


def existing_file(path: Path) -> Path:
    """The path if the file exists; otherwise an error that suggests similar names."""
    if path.is_dir():
        programs = sorted(path.glob("*.dl"))
        hint = f"did you mean {programs[0]}?" if programs else None
        if (path / "HOLDFAST").exists():
            hint = f"it is a store: `holdfast store export {path} FOLDER` writes its program and its facts as files"
        raise UsageError(Diagnostic(codes.NO_SUCH_FILE, f"{path} is a folder, not a file", help=hint))
    return existing(path, "file")


def existing(path: Path, what: str = "file or folder") -> Path:
    """The path, if something exists there."""
    if not path.exists():
        raise UsageError(Diagnostic(codes.NO_SUCH_FILE, f"there is no {what} {path}", help=_similar(path)))
    return path


def _similar(path: Path) -> str | None:
    """What the user may have meant: a similar name in the same folder, or how much of the path exists."""
    folder = path.parent
    if not folder.is_dir():
        return f"there is no folder {folder} either"
    # Compare without the extension, or all `.dl` files would look alike.
    stems = {entry.stem: entry.name for entry in folder.iterdir() if not entry.name.startswith(".")}
    similar = difflib.get_close_matches(path.stem, stems, 1, _ALIKE)
    return f"did you mean {folder / stems[similar[0]]}?" if similar else None


def read_text(path: Path) -> str:
    """The text of a program; `-` is standard input."""
    try:
        if str(path) == "-":
            return sys.stdin.read()
        return existing_file(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as failure:
        message = f"{path} is not UTF-8 text (byte {failure.start + 1})"
        raise UsageError(Diagnostic(codes.UNREADABLE, message)) from failure
    except OSError as failure:
        raise UsageError(Diagnostic(codes.UNREADABLE, f"{path} cannot be read: {failure.strerror}")) from failure


def shown_name(path: Path) -> str:
    """The program's name in messages."""
    return "<stdin>" if str(path) == "-" else path.as_posix()


def writable_folder(path: Path | None) -> None:
    """Refuse a folder that cannot be written to, before anything is computed; it need not exist yet."""
    if path is None:
        return
    there = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not there.is_dir():
        raise UsageError(Diagnostic(codes.CANNOT_WRITE, f"{there} is a file, and results go into a folder"))
    _refuse_unless_writable(path, there)


def writable_file(path: Path | None) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if path is None:
        return
    if path.is_dir():
        raise UsageError(Diagnostic(codes.CANNOT_WRITE, f"{path} is a folder, not a file"))
    if not path.parent.is_dir():
        raise UsageError(Diagnostic(codes.CANNOT_WRITE, f"{path} cannot be written: there is no folder {path.parent}"))
    _refuse_unless_writable(path, path.parent)


def _refuse_unless_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(Diagnostic(codes.CANNOT_WRITE, f"{path} cannot be written: permission denied in {folder}"))


def refuse_overwriting(path: Path | None, read: Iterable[Path]) -> None:
    """Refuse to overwrite the program, facts or updates."""
    if path is not None:
        from holdfast.formats.paths import refuse_overwriting

        refuse_overwriting(path, each_file(read))


def each_file(paths: Iterable[Path]) -> list[Path]:
    """The given files, and the files in the given folders."""
    return [file for path in paths for file in (path.iterdir() if path.is_dir() else [path])]


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: a reader, or an interrupt, finds the old text or the new one."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            os.close(handle)
            Path(temporary).write_text(text, encoding="utf-8")
            _keep_mode(path, Path(temporary))
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as failure:
        raise UsageError(Diagnostic(codes.CANNOT_WRITE, f"{path} cannot be written: {failure.strerror}")) from failure


def _keep_mode(path: Path, temporary: Path) -> None:
    if path.exists():
        mode = path.stat().st_mode
    else:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    temporary.chmod(mode)
