"""From text to the syntax tree, with every syntax error of the text collected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import Any

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer as LarkLexer

from holdfast.errors import Diagnostics, Source, Span
from holdfast.language import tables, tree
from holdfast.language.build import Builder
from holdfast.language.comments import Comment
from holdfast.language.failure import Failure
from holdfast.language.mistakes import lone_surrogate
from holdfast.language.nesting import without_deep_clauses
from holdfast.language.recovery import item_start, recover
from holdfast.language.tokens import Lexer
from holdfast.language.unexpected import report

# The parser calls one builder, which stands on one text at a time.
_builder = Builder()
_lock = Lock()
_NOWHERE = Source("", "")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Ready(LarkLexer):
    """Hands tokens that are already there to the parser."""

    def __init__(self, conf: Any) -> None:
        """Nothing of lark's lexer configuration is needed."""

    def lex(self, given: tuple[list[Token], int]) -> Iterator[Token]:  # type: ignore[override]
        """The tokens from a place on, in their order; not copied, since a text may have many errors to go on behind."""
        tokens, start = given
        return map(tokens.__getitem__, range(start, len(tokens)))


@cache
def _parser() -> Lark:
    return tables.fitting(_builder) or from_grammar()


def from_grammar() -> Lark:
    """The parser, its tables made from the grammar."""
    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        parser="lalr",
        lexer=_Ready,
        transformer=_builder,
        start=["program", "query"],
        maybe_placeholders=False,
    )


def parse(text: str, name: str = "<text>") -> tree.Program:
    """The program of a text; raises `ProgramError` with all syntax errors."""
    return parse_with_comments(text, name)[0]


def parse_with_comments(text: str, name: str = "<text>") -> tuple[tree.Program, list[Comment]]:
    """The program of a text, and the comments that the tree leaves out."""
    program, comments = _parse(Source(name, text), "program")
    assert isinstance(program, tree.Program)
    return program, comments


def parse_body(text: str, name: str = "<query>") -> tree.Formula:
    """The formula of a query such as `path(1, x), !blocked(x)`; a dot at its end is allowed."""
    formula: tree.Formula = _parse(Source(name, text), "query")[0]
    return formula


def _parse(written: Source, start: str) -> tuple[Any, list[Comment]]:
    diagnostics = Diagnostics()
    source = _unicode(written, diagnostics)
    lexer = Lexer(source, diagnostics, in_body=start == "query")
    tokens = without_deep_clauses(lexer.run(), source, diagnostics)
    with _lock:
        _builder.begin(source, diagnostics)
        result = _run(source, tokens, start, diagnostics)
    diagnostics.raise_errors()
    return result, lexer.comments


def _unicode(source: Source, diagnostics: Diagnostics) -> Source:
    """The text without lone surrogates, which nothing could print; the first one is reported."""
    found = _SURROGATE.search(source.text)
    if found is None:
        return source
    line, column = (
        source.text.count("\n", 0, found.start()) + 1,
        found.start() - source.text.rfind("\n", 0, found.start()),
    )
    clean = Source(source.name, _SURROGATE.sub("\ufffd", source.text))
    place = Span(clean, line, column, line, column + 1)
    lone_surrogate("E0104", f"U+{ord(found.group()):04X}").report(diagnostics, place)
    return clean


def _run(source: Source, tokens: list[Token], start: str, diagnostics: Diagnostics) -> Any:
    """Parse; after an error, report it and go on behind it to find the next one."""
    position = 0
    while True:
        try:
            return _parser().parse((tokens, position), start=start)
        except UnexpectedToken as error:
            failed = _index(tokens, error.token, position)
            accepts = _accepted(tokens, position, failed, start) or frozenset(error.accepts or ())
            resume = report(Failure(source, tokens, position, failed, accepts), diagnostics)
            if start == "query":
                return None
            _builder.begin(source, diagnostics)
            position = recover(tokens, position, failed) if resume is None else resume


def _accepted(tokens: list[Token], position: int, failed: int, start: str) -> frozenset[str]:
    """What could stand at a place.  The failed run itself may have reduced too far to know, so its last item is
    read once more up to there; what the builder says about it was said before."""
    _builder.begin(_NOWHERE, Diagnostics())
    parser = _parser().parse_interactive(start=start)
    try:
        for token in tokens[item_start(tokens, position, failed) : failed]:
            parser.feed_token(token)
    except UnexpectedToken:
        return frozenset()  # the guess where the item begins was wrong
    return frozenset(parser.accepts())  # type: ignore[no-untyped-call]


def _index(tokens: list[Token], token: Token, start: int) -> int:
    """Where a token stands; the end of the text stands behind the last."""
    if token.type == "$END":
        return len(tokens)
    return next(i for i in range(start, len(tokens)) if tokens[i] is token)
