"""Split text into tokens.

Most tokens follow from their characters alone.  Four depend on the context:

- `%` is modulo where an operator can stand (after a term, in a rule) and is not the first thing on its line;
  everywhere else it begins a comment.
- `<` is a comparison where an operator can stand, and begins an IRI everywhere else.
- `y:A` is a prefixed name, unless `y` is not a declared prefix and the target of an aggregate is being read
  (`max y:A(1, y)`), or it stands inside the parentheses of a declaration (`.decl R(type:Type)`).
- `min`, `max`, `count` … are aggregates when a `:` ends their target, and ordinary names otherwise.
"""

from __future__ import annotations

from typing import Final

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Diagnostics, SourceText, Span
from holdfast.language import mistakes
from holdfast.language.comments import Comment
from holdfast.language.foreign import QUESTION
from holdfast.language.token import Token
from holdfast.language.vocabulary import (
    AGGREGATES,
    ASKS_FOR_NAME,
    BARE_POINT,
    DECLARED_PREFIX,
    DIGITS,
    DIRECTIVES,
    ENDS_ITEM,
    ENDS_TARGET,
    ENDS_TERM,
    IRI,
    KEYWORDS,
    LANGUAGE,
    LOCAL,
    NUMBER,
    OPERATORS,
    PREFIX_LABEL,
    QUALIFIERS,
    SCANNER,
)
from holdfast.quick_dataclass import dataclass

_ANGLES: Final = {"<": "LESS", ">": "GREATER"}  # around the parameters of a component
_OFTEN = 256  # tokens between two checks of the deadline


@dataclass
class _Candidate:
    """A word that is an aggregate if a `:` ends its target; `in_parenthesis` while a `(` directly after it is open."""

    token: Token
    depth: int
    in_parenthesis: bool = False


