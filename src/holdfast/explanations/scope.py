"""Which variables a formula mentions and which it binds: enough to find an order in which a body can be matched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.explanations.terms import TESTS
from holdfast.language import tree


def children(node: object) -> Iterable[object]:
    """The nodes right below a term or formula."""
    match node:
        case tree.Unary() | tree.Negation() | tree.Cast():
            return (node.operand,)
        case tree.Binary() | tree.Comparison():
            return (node.left, node.right)
        case tree.Call() | tree.Atom() | tree.Constraint():
            return node.arguments
        case tree.Record() | tree.Branch():
            return node.fields
        case tree.Aggregate():
            return (node.body,) if node.target is None else (node.target, node.body)
        case tree.HeadAggregate():
            return (node.target,)
        case tree.Conjunction() | tree.Disjunction():
            return node.items
    return ()


def variables(node: object, inside: bool = True) -> frozenset[str]:
    """Every variable below a node; those of aggregates only with `inside`."""
    if isinstance(node, tree.Variable):
        return frozenset((node.name,))
    if isinstance(node, tree.Aggregate) and not inside:
        return frozenset()
    return frozenset().union(*(variables(child, inside) for child in children(node)))


def nodes(node: object) -> Iterator[object]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from nodes(child)


def closed(node: object) -> Iterator[object]:
    """The negations and aggregates of a formula: what they share with the rest must be bound before them."""
    if isinstance(node, tree.Negation | tree.Aggregate):
        yield node
    else:
        for child in children(node):
            yield from closed(child)


def is_pattern(term: tree.Term) -> bool:
    """Whether a term takes a value apart, and so binds the variables in it."""
    if isinstance(term, tree.Record | tree.Branch):
        return all(is_pattern(each) or not variables(each) for each in term.fields)
    return isinstance(term, tree.Variable | tree.Wildcard)


def has_wildcard(term: tree.Term) -> bool:
    """Whether there is a `_` in it, outside aggregates."""
    if isinstance(term, tree.Aggregate):
        return False
    return isinstance(term, tree.Wildcard) or any(has_wildcard(child) for child in children(term))  # type: ignore[arg-type]


def is_test(item: object) -> bool:
    """Whether an atom is a test of its arguments, not a relation."""
    return isinstance(item, tree.Atom) and item.name.text in TESTS and item.name.kind is tree.NameKind.PLAIN


def binds(item: tree.Formula, bound: frozenset[str]) -> frozenset[str] | None:
    """The variables that are bound after a formula, None where it needs more before."""
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
        case tree.Disjunction(items=items):
            reached = [_reached(each, bound) for each in items]
            sure = [each for each in reached if each is not None]
            return frozenset.intersection(*sure) if len(sure) == len(reached) else None
        case tree.Conjunction():
            return _reached(item, bound)
    return bound


def _reached(item: tree.Formula, bound: frozenset[str]) -> frozenset[str] | None:
    items: list[tree.Formula] = list(item.items) if isinstance(item, tree.Conjunction) else [item]
    left, reached = _exhausted(items, bound)
    return None if left else reached


def closure(items: Sequence[tree.Formula], bound: frozenset[str]) -> frozenset[str]:
    """All variables that formulas can bind together."""
    return _exhausted(list(items), bound)[1]


def _exhausted(waiting: list[tree.Formula], bound: frozenset[str]) -> tuple[list[tree.Formula], frozenset[str]]:
    while True:
        ready = [(item, new) for item in waiting if (new := binds(item, bound)) is not None]
        if not ready:
            return waiting, bound
        waiting = [item for item in waiting if not any(item is done for done, _ in ready)]
        bound = bound.union(*(new for _, new in ready))
