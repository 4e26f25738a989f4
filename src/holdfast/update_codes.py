"""The facts of updates as codes and as facts; of several that wait together, which takes little longer than one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol, TypeAlias

import numpy as np

from holdfast.backends.abilities import facts_each, given_facts, packings
from holdfast.backends.protocol import Backend, Facts
from holdfast.encoding import Codes, Dictionary
from holdfast.errors import HoldfastError
from holdfast.formats.fact_data import FactData, Several
from holdfast.formats.rdf_mirrors import refuse_unmirrored
from holdfast.program.model import Program, Relation
from holdfast.quick_dataclass import dataclass
from holdfast.updates import Update

Encoded: TypeAlias = tuple[dict[str, Codes], dict[str, list[Any]]]
"""Facts as codes, and those that the backend takes as they are, by predicate."""
Both: TypeAlias = tuple[Encoded, Encoded]
"""What an update deletes and what it inserts."""


TOGETHER = 8  # updates that are made ready at a time


class Waiting(Protocol):
    """An update in a queue, or what could not be read as one."""

    @property
    def update(self) -> Update | None:
        """None if it could not be read."""
        ...

    @property
    def is_plain(self) -> bool:
        """Whether it changes facts and no rules."""
        ...


class UpdateCodes:
    """Encodes updates, under one program or another."""

    def __init__(
        self, dictionary: Dictionary, takes: Callable[[object], bool], find: Callable[[str, Program], Relation]
    ) -> None:
        self._dictionary, self._takes, self._find = dictionary, takes, find

    def of(self, updates: Sequence[Update], program: Program) -> list[Both]:
        """What each of some updates deletes and inserts."""
        from holdfast.formats.python_data import encode_several

        given = [facts for update in updates for facts in (update.delete, update.insert)]
        parts: dict[str, list[tuple[int, FactData]]] = {}
        encoded: list[dict[str, list[Codes]]] = [{} for _ in given]
        frames: list[dict[str, list[Any]]] = [{} for _ in given]
        for place, facts in enumerate(given):
            for relation, part in self._parts(facts, program):
                if self._takes(part):
                    frames[place].setdefault(relation, []).append(part)
                else:
                    parts.setdefault(relation, []).append((place, part))
        for name, several in parts.items():
            codes = encode_several([part for _, part in several], program.relations[name], self._dictionary)
            for (place, _), rows in zip(several, codes, strict=True):
                encoded[place].setdefault(name, []).append(rows)
        found = [
            ({name: _one(rows) for name, rows in codes.items()}, left)
            for codes, left in zip(encoded, frames, strict=True)
        ]
        for rows_of, left in found:
            refuse_unmirrored(program.relations, rows_of, self._dictionary, left, what="the facts of an update of")
        return list(zip(found[::2], found[1::2], strict=True))

    def _parts(self, facts: Mapping[str, FactData | Several], program: Program) -> list[tuple[str, FactData]]:
        return [
            (relation.name, part)
            for name, data in facts.items()
            for relation in (self._find(name, program),)
            for part in (data.parts if isinstance(data, Several) else (data,))
        ]


@dataclass(frozen=True)
class Ready:
    """An update with its facts: all that it inserts, and those that it deletes, as far as they were known then."""

    update: Update
    packings: int  # how often facts had been moved
    codes: Both
    gone: Facts
    come: Facts

    @property
    def given(self) -> int:
        """The facts in it, repeated ones too."""
        return sum(len(rows) for codes, _ in self.codes for rows in codes.values())

    @property
    def tells_all(self) -> bool:
        """Whether no fact that it deletes can have become known since."""
        return len(self.gone) == sum(map(len, self.codes[0][0].values()))


class Ahead:
    """Makes updates ready with those that wait behind them, of a stream that looks ahead: each is used once."""

    def __init__(self, codes: UpdateCodes, backend: Backend, waiting: Callable[[int], Sequence[Waiting]]) -> None:
        self._codes, self._backend, self._waiting = codes, backend, waiting
        self._ready: dict[int, Ready] = {}

    def take(self, update: Update, program: Program) -> Ready:
        """An update that is about to be applied; it changes no rules."""
        known = self._current(update)
        if known is None:
            following = [item.update for item in takewhile(lambda item: item.is_plain, self._waiting(TOGETHER - 1))]
            updates = [update, *(other for other in following if other is not None)]
            self._ready = {id(ready.update): ready for ready in self._made(updates, program)}
            known = self._ready[id(update)]
        del self._ready[id(update)]
        return known

    def look(self, program: Program) -> Facts | None:
        """What the next update deletes, if it is there, changes no rules and is not going to be refused."""
        waiting = self._waiting(1)
        if not waiting or waiting[0].update is None or not waiting[0].is_plain:
            return None
        update = waiting[0].update
        known = self._current(update)
        if known is not None:
            return self.deleted(known)
        try:
            [((deletions, frames), _)] = self._codes.of([update], program)
        except HoldfastError:
            return None
        return given_facts(self._backend, deletions, frames, known=True)

    def forget(self) -> None:
        """Rules may change, and types and tables with them."""
        self._ready = {}

    def deleted(self, ready: Ready) -> Facts:
        """The facts that an update deletes."""
        return ready.gone if ready.tells_all else given_facts(self._backend, *ready.codes[0], known=True)

    def _current(self, update: Update) -> Ready | None:
        known = self._ready.get(id(update))
        return known if known is not None and known.packings == packings(self._backend) else None

    def _made(self, updates: Sequence[Update], program: Program) -> list[Ready]:
        try:
            both = self._codes.of(updates, program)
        except HoldfastError:  # perhaps not because of the first
            updates = updates[:1]
            both = self._codes.of(updates, program)
        come = facts_each(self._backend, [insert for _, (insert, _) in both])  # a fact may go before it has come
        gone = facts_each(self._backend, [delete for (delete, _), _ in both], known=True)
        moved = packings(self._backend)
        return [
            Ready(update, moved, codes, goes, comes)
            for update, codes, goes, comes in zip(updates, both, gone, come, strict=True)
        ]


def _one(parts: Sequence[Codes]) -> Codes:
    return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
