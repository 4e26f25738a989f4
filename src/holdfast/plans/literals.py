"""The variables of terms, literals and steps."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.plans.model import AntiJoin, Compute, Filter, Join, Scan, Step, Unnest
from holdfast.program.model import (
    Apply,
    Assign,
    Atom,
    BodyLiteral,
    Compare,
    Negated,
    Range,
    Term,
    Test,
    Var,
    Wildcard,
)

_PARTIAL = frozenset(
    {
        *("/", "%", "^", "bshl", "bshr", "bshru", "to_number", "to_unsigned", "to_float", "substr"),
        *("ftoi", "ftou", "itou", "utoi", "datatype"),
    }
)


def variables(term: Term | Wildcard) -> Iterator[Var]:
    """The variables of a term, from left to right."""
    match term:
        case Var():
            yield term
        case Apply(arguments=arguments):
            for argument in arguments:
                yield from variables(argument)


def literal_variables(literal: BodyLiteral) -> set[Var]:
    """The variables that occur in a literal."""
    if isinstance(literal, Atom | Negated):  # they contain no nested terms, and there are many of them
        return {argument for argument in literal.arguments if isinstance(argument, Var)}
    return {variable for term in terms(literal) for variable in variables(term)}


def terms(literal: BodyLiteral) -> tuple[Term | Wildcard, ...]:
    """The terms of a literal, from left to right."""
    match literal:
        case Atom(arguments=arguments) | Negated(arguments=arguments):
            return arguments
        case Test(arguments=tested):
            return tested
        case Compare(left=left, right=right):
            return (left, right)
        case Assign(variable=variable, term=term):
            return (variable, term)
        case Range(variable=variable, start=start, stop=stop, step=step):
            return (variable, start, stop) if step is None else (variable, start, stop, step)


def step_variables(step: Step) -> set[Var]:
    """The variables that a step reads or binds."""
    match step:
        case Scan(atom=literal) | Join(atom=literal):
            return literal_variables(literal)
        case AntiJoin(atom=negated):
            return literal_variables(negated)
        case Filter(condition=condition):
            return literal_variables(condition)
        case Compute(assignment=assignment):
            return literal_variables(assignment)
        case Unnest(range=spread):
            return literal_variables(spread)


def needs(literal: BodyLiteral) -> tuple[set[Var], int]:
    """The variables that a literal other than a positive atom waits for, and how many of them it needs."""
    match literal:
        case Assign(variable=variable, term=Var() as other):
            return {variable, other}, 1
        case Assign(term=term):
            wanted = set(variables(term))
        case Range(variable=variable):
            wanted = literal_variables(literal) - {variable}
        case _:
            wanted = literal_variables(literal)
    return wanted, len(wanted)


def can_run(literal: BodyLiteral, bound: set[Var]) -> bool:
    """Whether the needs of a literal other than a positive atom are met."""
    wanted, count = needs(literal)
    return not isinstance(literal, Atom) and len(wanted & bound) >= count


def may_fail(literal: BodyLiteral) -> bool:
    """Whether a literal may have no value for some bindings, such as a division by zero."""
    return any(_is_partial(term) for term in terms(literal))


def _is_partial(term: Term | Wildcard) -> bool:
    return isinstance(term, Apply) and (term.function in _PARTIAL or any(map(_is_partial, term.arguments)))
