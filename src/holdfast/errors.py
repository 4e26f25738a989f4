"""Every error a user can see: what is wrong, where, and what to do about it.

An error is data (`Diagnostic`), collected in a `Diagnostics` list and raised together.  Golden files in tests/ fix
the rendered form:

    error[E0301]: the head uses y, but no positive atom of the body binds it
      --> reach.dl:4:9
       |
     4 | path(x, y) :- edge(x, z).
       |         ^
       = note: a variable is bound by a positive atom, or by `=` with bound values
       = help: did you mean z?
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import Enum, IntEnum
from functools import cached_property

from holdfast.quick_dataclass import dataclass

# C0 and C1 controls, controls of writing direction and line breaks, and lone surrogates
_CONTROL = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str, keep: str = "") -> str:
    """The text with control characters escaped that a terminal would obey, except those in `keep`."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else _escaped(found[0]), text)


def _escaped(character: str) -> str:
    number = ord(character)
    return _SHORT.get(character) or (f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}")


class ExitCode(IntEnum):
    """The exit codes of the command line."""

    GOOD = 0
    CHECK_FAILED = 1
    BAD_INPUT = 2
    LIMIT_REACHED = 3
    DAMAGED_DATA = 4


def shortened(value: str, most: int = 80) -> str:
    """A value as messages quote it: truncated, with its length, if longer than `most` characters."""
    return value if len(value) <= most else f"{value[:most]}… ({len(value):,} characters)"


_VALUE = re.compile(r"""(?<!\w)(["'`])(?:(?!\1).){300,}\1|\S{300,}""", re.DOTALL)  # quoted, or without spaces
_LONGEST = 2000  # characters in a message


def _message(text: str) -> str:
    """A message as it is stored: long values, and the whole, truncated."""
    if len(text) > 50 * _LONGEST:  # keep what follows a huge value, not its middle
        text = shortened(text, 4 * _LONGEST) + text[-_LONGEST:]
    return _encodable(shortened(_VALUE.sub(lambda found: shortened(found[0], 200), text), _LONGEST))


