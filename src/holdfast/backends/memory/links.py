"""Links from a fact to the heads that it gave by rules with a single body atom.

Such a rule copies (`maintenance/marking.py`): each fact has exactly one instance by it, for as long as both exist, so
the rule need not be evaluated on that fact again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids, padded
from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.memory.facts import FactSet, Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.truth import as_bytes
from holdfast.backends.protocol import Bag, Facts
from holdfast.program.model import Atom, Rule

_NO_IDS: Ids = np.empty(0, np.int32)


class MemoryLinks:
    """Row ids of heads beside the rows of their bodies, for one program."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self._links: dict[int, _Link] = {}  # by the id of the rule; the link holds the rule, so the id stays unique
        self._packings = backend.packings

    def learn(self, rules: Sequence[Rule], added: Facts, met: Bag) -> None:
        """Record all instances of copying rules with new facts; `met` has the heads by rule, then by fact."""
        assert isinstance(added, Momentary)
        assert isinstance(met, MemoryBag)
        taken = dict.fromkeys(met.rows, 0)
        for rule in rules:
            link = self._of(rule)
            if size := added.sizes().get(link.read):
                begin = taken[rule.predicate]
                taken[rule.predicate] = begin + size
                link.learn(added, met.rows[rule.predicate][begin : begin + size])
        assert all(taken[name] == len(heads) for name, heads in met.rows.items()), "a fact has one instance by a rule"

    def heads(self, rule: Rule, facts: Facts, J: Facts) -> tuple[Momentary, MemoryBag]:
        """The facts in J whose instance by a copying rule is known, and these instances."""
        assert isinstance(facts, Momentary)
        assert isinstance(J, FactSet)
        return self._of(rule).heads(facts, J)

    def clear(self) -> None:
        """Forget all."""
        self._links = {}

    def _of(self, rule: Rule) -> _Link:
        if self._packings != self._backend.packings:
            self._packings, self._links = self._backend.packings, {}
        link = self._links.get(id(rule))
        if link is None:
            link = self._links[id(rule)] = _Link(self._backend, rule)
        return link


class _Link:
    """The links of one rule: for each row of the body the row id of its head plus 1, so that 0 means no head."""

    def __init__(self, backend: MemoryBackend, rule: Rule) -> None:
        self.rule, self.read = rule, cast("Atom", rule.body[0]).predicate
        self._tables, self._table = backend.tables, backend.tables[self.read]
        self._heads: Ids = np.zeros(len(self._table.rows), np.int32)

    def learn(self, added: Momentary, heads: Ids) -> None:
        """Link new facts to their heads, which are in the order in which a plan scans the facts."""
        if len(self._heads) < len(self._table.rows):
            self._heads = padded(self._heads, len(self._table.rows))
        run = added.run(self.read)
        kernels.link(_NO_IDS if run else added.ids(self.read), run[0] if run else 0, heads, self._heads)

    def heads(self, facts: Momentary, J: FactSet) -> tuple[Momentary, MemoryBag]:
        """Like `Links.heads`."""
        ids, visible = facts.ids(self.read), as_bytes(J.formula(self.read).truth({}))
        known, heads = np.empty(len(ids), np.int32), np.empty(len(ids), np.int32)
        count = kernels.linked(ids, self._table.status, visible, self._heads, known, heads)
        if not count:
            return Momentary(self._tables, {}), MemoryBag(self._tables, {})
        return (
            Momentary(self._tables, {self.read: known[:count]}),
            MemoryBag(self._tables, {self.rule.predicate: heads[:count]}),
        )
