"""What to say about a token that cannot stand where it stands: what was found, what could stand there, and
what was probably meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from lark import Token

from holdfast.errors import Diagnostics, Label, Source, Span
from holdfast.language import refused
from holdfast.language.mistakes import Mistake
from holdfast.language.recovery import BEGINS_CLAUSE, BEGINS_ITEM, first_on_line, item_start
from holdfast.language.tokens import DIRECTIVES, KEYWORDS

_SIGNS: Final = {
    "COMMA": ",", "SEMICOLON": ";", "DOT": ".", "IF": ":-", "LPAR": "(", "RPAR": ")", "LBRACE": "{", "RBRACE": "}",
    "RSQB": "]", "COLON": ":", "EQUALS": "=", "SUBTYPE": "<:", "PIPE": "|",
}
_VALUE: Final = frozenset({"IDENT", "NUMBER", "STRING"})
_OPERATORS: Final = frozenset({"LOR", "PLUS", "TIMES", "CARET", "COMPARE"})


@dataclass(frozen=True)
class Failure:
    """Where the parser stopped: the tokens it was given from `start` on, and what it would have accepted."""

    source: Source
    tokens: list[Token]
    start: int
    index: int
    accepts: frozenset[str]

    @property
    def at_end(self) -> bool:
        """Whether the text ended too early."""
        return self.index >= len(self.tokens)

    @property
    def type(self) -> str:
        """The kind of the token that cannot stand here."""
        return "END" if self.at_end else self.tokens[self.index].type

    @property
    def text(self) -> str:
        """The token that cannot stand here."""
        return "" if self.at_end else str(self.tokens[self.index])

    @property
    def before(self) -> Token | None:
        """The token before it, in the same item."""
        return self.tokens[self.index - 1] if self.index > self.item else None

    @property
    def item(self) -> int:
        """Where the item begins."""
        if self.type in BEGINS_ITEM:
            return item_start(self.tokens, self.start, self.index - 1) if self.index else 0
        return item_start(self.tokens, self.start, self.index)

    @property
    def in_directive(self) -> bool:
        """Whether the item is a directive."""
        return self.item < len(self.tokens) and self.tokens[self.item].type in ("DECL", "TYPE", "PRAGMA", "DIRECTIVE")

    @property
    def span(self) -> Span:
        """The token's place; at the end of the text, the place behind the last token."""
        if self.directive_ends:
            return self.behind(self.tokens[self.index - 1])
        if not self.at_end:
            return _span(self.source, self.tokens[self.index])
        if not self.tokens:
            return Span(self.source, 1, 1, 1, 2)
        return self.behind(self.tokens[-1])

    def behind(self, token: Token) -> Span:
        """The place behind a token."""
        end = _span(self.source, token)
        return Span(self.source, end.end_line, end.end_column, end.end_line, end.end_column + 1)

    def expected(self) -> str:
        """What could stand here, in the user's words."""
        words = list(_expected_words(self.accepts))
        return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "the end"

    def found(self) -> str:
        """What stands here."""
        if self.at_end:
            return "the text ends"
        return "the directive ends" if self.directive_ends else f"found `{self.text}`"

    @property
    def directive_ends(self) -> bool:
        """Whether another item begins while a directive still lacks something."""
        return self.in_directive and self.type in BEGINS_ITEM and self.before is not None

    def open_parenthesis(self) -> Token | None:
        """The innermost bracket of the item that is still open here."""
        stack: list[Token] = []
        for token in self.tokens[self.item:self.index]:
            if token.type in ("LPAR", "LBRACE"):
                stack.append(token)
            elif token.type in ("RPAR", "RBRACE") and stack:
                stack.pop()
        return stack[-1] if stack else None


