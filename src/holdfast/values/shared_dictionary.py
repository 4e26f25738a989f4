"""A dictionary for several threads: one call at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any

from holdfast.settings import Memory
from holdfast.values.dictionary import Dictionary

LOCKED = tuple(name for name, member in vars(Dictionary).items() if callable(member) and not name.startswith("_"))
"""All methods of a dictionary; those that only read too, because values move in memory while others are added."""


class SharedDictionary(Dictionary):
    """The values of another dictionary, which must not be used directly meanwhile."""

    def __init__(self, dictionary: Dictionary, lock: AbstractContextManager[Any]) -> None:
        self.memory: Memory = _SharedMemory(dictionary.memory, lock)
        self._ids, self._lock = dictionary._ids, lock

    def one_thread(self) -> AbstractContextManager[Any]:
        """The lock, which is reentrant."""
        return self._lock


class _SharedMemory:
    """The memory of a run, for one thread at a time."""

    def __init__(self, memory: Memory, lock: AbstractContextManager[Any]) -> None:
        self._memory, self._lock = memory, lock

    def grown(self, what: str, nbytes: int) -> None:
        """Report that something permanent takes this number of bytes now."""
        with self._lock:
            self._memory.grown(what, nbytes)

    @contextmanager
    def holding(self, what: str, nbytes: int) -> Iterator[None]:
        """Reserve this number of bytes inside the block."""
        with self._lock, self._memory.holding(what, nbytes):
            yield

    def check(self, what: str, nbytes: int) -> None:
        """Raise if this number of additional bytes would exceed the limit."""
        with self._lock:
            self._memory.check(what, nbytes)


def _locked(name: str) -> Any:
    method = getattr(Dictionary, name)

    @wraps(method)
    def call(self: SharedDictionary, *arguments: Any, **named: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **named)

    return call


for _name in LOCKED:
    if _name not in vars(SharedDictionary):
        setattr(SharedDictionary, _name, _locked(_name))