def _encodable(text: str) -> str:
    """The text with lone surrogates escaped: data and file names may contain them, and no output can encode them."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


@dataclass(frozen=True)
class SourceText:
    """A text that positions point into: a program, an argument, a line of an update stream."""

    name: str
    text: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _encodable(self.name))

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, split once because every term of a program may need its line."""
        return self.text.split("\n")

    def line(self, number: int) -> str:
        """A line, counted from 1, without its line end."""
        return self.lines[number - 1].rstrip("\r") if 0 < number <= len(self.lines) else ""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that the text was read from."""
        return (self.name,)

    def origin(self, span: Span) -> tuple[Span, str]:
        """Where a stretch of this text was written, and by which macro; unchanged for a text without macros."""
        return span, ""


@dataclass(frozen=True)
class Span:
    """A stretch of a source; lines and columns count from 1, and `end_column` is exclusive."""

    source: SourceText = field(repr=False)
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        written = self.origin
        return f"{written.source.name}:{written.line}:{written.column}"

    @property
    def origin(self) -> Span:
        """The stretch in the file that the user wrote."""
        return self.source.origin(self)[0]


class Severity(Enum):
    """An error refuses the program or the data; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Label:
    """A further place that a diagnostic refers to, and what happens there."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One error or warning.  docs/errors.md lists each `code` with its meaning."""

    code: str
    message: str
    span: Span | None = None
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", _message(self.message))
        object.__setattr__(self, "notes", tuple(map(_message, self.notes)))
        object.__setattr__(self, "help", self.help and _message(self.help))

    def render(self) -> str:
        """The diagnostic as plain text, with control characters from data escaped."""
        lines = [f"{self.severity.value}[{self.code}]: {printable(self.message)}"]
        margin = max((len(str(span.origin.line)) for span in self._spans()), default=1)
        if self.span is not None:
            lines += _excerpt(self.span, margin)
        for label in self.labels:
            lines += _excerpt(label.span, margin, label.text)
        lines += [f" {' ' * margin} = note: {printable(note)}" for note in self.notes]
        if self.help:
            lines.append(f" {' ' * margin} = help: {printable(self.help)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """The diagnostic for `--json`."""
        return {
            "severity": self.severity.value,
            "code": self.code,
            "message": self.message,
            **(_place(self.span) if self.span else {}),
            "labels": [{**_place(label.span), "text": label.text} for label in self.labels],
            "notes": list(self.notes),
            "help": self.help,
        }

    def _spans(self) -> Iterator[Span]:
        if self.span is not None:
            yield self.span
        yield from (label.span for label in self.labels)


def _place(span: Span) -> dict[str, object]:
    span = span.origin
    return {"file": span.source.name, "line": span.line, "column": span.column}


_WIDEST = 200  # characters of a source line that are shown


def _excerpt(span: Span, margin: int, text: str = "") -> list[str]:
    """The place, the source line and a caret line below it."""
    pad = " " * margin
    span, macro = span.source.origin(span)
    text = text or (f"in what the macro {macro} stands for" if macro else "")
    place = f" {pad}--> {printable(str(span))}" + (f": {printable(text)}" if text else "")
    line = span.source.line(span.line)
    if not line:
        return [place]
    start, end = span.column - 1, span.end_column - 1 if span.end_line == span.line else len(line)
    line, start, end = _shown(*_clipped(line, start, end))
    carets = "^" * max(1, end - start)
    indent = "".join("\t" if character == "\t" else " " for character in line[:start])
    return [place, f" {pad} |", f" {span.line:>{margin}} | {line}", f" {pad} | {indent}{carets}"]


def _clipped(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a very long line around a place, and the place within it."""
    if len(line) <= _WIDEST:
        return line, start, end
    first = max(0, min(start - _WIDEST // 3, len(line) - _WIDEST))
    last = min(len(line), first + _WIDEST)
    before, after = "… " if first else "", " …" if last < len(line) else ""
    return before + line[first:last] + after, start - first + len(before), min(end, last) - first + len(before)


def _shown(line: str, start: int, end: int) -> tuple[str, int, int]:
    """A line with control characters other than tabs escaped, and the place within it."""
    before, place, after = (printable(part, keep="\t") for part in (line[:start], line[start:end], line[end:]))
    beyond = max(0, start - len(line))  # a place may lie beyond the end of the line
    return before + place + after, len(before) + beyond, len(before) + beyond + max(end - start, len(place))


class HoldfastError(Exception):
    """Base of every error a user can see; carries diagnostics and the exit code."""

    exit_code: ExitCode = ExitCode.BAD_INPUT

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic | str) -> None:
        if isinstance(diagnostics, str):
            diagnostics = Diagnostic("E0001", diagnostics)
        if isinstance(diagnostics, Diagnostic):
            diagnostics = (diagnostics,)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        self.original: HoldfastError | None = None
        """If raised by a user's call: the same error with all frames of holdfast, for bug reports."""
        super().__init__("\n".join(d.render() for d in self.diagnostics))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.diagnostics,)


class ProgramError(HoldfastError):
    """The program is refused: syntax, names, types, safety, stratification."""


class UsageError(HoldfastError):
    """The call itself is wrong: an unknown option value, a missing file, an unknown relation."""


class DataError(HoldfastError):
    """The facts are unreadable, malformed, or of the wrong type or arity."""


class EvaluationError(HoldfastError):
    """A rule has no result for some values: division by zero, overflow."""


class LimitReached(HoldfastError):
    """A limit on facts, rounds, seconds or memory stopped the run; nothing was kept."""

    exit_code = ExitCode.LIMIT_REACHED


class OutOfMemory(LimitReached, MemoryError):
    """The operating system refused more memory, and no limit on memory had stopped the run before."""


def out_of_memory(error: MemoryError) -> OutOfMemory:
    """The error that users see in place of Python's."""
    note = "no result of this run was kept; a commit that had begun was finished"
    help = "limit the memory of runs: limits=holdfast.Limits(memory=4 * 2**30), or --limit-memory 4G"
    reason = f": {error}" if str(error) else ""
    return OutOfMemory(Diagnostic("E0015", f"the machine is out of memory{reason}", notes=(note,), help=help))


class DamagedData(HoldfastError):
    """Stored data is damaged."""

    exit_code = ExitCode.DAMAGED_DATA


class Diagnostics:
    """Collects diagnostics, so that the user sees all of them at once."""

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        labels: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
    ) -> None:
        """Collect an error."""
        self.items.append(Diagnostic(code, message, span, tuple(labels), tuple(notes), help))

    def warning(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        labels: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
    ) -> None:
        """Collect a warning."""
        self.items.append(Diagnostic(code, message, span, tuple(labels), tuple(notes), help, Severity.WARNING))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The collected errors, in source order."""
        return tuple(d for d in _in_source_order(self.items) if d.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The collected warnings, in source order."""
        return tuple(d for d in _in_source_order(self.items) if d.severity is Severity.WARNING)

    def raise_errors(self, kind: type[HoldfastError] = ProgramError) -> None:
        """Raise everything collected so far if it includes an error."""
        if self.errors:
            raise kind(self.errors)


def _in_source_order(items: Iterable[Diagnostic]) -> list[Diagnostic]:
    return sorted(items, key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0))
