"""An LALR(1) automaton: runs over tokens by tables, and calls a builder at each reduction.

Lark makes the tables from the grammar (`tables.py`).  To run them needs nothing of lark, whose import takes as long as
the rest of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from holdfast.language.token import Token

END: Final = "$END"
# What a state does with a terminal, and where it goes behind a nonterminal: n shifts to state n, ~n reduces by rule n.
ParserState: TypeAlias = Mapping[str, int]
ParsedValue: TypeAlias = (
    Any  # a token, what the builder made of a rule, or the list of children of a rule without callback
)


class GrammarRule(NamedTuple):
    """A rule of the grammar, as a reduction by it needs it."""

    origin: str
    size: int
    callback: str
    spliced: tuple[bool, ...] | None  # which children are lists that the rule takes over; None if none is
    single: bool  # an only child stands for the rule


class ParserTables(NamedTuple):
    """What the automaton runs by."""

    states: Sequence[ParserState]
    rules: Sequence[GrammarRule]
    starts: Mapping[str, int]
    ends: Mapping[str, int]


class UnexpectedTokenError(Exception):
    """The token at `index` is unexpected; `accepts` are expected."""

    def __init__(self, index: int, accepts: frozenset[str]) -> None:
        super().__init__(index, accepts)
        self.index, self.accepts = index, accepts


class Parser:
    """Tables with a builder, whose methods have the names of the grammar's rules and take their children."""

    def __init__(self, tables: ParserTables, builder: object) -> None:
        self._tables = tables
        self._callbacks: list[Callable[[list[ParsedValue]], ParsedValue]] = [
            getattr(builder, rule.callback, list) for rule in tables.rules
        ]

    def parse(self, tokens: Sequence[Token], first: int, start: str) -> ParsedValue:
        """What the builder makes of the tokens from `first` on."""
        stack, values = [self._tables.starts[start]], list[ParsedValue]()
        for index in range(first, len(tokens)):
            token = tokens[index]
            if not self._feed(stack, values, token.type):
                raise UnexpectedTokenError(index, self._accepted(stack))
            values.append(token)
        if not self._feed(stack, values, END, self._tables.ends[start]):
            raise UnexpectedTokenError(len(tokens), self._accepted(stack))
        return values[-1]

    def accepted(self, tokens: Iterable[Token], start: str) -> frozenset[str] | None:
        """The kinds of tokens that may follow these, None if these themselves are not accepted."""
        stack = [self._tables.starts[start]]
        if all(self._feed(stack, None, token.type) for token in tokens):
            return self._accepted(stack)
        return None

    def _accepted(self, stack: list[int]) -> frozenset[str]:
        kinds = (kind for kind in self._tables.states[stack[-1]] if kind.isupper())  # terminals, with $END
        return frozenset(kind for kind in kinds if self._feed(stack.copy(), None, kind, *self._tables.ends.values()))

    def _feed(self, stack: list[int], values: list[ParsedValue] | None, kind: str, *ends: int) -> bool:
        """Reduce while the tables say so, then shift a token of this kind or, at the end of the text, reach an end.

        False if the tables have no action for it.
        """
        states, rules = self._tables.states, self._tables.rules
        while (action := states[stack[-1]].get(kind)) is not None:
            if action >= 0:
                stack.append(action)
                return True
            rule = rules[~action]
            if rule.size:
                del stack[-rule.size :]
            stack.append(states[stack[-1]][rule.origin])
            if values is not None:
                self._reduce(values, ~action)
            if kind == END and stack[-1] in ends:
                return True
        return False

    def _reduce(self, values: list[ParsedValue], number: int) -> None:
        rule = self._tables.rules[number]
        place = len(values) - rule.size
        children = values[place:]
        if rule.spliced:
            children = _spliced(children, rule.spliced)
        single = rule.single and len(children) == 1
        values[place:] = [children[0] if single else self._callbacks[number](children)]


def _spliced(children: list[ParsedValue], spliced: tuple[bool, ...]) -> list[ParsedValue]:
    """The children, those of a repetition in the place of its list; a repetition that begins the rule goes on with it,
    or a list would be copied for each of its elements."""
    found: list[ParsedValue] = children[0] if spliced[0] else [children[0]]
    for child, inside in zip(children[1:], spliced[1:], strict=True):
        if inside:
            found += child
        else:
            found.append(child)
    return found