class Lexer:
    """Splits a source into tokens and comments; anything else becomes a diagnostic."""

    def __init__(self, source: SourceText, diagnostics: Diagnostics, in_body: bool = False) -> None:
        self.tokens: list[Token] = []
        self.comments: list[Comment] = []
        self._source, self._text, self._diagnostics = source, source.text, diagnostics
        self._prefixes = frozenset(DECLARED_PREFIX.findall(source.text))
        self._compound_prefixes = tuple(p for p in self._prefixes if not p.isidentifier() and p)
        self._position, self._line, self._line_start = 0, 1, 0
        self._previous, self._depth = "", 0
        self._in_directive = self._in_prefix = self._in_refused = False
        self._in_body = in_body
        self._in_functor = False
        self._in_component = self._in_attribute = False  # `.comp A<T>`, before its brace; `#[`, before its bracket
        self._components = 0  # number of open components
        self._targets: list[_Candidate] = []

    def run(self) -> list[Token]:
        """All tokens of the source."""
        text, end, match = self._text, len(self._text), SCANNER.match
        handlers = {kind: getattr(self, f"_{kind.lower()}") for kind in SCANNER.groupindex}
        while self._position < end:
            if not len(self.tokens) % _OFTEN:
                look_at_the_clock()
            found = match(text, self._position)
            assert found is not None and found.lastgroup is not None  # the last alternative matches any character
            handlers[found.lastgroup](found.group())
        return self.tokens

    # --- creating tokens ---

    def _add(self, type: str, text: str) -> Token:
        start, column = self._position, self._position - self._line_start + 1
        end = start + len(text)
        token = Token(type, text, start, self._line, column)
        self.tokens.append(token)
        self._position, self._previous = end, type
        return token

    def _span(self, text: str) -> Span:
        column = self._position - self._line_start + 1
        first = text.split("\n", 1)[0]
        return Span(self._source, self._line, column, self._line, column + len(first))

    def _bad(self, mistake: mistakes.Mistake, text: str) -> None:
        """Report text that is not a token; the parser skips its clause silently."""
        mistake.report(self._diagnostics, self._span(text))
        self._add("BAD", text)
        self._advance_lines(text)

    def _advance_lines(self, text: str) -> None:
        newlines = text.count("\n")
        if newlines:
            self._line += newlines
            self._line_start = self._position - len(text) + text.rindex("\n") + 1

    @property
    def _operator_can_stand(self) -> bool:
        return self._previous in ENDS_TERM and not self._in_directive

    # --- one handler for each alternative of the scanner ---

    def _newline(self, text: str) -> None:
        self._line += 1
        self._line_start = self._position + 1
        self._position += len(text)
        if self._text.startswith("%", self._position):
            self._percent_comment()

    def _space(self, text: str) -> None:
        self._position += len(text)

    def _comment(self, text: str) -> None:
        before = self._text[self._line_start : self._position]
        self.comments.append(Comment(text, self._position, self._span(text), not before.strip()))
        self._position += len(text)
        self._advance_lines(text)

    def _percent_comment(self) -> None:
        end = self._text.find("\n", self._position)
        self._comment(self._text[self._position : end if end >= 0 else len(self._text)])

    def _open_comment(self, text: str) -> None:
        self._bad(mistakes.OPEN_COMMENT, text)

    def _directive(self, text: str) -> None:
        self._start_item(in_directive=True)
        self._in_component = DIRECTIVES[text] in ("COMPONENT", "INIT")
        self._in_functor = DIRECTIVES[text] == "FUNCTOR"  # a `:` and a type follow its parentheses
        self._add(DIRECTIVES[text], text)

    def _refused(self, text: str) -> None:
        self._start_item(in_directive=True)
        self._in_refused = True
        self._add("REFUSED", text)

    def _prefix(self, text: str) -> None:
        self._start_item(in_directive=False)
        self._in_prefix = True
        self._add("PREFIX", text)

    def _attribute(self, text: str) -> None:
        self._start_item(in_directive=False)
        self._in_attribute = True
        self._add("ATTRIBUTE", text)

    def _preprocessor(self, text: str) -> None:
        self._start_item(in_directive=False)
        self._add("PREPROCESSOR", text.rstrip())
        self._position += len(text) - len(text.rstrip())

    def _start_item(self, in_directive: bool) -> None:
        self._in_directive, self._in_refused, self._in_prefix = in_directive, False, False
        self._in_component = self._in_attribute = self._in_functor = False
        self._in_body, self._depth = False, 0
        self._targets.clear()

    def _number(self, text: str) -> None:
        tail = BARE_POINT.match(self._text, self._position + len(text)) if self._depth else None
        if tail is not None and text.isdigit():
            self._bad_number(text + tail.group(), mistakes.bare_point(f"{text}.0{tail.group()[1:]}"))
        elif NUMBER.fullmatch(text):
            self._add("NUMBER", text)
        else:
            self._bad_number(text, mistakes.number_help(text))

    def _bad_number(self, text: str, help: str) -> None:
        """Report a malformed number once; the parser continues as if it were valid."""
        mistakes.bad_number(text, help).report(self._diagnostics, self._span(text))
        self._add("NUMBER", "0").end_column = self._position - self._line_start + len(text)
        self._position += len(text) - 1

    def _digits_behind_a_point(self) -> str | None:
        """The digits of `.5`, where a number is possible but not the end of a clause."""
        found = DIGITS.match(self._text, self._position + 1)
        return found.group() if found and not (self._previous in ENDS_ITEM or self._operator_can_stand) else None

    def _string(self, text: str) -> None:
        self._add("STRING", text)
        language = LANGUAGE.match(self._text, self._position)
        if language:
            self._add("LANGUAGE", language.group())
        elif self._text.startswith("^^", self._position):
            self._add("DATATYPE", "^^")

    def _open_string(self, text: str) -> None:
        self._bad(mistakes.OPEN_STRING, text.rstrip())

    def _quoted(self, text: str) -> None:
        self._end_directive_before_name()
        self._add("QUOTED", text)

    def _open_quoted(self, text: str) -> None:
        self._bad(mistakes.OPEN_QUOTED, text.rstrip())

    def _user_functor(self, text: str) -> None:
        self._add("USER_FUNCTOR", text)

    def _mistake(self, text: str) -> None:
        if text[0] == "<" and self._iri():
            return
        if text == "<-" and (self._in_body or self._depth):
            self._plain_operator("<")
            return
        if self._in_refused:
            self._add("BAD", text)
            return
        mistake, type, meant = mistakes.SPELLINGS[text]
        mistake.report(self._diagnostics, self._span(text))
        self._add(type, text).value = meant
        self._in_body = self._in_body or type == "IF"

    def _other(self, text: str) -> None:
        is_question = self._text.startswith("?-", self._position)
        self._bad(QUESTION if is_question else mistakes.no_such_character(text), text)

    # --- words and names ---

    def _word(self, text: str) -> None:
        if self._in_prefix:
            label = PREFIX_LABEL.match(self._text, self._position)
            self._add("IDENT", label.group() if label else text)
        elif self._is_qualifier(text):
            self._add("QUALIFIER", text)
        elif self._in_directive and self._text.startswith("choice-domain", self._position):
            self._add("CHOICE", "choice-domain")
        else:
            self._end_directive_before_name()
            if not self._prefixed_name(text):
                self._plain_word(text)

    def _is_qualifier(self, text: str) -> bool:
        if not self._in_directive or self._depth or self._previous not in ("RPAR", "QUALIFIER", "IDENT"):
            return False
        if self._previous == "IDENT":
            return text == "stateful"
        return text in QUALIFIERS and not self._text.startswith(("(", ":"), self._position + len(text))

    def _end_directive_before_name(self) -> None:
        """End a directive before a name that it does not expect, which begins the next item."""
        if self._in_directive and not self._depth and self._previous not in ASKS_FOR_NAME:
            self._in_directive = self._in_refused = self._in_component = False

    def _plain_word(self, text: str) -> None:
        if self._in_directive:
            self._add("WILDCARD" if text == "_" else "IDENT", text)
        elif text == "as" and self._text.startswith("(", self._position + 2):
            self._add("AS", text)
        else:
            token = self._add(KEYWORDS.get(text, "IDENT"), text)
            if text in AGGREGATES:
                self._targets.append(_Candidate(token, self._depth))

    def _prefixed_name(self, word: str) -> bool:
        """Read a prefixed name that begins with this word, if it is one."""
        prefix = next((p for p in self._compound_prefixes if self._text.startswith(p + ":", self._position)), word)
        colon = self._position + len(prefix)
        if not self._text.startswith(":", colon) or not self._can_be_prefix(prefix):
            return False
        local = LOCAL.match(self._text, colon + 1)
        if self._text.startswith(":-", colon) or (local is None and prefix not in self._prefixes):
            return False
        self._add("PREFIXED", self._text[self._position : local.end() if local else colon + 1])
        return True

    def _can_be_prefix(self, word: str) -> bool:
        if (self._in_directive and self._depth) or self._in_component:
            return False
        if word in self._prefixes or self._previous == "DATATYPE":
            return True
        return not self._reads_target() and word not in AGGREGATES and word[0] not in "?_"

    def _reads_target(self) -> bool:
        return bool(self._targets) and self._targets[-1].depth == self._depth

    # --- operators ---

    def _operator(self, text: str) -> None:
        if text == "%" and not self._operator_can_stand:
            self._percent_comment()
        elif text == "." and (digits := self._digits_behind_a_point()):
            self._bad_number("." + digits, mistakes.bare_point(f"0.{digits}"))
        elif not (text[0] == "<" and self._iri()) and not (text == ":" and self._default_prefixed_name()):
            self._plain_operator("<" if text == "<:" and not self._in_directive else text)

    def _iri(self) -> bool:
        if self._operator_can_stand and not self._in_prefix:
            return False
        found = IRI.match(self._text, self._position)
        if found is None or (self._in_component and ":" not in found.group()):
            return False  # `A<T>` has a parameter
        self._end_directive_before_name()
        self._in_prefix = False
        self._add("IRI", found.group())
        return True

    def _default_prefixed_name(self) -> bool:
        in_target = self._reads_target() and self._previous != "DATATYPE"
        names_type = self._in_functor and self._previous == "RPAR"
        in_columns = self._in_directive and (self._depth or self._in_component or names_type)
        if self._in_prefix or in_target or in_columns or self._operator_can_stand:
            return False
        local = LOCAL.match(self._text, self._position + 1)
        if local:
            self._end_directive_before_name()
            self._add("PREFIXED", self._text[self._position : local.end()])
        return local is not None

    def _plain_operator(self, text: str) -> None:
        type = _ANGLES[text] if self._in_component and text in _ANGLES else OPERATORS[text]
        if type == "LBRACE" and self._in_component:
            self._components += 1
            self._start_item(in_directive=False)
        elif type == "RBRACE" and self._components and not self._depth:
            self._components -= 1
            self._start_item(in_directive=False)
            self._add(type, text)
            self._previous = ""  # no term ends here: `%` begins a comment
            return
        elif type in ("LPAR", "LBRACE", "LSQB"):
            self._open(type)
        elif type in ("RPAR", "RBRACE", "RSQB"):
            self._close()
        elif type == "COLON" and self._reads_target():
            self._targets.pop().token.type = "AGGREGATE"
        elif type in ENDS_TARGET:
            self._in_body = self._in_body or type == "IF"
            self._end_targets(type)
        self._add(type, text)
        if type == "DOT":
            self._start_item(in_directive=False)
        elif type == "RSQB":
            self._previous = "RSQB" if self._in_attribute else "RPAR"  # a record is a term, and an operator may follow
            self._in_attribute = False

    def _open(self, type: str) -> None:
        if type == "LPAR" and self._targets and self._targets[-1].token is self.tokens[-1]:
            self._targets[-1].in_parenthesis = True
        self._depth += 1

    def _close(self) -> None:
        self._depth -= 1
        self._forget_targets(self._depth)
        if self._reads_target():
            self._targets[-1].in_parenthesis = False

    def _end_targets(self, type: str) -> None:
        """End targets at this token, which none can contain; `max(a, …` is a functor."""
        self._forget_targets(self._depth - 1)
        target = self._targets[-1] if self._targets else None
        if type == "COMMA" and target and target.in_parenthesis and target.depth == self._depth - 1:
            self._targets.pop()

    def _forget_targets(self, depth: int) -> None:
        """Drop candidates deeper than this: they are not aggregates."""
        while self._targets and self._targets[-1].depth > depth:
            self._targets.pop()
