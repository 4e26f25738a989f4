"""Aggregates in bodies: each becomes a relation of its own and an atom of it in the rule.

`n = count : { q(x, y), y > k }` in a rule that binds x and k gives

    h.body1(x, k, y) :- …what binds k…, q(x, y), y > k.     the distinct substitutions
    h.count1(x, k, n) = count of h.body1 by x, k              an AggregateRule
    h(…) :- …, h.count1(x, k, n).                            the groups that are not empty
    h(…) :- …, n = 0, !h.count1(x, k, _).                    the others (count and sum only)

The variables shared with the rule are the group; a group variable that the inner body does not bind itself
makes the collecting rule start with the literals of the outer body.  A shared variable that nothing outside
binds takes, for min and max, the values of the rows that attain the extremum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Label, Span
from holdfast.language import tree
from holdfast.program.core import (
    Body,
    Bound,
    CoreAggregate,
    CoreAtom,
    CoreCompare,
    CoreLiteral,
    CoreRule,
    bound_variables,
    children,
    is_counted,
    is_fresh,
    is_unused,
    literal_variables,
    rebuilt,
)
from holdfast.program.flatten import Flat, Flattener, Fresh, Pending, counted, read_lonely_as_wildcards
from holdfast.program.names import Names
from holdfast.program.normal_form import MOST_ALTERNATIVES, report_too_many
from holdfast.quick_dataclass import dataclass

ZERO_WHEN_EMPTY = ("count", "sum")
EXTREMES = ("min", "max")


@dataclass(frozen=True)
class WrittenRule:
    """The written rule that is being brought into the core."""

    rule: str
    predicate: str
    span: Span
    fresh: Fresh


@dataclass(frozen=True)
class AggregateSource:
    """Where an aggregate reads: a relation, its columns as terms of the rule, and the aggregated column."""

    predicate: str
    columns: tuple[tree.Term, ...]
    target: int | None

    def position(self, name: str) -> int:
        """The column of a variable."""
        return next(i for i, c in enumerate(self.columns) if isinstance(c, tree.Variable) and c.name == name)


@dataclass(frozen=True)
class Columns:
    """Which columns the relation of an aggregate's substitutions has: the `first` ones, with `keep_all` every
    variable of the inner body that does not occur `outside`."""

    first: list[str]
    keep_all: bool
    outside: frozenset[str] = frozenset()
    spans: Mapping[str, Span] = field(default_factory=dict)  # where columns are written, for messages


class Expander:
    """Expands aggregates; collects the rules and relations that this needs."""

    def __init__(self, scope: Names, cycles: Mapping[str, int] | None = None) -> None:
        self.scope = scope
        self._cycles = cycles or {}  # which written predicates depend on each other: those of one number
        self.rules: list[CoreRule] = []
        self.aggregates: list[CoreAggregate] = []
        self._known: dict[tuple[str, tuple[int, ...], str, int | None], str] = {}
        self._sources: dict[tuple[int, tuple[str, ...], Body], AggregateSource] = {}

    def bodies(self, place: WrittenRule, flat: Flat, outside: frozenset[str]) -> list[Body]:
        """The core bodies that together stand for a conjunction with aggregates."""
        flat = read_lonely_as_wildcards(flat, outside, self.scope)
        self._report_mutual(flat, outside)
        here = outside.union(flat.names)
        work = [flat.literals]
        waiting, bound = list(flat.pending), Bound(flat.literals)
        while waiting:
            look_at_the_clock()
            chosen = self._next(waiting, bound, flat, here)
            waiting.remove(chosen)
            before = len(work[0])
            work = [new for body in work for new in self._expand(place, chosen, body, bound, here)]
            bound.add(v.name for literal in work[0][before:] for v in literal_variables(literal))
            if len(work) > MOST_ALTERNATIVES:  # an empty group is an alternative, for each count and sum
                report_too_many(place.span, self.scope.diagnostics)
                return []
        return work

    def _next(self, waiting: list[Pending], bound: Bound, flat: Flat, here: frozenset[str]) -> Pending:
        """The aggregate to expand next, whatever their order: one that lacks nothing, or one with witnesses."""
        known = bound.places.keys()
        ready = next((pending for pending in waiting if known >= set(_shared(pending, here))), None)
        if ready is not None:
            return ready
        lacking = [(pending, set(_shared(pending, here)) - known) for pending in waiting]
        can = [(pending, lacks) for pending, lacks in lacking if _can_witness(pending, lacks)]
        able = [(p, lacks) for p, lacks in can if not lacks & _bound_by_others(p, waiting, bound, flat)]
        for place, (one, lacks) in enumerate(able):
            for other, others in able[:place]:
                self._report_two(one, other, sorted(lacks & others))
        if can and not able:  # what it lacks comes from the results of others, which wait for it
            one, lacks = can[0]
            self._mutual(one, next(pending for pending in waiting if pending is not one), sorted(lacks))
        return able[0][0] if able else waiting[0]

    def _report_two(self, one: Pending, other: Pending, names: list[str]) -> None:
        for name in names:
            message = f"{name} would take its value from this aggregate or from another one"
            labels = [Label(other.aggregate.span, "the other one")]
            help = f"bind {name} by an atom beside them, or use another variable in one of them"
            self.scope.diagnostics.error("E0311", message, one.aggregate.span, labels=labels, help=help)

    def _report_mutual(self, flat: Flat, outside: frozenset[str]) -> None:
        here, binders, places = outside.union(flat.names), dict[str, list[int]](), dict[tuple[int, int], list[str]]()
        binds = [_binds(pending) for pending in flat.pending]
        for number, names in enumerate(binds):
            for name in names:
                binders.setdefault(name, []).append(number)
        for number, pending in enumerate(flat.pending):
            for name in _shared(pending, here):  # taken from outside, where another one binds it in its own body
                for other in binders.get(name, ()) if name not in binds[number] else ():
                    places.setdefault((number, other), []).append(name)
        for one, other in sorted(places):
            if one > other and (other, one) in places:
                first, second = flat.pending[one], flat.pending[other]
                self._mutual(first, second, places[one, other])
                self._mutual(second, first, places[other, one])

    def _mutual(self, one: Pending, other: Pending, by: list[str]) -> None:
        what = ", ".join(by)
        message = f"two aggregates depend on each other: this one takes {what} from outside, the other binds {what}"
        labels = [Label(other.aggregate.span, "the other one")]
        help = "split the rule in two: first(…) :- all but one aggregate; head(…) :- first(…), that aggregate"
        self.scope.diagnostics.error("E0306", message, one.aggregate.span, labels=labels, help=help)

    def _expand(
        self, place: WrittenRule, pending: Pending, body: Body, bound: Bound, here: frozenset[str]
    ) -> list[Body]:
        """The bodies for one aggregate."""
        shared = _shared(pending, here)
        free = [name for name in shared if name not in bound.places]
        witnesses = free if pending.aggregate.function in EXTREMES else []
        if free and not witnesses:
            self._report_free(pending, free)
        group = [name for name in shared if name not in witnesses]
        source = self._source(place, pending, group, witnesses, body, here)
        relation = self.relation(place, source, group, pending.aggregate.function, pending.aggregate.span)
        keys = tuple(source.columns[source.position(name)] for name in group)
        full = (*body, _atom(relation, (*keys, pending.variable), pending))
        if witnesses:
            full = (*full, *_witness_literals(source, pending, [*group, *witnesses]))
        if pending.aggregate.function not in ZERO_WHEN_EMPTY:
            return [full]
        span = pending.aggregate.span
        zero = CoreCompare("=", pending.variable, tree.Number("0", tree.NumberKind.NUMBER, span=span), span)
        none = _atom(relation, (*keys, tree.Wildcard(span=span)), pending, negated=True)
        return [full, (*body, zero, none)]

    def _report_free(self, pending: Pending, free: list[str]) -> None:
        for name in free:
            message = f"{name} is used outside this aggregate, but only the aggregate's own body binds it"
            note = "an aggregate binds its result; a variable to group by must be bound beside it"
            self.scope.diagnostics.error("E0305", message, pending.aggregate.span, notes=[note])

    def relation(
        self,
        place: WrittenRule,
        source: AggregateSource,
        group: Iterable[str],
        function: str,
        span: Span,
        *,
        in_head: bool = False,
    ) -> str:
        """The aggregate's relation; equal aggregates of the same relation share one."""
        positions = tuple(source.position(name) for name in group)
        key = (source.predicate, positions, function, source.target)
        if key not in self._known:
            columns = (*(_column_name(source.columns[i], i) for i in positions), function)
            name = self.scope.add_auxiliary(f"{place.predicate}.{function}", columns, span)
            self.aggregates.append(CoreAggregate(place.rule, name, *key, span, in_head))
            self._known[key] = name
        return self._known[key]

    def _source(
        self,
        place: WrittenRule,
        pending: Pending,
        group: list[str],
        witnesses: list[str],
        body: Body,
        here: frozenset[str],
    ) -> AggregateSource:
        aggregate = pending.aggregate
        direct = direct_source(pending.inner, aggregate.target, [*group, *witnesses])
        if direct is not None:
            return direct
        seed = self._seed(place, pending, group, body)
        key = (id(aggregate), tuple(group), seed)
        if key not in self._sources:
            inner = [replace(flat, literals=(*seed, *flat.literals)) for flat in self._countable(place, pending)]
            columns = Columns([*group, *witnesses], aggregate.function not in EXTREMES, here)
            self._sources[key] = self.collect(place, inner, columns, aggregate.target, aggregate.span)
        return self._sources[key]

    def _seed(self, place: WrittenRule, pending: Pending, group: list[str], body: Body) -> Body:
        """The outer body, where the aggregate's own does not bind the whole group.

        What depends on the rule's own head is left out if the rest binds the group too: with it the aggregate would
        lie on a cycle.
        """
        if all(bound_variables(flat.literals).keys() >= set(group) for flat in pending.inner):
            return ()
        own = self._cycles.get(place.predicate)
        rest = tuple(a for a in body if not isinstance(a, CoreAtom) or self._cycles.get(a.predicate, -1) != own)
        outside = bound_variables(rest)
        if own is not None and not outside.keys() >= set(group):
            self.scope.waiting[pending.aggregate.span] = [name for name in group if name not in outside]
        seed = rest if outside.keys() >= set(group) else body
        bound = bound_variables(seed)
        return tuple(literal for literal in seed if all(v.name in bound for v in literal_variables(literal)))

    def _countable(self, place: WrittenRule, pending: Pending) -> list[Flat]:
        """Each different value of a `_` inside an aggregate counts, so it gets a name; for an extremum it need not.

        So does that of a `_` inside a record.
        """
        if pending.aggregate.function in EXTREMES:
            return list(pending.inner)
        return [
            replace(flat, literals=tuple(_named(place.fresh, literal) for literal in flat.literals))
            for flat in pending.inner
        ]

    def collect(
        self, place: WrittenRule, inner: list[Flat], columns: Columns, target: tree.Term | None, span: Span
    ) -> AggregateSource:
        """A relation of the substitutions of the inner body."""
        chosen = list(columns.first)
        if target is not None:
            name, inner = with_value(place.fresh, self.scope, inner, target)
            chosen += [name] if name not in chosen else []
        chosen += self._other_columns(inner, chosen, columns, span)
        spans = {**columns.spans, **({} if target is None else {name: target.span})}
        terms = tuple(tree.Variable(name, span=spans.get(name, span)) for name in chosen)
        titles = tuple(_column_name(term, i) for i, term in enumerate(terms))
        head = CoreAtom(self.scope.add_auxiliary(f"{place.predicate}.body", titles, span), terms, span)
        for flat in inner:
            for body in self.bodies(place, flat, columns.outside.union(chosen)):
                self.rules.append(CoreRule(place.rule, head, body, span, inner=True))
        return AggregateSource(head.predicate, terms, None if target is None else chosen.index(name))

    def _other_columns(self, inner: list[Flat], chosen: list[str], columns: Columns, span: Span) -> list[str]:
        if not columns.keep_all:
            return []
        taken = columns.outside.union(chosen)
        found = [[name for name in _countable_names(flat) if name not in taken] for flat in inner]
        for other in found[1:]:
            for name in sorted(set(other) ^ set(found[0])):
                what = "`_`" if is_fresh(name) else name
                message = f"{what} does not occur in every alternative of the aggregate's body"
                help = "the distinct substitutions are then undefined; move the alternatives into a separate relation"
                self.scope.diagnostics.error("E0307", message, span, help=help)
        return found[0] if found else []


