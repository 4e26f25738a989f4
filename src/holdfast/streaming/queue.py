"""The queue between producers of updates and the stream that applies them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition

from holdfast.arguments import expect
from holdfast.boundary import public
from holdfast.errors import Diagnostic, HoldfastError, UsageError
from holdfast.interrupts import checkpoint, deferred
from holdfast.updates import Update, the_update

CAPACITY = 64  # updates
_LOOK = 0.05  # seconds between two checks for signals while waiting


@dataclass(frozen=True, eq=False)
class Incoming:
    """One update of a stream, or the error in its place, with its number."""

    number: int
    update: Update | None
    error: HoldfastError | None = None
    placed: Callable[[HoldfastError], HoldfastError] = lambda error: error  # adds its source to an error

    @property
    def is_plain(self) -> bool:
        """Whether it changes only facts."""
        return self.update is not None and not self.update.add_rules and not self.update.remove_rules


class UpdateQueue:
    """A bounded queue of updates.  Any number of threads may call `put`; a stream takes them in order.

    `put` blocks while the queue holds `capacity` updates.  `longest` is the maximum length so far, and `held_up` the
    seconds that producers have waited.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        expect(capacity, int, "the capacity of a queue is a number of updates")
        if capacity < 1:
            raise UsageError(Diagnostic("E0919", f"a queue cannot hold {capacity} updates", help="it holds at least 1"))
        self.capacity = capacity
        self.longest = 0
        self.held_up = 0.0
        self._waiting: deque[Incoming] = deque()
        self._moved = Condition()
        self._number = 0
        self._closed = False
        self._failure: BaseException | None = None

    @public
    def put(self, update: Update) -> None:
        """Add an update; blocks while the queue is full."""
        the_update(update)
        self.put_item(lambda number: Incoming(number, update))

    def put_item(self, made: Callable[[int], Incoming]) -> None:
        """Like `put`, for an item created from its number in the stream."""
        begun = time.monotonic()
        with self._when(lambda: self._closed or len(self._waiting) < self.capacity):
            self.held_up += time.monotonic() - begun
            if self._closed:
                raise UsageError(Diagnostic("E0920", "the queue of updates is closed", help="its stream has ended"))
            self._number += 1
            self._waiting.append(made(self._number))
            self.longest = max(self.longest, len(self._waiting))
            self._moved.notify_all()

    def close(self, failure: BaseException | None = None) -> None:
        """End the queue.  A `failure` is raised in the stream after the last update."""
        with deferred(), self._moved:
            self._closed, self._failure = True, failure if self._failure is None else self._failure
            self._moved.notify_all()

    def take(self) -> Incoming | None:
        """Wait for the next update; None at the end."""
        with self._when(lambda: self._closed or bool(self._waiting)):
            if not self._waiting:
                if self._failure is not None:
                    raise self._failure
                return None
            taken = self._waiting.popleft()
            self._moved.notify_all()
            return taken

    def ahead(self, most: int = 1) -> list[Incoming]:
        """The next updates that have arrived, which stay in the queue; never blocks."""
        with deferred(), self._moved:
            return [self._waiting[i] for i in range(min(most, len(self._waiting)))]

    @contextmanager
    def _when(self, ready: Callable[[], bool]) -> Iterator[None]:
        """Wait until the condition holds, and lock the queue inside the block.

        A signal handler that raises inside a `Condition` would corrupt its lock, so signals are handled outside.
        """
        with deferred():
            while True:
                with self._moved:
                    if self._moved.wait_for(ready, _LOOK):
                        yield
                        return
                checkpoint()

    def __len__(self) -> int:
        return len(self._waiting)
