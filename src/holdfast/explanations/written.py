"""A program as it is written, read for explanations once: its rules by their heads, names and declared types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.explanations.checked_rules import equivalence_rules, offered
from holdfast.explanations.short_names import ShortNames
from holdfast.explanations.terms import Typed, column_kinds
from holdfast.language import tree
from holdfast.language.editing import name_of
from holdfast.language.syntax import nodes, variables
from holdfast.language.vocabulary import STANDARD_PREFIXES
from holdfast.program.model import Program

_REMEMBERED = 8  # programs


@dataclass(frozen=True, eq=False)
class RuleHead:
    """One head of a rule as written, under the rule's name; of a limit relation, what it offers."""

    name: str
    head: tree.Atom
    body: tree.Formula
    rule: tree.Rule
    limit: tuple[int, str] | None = None  # the column of a limit relation, and min or max

    @cached_property
    def head_variables(self) -> frozenset[str]:
        """The variables of the head."""
        return variables(self.head)


class WrittenProgram:
    """What explanations need of a program; threads may share it."""

    def __init__(self, program: Program) -> None:
        self.program, items = program, program.written
        self.prefixes = STANDARD_PREFIXES | {item.prefix: item.iri for item in items if isinstance(item, tree.Prefix)}
        self.names = ShortNames(self.prefixes)
        self.columns, self.typed = column_kinds(program), Typed(program)
        self.rules: list[RuleHead] = []
        for item in items:
            if isinstance(item, tree.Declaration) and "eqrel" in item.qualifiers:
                for name in item.names:
                    self._add_equivalence(name)
            elif isinstance(item, tree.Rule):
                assert item.body is not None, "facts are left out"
                for head in item.heads:
                    shown, limit = offered(head)
                    self.rules.append(RuleHead(name_of(item), shown, item.body, item, limit))
        self.heads: dict[tuple[str, int], list[RuleHead]] = {}
        for each in self.rules:
            self.heads.setdefault((self.name(each.head.name), len(each.head.arguments)), []).append(each)
        self.limits = {place: rules[0].limit[0] for place, rules in self.heads.items() if rules[0].limit is not None}
        """The columns of limit relations: they have the best fact that is offered for each group."""
        self.lasting = {id(node) for each in self.rules for node in nodes(each.body)}
        """The ids of conditions, which stay theirs."""
        self.scopes: dict[tuple[object, ...], Any] = {}
        """What each of some conditions can see."""
        self.orders: dict[tuple[object, ...], Any] = {}
        """Which of some conditions may be matched first."""
        self.shapes: dict[tuple[int, frozenset[str]], Any] = {}
        """How an atom is joined, by its id and the variables that are bound."""
        self.equations: dict[int, tree.Comparison] = {}
        """That a column of a head, by its term, has the value that is asked for."""

    def equation(self, term: tree.Term, place: int) -> tree.Comparison:
        """That a term of a head has the value which ` place` stands for."""
        if id(term) not in self.equations:
            made = tree.Comparison("=", tree.Variable(f" {place}", span=term.span), term, span=term.span)
            self.equations[id(term)] = made
            self.lasting.add(id(made))
        return self.equations[id(term)]

    def _add_equivalence(self, name: tree.Name) -> None:
        for kind, head, body in equivalence_rules(name):
            rule = tree.Rule((head,), body, span=name.span)
            self.rules.append(RuleHead(f"{self.name(name)}.{kind}", head, body, rule))

    def name(self, name: tree.Name) -> str:
        """A predicate: plain text, or an IRI in angle brackets."""
        if name.kind is tree.NameKind.PREFIXED:
            prefix, _, local = name.text.partition(":")
            return f"<{self.prefixes[prefix]}{local}>"
        return f"<{name.text}>" if name.kind is tree.NameKind.IRI else name.text


_remembered: dict[int, WrittenProgram] = {}


def written_program(program: Program) -> WrittenProgram:
    """A program, read before if it was asked about lately."""
    found = _remembered.get(id(program))
    if found is None or found.program is not program:
        found = WrittenProgram(program)
        if len(_remembered) >= _REMEMBERED:
            _remembered.clear()
        _remembered[id(program)] = found
    return found
