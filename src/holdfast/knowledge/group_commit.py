"""Group commit: updates of several threads that wait for each other become the state in one pass, with one sync.

If no thread leads, the next writer does: it applies the updates that wait, its own first, and wakes the others.  Then
one of those that came meanwhile leads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.errors import HoldfastError
from holdfast.interrupts import allowed, deferred
from holdfast.knowledge.updating import MOST_TOGETHER
from holdfast.updates import Change, Update

_PATIENCE: Final = 0.001  # seconds that a leader waits for the threads that it expects


class _Waiting:
    """An update whose thread waits: until another thread has applied it, or until it leads itself."""

    def __init__(self, update: Update, *, may_join: bool) -> None:
        self.update, self.may_join = update, may_join
        self.change: Change | None = None
        self.woken = threading.Event()


class GroupCommit:
    """Where the writers of a knowledge base meet.

    Invariant: if updates wait, one thread leads, and it is the one whose update came first, or it is about to wake it.
    """

    def __init__(self, together: Callable[[Sequence[Update]], list[Change]]) -> None:
        """`together` applies all of some updates, or raises and applies none."""
        self._together = together
        self._mutex = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._leader: _Waiting | None = None
        self._expected = 1  # threads that were in the last group, or came while it was applied
        self._are_back = threading.Event()  # as many wait now

    def apply(self, update: Update, alone: Callable[[], Change], *, may_join: bool) -> Change:
        """Apply an update: `alone`, or with others that wait if it may join them."""
        with deferred():  # a thread that leads must not go without passing that on
            mine = _Waiting(update, may_join=may_join)
            try:
                if not self._leads(mine):
                    with allowed():
                        mine.woken.wait()
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
            if len(self._waiting) >= self._expected:
                self._are_back.set()
            if self._leader is None:
                self._leader = mine
            return self._leader is mine

    def _leave(self, mine: _Waiting) -> None:
        """However its call ended: an update that still waits does not happen, and another thread leads."""
        with self._mutex:
            if mine in self._waiting:
                self._waiting.remove(mine)
            if self._leader is mine:
                self._choose_leader()

    def _wait_for_others(self) -> None:
        """The threads of the last group are about to come back, and a larger group is cheaper for each.

        Those that came meanwhile count too: otherwise two halves would take turns, each waiting for the other's sync.
        """
        with self._mutex:
            if len(self._waiting) >= self._expected:
                return
            self._are_back.clear()
        self._are_back.wait(_PATIENCE)

    def _fill(self, group: list[_Waiting]) -> None:
        """The leader's update, and those behind it that may join it."""
        with self._mutex:
            group.append(self._waiting.popleft())
            while self._waiting and group[0].may_join and self._waiting[0].may_join and len(group) < MOST_TOGETHER:
                group.append(self._waiting.popleft())

    def _applied_together(self, group: Sequence[_Waiting]) -> Change | None:
        """The change of the first; None if they have to be applied one by one: one of them may be refused."""
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
        """Wake those whose updates are applied; what is not applied waits again."""
        with self._mutex:
            self._waiting.extendleft(each for each in reversed(others) if each.change is None)
            applied = 1 + sum(each.change is not None for each in others)
            self._expected = min(applied + len(self._waiting), MOST_TOGETHER)
        for each in others:
            if each.change is not None:
                each.woken.set()

    def _choose_leader(self) -> None:
        """The first that waits leads, if there is one; the caller has the mutex."""
        self._leader = self._waiting[0] if self._waiting else None
        if self._leader is not None:
            self._leader.woken.set()
