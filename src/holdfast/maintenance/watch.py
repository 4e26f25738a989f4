"""Keeps an eye on a run: limits that stop it, inside a round too, and progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Diagnostic, LimitReached
from holdfast.interrupts import PENDING, checkpoint
from holdfast.maintenance.turns import Turns
from holdfast.settings import Limits, Progress, Silent

_UNLIMITED, _SILENT = Limits(), Silent()


class Stopwatch:
    """Seconds of work since it was made: of the clock, or of this process's processor time where that is less.

    While a busy machine lets the process wait, only the clock goes on; while other threads work, processor time does
    too.
    """

    clock: Callable[[], float] = time.monotonic
    processor: Callable[[], float] = time.process_time
    """What `auto` goes by; tests have another clock."""

    def __init__(self) -> None:
        self._begun, self._worked = Stopwatch.clock(), Stopwatch.processor()

    @property
    def work(self) -> float:
        """The seconds so far."""
        return min(self.seconds, Stopwatch.processor() - self._worked)

    @property
    def seconds(self) -> float:
        """By the clock alone: for work that other processes do."""
        return Stopwatch.clock() - self._begun


class Watch:
    """Counts what a run does; raises `LimitReached` when a limit is passed."""

    def __init__(self, limits: Limits | None = None, progress: Progress | None = None) -> None:
        self.limits = limits or _UNLIMITED
        self.progress = progress or _SILENT
        self.begun = time.monotonic()
        self.facts = self._before = 0
        self.rounds = 0
        self._node = ""
        self._bytes: dict[str, int] = {}
        self._most = self.limits.memory  # between runs it holds for what is shown and written
        self._until: float | None = None  # of this thread's processor time
        self.turns = Turns()  # with queries in other threads that are answered by an index
        self.give_way = self.turns.give_way  # let them go first; often called
        self.budget: Callable[[], None] | None = None  # of what is going on; raises when it is spent

    def begin(self, limits: Limits | None) -> None:
        """Another run begins: its seconds and rounds count from now, facts and bytes are there already."""
        self.limits, self.begun, self._before = limits or _UNLIMITED, time.monotonic(), self.facts
        self._most = self.limits.memory
        self._until = self.budget = None
        self.node("")

    def give_up_after(self, seconds: float) -> None:
        """The run is not worth more seconds of processor time."""
        self._until = time.thread_time() + seconds

    def rest(self, facts: int) -> None:
        """A run is over and left so many facts; until the next one nothing is limited."""
        self.limits, self.progress, self.facts, self._before = _UNLIMITED, _SILENT, facts, facts

    def beside(self, limits: Limits) -> Watch:
        """A watch for a run in another thread: facts and bytes count with those that are there between runs."""
        other = Watch(limits)
        other.facts = other._before = self._before
        other.grown("before", sum([*self._bytes.values()]))
        return other

    @property
    def seconds(self) -> float:
        """Since the run began."""
        return time.monotonic() - self.begun

    def node(self, name: str) -> None:
        """A hyper-node's evaluation begins."""
        self._node = name
        self.rounds = 0

    def round(self, new_facts: int) -> None:
        """A round begins."""
        if PENDING:
            checkpoint()
        if self.budget is not None:
            self.budget()
        self.rounds += 1
        self.progress.round(self._node, self.rounds, new_facts, self.facts)
        if self.limits.rounds is not None and self.rounds > self.limits.rounds:
            self._stop("E0801", f"{self._node} needs more than {self.limits.rounds:,} rounds")

    def batch(self, new_facts: int) -> None:
        """A batch of facts came in, so many of them new."""
        if PENDING:
            checkpoint()
        if self.budget is not None:
            self.budget()
        self.facts += new_facts
        if self.limits.facts is not None and self.facts > self.limits.facts:
            self._stop("E0802", f"more than {self.limits.facts:,} facts")
        if self.limits.seconds is not None and self.seconds > self.limits.seconds:
            self._stop("E0803", f"the run takes more than {self.limits.seconds:g} seconds")
        look_at_the_clock()
        if self._until is not None and time.thread_time() > self._until:
            self._stop("E0803", "the run takes more processor time than allowed")

    def waiting(self) -> None:
        """Other processes are at work: heed signals and the limit on seconds."""
        if PENDING:
            checkpoint()
        if self.limits.seconds is not None and self.seconds > self.limits.seconds:
            self._stop("E0803", f"the run takes more than {self.limits.seconds:g} seconds")
        look_at_the_clock()

    def left(self) -> tuple[float, float]:
        """The new facts that the limits allow, and the bytes in all."""
        facts = math.inf if self.limits.facts is None else self.limits.facts - self.facts
        return facts, math.inf if self.limits.memory is None else self.limits.memory

    def set_net_facts(self, more: int) -> None:
        """Count the net number of new facts at the end of a run, instead of all facts that were added on the way."""
        self.facts = self._before
        self.batch(more)

    def grown(self, table: str, nbytes: int) -> None:
        """A table takes so many bytes now."""
        self._bytes[table] = nbytes
        if self.limits.memory is not None:
            self.check("facts, strings and indexes", 0)

    @contextmanager
    def holding(self, what: str, nbytes: int) -> Iterator[None]:
        """So many more bytes are needed inside the block."""
        self.check(what, nbytes)
        self._bytes[what] = self._bytes.get(what, 0) + nbytes
        try:
            yield
        finally:
            self._bytes[what] -= nbytes

    def check(self, what: str, nbytes: int) -> None:
        """Raise if this number of additional bytes would exceed the limit."""
        # a list at once: another thread may add a table meanwhile
        if self._most is not None and sum([*self._bytes.values()]) + nbytes > self._most:
            divisor, unit = (2**20, "MiB") if self._most >= 2**20 else (1, "bytes")
            self._stop("E0804", f"{what} take more than {self._most / divisor:,.0f} {unit}")

    def _stop(self, code: str, reason: str) -> None:
        where = f" while evaluating {self._node}, round {self.rounds}" if self._node else ""
        note = f"{self.facts:,} facts after {self.seconds:.1f} s{where}; no result of this run was kept"
        help = "raise the limit, or bound the values in the rules"
        raise LimitReached(Diagnostic(code, f"limit reached: {reason}", notes=(note,), help=help))
