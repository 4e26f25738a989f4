"""Which variables a condition binds: enough to find an order in which a body can be matched."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.explanations.terms import is_test
from holdfast.language import tree
from holdfast.language.syntax import has_wildcard, is_pattern, variables


def binds(item: tree.Formula, bound: frozenset[str]) -> frozenset[str] | None:
    """The variables that are bound after a condition, None where it needs more before."""
    match item:
        case tree.Atom(arguments=arguments) if not is_test(item):
            own = bound.union(*(variables(a) for a in arguments if is_pattern(a)))
            return own if all(variables(a, False) <= own for a in arguments) else None
        case tree.Comparison(operator="=", left=left, right=right):
            for here, there in ((left, right), (right, left)):
                if is_pattern(here) and variables(there, False) <= bound and not has_wildcard(there):
                    return bound | variables(here)
            return bound if variables(left, False) | variables(right, False) <= bound else None
        case tree.Comparison() | tree.Constraint() | tree.Atom():
            return bound if variables(item, False) <= bound else None
    return bound


def closure(items: Sequence[tree.Formula], bound: frozenset[str]) -> frozenset[str]:
    """All variables that conditions can bind together."""
    waiting = list(items)
    while ready := [(item, new) for item in waiting if (new := binds(item, bound)) is not None]:
        waiting = [item for item in waiting if not any(item is done for done, _ in ready)]
        bound = bound.union(*(new for _, new in ready))
    return bound


def bindable(items: Sequence[tree.Formula]) -> frozenset[str]:
    """All variables that conditions can bind without a head; each alternative may bind what it mentions."""
    either = (item for item in items if isinstance(item, tree.Disjunction))
    return closure(items, frozenset[str]().union(*map(variables, either)))
