"""Explanations of a materialisation: facts are looked up in the backend, by index, many at a time."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Self, TypeVar

import numpy as np

from holdfast.arguments import expect, expect_number
from holdfast.backends.memory.arithmetic import Undefined as EngineUndefined
from holdfast.backends.memory.functors import Bindings, evaluate
from holdfast.errors import Diagnostic, EvaluationError, LimitReached, UsageError
from holdfast.explanations.conditions import Match
from holdfast.explanations.matching import ANY, Fact, FactPattern, Matcher, fits
from holdfast.explanations.proof import Proof
from holdfast.explanations.search import Explainer, SearchLimit
from holdfast.explanations.terms import FUNCTIONS, NOTHING, Float, NoValue, Unknown, text_of, value_of
from holdfast.explanations.ways import Derivations, Supports, derivations, supports
from holdfast.knowledge.far_lookup import FarLookup
from holdfast.knowledge.materialisation import ReadState
from holdfast.knowledge.origins import Rules
from holdfast.knowledge.relations import the_relation, written_name
from holdfast.language import tree
from holdfast.language.syntax import alternatives
from holdfast.program.functors import FUNCTORS
from holdfast.program.model import Apply, Const, Relation
from holdfast.values import Row, Type, Value
from holdfast.values.dictionary import Codes, EncodingError
from holdfast.values.model import Record
from holdfast.values.structures import Kind

T = TypeVar("T")
_OFTEN = 1_000  # facts that are matched between two looks at the clock
_LOOKUP = 20  # facts that are matched in the time of a lookup
_FEW = 1_000  # facts that are compared with a pattern to save a lookup
_AT_ONCE = 10_000  # facts that are decoded between two looks at the clock
NOT_A_FACT, NOT_EXPLAINED = "E0941", "E0942"


class StoredFacts(Matcher):
    """The written rules of a materialisation over its facts.  Used as a context: it leaves nothing in the backend."""

    def __init__(self, state: ReadState, rules: Rules | None = None) -> None:
        self.program = rules[1] if rules is not None else state.program
        super().__init__(self.program)
        self._lookup, self._dictionary = state.lookup, state.dictionary
        self._far = self._lookup if isinstance(self._lookup, FarLookup) else None
        self._known: dict[tuple[str, int], dict[FactPattern, list[FactPattern]]] = {}
        self._wider: dict[tuple[str, int], dict[tuple[int, ...], None]] = {}  # columns by which facts were looked up
        self._sets: dict[Fact, set[FactPattern]] = {}
        self._counts: dict[Fact, int] = {}
        self._named: dict[tuple[str, int], Relation | None] = {}
        self._codes_of: dict[tuple[Kind, Any], int | None] = {}
        own = [item for item in self.program.declared if isinstance(item, tree.FunctorDeclaration)]
        self._results = {name: functor.result for name, functor in FUNCTORS.items()}
        self._results |= {f"@{item.name.lstrip('@')}": _type_named(item.result) for item in own}
        self.premises: Sequence[Fact] | None = None
        """While one inference is looked at, what its positive atoms are matched with."""
        self.asked: dict[Fact, bool] = {}
        """Patterns of derived relations that were looked up, and whether what fits needs proofs: what is looked up
        exactly does, and the best facts that another recursion has; premises are not looked up."""

        self.inside: frozenset[tuple[str, int]] = frozenset()
        """Limit relations of the recursion that is looked at: better facts than there are give more in it."""

        self.absent: dict[Fact, None] = {}
        """Patterns that were looked up exactly and have no facts."""

        self.exact: dict[Fact, Fact | None] = {}
        """Patterns of any relation that were looked up exactly, and groups in which only a better fact would matter."""

        self.limit: SearchLimit | None = None
        """What a question may take; it is looked at while facts are matched."""
        self._steps = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._lookup.close()
        if isinstance(error, Unknown):
            help = "report it with the program: what can be derived should be explained"
            if any(node.sums for node in self.program.nodes):
                help = "a sum or count that is part of a recursion adds up what it supports itself: ask for a proof"
            raise EvaluationError(Diagnostic(NOT_EXPLAINED, f"this cannot be explained: {error}", help=help)) from error

    def tick(self, steps: int) -> None:
        """Look at the clock now and then."""
        self._steps += steps
        if self._steps > _OFTEN:
            self._steps = 0
            if self.limit is not None:
                self.limit.look("explanation")

    @property
    def stays(self) -> bool:
        """Whether the facts stay as they are, so that they can be looked up later."""
        return self._lookup.stays

    def relation(self, name: str, arity: int) -> Relation | None:
        """A relation; several may share a name and differ in their number of columns."""
        if (name, arity) not in self._named:
            relations = self.program.relations
            found = (relations.get(name), relations.get(f"{name}/{arity}"))
            fits = (relation for relation in found if relation is not None and relation.arity == arity)
            self._named[name, arity] = next(fits, None)
        return self._named[name, arity]

    def lookup(self, name: str, patterns: Sequence[FactPattern], exact: bool) -> Iterable[list[FactPattern]]:
        """The facts of the materialisation, or the premises at hand."""
        if self.premises is not None and not exact:
            return [[row for other, row in self.premises if other == name and fits(row, p)] for p in patterns]
        if patterns and (place := (name, len(patterns[0]))) in self.heads:
            is_counted_on = exact or (place in self._limits and place not in self.inside)
            for pattern in patterns:
                self.asked[name, pattern] = is_counted_on or self.asked.get((name, pattern), False)
        misses, found = self._misses, self.facts(name, patterns)
        if misses < self._misses:
            self.prefetch([(name, pattern) for pattern in patterns])  # what their rules ask is wanted next
        if exact:
            found = [self.in_order(rows) if len(rows) > 1 else rows for rows in found]
            self.exact |= {(name, pattern): None for pattern in patterns}
            self.absent |= {(name, p): None for p, rows in zip(patterns, found, strict=True) if not rows}
        return found

    def facts(self, name: str, patterns: Sequence[FactPattern]) -> list[list[FactPattern]]:
        """For each pattern all facts that fit it."""
        place = (name, len(patterns[0]) if patterns else 0)
        known = self._known.setdefault(place, {})
        by_columns: dict[tuple[int, ...], list[FactPattern]] = {}
        for pattern in dict.fromkeys(pattern for pattern in patterns if pattern not in known):
            if not self._is_settled(place, pattern):
                by_columns.setdefault(tuple(i for i, v in enumerate(pattern) if v is not ANY), []).append(pattern)
        guessed: dict[FactPattern, list[FactPattern]] = {}
        for bound, some in by_columns.items():
            self.tick(_LOOKUP * len(some))
            misses = self._misses
            found, fetched = dict[FactPattern, list[FactPattern]](), self._fetched(name, bound, some)
            if len(some) == 1:
                found[some[0]] = fetched
            else:
                found.update((pattern, []) for pattern in some)
                for row in fetched:
                    self.tick(1)
                    found[_masked(row, bound)].append(row)
            is_known = misses == self._misses
            (known if is_known else guessed).update(found)
            if is_known and len(bound) < place[1]:
                self._wider.setdefault(place, {})[bound] = None
        return [known[pattern] if pattern in known else guessed[pattern] for pattern in patterns]

    @property
    def _misses(self) -> int:
        return 0 if self._far is None else self._far.misses

    def some_facts(self, name: str, pattern: FactPattern, most: int) -> list[FactPattern]:
        """The first facts that fit a pattern, in order; none, if nothing is known of them and they are many."""
        relation = self.relation(name, len(pattern))
        bound = tuple(i for i, value in enumerate(pattern) if value is not ANY)
        if relation is None or (not bound and self.size(name, len(pattern)) > most):
            return []
        if len(bound) == len(pattern) or not bound:
            return self.in_order(self.facts(name, [pattern])[0])
        codes = self._codes(relation, bound, [pattern])
        found = self._lookup.matching(relation, bound, codes) if len(codes) else codes
        if len(found) > most:
            found = found[np.lexsort(found.T[::-1])[:most]]
        return self.in_order(self._decoded(relation, found)) if len(codes) else []

    def _is_settled(self, place: tuple[str, int], row: FactPattern) -> bool:
        """Whether what was looked up before says if a row is a fact, or which facts fit a pattern where each lookup is
        dear; it is noted then."""
        known = self._known[place]
        for bound in self._wider.get(place, ()) if ANY not in row or self._far is not None else ():
            wider = _masked(row, bound)
            if wider in known and ANY in row:
                if len(known[wider]) <= _FEW:
                    known[row] = [each for each in known[wider] if fits(each, row)]
                    return True
            elif wider in known:
                if (place[0], wider) not in self._sets:
                    self._sets[place[0], wider] = set(known[wider])
                known[row] = [row] if row in self._sets[place[0], wider] else []
                return True
        return False

    def given(self, facts: Iterable[Fact]) -> set[Fact]:
        """Those of some facts that are explicit."""
        found: set[Fact] = set()
        by_relation: dict[tuple[str, int], list[FactPattern]] = {}
        for name, row in facts:
            by_relation.setdefault((name, len(row)), []).append(row)
        for (name, arity), rows in by_relation.items():
            relation = self.relation(name, arity)
            if relation is not None and self._lookup.size(relation, explicit=True):
                codes = self._codes(relation, tuple(range(arity)), rows)
                there = self._lookup.among(relation, codes, explicit=True)
                found.update((name, row) for row in self._decoded(relation, there))
        return found

    def apply(self, function: str, values: list[Any]) -> Any:
        """The value of a functor; of one that the checker does not know, as the engine computes it."""
        if function in FUNCTIONS:
            return super().apply(function, values)
        arguments = tuple(Const(raw(value), _type_of(value)) for value in values)
        result = self._results.get(function) or arguments[0].type
        nothing = Bindings({}, 1, self._dictionary)
        try:
            codes = evaluate(Apply(function, arguments, result), nothing)
        except EngineUndefined as error:
            raise NoValue(str(error)) from error
        return value_of(self._dictionary.decode_values(codes, result)[0])

    def given_matching(self, name: str, patterns: Sequence[FactPattern]) -> list[FactPattern]:
        """The facts that were given and fit one of some patterns, which have values in the same columns."""
        relation = self.relation(name, len(patterns[0]))
        bound = tuple(i for i, value in enumerate(patterns[0]) if value is not ANY)
        if relation is None or not self._lookup.size(relation, explicit=True):
            return []
        return self._matching(relation, bound, patterns, explicit=True)

    def size(self, name: str, arity: int) -> int:
        """The number of facts of a relation."""
        relation = self.relation(name, arity)
        return 0 if relation is None else self._lookup.size(relation)

    def together(self, work: Callable[[], T]) -> T:
        """What some work gives.  If facts are far away, it is done with what is known of them, again and again until
        nothing that it looks up is missing; so it should change nothing, and may fail for lack of facts."""
        far = self._far
        if far is None or far.is_gathering:
            return work()
        noted = self.asked, self.absent, self.exact
        while True:
            self.asked, self.absent, self.exact = dict(noted[0]), dict(noted[1]), dict(noted[2])
            with far.gathering():
                try:
                    found = work()
                except Exception as error:
                    if not far.misses or isinstance(error, LimitReached):
                        raise
            if not far.misses:
                return found
            far.fetch()

    def prefetch(self, facts: Sequence[Fact]) -> None:
        """Look up what the rules ask first that derive some facts, if they are far away, when something is looked up.

        The order in which conditions are matched asks one after the other.
        """
        groups = [group for fact in facts if (group := self.group(fact)) is not None]
        first = chain(groups, (found for fact in (*facts, *groups) for found in self._asked_first(fact)))
        for name, pattern in first if self._far else ():
            place, bound = (name, len(pattern)), tuple(i for i, value in enumerate(pattern) if value is not ANY)
            known, relation = self._known.setdefault(place, {}), self._there(*place)
            if relation is not None and pattern not in known and not self._is_settled(place, pattern):
                codes = self._codes(relation, bound, [pattern])
                if self._far is not None and len(codes) and self._far.suggest(relation, bound, codes):
                    self.facts(name, [pattern])

    def _there(self, name: str, arity: int) -> Relation | None:
        """A relation, if the backend has it."""
        return self.relation(name, arity)

    def _asked_first(self, fact: Fact) -> Iterator[Fact]:
        """The patterns of atoms of rules that derive a fact, as far as the fact determines them."""
        for rule in self.heads.get((fact[0], len(fact[1])), ()):
            start = self.started(rule, fact[1])
            if start is None:
                continue
            for items in alternatives(rule.body):
                seen = self._scopes_of(items, frozenset(), rule.head_variables)
                for atom in (item for item in items if isinstance(item, tree.Atom)):
                    step = self._steps_of(atom, frozenset(start[0]), seen)[0]
                    if isinstance(step, Match) and NOTHING not in (pattern := self._pattern(step, start[0])):
                        yield step.relation, pattern

    def fan_out(self, name: str, patterns: Sequence[FactPattern]) -> float:
        """How many facts fit patterns; the size of the relation, where counting them would be a job."""
        relation = self.relation(name, len(patterns[0]))
        if relation is None or not self.stays:
            return self.size(name, len(patterns[0]))
        return sum(self._count(relation, pattern) for pattern in patterns if NOTHING not in pattern)

    def _count(self, relation: Relation, pattern: FactPattern) -> int:
        if (relation.name, pattern) not in self._counts:
            known = self._known.get((relation.name, len(pattern)), {}).get(pattern)
            bound = tuple(i for i, value in enumerate(pattern) if value is not ANY)
            codes = self._codes(relation, bound, [pattern]) if known is None and bound else ()
            rows = self._lookup.matching(relation, bound, codes) if len(codes) else known or ()  # type: ignore[arg-type]
            self._counts[relation.name, pattern] = len(rows) if bound else self._lookup.size(relation)
        return self._counts[relation.name, pattern]

    def _fetched(self, name: str, bound: tuple[int, ...], patterns: list[FactPattern]) -> list[FactPattern]:
        relation = self.relation(name, len(patterns[0]))
        if relation is None:
            return []
        if not bound and relation.arity:
            return self._decoded(relation, self._lookup.all(relation))
        if len(bound) < relation.arity:
            return self._matching(relation, bound, patterns)
        return self._decoded(relation, self._lookup.among(relation, self._codes(relation, bound, patterns)))

    def _matching(
        self, relation: Relation, bound: tuple[int, ...], patterns: Sequence[FactPattern], *, explicit: bool = False
    ) -> list[FactPattern]:
        """The facts that have the values of one of some patterns in certain columns."""
        codes = self._codes(relation, bound, patterns)
        if not len(codes):
            return []
        return self._decoded(relation, self._lookup.matching(relation, bound, codes, explicit=explicit))

    def _codes(self, relation: Relation, columns: tuple[int, ...], patterns: Iterable[FactPattern]) -> Codes:
        """The codes of the columns of patterns; a pattern with a value that no fact has is left out."""
        kinds, known = relation.kinds, self._codes_of
        rows = []
        for pattern in patterns:
            row = []
            for i in columns:
                place = (kinds[i], pattern[i])
                if place not in known:
                    self.tick(_LOOKUP)
                    known[place] = self._code(*place)
                row.append(known[place])
            if None not in row:
                rows.append(row)
        return np.array(rows, np.int64).reshape(len(rows), len(columns))

    def may_have(self, kind: Kind, value: Any) -> bool:
        """Whether a column of a type can have a value."""
        try:
            self._dictionary.find_value(raw(value), kind)
        except EncodingError:
            return False
        return True

    def _code(self, kind: Kind, value: Any) -> int | None:
        try:
            return self._dictionary.find_value(raw(value), kind)
        except EncodingError:
            return None

    def _decoded(self, relation: Relation, codes: Codes) -> list[FactPattern]:
        found: list[FactPattern] = []
        is_plain = {Type.FLOAT, Type.ANY, Type.RECORD}.isdisjoint(relation.types)
        for at in range(0, len(codes), _AT_ONCE):
            self.tick(min(_AT_ONCE, len(codes) - at))
            some = self._dictionary.decode_rows(codes[at : at + _AT_ONCE], relation.types)
            found += some if is_plain else (tuple(map(value_of, row)) for row in some)
        return found


def _masked(row: FactPattern, bound: tuple[int, ...]) -> FactPattern:
    """The pattern that has a row's values in some columns."""
    masked: list[Any] = [ANY] * len(row)
    for i in bound:
        masked[i] = row[i]
    return tuple(masked)


