"""Progress on a terminal: nothing for two seconds, then the hyper-node, the round and the new facts."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from holdfast.cli import terminal
from holdfast.errors import printable
from holdfast.interrupts import deferred

if TYPE_CHECKING:
    from rich.status import Status

SILENT_SECONDS = 2.0
UPDATE_SECONDS = 0.1  # rounds can be very short; a person cannot read faster than this
COMPILING = "preparing the kernels; a first run compiles them, which takes about ten seconds …"


class PlainProgress:
    """For logs and pipes: prints only that the user has to wait for the compiler."""

    def __init__(self) -> None:
        self._announced = False

    def started(self, nodes: int) -> None:
        """The run begins."""

    def compiling(self) -> None:
        """Kernels are being loaded, or compiled if this machine has not cached them, which takes long."""
        if not self._announced:
            terminal.note(COMPILING)
        self._announced = True

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        """A round has ended."""

    def finished(self) -> None:
        """The run has ended."""


class TerminalProgress:
    """For a terminal: one line, updated in place and removed at the end of the run."""

    def __init__(self) -> None:
        self._status: Status | None = None
        self._text = "reading facts …"
        self._next_update = 0.0
        self._lock = threading.Lock()
        self._timer = threading.Timer(SILENT_SECONDS, self._show)
        self._timer.daemon = True
        with deferred():
            self._timer.start()

    def started(self, nodes: int) -> None:
        """The facts are loaded; evaluation begins."""
        self._text = f"evaluating {nodes} hyper-nodes …"

    def compiling(self) -> None:
        """Kernels are being loaded, or compiled if this machine has not cached them; reported at once."""
        self._text = COMPILING
        self._show()

    def round(self, node: str, round: int, new_facts: int, facts: int) -> None:
        """A round has ended."""
        self._text = f"{printable(node)}: round {round:,}, {new_facts:,} new, {facts:,} facts"
        now = time.monotonic()
        if self._status is not None and now > self._next_update:
            self._status.update(self._text)
            self._next_update = now + UPDATE_SECONDS

    def finished(self) -> None:
        """The run has ended: remove the line."""
        with deferred(), self._lock:
            self._timer.cancel()
            if self._status is not None:
                self._status.stop()
                self._status = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.status import Status

        with self._lock:
            if self._status is None:
                self._status = Status(self._text, console=Console(stderr=True, highlight=False, markup=False))
                self._status.start()
            self._status.update(self._text)


def for_this_terminal() -> PlainProgress | TerminalProgress:
    """The progress for stderr, which may be a terminal or not."""
    return TerminalProgress() if terminal.is_terminal(sys.stderr) else PlainProgress()
