"""Run syncs in another thread while the caller continues.

An exception raised by another thread may interrupt the caller between any two steps here.  So syncs are numbered, and
one that may or may not have begun is repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

_Job: TypeAlias = "tuple[int, Callable[[], None]] | None"
_Outcome: TypeAlias = "tuple[int, OSError | None]"


class Syncer:
    """One sync at a time: `begin`, then `wait` before the next."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._begun: SimpleQueue[int] = SimpleQueue()
        self._ended: SimpleQueue[_Outcome] = SimpleQueue()
        self._number = 0
        self._is_running = False  # whether the thread runs

    def begin(self, sync: Callable[[], None]) -> None:
        """Begin a sync; waits until the thread is about to sync, which needs the interpreter that the caller holds."""
        self._number += 1
        if not self._run():
            self._ended.put((self._number, _outcome(sync)))
            return
        self._jobs.put((self._number, sync))
        while self._begun.get() < self._number:  # skip those of interrupted calls
            pass

    def _run(self) -> bool:
        """Start the thread if needed; False if the system, or an interpreter that is shutting down, refuses."""
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
