"""Which bindings satisfy the body of a rule as it is written, over facts that a subclass looks up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from holdfast.explanations.conditions import (
    Absent,
    ConditionStep,
    Each,
    Gather,
    Let,
    Match,
    Parts,
    Passes,
    Way,
    equation,
)
from holdfast.explanations.scope import FormulaScope, costs, scopes
from holdfast.explanations.terms import (
    NOTHING,
    NoValue,
    aggregated,
    alike,
    as_close,
    compute,
    passes,
    spanned,
    text_of,
    value_of,
)
from holdfast.explanations.written import written_program
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.syntax import alternatives, is_pattern, nodes, variables
from holdfast.program.model import Program
from holdfast.values.model import Record

if TYPE_CHECKING:
    from holdfast.explanations.search import SearchLimit

T = TypeVar("T")
Binding: TypeAlias = dict[str, Any]
FactPattern: TypeAlias = tuple[Any, ...]
Fact: TypeAlias = tuple[str, FactPattern]
ANY = None  # in a pattern: any value
USED = " used"  # in a binding: the facts that it was matched with, those of aggregates among them
GOAL = " goal"  # in a binding: the number of the pattern that its head must fit
_SAMPLED = 3  # bindings by which atoms are compared
_NONE: frozenset[str] = frozenset()


class Matcher:
    """A program as written, and what satisfies its bodies; a subclass knows the facts."""

    premises: Sequence[Fact] | None
    asked: dict[Fact, bool]
    inside: frozenset[tuple[str, int]]
    absent: dict[Fact, None]
    exact: dict[Fact, Fact | None]
    limit: SearchLimit | None

    def __init__(self, program: Program) -> None:
        written = written_program(program)
        self.rules, self.heads, self._limits, self.terms = written.rules, written.heads, written.limits, written.terms
        self.prefixes, self.name, self.kinds = self.terms.prefixes, self.terms.relation, self.terms.kinds
        self.conditions, self._lasting, self._known_of = written.conditions, written.lasting, written.remembered
        self._is_sized = False  # whether of atoms that are alike the one of the smaller relation is matched first
        self._texts: dict[tuple[str, bool], Fact] = {}
        self.names = written.names

    def group(self, fact: Fact) -> Fact | None:
        """The pattern of all that rules may offer beside a fact; None if its relation is no limit relation."""
        column = self._limits.get((fact[0], len(fact[1])))
        if column is None:
            return None
        return fact[0], tuple(ANY if i == column else value for i, value in enumerate(fact[1]))

    def is_better(self, row: FactPattern, fact: Fact) -> bool:
        """Whether a row of a limit relation takes the place of a fact of the same group."""
        limit = self.heads[fact[0], len(row)][0].limit
        assert limit is not None, "it has a group"
        column, function = limit
        low, high = (row, fact[1]) if function == "min" else (fact[1], row)
        return bool(low[column] < high[column])

    def tick(self, steps: int) -> None:
        """Called before so many facts are matched; raises if there is no time for it."""

    def in_order(self, rows: Iterable[FactPattern]) -> list[FactPattern]:
        """Facts by their values, so that lists do not depend on how an engine keeps them."""
        return sorted(rows, key=self._order_of)

    def bindings_in_order(self, found: list[Binding]) -> list[Binding]:
        """Bindings by their values."""
        names = sorted(name for name in found[0] if not name.startswith(" ")) if len(found) > 1 else []
        return sorted(found, key=lambda b: self._order_of(b.get(name, ANY) for name in names)) if names else found

    def _order_of(self, values: Iterable[Any]) -> list[tuple[int, float, str]]:
        self.tick(1)
        return order_of(values)

    def lookup(self, name: str, patterns: Sequence[FactPattern], exact: bool) -> Iterable[list[FactPattern]]:
        """For each pattern the facts that fit it; `exact`: these and no others, as negation and aggregates need."""
        raise NotImplementedError

    def facts(self, name: str, patterns: Sequence[FactPattern]) -> list[list[FactPattern]]:
        """For each pattern all facts that fit it, which no proof has to account for."""
        raise NotImplementedError

    def size(self, name: str, arity: int) -> int:
        """The number of facts of a relation."""
        raise NotImplementedError

    def fan_out(self, name: str, patterns: Sequence[FactPattern]) -> float:
        """How many facts fit patterns, about."""
        return self.size(name, len(patterns[0]))

    def together(self, work: Callable[[], T]) -> T:
        """What some work gives; it may be done several times, so that lookups are made together where they are dear."""
        raise NotImplementedError

    def prefetch(self, facts: Sequence[Fact]) -> None:
        """Look up what the rules ask first that derive some facts, where many lookups cost no more than one."""

    def given_matching(self, name: str, patterns: Sequence[FactPattern]) -> list[FactPattern]:
        """The facts that were given and fit one of some patterns."""
        raise NotImplementedError

    def given(self, facts: Iterable[Fact]) -> set[Fact]:
        """Those of some facts that were given."""
        raise NotImplementedError

    def some_facts(self, name: str, pattern: FactPattern, most: int) -> list[FactPattern]:
        """The first facts that fit a pattern."""
        raise NotImplementedError

    def instances(
        self, rule: RuleHead, goals: Sequence[tuple[FactPattern, Binding]]
    ) -> Iterator[tuple[int, FactPattern, Binding]]:
        """The instances of a rule whose heads fit patterns: the pattern's number, the head's values, the binding."""
        for known, starts in _together(rule, goals).items():
            for found in self._ways(rule.asks(known), starts, _NONE, rule.head_variables, rule.is_exact):
                for b in self._headed(rule, known, found):
                    pattern, row = goals[b[GOAL]][0], tuple(map(value_of, (b[n] for n in rule.columns), rule.kinds))
                    near = tuple(map(as_close, rule.functions, row, pattern)) if rule.has_aggregates else row
                    if fits(near, pattern):
                        yield b[GOAL], near, b

    def quick_instances(
        self, rule: RuleHead, goals: Sequence[tuple[FactPattern, Binding]]
    ) -> list[tuple[int, FactPattern, Binding]]:
        """The instances, matched in an order that looks at the sizes of relations."""
        self._is_sized = True
        try:
            return list(self.instances(rule, goals))
        finally:
            self._is_sized = False

    def ask(self, rule: RuleHead, patterns: Sequence[FactPattern]) -> None:
        """Look everything up that the instances of a rule whose heads fit patterns rest on."""
        goals: list[tuple[FactPattern, Binding]] = [(pattern, {}) for pattern in patterns]
        if any(isinstance(node, tree.Aggregate) for term in rule.head.arguments for node in nodes(term)):
            list(self.instances(rule, goals))
            return
        for known, starts in _together(rule, goals).items():
            items, exact = rule.asks(known), rule.is_exact
            list(self._ways(items, starts, _NONE, rule.head_variables, exact, only_ask=True))

    def _headed(self, rule: RuleHead, known: frozenset[str], found: list[Binding]) -> Iterable[Binding]:
        """Bindings with all columns of a head; its aggregates are over the distinct substitutions of its body."""
        if found and (items := rule.gives(known)):
            found = self.solve(items, found, frozenset(found[0]), _NONE, True)
        return self._grouped(rule, found) if rule.has_aggregates else found

    def _grouped(self, rule: RuleHead, found: list[Binding]) -> Iterator[Binding]:
        plain = [name for name, function in zip(rule.columns, rule.functions, strict=True) if not function]
        groups: dict[object, list[Binding]] = {}
        for b in self._in_time(found):
            groups.setdefault((b[GOAL], *(b[name] for name in plain)), []).append(b)
        for members in groups.values():
            distinct = {_plain(b): b for b in members}.values()
            shared = [n for n in members[0] if all(n in b and b[n] == members[0][n] for b in members)]
            facts = tuple(dict.fromkeys(fact for b in members for fact in b.get(USED, ())))
            if not rule.is_exact:  # what is looked up exactly is in order
                facts = tuple(sorted(facts, key=lambda fact: (fact[0], self._order_of(fact[1]))))
            functions = [pair for pair in zip(rule.columns, rule.functions, strict=True) if pair[1]]
            values = {name: aggregated(function, [b[name] for b in distinct]) for name, function in functions}
            yield {**only(members[0], shared), USED: facts, **values}

    def started(self, rule: RuleHead, pattern: FactPattern) -> tuple[Binding, list[tree.Formula]] | None:
        """What a pattern says of the head's variables, and the equations that are left of it; None if it cannot fit."""
        start = rule.asked(pattern)
        items = [item for name, some in rule.equations.items() if name in start for item in some]
        left = [item for item in items if not _says_what_is_bound(item)]
        found = self.solve([item for item in items if _says_what_is_bound(item)], [start], _NONE, _NONE)
        return (found[0], left) if found else None

    # --- bodies --------------------------------------------------------------------------------------

    def solve(
        self,
        items: tree.Formula | Iterable[tree.Formula],
        given: list[Binding],
        around: frozenset[str],
        used: frozenset[str],
        exact: bool = False,
    ) -> list[Binding]:
        """All ways to extend bindings, which bind the same variables, so that conditions hold.

        `around` are variables that surrounding formulas bind, `used` those that they or the head mention.
        """
        return [b for found in self._ways(items, given, around, used, exact) for b in found]

    def _ways(
        self,
        items: tree.Formula | Iterable[tree.Formula],
        given: list[Binding],
        around: frozenset[str],
        used: frozenset[str],
        exact: bool,
        *,
        only_ask: bool = False,
    ) -> Iterator[list[Binding]]:
        """The same for each alternative; with `only_ask` what the last atom meets is looked up and not bound."""
        for waiting in alternatives(items):
            extended, seen = given, self._scopes_of(waiting, around, used)
            while waiting and extended:
                bound = frozenset(extended[0])
                places = self._order(waiting, bound, seen)
                fan_out = partial(self._fan_out, waiting, extended, bound, seen)
                item = waiting.pop(places[0] if len(places) == 1 else min(places, key=fan_out))
                for step in self._steps_of(item, bound, seen):
                    if only_ask and not waiting and isinstance(step, Match):
                        self.lookup(step.relation, self._patterns(step, extended)[1], exact)
                        extended = []
                    extended = self._followed([step], extended, exact)
            yield extended

    def _remembered(self, key: tuple[object, ...], ids: Iterable[int], find: Callable[[], T]) -> T:
        """What is found out about conditions with some ids, remembered if they last."""
        if not self._lasting.issuperset(ids):
            return find()
        if key not in self._known_of:
            self._known_of[key] = find()
        found: T = self._known_of[key]
        return found

    def _scopes_of(
        self, items: Sequence[tree.Formula], around: frozenset[str], used: frozenset[str]
    ) -> dict[int, FormulaScope]:
        """The scopes of formulas that hold together."""
        ids = (*map(id, items),)
        return self._remembered((ids, around, used), ids, lambda: scopes(items, around, used))

    def _order(self, waiting: list[tree.Formula], bound: frozenset[str], seen: dict[int, FormulaScope]) -> list[int]:
        """The place of the formula that is matched next; if sizes count, of all atoms that may be."""

        def find() -> list[int]:
            ready = costs(waiting, bound, seen)
            ties = [place for (late, is_atom, free, _), place in ready if is_atom and free and not late]
            return ties if self._is_sized and ready[0][1] in ties else [ready[0][1]]

        return self._remembered((*map(id, waiting), bound, id(seen), self._is_sized), seen, find)

    def _steps_of(
        self, item: tree.Formula, bound: frozenset[str], seen: dict[int, FormulaScope]
    ) -> Sequence[ConditionStep]:
        found = partial(self.conditions.steps, item, bound, seen[id(item)])
        return self._remembered((id(item), bound, id(seen)), seen, lambda: [*found()])

    def _fan_out(
        self, waiting: list[tree.Formula], given: list[Binding], bound: frozenset[str], seen: Any, place: int
    ) -> float:
        """How many facts an atom meets, about."""
        steps = self._steps_of(waiting[place], bound, seen)
        match = next(step for step in steps if isinstance(step, Match))
        if steps[0] is not match:
            return self.size(match.relation, len(match.known))
        return self.fan_out(match.relation, [self._pattern(match, b) for b in given[:_SAMPLED]])

    def next_formula(
        self, waiting: list[tree.Formula], bound: frozenset[str], body: list[tree.Formula]
    ) -> tree.Formula:
        """The cheapest formula that is ready: a test, then an atom with few unknown columns; alternatives come last.

        `body` are all formulas of the body, those that were matched before among them.
        """
        either = [item for item in waiting if isinstance(item, tree.Disjunction)]
        plain = [item for item in waiting if not isinstance(item, tree.Disjunction)]
        scopes = self._scopes_of(body, frozenset().union(*map(variables, either)), frozenset())
        try:
            return plain[costs(plain, bound, scopes)[0][1]]
        except NoValue:
            if not either:
                raise
            return either[0]

    # --- steps ---------------------------------------------------------------------------------------

    def _followed(self, steps: Iterable[ConditionStep], found: list[Binding], exact: bool) -> list[Binding]:
        """All ways to extend bindings by some steps."""
        for step in steps:
            match step:
                case Match():
                    found = list(self._matched(step, found, exact)) if found else []
                case Absent(sees=sees, ways=ways):
                    starts = ((b, only(b, sees)) for b in self._in_time(found))
                    found = [b for b, start in starts if not self._along(ways, start)]
                case _:
                    found = [new for b in self._in_time(found) for new in self._extended(step, b)]
        return found

    def _along(self, ways: Iterable[Way], start: Binding) -> list[Binding]:
        return [b for way in ways for b in self._followed(way.steps, [start], True)]

    def _matched(self, step: Match, given: list[Binding], exact: bool) -> Iterator[Binding]:
        """Facts that fit what is bound, looked up for all bindings at once."""
        given, patterns = self._patterns(step, given)
        for b, rows in zip(given, self.lookup(step.relation, patterns, exact), strict=True):
            used = b.get(USED, ())
            self.tick(1)
            for row in self._in_time(rows):
                new = {**b, USED: (*used, (step.relation, row))}
                for name, place in step.names:
                    new[name] = row[place]
                yield new

    def _patterns(self, step: Match, given: list[Binding]) -> tuple[list[Binding], list[FactPattern]]:
        """The patterns by which facts are looked up; bindings without a value are left out."""
        patterns = [self._pattern(step, b) for b in self._in_time(given)]
        if any(NOTHING in pattern for pattern in patterns):
            pairs = [(b, p) for b, p in zip(given, patterns, strict=True) if NOTHING not in p]
            given, patterns = [b for b, _ in pairs], [p for _, p in pairs]
        return given, patterns

    def _pattern(self, step: Match, b: Binding) -> FactPattern:
        return tuple(ANY if column is None else value_of(self._value(column[0], b), column[1]) for column in step.known)

    def _extended(self, step: ConditionStep, b: Binding) -> Iterable[Binding]:
        match step:
            case Parts(record=record, branch=branch, names=names):
                value = b[record]
                if isinstance(value, Record) and value.branch == branch and len(value.fields) == len(names):
                    return [{**b, **dict(zip(names, value.fields, strict=True))}]
            case Let(name=name, term=term):
                if (value := self._value(term, b)) is not NOTHING:
                    return [{**b, name: value}]
            case Passes(test=test, terms=terms):
                return [b] if passes(test, [self._value(term, b) for term in terms]) else []
            case Each(name=name, terms=terms):
                values = [self._value(term, b) for term in terms]
                numbers = spanned(*alike(values)) if NOTHING not in values else ()
                return ({**b, name: value} for value in self._in_time(numbers))
            case Gather():
                return self._gathered(step, b)
        return []

    def _gathered(self, step: Gather, b: Binding) -> Iterator[Binding]:
        """An aggregate over the distinct substitutions of its body; min and max also bind what attains them."""
        members: dict[object, tuple[Way, Binding]] = {}
        for way in step.ways:
            for new in self._in_time(self._followed(way.steps, [only(b, step.sees)], True)):
                members[_plain(new), step.counts_facts and new.get(USED)] = way, new
        ends = [end for way, new in members.values() for end in self._followed(way.then, [new], True)]
        value = self.terms.aggregate(step.term, [end.get(" target", 0) for end in ends], b.get(step.wanted))
        if value is None:
            return
        facts = (*b.get(USED, ()), *(fact for end in ends for fact in end.get(USED, ())))
        attain = (
            [only(end, step.witness) for end in ends if end.get(" target") == value] if step.witness else [Binding()]
        )
        for chosen in {_plain(some): some for some in attain}.values():
            if all(b.get(name, known) == known for name, known in chosen.items()):
                yield {**b, **chosen, step.name: value, USED: facts}

    def _in_time(self, values: Iterable[T]) -> Iterator[T]:
        """Values, with a look at the clock now and then."""
        for value in values:
            self.tick(1)
            yield value

    # --- terms ---------------------------------------------------------------------------------------

    def value(self, term: tree.Term, b: Binding) -> Any:
        """The value of a term whose variables are bound, the first of several; NOTHING if it has none."""
        if isinstance(term, tree.Variable):
            return b[term.name]
        found = self.solve(equation(" value", term), [b], frozenset(b), _NONE)
        return found[0][" value"] if found else NOTHING

    def _value(self, term: tree.Term, b: Binding) -> Any:
        """The value of a term whose aggregates and ranges are bound too."""
        return b[term.name] if isinstance(term, tree.Variable) else self.terms.value(term, b, self.apply)

    def apply(self, function: str, values: list[Any]) -> Any:
        """The value of a functor."""
        return compute(function, values)

    def fact(self, text: str, whole: bool = False) -> Fact:
        """A fact or a pattern, with `_` for any value, from its text."""
        if (text, whole) not in self._texts:
            self._texts[text, whole] = self.terms.read_fact(text, whole)
        return self._texts[text, whole]


