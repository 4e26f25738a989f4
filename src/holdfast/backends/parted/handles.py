"""Sets, bags and counters as the algorithms see them: names for data on the shards.

Operations are queued and sent to the shards when a size is needed.  A set is a tree (`shard.SetTree`); the shards hold
an immutable set under a number until it is freed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Self, cast

from holdfast.backends.parted.shard import NO_SET, FactCounts, SetTree
from holdfast.backends.protocol import Bag, Facts
from holdfast.values.dictionary import Codes

if TYPE_CHECKING:
    from holdfast.backends.parted.driver import Driver

_MOST = 2**31 - 1  # derivations that a counter can hold
_FEW = 1_000  # facts that are fetched together, whichever of them are asked for


class PartedFacts:
    """A set of facts on the shards."""

    def __init__(self, driver: Driver, tree: SetTree, operands: tuple[object, ...] = ()) -> None:
        self.driver, self.tree = driver, tree
        self._operands = operands  # keeps them alive as long as the tree refers to them
        self._seen: tuple[int, FactCounts] | None = None  # sizes, and the number of changes when they were read

    @property
    def is_momentary(self) -> bool:
        """Whether it never changes."""
        return False

    def leaves(self) -> Iterable[HeldFacts]:
        """The held sets in the tree."""
        return [leaf for operand in self._operands if isinstance(operand, PartedFacts) for leaf in operand.leaves()]

    def __or__(self, other: Facts) -> PartedFacts:
        return self._combined("or", own(other, self.driver))

    def __and__(self, other: Facts) -> PartedFacts:
        return self._combined("and", own(other, self.driver))

    def __sub__(self, other: Facts) -> PartedFacts:
        return self._combined("sub", own(other, self.driver))

    @property
    def is_seen_empty(self) -> bool:
        """Whether it is known to have no facts, now and later."""
        return False

    def _combined(self, connective: str, other: PartedFacts) -> PartedFacts:
        left_out, right_out = self.is_seen_empty, other.is_seen_empty
        if (left_out and connective != "or") or (right_out and connective == "and"):
            return self.driver.nothing
        if right_out and self.is_momentary:
            return self
        if left_out and other.is_momentary:
            return other
        tree = (connective, self.tree, other.tree)
        either, both = self.is_momentary or other.is_momentary, self.is_momentary and other.is_momentary
        if both if connective == "or" else either if connective == "and" else self.is_momentary:
            return self.driver.let(tree)
        left, right = (side.snapshot() if side.is_momentary else side for side in (self, other))
        return PartedFacts(self.driver, (connective, left.tree, right.tree), (left, right))

    def of(self, predicates: Iterable[str]) -> PartedFacts:
        """The facts of some predicates only."""
        names = tuple(predicates)
        return self.driver.let(("of", self.tree, names)) if names else self.driver.nothing

    def snapshot(self) -> HeldFacts:
        """The facts that are in it now."""
        return self.driver.let(self.tree)

    def sizes(self) -> Mapping[str, int]:
        """The number of facts of each predicate that has any."""
        if self._seen is None or self._seen[0] != self.driver.changes:
            sizes = self.driver.sum(("sizes", self.tree))
            self._seen = self.driver.changes, sizes
        return self._seen[1]

    def size(self, predicate: str) -> int:
        """The number of facts of one predicate."""
        return self.sizes().get(predicate, 0)

    def predicates(self) -> Iterable[str]:
        """The predicates that may have facts in it."""
        operands = [operand for operand in self._operands if isinstance(operand, PartedFacts)]
        some = operands[:1] if self.tree[0] in ("sub", "and") else operands
        return {name for operand in some for name in operand.predicates()}

    def __len__(self) -> int:
        return sum(self.sizes().values())

    def __bool__(self) -> bool:
        return bool(self.sizes())


class HeldFacts(PartedFacts):
    """A set that the shards hold under a number."""

    def __init__(self, driver: Driver, number: int, sizes: FactCounts | None = None) -> None:
        super().__init__(driver, ("held", number))
        self.number, self._sizes = number, sizes
        self.fetched: tuple[int, Mapping[str, Codes]] | None = None
        """Its rows, and the number of changes when they were fetched: a relation may be dropped."""

    def __del__(self) -> None:
        if hasattr(self, "number"):  # it is missing if the constructor was interrupted
            self.driver.freed.append(self.number)

    @property
    def is_momentary(self) -> bool:
        return True

    def leaves(self) -> Iterable[HeldFacts]:
        return (self,)

    def snapshot(self) -> HeldFacts:
        return self

    def sizes(self) -> Mapping[str, int]:
        if self._sizes is None:
            self._sizes = self.driver.sizes_of(self.number)
        return self._sizes

    def predicates(self) -> Iterable[str]:
        return self.sizes().keys()

    def of(self, predicates: Iterable[str]) -> PartedFacts:
        if self._sizes is None:
            return super().of(predicates)
        names = {name for name in predicates if name in self._sizes}
        return self if len(names) == len(self._sizes) else super().of(sorted(names))

    @property
    def is_seen_empty(self) -> bool:
        return self._sizes is not None and not self._sizes

    @property
    def is_seen_small(self) -> bool:
        """Whether it is known to have few facts."""
        return self._sizes is not None and sum(self._sizes.values()) <= _FEW


class NoFacts(HeldFacts):
    """∅."""

    def __init__(self, driver: Driver) -> None:
        PartedFacts.__init__(self, driver, NO_SET)
        self._sizes, self.fetched = {}, None

    def __del__(self) -> None:
        pass

    def leaves(self) -> Iterable[HeldFacts]:
        return ()


class Supporting(PartedFacts):
    """The facts of a bag."""

    def __init__(self, bag: PartedBag, number: int) -> None:
        super().__init__(bag.driver, ("support", number), (bag,))
        self._snapshot: HeldFacts | None = None

    @property
    def is_momentary(self) -> bool:
        return True

    def leaves(self) -> Iterable[HeldFacts]:
        return (self.snapshot(),)

    def snapshot(self) -> HeldFacts:
        if self._snapshot is None:
            self._snapshot = super().snapshot()
        return self._snapshot

    def sizes(self) -> Mapping[str, int]:
        return self.snapshot().sizes()

    def predicates(self) -> Iterable[str]:
        return self.sizes().keys()


class LiveChoice(PartedFacts):
    """One set for some predicates, another for all others; a live view."""

    def __init__(self, driver: Driver, names: Iterable[str], here: PartedFacts, rest: PartedFacts) -> None:
        sides = tuple(side.snapshot() if side.is_momentary else side for side in (here, rest))
        super().__init__(driver, ("by", frozenset(names), sides[0].tree, sides[1].tree), sides)


class KeptSet(PartedFacts):
    """E or I, whose sizes the driver knows."""

    def __init__(self, driver: Driver, name: str) -> None:
        super().__init__(driver, ("kept", name))
        self.name = name

    def leaves(self) -> Iterable[HeldFacts]:
        return ()

    def sizes(self) -> Mapping[str, int]:
        return dict(self.driver.lasting_sizes(self.name))

    def size(self, predicate: str) -> int:
        return self.driver.lasting_sizes(self.name).get(predicate, 0)

    def predicates(self) -> Iterable[str]:
        return self.sizes().keys()

    def __ior__(self, more: Facts) -> Self:
        self._change("put", own(more, self.driver).snapshot())
        return self

    def __isub__(self, fewer: Facts) -> Self:
        self._change("take", own(fewer, self.driver).snapshot())
        return self

    def _change(self, command: str, facts: HeldFacts) -> None:
        if not facts.is_seen_empty:
            self.driver.spread_to_copies(facts)
            self.driver.change(command, self.name, facts)


class ListedSet(KeptSet):
    """D, A, C, P or Y: small, and empty between updates."""

    def __init__(self, driver: Driver, name: str) -> None:
        super().__init__(driver, name)
        self._is_touched = False
        self._predicates = set[str]()
        self._entered: list[HeldFacts] = []  # whose predicates are not among these yet

    def sizes(self) -> Mapping[str, int]:
        return PartedFacts.sizes(self) if self._is_touched else {}

    def size(self, predicate: str) -> int:
        return self.sizes().get(predicate, 0)

    def predicates(self) -> Iterable[str]:
        """Those of all facts that were put in; after each of many hyper-nodes, asking for the sizes of all is dear."""
        self._predicates.update(*(facts.sizes() for facts in self._entered))
        self._entered.clear()
        return tuple(self._predicates)

    def _change(self, command: str, facts: HeldFacts) -> None:
        self._is_touched = True
        self._entered.append(facts)
        super()._change(command, facts)

    def clear(self) -> None:
        """Remove all facts."""
        if self._is_touched:
            self.driver.do("clear", self.name)
            self.is_cleared()

    def is_cleared(self) -> None:
        """Note that the shards have emptied it."""
        self._is_touched = False
        self._predicates.clear()
        self._entered.clear()


class PartedBag:
    """The heads that rule instances have emitted, each on its shard."""

    def __init__(self, driver: Driver, number: int | None, size: int) -> None:
        self.driver, self.number, self._size = driver, number, size

    def __del__(self) -> None:
        if getattr(self, "number", None) is not None:  # missing if the constructor was interrupted
            self.driver.freed.append(cast("int", self.number))

    def __len__(self) -> int:
        return self._size

    def support(self) -> PartedFacts:
        """The facts that occur at least once."""
        return self.driver.nothing if not self._size or self.number is None else Supporting(self, self.number)


class PartedCounters:
    """Cn or Cr: numbers stored with the facts of the primaries."""

    def __init__(self, driver: Driver, name: str) -> None:
        self._driver, self._name = driver, name
        self._remembers = False
        self._counted = 0  # an upper bound of the sum of all numbers

    @property
    def remembers(self) -> bool:
        """Whether changes are recorded."""
        return self._remembers

    @remembers.setter
    def remembers(self, remembers: bool) -> None:
        if remembers != self._remembers:
            self._remembers = remembers
            self._driver.do("remember", self._name, remembers)

    def roll_back(self) -> None:
        """Undo everything since `clear_undo`."""
        self._driver.do("roll_back", self._name)

    def clear_undo(self) -> None:
        """Drop the record."""
        self._driver.do("clear_undo", self._name)

    def is_mended(self) -> None:
        """Note that the shards no longer record changes."""
        self._remembers = False

    def add(self, facts: Bag | Facts) -> None:
        """Count each occurrence once more."""
        self._count(facts, 1)

    def subtract(self, facts: Bag | Facts) -> None:
        """Count each occurrence once less."""
        self._count(facts, -1)

    def _count(self, facts: Bag | Facts, step: int) -> None:
        what = facts.number if isinstance(facts, PartedBag) else own(facts, self._driver).tree
        if what is None:
            return
        self._driver.do("count", self._name, what, step)
        self._counted += len(facts) if isinstance(facts, PartedBag) else 1
        if self._counted > _MOST:  # a number may overflow: find out before anything depends on it
            self._driver.flush()

    def forget(self, predicates: Iterable[str]) -> None:
        """Set the numbers of some predicates to 0."""
        self._driver.do("forget", self._name, tuple(predicates))

    def zero(self, facts: Facts) -> HeldFacts:
        """The facts whose number is 0."""
        return self._driver.zero(self._name, own(facts, self._driver).tree)


def own(facts: object, driver: Driver) -> PartedFacts:
    """A set of this backend; raises for another backend's, which cannot be combined with it."""
    if not isinstance(facts, PartedFacts) or facts.driver is not driver:
        raise TypeError("fact sets of two backends cannot be combined")
    return facts
