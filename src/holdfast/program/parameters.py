"""The parameters of a query: `$name` stands for a value that is passed with each call.

A parameter is a variable that a relation of one fact binds.  So the query is checked and planned once, and a value is
never part of a text.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import field
from typing import TypeAlias

from holdfast.language import tree
from holdfast.program.model import (
    AggregateRule,
    Apply,
    Assign,
    Atom,
    Compare,
    Negated,
    Program,
    Range,
    Rule,
    Term,
    Test,
    Var,
)
from holdfast.program.movement import variables
from holdfast.program.renaming import Renaming
from holdfast.quick_dataclass import dataclass
from holdfast.values.structures import Kind, Structure

PARAMETERS = "?parameters"  # the relation that holds the values
_MARK = "$"


@dataclass(frozen=True)
class _Marking(Renaming):
    """Replaces parameters by variables.  `$Nil` may also be a branch of a declared type."""

    branches: Container[str] = ()
    found: dict[str, None] = field(default_factory=dict)

    def term(self, term: tree.Term) -> tree.Term:
        """A term with variables for parameters."""
        if isinstance(term, tree.Branch) and not term.fields and term.name not in self.branches:
            self.found[term.name] = None
            return tree.Variable(_MARK + term.name, span=term.span)
        return super().term(term)


def with_parameters(formula: tree.Formula, branches: Container[str]) -> tuple[tree.Formula, tuple[str, ...]]:
    """A query with variables for its parameters, bound by an atom over their values; and the parameters' names."""
    marking = _Marking(lambda name: name, lambda name, _: name, lambda name: name, branches)
    marked = marking.formula(formula)
    names = tuple(marking.found)
    if not names:
        return formula, ()
    variables = tuple(tree.Variable(_MARK + name, span=formula.span) for name in names)
    values = tree.Atom(tree.Name(PARAMETERS, span=formula.span), variables, span=formula.span)
    items = marked.items if isinstance(marked, tree.Conjunction) else (marked,)
    return tree.Conjunction((values, *items), span=formula.span), names


def is_parameter(name: str) -> bool:
    """Whether a variable stands for a parameter."""
    return name.startswith(_MARK)


def parameter_kinds(question: Program) -> tuple[Kind, ...]:
    """The kind of value of each parameter; a record's type comes from the columns and variables that it equals."""
    known: dict[_Place, Structure] = {
        (name, column): kind
        for name, relation in question.relations.items()
        for column, kind in enumerate(relation.kinds)
        if isinstance(kind, Structure)
    }
    pairs = [pair for rule in question.rules for pair in _equal(rule)]
    pairs += [pair for rule in question.aggregates for pair in _grouped(rule, question.relations[rule.predicate].arity)]
    size = -1
    while size < len(known):
        size = len(known)
        for one, other in pairs:
            if one in known or other in known:
                kind = known.get(one) or known[other]
                known.setdefault(one, kind)
                known.setdefault(other, kind)
    columns = question.relations[PARAMETERS].columns
    return tuple(known.get((PARAMETERS, place), column.type) for place, column in enumerate(columns))


_Place: TypeAlias = tuple[str, int | str]
"""A column of a relation, or a variable of a rule."""


def _equal(rule: Rule) -> Iterator[tuple[_Place, _Place]]:
    """Places of a rule that hold the same value."""
    atoms = [(atom.predicate, atom.arguments) for atom in rule.body if isinstance(atom, Atom | Negated)]
    for predicate, arguments in [*atoms, (rule.predicate, rule.arguments)]:
        for column, argument in enumerate(arguments):
            if isinstance(argument, Var):
                yield (predicate, column), (f"{rule.name} {rule.predicate}", argument.name)
    for literal in rule.body:
        match literal:
            case (
                Assign(variable=left, term=Var() as right)
                | Compare(operator="=", left=Var() as left, right=Var() as right)
            ):
                yield (f"{rule.name} {rule.predicate}", left.name), (f"{rule.name} {rule.predicate}", right.name)


def _grouped(rule: AggregateRule, arity: int) -> Iterator[tuple[_Place, _Place]]:
    """Pairs the group columns of an aggregate's source with those of its result."""
    columns = [column for column in range(arity) if column != rule.place % arity]
    return (
        ((rule.source, source), (rule.predicate, column)) for source, column in zip(rule.group, columns, strict=True)
    )


def only_looked_up(question: Program) -> frozenset[str]:
    """The parameters that occur in atoms only: a value of theirs that no fact has needs no code of its own."""
    computed: set[str] = set()
    for rule in question.rules:
        terms: list[Term] = [term for term in rule.arguments if isinstance(term, Apply)]
        for literal in rule.body:
            match literal:
                case Compare(left=left, right=right):
                    terms += [left, right]
                case Test(arguments=arguments):
                    terms += arguments
                case Assign(variable=variable, term=term):
                    terms += [variable, term]
                case Range(start=start, stop=stop, step=step):
                    terms += [start, stop] if step is None else [start, stop, step]
        computed |= {variable.name for term in terms for variable in variables(term)}
        computed |= {variable.name for variable in _aggregated(rule, question)}
    return frozenset(column.name for column in question.relations[PARAMETERS].columns) - computed


def _aggregated(rule: Rule, question: Program) -> set[Var]:
    """The variables of a rule whose values an aggregate computes with."""
    targets = [each.target for each in question.aggregates if each.source == rule.predicate and each.target is not None]
    return {variable for target in targets for variable in variables(rule.arguments[target])}
