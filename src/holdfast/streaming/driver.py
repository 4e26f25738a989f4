"""Take updates from a queue and answer each with its change, in order, making use of those that wait.

The next updates are inspected, but never waited for.  They affect only the speed: each answer is exactly what its
update changed.  Only `coalesce` skips states, and lists them.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.boundary import public
from holdfast.errors import Diagnostic, HoldfastError, UsageError
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.maintenance.marking import Marking, Marks
from holdfast.program.model import Program
from holdfast.streaming.queue import Incoming, UpdateQueue
from holdfast.streaming.window_size import WindowSize
from holdfast.updates import Change, Update

LOOKAHEADS = ("auto", "none", "marks", "window")
WINDOW = 32
MOST = 62  # updates in one pass


class Changes(Protocol):
    """The changes of several updates that were computed in one pass, to be committed one by one."""

    def advance(self) -> Change | None:
        """Commit the next update; None, with no effect, if the state has changed otherwise since."""
        ...


class Base(Protocol):
    """The parts of a knowledge base that the driver uses."""

    def apply(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """Apply one update."""
        ...

    def window(self, updates: Sequence[Update], *, seconds: float | None = None) -> Changes:
        """Compute several updates in one pass; raises E0803 after this many seconds of processor time."""
        ...

    def apply_net(self, updates: Sequence[Update], *, algorithm: str | Choice = AUTO) -> Change:
        """Apply the net effect of several updates."""
        ...

    def marking(self, ahead: UpdateQueue | None) -> Marking | None:
        """Start marking for the next update in a queue; None stops it."""
        ...

    @property
    def program(self) -> Program:
        """The rules."""
        ...

    @property
    def takes_one_by_one(self) -> bool:
        """Whether windows cannot be used, for example because limits apply to each update."""
        ...


@dataclass(frozen=True)
class Answer:
    """The result of one update of a stream."""

    number: int
    change: Change | None  # None if the update was refused or merged into another
    error: HoldfastError | None = None
    merged: tuple[int, ...] = ()  # the updates whose net change this is; the last is this one
    into: int | None = None  # if it was merged: the number of the update that carries its effect
    waiting: int = 0  # updates in the queue when this one began
    window: int = 1  # updates computed in the same pass
    seconds: float = 0.0  # in a window, an equal share
    marks: Marks = Marks()  # noqa: RUF009  frozen


@dataclass(frozen=True)
class Lookahead:
    """What to do with waiting updates: `none`; `marks`, the paper's marking for the next update; `window`, several in
    one pass; or `auto`.  When more than `coalesce` updates wait, they are merged."""

    kind: str = AUTO
    window: int = WINDOW
    coalesce: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in LOOKAHEADS:
            help = f"the choices are {', '.join(LOOKAHEADS)}"
            raise UsageError(Diagnostic("E0905", f"unknown lookahead {self.kind}", help=help))
        if not 1 <= self.window <= MOST:
            raise UsageError(Diagnostic("E0919", f"a window has 1 to {MOST} updates, not {self.window}"))
        if self.coalesce is not None and self.coalesce < 1:
            raise UsageError(Diagnostic("E0919", f"updates cannot be merged when {self.coalesce} are waiting"))


class Stream:
    """An iterator over the answers to the updates of a queue; `queue` may be inspected at any time."""

    def __init__(
        self,
        base: Base,
        queue: UpdateQueue,
        algorithm: str | Choice = AUTO,
        lookahead: Lookahead | None = None,
        *,
        keep_going: bool = False,
    ) -> None:
        self.queue, self.algorithm = queue, algorithm
        self._base, self._lookahead, self._keep_going = base, lookahead or Lookahead(), keep_going
        self._size = WindowSize(
            self._lookahead.window, rules=len(self._base.program.rules), always=self._lookahead.kind == "window"
        )
        self._answers = self._all()

    def __iter__(self) -> Iterator[Answer]:
        return self

    @public
    def __next__(self) -> Answer:
        return next(self._answers)

    def close(self) -> None:
        """End the stream; `put` into its queue then raises."""
        self._answers.close()
        self.queue.close()

    def _all(self) -> Generator[Answer]:
        marking = self._base.marking(self.queue if self._lookahead.kind == "marks" else None)
        try:
            while (first := self.queue.take()) is not None:
                for answer in self._next(first, marking):
                    if answer.error is not None and not self._keep_going:
                        raise answer.error
                    yield answer
        finally:  # takes no lock of the knowledge base: the garbage collector may run this in any thread, at any time
            if marking is not None:
                marking.is_over = True
            self.queue.close()

    def _next(self, first: Incoming, marking: Marking | None) -> Iterator[Answer]:
        """The answers to the next update, and to those applied with it."""
        waiting, coalesce = len(self.queue), self._lookahead.coalesce
        if coalesce is not None and waiting > coalesce and first.is_plain:
            yield from self._merged(self._with_following(first, waiting + 1), waiting)
        elif first.is_plain and (size := self._window(waiting + 1)) > 1:
            yield from self._together(self._with_following(first, size), waiting)
        else:
            yield self._alone(first, waiting, marking)

    def _window(self, there: int) -> int:
        """The number of available updates to compute in one pass."""
        is_auto = self._lookahead.kind == AUTO and self.algorithm in (AUTO, Choice())
        if not (is_auto or self._lookahead.kind == "window") or self._base.takes_one_by_one:
            return 1
        return self._size.next(there)

    def _with_following(self, first: Incoming, most: int) -> list[Incoming]:
        """Take the updates from the queue that directly follow this one and change only facts."""
        found = [first]
        for item in self.queue.ahead(most - 1):
            if not item.is_plain:
                break
            taken = self.queue.take()
            assert taken is item
            found.append(item)
        return found

    def _alone(self, item: Incoming, waiting: int, marking: Marking | None = None) -> Answer:
        begun, worked = time.monotonic(), time.thread_time()
        if item.update is None:
            return Answer(item.number, None, item.error, waiting=waiting)
        try:
            change = self._base.apply(item.update, algorithm=self.algorithm)
        except HoldfastError as error:
            return Answer(item.number, None, item.placed(error), waiting=waiting)
        seconds = time.monotonic() - begun
        self._size.took_alone(
            time.thread_time() - worked,
            sum(node.instances for node in change.figures),
            sum(node.deletion for node in change.figures),
        )
        marks = marking.taken() if marking is not None else Marks()
        return Answer(item.number, change, waiting=waiting, seconds=seconds, marks=marks)

    def _together(self, items: list[Incoming], waiting: int) -> Iterator[Answer]:
        """Apply several updates in one pass; if that fails, one by one, so that the right one fails."""
        begun, worked = time.monotonic(), time.thread_time()
        try:
            updates = [item.update for item in items if item.update is not None]
            changes = self._base.window(updates, seconds=self._size.budget(len(items)))
        except HoldfastError as error:
            if error.diagnostics[0].code == "E0803":
                self._size.gave_up(len(items))
            yield from (self._alone(item, waiting) for item in items)
            return
        share, work = (time.monotonic() - begun) / len(items), time.thread_time() - worked
        for number, item in enumerate(items):
            begun, worked = time.monotonic(), time.thread_time()
            change = changes.advance()
            if change is None:  # the knowledge base changed between two answers
                yield from (self._alone(late, waiting) for late in items[number:])
                return
            seconds = share + time.monotonic() - begun
            work += time.thread_time() - worked
            yield Answer(item.number, change, waiting=waiting, window=len(items), seconds=seconds)
        self._size.took_together(len(items), work / len(items))

    def _merged(self, items: list[Incoming], waiting: int) -> Iterator[Answer]:
        """Apply the net effect of several updates; one by one if one of them is refused."""
        begun, last = time.monotonic(), items[-1].number
        try:
            updates = [item.update for item in items if item.update is not None]
            change = self._base.apply_net(updates, algorithm=self.algorithm)
        except HoldfastError:
            yield from (self._alone(item, waiting) for item in items)
            return
        yield from (Answer(item.number, None, into=last, waiting=waiting) for item in items[:-1])
        yield Answer(
            last, change, merged=tuple(item.number for item in items), waiting=waiting, seconds=time.monotonic() - begun
        )
