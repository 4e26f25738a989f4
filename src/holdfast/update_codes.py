"""The facts of updates as codes; those of several that wait together, which takes little longer than one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol, TypeAlias

import numpy as np

from holdfast.encoding import Codes, Dictionary
from holdfast.errors import HoldfastError
from holdfast.formats.python_data import FactData, encode_several
from holdfast.program.model import Program, Relation
from holdfast.updates import Several, Update

Encoded: TypeAlias = tuple[dict[str, Codes], dict[str, list[Any]]]
"""Facts as codes, and those that the backend takes as they are, by predicate."""
Both: TypeAlias = tuple[Encoded, Encoded]
"""What an update deletes and what it inserts."""


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
    """Encodes updates, under one program or another.  What was encoded ahead is used once."""

    def __init__(self, dictionary: Dictionary, takes: Callable[[object], bool],
                 find: Callable[[str, Program], Relation]) -> None:
        self._dictionary, self._takes, self._find = dictionary, takes, find
        self._ahead: dict[int, tuple[Update, Program, Both]] = {}

    def of(self, update: Update, program: Program) -> Both:
        """The facts of one update."""
        found = self._ahead.pop(id(update), None) if self._ahead else None
        return found[2] if found is not None and found[1] is program else self.together([update], program)[0]

    def ahead(self, waiting: Sequence[Waiting], program: Program) -> Both:
        """Those of the first update that waits; unless it is known already, those after it are encoded with it."""
        found = self._ahead.get(id(waiting[0].update))
        if found is None or found[1] is not program:
            updates = [item.update for item in takewhile(lambda item: item.is_plain, waiting)]
            given = [update for update in updates if update is not None]
            try:
                both = self.together(given, program)
            except HoldfastError:  # perhaps not because of the first
                both = self.together(given[:1], program)
            self._ahead = {id(update): (update, program, codes) for update, codes in zip(given, both, strict=False)}
            found = self._ahead[id(given[0])]
        return found[2]

    def forget(self) -> None:
        """Nothing is looked at ahead any more."""
        self._ahead = {}

    def together(self, updates: Sequence[Update], program: Program) -> list[Both]:
        """Those of several updates."""
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
        found = [({name: _one(rows) for name, rows in codes.items()}, left)
                 for codes, left in zip(encoded, frames, strict=True)]
        return list(zip(found[::2], found[1::2], strict=True))

    def _parts(self, facts: Mapping[str, FactData | Several], program: Program) -> list[tuple[str, FactData]]:
        return [(relation.name, part) for name, data in facts.items() for relation in (self._find(name, program),)
                for part in (data.parts if isinstance(data, Several) else (data,))]


def _one(parts: Sequence[Codes]) -> Codes:
    return np.ascontiguousarray(parts[0] if len(parts) == 1 else np.concatenate(parts))
