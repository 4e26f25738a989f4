"""From a fact to the heads that rules with nothing else in their bodies gave it, as they were met.

Such a rule copies (`maintenance/marking.py`): each fact has exactly one instance by it, for as long as there are both,
so it need never be met again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from holdfast.backends.memory.arrays import Ids, padded
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.store import MemoryBackend, MemoryBag
from holdfast.backends.protocol import Bag, Facts
from holdfast.program.model import Atom, Rule


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
            ids = _walked(come, _read(rule))
            if len(ids):
                begin = taken[rule.predicate]
                taken[rule.predicate] = begin + len(ids)
                self._beside(rule)[ids] = met.rows[rule.predicate][begin : taken[rule.predicate]] + 1

    def heads(self, rules: Sequence[Rule], facts: Facts) -> tuple[Momentary, MemoryBag]:
        """Those of some facts all of whose instances by some copying rules are known, and these instances."""
        assert isinstance(facts, Momentary)
        tables, known = self._backend.tables, dict(facts.rows)
        for rule in rules:
            name = _read(rule)
            if name in known:
                known[name] = known[name][self._beside(rule)[known[name]] > 0]
        found: dict[str, list[Ids]] = {}
        for rule in rules:
            if len(known.get(_read(rule), ())):
                found.setdefault(rule.predicate, []).append(self._beside(rule)[known[_read(rule)]] - 1)
        heads = {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in found.items()}
        return Momentary(tables, {name: ids for name, ids in known.items() if len(ids)}), MemoryBag(tables, heads)

    def clear(self) -> None:
        """Forget all."""
        self._heads = {}

    def _beside(self, rule: Rule) -> Ids:
        if self._packings != self._backend.packings:
            self._packings, self._heads = self._backend.packings, {}
        room, (_, known) = len(self._backend.tables[_read(rule)].rows), self._heads.get(id(rule), (rule, None))
        if known is None or len(known) < room:
            known = np.zeros(room, np.int32) if known is None else padded(known, room)
            self._heads[id(rule)] = rule, known
        return known


def _read(rule: Rule) -> str:
    return cast("Atom", rule.body[0]).predicate


def _walked(facts: Momentary, predicate: str) -> Ids:
    """In the order in which a plan walks through them: consecutive rows from the first one on."""
    run = facts.run(predicate)
    return facts.ids(predicate) if run is None else np.arange(*run, dtype=np.int32)
