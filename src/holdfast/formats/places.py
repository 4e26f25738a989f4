"""Places in data files, and a collector of the errors in one file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from pathlib import Path
from typing import NoReturn

from holdfast.errors import DataError, Diagnostic, SourceText, Span
from holdfast.quick_dataclass import dataclass

SHOWN = 5  # problems reported individually; the others are counted
_LONGEST_EXCERPT = 160


@dataclass(frozen=True)
class FileLine(SourceText):
    """A source that holds only one line: data files are too large to carry in an error."""

    number: int = 1

    def line(self, number: int) -> str:
        """The text of the line; empty for any other line and for a line too long to show."""
        return self.text if number == self.number and len(self.text) <= _LONGEST_EXCERPT else ""


def file_span(path: Path | str, line: int = 1, column: int = 1, width: int = 1, text: str = "") -> Span:
    """A place in a data file; `text` is the line to show, if any."""
    name = path.as_posix() if isinstance(path, Path) else path
    return Span(FileLine(name, text, line), line, column, line, column + max(1, width))


def refuse(
    code: str, message: str, span: Span | None = None, *, notes: tuple[str, ...] = (), help: str | None = None
) -> NoReturn:
    """Raise a data error with one diagnostic."""
    raise DataError(Diagnostic(code, message, span, notes=notes, help=help))


def other_columns(names: Collection[str], wanted: Collection[str]) -> str:
    """What is wrong with the columns: the missing ones and the surplus ones."""
    missing, extra = [name for name in wanted if name not in names], [name for name in names if name not in wanted]
    parts = [f"lacks column{'s' if missing[1:] else ''} {', '.join(missing)}"] if missing else []
    parts += [f"has the extra column{'s' if extra[1:] else ''} {', '.join(extra)}"] if extra else []
    return " and ".join(parts) or "has its columns in another order"


@dataclass
class Problems:
    """The errors in one file: the first few in full, the others counted."""

    path: Path
    shown: list[Diagnostic] = field(default_factory=list)
    count: int = 0

    def add(
        self,
        code: str,
        message: str,
        line: int,
        column: int = 1,
        width: int = 1,
        text: str = "",
        *,
        help: str | None = None,
    ) -> None:
        """Collect an error at a place in the file."""
        self.count += 1
        if len(self.shown) < SHOWN:
            self.shown.append(Diagnostic(code, message, file_span(self.path, line, column, width, text), help=help))

    def raise_any(self) -> None:
        """Raise the collected errors, if any."""
        if not self.shown:
            return
        more = self.count - len(self.shown)
        if more:
            last = self.shown[-1]
            rest = f"{more} more row{'s' if more > 1 else ''} of {self.path.as_posix()} cannot be read"
            self.shown[-1] = Diagnostic(last.code, last.message, last.span, notes=(*last.notes, rest), help=last.help)
        raise DataError(self.shown)