def with_value(fresh: Fresh, scope: Names, inner: list[Flat], term: tree.Term) -> tuple[str, list[Flat]]:
    """The variable that holds a term's value, and the alternatives that compute it."""
    if isinstance(term, tree.Variable):
        return term.name, inner
    variable = fresh.variable(term.span)
    return variable.name, [_with_computed(fresh, scope, flat, variable, term) for flat in inner]


def _with_computed(fresh: Fresh, scope: Names, flat: Flat, variable: tree.Variable, term: tree.Term) -> Flat:
    flattener = Flattener(scope, fresh)
    flattener.literals.append(CoreCompare("=", variable, flattener.term(term), term.span))
    return Flat((*flat.literals, *flattener.literals), (*flat.pending, *flattener.pending))


def _named(fresh: Fresh, literal: CoreLiteral) -> CoreLiteral:
    if isinstance(literal, CoreCompare):
        return replace(literal, left=_all_counted(literal.left), right=_all_counted(literal.right))
    if not isinstance(literal, CoreAtom) or literal.negated:
        return literal
    terms = (fresh.variable(a.span) if isinstance(a, tree.Wildcard) else a for a in literal.arguments)
    return replace(literal, arguments=tuple(terms))


def _all_counted(term: tree.Term) -> tree.Term:
    if isinstance(term, tree.Variable):
        return counted(term) if is_unused(term.name) else term
    inside = children(term)
    return rebuilt(term, map(_all_counted, inside)) if inside else term


