"""Pass 5b: inside its own recursion the value of a limit relation can still get better, so rules of the same circle may
use it only where that does no harm: in a limit column, in the same direction, and in comparisons that stay true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.errors import Diagnostics, Span
from holdfast.program.core import CoreRule, source_text
from holdfast.program.limits import value_of
from holdfast.program.model import (
    Assign,
    Atom,
    BodyLiteral,
    Compare,
    Const,
    HyperNode,
    Limit,
    Negated,
    Range,
    Rule,
    Term,
    Test,
    Var,
    Wildcard,
)
from holdfast.program.movement import compared_bounds, definitions, direction, expanded, variables
from holdfast.program.names import Names
from holdfast.program.show import show_term
from holdfast.quick_dataclass import dataclass

_LOWER = {"<": 1, "<=": 1, ">": -1, ">=": -1}
_SMALLER = {"min": "smaller", "max": "larger"}
_WORSE = {"min": "larger", "max": "smaller"}
_MAY = {"min": "from above: <, <=", "max": "from below: >, >="}
_OTHER = {"min": "max", "max": "min"}


def check_limits(
    nodes: Sequence[HyperNode], rules: Sequence[Rule], core: Sequence[CoreRule], scope: Names, diagnostics: Diagnostics
) -> None:
    """Report what recursive rules do with values that are not final."""
    written = {id(rule): source for rule, source in zip(rules, core, strict=True)}
    for node in nodes:
        for rule in node.recursive if node.limits else ():
            for found in _Check(rule, written[id(rule)], node, scope).all():
                diagnostics.error(found.code, found.message, found.span, notes=found.notes, help=found.help)


@dataclass(frozen=True)
class _Found:
    code: str
    message: str
    span: Span
    notes: tuple[str, ...] = ()
    help: str | None = None


class _Check:
    """One recursive rule."""

    def __init__(self, rule: Rule, core: CoreRule, node: HyperNode, scope: Names) -> None:
        self.rule, self.core, self.node, self.scope = rule, core, node, scope
        self.known = definitions(rule)
        self.intervals = compared_bounds(rule)
        self.values: dict[Var, tuple[Limit, str]] = {}

    def all(self) -> Iterator[_Found]:
        """What is wrong; the first for each value is enough."""
        for position, atom in enumerate(self.rule.body):
            if isinstance(atom, Atom) and atom.predicate in self.node.limits:
                limit = self.node.limits[atom.predicate]
                argument, value = atom.arguments[limit.column], value_of(atom, self.node.limits)
                if isinstance(argument, Const):
                    yield self._compared(show_term(argument), limit, atom.predicate, self._span(position))
                elif value is not None and value in self.values:
                    yield self._compared(value.name, limit, atom.predicate, self._span(position))
                elif value is not None:
                    self.values[value] = limit, atom.predicate
        for value, (limit, predicate) in self.values.items():
            found = next(self._of(value, limit, predicate), None)
            if found is not None:
                yield found

    def _compared(self, shown: str, limit: Limit, predicate: str, span: Span) -> _Found:
        message = f"{shown} is compared for equality with a value of {self._name(predicate)}, "
        message += f"which can still get {_SMALLER[limit.function]}"
        return _Found("E0504", message, span, (self._note(predicate),), self._own_relation())

    def _of(self, value: Var, limit: Limit, predicate: str) -> Iterator[_Found]:
        for position, literal in enumerate(self.rule.body):
            yield from self._literal(literal, position, value, limit, predicate)
        yield from self._head(value, limit, predicate)

    def _literal(
        self, literal: BodyLiteral, position: int, value: Var, limit: Limit, predicate: str
    ) -> Iterator[_Found]:
        note, still = (self._note(predicate),), f"can still get {_SMALLER[limit.function]}"
        shown, span = _shown(value), self._span(position)
        match literal:
            case Atom() | Negated():
                places = enumerate(literal.arguments)
                if any(self._has(a, value) and not self._is_value(literal, i) for i, a in places):
                    where = self._name(literal.predicate)
                    yield _Found(
                        "E0504", f"{shown} is looked up in {where}, and {still}", span, note, self._own_relation()
                    )
            case Compare(operator=operator, left=left, right=right):
                if not self._stays(operator, left, right, value, limit):
                    written = f"{show_term(left)} {operator} {show_term(right)}"
                    yield self._fails(written if span == self.core.span else source_text(span), value, limit, span)
            case Assign(variable=variable, term=term) if self.known.get(variable) != term:
                if self._has(variable, value) or self._has(term, value):
                    message = f"{shown} stands in an equation, and {still}"
                    yield _Found("E0504", message, span, note, self._own_relation())
            case Test(arguments=arguments):
                if any(self._has(argument, value) for argument in arguments):
                    yield _Found("E0504", f"{shown} is tested, and {still}", span, note, self._own_relation())
            case Range(start=start, stop=stop, step=step):
                if any(part is not None and self._has(part, value) for part in (start, stop, step)):
                    yield _Found("E0504", f"{shown} bounds a range, and {still}", span, note, self._own_relation())

    def _is_value(self, literal: Atom | Negated, column: int) -> bool:
        limit = self.node.limits.get(literal.predicate)
        return isinstance(literal, Atom) and limit is not None and limit.column == column

    def _has(self, term: Term | Wildcard, value: Var) -> bool:
        return not isinstance(term, Wildcard) and value in variables(expanded(term, self.known))

    def _stays(self, operator: str, left: Term, right: Term, value: Var, limit: Limit) -> bool:
        """Whether a comparison that holds still holds when the value gets better."""
        sides = [direction(expanded(side, self.known), value, self.intervals) for side in (left, right)]
        if sides == [0, 0]:
            return True
        wanted = _LOWER.get(operator)
        if wanted is None:
            return False
        better = wanted if limit.function == "min" else -wanted
        return sides[0] in (0, better) and sides[1] in (0, -better)

    def _fails(self, text: str, value: Var, limit: Limit, span: Span) -> _Found:
        message = f"{text} can hold now and fail when {_shown(value)} gets {_SMALLER[limit.function]}"
        note = f"inside its own recursion the value of a {limit.function} column may only be compared "
        help = "if finished values are meant, give this rule a relation of its own, outside the recursion"
        return _Found("E0504", message, span, (note + _MAY[limit.function],), help)

    def _head(self, value: Var, limit: Limit, predicate: str) -> Iterator[_Found]:
        head, own = self.core.head, self.rule.limit
        for column, term in enumerate(self.rule.arguments):
            full, span = expanded(term, self.known), head.arguments[column].span
            if value not in variables(full):
                continue
            if own is None or own.column != column:
                yield self._kept(value, limit, predicate, span)
                return
            wanted = 1 if own.function == limit.function else -1
            way = direction(full, value, self.intervals)
            if way != wanted:
                yield self._turned(source_text(span), full, value, limit, way, span)

    def _kept(self, value: Var, limit: Limit, predicate: str, span: Span) -> _Found:
        name, shown = self._name(self.rule.predicate), _shown(value)
        if self.core.inner:
            message = f"{shown} may still get {_SMALLER[limit.function]} here, and is a part of what is aggregated"
            help = "aggregate what is finished, or aggregate in a rule after the recursion"
            return _Found("E0504", message, span, (self._note(predicate),), help)
        message = f"{shown} may still get {_SMALLER[limit.function]} here, and {name} would keep its old values"
        if self.rule.limit is None:
            column = f"{limit.function}({source_text(span)})"
            help = f"make it a limit column, {column}, or read {self._name(predicate)} directly"
        else:
            help = self._own_relation()
        return _Found("E0504", message, span, (self._note(predicate),), help)

    def _turned(self, text: str, term: Term, value: Var, limit: Limit, way: int | None, span: Span) -> _Found:
        shown, own = _shown(value), self.rule.limit
        assert own is not None
        if way is None:
            others = sorted(v.name for v in variables(term) - {value} if "$" not in v.name)
            if not others:
                message = f"{text} does not always grow when {shown} grows"
                return _Found("E0505", message, span, help=f"use +, -, *, min or max to make a value of {shown}")
            message = f"{text} may grow or shrink when {shown} grows, depending on {others[0]}"
            help = f"add {others[0]} >= 0 to the body, or declare {others[0]} as unsigned"
            return _Found("E0505", message, span, help=help)
        message = f"{text} gets {_WORSE[limit.function]} when {shown} gets {_SMALLER[limit.function]}, "
        message += f"so its {own.function} is not the {own.function} of the best"
        return _Found("E0505", message, span, help=f"a relation with {_OTHER[own.function]} may hold it")

    def _note(self, predicate: str) -> str:
        names = [self._name(name) for name in self.node.predicates if not self.scope.relations[name].auxiliary]
        name = self._name(predicate)
        if len(names) == 1:
            return f"{name} depends on itself, so it is not finished when this rule reads it"
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        return f"{listed} depend on each other, so {name} is not finished when this rule reads it"

    def _own_relation(self) -> str:
        return "if finished values are meant, give this rule a relation of its own, outside the recursion"

    def _name(self, predicate: str) -> str:
        return self.scope.relations[predicate].display

    def _span(self, position: int) -> Span:
        """Where a literal stands; a record that is taken apart gives several, and then the rule must do."""
        same = len(self.core.body) == len(self.rule.body)
        return self.core.body[position].span if same else self.core.span


def _shown(value: Var) -> str:
    return "the value" if "$" in value.name else value.name
