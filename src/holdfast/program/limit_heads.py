"""`min` and `max` in heads: finds limit relations, and checks that all their rules agree."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.errors import Label
from holdfast.language import tree
from holdfast.program.core import CoreLimit, CoreProgram, source_text
from holdfast.program.names import Names

EXTREMES = ("min", "max")


def aggregates_of(head: tree.Atom) -> list[tuple[int, tree.HeadAggregate]]:
    """The aggregates of a head, each with its column."""
    return [(column, a) for column, a in enumerate(head.arguments) if isinstance(a, tree.HeadAggregate)]


def limit_of(head: tree.Atom) -> CoreLimit | None:
    """The limit of a head whose only aggregate is `min` or `max`."""
    match aggregates_of(head):
        case [(column, tree.HeadAggregate(function=function) as aggregate)] if function in EXTREMES:
            return CoreLimit(column, function, aggregate.span)
    return None


def check_heads(rules: Sequence[tree.Rule], core: CoreProgram, scope: Names) -> None:
    """Report relations whose rules do not agree on what they offer."""
    heads: dict[str, list[tree.Atom]] = {}
    for rule in rules:
        for head in rule.heads if rule.body is not None and id(rule) not in scope.refused else ():
            heads.setdefault(scope.predicate_of(head), []).append(head)
    made = {rule.head.predicate for rule in core.rules}
    for predicate, found in heads.items():
        if predicate in made:
            _check_relation(scope.relations[predicate].display, found, scope)


def _check_relation(shown: str, heads: Sequence[tree.Atom], scope: Names) -> None:
    limited = next((head for head in heads if limit_of(head) is not None), None)
    several = next((head for head in heads if _has_several(head)), None)
    if limited is not None:
        for head in heads:
            if _key(limit_of(head)) != _key(limit_of(limited)):
                _report_mixed(shown, limited, head, scope)
                return
    elif several is not None and len(heads) > 1:
        report_several(shown, several, "with more than one rule", scope)


def _key(limit: CoreLimit | None) -> tuple[int, str] | None:
    return None if limit is None else (limit.column, limit.function)


def _has_several(head: tree.Atom) -> bool:
    aggregates = aggregates_of(head)
    return len(aggregates) > 1 and all(aggregate.function in EXTREMES for _, aggregate in aggregates)


def _report_mixed(shown: str, limited: tree.Atom, other: tree.Atom, scope: Names) -> None:
    limit, found = limit_of(limited), limit_of(other)
    assert limit is not None
    says = "none" if found is None else f"a {found.function} in column {found.column + 1}"
    message = f"one rule of {shown} has a {limit.function} in column {limit.column + 1}, and another has {says}"
    help = None
    if not aggregates_of(other):
        argument = other.arguments[limit.column]
        help = f"write {limit.function}({_text(argument)}): the rule offers {_text(argument)}"
    labels = [Label(limit.span, f"the {limit.function}")]
    note = f"{shown} has one fact for each group: the best that its rules offer"
    scope.diagnostics.error("E0503", message, other.span, labels=labels, notes=[note], help=help)


def _text(term: tree.Term) -> str:
    return source_text(term.span)


def report_several(shown: str, head: tree.Atom, what: str, scope: Names) -> None:
    """Report a relation that could be a limit relation but has several columns with `min` or `max`."""
    aggregates = aggregates_of(head)
    message = f"a relation {what} may have one limit column, {shown} has {len(aggregates)}"
    keys = ", ".join(_text(a) for a in head.arguments if not isinstance(a, tree.HeadAggregate))
    parts = [f"{shown}{number + 1}({keys}{', ' if keys else ''}{_text(a)})" for number, (_, a) in enumerate(aggregates)]
    scope.diagnostics.error("E0506", message, aggregates[1][1].span, help=f"one relation for each: {', '.join(parts)}")