def _countable_names(flat: Flat) -> list[str]:
    """The variables that tell substitutions apart: written ones and named wildcards, not computed ones."""
    wildcards = _named_wildcards(flat)
    return [name for name in flat.names if not is_fresh(name) or name in wildcards or is_counted(name)]


def _named_wildcards(flat: Flat) -> set[str]:
    computed = {
        literal.left.name
        for literal in flat.literals
        if isinstance(literal, CoreCompare) and isinstance(literal.left, tree.Variable)
    }
    found = {
        argument.name
        for literal in flat.literals
        if isinstance(literal, CoreAtom) and not literal.negated
        for argument in literal.arguments
        if isinstance(argument, tree.Variable) and is_fresh(argument.name)
    }
    return found - computed - {pending.variable.name for pending in flat.pending}


def direct_source(inner: Iterable[Flat], target: tree.Term | None, needed: Iterable[str]) -> AggregateSource | None:
    """The relation itself, when the body is one positive atom over distinct variables and wildcards."""
    match list(inner):
        case [Flat(literals=(CoreAtom(negated=False) as atom,), pending=())]:
            pass
        case _:
            return None
    if not all(isinstance(argument, (tree.Variable, tree.Wildcard)) for argument in atom.arguments):
        return None
    found = [argument.name for argument in atom.arguments if isinstance(argument, tree.Variable)]
    if len(set(found)) < len(found) or not set(found).issuperset(needed):
        return None
    source = AggregateSource(atom.predicate, atom.arguments, None)
    if target is None:
        return source
    if isinstance(target, tree.Variable) and target.name in found:
        return replace(source, target=source.position(target.name))
    return None


