"""Syncs that run in a thread of their own, while the caller goes on.

An exception that another thread puts into the caller may come between any two steps here.  So syncs are numbered, and
one that may or may not have begun is begun again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

_Job: TypeAlias = "tuple[int, Callable[[], None]] | None"
_Outcome: TypeAlias = "tuple[int, OSError | None]"


class Syncer:
    """At most one sync at a time: `begin`, and `wait` before the next."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._begun: SimpleQueue[int] = SimpleQueue()
        self._ended: SimpleQueue[_Outcome] = SimpleQueue()
        self._number = 0
        self._is_running = False  # the thread

    def begin(self, sync: Callable[[], None]) -> None:
        """Returns when the thread is about to sync: it would not get there while the caller keeps the interpreter."""
        self._number += 1
        if not self._run():
            self._ended.put((self._number, _outcome(sync)))
            return
        self._jobs.put((self._number, sync))
        while self._begun.get() < self._number:  # left by a call that was interrupted
            pass

    def _run(self) -> bool:
        """See that the thread runs; False if the system, or an interpreter that is about to end, gives none."""
        if not self._is_running:
            try:
                threading.Thread(target=_work, args=(self._jobs, self._begun, self._ended), daemon=True).start()
            except RuntimeError:
                return False
            self._is_running = True
        return True

    def wait(self) -> None:
        """Wait for the last sync; raises the error of any that failed since the last `wait`."""
        number = 0
        while number < self._number:
            number, error = self._ended.get()
            if error is not None:
                raise error

    def close(self) -> None:
        """End the thread."""
        if self._is_running:
            self._jobs.put(None)
            self._is_running = False


def _work(jobs: SimpleQueue[_Job], begun: SimpleQueue[int], ended: SimpleQueue[_Outcome]) -> None:
    while (job := jobs.get()) is not None:
        number, sync = job
        begun.put(number)
        ended.put((number, _outcome(sync)))


def _outcome(sync: Callable[[], None]) -> OSError | None:
    try:
        sync()
    except OSError as error:
        return error
    return None
