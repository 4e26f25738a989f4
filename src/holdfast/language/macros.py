"""Macros of the C preprocessor: its tokens, and macro expansion.

The algorithm is Prosser's, from the C standard: each token carries the macros that may no longer expand it, so that an
expansion ends.  A token from a macro's body is placed where the macro is used; an argument keeps its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.errors import SourceText
from holdfast.quick_dataclass import dataclass
from holdfast.values import quote

_TOKEN: Final = re.compile(
    r"""
    (?P<COMMENT>//(?:\\\r?\n|[^\n])*|/\*[\s\S]*?(?:\*/|\Z))
  | (?P<STRING>"(?:[^"\\\n]|\\.)*"?|'[^'\n]*')
  | (?P<WORD>[^\W\d]\w*)
  | (?P<NUMBER>\d(?:\w|\.(?=\d))*)
  | (?P<SPACE>(?:[ \t\r\f\v]|\\\r?\n)+)
  | (?P<NEWLINE>\n)
  | (?P<PASTE>\#\#)
  | (?P<OTHER>[\s\S])
""",
    re.VERBOSE,
)
_VARIADIC: Final = "__VA_ARGS__"
BUILT_IN: Final = frozenset({"__FILE__", "__LINE__"})


@dataclass(frozen=True)
class PpToken:
    """A token with its place in the source; `macro` is the one whose body it comes from."""

    kind: str
    text: str
    source: SourceText
    line: int
    column: int
    length: int
    macro: str = ""
    hidden: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Macro:
    """`#define name body`, or `#define name(parameters) body`: then `parameters` is not None."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[PpToken, ...]

    @property
    def variadic(self) -> bool:
        """Whether the last parameter takes all remaining arguments."""
        return bool(self.parameters) and self.parameters is not None and self.parameters[-1] == _VARIADIC


Macros = Mapping[str, Macro]


class MacroCallError(Exception):
    """An invalid use of a macro; `token` is its name there."""

    def __init__(self, message: str, token: PpToken) -> None:
        super().__init__(message)
        self.token = token


def tokens_of(text: str, source: SourceText, line: int, column: int) -> list[PpToken]:
    """The tokens of a stretch of a source that begins at a place."""
    found = []
    for match in _TOKEN.finditer(text):
        piece, kind = match.group(), match.lastgroup or "OTHER"
        shown = " " if kind == "SPACE" and "\\" in piece else piece  # a continued line
        found.append(PpToken(kind, shown, source, line, column, len(piece)))
        if "\n" in piece:
            line += piece.count("\n")
            column = len(piece) - piece.rindex("\n")
        else:
            column += len(piece)
    return found


def macro_of(tokens: list[PpToken]) -> Macro | None:
    """Parse the macro after `#define`; None if it is malformed."""
    tokens = _stripped([replace(t, kind="SPACE", text=" ") if t.kind == "COMMENT" else t for t in tokens])
    if not tokens or tokens[0].kind != "WORD":
        return None
    name, rest = tokens[0].text, tokens[1:]
    if not rest or rest[0].text != "(":
        return Macro(name, None, tuple(_stripped(rest)))
    close = next((i for i, token in enumerate(rest) if token.text == ")"), None)
    if close is None:
        return None
    inside = "".join(token.text for token in rest[1:close]).replace("...", _VARIADIC)
    parameters = tuple(part.strip() for part in inside.split(",")) if inside.strip() else ()
    return Macro(name, parameters, tuple(_stripped(rest[close + 1 :]))) if _are_names(parameters) else None


def _are_names(parameters: Iterable[str]) -> bool:
    return all(parameter.isidentifier() for parameter in parameters)


def _stripped(tokens: list[PpToken]) -> list[PpToken]:
    start, end = 0, len(tokens)
    while start < end and tokens[start].kind in ("SPACE", "NEWLINE"):
        start += 1
    while end > start and tokens[end - 1].kind in ("SPACE", "NEWLINE"):
        end -= 1
    return tokens[start:end]


def expanded(tokens: list[PpToken], macros: Macros) -> Iterator[PpToken]:
    """The tokens, with macros expanded."""
    waiting = tokens[::-1]
    while waiting:
        token = waiting.pop()
        if token.kind == "WORD" and token.text in BUILT_IN:
            yield _built_in(token)
            continue
        macro = macros.get(token.text) if token.kind == "WORD" and token.text not in token.hidden else None
        if macro is None:
            yield token
        elif macro.parameters is None:
            waiting += _placed(_joined(_substituted(macro, {}, macros)), token, token.hidden | {macro.name})[::-1]
        elif (call := _arguments(waiting)) is None:
            yield token
        else:
            given, hidden = call
            body = _joined(_substituted(macro, _matched(macro, given, token), macros))
            waiting += _placed(body, token, (token.hidden & hidden) | {macro.name})[::-1]


def _built_in(token: PpToken) -> PpToken:
    """The file or the line of a token."""
    is_line = token.text == "__LINE__"
    text = str(token.line) if is_line else quote(token.source.name)
    return replace(token, kind="NUMBER" if is_line else "STRING", text=text, macro=token.macro or token.text)


def _arguments(waiting: list[PpToken]) -> tuple[list[list[PpToken]], frozenset[str]] | None:
    """Take the arguments of a call off the end of `waiting`; None, taking nothing, if it is not a call."""
    place = len(waiting) - 1
    while place >= 0 and waiting[place].kind in ("SPACE", "NEWLINE", "COMMENT"):
        place -= 1
    if place < 0 or waiting[place].text != "(":
        return None
    found: list[list[PpToken]] = [[]]
    depth = 1
    for position in range(place - 1, -1, -1):
        token = waiting[position]
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if not depth:
            del waiting[position:]
            return found, token.hidden
        if token.text == "," and depth == 1:
            found.append([])
        else:
            found[-1].append(_on_one_line(token))
    return None


def _on_one_line(token: PpToken) -> PpToken:
    return replace(token, kind="SPACE", text=" ") if token.kind in ("COMMENT", "NEWLINE", "SPACE") else token


def _matched(macro: Macro, given: list[list[PpToken]], use: PpToken) -> dict[str, list[PpToken]]:
    """Match each parameter with its argument."""
    parameters = macro.parameters or ()
    if macro.variadic and len(given) >= len(parameters) - 1:
        fixed, rest = given[: len(parameters) - 1], given[len(parameters) - 1 :]
        given = [*fixed, _with_commas(rest, use)]
    if not parameters and not _stripped(given[0]):
        given = []
    if len(given) != len(parameters):
        expected = "no arguments" if not parameters else f"{len(parameters)} argument{'s' * (len(parameters) > 1)}"
        raise MacroCallError(f"the macro {macro.name} takes {expected}, not {len(given)}", use)
    return {name: _stripped(argument) for name, argument in zip(parameters, given, strict=True)}


def _with_commas(parts: list[list[PpToken]], use: PpToken) -> list[PpToken]:
    result: list[PpToken] = []
    for number, part in enumerate(parts):
        result += [replace(use, kind="OTHER", text=","), *part] if number else part
    return result


def _substituted(macro: Macro, arguments: Mapping[str, list[PpToken]], macros: Macros) -> list[PpToken]:
    """The body with its arguments substituted: unexpanded beside # and ##, expanded elsewhere."""
    result: list[PpToken] = []
    body = macro.body
    for place, token in enumerate(body):
        if token.text == "#" and arguments and place + 1 < len(body) and body[place + 1].text in arguments:
            result.append(replace(token, kind="STRING", text=_quoted(arguments[body[place + 1].text])))
        elif token.text in arguments and token.kind == "WORD":
            if place and body[place - 1].text == "#":
                continue
            argument = arguments[token.text]
            if _pasted(body, place):  # an empty argument can be pasted too
                result += argument or [replace(token, kind="EMPTY", text="")]
            else:
                result += expanded(argument, macros)
        else:
            result.append(replace(token, macro=macro.name))
    return result


def _quoted(argument: list[PpToken]) -> str:
    text = "".join(t.text.replace("\\", "\\\\").replace('"', '\\"') if t.kind == "STRING" else t.text for t in argument)
    return f'"{text}"'


def _pasted(body: tuple[PpToken, ...], place: int) -> bool:
    before = [t for t in body[:place] if t.kind != "SPACE"][-1:]
    behind = [t for t in body[place + 1 :] if t.kind != "SPACE"][:1]
    return any(token.kind == "PASTE" for token in (*before, *behind))


def _joined(tokens: list[PpToken]) -> list[PpToken]:
    """The tokens, with those around ## pasted together."""
    result: list[PpToken] = []
    paste = False
    for token in tokens:
        if token.kind == "PASTE" and token.macro:
            paste = True
            while result and result[-1].kind == "SPACE":
                result.pop()
        elif paste and token.kind == "SPACE":
            continue
        elif paste and result:
            paste = False
            text = result[-1].text + token.text
            result[-1] = replace(result[-1], text=text, kind=_kind(text))
        else:
            paste = False
            result.append(token)
    return result


def _kind(text: str) -> str:
    found = _TOKEN.match(text)
    return (found.lastgroup or "OTHER") if found and found.end() == len(text) else "OTHER"


def _placed(tokens: list[PpToken], use: PpToken, hidden: frozenset[str]) -> list[PpToken]:
    """Place tokens from the macro's body where it is used, and hide all tokens from the given macros."""
    return [_at(token, use, token.hidden | hidden) for token in tokens]


def _at(token: PpToken, use: PpToken, hidden: frozenset[str]) -> PpToken:
    if not token.macro:
        return replace(token, hidden=hidden)
    outer = use.macro or use.text
    return PpToken(token.kind, token.text, use.source, use.line, use.column, use.length, outer, hidden)
