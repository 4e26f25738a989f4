"""Written conditions as steps of a few forms, in the order in which they are evaluated.

Search and checker share this reading, and each evaluates the steps in its own way.  A disjunction becomes several ways.
Names of relations and types of columns are looked up, patterns of records are taken apart, and aggregates and ranges
are bound to variables of their own before the condition that mentions them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from holdfast.explanations.scope import FormulaScope, binds, costs, is_known, scopes
from holdfast.explanations.terms import Terms, Unknown, is_test, place_of
from holdfast.language import tree
from holdfast.language.syntax import alternatives, is_pattern, many_valued, nodes, variables
from holdfast.values.structures import Kind

UNUSED = " _"
"""The variable of wildcards; nothing reads it."""


class Match(NamedTuple):
    """Facts of a relation: its columns of which the value is known, None for others, and the variables of these."""

    relation: str
    known: tuple[tuple[tree.Term, Kind] | None, ...]
    names: tuple[tuple[str, int], ...]


class Parts(NamedTuple):
    """The fields of a record of some branch get names; those that do not matter get the name `UNUSED`."""

    record: str
    branch: str
    names: tuple[str, ...]


class Let(NamedTuple):
    """A variable gets the value of a term."""

    name: str
    term: tree.Term


class Passes(NamedTuple):
    """A comparison, or another test."""

    test: str
    terms: tuple[tree.Term, ...]


class Each(NamedTuple):
    """A variable gets each number of a range."""

    name: str
    terms: tuple[tree.Term, ...]


class Absent(NamedTuple):
    """A negation: it sees some variables, and none of the ways holds."""

    sees: frozenset[str]
    ways: tuple[Way, ...]


class Gather(NamedTuple):
    """An aggregate: of the substitutions of some ways, each of which then gives a value."""

    name: str
    term: tree.Aggregate
    sees: frozenset[str]
    ways: tuple[Way, ...]
    counts_facts: bool  # a wildcard counts each fact
    witness: frozenset[str]  # the variables that are bound to what attains it
    wanted: str  # the variable that it is compared with


ConditionStep: TypeAlias = Match | Parts | Let | Passes | Each | Absent | Gather


class Way(NamedTuple):
    """One alternative: its steps, and those that come after it."""

    steps: tuple[ConditionStep, ...]
    then: tuple[ConditionStep, ...] = ()


class Conditions:
    """Reads the conditions of one program."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def ways(
        self,
        items: tree.Formula | Iterable[tree.Formula],
        bound: frozenset[str],
        around: frozenset[str],
        used: frozenset[str],
        then: Sequence[tree.Formula] = (),
    ) -> tuple[Way, ...]:
        """The alternatives of conditions when some variables are bound.

        `around` are variables that conditions outside bind, `used` those that are mentioned outside.
        """
        found = []
        for chosen in alternatives(items):
            steps, after = self._in_turn(chosen, bound, around, used)
            found.append(Way(steps, self._in_turn(then, after, after, frozenset())[0]))
        return tuple(found)

    def _in_turn(
        self, items: Sequence[tree.Formula], bound: frozenset[str], around: frozenset[str], used: frozenset[str]
    ) -> tuple[tuple[ConditionStep, ...], frozenset[str]]:
        """The steps of conditions that hold together, and what is bound after them."""
        seen, waiting, steps = scopes(items, around, used), list(items), list[ConditionStep]()
        while waiting:
            item = waiting.pop(costs(waiting, bound, seen)[0][1])
            steps += self.steps(item, bound, seen[id(item)])
            inner = (node for node in many_valued(item) if isinstance(node, tree.Aggregate))
            bound = (binds(item, bound) or bound).union(*map(seen[id(item)].witness, inner))
        return tuple(steps), bound

    def steps(self, item: tree.Formula, bound: frozenset[str], scope: FormulaScope) -> Iterator[ConditionStep]:
        """The steps of one condition, in its turn."""
        inner = [node for node in many_valued(item) if place_of(node) not in bound]  # those around a negation are
        for node in inner:
            if isinstance(node, tree.Aggregate):
                yield self._gather(node, item, scope)
            else:
                yield Each(place_of(node), self._terms.bounds(node))
        match item:
            case tree.Atom() | tree.Constraint() if is_test(item):
                yield Passes(item.name.text if isinstance(item, tree.Atom) else item.function, item.arguments)
            case tree.Atom(arguments=arguments):
                relation, known = self._terms.relation(item.name), [is_known(a, bound) for a in arguments]
                typed = zip(arguments, self._terms.kinds(relation, len(arguments)), strict=True)
                columns = (pair if is_known else None for pair, is_known in zip(typed, known, strict=True))
                left = [(i, a) for i, a in enumerate(arguments) if not known[i]]
                names, steps = _bound_to([a for _, a in left], set(bound))
                places = ((name, i) for name, (i, _) in zip(names, left, strict=True) if name != UNUSED)
                yield Match(relation, tuple(columns), tuple(places))
                yield from steps
            case tree.Negation(operand=operand):
                sees = (variables(operand) & scope.outer).union(map(place_of, many_valued(item)))
                yield Absent(sees, self.ways(operand, sees, sees, frozenset()))
            case tree.Truth(value=value):
                yield Passes("true" if value else "false", ())
            case tree.Comparison():
                yield from _compared(item, bound)
            case _:
                raise Unknown(f"explanations do not know {type(item).__name__}")

    def _gather(self, node: tree.Aggregate, item: tree.Formula, scope: FormulaScope) -> Gather:
        own = variables(node)
        sees = own & scope.inside.get(id(node), scope.outer)
        target = [] if node.target is None else [equation(" target", node.target)]
        ways = self.ways(node.body, sees, sees, own, target)
        either = any(isinstance(part, tree.Disjunction) for part in nodes(node.body))
        sides = (item.left, item.right) if isinstance(item, tree.Comparison) and item.operator == "=" else ()
        is_side = any(side is node for side in sides)
        wanted = next((side.name for side in sides if is_side and isinstance(side, tree.Variable)), "")
        return Gather(place_of(node), node, sees, ways, not either, scope.witness(node), wanted)


