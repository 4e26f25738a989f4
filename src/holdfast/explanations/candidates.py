"""Edits of explicit facts that could lead to a wanted fact, or away from an unwanted one.

Every repair has one of them: if a fact is to hold, some condition of some rule must come to hold; if it is not to hold,
any proof of it must break.  A value that nothing determines is taken from the values that occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import combinations, islice, product
from typing import Any, TypeAlias

from holdfast.explanations.absence import known_pattern
from holdfast.explanations.matching import ANY, Binding, Fact, FactPattern, Matcher, only
from holdfast.explanations.scope import bindable
from holdfast.explanations.search import Explainer, SearchLimit
from holdfast.explanations.terms import NoValue, Unknown, is_test
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.syntax import alternatives, closed_parts, nodes, variables
from holdfast.quick_dataclass import dataclass

VAGUE = 1_000
"""The openness of edits of which it is only known that something depends on them."""
_LONG = 6  # conditions of a rule from which on at most two stay open beside the one that is looked at
_MANY = 5_000  # facts of a relation that are not all tried where nothing determines which
_VALUES = 1_000  # ways to fill in values that nothing determines


@dataclass(frozen=True)
class Edit:
    """An explicit fact to insert or to delete."""

    inserts: bool
    fact: Fact


_Task: TypeAlias = tuple[int, int, Callable[[], Iterator["Edit | _Step"]]]
_Step: TypeAlias = tuple[int, Callable[[], Iterator["Edit | _Step"]]]
Values: TypeAlias = Callable[[str, int, int], Sequence[Any]]
"""The values that a column of a relation may get: of its name, its number of columns and its place."""


class Candidates:
    """The edits in one state; the likelier ones first."""

    def __init__(
        self,
        source: Matcher,
        may: Callable[[Edit], bool],
        values: Values,
        limit: SearchLimit,
        on_rule: Callable[[RuleHead, Sequence[tree.Formula], Binding], None] | None = None,
    ) -> None:
        self._source, self._may, self._values, self._limit, self._on_rule = source, may, values, limit, on_rule
        self._explainer = Explainer(source, limit)
        self.openness = 0
        """How many conditions beside the edited one did not hold either, for the last edit."""
        self.is_complete = True
        """Whether nothing was left out because there was too much of it."""

    def toward(self, fact: Fact, *, wanted: bool) -> Iterator[Edit]:
        """Edits that could make a fact hold, or keep it from holding; each once."""
        self._met: set[tuple[bool, Fact]] = set()
        given: set[Edit] = set()
        waiting: list[_Task] = []
        number = 0
        tasks: list[_Step] = [(0, lambda: self._goal(fact, wanted))]
        while True:
            for openness, task in tasks:
                number += 1
                heappush(waiting, (openness, number, task))
            if not waiting:
                return
            openness, _, run = heappop(waiting)
            self.openness = openness
            self._limit.check(0, "repair")
            tasks = []
            for found in run():
                self._source.tick(1)
                if not isinstance(found, Edit):
                    tasks.append((openness + found[0], found[1]))
                elif found not in given and self._may(found):
                    given.add(found)
                    yield found

    def _goal(self, fact: Fact, wanted: bool) -> Iterator[Edit | _Step]:
        if (wanted, fact) not in self._met:
            self._met.add((wanted, fact))
            yield from self._make(fact) if wanted else self._unmake(fact)

    def _later(self, fact: Fact, wanted: bool) -> _Step:
        return 0, lambda: self._goal(fact, wanted)

    # --- away from a fact --------------------------------------------------------------------------------

    def _unmake(self, fact: Fact) -> Iterator[Edit | _Step]:
        """Break one proof: delete what it rests on, or give it what it wants absent or counts."""
        try:
            steps = self._explainer.steps(fact)
        except Unknown:  # a sum that supports itself has no proof to break
            self.is_complete = False
            return
        exact = list(self._source.exact)
        yield from (Edit(False, step.conclusion) for step in steps if step.is_asserted)
        yield from (self._later(pattern, True) for pattern in exact)
        for name, pattern in exact:  # a negation inside a negation wants them, and they are no premises
            rows = self._source.in_order(self._source.facts(name, [pattern])[0])
            yield from (self._later((name, row), False) for row in rows)

    # --- toward a fact -----------------------------------------------------------------------------------

    def _make(self, goal: Fact) -> Iterator[Edit | _Step]:
        name, pattern = goal
        yield from (Edit(True, (name, row)) for row in self._filled(name, pattern))
        for rule in self._source.heads.get((name, len(pattern)), ()):
            start = self._source.started(rule, (self._source.group(goal) or goal)[1])
            if start is None:
                continue
            for items in alternatives(rule.body):
                if self._on_rule is not None:
                    self._on_rule(rule, [*items, *start[1]], start[0])
                yield from self._openings(rule, [*items, *start[1]], start[0])

    def _filled(self, name: str, pattern: FactPattern) -> Iterator[FactPattern]:
        """The facts that fit a pattern, over the values that occur."""
        width = len(pattern)
        if not self._may(Edit(True, (name, pattern))):
            return
        choices = [self._values(name, width, i) if v is ANY else (v,) for i, v in enumerate(pattern)]
        rows = product(*choices)
        yield from islice(rows, _VALUES)
        self.is_complete &= next(rows, None) is None

    def _openings(self, rule: RuleHead, items: list[tree.Formula], start: Binding) -> Iterator[_Step]:
        """Each condition that may have to change, with each set of others that do not hold yet either."""
        editable, around = [item for item in items if is_editable(item)], bindable(items)
        if rule.limit is not None or any(isinstance(a, tree.HeadAggregate) for a in rule.head.arguments):
            yield 0, lambda: self._touched(items, start, around)
            return
        most = len(editable) - 1 if len(editable) <= _LONG else 2
        self.is_complete &= len(editable) <= _LONG
        for item in editable:
            others = [other for other in editable if other is not item]
            for size in range(most + 1):
                for opened in combinations(others, size):
                    left = [other for other in items if other is not item and not any(other is o for o in opened)]
                    yield size, lambda item=item, left=left: self._opened(item, left, start, around)  # type: ignore[misc]

    def _opened(
        self, item: tree.Formula, left: list[tree.Formula], start: Binding, around: frozenset[str]
    ) -> Iterator[Edit | _Step]:
        """What a condition needs, for each way in which those that are left hold."""
        found = self._solved(self._anchored(left, start), start, around)
        for b in self._source.bindings_in_order(found):
            match item:
                case tree.Atom():
                    pattern = known_pattern(self._source, item, b)
                    if pattern is not None:
                        yield self._later((self._source.name(item.name), pattern), True)
                case tree.Negation(operand=tree.Atom() as atom):
                    yield from islice(self._gone(atom, b), 1)  # all must go, so the first must
                case _:
                    yield from self._touched([item], b, around)

    def _touched(self, items: Sequence[tree.Formula], b: Binding, around: frozenset[str]) -> Iterator[_Step]:
        """Everything that could change what an aggregate or a negated formula gives: a vague hint, so it comes last.

        Such a formula ranges over its own variables, whatever the head says: min and max compare them all.
        """
        for item in items:
            seen = only(b, around) if any(closed_parts(item)) else b
            for atom in (node for node in nodes(item) if isinstance(node, tree.Atom) and not is_test(node)):
                pattern = known_pattern(self._source, atom, seen)
                if pattern is not None:
                    yield VAGUE, self._later((self._source.name(atom.name), pattern), True)[1]
                    yield from ((VAGUE, step) for _, step in self._gone(atom, seen))

    def _gone(self, atom: tree.Atom, b: Binding) -> Iterator[_Step]:
        pattern = known_pattern(self._source, atom, b)
        if pattern is not None:
            name = self._source.name(atom.name)
            for row in self._source.in_order(self._source.facts(name, [pattern])[0]):
                yield self._later((name, row), False)

    def _anchored(self, items: list[tree.Formula], start: Binding) -> list[tree.Formula]:
        """Without large relations of which nothing is known."""
        known, waiting, kept = {*start}, list(items), []
        while joined := [item for item in waiting if variables(item) & known or not self._is_large(item)]:
            kept += joined
            waiting = [item for item in waiting if not any(item is other for other in joined)]
            known.update(*(variables(item) for item in joined))
        self.is_complete &= not waiting
        return kept

    def _is_large(self, item: tree.Formula) -> bool:
        atoms = [node for node in nodes(item) if isinstance(node, tree.Atom) and not is_test(node)]
        return any(self._source.size(self._source.name(a.name), len(a.arguments)) > _MANY for a in atoms)

    def _solved(self, items: list[tree.Formula], start: Binding, around: frozenset[str]) -> list[Binding]:
        """The ways in which conditions hold; one whose variables are not bound says nothing yet."""
        used = frozenset().union(*map(variables, items)) if items else frozenset[str]()
        while items:
            try:
                return self._source.solve(items, [start], around, used)
            except NoValue:
                rest: list[tree.Formula] = [item for item in items if isinstance(item, tree.Atom) and not is_test(item)]
                items = rest if len(rest) < len(items) else []
        return [start]


def is_editable(item: tree.Formula) -> bool:
    """Whether edits of facts can change whether it holds."""
    return any(isinstance(node, tree.Atom) and not is_test(node) for node in nodes(item))