def report(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """Collect what is wrong; the answer is where to go on, or None when the next item must be looked for."""
    if failure.type == "BAD":
        return None  # already said
    refusal = _refusal(failure)
    if refusal:
        refusal.report(diagnostics, failure.span)
        return None
    for attempt in (_unknown_directive, _missing_dot, _open_bracket):
        resume = attempt(failure, diagnostics)
        if resume is not None:
            return resume if resume >= 0 else None
    message = f"expected {failure.expected()}, but {failure.found()}"
    diagnostics.error("E0101", message, failure.span, help=_hint(failure))
    return failure.index if failure.directive_ends else None


# --- whole stories ------------------------------------------------------------------------------------

_REFUSED_TOKENS: Final = {
    "LSQB": refused.RECORDS, "USER_FUNCTOR": refused.USER_FUNCTORS,
    "PREPROCESSOR": refused.PREPROCESSOR, "CHOICE": refused.CHOICE,
}


def _refusal(failure: Failure) -> Mistake | None:
    """The construct of Soufflé that begins here, if one does."""
    following = failure.tokens[failure.index + 1].type if failure.index + 1 < len(failure.tokens) else ""
    if failure.type == "REFUSED":
        return refused.DIRECTIVES[failure.text]
    if failure.type == "DOLLAR":
        return refused.BRANCHES if following == "IDENT" else refused.COUNTERS
    if failure.type == "LBRACE" and failure.in_directive:
        return refused.BRANCHES
    if failure.type == "COLON" and failure.before is not None and failure.before.type == "WILDCARD":
        return refused.BLANK_NODE
    return _REFUSED_TOKENS.get(failure.type)


def _unknown_directive(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """`.outptu a`: a dot at the start of a line with a word close behind it."""
    i, tokens = failure.index, failure.tokens
    if failure.type != "DOT" or i + 1 >= len(tokens) or not first_on_line(tokens, i):
        return None
    dot, word = tokens[i], tokens[i + 1]
    if word.type != "IDENT" or word.start_pos != dot.end_pos:
        return None
    known = [name[1:] for name in DIRECTIVES]
    similar = get_close_matches(word, known, n=1)
    span = _between(failure.source, dot, word)
    help = f"did you mean .{similar[0]}?" if similar else f"the directives are {', '.join(f'.{name}' for name in known)}"
    diagnostics.error("E0115", f"there is no directive .{word}", span, help=help)
    return next((j for j in range(i + 1, len(tokens)) if tokens[j].line != dot.line), len(tokens))


def _missing_dot(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """A new item begins, or the text ends, where the clause before could have ended."""
    if "DOT" not in failure.accepts or failure.before is None or not _new_item_begins(failure):
        return None
    diagnostics.error("E0114", "there is no `.` at the end of this", failure.behind(failure.before),
                      help="every fact, every rule and every @prefix ends with `.`")
    return failure.index


def _new_item_begins(failure: Failure) -> bool:
    if failure.at_end or failure.type in BEGINS_ITEM:
        return True
    first, token = failure.tokens[failure.item], failure.tokens[failure.index]
    return (failure.type in BEGINS_CLAUSE and first_on_line(failure.tokens, failure.index)
            and (token.column or 0) <= (first.column or 0))


def _open_bracket(failure: Failure, diagnostics: Diagnostics) -> int | None:
    """The clause ends, or its body begins, while a bracket is open; or one is closed that never was opened."""
    opened = failure.open_parenthesis()
    if opened is None and failure.type in ("RPAR", "RBRACE"):
        diagnostics.error("E0116", f"this `{failure.text}` closes nothing", failure.span,
                          help="leave it away, or put the opening one where it belongs")
        return -1
    if opened is None or not failure.accepts & {"RPAR", "RBRACE"} or not _ends_clause(failure):
        return None
    closing = ")" if opened == "(" else "}"
    diagnostics.error("E0116", f"`{closing}` is missing before {'the end' if failure.at_end else f'`{failure.text}`'}",
                      failure.span, labels=[Label(_span(failure.source, opened), "opened here")])
    return -1


def _ends_clause(failure: Failure) -> bool:
    return failure.type in ("END", "DOT", "IF") or failure.type in BEGINS_ITEM


# --- hints -------------------------------------------------------------------------------------------


def _hint(failure: Failure) -> str | None:
    """What was probably meant."""
    return next((hint for hint in (ask(failure) for ask in _HINTS) if hint), None)


def _modulo_hint(failure: Failure) -> str | None:
    if failure.before is not None and failure.before == "%":
        return "behind a term `%` is modulo; there a comment begins with `//`"
    return None


def _word_hint(failure: Failure) -> str | None:
    if failure.text in KEYWORDS and failure.text.isalpha() and "IDENT" in failure.accepts:
        return f"`{failure.text}` is a reserved word"
    meant = {"and": "“and” is written `,`", "or": "“or” is written `;`", "if": "“if” is written `:-`"}
    if failure.type == "IDENT" and failure.text.lower() in meant:
        return meant[failure.text.lower()]
    starts_literal = failure.type in BEGINS_CLAUSE or failure.type in ("NOT", "AGGREGATE")
    if starts_literal and {"COMMA", "DOT"} <= failure.accepts:
        return f"is a `,` missing before `{failure.text}`, or a `.`?"
    if failure.type in ("IDENT", "NUMBER", "STRING", "WILDCARD") and {"COMMA", "RPAR"} <= failure.accepts:
        return f"is a `,` missing before `{failure.text}`?"
    return None


def _colon_hint(failure: Failure) -> str | None:
    if failure.type == "COLON" and "IF" in failure.accepts:
        return "“if” is written `:-`"
    if failure.type == "COLON" and failure.accepts & _OPERATORS:
        return "a `:` belongs to an aggregate, as in `count : { … }`"
    return None


def _declaration_hint(failure: Failure) -> str | None:
    if not failure.in_directive:
        return None
    if failure.type == "DOT":
        return "a directive ends with its line, without `.`"
    if failure.accepts == {"COLON"} and failure.type in ("COMMA", "RPAR") and failure.before is not None:
        return f"every attribute has a type, as in {failure.before}: number"
    if failure.accepts == {"LPAR", "COMMA"} or failure.accepts == {"LPAR"}:
        return "the attributes follow in parentheses, as in .decl edge(x: number, y: number)"
    return None


def _comparison_hint(failure: Failure) -> str | None:
    if failure.type not in ("COMPARE", "EQUALS") or failure.in_directive:
        return None
    opened = failure.open_parenthesis()
    if failure.text == "<" and "IRI" in failure.accepts:
        return "an IRI stands in `<` and `>` and has no spaces"
    if opened is not None and "RPAR" in failure.accepts:
        return "a comparison stands beside the atom, not among its arguments"
    if "COMMA" in failure.accepts:
        return "compare two values at a time: `x < y, y < z`"
    return None


def _body_hint(failure: Failure) -> str | None:
    before = failure.before.type if failure.before is not None else ""
    if failure.type == "DOT" and before == "IF":
        return "a fact is written without `:-`; a rule needs a body"
    if failure.type in ("DOT", "END", "RPAR", "RBRACE") and before in ("COMMA", "SEMICOLON"):
        return f"leave the last `{_SIGNS[before]}` away, or write what should follow it"
    if failure.type == "IF" and not before:
        return "a rule has a head before `:-`"
    if failure.type == "IF" and _has(failure, "IF"):
        return "a clause has one `:-`; is a `.` missing before this head?"
    return None


def _aggregate_hint(failure: Failure) -> str | None:
    colon = failure.tokens[max(failure.item, failure.index - 2):failure.index]
    if failure.accepts & {"LBRACE", "LPAR"} and any(token.type == "COLON" for token in colon):
        return "the body of an aggregate is an atom, or stands in braces: `count : { p(x), q(x) }`"
    return None


_HINTS: Final[tuple[Callable[[Failure], str | None], ...]] = (
    _modulo_hint, _word_hint, _colon_hint, _declaration_hint, _comparison_hint, _body_hint, _aggregate_hint,
)


def _has(failure: Failure, type: str) -> bool:
    return any(token.type == type for token in failure.tokens[failure.item:failure.index])


# --- words -------------------------------------------------------------------------------------------


def _expected_words(accepts: frozenset[str]) -> list[str]:
    if "DECL" in accepts:
        return ["a directive", "a fact", "a rule"]
    words = [f"`{_SIGNS[type]}`" for type in _SIGNS if type in accepts and not _said_otherwise(type, accepts)]
    if accepts >= _VALUE:
        words.append("a condition" if "NOT" in accepts else "a value")
    elif accepts >= {"IDENT", "QUOTED"}:
        words.append("the name of a relation")
    elif "IDENT" in accepts:
        words.append("a name")
    elif "STRING" in accepts:
        words.append("a string")
    elif "IRI" in accepts:
        words.append("an IRI")
    if accepts & _OPERATORS:
        words.append("an operator")
    if "QUALIFIER" in accepts:
        words.append("a qualifier")
    return words


def _said_otherwise(type: str, accepts: frozenset[str]) -> bool:
    """Signs that a longer word already covers."""
    return (type == "EQUALS" and "COMPARE" in accepts) or (
        type == "LPAR" and bool(accepts >= _VALUE or accepts & _OPERATORS))


def _span(source: Source, token: Token) -> Span:
    return _between(source, token, token)


def _between(source: Source, first: Token, last: Token) -> Span:
    return Span(source, first.line or 1, first.column or 1, last.end_line or 1, last.end_column or 1)
