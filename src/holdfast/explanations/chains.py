"""Transitive rules over large relations: a fact follows from a shortest chain of facts that other rules derive.

`R(x, z) :- R(x, y), R(y, z)` has as many instances for a fact as there are values between its ends.  Ball search would
meet all of them, and all of theirs.  A chain, halved again and again, has few.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from holdfast.explanations.matching import ANY, Fact, FactPattern, Matcher
from holdfast.explanations.written_rules import RuleHead
from holdfast.language import tree
from holdfast.language.syntax import conjuncts, nodes
from holdfast.quick_dataclass import dataclass

T = TypeVar("T")
LARGE = 2_000
"""Facts of a relation from which on its transitive rule is replaced by chains."""


@dataclass(frozen=True, eq=False)
class ClosureRules:
    """The rules of a relation that a transitive rule closes; no other is recursive, but perhaps a symmetric one."""

    transitive: RuleHead
    names: tuple[str, str, str]  # of the variables: from, between, to
    steps: tuple[RuleHead, ...]  # that derive what chains consist of
    is_symmetric: bool
    has_loops: bool


def closure_of(name: str, source: Matcher) -> ClosureRules | None:
    """The closure that a relation is, if it is one and large."""
    rules = source.heads.get((name, 2), [])
    shaped = [(rule, shape) for rule in rules if (shape := _transitive(rule)) is not None]
    if len(shaped) != 1 or source.size(name, 2) < LARGE:
        return None
    others = [rule for rule in rules if rule is not shaped[0][0]]
    symmetric = [rule for rule in others if _is_symmetric(rule)]
    steps = [rule for rule in others if rule not in symmetric]
    if _depends(steps, name, source):
        return None
    loops = not any(isinstance(item, tree.Comparison) for item in conjuncts(shaped[0][0].body))
    return ClosureRules(*shaped[0], tuple(steps), bool(symmetric), loops)


def _transitive(rule: RuleHead) -> tuple[str, str, str] | None:
    """The variables of `R(x, z) :- R(x, y), R(y, z)`, also with `x != z`."""
    items = conjuncts(rule.body)
    atoms = [item for item in items if isinstance(item, tree.Atom) and item.name == rule.head.name]
    ends = [[a.name for a in atom.arguments if isinstance(a, tree.Variable)] for atom in (rule.head, *atoms)]
    if len(atoms) != 2 or any(len(found) != 2 for found in ends):
        return None
    (x, z), first, second = ends
    y = next((name for name in first if name not in (x, z)), "")
    if sorted((first, second)) != sorted(([x, y], [y, z])) or len({x, y, z}) != 3:
        return None
    rest = [item for item in items if item not in atoms]
    differ = [i for i in rest if isinstance(i, tree.Comparison) and i.operator == "!=" and _are(i, {x, z})]
    return (x, y, z) if len(rest) == len(differ) <= 1 else None


def _are(item: tree.Comparison, names: set[str]) -> bool:
    return {side.name for side in (item.left, item.right) if isinstance(side, tree.Variable)} == names


def _is_symmetric(rule: RuleHead) -> bool:
    body, head = rule.body, rule.head
    names = {a.name for a in head.arguments if isinstance(a, tree.Variable)}
    return isinstance(body, tree.Atom) and body.name == head.name and _is_swapped(body, head) and len(names) == 2


def _is_swapped(body: tree.Atom, head: tree.Atom) -> bool:
    return body.arguments == head.arguments[::-1]


def _depends(rules: Sequence[RuleHead], name: str, source: Matcher) -> bool:
    """Whether what some rules read rests on a relation."""
    seen, waiting = set[str](), [source.name(atom.name) for rule in rules for atom in _atoms(rule)]
    below: dict[str, list[RuleHead]] = {}
    for (head, _), derived in source.heads.items():
        below.setdefault(head, []).extend(derived)
    while waiting:
        read = waiting.pop()
        if read not in seen:
            seen.add(read)
            waiting += [source.name(atom.name) for rule in below.get(read, ()) for atom in _atoms(rule)]
    return name in seen


def _atoms(rule: RuleHead) -> list[tree.Atom]:
    return [node for node in nodes(rule.body) if isinstance(node, tree.Atom)]


def chain(closure: ClosureRules, fact: Fact, source: Matcher) -> list[Any] | None:
    """The values along a shortest chain from one end of a fact to the other.

    It grows from both ends, a layer at a time, where the layer is smaller, until the two meet.
    """
    name, (start, goal) = fact
    ends = (_End(start, goal), _End(goal, start))
    while all(end.layer for end in ends):
        side = int(len(ends[0].layer) > len(ends[1].layer))
        near, far = ends[side], ends[1 - side]
        links = source.together(lambda: [*_steps(closure, name, near.layer, source, backwards=bool(side))])  # noqa: B023
        met = near.grow(links, far)
        if met is not None:
            return [*ends[0].way(met)[::-1], *ends[1].way(met)[1:]]
    return None


class _End:
    """What is reached from one end of a chain, each value from one that is nearer to the end."""

    def __init__(self, value: Any, other: Any) -> None:
        self.value, self._is_loop = value, value == other
        self.nearer: dict[Any, Any] = {}
        self.layer = [value]

    def grow(self, links: Iterable[tuple[Any, Any]], far: _End) -> Any:
        """The next layer; gives a value where the two ends meet, by the shortest way there is."""
        reached: list[Any] = []
        for here, there in links:
            if there not in self.nearer and (there != self.value or self._is_loop):
                self.nearer[there] = here
                reached.append(there)
        self.layer = reached
        meeting = [value for value in reached if value in far.nearer or value == far.value]
        return min(meeting, key=lambda value: len(far.way(value)), default=None)

    def way(self, value: Any) -> list[Any]:
        """The values from one back to the end."""
        values = [value]
        if value in self.nearer:
            values.append(self.nearer[value])
            while values[-1] != self.value:
                values.append(self.nearer[values[-1]])
        return values


def _steps(
    closure: ClosureRules, name: str, values: list[Any], source: Matcher, *, backwards: bool
) -> Iterator[tuple[Any, Any]]:
    """The links that lead away from values, or backwards to them."""
    one_way: list[FactPattern] = [(value, ANY) for value in values]
    other_way: list[FactPattern] = [(ANY, value) for value in values]
    if not backwards or closure.is_symmetric:
        yield from _links(closure, name, one_way, source)
    if backwards or closure.is_symmetric:
        yield from ((there, here) for here, there in _links(closure, name, other_way, source))


def _links(closure: ClosureRules, name: str, patterns: list[FactPattern], source: Matcher) -> Iterator[FactPattern]:
    yield from source.given_matching(name, patterns)
    for rule in closure.steps:
        yield from (row for _, row, _ in source.instances(rule, [(pattern, {}) for pattern in patterns]))
