"""Renames the names in a rule or a declaration, to instantiate components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from holdfast.language import tree
from holdfast.program.core import children, rebuilt
from holdfast.quick_dataclass import dataclass

AnyFormula = TypeVar("AnyFormula", bound=tree.Formula)


@dataclass(frozen=True)
class Renaming:
    """The new names of relations, types and branches."""

    relation: Callable[[tree.Name], tree.Name]
    type: Callable[[str, tree.Node], str]
    branch: Callable[[str], str]

    def rule(self, rule: tree.Rule) -> tree.Rule:
        """The rule with new names."""
        heads = tuple(self._atom(head) for head in rule.heads)
        return replace(rule, heads=heads, body=None if rule.body is None else self.formula(rule.body))

    def attributes(self, attributes: tuple[tree.Attribute, ...]) -> tuple[tree.Attribute, ...]:
        """Columns, or fields, with new types."""
        return tuple(replace(each, type_name=self.type(each.type_name, each)) for each in attributes)

    def formula(self, formula: tree.Formula) -> tree.Formula:
        """The formula with new names."""
        match formula:
            case tree.Atom():
                return self._atom(formula)
            case tree.Negation(operand=operand):
                return replace(formula, operand=self.formula(operand))
            case tree.Comparison(left=left, right=right):
                return replace(formula, left=self.term(left), right=self.term(right))
            case tree.Constraint(arguments=arguments):
                return replace(formula, arguments=tuple(map(self.term, arguments)))
            case tree.Conjunction(items=items) | tree.Disjunction(items=items):
                return replace(formula, items=tuple(map(self.formula, items)))
            case tree.Truth():
                return formula

    def _atom(self, atom: tree.Atom) -> tree.Atom:
        return replace(atom, name=self.relation(atom.name), arguments=tuple(map(self.term, atom.arguments)))

    def term(self, term: tree.Term) -> tree.Term:
        """The term with new names."""
        match term:
            case tree.Aggregate(target=target, body=body):
                new = None if target is None else self.term(target)
                return replace(term, target=new, body=self.formula(body))
            case tree.Cast(type_name=name):
                term = replace(term, type_name=self.type(name, term))
            case tree.Branch(name=name):
                term = replace(term, name=self.branch(name))
            case tree.Number():
                return replace(term)  # each instance has its own: it may be of another type
        inside = children(term)
        return rebuilt(term, map(self.term, inside)) if inside else term
