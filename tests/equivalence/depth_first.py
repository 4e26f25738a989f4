"""B/F^c one fact at a time, into the depth, for closures of a graph: the original to count rule instances against.

It looks for a proof of a fact instance by instance and stops at the first (optimised-maintenance, Algorithm 3 as
printed).  Plain Python sets; it is also one more judge of what is left after a deletion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

Pair = tuple[int, int]


@dataclass
class DepthFirst:
    """The closure of some edges after some of them are deleted."""

    edges: set[Pair]
    deleted: set[Pair]
    quadratic: bool  # path(x, z) :- path(x, y), path(y, z); otherwise edge(x, y), path(y, z)
    backward: int = 0  # instances met while looking for proofs
    checked: set[Pair] = field(default_factory=set)
    proved: set[Pair] = field(default_factory=set)
    delayed: set[Pair] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.left = self.edges - self.deleted
        self.paths = closure(self.edges)
        self.after, self.before = _neighbours(self.left)
        self.path_after, self.path_before = _neighbours(self.paths)
        self.proved_after: defaultdict[int, list[int]] = defaultdict(list)
        self.proved_before: defaultdict[int, list[int]] = defaultdict(list)

    def run(self) -> set[Pair]:
        """What is left of the closure."""
        waiting = list(self.deleted)
        if not self.quadratic:
            waiting += [(x, z) for x, y in self.deleted for z in self.path_after[y]]
        while waiting:
            fact = waiting.pop()
            if fact in self.paths:
                self.check(fact)
                if fact not in self.proved:
                    waiting += list(self.consequences(fact))
                    self.paths.discard(fact)
                    self.path_after[fact[0]].discard(fact[1])
                    self.path_before[fact[1]].discard(fact[0])
        return self.paths

    def check(self, fact: Pair) -> None:
        """CHECK, on a stack of its own."""
        stack = [self.checking(fact)]
        while stack:
            support = next(stack[-1], None)
            if support is None:
                stack.pop()
            else:
                stack.append(self.checking(support))

    def checking(self, fact: Pair) -> Iterator[Pair]:
        """The body facts to check for one fact, until it is proved."""
        if fact in self.checked:
            return
        self.checked.add(fact)
        if fact in self.delayed or fact in self.left:
            self.saturate(fact)
        if fact in self.proved:
            return
        x, z = fact
        for y in list(self.path_after[x] if self.quadratic else self.after[x]):
            if (y, z) in self.paths and (not self.quadratic or (x, y) in self.paths):
                self.backward += 1
                for support in [(x, y), (y, z)] if self.quadratic else [(y, z)]:
                    yield support
                    if fact in self.proved:
                        return

    def saturate(self, fact: Pair) -> None:
        """SATURATE."""
        new = [fact]
        while new:
            fact = new.pop()
            if fact not in self.checked:
                self.delayed.add(fact)
            elif fact not in self.proved:
                self.proved.add(fact)
                self.proved_after[fact[0]].append(fact[1])
                self.proved_before[fact[1]].append(fact[0])
                y, z = fact
                if self.quadratic:
                    new += [(x, z) for x in self.proved_before[y]] + [(y, w) for w in self.proved_after[z]]
                else:
                    new += [(x, z) for x in self.before[y]]

    def consequences(self, fact: Pair) -> Iterator[Pair]:
        y, z = fact
        yield from ((x, z) for x in (self.path_before if self.quadratic else self.before)[y])
        if self.quadratic:
            yield from ((y, w) for w in self.path_after[z])


def closure(edges: set[Pair]) -> set[Pair]:
    after, _ = _neighbours(edges)
    found: set[Pair] = set()
    for start in list(after):
        stack = list(after[start])
        while stack:
            node = stack.pop()
            if (start, node) not in found:
                found.add((start, node))
                stack += after[node]
    return found


def _neighbours(pairs: set[Pair]) -> tuple[defaultdict[int, set[int]], defaultdict[int, set[int]]]:
    after: defaultdict[int, set[int]] = defaultdict(set)
    before: defaultdict[int, set[int]] = defaultdict(set)
    for x, y in pairs:
        after[x].add(y)
        before[y].add(x)
    return after, before
