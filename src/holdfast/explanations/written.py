"""A program as it is written, read for explanations once: its rules by their heads, names and declared types."""

from __future__ import annotations

from typing import Any

from holdfast.explanations.conditions import Conditions
from holdfast.explanations.short_names import ShortNames
from holdfast.explanations.terms import Terms
from holdfast.explanations.written_rules import rules_by_head
from holdfast.language.syntax import nodes
from holdfast.program.model import Program

_REMEMBERED = 8  # programs


class WrittenProgram:
    """What explanations need of a program; threads may share it."""

    def __init__(self, program: Program) -> None:
        self.program, self.terms = program, Terms(program)
        self.names = ShortNames(self.terms.prefixes)
        self.heads = rules_by_head(program, self.terms)
        self.rules = [rule for rules in self.heads.values() for rule in rules]
        self.limits = {place: rules[0].limit[0] for place, rules in self.heads.items() if rules[0].limit is not None}
        """The columns of limit relations: they have the best fact that is offered for each group."""
        self.conditions = Conditions(self.terms)
        equations = (item for rule in self.rules for some in rule.equations.values() for item in some)
        parts = (part for rule in self.rules for part in (rule.head, rule.body))
        self.lasting = {id(node) for part in (*parts, *equations) for node in nodes(part)}
        """The ids of conditions, which stay theirs."""
        self.remembered: dict[tuple[object, ...], Any] = {}
        """What was found out about conditions that last."""


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
