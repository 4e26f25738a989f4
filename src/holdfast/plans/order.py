"""Orders the joins of a rule's positive atoms by estimated cost."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import permutations

from holdfast.plans.literals import literal_variables
from holdfast.plans.readiness import BoundVariables
from holdfast.plans.statistics import SizeStatistics
from holdfast.program.model import Atom, Const, Rule, Var

_EXHAUSTIVE = 4  # try all orders up to this number of atoms
_PROBE = 3.0  # cost of looking up a key, where walking on to one more fact costs 1
_COVER = 20.0  # cost of entering one new fact into an index


def atom_order(
    rule: Rule, pivot: int | None, delta: float, statistics: SizeStatistics, *, scattered: bool = False
) -> tuple[int, ...]:
    """Positions in the body of the positive atoms (and of a negated pivot, which is read first), in join order.

    If the facts of the delta are `scattered` among the others, a join with them has an index of them alone.
    """
    atoms = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom)]
    if len(atoms) < 2 and pivot in (None, *atoms):
        return tuple(atoms)
    costs = _Costs(rule, pivot, delta, statistics, scattered=scattered)
    if pivot is not None and pivot not in atoms:
        return (pivot, *_greedy(atoms, costs, literal_variables(rule.body[pivot])))
    if len(atoms) <= _EXHAUSTIVE:
        return min(permutations(atoms), key=costs.of)
    if pivot is None:
        return tuple(_greedy(atoms, costs, set()))
    rest = [i for i in atoms if i != pivot]
    return (pivot, *_greedy(rest, costs, literal_variables(rule.body[pivot])))


def cost(rule: Rule, pivot: int, order: Sequence[int], delta: float, statistics: SizeStatistics) -> float:
    """The estimated cost of a delta form of a rule in a given order: 1 for each fact walked."""
    return _Costs(rule, pivot, delta, statistics).of(order)


def goal_first(rule: Rule, statistics: SizeStatistics) -> tuple[int, ...]:
    """An order that begins with the first atom of the body."""
    rest = [i for i, literal in enumerate(rule.body) if isinstance(literal, Atom) and i]
    return (0, *_greedy(rest, _Costs(rule, 0, 1.0, statistics), literal_variables(rule.body[0])))


def _greedy(atoms: Sequence[int], costs: _Costs, bound: set[Var]) -> list[int]:
    """Repeatedly choose the atom with the fewest facts; re-estimate an atom when another of its variables is bound."""
    readers: dict[Var, list[int]] = {}
    for position in atoms:
        for variable in costs.variables[position]:
            readers.setdefault(variable, []).append(position)
    closure, order, left = costs.closure(bound), list[int](), dict.fromkeys(atoms, 0.0)
    heap: list[tuple[float, int]] = []
    changed = set(atoms)
    while left:
        for position in changed & left.keys():
            left[position] = costs.facts_met(position, closure.bound)
            heappush(heap, (left[position], position))
        met, best = heappop(heap)
        if left.get(best) == met:
            del left[best]
            order.append(best)
            new = closure.add(costs.variables[best])
            changed = {position for variable in new for position in readers.get(variable, ())}
        else:
            changed = set()
    return order


class _Costs:
    """Estimates for one rule."""

    def __init__(
        self, rule: Rule, pivot: int | None, delta: float, statistics: SizeStatistics, *, scattered: bool = False
    ) -> None:
        self.rule = rule
        self.pivot = pivot
        self.delta = delta
        self.scattered = scattered
        self.statistics = statistics
        self.variables = {i: literal_variables(literal) for i, literal in enumerate(rule.body)}
        self.computed = {i: literal for i, literal in enumerate(rule.body) if not isinstance(literal, Atom)}

    def of(self, order: Sequence[int]) -> float:
        """The cost of an order: lookups, facts walked, and the index on new facts that a later pivot needs."""
        closure, bindings, cost = self.closure(set()), 1.0, 0.0
        for place, position in enumerate(order):
            met = bindings * self.facts_met(position, closure.bound)
            if place == 0:
                cost += self._size(position)
            else:
                cost += bindings * _PROBE + met
                cost += _COVER * self._to_index(position, closure.bound) if position == self.pivot else 0.0
            bindings = met
            closure.add(self.variables[position])
        return cost

    def _to_index(self, position: int, bound: set[Var]) -> float:
        """The number of facts to enter into the index of a later pivot: the new ones, or all if it does not exist.
        Scattered ones get an index of their own."""
        if self.scattered:
            return self.delta
        return max(self.delta, self.statistics.unindexed(*self._known(position, bound)))

    def _known(self, position: int, bound: set[Var]) -> tuple[str, tuple[int, ...]]:
        """The predicate of an atom, and the columns whose values are known."""
        atom = self.rule.body[position]
        assert isinstance(atom, Atom)
        return atom.predicate, tuple(i for i, a in enumerate(atom.arguments) if isinstance(a, Const) or a in bound)

    def facts_met(self, position: int, bound: set[Var]) -> float:
        """The number of facts that one binding matches in an atom."""
        atom = self.rule.body[position]
        assert isinstance(atom, Atom)
        _, known = self._known(position, bound)
        if not known:
            return self._size(position)
        met = self.statistics.fanout(atom.predicate, known, len(atom.arguments))
        return met * self._size(position) / max(1.0, self.statistics.size(atom.predicate))

    def closure(self, bound: set[Var]) -> BoundVariables:
        """The bound variables together with those computed from them."""
        closure = BoundVariables(self.computed, self.variables)
        closure.add(bound)
        return closure

    def _size(self, position: int) -> float:
        atom = self.rule.body[position]
        assert isinstance(atom, Atom)
        return self.delta if position == self.pivot else self.statistics.size(atom.predicate)
