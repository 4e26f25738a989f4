"""A program as it is written, read for explanations once: its rules by their heads, names and declared types."""

from __future__ import annotations

from typing import Any

from holdfast.explanations.short_names import ShortNames
from holdfast.explanations.terms import Terms
from holdfast.explanations.written_rules import RuleHead, written_rules
from holdfast.language import tree
from holdfast.language.syntax import nodes
from holdfast.program.model import Program

_REMEMBERED = 8  # programs


class WrittenProgram:
    """What explanations need of a program; threads may share it."""

    def __init__(self, program: Program) -> None:
        self.program, self.terms = program, Terms(program)
        self.names = ShortNames(self.terms.prefixes)
        self.rules = [*written_rules(program, self.terms)]
        self.heads: dict[tuple[str, int], list[RuleHead]] = {}
        for each in self.rules:
            self.heads.setdefault((self.terms.relation(each.head.name), len(each.head.arguments)), []).append(each)
        self.limits = {place: rules[0].limit[0] for place, rules in self.heads.items() if rules[0].limit is not None}
        """The columns of limit relations: they have the best fact that is offered for each group."""
        self.lasting = {id(node) for each in self.rules for part in (each.head, each.body) for node in nodes(part)}
        """The ids of conditions, which stay theirs."""
        self.scopes: dict[tuple[object, ...], Any] = {}
        """What each of some conditions can see."""
        self.orders: dict[tuple[object, ...], Any] = {}
        """Which of some conditions may be matched first."""
        self.shapes: dict[tuple[int, frozenset[str]], Any] = {}
        """How an atom is joined, by its id and the variables that are bound."""
        self.many_valued: dict[int, list[tree.Aggregate | tree.Call]] = {}
        """The aggregates and ranges in conditions and terms of heads, by their ids."""
        self.equations: dict[int, tree.Comparison] = {}
        """That a column of a head, by its term, has the value that is asked for."""

    def equation(self, term: tree.Term, place: int) -> tree.Comparison:
        """That a term of a head has the value which ` place` stands for."""
        if id(term) not in self.equations:
            made = tree.Comparison("=", tree.Variable(f" {place}", span=term.span), term, span=term.span)
            self.equations[id(term)] = made
            self.lasting.add(id(made))
        return self.equations[id(term)]


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