def _compared(item: tree.Comparison, bound: frozenset[str]) -> Iterator[ConditionStep]:
    """An equation binds what is a pattern on one side, if the other one is known."""
    for here, there in ((item.left, item.right), (item.right, item.left)):
        if item.operator == "=" and is_pattern(here) and is_known(there, bound):
            if isinstance(here, tree.Variable) and here.name in bound:
                break
            (name,), steps = _bound_to([here], set(bound))
            yield Let(name, there)
            yield from steps
            return
    yield Passes(item.operator, (item.left, item.right))


def _bound_to(terms: Sequence[tree.Term], bound: set[str]) -> tuple[tuple[str, ...], list[ConditionStep]]:
    """The variables that get the values of columns or fields, and the steps by which these equal their terms."""
    names, left = list[str](), list[tree.Term]()
    for term in terms:
        if isinstance(term, tree.Variable) and term.name not in bound:
            bound.add(term.name)
            names.append(term.name)
        elif isinstance(term, tree.Wildcard):
            names.append(UNUSED)
        else:
            names.append(place_of(term))
            left.append(term)
    steps: list[ConditionStep] = []
    for term in sorted(left, key=lambda each: not is_pattern(each)):  # computed ones last
        if isinstance(term, tree.Record | tree.Branch):
            inside, more = _bound_to(term.fields, bound)
            steps += [Parts(place_of(term), term.name if isinstance(term, tree.Branch) else "", inside), *more]
        else:
            steps.append(Passes("=", (term, tree.Variable(place_of(term), span=term.span))))
    return tuple(names), steps


def equation(name: str, term: tree.Term) -> tree.Comparison:
    """That a variable is a term."""
    return tree.Comparison("=", tree.Variable(name, span=term.span), term, span=term.span)
