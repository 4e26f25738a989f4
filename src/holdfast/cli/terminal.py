"""Output for the user: lines, tables, JSON and diagnostics.  Colour only on a terminal, never with NO_COLOR."""

from __future__ import annotations

import json as json_module
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from holdfast.errors import Diagnostic, printable

_RED, _YELLOW, _BLUE, _CYAN, _BOLD, _RESET = "\x1b[1;31m", "\x1b[1;33m", "\x1b[34m", "\x1b[36m", "\x1b[1m", "\x1b[0m"

LONGEST_CELL = 1000  # characters of a value shown in a table
_LONG_ROW = 1 << 16  # characters above which a row's cells are written one by one


def is_terminal(stream: TextIO) -> bool:
    """Whether a person reads this stream."""
    return stream.isatty()


def has_colour(stream: TextIO) -> bool:
    """Whether this stream accepts colour codes."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """The width of the terminal in characters, or a usual one."""
    return shutil.get_terminal_size().columns


def survive_odd_streams() -> None:
    """Escape characters that the terminal cannot encode, and treat a stream that the shell closed as empty."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  for as long as we run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def line(text: str) -> None:
    """Print one line; line ends in the text are escaped."""
    sys.stdout.write(printable(text, keep="\t") + "\n")


def text(drawing: str) -> None:
    """Print a text with a line end; unchanged if stdout is not a terminal."""
    drawing = printable(drawing, keep="\t\n") if is_terminal(sys.stdout) else drawing
    sys.stdout.write(drawing if drawing.endswith("\n") else drawing + "\n")


def note(text: str, keep: str = "\t") -> None:
    """Print a remark on stderr, so that it never gets into a pipe."""
    sys.stderr.write(printable(text, keep) + "\n")


def json(value: object) -> None:
    """Print a JSON document, written incrementally."""
    parts = json_module.JSONEncoder(ensure_ascii=False, indent=2, allow_nan=False).iterencode(value)
    sys.stdout.writelines(map(json_text, parts))
    sys.stdout.write("\n")


def json_line(value: object) -> None:
    """Print a JSON document on one line."""
    sys.stdout.write(json_text(json_module.dumps(value, ensure_ascii=False, allow_nan=False)) + "\n")


def json_text(text: str) -> str:
    """Equivalent JSON without control characters, which JSON can escape."""
    return re.sub("[\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]", _json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def tab_separated(rows: Iterable[Sequence[str]]) -> None:
    """Print rows for another program: one line each, as in a facts file."""
    for row in rows:
        if sum(map(len, row)) < _LONG_ROW:
            sys.stdout.write("\t".join(row) + "\n")
            continue
        for place, text in enumerate(row):  # one by one; joining them would copy them again
            sys.stdout.write("\t" * (place > 0))
            sys.stdout.write(text)
        sys.stdout.write("\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows for a person: aligned, numbers to the right."""
    columns, shown = list(map(_cell, columns)), [[_cell(text) for text in row] for row in rows]
    right = [all(_is_number(texts[index]) for texts in shown) for index in range(len(columns))]
    if is_terminal(sys.stdout):
        _draw_table(columns, shown, right)
    else:
        sys.stdout.writelines(_plain_table(columns, shown, right))


def _plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """The lines of a table for a file or a pipe: nothing is truncated, and Rich, slow to import, is not used."""
    widths = [max(map(_width, texts)) for texts in zip(columns, *rows, strict=True)]
    for number, row in enumerate([columns, *rows]):
        cells = [
            " " * (width - _width(plain := text.rstrip(" "))) + plain
            if to_right
            else text + " " * (width - _width(text))
            for text, width, to_right in zip(row, widths, right, strict=True)
        ]
        yield f"  {'   '.join(cells)}".rstrip() + "\n"
        if number == 0:
            yield f"  {'─' * (sum(widths) + 3 * (len(widths) - 1))}\n"


def _width(text: str) -> int:
    """The number of screen columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawing = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, to_right in zip(columns, right, strict=True):
        drawing.add_column(Text(name), justify="right" if to_right else "left", overflow="fold")
    for row in rows:
        drawing.add_row(*(Text(text) for text in row))
    _print_indented(drawing)


def _cell(text: str) -> str:
    """A readable cell: a very long value is truncated and followed by its length."""
    more = f"… ({len(text):,} characters)" if len(text) > LONGEST_CELL else ""
    return printable(text[:LONGEST_CELL] + more)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?|-?inf|nan", text) is not None


def _print_indented(drawing: object) -> None:
    """Print what Rich draws, without trailing blanks, so that copying from the screen is clean."""
    from rich.console import Console
    from rich.padding import Padding

    console = Console(width=width(), color_system="standard" if has_colour(sys.stdout) else None, force_terminal=False)
    with console.capture() as capture:
        console.print(Padding(drawing, (0, 0, 0, 2), expand=False))  # type: ignore[arg-type]
    sys.stdout.writelines(text.rstrip() + "\n" for text in capture.get().splitlines())


def counted(number: int, noun: str) -> str:
    """A count with its noun, which is given in the plural: `1 fact`, `2,000 facts`."""
    return f"{number:,} {noun.removesuffix('s') if number == 1 else noun}"


def heading(text: str) -> None:
    """Print a heading."""
    shown = printable(text)
    sys.stdout.write(f"{_BOLD}{shown}{_RESET}\n" if has_colour(sys.stdout) else shown + "\n")


def diagnostics(items: Iterable[Diagnostic]) -> None:
    """Print errors and warnings on stderr."""
    paint = _painted if has_colour(sys.stderr) else str
    for item in items:
        sys.stderr.write(paint(item.render()) + "\n")


def _painted(text: str) -> str:
    text = re.sub(r"\A(error\[\w+\])(: .*)", rf"{_RED}\1{_RESET}{_BOLD}\2{_RESET}", text)
    text = re.sub(r"\A(warning\[\w+\])(: .*)", rf"{_YELLOW}\1{_RESET}{_BOLD}\2{_RESET}", text)
    text = re.sub(r"(?m)^( +)(-->)", rf"\1{_BLUE}\2{_RESET}", text)
    text = re.sub(r"(?m)^( +\| *\t*)(\^+)$", rf"\1{_RED}\2{_RESET}", text)
    return re.sub(r"(?m)^( += )(note|help):", rf"\1{_CYAN}\2{_RESET}:", text)
