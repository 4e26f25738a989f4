"""The driver's side of the shards: commands in a queue, and the sizes that come back.

Commands are sent when an answer is needed.  `apply` is sent at once and is the last of its batch: if something fails,
it fails there, and the commands queued before it are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from holdfast.backends.memory.pages import in_small_pages
from holdfast.backends.parted.exchange import Obeying
from holdfast.backends.parted.handles import HeldFacts, NoFacts
from holdfast.backends.parted.partition import AnyParted
from holdfast.backends.parted.placement import Placement
from holdfast.backends.parted.shard import LASTING, FactCounts, SetTree, ShardCommand, summed
from holdfast.plans.model import Read

_MAKING = frozenset({"let", "zero"})  # commands that create a held set and return its sizes
_CHANGING = frozenset({"put", "take", "clear"})  # commands that change kept sets
# Commands that end an update, and commands that set something as a whole: safe to repeat.
_AGAIN = frozenset({"roll_back", "clear_undo", "remember", "clear", "free", "forget_plans", "hubs"})
_MANY = 1_000  # freed sets; fewer are not worth a message of their own


class Driver:
    """The queue of commands, and the state of the shards that is known without asking them."""

    def __init__(self, crew: Obeying, placement: Placement) -> None:
        self._crew, self._placement = crew, placement
        self._queue: list[ShardCommand] = []
        self._needed: list[HeldFacts] = []  # by queued changes of E and I
        self._numbers = count()
        self._sizes: dict[int, FactCounts] = {}  # of held sets, until they are read
        self._lasting: dict[str, FactCounts] | None = {name: {} for name in LASTING}  # None: unknown
        self._spread: dict[int, set[str]] = {}  # by the number of a held set: the copies that it was sent to
        self.freed: list[int] = []
        self.changes = 0  # number of changes to kept sets
        self.nothing = NoFacts(self)
        self.before_change: Callable[[HeldFacts], None] | None = None  # called before a change of E or I

    # --- commands --------------------------------------------------------------------------------------

    def do(self, *command: Any) -> None:
        """Queue a command."""
        self._queue.append(command)
        if command[0] in _CHANGING:
            self.changes += 1

    def flush(self) -> None:
        """Send the queue to all shards."""
        if self._queue or len(self.freed) > _MANY:
            self.ask()

    def ask(self, *command: Any) -> list[Any]:
        """Send the queue and then a command to all shards; returns each shard's answer to the command."""
        commands, self._queue = [*self._queue, *([command] if command else ())], []
        freed = self._taken_freed()
        if freed:
            commands.append(("free", freed))
        try:
            answers = self._asked(commands)
        except BaseException:
            self._failed(commands)
            raise
        for place, done in enumerate(commands):
            self._learn(done, [answer[place] for answer in answers])
        for number in freed:
            self._sizes.pop(number, None)
        self._needed.clear()
        at = len(commands) - 1 - bool(freed)
        return [answer[at] for answer in answers] if command else []

    @in_small_pages
    def _asked(self, commands: Sequence[ShardCommand]) -> list[list[Any]]:
        return self._crew.obey(commands)

    def sum(self, command: ShardCommand) -> FactCounts:
        """Sum the sizes of a set over all shards."""
        return summed(self.ask(*command))

    def _taken_freed(self) -> list[int]:
        taken = []
        while self.freed:
            taken.append(self.freed.pop())
            self._spread.pop(taken[-1], None)
        return taken

    def _learn(self, command: ShardCommand, answers: Sequence[Any]) -> None:
        match command:
            case ("let" | "zero", number, *_):
                self._sizes[number] = summed(answers)
            case ("put" | "take" as moved, name, _) if self._lasting is not None and name in LASTING:
                known, change = self._lasting[name], summed(answers)
                for predicate, size in change.items():
                    known[predicate] = known.get(predicate, 0) + (size if moved == "put" else -size)
                    if not known[predicate]:
                        del known[predicate]
            case ("spread", _):
                for table, size in answers[0].items():  # the same on all shards
                    self._placement.table_grown(table, size)

    def _failed(self, commands: Sequence[ShardCommand]) -> None:
        """Recover after some shards have done more than others: queue again what is safe to repeat, which completes it
        (the changes of E and I, and the end of an update)."""
        made = {command[1] for command in commands if command[0] in _MAKING}
        again = [c for c in commands if c[0] in _AGAIN or (_is_of_state(c) and c[2] not in made)]
        brought = [(c[2], sorted(self._spread[c[2]])) for c in again if _is_of_state(c) and c[2] in self._spread]
        self._queue = [*([("spread", brought)] if brought else ()), *again]
        self._lasting = None
        self._spread.clear()
        self.changes += 1

    def forget(self) -> None:
        """Clear the queue and everything known of the shards."""
        self._queue, self._needed, self._lasting = [], [], None
        self._sizes.clear()
        self._spread.clear()
        self.changes += 1

    # --- sets ------------------------------------------------------------------------------------------

    def let(self, tree: SetTree) -> HeldFacts:
        """A snapshot of a set."""
        return self._held("let", tree)

    def zero(self, counters: str, tree: SetTree) -> HeldFacts:
        """The facts whose number is 0."""
        return self._held("zero", counters, tree)

    def given(self, rows: Mapping[str, Sequence[Any]], *, known: bool) -> HeldFacts:
        """Rows, by predicate and shard, as a set of facts.  Sent at once, since it may run out of memory."""
        number = next(self._numbers)
        return HeldFacts(self, number, summed(self.ask("given", number, rows, known)))

    def loaded(self, files: Mapping[str, Sequence[str]], *, are_placed: bool) -> HeldFacts:
        """Rows in files, by predicate, as a set of facts; only for shards that can read the files.  Each shard has
        files; if hubs were found in them, its rows are not all its own."""
        number = next(self._numbers)
        if are_placed:
            return HeldFacts(self, number, summed(self.ask("load", number, files)))
        columns = {name: self._placement.primary[name] for name in files}
        return HeldFacts(self, number, summed(self.ask("deal", number, files, columns)))

    def _held(self, command: str, *arguments: Any) -> HeldFacts:
        number = next(self._numbers)
        self.do(command, number, *arguments)
        return HeldFacts(self, number)

    def sizes_of(self, number: int) -> FactCounts:
        """The sizes of a held set."""
        if number not in self._sizes:
            self.flush()
        if number not in self._sizes:  # an error intervened
            return self.sum(("sizes", ("held", number)))
        return self._sizes.pop(number)

    def change(self, command: str, name: str, facts: HeldFacts) -> None:
        """Add facts to a kept set or remove them."""
        if self.before_change is not None and name in LASTING:
            self.before_change(facts)
        self.do(command, name, facts.number)
        if name in LASTING:
            self._needed.append(facts)

    def lasting_sizes(self, name: str) -> FactCounts:
        """The sizes of E or I."""
        self.flush()
        return self.sizes_before_queue(name)

    def sizes_before_queue(self, name: str) -> FactCounts:
        """The sizes of E or I without the queued changes."""
        if self._lasting is None:
            self._lasting = {each: self.sum(("sizes", ("kept", each))) for each in LASTING}
        return self._lasting[name]

    def drop(self, name: str) -> None:
        """Forget a dropped relation."""
        self.changes += 1
        for sizes in (self._lasting or {}).values():
            sizes.pop(name, None)

    # --- copies ----------------------------------------------------------------------------------------

    def spread_to_copies(self, facts: HeldFacts) -> None:
        """Send a set to all copies of its relations, before it changes a kept set."""
        placement = self._placement
        for predicate, size in facts.sizes().items() if placement.copies else ():
            if predicate in placement.copies:
                placement.grown(predicate, size + self.sizes_before_queue("materialisation").get(predicate, 0))
        if placement.copies:
            self._bring(facts, placement.copies_of(facts.sizes()))

    def forget_copy(self, table: str) -> None:
        """Forget a dropped copy."""
        for tables in self._spread.values():
            tables.discard(table)

    def bring_to_readers(self, sources: Mapping[Read, Iterable[HeldFacts]], plans: Iterable[AnyParted]) -> None:
        """Send sets to the copies that plans read them from."""
        for read, copy in {place for parted in plans for place in parted.reads}:
            for leaf in sources.get(read, ()):
                self._bring(leaf, [copy.name])

    def _bring(self, facts: HeldFacts, tables: Sequence[str]) -> None:
        there = self._spread.setdefault(facts.number, set())
        lacking = [table for table in tables if table not in there]
        if lacking:
            there.update(lacking)
            if not self._queue or self._queue[-1][0] != "spread":
                self.do("spread", [])
            self._queue[-1][1].append((facts.number, lacking))  # all in one exchange


def _is_of_state(command: ShardCommand) -> bool:
    """Whether a command changes E or I."""
    return command[0] in ("put", "take") and command[1] in LASTING
