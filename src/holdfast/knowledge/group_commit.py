"""Group commit: concurrent updates of several threads are committed in one pass, with one sync.

If no thread leads, the next writer does: it applies the waiting updates, its own first, and wakes their threads.  Then
one of the threads that arrived in the meantime leads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

from holdfast.errors import HoldfastError
from holdfast.interrupts import allowed, deferred
from holdfast.knowledge.updating import MOST_TOGETHER
from holdfast.updates import Change, Update

_PATIENCE: Final = 0.001  # seconds that a leader waits for expected threads
_GLANCE: Final = 0.25  # seconds after which a waiting thread looks for signals


class _Waiting:
    """An update whose thread waits until another thread has applied it, or until it leads itself."""

    def __init__(self, update: Update, *, may_join: bool) -> None:
        self.update, self.may_join = update, may_join
        self.change: Change | None = None
        self.woken: SimpleQueue[None] = SimpleQueue()  # has something when the thread is to go on

    def wait(self) -> None:
        """Wait until woken.  Python does not notice a signal that comes while a thread is about to wait: so stop
        waiting now and then."""
        while True:
            with suppress(Empty):
                return self.woken.get(timeout=_GLANCE)


class GroupCommit:
    """Coordinates the writers of a knowledge base.

    Invariant: if updates wait, one thread leads: the one whose update came first, or one that is about to wake it.
    """

    def __init__(self, together: Callable[[Sequence[Update]], list[Change]]) -> None:
        """`together` applies all given updates, or raises and applies none."""
        self._together = together
        self._mutex = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._leader: _Waiting | None = None
        self._expected = 1  # threads in the last group, and those that arrived meanwhile
        self._are_back = threading.Event()  # set when that many are waiting

    def apply(self, update: Update, alone: Callable[[], Change], *, may_join: bool) -> Change:
        """Apply an update: `alone`, or with other waiting updates if it may join them."""
        with deferred():  # a leader must not be interrupted before it hands over
            mine = _Waiting(update, may_join=may_join)
            try:
                if not self._leads(mine):
                    with allowed():
                        mine.wait()
                return self._lead(mine, alone) if mine.change is None else mine.change
            finally:
                self._leave(mine)

    def _lead(self, mine: _Waiting, alone: Callable[[], Change]) -> Change:
        group: list[_Waiting] = []
        try:
            self._wait_for_others()
            self._fill(group)
            change = self._applied_together(group)
            return alone() if change is None else change
        finally:
            self._pass_on(group[1:])

    def _leads(self, mine: _Waiting) -> bool:
        with self._mutex:
            self._waiting.append(mine)
            if 1 < self._expected <= len(self._waiting):  # alone, no leader waits
                self._are_back.set()
            if self._leader is None:
                self._leader = mine
            return self._leader is mine

    def _leave(self, mine: _Waiting) -> None:
        """Clean up, however the call ended: drop an update that still waits, and let another thread lead."""
        with self._mutex:
            if mine in self._waiting:
                self._waiting.remove(mine)
            if self._leader is mine:
                self._choose_leader()

    def _wait_for_others(self) -> None:
        """Wait for the threads of the last group, which are about to return: a larger group is cheaper for each.

        Threads that arrived meanwhile count too, or two halves would alternate, each waiting for the other's sync.
        """
        with self._mutex:
            if len(self._waiting) >= self._expected:
                return
            self._are_back.clear()
        self._are_back.wait(_PATIENCE)

    def _fill(self, group: list[_Waiting]) -> None:
        """Take the leader's update and the ones behind it that may join it."""
        with self._mutex:
            group.append(self._waiting.popleft())
            while self._waiting and group[0].may_join and self._waiting[0].may_join and len(group) < MOST_TOGETHER:
                group.append(self._waiting.popleft())

    def _applied_together(self, group: Sequence[_Waiting]) -> Change | None:
        """The change of the first; None if they must be applied one by one because one of them may be refused."""
        if len(group) == 1:
            return None
        try:
            changes = self._together([each.update for each in group])
        except HoldfastError:
            for each in group:
                each.may_join = False
            return None
        for each, change in zip(group, changes, strict=True):
            each.change = change
        return changes[0]

    def _pass_on(self, others: Sequence[_Waiting]) -> None:
        """Wake the threads whose updates are applied; the others wait again."""
        with self._mutex:
            self._waiting.extendleft([each for each in reversed(others) if each.change is None])
            applied = 1 + len([each for each in others if each.change is not None])
            self._expected = min(applied + len(self._waiting), MOST_TOGETHER)
        for each in others:
            if each.change is not None:
                each.woken.put(None)

    def _choose_leader(self) -> None:
        """Make the first waiting thread the leader; the caller holds the mutex."""
        self._leader = self._waiting[0] if self._waiting else None
        if self._leader is not None:
            self._leader.woken.put(None)
