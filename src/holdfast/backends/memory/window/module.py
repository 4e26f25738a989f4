"""A window of a hyper-node whose recursive rules are all served by a module.

One pass computes the external facts in all states; the module then returns the exact facts that each step from one
state to the next removes and adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.backends.memory.arrays import Ids
from holdfast.backends.memory.facts import Momentary
from holdfast.backends.memory.store import MemoryBackend
from holdfast.backends.memory.window.versions import HeadWords, Versions, Words, steps
from holdfast.backends.protocol import Facts
from holdfast.maintenance.module_adapter import ModuleAdapter, States
from holdfast.maintenance.watch import Watch
from holdfast.modules import Rows
from holdfast.program.patterns import Slice

StateChange = tuple[Momentary, Momentary]
"""The facts removed and those added from one state to the next."""


@dataclass
class ServedInWindow:
    """A service in all states of a window.  Facts that a later hyper-node reads get words; others are only listed."""

    module: ModuleAdapter
    backend: MemoryBackend
    before: States
    is_read: bool  # read by a later hyper-node
    states: list[Any] = field(default_factory=list)  # the module's state after each step
    steps: list[StateChange] = field(default_factory=list)  # not read by any later hyper-node

    def follow(self, external: HeadWords, versions: Versions, watch: Watch) -> None:
        """Run all steps, given the states in which facts have nonrecursive derivations, where these change."""
        service, predicate = self.module.service, self.module.predicate
        slices = {slice_.predicate: versions.changed([slice_.predicate]) for slice_ in service.reads}
        read = steps(
            self.backend,
            {name: (ids, versions.of(name, ids)) for name, found in slices.items() for ids in [found.ids(name)]},
            versions.last,
        )
        state, found = self.before.get(service.slice), list[StateChange]()
        for number, (lost, gained) in enumerate(steps(self.backend, external, versions.last)):
            if not (lost or gained or any(read[number])):
                self.states.append(state)
                found.append((lost, gained))
                continue
            context = _Between(self, external, versions, number, (lost, gained), read[number])
            changed = service.module.change(service, state, context)
            state = changed.state
            self.states.append(state)
            removed: Facts = Momentary(self.backend.tables, {})
            added: Facts = removed
            for part in changed.parts:
                removed, added = removed | self.module.facts(part[0]), added | self.module.facts(part[1])
                watch.batch(len(part[1]))
            if service.slice.fixed:  # facts outside the slice are their own only support
                inside = self.module.facts(context.lost()) | self.module.facts(context.gained())
                removed, added = removed | (lost - inside), added | (gained - inside)
            found.append((_momentary(removed), _momentary(added)))
            watch.round(len(added))
        if self.is_read:
            ids, words = _words([(removed.ids(predicate), added.ids(predicate)) for removed, added in found], versions)
            versions.put(predicate, ids, words)
            A = self.backend.added
            A |= Momentary(self.backend.tables, {predicate: ids}) - self.backend.materialisation
        else:
            self.steps = found


@dataclass
class _Between:
    """The context of a module between two states."""

    served: ServedInWindow
    external: HeadWords
    versions: Versions
    number: int
    own: StateChange
    read_elsewhere: StateChange

    def before(self) -> Rows:
        """The counters are still those of the first state."""
        module, backend = self.served.module, self.served.backend
        ids, words = self.external.get(module.predicate, (np.empty(0, np.int32), np.empty(0, np.int64)))
        moved = Momentary(backend.tables, {module.predicate: ids})
        held = Momentary(backend.tables, {module.predicate: ids[(words >> self.number) & 1 == 1]})
        return module.rows((module.external(backend.materialisation) - moved) | held)

    def lost(self) -> Rows:
        """Facts whose Cn becomes 0."""
        return self.served.module.rows(self.own[0])

    def gained(self) -> Rows:
        """Facts whose Cn is no longer 0."""
        return self.served.module.rows(self.own[1])

    def read(self, slice: Slice, when: str) -> Rows:
        """Facts of an earlier hyper-node."""
        if when == "before":
            facts = self.versions.before(self.number, slice.predicate)
        else:
            facts = self.read_elsewhere[when == "added"]
        return self.served.module.rows(facts, slice)


def _momentary(facts: Any) -> Momentary:
    found = facts.snapshot()
    assert isinstance(found, Momentary)
    return found


def _words(moved: Sequence[tuple[Ids, Ids]], versions: Versions) -> tuple[Ids, Words]:
    """Removed and added facts as words: the first step of a fact shows whether it held before."""
    parts = [(ids, number, is_added) for number, step in enumerate(moved, 1) for is_added, ids in enumerate(step)]
    ids, first, inverse = np.unique(
        np.concatenate([ids for ids, _, _ in parts]), return_index=True, return_inverse=True
    )
    lengths = [len(ids) for ids, _, _ in parts]
    later = np.repeat([int(versions.every) & ~((1 << number) - 1) for _, number, _ in parts], lengths)
    is_added = np.repeat([is_added for _, _, is_added in parts], lengths)
    words = np.where(is_added[first] == 1, np.int64(0), versions.every)
    np.bitwise_xor.at(words, inverse, later)
    return ids, words
