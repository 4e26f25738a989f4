"""A watched query as its user sees it: changes of its answers wait until they are taken."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition
from typing import NoReturn

from holdfast.boundary import public
from holdfast.interrupts import checkpoint, deferred
from holdfast.quick_dataclass import dataclass
from holdfast.relation_view import RelationView, refuse_copying
from holdfast.values import Row

_MOST_WAITING = 1_000  # pending changes; beyond this, the oldest are merged
_LOOK = 0.05  # seconds between two checks for signals while waiting


@dataclass(frozen=True)
class WatchChange:
    """The answers that a watched query gained and lost, exactly, up to a version."""

    version: int
    added: frozenset[Row]
    removed: frozenset[Row]

    def __repr__(self) -> str:
        return f"<version {self.version}: {len(self.added):,} added, {len(self.removed):,} removed>"


class QueryWatch:
    """A query whose answers are watched; made by `kb.watch`.

    Iterating waits for the next change and ends when the watch is closed.  Any thread may iterate; each change is
    yielded once.  Updates never wait for a watch: if more than a thousand changes are waiting, the oldest are merged.
    """

    def __init__(self, rows: Callable[[], RelationView], closed: Callable[[], None]) -> None:
        self._rows, self._closed = rows, closed
        self._waiting: deque[WatchChange] = deque()
        self._moved = Condition()
        self._is_closed = False
        self._error: Exception | None = None
        self._over: weakref.finalize[[], QueryWatch] | None = None

    @property
    def rows(self) -> RelationView:
        """The answers now."""
        return self._rows()

    @public
    def next(self, timeout: float | None = None) -> WatchChange | None:
        """Wait for the next change; None after `timeout` seconds without one, or when the watch is closed.

        Raises an error if the query is no longer possible, because an update removed a relation.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with deferred():
            while True:
                left = _LOOK if end is None else min(_LOOK, max(0.0, end - time.monotonic()))
                with self._moved:
                    if self._moved.wait_for(lambda: self._waiting or self._is_closed, left):
                        return self._taken()
                if end is not None and time.monotonic() >= end:
                    return None
                checkpoint()

    def _taken(self) -> WatchChange | None:
        if self._waiting:
            return self._waiting.popleft()
        if self._error is not None:
            raise self._error
        return None

    def __iter__(self) -> Iterator[WatchChange]:
        while (change := self.next()) is not None:
            yield change

    def close(self) -> None:
        """End the watch; waiting changes can still be read."""
        self._end(None)
        self._closed()

    def __enter__(self) -> QueryWatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """Whether no more changes will come."""
        return self._is_closed

    # --- for the knowledge base ------------------------------------------------------------------------

    def when_over(self, note: Callable[[], None]) -> None:
        """Call this once, when the watch is closed or nothing refers to it any more."""
        self._over = weakref.finalize(self, note)
        self._over.atexit = False

    def put(self, change: WatchChange) -> None:
        """Add a change of the answers."""
        with deferred(), self._moved:
            if not self._is_closed and (change.added or change.removed):
                self._waiting.append(change)
                if len(self._waiting) > _MOST_WAITING:
                    self._waiting.appendleft(_merged(self._waiting.popleft(), self._waiting.popleft()))
                self._moved.notify_all()

    def fail(self, error: Exception) -> None:
        """End the watch: the query can no longer be answered."""
        self._end(error)

    def _end(self, error: Exception | None) -> None:
        with deferred(), self._moved:
            if not self._is_closed:
                self._is_closed, self._error = True, error
                self._moved.notify_all()
        if self._over is not None:
            self._over()

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        refuse_copying("a watch", "watch the query where it is needed")


def _merged(first: WatchChange, then: WatchChange) -> WatchChange:
    """The net change of two."""
    added = (first.added - then.removed) | (then.added - first.removed)
    removed = (first.removed - then.added) | (then.removed - first.added)
    return WatchChange(then.version, added, removed)
