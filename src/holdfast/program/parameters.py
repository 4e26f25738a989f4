"""The parameters of a query: `$name` stands for a value that is given with each call.

A parameter is a variable that a relation of one fact binds.  So the query is checked and planned once, and a value is
never part of a text.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import field

from holdfast.language import tree
from holdfast.program.model import Apply, Assign, Atom, Compare, Negated, Program, Range, Rule, Term, Test, Var
from holdfast.program.movement import variables
from holdfast.program.renaming import Renaming
from holdfast.quick_dataclass import dataclass
from holdfast.values.structures import Kind, Structure

PARAMETERS = "?parameters"  # the relation of the values
_MARK = "$"


@dataclass(frozen=True)
class _Marking(Renaming):
    """Puts variables in the places of parameters.  `$Nil` may also be a branch of a declared type."""

    branches: Container[str] = ()
    found: dict[str, None] = field(default_factory=dict)

    def term(self, term: tree.Term) -> tree.Term:
        """A term with variables for parameters."""
        if isinstance(term, tree.Branch) and not term.fields and term.name not in self.branches:
            self.found[term.name] = None
            return tree.Variable(_MARK + term.name, span=term.span)
        return super().term(term)


def with_parameters(formula: tree.Formula, branches: Container[str]) -> tuple[tree.Formula, tuple[str, ...]]:
    """A query with variables for its parameters, bound by an atom of their values; and their names."""
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
    """What kind of value each parameter has; which record type, the columns say that it stands in."""
    structures: dict[str, Structure] = {}
    for rule in question.rules:
        for literal in rule.body:
            if isinstance(literal, Atom | Negated):
                kinds = question.relations[literal.predicate].kinds
                for argument, kind in zip(literal.arguments, kinds, strict=True):
                    if isinstance(argument, Var) and isinstance(kind, Structure):
                        structures.setdefault(argument.name, kind)
    values = question.relations[PARAMETERS]
    return tuple(structures.get(column.name, column.type) for column in values.columns)


def only_looked_up(question: Program) -> frozenset[str]:
    """The parameters that stand in atoms only: for them a value that no fact has needs no code of its own."""
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
    """The variables whose values an aggregate takes from the facts of a rule."""
    targets = [each.target for each in question.aggregates if each.source == rule.predicate and each.target is not None]
    return {variable for target in targets for variable in variables(rule.arguments[target])}