def why(text: str, state: ReadState, seconds: float | None, size: int | None) -> Proof | None:
    """A proof of a fact, None if it does not hold."""
    limits = SearchLimit(seconds, size)
    with StoredFacts(state) as source:
        fact = asked_fact(text, source)
        if not source.facts(fact[0], [fact[1]])[0]:
            return None
        return Explainer(source, limits).proof(fact)


def all_ways(text: str, state: ReadState, limit: int | None, seconds: float | None) -> Derivations | None:
    """The derivations of a fact and of the facts below it; None if it does not hold."""
    limits = SearchLimit(seconds, None)
    expect_number(limit, "limit")
    with StoredFacts(state) as source:
        fact = asked_fact(text, source)
        if not source.facts(fact[0], [fact[1]])[0]:
            return None
        return derivations(source, fact, sys.maxsize if limit is None else limit, limits)


def minimal_supports(
    text: str, state: ReadState, limit: int | None, seconds: float | None, *, rules: bool
) -> Supports | None:
    """Minimal sets of explicit facts that a fact follows from; None if it does not hold."""
    limits = SearchLimit(seconds, None)
    expect_number(limit, "limit")
    with StoredFacts(state) as source:
        fact = asked_fact(text, source)
        if not source.facts(fact[0], [fact[1]])[0]:
            return None
        return supports(source, fact, limit, limits, rules=rules)


