"""Cn and Cr on Spark, and bags of facts to count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from holdfast.backends.protocol import Bag, Facts
from holdfast.backends.spark.facts import Far, Form, FormContext, Local, SparkFacts, own
from holdfast.backends.spark.frames import Frame
from holdfast.backends.spark.relations import STATE, Log, Stored
from holdfast.backends.spark.values import NativeRow
from holdfast.errors import Diagnostic, LimitReached

_MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Many:
    """Facts with their numbers of occurrences in column `k`; column `new` is true for `unknown` facts."""

    frame: Frame
    facts: int
    instances: int
    unknown: int
    mark: object  # the kept set that does not have them


class SparkBag:
    """The heads of rule instances, each with its number of occurrences, on the driver or in a frame."""

    def __init__(
        self,
        engine: FormContext,
        few: Mapping[str, Mapping[NativeRow, int]],
        many: Mapping[str, Many] | None = None,
        rest: Mapping[str, tuple[object, Local]] | None = None,
    ) -> None:
        self.engine = engine
        self.few = few
        self.many = many or {}
        self._rest = rest or {}  # for small bags: the facts that a kept set lacks

    def __len__(self) -> int:
        few = sum(sum(rows.values()) for rows in self.few.values())
        return few + sum(many.instances for many in self.many.values())

    def support(self) -> SparkFacts:
        """The facts that occur at least once."""
        forms: dict[str, Form] = {
            name: Local(frozenset(rows), rest=self._rest.get(name)) for name, rows in self.few.items()
        }
        for name, many in self.many.items():
            columns = ", ".join(f"c{place}" for place in range(self.engine.width(name)))
            query, space = f"SELECT {columns} FROM {many.frame.table}", many.frame.space
            form = Far(whole := Frame(space, query, [many.frame], (many.frame, "true")), many.facts, stays=True)
            if many.mark is not None:
                new = Frame(space, f"{query} WHERE new", [many.frame], (many.frame, "new"))
                unknown = whole if many.unknown == many.facts else new
                rest = Far(unknown, many.unknown, frozenset({many.mark}), stays=True)
                form = replace(form, rest=(many.mark, rest))
            forms[name] = form
        return SparkFacts(self.engine, forms)


class SparkCounters:
    """One of the two counters."""

    def __init__(
        self, engine: FormContext, stored: Mapping[str, Stored], place: int, undo: list[Callable[[], None]]
    ) -> None:
        self.engine = engine
        self.stored = stored
        self.place = place
        self.remembers = False  # recorded during an update, for rollback
        self._undo = undo  # of both counters: they share one base, so changes are undone in reverse order

    def add(self, facts: Bag | Facts) -> None:
        """Count each occurrence once more."""
        self._move(facts, 1)

    def subtract(self, facts: Bag | Facts) -> None:
        """Count each occurrence once less."""
        self._move(facts, -1)

    def zero(self, facts: Facts) -> SparkFacts:
        """The facts whose number is 0."""
        facts = own(facts).snapshot()
        return SparkFacts(self.engine, {p: self._zero(p, facts.form(p)) for p in facts.predicates()})

    def forget(self, predicates: Iterable[str]) -> None:
        """Set the numbers of some predicates to 0."""
        for predicate in predicates:
            stored, name = self.stored[predicate], STATE[self.place]
            if self.remembers:
                numbers = {row: record[self.place] for row, record in stored.records.items()}
                self._undo.append(partial(self._restore, stored, stored.base, numbers, list(stored.logs[self.place])))
            for record in stored.records.values():
                record[self.place] = 0
            stored.logs[self.place].clear()
            if stored.base is not None:
                states = (f"0L AS {name}" if other == name else other for other in STATE)
                query = f"SELECT {stored.list}, {', '.join(states)} FROM {stored.base.table}"
                stored.base = Frame(stored.space, query, [stored.base])

    def roll_back(self) -> None:
        """Undo everything since `clear_undo`, in the other counter too."""
        for undo in reversed(self._undo):
            undo()
        self.clear_undo()

    def clear_undo(self) -> None:
        """Drop the record: earlier changes can no longer be rolled back."""
        self._undo.clear()

    def _restore(self, stored: Stored, base: Frame | None, numbers: Mapping[NativeRow, int], logs: list[Log]) -> None:
        """Drop newer records, which do not know the old numbers; their rows will be looked up again."""
        stored.base = base
        stored.logs[self.place][:] = logs
        for row in [row for row in stored.records if row not in numbers]:
            del stored.records[row]
        for row, number in numbers.items():
            stored.records[row][self.place] = number

    def _zero(self, predicate: str, form: Form) -> Form:
        stored = self.stored[predicate]
        if isinstance(form, Local) and not stored.logs[self.place]:
            stored.learn(form.rows)
            return Local(frozenset(row for row in form.rows if not stored.records[row][self.place]))
        asked = self.engine.frame(predicate, form)
        numbers = stored.numbers(self.place)
        held = (
            f"SELECT {asked.sent('a', numbers)}n.* FROM {numbers.table} n LEFT SEMI JOIN {asked.table} a "
            f"ON {stored.equal('n', 'a')}"
        )
        counted = f"SELECT {stored.list} FROM ({held}) GROUP BY {stored.list} HAVING sum(k) <> 0"
        query = f"SELECT a.* FROM {asked.table} a LEFT ANTI JOIN ({counted}) m ON {stored.equal('a', 'm')}"
        known = form.apart if isinstance(form, Far) else frozenset()
        return Far(Frame(stored.space, query, [asked, numbers]), apart=known)

    def _move(self, facts: Bag | Facts, step: int) -> None:
        if isinstance(facts, SparkBag):
            for predicate, rows in facts.few.items():
                self._count(predicate, rows, step)
            for predicate, many in facts.many.items():
                self._log(predicate, Log(many.frame, "k", step))
            return
        assert isinstance(facts, SparkFacts)
        for predicate, form in facts.snapshot().forms.items():
            if isinstance(form, Local):
                self._count(predicate, dict.fromkeys(form.rows, 1), step)
            else:
                self._log(predicate, Log(self.engine.frame(predicate, form), "1L", step))

    def _count(self, predicate: str, rows: Mapping[NativeRow, int], step: int) -> None:
        stored = self.stored[predicate]
        stored.learn(rows)
        for row, times in rows.items():
            stored.records[row][self.place] += step * times
        if self.remembers:
            self._undo.append(partial(self._uncount, stored, rows, step))
        if any(stored.records[row][self.place] > _MOST for row in rows):
            message = f"a fact of {predicate} has more than {_MOST:,} derivations, more than a counter holds"
            help = "`_` or an unused variable in a rule's body may multiply them: project it out in a separate rule"
            raise LimitReached(Diagnostic("E0805", message, help=help))

    def _uncount(self, stored: Stored, rows: Mapping[NativeRow, int], step: int) -> None:
        for row, times in rows.items():
            stored.records[row][self.place] -= step * times

    def _log(self, predicate: str, log: Log) -> None:
        logs = self.stored[predicate].logs[self.place]
        logs.append(log)
        if self.remembers:
            self._undo.append(partial(logs.__delitem__, -1))
