"""An LALR(1) automaton: runs tables over tokens, and calls a builder at each reduction.

Lark generates the tables from the grammar (`tables.py`).  Running them does not need lark, whose import takes as long
as the rest of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from holdfast.language.token import Token

END: Final = "$END"
# The action on a terminal, and the next state after a nonterminal: n shifts to state n, ~n reduces by rule n.
ParserState: TypeAlias = Mapping[str, int]
ParsedValue: TypeAlias = Any  # a token, the builder's result for a rule, or the children of a rule without callback


class GrammarRule(NamedTuple):
    """A grammar rule with what a reduction needs."""

    origin: str
    size: int
    callback: str
    spliced: tuple[bool, ...] | None  # which children are lists to splice in; None if none is
    single: bool  # replace the rule by an only child


class ParserTables(NamedTuple):
    """The tables of the automaton."""

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
    """Tables and a builder, whose methods are named after the grammar's rules and take their children."""

    def __init__(self, tables: ParserTables, builder: object) -> None:
        self._tables = tables
        self._callbacks: list[Callable[[list[ParsedValue]], ParsedValue]] = [
            getattr(builder, rule.callback, list) for rule in tables.rules
        ]

    def parse(self, tokens: Sequence[Token], first: int, start: str) -> ParsedValue:
        """Parse the tokens from `first` on, and return the builder's result."""
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
        """The types of tokens that may follow these; None if these are not accepted."""
        stack = [self._tables.starts[start]]
        if all(self._feed(stack, None, token.type) for token in tokens):
            return self._accepted(stack)
        return None

    def _accepted(self, stack: list[int]) -> frozenset[str]:
        kinds = (kind for kind in self._tables.states[stack[-1]] if kind.isupper())  # terminals, including $END
        return frozenset(kind for kind in kinds if self._feed(stack.copy(), None, kind, *self._tables.ends.values()))

    def _feed(self, stack: list[int], values: list[ParsedValue] | None, kind: str, *ends: int) -> bool:
        """Reduce as the tables say, then shift a token of this type or, at the end of the text, reach an end state.

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
    """The children, with lists of repetitions spliced in.

    A leading list is extended in place; otherwise it would be copied for each element.
    """
    found: list[ParsedValue] = children[0] if spliced[0] else [children[0]]
    for child, inside in zip(children[1:], spliced[1:], strict=True):
        if inside:
            found += child
        else:
            found.append(child)
    return found