def asked_fact(text: str, source: StoredFacts, *, whole: bool = True) -> Fact:
    """The fact that a user asks about; raises if it is not one."""
    expect(text, str, "a fact is a text", "kb.why('path(1, 4)')")
    try:
        name, row = source.fact(text, whole)
    except (NoValue, KeyError) as error:
        help = "a fact is a relation with constants, as in a program: path(1, 4)"
        unbound = str(error.args[0]) if isinstance(error, KeyError) else ""
        if unbound.isidentifier() and f"{unbound}:" not in text:
            help += f'; a string is written in quotes: "{unbound}"'
        raise UsageError(Diagnostic(NOT_A_FACT, f"{text} is not a fact", help=help)) from error
    relation = source.relation(name, len(row))
    if relation is None:
        named = the_relation(name.strip("<>"), source.program)
        raise UsageError(Diagnostic(NOT_A_FACT, f"{named.display} has {named.arity} columns, and {text} {len(row)}"))
    typed = tuple(value_of(value, kind) for value, kind in zip(row, relation.kinds, strict=True))
    for column, value in zip(relation.columns, typed, strict=True):
        if value is not ANY and not source.may_have(column.kind, value):
            message = f"{text} is not a fact: the column {column.name} of {relation.display} is {column.type.value}"
            raise UsageError(Diagnostic(NOT_A_FACT, f"{message}, and {text_of(value)} is not"))
    return written_name(relation.name, relation.arity, source.program), typed


def parsed_fact(text: str, state: ReadState) -> tuple[str, Row]:
    """The relation and the row of a fact that is written as in a program."""
    with StoredFacts(state) as source:
        name, row = asked_fact(text, source)
        relation = source.relation(name, len(row))
        assert relation is not None, "asked_fact has looked"
        return relation.name, tuple(map(raw, row))


def _type_of(value: Any) -> Type:
    """The type of a value as a functor takes it."""
    if isinstance(value, int):
        return Type.NUMBER if value < 2**63 else Type.UNSIGNED
    kinds = ((float, Type.FLOAT), (str, Type.SYMBOL), (Record, Type.RECORD))
    return next((type for kind, type in kinds if isinstance(value, kind)), Type.ANY)


def _type_named(name: str) -> Type:
    """The type that a functor's result is declared as; a declared type counts as `any`."""
    return next((type for type in Type if type.value == name), Type.ANY)


def raw(value: Any) -> Value:
    """A value as facts hold it."""
    if isinstance(value, Record):
        return Record(tuple(map(raw, value.fields)), value.branch)
    found: Value = float(value) if isinstance(value, Float) else value
    if found != found:
        return math.nan  # the one NaN of results
    return found
