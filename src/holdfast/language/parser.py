"""Parse text to the syntax tree, collecting all syntax errors."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from holdfast.errors import Diagnostic, Diagnostics, ProgramError, SourceText, Span
from holdfast.language import tables, tree
from holdfast.language.build import Builder
from holdfast.language.comments import Comment
from holdfast.language.failure import Failure
from holdfast.language.lalr import Parser, ParserTables, UnexpectedTokenError
from holdfast.language.mistakes import lone_surrogate
from holdfast.language.nesting import without_deep_clauses
from holdfast.language.preprocessor import Preprocessing, preprocessed, uses_preprocessor
from holdfast.language.recovery import item_start, recover
from holdfast.language.token import Token
from holdfast.language.tokens import Lexer
from holdfast.language.unexpected import report

NOTHING_GIVEN = Preprocessing()
_SURROGATE = re.compile("[\ud800-\udfff]")


@cache
def _tables() -> ParserTables:
    return tables.fitting() or tables.from_grammar()


def parse(text: str, name: str = "<text>", given: Preprocessing = NOTHING_GIVEN) -> tree.Program:
    """Parse a program with all included files; raises `ProgramError` with all syntax errors."""
    diagnostics = Diagnostics()
    program, _ = _parse(preprocessed(SourceText(name, text), given, diagnostics), "program")
    assert isinstance(program, tree.Program)
    return program


def parse_with_comments(text: str, name: str = "<text>") -> tuple[tree.Program, list[Comment]]:
    """Parse a program without expanding it, and return its comments too, which the tree leaves out."""
    source = SourceText(name, text)
    if uses_preprocessor(text):
        message = "a file with preprocessor lines has no canonical form, because macros can stand for anything"
        raise ProgramError(Diagnostic("E0121", message, Span(source, 1, 1, 1, 2)))
    program, comments = _parse(source, "program")
    assert isinstance(program, tree.Program)
    return program, comments


def parse_body(text: str, name: str = "<query>") -> tree.Formula:
    """Parse a query such as `path(1, x), !blocked(x)`; a final dot is allowed."""
    formula: tree.Formula = _parse(SourceText(name, text), "query")[0]
    return formula


def _parse(written: SourceText, start: str) -> tuple[Any, list[Comment]]:
    diagnostics = Diagnostics()
    source = _unicode(written, diagnostics)
    lexer = Lexer(source, diagnostics, in_body=start == "query")
    tokens = without_deep_clauses(lexer.run(), source, diagnostics)
    result = _run(source, tokens, start, diagnostics)
    diagnostics.raise_errors()
    return result, lexer.comments


def _unicode(source: SourceText, diagnostics: Diagnostics) -> SourceText:
    """The text without lone surrogates, which cannot be printed; the first one is reported."""
    found = _SURROGATE.search(source.text)
    if found is None:
        return source
    line, column = (
        source.text.count("\n", 0, found.start()) + 1,
        found.start() - source.text.rfind("\n", 0, found.start()),
    )
    clean = SourceText(source.name, _SURROGATE.sub("\ufffd", source.text))
    place = Span(clean, line, column, line, column + 1)
    lone_surrogate("E0104", f"U+{ord(found.group()):04X}").report(diagnostics, place)
    return clean


def _run(source: SourceText, tokens: list[Token], start: str, diagnostics: Diagnostics) -> Any:
    """Parse; after an error, report it and continue behind it to find the next one."""
    position = 0
    while True:
        parser = Parser(_tables(), Builder(source, diagnostics))
        try:
            return parser.parse(tokens, position, start)
        except UnexpectedTokenError as error:
            item = tokens[item_start(tokens, position, error.index) : error.index]
            # The failed run may have reduced too far to know what is accepted here: parse its last item again, up to
            # the error.  None means that the guessed start of the item was wrong.
            accepts = parser.accepted(item, start) or error.accepts
            resume = report(Failure(source, tokens, position, error.index, accepts), diagnostics)
            if start == "query":
                return None
            position = recover(tokens, position, error.index) if resume is None else resume
