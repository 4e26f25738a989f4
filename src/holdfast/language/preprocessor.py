"""The C preprocessor, which Soufflé runs before it reads a program, and Soufflé's own `.include` and `.once`.

A text without such lines is left alone.  The output is one text in which every stretch knows its original file and
line, so that messages point there.  Only what real programs use is supported; anything else is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from holdfast.errors import Diagnostics, SourceText, Span
from holdfast.language import refused
from holdfast.language.conditions import ConditionError, condition
from holdfast.language.macros import BUILT_IN, MacroCallError, PpToken, expanded, macro_of, tokens_of
from holdfast.language.macros import Macro as Macro
from holdfast.language.origins import Composed, Piece
from holdfast.quick_dataclass import dataclass

_USES: Final = re.compile(r"^[ \t]*(?:\#(?!\[)|\.(?:include|once)\b)", re.MULTILINE)
_DIRECTIVE: Final = re.compile(
    r"""^[ \t]*(?: \#[ \t]*(?P<name>\w*) (?P<rest>(?:\\\r?\n|/\*[\s\S]*?\*/|[^\n])*)
             | (?P<own>\.(?:include[ \t]*"[^"\n]*"|once\b[ \t]*)) )""",
    re.VERBOSE | re.MULTILINE,
)
_SKIPPED: Final = re.compile(r'/\*[\s\S]*?(?:\*/|\Z)|//[^\n]*|"(?:[^"\\\n]|\\.)*"?')
_WORD: Final = re.compile(r"[^\W\d]\w*")
_DEEPEST: Final = 100


@dataclass(frozen=True)
class Preprocessing:
    """External settings: macros with their bodies, and folders to search for included files."""

    macros: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()


def uses_preprocessor(text: str) -> bool:
    """Whether a text has preprocessor lines."""
    return _USES.search(text) is not None or any(name in text for name in BUILT_IN)


def preprocessed(source: SourceText, given: Preprocessing, diagnostics: Diagnostics) -> SourceText:
    """The source with included files, without the parts that conditions exclude, and with macros expanded."""
    if not (given.macros or uses_preprocessor(source.text)):
        return source
    run = _Run(given, diagnostics)
    run.read(source, Path(source.name).parent, ())
    diagnostics.raise_errors()
    text = "".join(piece.text for piece in run.pieces)
    pieces = tuple(run.pieces) or (Piece("", source, 1, 1),)
    return Composed(source.name, text, pieces, tuple(run.files))


@dataclass
class _Branch:
    """An `#if`: whether its current part is active, and whether one of its parts has been."""

    span: Span
    active: bool
    taken: bool
    closed: bool = False


class _Run:
    """One run over a program: the macros, the files included once, and the output so far."""

    def __init__(self, given: Preprocessing, diagnostics: Diagnostics) -> None:
        self.pieces: list[Piece] = []
        self.files: dict[str, None] = {}  # in the order they were read
        self._diagnostics, self._folders = diagnostics, given.folders
        self._once: set[Path] = set()
        self._macros: dict[str, Macro] = {}
        for name, text in given.macros.items():
            command = SourceText("<macro>", f"{name} {text}")
            macro = macro_of(tokens_of(command.text, command, 1, 1))
            if macro is None:
                diagnostics.error(
                    "E0118", f"`{name}` is not the name of a macro", Span(command, 1, 1, 1, len(name) + 1)
                )
            else:
                self._macros[macro.name] = macro

    # --- files ---

    def read(self, source: SourceText, folder: Path, path: tuple[Path, ...]) -> None:
        """Read a file: obey directives, and output all other lines."""
        self.files[source.name] = None
        branches: list[_Branch] = []
        for line, text, found in _parts(source.text):
            reading = all(branch.active for branch in branches)
            if found is None:
                if reading:
                    self._text(source, line, text)
            else:
                span = _span(source, line, text)
                self._directive(found, span, branches, reading, folder, path)
        for branch in branches:
            self._error("E0119", "this `#if` has no `#endif`", branch.span)

    def _directive(
        self,
        found: re.Match[str],
        span: Span,
        branches: list[_Branch],
        reading: bool,
        folder: Path,
        path: tuple[Path, ...],
    ) -> None:
        name, rest = _named(found)
        if name in ("if", "ifdef", "ifndef"):
            holds = reading and self._condition(name, rest, span)
            branches.append(_Branch(span, holds, holds or not reading))
        elif name in ("elif", "else", "endif"):
            self._next_branch(name, rest, span, branches)
        elif not reading:
            return
        elif name == "include":
            self._include(rest, span, folder, path)
        elif name in ("define", "undef"):
            self._define(name, rest, span)
        elif name == "once" or (name == "pragma" and rest.strip() == "once"):
            self._once.add(path[-1] if path else _real(Path(span.source.name)))
        elif name == "error":
            self._error("E0118", f"#error {rest.strip()}", span)
        elif name not in ("pragma", "line", "warning", ""):
            refused.PREPROCESSOR.report(self._diagnostics, span)

    def _next_branch(self, name: str, rest: str, span: Span, branches: list[_Branch]) -> None:
        if not branches or (branches[-1].closed and name != "endif"):
            self._error("E0119", f"this `#{name}` belongs to no `#if`", span)
        elif name == "endif":
            branches.pop()
        else:
            branch = branches[-1]
            branch.closed = name == "else"
            branch.active = not branch.taken and (name == "else" or self._condition("if", rest, span))
            branch.taken = branch.taken or branch.active

    def _condition(self, name: str, rest: str, span: Span) -> bool:
        if name != "if":
            word = _WORD.search(rest)
            return ((word.group() if word else "") in self._macros) == (name == "ifdef")
        try:
            return condition(tokens_of(rest, span.source, span.line, span.column), self._macros) != 0
        except (ConditionError, MacroCallError) as error:
            self._error("E0119", f"this condition cannot be read: {error}", span)
            return False

    def _define(self, name: str, rest: str, span: Span) -> None:
        if name == "undef":
            self._macros.pop(rest.strip(), None)
            return
        macro = macro_of(tokens_of(rest, span.source, span.line, span.column))
        if macro is None:
            help = "a macro is written `#define NAME text`, or `#define NAME(a, b) text`"
            self._error("E0118", "this `#define` does not name a macro", span, help)
        else:
            self._macros[macro.name] = macro

    def _include(self, rest: str, span: Span, folder: Path, path: tuple[Path, ...]) -> None:
        written = re.match(r"""\s*["<]([^">\n]+)[">]""", rest)
        if written is None:
            self._error("E0118", "the file to include must be in quotes", span, 'for example #include "types.dl"')
            return
        tried = [place / written[1] for place in (folder, *self._folders)]
        file = next((place for place in tried if _is_file(place)), None)
        if file is None:
            others = "" if len(tried) == 1 else f", nor in {len(tried) - 1} other folders"
            help = "add folders to search with -I, or include= in Python"
            self._error("E0118", f"there is no file {tried[0].as_posix()}{others}", span, help)
        elif len(path) >= _DEEPEST:
            self._error("E0118", f"files include each other more than {_DEEPEST} deep", span, "add .once to them")
        elif _real(file) not in self._once:
            text = self._read_file(file, span)
            self.read(SourceText(file.as_posix(), text), file.parent, (*path, _real(file)))

    def _read_file(self, file: Path, span: Span) -> str:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            self._error("E0118", f"{file.as_posix()} cannot be read: {reason}", span)
            return ""
        return text if text.endswith("\n") else text + "\n"

    def _error(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        self._diagnostics.error(code, message, span, help=help)

    # --- text ---

    def _text(self, source: SourceText, line: int, text: str) -> None:
        """Output a stretch of ordinary lines."""
        if (self._macros.keys() | BUILT_IN).isdisjoint(_WORD.findall(text)):
            self.pieces.append(Piece(text, source, line, 1))
            return
        try:
            for token in expanded(tokens_of(text, source, line, 1), self._macros):
                self._add(token)
        except MacroCallError as error:
            token = error.token
            span = Span(token.source, token.line, token.column, token.line, token.column + token.length)
            self._error("E0118", str(error), span)

    def _add(self, token: PpToken) -> None:
        text = token.text
        if self.pieces and text[:1].isalnum() and self.pieces[-1].text[-1:].isalnum():
            self.pieces.append(Piece(" ", token.source, token.line, token.column, token.length, token.macro))
        length = token.length if token.macro else 0
        self.pieces.append(Piece(text, token.source, token.line, token.column, length, token.macro))


def _named(found: re.Match[str]) -> tuple[str, str]:
    """A directive's name and its arguments, without trailing comments."""
    if found["own"] is not None:
        name = "include" if found["own"].startswith(".include") else "once"
        return name, found["own"].removeprefix(f".{name}")
    rest = found["rest"].replace("\\\r\n", "\\\n")
    return found["name"], rest if found["name"] in ("define", "error") else _SKIPPED.sub(_without_comment, rest)


def _without_comment(found: re.Match[str]) -> str:
    return found.group() if found.group().startswith('"') else " "


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the system refuses the name, for example as too long
        return False


def _parts(text: str) -> Iterator[tuple[int, str, re.Match[str] | None]]:
    """The directives and the stretches between them, each with its first line number."""
    start, line, place = 0, 1, 0
    for begin in _line_starts(text):
        if begin < place:
            continue
        found = _DIRECTIVE.match(text, begin)
        if found is None:
            continue
        if begin > start:
            yield line, text[start:begin], None
        line += text.count("\n", start, begin)
        place = start = found.end()
        yield line, found.group(), found
        line += found.group().count("\n")
    if start < len(text):
        yield line, text[start:], None


def _line_starts(text: str) -> Iterable[int]:
    """Where lines begin that may be directives, except inside comments."""
    hidden = [(found.start(), found.end()) for found in _SKIPPED.finditer(text)]
    current = 0
    for found in _USES.finditer(text):
        while current < len(hidden) and hidden[current][1] <= found.start():
            current += 1
        if current == len(hidden) or hidden[current][0] >= found.start():
            yield found.start()


def _span(source: SourceText, line: int, text: str) -> Span:
    first = text.split("\n", 1)[0].rstrip("\r")
    column = len(first) - len(first.lstrip()) + 1
    return Span(source, line, column, line, len(first.rstrip()) + 1)


def _real(path: Path) -> Path:
    return path.resolve()
