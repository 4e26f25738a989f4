"""Which bindings satisfy the body of a rule as it is written, over facts that a subclass looks up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from holdfast.explanations.scope import FormulaScope, costs, scopes
from holdfast.explanations.terms import (
    NOTHING,
    NoValue,
    Unknown,
    aggregated,
    alike,
    as_close,
    compares,
    compute,
    is_test,
    number,
    passes,
    place_of,
    spanned,
    text_of,
    value_of,
)
from holdfast.explanations.written import written_program
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.syntax import (
    alternatives,
    conjuncts,
    has_wildcard,
    is_pattern,
    many_valued,
    nodes,
    variables,
)
from holdfast.program.model import Program
from holdfast.values.model import Record
from holdfast.values.structures import Kind

T = TypeVar("T")
Binding: TypeAlias = dict[str, Any]
FactPattern: TypeAlias = tuple[Any, ...]
Fact: TypeAlias = tuple[str, FactPattern]
ANY = None  # in a pattern: any value
USED = " used"  # in a binding: the facts that it was matched with, those of aggregates among them
JoinShape: TypeAlias = tuple[
    str, "list[tuple[tree.Term, Kind | None]]", list[tuple[tree.Term, int]], list[tuple[tree.Term, int]]
]


FormulaChoice: TypeAlias = tuple[int, FormulaScope]
_SAMPLED = 3  # bindings by which atoms are compared
GOAL = " goal"  # in a binding: the number of the pattern that its head must fit


class Matcher:
    """A program as written, and what satisfies its bodies."""

    def __init__(self, program: Program) -> None:
        written = written_program(program)
        self.rules, self.heads, self._limits, self.terms = written.rules, written.heads, written.limits, written.terms
        self.prefixes, self.name, self.kinds = self.terms.prefixes, self.terms.relation, self.terms.kinds
        self._lasting, self._orders, self._equation = written.lasting, written.orders, written.equation
        self._scopes: dict[tuple[object, ...], dict[int, FormulaScope]] = written.scopes
        self._shapes: dict[tuple[int, frozenset[str]], JoinShape] = written.shapes
        self._many_valued = written.many_valued
        self._is_sized = False  # whether of atoms that are alike the one of the smaller relation is matched first
        self._texts: dict[tuple[str, bool], Fact] = {}
        self.names = written.names

    def group(self, fact: Fact) -> Fact | None:
        """The pattern of all that rules may offer beside a fact; None if its relation is no limit relation."""
        column = self._limits.get((fact[0], len(fact[1])))
        if column is None:
            return None
        return fact[0], tuple(ANY if i == column else value for i, value in enumerate(fact[1]))

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

    def some_facts(self, name: str, pattern: FactPattern, most: int) -> list[FactPattern]:
        """The first facts that fit a pattern."""
        raise NotImplementedError

    def instances(
        self, rule: RuleHead, goals: Sequence[tuple[FactPattern, Binding]]
    ) -> Iterator[tuple[int, FactPattern, Binding]]:
        """The instances of a rule whose heads fit patterns: the pattern's number, the head's values, the binding."""
        for found in self._solutions(rule, goals, rule.has_aggregates):
            for b, values in (self._grouped if rule.has_aggregates else self._each_head)(rule.head, found):
                pattern = goals[b[GOAL]][0]
                row = tuple(map(as_close, values, pattern)) if rule.has_aggregates else values
                if NOTHING not in row and fits(row, pattern):
                    yield b[GOAL], row, b

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
        if any(isinstance(node, tree.Aggregate) for term in rule.head.arguments for node in nodes(term)):
            list(self.instances(rule, [(pattern, {}) for pattern in patterns]))
        else:
            list(self._solutions(rule, [(pattern, {}) for pattern in patterns], rule.has_aggregates, only_ask=True))

    def _solutions(
        self, rule: RuleHead, goals: Sequence[tuple[FactPattern, Binding]], exact: bool, *, only_ask: bool = False
    ) -> Iterator[list[Binding]]:
        """The bindings under which a body holds, those that began with the same variables together.

        With `only_ask` what the last atom meets is looked up and not bound.
        """
        waiting: dict[frozenset[str], tuple[list[Binding], list[tree.Formula]]] = {}
        for place, (pattern, given) in enumerate(goals):  # what is given must not narrow a group down
            start = self.started(rule.head, pattern, {GOAL: place} if rule.has_aggregates else {**given, GOAL: place})
            if start is not None:
                waiting.setdefault(frozenset(start[0]), ([], start[1]))[0].append(start[0])
        outside = rule.head_variables
        for starts, extra in waiting.values():
            body = tree.Conjunction((*conjuncts(rule.body), *extra), span=rule.head.span)
            yield self.solve(body, starts, frozenset(), outside, exact, only_ask=only_ask)

    def started(self, head: tree.Atom, pattern: FactPattern, b: Binding) -> tuple[Binding, list[tree.Formula]] | None:
        """What a pattern says of the head's variables, and the equations that are left of it."""
        new: Binding | None = b
        extra: list[tree.Formula] = []
        for place, (term, value) in enumerate(zip(head.arguments, pattern, strict=True)):
            if value is ANY or new is None or isinstance(term, tree.HeadAggregate):
                continue
            if is_pattern(term) or not variables(term):
                new = self.unify(term, value, new)
                continue
            match term:  # x + 1 = 5 says what x is
                case tree.Binary(operator="+" | "-", left=tree.Variable() as left, right=tree.Number() as right):
                    if isinstance(value, int) and isinstance(number(right), int):
                        inverse = value - number(right) if term.operator == "+" else value + number(right)
                        new = self.unify(left, inverse, new)
            new = None if new is None else {**new, f" {place}": value}
            extra.append(self._equation(term, place))
        return None if new is None else (new, extra)

    def _each_head(self, head: tree.Atom, found: list[Binding]) -> Iterator[tuple[Binding, FactPattern]]:
        """The heads of a rule without aggregates; a range in one gives several."""
        kinds = self.kinds(self.name(head.name), len(head.arguments))
        everything = FormulaScope(frozenset(found[0]) if found else frozenset(), frozenset())
        for b in self._opened(head, found, everything):
            yield b, tuple(value_of(self._value(a, b), kind) for a, kind in zip(head.arguments, kinds, strict=True))

    def _grouped(self, head: tree.Atom, found: list[Binding]) -> Iterator[tuple[Binding, FactPattern]]:
        """The heads of a rule with aggregates in its head, over the distinct substitutions of its body."""
        name = self.name(head.name)
        kinds = self.kinds(name, len(head.arguments))
        groups: dict[object, list[Binding]] = {}
        for b in found:
            self.tick(1)
            key = [self.value(a, b) for a in head.arguments if not isinstance(a, tree.HeadAggregate)]
            groups.setdefault((b[GOAL], *key), []).append(b)
        for members in groups.values():
            distinct = {_key(b): b for b in members}.values()
            row = [
                aggregated(a.function, [self.value(a.target, b) for b in distinct])
                if isinstance(a, tree.HeadAggregate)
                else self.value(a, members[0])
                for a in head.arguments
            ]
            shared = [n for n in members[0] if all(b[n] == members[0][n] for b in members)]
            facts = tuple(dict.fromkeys(fact for b in members for fact in b.get(USED, ())))
            yield {**only(members[0], shared), USED: facts}, tuple(map(value_of, row, kinds))

    # --- bodies --------------------------------------------------------------------------------------

    def solve(
        self,
        formula: tree.Formula,
        given: list[Binding],
        around: frozenset[str],
        used: frozenset[str],
        exact: bool = False,
        *,
        only_ask: bool = False,
    ) -> list[Binding]:
        """All ways to extend bindings, which bind the same variables, so that a formula holds.

        `around` are variables that surrounding formulas bind, `used` those that they or the head mention.
        """
        found: list[Binding] = []
        for waiting in alternatives(formula):
            extended, scopes = given, self._scopes_of(waiting, around, used)
            while waiting and extended:
                choices = self._order(waiting, frozenset(extended[0]), scopes)
                best = choices[0] if len(choices) == 1 else min(choices, key=partial(self._fan_out, waiting, extended))
                item = waiting.pop(best[0])
                if only_ask and not waiting and isinstance(item, tree.Atom) and not is_test(item):
                    if extended := self._opened(item, extended, best[1]):
                        self.lookup(*self._looked_up(item, extended)[1:], exact)
                    break
                extended = self._step(item, extended, best[1], exact)
            found += extended
        return found

    def _scopes_of(
        self, items: Sequence[tree.Formula], around: frozenset[str], used: frozenset[str]
    ) -> dict[int, FormulaScope]:
        """The scopes of formulas that hold together."""
        key = (*map(id, items), around, used)
        lasts = self._lasting.issuperset(key[:-2])
        found = self._scopes.get(key) if lasts else None
        if found is None:
            found = scopes(items, around, used)
            if lasts:
                self._scopes[key] = found
        return found

    def _order(
        self, waiting: list[tree.Formula], bound: frozenset[str], scopes: dict[int, FormulaScope]
    ) -> list[FormulaChoice]:
        """The formula that is matched next; if sizes count, all atoms that may be."""
        key = (*map(id, waiting), bound, id(scopes), self._is_sized)
        lasts = self._lasting.issuperset(scopes)  # then the scopes are kept, so that their id is theirs
        found = self._orders.get(key) if lasts else None
        if found is None:
            ready = costs(waiting, bound, scopes)
            ties = [place for (late, is_atom, free, _), place in ready if is_atom and free and not late]
            places = ties if self._is_sized and ready[0][1] in ties else [ready[0][1]]
            found = [(place, scopes[id(waiting[place])]) for place in places]
            if lasts:
                self._orders[key] = found
        return found

    def _fan_out(self, waiting: list[tree.Formula], given: list[Binding], choice: FormulaChoice) -> float:
        """How many facts an atom meets, about."""
        atom = waiting[choice[0]]
        assert isinstance(atom, tree.Atom), "only atoms are compared by size"
        name, fixed, _, _ = self._shape(atom, frozenset(given[0]))
        if self._inner(atom):
            return self.size(name, len(fixed))
        return self.fan_out(name, [self._pattern(fixed, b) for b in given[:_SAMPLED]])

    def _pattern(self, fixed: list[tuple[tree.Term, Kind | None]], b: Binding) -> FactPattern:
        return tuple(ANY if kind is None else value_of(self._value(a, b), kind) for a, kind in fixed)

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

    def _step(self, item: tree.Formula, given: list[Binding], scope: FormulaScope, exact: bool) -> list[Binding]:
        inner = [place_of(node) for node in self._inner(item)]
        new = [place for place in inner if not given or place not in given[0]]
        found = self._holding(item, self._opened(item, given, scope), scope, exact)
        return [{name: value for name, value in b.items() if name not in new} for b in found] if new else found

    def _holding(self, item: tree.Formula, given: list[Binding], scope: FormulaScope, exact: bool) -> list[Binding]:
        match item:
            case tree.Atom() | tree.Constraint() if is_test(item):
                test = item.name.text if isinstance(item, tree.Atom) else item.function
                return [b for b in self._in_time(given) if passes(test, [self._value(a, b) for a in item.arguments])]
            case tree.Atom() if given:
                return list(self._join(item, given, exact))
            case tree.Atom():
                return []
            case tree.Negation(operand=operand):
                own = (variables(operand) & scope.outer).union(map(place_of, self._inner(item)))
                starts = ((b, only(b, own)) for b in self._in_time(given))
                return [b for b, start in starts if not self.solve(operand, [start], own, frozenset(), True)]
            case tree.Truth(value=value):
                return given if value else []
            case tree.Comparison():
                return [new for b in self._in_time(given) if (new := self._compare(item, b)) is not None]
        raise Unknown(f"explanations do not know {type(item).__name__}")

    def _in_time(self, values: Iterable[T]) -> Iterator[T]:
        """Values, with a look at the clock now and then."""
        for value in values:
            self.tick(1)
            yield value

    def _join(self, atom: tree.Atom, given: list[Binding], exact: bool) -> Iterator[Binding]:
        """An atom against the facts that fit what is bound in it."""
        _, _, free, late = self._shape(atom, frozenset(given[0]))
        given, name, patterns = self._looked_up(atom, given)
        for b, rows in zip(given, self.lookup(name, patterns, exact), strict=True):
            used = b.get(USED, ())
            self.tick(1)
            for row in self._in_time(rows):
                new: Binding | None = {**b, USED: (*used, (name, row))}
                for argument, place in free:
                    new = None if new is None else self.unify(argument, row[place], new)
                if new is not None and all(self._value(a, new) == row[place] for a, place in late):
                    yield new

    def _looked_up(self, atom: tree.Atom, given: list[Binding]) -> tuple[list[Binding], str, list[FactPattern]]:
        """The relation and the patterns by which an atom is joined; bindings without a value are left out."""
        name, fixed, _, _ = self._shape(atom, frozenset(given[0]))
        patterns = [self._pattern(fixed, b) for b in self._in_time(given)]
        if any(NOTHING in pattern for pattern in patterns):
            pairs = [(b, p) for b, p in zip(given, patterns, strict=True) if NOTHING not in p]
            given, patterns = [b for b, _ in pairs], [p for _, p in pairs]
        return given, name, patterns

    def _shape(self, atom: tree.Atom, bound: frozenset[str]) -> JoinShape:
        """How an atom is joined: the relation, each argument with the type of its column or None if it is not known,
        those that are taken apart, and those that are computed, which may need what others bind."""
        key = (id(atom), bound)
        found: JoinShape | None = self._shapes.get(key) if id(atom) in self._lasting else None
        if found is None:
            name = self.name(atom.name)
            kinds = self.kinds(name, len(atom.arguments))
            known = [not has_wildcard(a) and variables(a, False) <= bound for a in atom.arguments]
            fixed = [
                (a, kind if is_known else None) for a, kind, is_known in zip(atom.arguments, kinds, known, strict=True)
            ]
            left = [(a, i) for i, (a, is_known) in enumerate(zip(atom.arguments, known, strict=True)) if not is_known]
            free: list[tuple[tree.Term, int]] = [
                (a, i) for a, i in left if is_pattern(a) and not isinstance(a, tree.Wildcard)
            ]
            found = name, fixed, free, [(a, i) for a, i in left if not is_pattern(a)]
            if id(atom) in self._lasting:
                self._shapes[key] = found
        return found

    def unify(self, term: tree.Term, value: Any, b: Binding) -> Binding | None:
        """The binding under which a term has a value; a term that is not a pattern must have its variables bound."""
        match term:
            case tree.Wildcard():
                return b
            case tree.Variable(name=name) if name not in b:
                return {**b, name: value}
            case tree.Record(fields=fields) | tree.Branch(fields=fields):
                branch = term.name if isinstance(term, tree.Branch) else ""
                if not isinstance(value, Record) or value.branch != branch or len(fields) != len(value.fields):
                    return None
                new: Binding | None = b
                for each, inside in zip(fields, value.fields, strict=True):
                    new = None if new is None else self.unify(each, inside, new)
                return new
        return b if self._value(term, b) == value else None

    def _compare(self, item: tree.Comparison, b: Binding) -> Binding | None:
        for here, there in ((item.left, item.right), (item.right, item.left)):
            if (
                item.operator == "="
                and is_pattern(here)
                and variables(there, False) <= b.keys()
                and not has_wildcard(there)
            ):
                value = self._value(there, b)
                if isinstance(there, tree.Aggregate) and isinstance(here, tree.Variable):
                    value = as_close(value, b.get(here.name))
                return None if value is NOTHING else self.unify(here, value, b)
        return b if compares(item.operator, self._value(item.left, b), self._value(item.right, b)) else None

    # --- terms ---------------------------------------------------------------------------------------

    def value(self, term: tree.Term, b: Binding) -> Any:
        """The value of a term whose variables are bound, the first of several; NOTHING if it has none."""
        if isinstance(term, tree.Variable):
            return b[term.name]
        everything = FormulaScope(frozenset(b), frozenset())
        return next((self._value(term, new) for new in self._opened(term, [b], everything)), NOTHING)

    def _value(self, term: tree.Term, b: Binding) -> Any:
        """The value of a term whose aggregates and ranges are bound too."""
        return b[term.name] if isinstance(term, tree.Variable) else self.terms.value(term, b, self.apply)

    def _opened(self, node: object, given: list[Binding], scope: FormulaScope) -> list[Binding]:
        """Bindings with each value of the aggregates and ranges in a term or a formula."""
        for each in self._inner(node):
            if given and place_of(each) in given[0]:
                continue  # a range in a negation is around it
            if isinstance(each, tree.Aggregate):
                given = [new for b in given for new in self._aggregate(each, b, scope)]
            else:
                given = [{**b, place_of(each): value} for b in given for value in self._range(each, b)]
        return given

    def _inner(self, node: object) -> list[tree.Aggregate | tree.Call]:
        found = self._many_valued.get(id(node))
        if found is None:
            found = many_valued(node)
            if id(node) in self._lasting:
                self._many_valued[id(node)] = found
        return found

    def _range(self, call: tree.Call, b: Binding) -> Iterable[Any]:
        values = [self._value(a, b) for a in call.arguments]
        return () if NOTHING in values else self._in_time(spanned(*alike(values)))

    def apply(self, function: str, values: list[Any]) -> Any:
        """The value of a functor."""
        return compute(function, values)

    def _aggregate(self, term: tree.Aggregate, b: Binding, scope: FormulaScope) -> Iterator[Binding]:
        """Over the distinct substitutions of the body; min and max also bind what attains them."""
        own = variables(term)
        start = only(b, own & scope.inside.get(id(term), scope.outer))
        found = self.solve(term.body, [start], frozenset(start), own, True)
        plain = any(isinstance(node, tree.Disjunction) for node in nodes(term.body))
        inner = [*{_key(new, with_facts=not plain): new for new in self._in_time(found)}.values()]
        targets = [(0, new) for new in inner] if term.target is None else self._targets(term.target, inner)
        members = (*b.get(USED, ()), *(fact for _, new in targets for fact in new.get(USED, ())))
        value = self.terms.aggregate(term, [value for value, _ in targets])
        if value is None:
            return
        free = scope.witness(term)
        attain = [only(new, free) for target, new in targets if target == value] if free else [Binding()]
        for chosen in {_key(some): some for some in attain}.values():
            if all(b.get(name, known) == known for name, known in chosen.items()):
                yield {**b, **chosen, place_of(term): value, USED: members}

    def _targets(self, term: tree.Term, members: list[Binding]) -> list[tuple[Any, Binding]]:
        """What an aggregate is over, for each member that has a value of it."""
        everything = FormulaScope(frozenset(members[0]) if members else frozenset(), frozenset())
        values = ((self._value(term, new), new) for new in self._opened(term, members, everything))
        return [(value, new) for value, new in self._in_time(values) if value is not NOTHING]

    def fact(self, text: str, whole: bool = False) -> Fact:
        """A fact or a pattern, with `_` for any value, from its text."""
        if (text, whole) not in self._texts:
            self._texts[text, whole] = self.terms.fact(text, whole)
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


def _key(b: Binding, with_facts: bool = False) -> object:
    return frozenset((name, value) for name, value in b.items() if with_facts or name != USED)
