"""Pass 5: negation and aggregation must not lie on a cycle; the message names the cycle and each place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from holdfast.errors import Diagnostics, Label, Span
from holdfast.program.core import CoreAtom, CoreProgram, is_fresh
from holdfast.program.graph import components
from holdfast.program.limit_heads import EXTREMES
from holdfast.program.names import Names
from holdfast.program.sums import SUMS
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Edge:
    """`head` reads `body` at a place: plainly, through `!`, or through an aggregate."""

    head: str
    body: str
    mark: str
    span: Span
    in_head: bool = False


def check_strata(program: CoreProgram, scope: Names, diagnostics: Diagnostics) -> None:
    """Report each component that reads itself through negation or aggregation, once."""
    edges = list(_edges(program))
    reads: dict[str, list[str]] = {}
    for edge in edges:
        reads.setdefault(edge.head, []).append(edge.body)
    number = {n: i for i, group in enumerate(components(scope.relations, reads)) for n in group}
    reported: set[int] = set()
    for edge in edges:
        group = number[edge.head]
        if edge.mark and group == number[edge.body] and group not in reported:
            reported.add(group)
            inside = [e for e in edges if number[e.head] == group == number[e.body]]
            _report(inside, _limits(program), scope, diagnostics)


def _edges(program: CoreProgram) -> Iterable[Edge]:
    for rule in program.rules:
        for literal in rule.body:
            if isinstance(literal, CoreAtom):
                yield Edge(rule.head.predicate, literal.predicate, "!" if literal.negated else "", literal.span)
    for aggregate in program.aggregates:
        mark = "" if aggregate.recursive else aggregate.function
        yield Edge(aggregate.predicate, aggregate.source, mark, aggregate.span, aggregate.in_head)


def _limits(program: CoreProgram) -> set[str]:
    return {rule.head.predicate for rule in program.rules if rule.limit is not None}


def _report(edges: list[Edge], limits: set[str], scope: Names, diagnostics: Diagnostics) -> None:
    # An aggregate also gives a negated atom of its own relation (the empty groups): name the aggregate, not that.
    offender = min(
        (edge for edge in edges if edge.mark),
        key=lambda edge: (edge.mark == "!" and scope.relations[edge.body].auxiliary, edge.span.line, edge.span.column),
    )
    cycle = [offender, *_path(offender.body, offender.head, edges)]
    user = sorted({e.head for e in edges if not scope.relations[e.head].auxiliary}, key=list(scope.relations).index)
    kind = "negation" if offender.mark == "!" else "aggregation"
    code = "E0501" if offender.mark == "!" else "E0502"
    if offender.in_head and offender.mark in EXTREMES:
        code, kind = "E0506", "a head with several columns of min or max"
    listed = ", ".join(scope.relations[name].display for name in user)
    message = f"{kind} inside a cycle: {_drawn(cycle, scope)}"
    labels = [Label(edge.span, _said(edge, scope)) for edge in cycle[1:]]
    what = "negated" if offender.mark == "!" else "aggregated"
    note = f"a relation must be complete before it is {what}, but here {_dependence(listed, len(user))}"
    waits = ", ".join(name for name in scope.waiting.get(offender.span, ()) if not is_fresh(name))
    help = None if offender.mark == "!" else _advice(offender)
    if offender.mark == "!" and offender.head == offender.body and offender.body in limits:
        help = "not needed if it keeps worse values out: of each group only the best value is kept anyway"
    if waits:
        help = f"only the recursion binds {waits}: add an atom from outside it that binds {waits} too"
    diagnostics.error(code, message, offender.span, labels=_distinct(labels, offender.span), notes=[note], help=help)


def _advice(offender: Edge) -> str:
    if offender.mark in SUMS and offender.in_head:
        return f"a recursive relation with {offender.mark} in its head has one rule and one aggregate: split it"
    if offender.mark not in EXTREMES:
        after = f"derive what it ranges over first, and take the {offender.mark} in a rule after the recursion"
        return f"only heads with min, max, sum or count may be part of a recursion: {after}"
    if offender.in_head:
        return "a recursive relation may have one column with min or max: use a separate relation for each"
    return f"a relation with {offender.mark} in its heads may be recursive: h(x, {offender.mark}(u)) :- …, h(y, u)."


def _dependence(listed: str, count: int) -> str:
    return f"{listed} depends on itself" if count == 1 else f"{listed} depend on each other"


def _path(start: str, goal: str, edges: list[Edge]) -> list[Edge]:
    """A shortest path by which `start` reads `goal`."""
    reached_by: dict[str, Edge | None] = {start: None}
    queue = deque([start])
    while queue and goal not in reached_by:
        here = queue.popleft()
        for edge in edges:
            if edge.head == here and edge.body not in reached_by:
                reached_by[edge.body] = edge
                queue.append(edge.body)
    path: list[Edge] = []
    node = goal
    while (edge_in := reached_by[node]) is not None:
        path.append(edge_in)
        node = edge_in.head
    return path[::-1]


def _drawn(cycle: list[Edge], scope: Names) -> str:
    """`a -> !b -> a`: each relation reads the next, from one of the user's back to itself."""
    shift = next((i for i, e in enumerate(cycle) if not scope.relations[e.head].auxiliary), 0)
    turned = cycle[shift:] + cycle[:shift]
    text = scope.relations[turned[0].head].display
    mark = ""
    for edge in turned:
        mark = edge.mark or mark
        relation = scope.relations[edge.body]
        if not relation.auxiliary:
            text += " -> " + (f"!{relation.display}" if mark == "!" else f"{mark} {relation.display}".strip())
            mark = ""
    return text


def _said(edge: Edge, scope: Names) -> str:
    head, body = scope.relations[edge.head], scope.relations[edge.body]
    who = "the aggregate" if head.auxiliary else head.display
    return f"{who} reads {body.display}" + (" through negation" if edge.mark else "")


def _distinct(labels: list[Label], offender: Span) -> list[Label]:
    return list({label.span: label for label in labels if label.span != offender}.values())
