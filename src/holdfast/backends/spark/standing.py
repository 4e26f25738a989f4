"""E and I as sets of facts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from holdfast.backends.protocol import Facts
from holdfast.backends.spark.facts import (
    NOTHING,
    Far,
    Form,
    FormContext,
    Local,
    NativeRows,
    Near,
    SparkFacts,
    apart,
    own,
    size,
)
from holdfast.backends.spark.frames import Frame
from holdfast.backends.spark.relations import I, Stored
from holdfast.backends.spark.values import NativeRow


class Standing(SparkFacts):
    """E or I."""

    def __init__(self, engine: FormContext, stored: Mapping[str, Stored], flag: int) -> None:
        super().__init__(engine)
        self.stored = stored
        self.flag = flag

    def predicates(self) -> Iterator[str]:
        """The predicates that have facts in it."""
        return (name for name, stored in self.stored.items() if stored.counts[self.flag])

    def form(self, predicate: str) -> Form:
        """The facts of one predicate."""
        stored = self.stored[predicate]
        if stored.waits(self.flag):
            return Far(stored.frame(self.flag), stored.counts[self.flag], stays=True)
        return Near(self) if stored.counts[self.flag] else NOTHING

    def mark(self, predicate: str) -> object:
        """A name for the set as it is now."""
        return (id(self), predicate, self.stored[predicate].version)

    def __sub__(self, other: Facts) -> SparkFacts:
        """`I \\ Δ` after `I ∪= Δ` is I before that: its older segments."""
        result, rest = super().__sub__(other), own(other)
        for predicate in rest.predicates():
            form, stored = rest.form(predicate), self.stored[predicate]
            before = stored.before(self.flag, form.frame) if isinstance(form, Far) else None
            if before is not None and isinstance(form, Far) and form.size is not None:
                result.forms[predicate] = Far(before, stored.counts[self.flag] - form.size, stays=True)
        return result

    def having(self, predicate: str, rows: Collection[NativeRow]) -> NativeRows:
        """The rows that are in the set."""
        stored = self.stored[predicate]
        if stored.base is not None:
            stored.learn(rows)
        records = stored.records
        return frozenset(row for row in rows if row in records and records[row][self.flag])

    def here(self, predicate: str) -> NativeRows | None:
        """The facts of a predicate, if the driver has them all."""
        stored = self.stored[predicate]
        if stored.base is not None or stored.waits(self.flag):
            return None
        return frozenset(row for row, record in stored.records.items() if record[self.flag])

    def count(self, predicate: str) -> int:
        """The number of facts of a predicate."""
        return self.stored[predicate].counts[self.flag]

    def frame(self, predicate: str) -> Frame:
        """The facts of a predicate as a frame."""
        return self.stored[predicate].frame(self.flag)

    def __ior__(self, more: Facts) -> Standing:
        for predicate, form in [(p, own(more).form(p)) for p in own(more).predicates()]:
            stored = self.stored[predicate]
            match form:
                case Local(rows=rows) if not stored.waits(self.flag):
                    stored.put(self.flag, rows, 1)
                case Near(standing=Standing(flag=0), less=less, more=rows) if self.flag == I and not stored.counts[I]:
                    stored.mirror(less, rows)
                case _:
                    self._append(predicate, form)
        return self

    def _append(self, predicate: str, form: Form) -> None:
        new = SparkFacts(self.engine, {predicate: form})
        if self.mark(predicate) not in apart(form):
            new = (new - self).snapshot()
        form = new.snapshot().form(predicate)
        if number := size(predicate, form):
            self.stored[predicate].append(self.flag, self.engine.frame(predicate, form), number)

    def __isub__(self, fewer: Facts) -> Standing:
        for predicate, form in [(p, own(fewer).form(p)) for p in own(fewer).predicates()]:
            stored = self.stored[predicate]
            if isinstance(form, Local) and not stored.waits(self.flag):
                stored.put(self.flag, form.rows, 0)
            elif number := size(predicate, form):
                stored.removed[self.flag].append(self.engine.frame(predicate, form))
                stored.counts[self.flag] -= number
                stored.version += 1
        return self

    def _measure(self) -> None:
        """Nothing to compute: the sizes are always known."""