def _shared(pending: Pending, here: frozenset[str]) -> list[str]:
    return [name for name in pending.names if name in here]


def _can_witness(pending: Pending, names: set[str]) -> bool:
    """Whether some variables can take their values from the rows that attain an aggregate's extremum."""
    return pending.aggregate.function in EXTREMES and names <= _binds(pending)


def _bound_by_others(pending: Pending, waiting: list[Pending], bound: Bound, flat: Flat) -> set[str]:
    """What is bound when all other aggregates that wait have their results."""
    found = Bound(flat.literals)
    found.add([*bound.places, *(other.variable.name for other in waiting if other is not pending)])
    return set(found.places)


def _binds(pending: Pending) -> set[str]:
    """The variables that an aggregate's body binds, whichever alternative holds."""
    found = [set(bound_variables(flat.literals)) for flat in pending.inner]
    return set.intersection(*found) if found else set()


def _atom(predicate: str, arguments: tuple[tree.Term, ...], pending: Pending, negated: bool = False) -> CoreAtom:
    return CoreAtom(predicate, arguments, pending.aggregate.span, negated)


def _witness_literals(source: AggregateSource, pending: Pending, kept: list[str]) -> Body:
    """The rows of the source that attain the extremum; where the target itself is a witness, it equals the extremum."""
    arguments = [
        column if isinstance(column, tree.Variable) and column.name in kept else tree.Wildcard(span=column.span)
        for column in source.columns
    ]
    if source.target is None:
        return (_atom(source.predicate, tuple(arguments), pending),)
    target, arguments[source.target] = arguments[source.target], pending.variable
    witness = _atom(source.predicate, tuple(arguments), pending)
    if isinstance(target, tree.Wildcard):
        return (witness,)
    return witness, CoreCompare("=", target, pending.variable, pending.aggregate.span)


def _column_name(column: tree.Term, index: int) -> str:
    if isinstance(column, tree.Variable) and not is_fresh(column.name):
        return column.name
    return f"c{index + 1}"
