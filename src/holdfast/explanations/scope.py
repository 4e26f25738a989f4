"""In which order the conditions of a body are matched, and which variables each of them sees: read from the text alone.

Search and checker share it.  The order is part of the format of certificates, whose lists answer just the patterns that
it asks for: a condition whose variables are bound comes first, then the atom with the fewest unknown columns, one of
which nothing is known last.  A negation or an aggregate waits for the variables that other conditions bind, and takes
values from outside for no others: what a substitution or a head says of its other variables does not narrow it down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from holdfast.explanations.terms import NoValue, is_test
from holdfast.language import tree
from holdfast.language.syntax import alternatives, closed_parts, has_wildcard, is_pattern, many_valued, variables


def is_known(term: tree.Term, bound: frozenset[str]) -> bool:
    """Whether a term has a value when some variables are bound."""
    return variables(term, False) <= bound and not has_wildcard(term)


def binds(item: tree.Formula, bound: frozenset[str]) -> frozenset[str] | None:
    """The variables that are bound after a condition, None where it needs more before."""
    match item:
        case tree.Atom(arguments=arguments) if not is_test(item):
            own = bound.union(*(variables(a) for a in arguments if is_pattern(a)))
            return own if all(variables(a, False) <= own for a in arguments) else None
        case tree.Comparison(operator="=", left=left, right=right):
            for here, there in ((left, right), (right, left)):
                if is_pattern(here) and is_known(there, bound):
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


class FormulaScope(NamedTuple):
    """What a formula of a body can see: variables that are bound for it, whatever the head says, and those that the
    body and the head mention.  A negation or an aggregate takes the values of its other variables from nowhere."""

    outer: frozenset[str]
    used: frozenset[str]
    inside: Mapping[int, frozenset[str]] = MappingProxyType({})  # what each aggregate in it sees, by its id

    def witness(self, node: tree.Aggregate) -> frozenset[str]:
        """The variables that an aggregate binds to what attains it."""
        if node.function not in ("min", "max"):
            return frozenset()
        return variables(node) & self.used - self.inside.get(id(node), self.outer)


def scopes(items: Sequence[tree.Formula], around: frozenset[str], used: frozenset[str]) -> dict[int, FormulaScope]:
    """The scopes of formulas that hold together, by their ids.

    Aggregates take turns: one sees what the plain formulas bind, and what those before it give and are attained by.
    The first is the one for which all is bound that it shares, else a minimum or maximum for which no result of another
    one will bind it: that is attained by what it lacks.
    """
    used = used.union(*(variables(item, False) for item in items))
    inner = {id(item): [node for node in many_valued(item) if isinstance(node, tree.Aggregate)] for item in items}
    waiting = [node for nodes in inner.values() for node in nodes]
    seen: dict[int, frozenset[str]] = {}
    bound = closure([item for item in items if not inner[id(item)]], around)
    while waiting:
        ready = [node for node in waiting if variables(node) & used <= bound]
        node = ready[0] if ready else _attained_next(waiting, items, inner, bound, used)
        waiting = [other for other in waiting if other is not node]
        seen[id(node)] = bound
        settled = [item for item in items if all(id(each) in seen for each in inner[id(item)])]
        bound = closure(settled, bound | FormulaScope(bound, used).witness(node))
    firsts = {place: seen[id(nodes[0])] if nodes else bound for place, nodes in inner.items()}
    return {id(item): FormulaScope(firsts[id(item)], used, seen) for item in items}


def _attained_next(
    waiting: Sequence[tree.Aggregate],
    items: Sequence[tree.Formula],
    inner: Mapping[int, Sequence[tree.Aggregate]],
    bound: frozenset[str],
    used: frozenset[str],
) -> tree.Aggregate:
    """The aggregate that binds variables to what attains it; the check of the program leaves at most one such."""
    for node in waiting:
        others = closure([item for item in items if not any(node is own for own in inner[id(item)])], bound)
        if node.function in ("min", "max") and not (variables(node) & used - bound) & others:
            return node
    return waiting[0]


def cost(item: tree.Formula, bound: frozenset[str], scope: FormulaScope) -> tuple[bool, bool, int, int] | None:
    """What a formula costs when some variables are bound; None if it has to wait."""
    sealed = [*closed_parts(item)]
    waits = any(not variables(node) & scope.inside.get(id(node), scope.outer) <= bound for node in sealed)
    if waits or binds(item, bound) is None:
        return None
    terms = item.arguments if isinstance(item, tree.Atom) else ()
    free = sum(isinstance(term, tree.Wildcard) or not variables(term) <= bound for term in terms)
    return free == len(terms) > 0, isinstance(item, tree.Atom), free, len(sealed)


def costs(
    items: Sequence[tree.Formula], bound: frozenset[str], seen: Mapping[int, FormulaScope]
) -> list[tuple[tuple[bool, bool, int, int], int]]:
    """What the formulas that are ready cost, with their places, the cheapest first."""
    all_costs = ((cost(item, bound, seen[id(item)]), place) for place, item in enumerate(items))
    ready = sorted((found, place) for found, place in all_costs if found is not None)
    if not ready:
        raise NoValue("a variable is never bound")
    return ready


def bindable(items: Sequence[tree.Formula]) -> frozenset[str]:
    """All variables that conditions can bind without a head, but for what attains a minimum or maximum: an aggregate
    must not see that of itself.  Each alternative may bind what it mentions."""
    return closure(items, _mentioned_by_alternatives(items))


def bindable_or_attained(items: Sequence[tree.Formula], used: frozenset[str]) -> frozenset[str]:
    """All variables that conditions can bind without a head, for others that see them."""
    around = _mentioned_by_alternatives(items)
    some = scopes(items, around, used)
    inner = ((item, node) for item in items for node in many_valued(item) if isinstance(node, tree.Aggregate))
    return closure(items, around.union(*(some[id(item)].witness(node) for item, node in inner)))


def _mentioned_by_alternatives(items: Sequence[tree.Formula]) -> frozenset[str]:
    return frozenset[str]().union(*(variables(item) for item in items if isinstance(item, tree.Disjunction)))


def bound_in(body: tree.Formula, used: frozenset[str]) -> frozenset[str]:
    """The variables that a body binds: not those that belong to a negation or an aggregate."""
    return frozenset[str]().union(*(bindable_or_attained(items, used) for items in alternatives(body)))