def fits(row: FactPattern, pattern: FactPattern) -> bool:
    """Whether a fact has the values that a pattern asks for."""
    matching = all(wanted is ANY or value == wanted for value, wanted in zip(row, pattern, strict=False))
    return matching and len(row) == len(pattern)  # relations of several widths may share a name


def order_of(values: Iterable[Any]) -> list[tuple[int, float, str]]:
    """What values are sorted by: numbers first, ANY last."""
    return [
        (0, v, "") if isinstance(v, int | float) else (2, 0, "") if v is ANY else (1, 0, text_of(v)) for v in values
    ]


def only(b: Binding, names: Iterable[str]) -> Binding:
    """A part of a binding."""
    return {name: b[name] for name in names if name in b}


def _plain(b: Binding) -> frozenset[tuple[str, Any]]:
    """What a binding says of variables."""
    return frozenset((name, value) for name, value in b.items() if not name.startswith(" "))


def _together(rule: RuleHead, goals: Sequence[tuple[FactPattern, Binding]]) -> dict[frozenset[str], list[Binding]]:
    """What patterns of heads and what is given bind, those that bind the same variables together."""
    found: dict[frozenset[str], list[Binding]] = {}
    for place, (pattern, given) in enumerate(goals):  # what is given must not narrow a group down
        start = {**({} if rule.has_aggregates else given), **rule.asked(pattern)}
        found.setdefault(frozenset(start), []).append({**start, GOAL: place})
    return found


def _says_what_is_bound(item: tree.Formula) -> bool:
    """Whether an equation of a column binds variables, or says what its value is."""
    assert isinstance(item, tree.Comparison) and isinstance(item.left, tree.Variable), "equations are comparisons"
    return is_pattern(item.right) or not variables(item.right) or not item.left.name.startswith(" ")
