"""Encode and look up the facts of updates; several waiting updates take little longer together than one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Protocol, TypeAlias

import numpy as np

from holdfast.backends.abilities import Frames, facts_each, given_facts, packings
from holdfast.backends.protocol import Backend
from holdfast.backends.protocol import Facts as FactSet
from holdfast.errors import HoldfastError
from holdfast.formats.fact_data import FactData, FactParts
from holdfast.formats.rdf_mirrors import refuse_unmirrored
from holdfast.knowledge.relations import the_relation
from holdfast.program.model import Program
from holdfast.quick_dataclass import dataclass
from holdfast.updates import Update
from holdfast.values.dictionary import Codes, Dictionary

Encoded: TypeAlias = tuple[dict[str, Codes], dict[str, list[Any]]]
"""Facts as codes, and those that the backend takes as they are, by predicate."""
Both: TypeAlias = tuple[Encoded, Encoded]
"""What an update deletes and what it inserts."""

TOGETHER = 8  # updates prepared at a time


@dataclass(frozen=True)
class FactChange:
    """The deleted and inserted facts, and the number of given facts, including repeated ones."""

    deletions: FactSet
    insertions: FactSet
    given: int


def looked_up(both: Both, backend: Backend) -> FactChange:
    """The facts of an encoded update."""
    deletions, insertions = both
    deleted, inserted = given_facts(backend, *deletions, known=True), given_facts(backend, *insertions)
    return FactChange(deleted[0], inserted[0], deleted[1] + inserted[1])


def looked_up_each(several: Sequence[Both], backend: Backend) -> list[FactChange]:
    """Like `looked_up`, for several updates together."""
    insertions = _facts_each([insertions for _, insertions in several], backend)  # first: later ones may delete them
    deletions = _facts_each([deletions for deletions, _ in several], backend, known=True)
    return [FactChange(gone, come, n + m) for (gone, n), (come, m) in zip(deletions, insertions, strict=True)]


def _facts_each(several: Sequence[Encoded], backend: Backend, *, known: bool = False) -> list[tuple[FactSet, int]]:
    if any(frames for _, frames in several):
        return [given_facts(backend, *encoded, known=known) for encoded in several]
    facts = facts_each(backend, [codes for codes, _ in several], known=known)
    return list(zip(facts, (sum(map(len, codes.values())) for codes, _ in several), strict=True))


class Waiting(Protocol):
    """An item of a queue: an update, or something that could not be read as one."""

    @property
    def update(self) -> Update | None:
        """None if it could not be read."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether it changes only facts."""
        ...


class UpdateEncoder:
    """Encodes updates under the given program."""

    def __init__(self, dictionary: Dictionary, backend: Backend) -> None:
        frames = backend.ability(Frames)
        self._dictionary, self._takes = dictionary, frames.takes if frames else None

    def encode(self, updates: Sequence[Update], program: Program) -> list[Both]:
        """What each update deletes and inserts."""
        from holdfast.formats.python_data import encode_several

        parts: dict[str, tuple[list[Encoded], list[FactData]]] = {}
        found: list[Both] = []
        for update in updates:
            both: Both = ({}, {}), ({}, {})
            found.append(both)
            for encoded, given in zip(both, (update.delete, update.insert), strict=True):
                for name, data in given.items():
                    relation = the_relation(name, program).name
                    for part in data.parts if isinstance(data, FactParts) else (data,):
                        if self._takes is not None and self._takes(part):
                            encoded[1].setdefault(relation, []).append(part)
                        else:
                            places, facts = parts.setdefault(relation, ([], []))
                            places.append(encoded)
                            facts.append(part)
        for name, (places, facts) in parts.items():
            several = encode_several(facts, program.relations[name], self._dictionary)
            gathered: dict[int, tuple[dict[str, Codes], list[Codes]]] = {}
            for (codes, _), rows in zip(places, several, strict=True):
                gathered.setdefault(id(codes), (codes, []))[1].append(rows)
            for codes, some in gathered.values():
                codes[name] = np.ascontiguousarray(some[0] if len(some) == 1 else np.concatenate(some))
        for both in found:
            for codes, frames in both:
                refuse_unmirrored(program.relations, codes, self._dictionary, frames, what="the facts of an update of")
        return found


@dataclass(frozen=True)
class PreparedUpdate:
    """An update with its facts: all insertions, and the deletions of facts that were known at that time."""

    update: Update
    packings: int  # the backend's count of packings at that time
    codes: Both
    facts: FactChange

    @property
    def is_complete(self) -> bool:
        """Whether every fact that it deletes was known."""
        return len(self.facts.deletions) == sum(map(len, self.codes[0][0].values()))


class Prefetcher:
    """Prepares an update of a stream together with those waiting behind it; each is used once."""

    def __init__(self, encoder: UpdateEncoder, backend: Backend, waiting: Callable[[int], Sequence[Waiting]]) -> None:
        self._encoder, self._backend, self._waiting = encoder, backend, waiting
        self._prepared: dict[int, PreparedUpdate] = {}

    def take(self, update: Update, program: Program) -> FactChange:
        """The facts of an update that is about to be applied and changes no rules."""
        known = self._current(update)
        if known is None:
            following = [item.update for item in takewhile(lambda item: item.is_plain, self._waiting(TOGETHER - 1))]
            updates = [update, *(other for other in following if other is not None)]
            self._prepared = {id(prepared.update): prepared for prepared in self._prepare(updates, program)}
            known = self._prepared[id(update)]
        del self._prepared[id(update)]
        return FactChange(self._deletions(known), known.facts.insertions, known.facts.given)

    def next_deletions(self, program: Program) -> FactSet | None:
        """The deletions of the next update, if it has arrived, changes no rules and is valid."""
        waiting = self._waiting(1)
        if not waiting or waiting[0].update is None or not waiting[0].is_plain:
            return None
        update = waiting[0].update
        known = self._current(update)
        if known is not None:
            return self._deletions(known)
        try:
            [((deletions, frames), _)] = self._encoder.encode([update], program)
        except HoldfastError:
            return None
        return given_facts(self._backend, deletions, frames, known=True)[0]

    def forget(self) -> None:
        """Drop everything prepared, because rules may change, and types and tables with them."""
        self._prepared = {}

    def _deletions(self, prepared: PreparedUpdate) -> FactSet:
        if prepared.is_complete:
            return prepared.facts.deletions
        return given_facts(self._backend, *prepared.codes[0], known=True)[0]

    def _current(self, update: Update) -> PreparedUpdate | None:
        known = self._prepared.get(id(update))
        return known if known is not None and known.packings == packings(self._backend) else None

    def _prepare(self, updates: Sequence[Update], program: Program) -> list[PreparedUpdate]:
        try:
            codes = self._encoder.encode(updates, program)
        except HoldfastError:  # possibly caused by a later update
            updates = updates[:1]
            codes = self._encoder.encode(updates, program)
        facts = looked_up_each(codes, self._backend)
        moved = packings(self._backend)
        return [
            PreparedUpdate(update, moved, both, change)
            for update, both, change in zip(updates, codes, facts, strict=True)
        ]
