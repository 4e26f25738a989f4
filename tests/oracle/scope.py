"""Which variables a formula mentions and which it can bind: enough to put a body into an order that runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.language import tree


def children(node: object) -> Iterator[object]:
    """The nodes right below a term or a formula."""
    match node:
        case tree.Unary() | tree.Negation() | tree.Cast():
            yield node.operand
        case tree.Binary() | tree.Comparison():
            yield from (node.left, node.right)
        case tree.Call() | tree.Atom() | tree.Constraint():
            yield from node.arguments
        case tree.Record() | tree.Branch():
            yield from node.fields
        case tree.Aggregate():
            yield from (node.body,) if node.target is None else (node.target, node.body)
        case tree.HeadAggregate():
            yield node.target
        case tree.Conjunction() | tree.Disjunction():
            yield from node.items


def variables(node: object, *, inside_aggregates: bool = True) -> set[str]:
    """Every variable below a node, those of aggregate bodies included or not."""
    if isinstance(node, tree.Variable):
        return {node.name}
    if isinstance(node, tree.Aggregate) and not inside_aggregates:
        return set()
    below = (variables(child, inside_aggregates=inside_aggregates) for child in children(node))
    return set().union(*below)


def aggregates(node: object) -> list[tree.Aggregate]:
    """The aggregates of a literal, those nested in other aggregates not among them."""
    if isinstance(node, tree.Aggregate):
        return [node]
    return [found for child in children(node) for found in aggregates(child)]


def witnesses(item: tree.Formula, used: set[str]) -> set[str]:
    """Of the variables that are used outside of aggregates, those that the min and max of an item would bind."""
    extremes = (node for node in aggregates(item) if node.function in ("min", "max"))
    return used & set[str]().union(*map(variables, extremes))


def conjuncts(formula: tree.Formula) -> tuple[tree.Formula, ...]:
    return formula.items if isinstance(formula, tree.Conjunction) else (formula,)


def plain_variables(atom: tree.Atom) -> set[str]:
    return {name for argument in atom.arguments for name in pattern_variables(argument)}


def is_pattern(term: object) -> bool:
    """Whether a value can be taken apart by a term: a record, or a branch of an algebraic data type."""
    return isinstance(term, tree.Record | tree.Branch)


def pattern_variables(term: object) -> set[str]:
    """The variables that matching a term with a value binds: itself, or those in the fields of records."""
    if isinstance(term, tree.Variable):
        return {term.name}
    return {name for field in children(term) for name in pattern_variables(field)} if is_pattern(term) else set()


def has_wildcard(term: object) -> bool:
    """Whether a term is `_`, or a record with one inside."""
    return isinstance(term, tree.Wildcard) or (is_pattern(term) and any(map(has_wildcard, children(term))))


def binds(item: tree.Formula, bound: set[str]) -> set[str] | None:
    """What an item adds to the bound variables, or None when it needs more of them first.

    Aggregates are taken to be ready here; `Order.ready` looks at them more closely.
    """

    def known(term: tree.Term, extra: Iterable[str] = ()) -> bool:
        return variables(term, inside_aggregates=False) <= bound | set(extra)

    match item:
        case tree.Atom():
            own = plain_variables(item)
            return own - bound if all(known(argument, own) for argument in item.arguments) else None
        case tree.Comparison(operator="=", left=left, right=right):
            if isinstance(left, tree.Variable) and known(right):
                return {left.name} - bound
            if isinstance(right, tree.Variable) and known(left):
                return {right.name} - bound
            for here, there in ((left, right), (right, left)):
                own = pattern_variables(here)
                if is_pattern(here) and known(there) and known(here, own):
                    return own - bound
            return set() if known(left) and known(right) else None
        case tree.Comparison() | tree.Constraint():
            return set() if all(known(child) for child in children(item)) else None  # type: ignore[arg-type]
        case tree.Disjunction(items=branches):
            reached = [closure(conjuncts(branch), bound) for branch in branches]
            complete = all(not left for _, left in reached)
            return set.intersection(*(new for new, _ in reached)) - bound if complete else None
        case tree.Conjunction(items=items):
            new, left = closure(items, bound)
            return new - bound if not left else None
        case _:
            return set()


def closure(items: Iterable[tree.Formula], bound: set[str]) -> tuple[set[str], list[tree.Formula]]:
    """All variables that the items can bind together, and the items that never become ready."""
    reached, waiting = set(bound), list(items)
    progress = True
    while progress:
        progress = False
        for item in list(waiting):
            new = binds(item, reached)
            if new is not None:
                reached |= new
                waiting.remove(item)
                progress = True
    return reached, waiting
