"""Relations, backends and rows for these tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.backends.memory import threads
from holdfast.backends.memory.execution import buffers
from holdfast.backends.memory.store import MemoryBackend
from holdfast.maintenance.watch import Watch
from holdfast.program.model import Column, Relation, Var
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

Fact = tuple[int, ...]
SCRATCH = 0xF0  # the bits of a status byte that are set only for a while


def relation(name: str, *types: Type) -> Relation:
    columns = tuple(Column(f"c{i}", type, type.value) for i, type in enumerate(types))
    return Relation(name, name, columns)


def numbers(name: str, arity: int) -> Relation:
    return relation(name, *[Type.NUMBER] * arity)


def backend(*relations: Relation, watch: Watch | None = None) -> MemoryBackend:
    return MemoryBackend({r.name: r for r in relations}, Dictionary(), watch or Watch())


def var(name: str) -> Var:
    return Var(name, Type.NUMBER)


def rows(facts: Iterable[Sequence[int]], arity: int) -> NDArray[np.int64]:
    listed = list(facts)
    return np.array(listed, np.int64).reshape(len(listed), arity)


def as_facts(found: NDArray[np.int64]) -> list[Fact]:
    return [tuple(row) for row in found.tolist()]


def no_scratch_left(store: MemoryBackend) -> bool:
    return not any(((t.status | t.proof) & SCRATCH).any() for t in store.tables.values())


@contextmanager
def small_batches(size: int, worth_splitting: int | None = None) -> Iterator[None]:
    """Batches of a few bindings, and two threads for so few already."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffers, "BATCH", size)
        if worth_splitting is not None:
            always_two_threads(patch, worth_splitting)
        yield


def always_two_threads(patch: pytest.MonkeyPatch, rows: int) -> None:
    patch.setattr(threads, "_WORTH_IT", rows)
    patch.setattr(threads, "_has_second_core", lambda: True)


def sets_of(store: MemoryBackend, facts: Mapping[str, Iterable[Fact]]) -> dict[str, NDArray[np.int64]]:
    return {name: rows(found, store.tables[name].arity) for name, found in facts.items()}
