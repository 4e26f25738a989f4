"""From a fact to the heads that rules with nothing else in their bodies gave it, as they were met.

Such a rule copies (`maintenance/marking.py`): each fact has exactly one instance by it, for as long as there are both,
so it need never be met again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids, enlarged
from holdfast.backends.memory.facts import FactSet, Momentary, as_bytes
from holdfast.backends.memory.store import MemoryBackend, MemoryBag
from holdfast.backends.protocol import Bag, Facts
from holdfast.program.model import Atom, Rule

_NO_IDS: Ids = np.empty(0, np.int32)


class Links:
    """Row ids of heads, one more each so that 0 is none, beside the rows of the bodies; for one program."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self._heads: dict[int, tuple[Rule, Ids]] = {}  # the rule is held, so that its id stays its own
        self._packings = backend.packings

    def learn(self, rules: Sequence[Rule], come: Facts, met: Bag) -> None:
        """All instances of copying rules with facts that come: heads in the order of rules, then of facts."""
        assert isinstance(come, Momentary)
        assert isinstance(met, MemoryBag)
        taken = dict.fromkeys(met.rows, 0)
        for rule in rules:
            name = _read(rule)
            if size := come.sizes().get(name):
                begin = taken[rule.predicate]
                taken[rule.predicate] = begin + size
                run = come.run(name)  # then a plan walks from its first row to its last
                kernels.link(_NO_IDS if run else come.ids(name), run[0] if run else 0,
                             met.rows[rule.predicate][begin : begin + size], self._beside(rule))

    def heads(self, rule: Rule, facts: Facts, J: Facts) -> tuple[Momentary, MemoryBag]:
        """Those of some facts that are in J and whose instance by a copying rule is known, and these instances."""
        assert isinstance(facts, Momentary)
        assert isinstance(J, FactSet)
        tables, name = self._backend.tables, _read(rule)
        ids = facts.ids(name)
        known, heads = np.empty(len(ids), np.int32), np.empty(len(ids), np.int32)
        visible = as_bytes(J.formula(name).truth({}))
        count = kernels.linked(ids, tables[name].status, visible, self._beside(rule), known, heads)
        found = {name: known[:count]} if count else {}
        return Momentary(tables, found), MemoryBag(tables, {rule.predicate: heads[:count]} if count else {})

    def clear(self) -> None:
        """Forget all."""
        self._heads = {}

    def _beside(self, rule: Rule) -> Ids:
        if self._packings != self._backend.packings:
            self._packings, self._heads = self._backend.packings, {}
        room, (_, known) = len(self._backend.tables[_read(rule)].rows), self._heads.get(id(rule), (rule, None))
        if known is None or len(known) < room:
            known = np.zeros(room, np.int32) if known is None else enlarged(known, room)
            self._heads[id(rule)] = rule, known
        return known


def _read(rule: Rule) -> str:
    return cast("Atom", rule.body[0]).predicate
