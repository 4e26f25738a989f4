"""Undo updates by applying their inverses, the latest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from holdfast.errors import Diagnostic, UsageError
from holdfast.updates import NO_INVERSE, Change, Update

MOST = 32  # updates that can be undone


class UndoStack:
    """The last updates of a knowledge base; used under its lock."""

    def __init__(self) -> None:
        self._inverses: deque[Callable[[], Update]] = deque(maxlen=MOST)
        self._is_undoing = False

    def note(self, changes: Sequence[Change]) -> None:
        """Record committed updates."""
        if not self._is_undoing:
            self._inverses.extend(change.origin.inverse for change in changes if change.origin is not None)

    def clear(self) -> None:
        """Forget all updates: they can no longer be undone."""
        self._inverses.clear()

    def undo(self, apply: Callable[[Update], Change]) -> Change:
        """Apply the inverse of the last update that is not undone yet."""
        if not self._inverses:
            help = f"the last {MOST} updates since the knowledge base was opened can be undone, with the memory engine"
            raise UsageError(Diagnostic(NO_INVERSE, "there is no update to undo", help=help))
        self._is_undoing = True
        try:
            change = apply(self._inverses[-1]())
        finally:
            self._is_undoing = False
        self._inverses.pop()
        return change
