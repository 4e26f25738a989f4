"""What terms and formulas consist of: their parts, their variables, and the alternatives of a body."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from holdfast.language import tree


def children(node: object) -> Sequence[object]:
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


def nodes(node: object) -> Iterator[object]:
    """A node and everything below it."""
    yield node
    for child in children(node):
        yield from nodes(child)


def variables(node: object, inside: bool = True) -> frozenset[str]:
    """Every variable below a node; those of aggregates only with `inside`."""
    if isinstance(node, tree.Variable):
        return frozenset((node.name,))
    if isinstance(node, tree.Aggregate) and not inside:
        return frozenset()
    return frozenset[str]().union(*(variables(child, inside) for child in children(node)))


def is_pattern(term: object) -> bool:
    """Whether a term takes a value apart, and so binds the variables in it."""
    if isinstance(term, tree.Record | tree.Branch):
        return all(is_pattern(each) or not variables(each) for each in term.fields)
    return isinstance(term, tree.Variable | tree.Wildcard)


def has_wildcard(term: object) -> bool:
    """Whether there is a `_` in it, outside aggregates."""
    if isinstance(term, tree.Aggregate):
        return False
    return isinstance(term, tree.Wildcard) or any(map(has_wildcard, children(term)))


def closed_parts(node: object) -> Iterator[object]:
    """The negations and aggregates in a formula: what they share with the rest is bound before them."""
    if isinstance(node, tree.Negation | tree.Aggregate):
        yield node
    else:
        for child in children(node):
            yield from closed_parts(child)


def many_valued(node: object) -> list[tree.Aggregate | tree.Call]:
    """The aggregates and ranges in a term or a condition, inner ranges first; of a negation the ranges."""
    if isinstance(node, tree.Aggregate):
        return [node]
    below = [each for child in children(node) for each in many_valued(child)]
    if isinstance(node, tree.Negation):
        return [each for each in below if isinstance(each, tree.Call)]
    return [*below, node] if isinstance(node, tree.Call) and node.function == "range" else below


def conjuncts(formula: tree.Formula) -> list[tree.Formula]:
    """The conditions of a body."""
    return list(formula.items) if isinstance(formula, tree.Conjunction) else [formula]


def alternatives(formula: tree.Formula | Iterable[tree.Formula]) -> Iterator[list[tree.Formula]]:
    """The conjunctions of which a formula is the disjunction; negations and aggregates stay whole."""
    items = conjuncts(formula) if isinstance(formula, tree.Node) else [*formula]
    if not any(map(_is_opened, items)):
        yield items
        return
    for chosen in product(*(list(_choices(item)) for item in items)):
        yield [literal for part in chosen for literal in part]


def _is_opened(item: tree.Formula) -> bool:
    double = isinstance(item, tree.Negation) and isinstance(item.operand, tree.Negation)
    return double or isinstance(item, tree.Conjunction | tree.Disjunction)


def _choices(item: tree.Formula) -> Iterator[list[tree.Formula]]:
    match item:
        case tree.Disjunction(items=items):
            for one in items:
                yield from alternatives(one)
        case tree.Conjunction():
            yield from alternatives(item)
        case tree.Negation(operand=tree.Negation(operand=inner)):
            yield from alternatives(inner)
        case _:
            yield [item]
