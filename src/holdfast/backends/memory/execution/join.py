"""The steps of a plan that read facts: scan, join, anti-join, lookup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.execution import buffers
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Buffer, OutputBuffer
from holdfast.backends.memory.execution.shapes import AtomShape, CodeArray
from holdfast.backends.memory.execution.steps import Runnable
from holdfast.backends.memory.execution.views import NO_STATUS, OF_THE_PAST, Probe, ReadViews
from holdfast.backends.memory.index import ListIndex
from holdfast.backends.memory.kept import Kept, Listed
from holdfast.backends.memory.membership import NO_SLOTS
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.threads import side_by_side, worth_splitting
from holdfast.backends.memory.truth import StatusTruth, as_bytes
from holdfast.plans.model import AntiJoin, Join, Read, Scan

NO_IDS: Ids = np.empty(0, np.int32)
_NO_KEY = np.empty(0, np.int64)
_NO_ROWS: Rows = np.empty((0, 0), np.int64)
_NO_HEADS = NO_IDS, NO_WEIGHTS
_COUNTED_IN_PLACE = 1 << 20  # values below this are counted; pages of larger ones stay untouched and cost nothing
_WORTH_A_TALLY = 256  # bindings
_FEW = 64  # rows, for which it does not matter whether they are a run
_SOME, _SOME_EACH = 512, 8  # rows that a few bindings may emit, in total and each, before the buffer grows
_GATHERED = 1 << 19  # bindings
_FAN_OUT = 4  # facts that a binding must match for heads to be tallied
_ALIKE = 0.75  # share of distinct heads; above it, heads are not tallied

_expand: Callable[..., tuple[int, int, int]] = kernels.expand
_tally: Callable[..., tuple[int, int, int]] = kernels.tally
_reject: Callable[..., int] = kernels.reject


class ScanStep(Runnable):
    """Scans the facts of a set."""

    def __init__(self, step: Scan, table: Table, shape: AtomShape) -> None:
        self.place = step.read, step.atom.predicate
        self.table = table
        self.shape = shape
        self.buffer = Buffer(len(shape.outputs))
        self.pattern = shape.pattern(table.all_columns, table.all_columns)
        self.numbers_goals = kernels.FROM_PLACE in shape.outputs  # by place in a list, not by row id

    def prepare(self, views: ReadViews) -> None:
        facts, predicate = views.walks[self.place], self.place[1]
        self.ids, self.visible = NO_IDS, NO_STATUS
        run = None if facts.is_momentary and len(facts.ids(predicate)) < _FEW else facts.run(predicate)
        if run is not None and not self.numbers_goals:
            self.first, self.stop = run
        elif isinstance(facts, Kept) and not isinstance(facts, Listed) and facts.column("") == "status":
            self.first, self.stop, self.visible = 0, self.table.size, as_bytes(facts.truth({}))
        else:
            self.ids = facts.ids(predicate)
            self.first, self.stop = 0, len(self.ids)

    def run(self, bindings: Rows) -> Iterable[Rows]:
        if self.stop - self.first > buffers.BATCH:
            return self._in_batches()
        self.done = 1.0
        out, count, _ = self._from(self.first)
        return (out[:count],) if count else ()

    def few(self, bindings: Ids, visible: StatusTruth) -> Rows:
        """The facts with some row ids; the first step."""
        shape, table, count, out = self.shape, self.table, len(bindings), self.buffer.of(len(bindings))
        count, _ = kernels.scan(
            bindings,
            0,
            count,
            table.rows,
            table.status,
            NO_STATUS,
            shape.constants,
            shape.key,
            self.pattern,
            shape.outputs,
            out,
        )
        return out[:count]

    def _in_batches(self) -> Iterator[Rows]:
        place = self.first
        while place < self.stop:
            out, count, place = self._from(place)
            self.done = (place - self.first) / (self.stop - self.first)
            if count:
                yield out[:count]

    def _from(self, place: int) -> tuple[Rows, int, int]:
        shape, table, out = self.shape, self.table, self.buffer.of(self.stop - place)
        count, place = kernels.scan(
            self.ids,
            place,
            self.stop,
            table.rows,
            table.status,
            self.visible,
            shape.constants,
            shape.key,
            self.pattern,
            shape.outputs,
            out,
        )
        return out, count, place


class JoinStep(Runnable):
    """A join by an index on some columns; as an anti-join it keeps the bindings that match nothing.

    As the last step of a plan it may write equal heads once, with a weight, where bindings match many facts: a rule
    with millions of instances for thousands of heads would otherwise spend its time finding the same rows again.
    """

    may_tally = False
    weights = NO_WEIGHTS  # of the last batch
    listed: ListIndex | None = None  # the changed facts to join with, where they are not a run of rows
    known = _NO_HEADS  # heads of the last batch whose row ids are known, so they are not among its rows

    def __init__(self, step: Join | AntiJoin, table: Table, shape: AtomShape) -> None:
        self.step, self.rejects = step, isinstance(step, AntiJoin)
        self.place = step.read, step.atom.predicate
        self.table = table
        self.shape = shape
        self.buffers = OutputBuffer(len(shape.outputs)), OutputBuffer(len(shape.outputs))
        self.pattern: tuple[CodeArray, ...] = ()
        self.heads: Table | None = None
        self.goal, self.quota = -1, NO_IDS
        self.fan_out, self.instances, self.distinct = 0.0, 0, 0

    @property
    def may_list(self) -> bool:
        """Whether it joins with changed facts, of which an index of their own shows all and no others."""
        return self.step.read is Read.DELTA and not self.rejects

    def prepare(self, views: ReadViews) -> None:
        listed = views.lists.get(self.place) if self.may_list else None
        if listed is None:
            self.index, self.listed = self.table.index(self.step.key), None
            self.probe = views.probes[self.place]
        else:
            self.listed = listed.indexed(self.place[1], self.step.key)
            self.index, self.probe = self.listed.by_key, Probe(0, len(self.listed.ids), NO_STATUS)
        if not self.pattern:
            self.pattern = self.shape.pattern(self.index.others, self.index.straight)
        self.instances = self.distinct = 0
        if not self.fan_out:  # no batch has run yet: estimate by the average number of facts per key
            seen = self.index.covered if len(self.probe.visible) else self.probe.high - self.probe.low
            self.fan_out = seen / max(1, self.index.keys)

    def run(self, bindings: Rows) -> Iterable[Rows]:
        if self.table.fetch is not None and self.step.read in OF_THE_PAST:
            self.table.fetch(self.step.key, self.shape.keys_of(bindings))
            self.index = self.table.index(self.step.key)
        if self.rejects:
            out = self.buffers[0].of(len(bindings))
            count = _reject(bindings, len(bindings), *self.facts(), self.shape.outputs, out)
            return (out[:count],) if count else ()
        [buffer, _], total = self.buffers, len(bindings)
        if total >= _WORTH_A_TALLY and (self._tallies(total) or self._splits(total, tallies=False)):
            return self._in_batches(bindings)
        count, i, cursor = _expand(bindings, total, 0, -1, *self._arguments(buffer, False, _SOME + _SOME_EACH * total))
        if i < total:
            return self._in_batches(bindings, (buffer, count), i, cursor)
        self.weights, self.known, self.fan_out = NO_WEIGHTS, _NO_HEADS, count / max(1, total)
        return (buffer.rows[:count],) if count else ()

    def few(self, bindings: Rows, visible: StatusTruth) -> Rows | None:
        shape, table, index, total = self.shape, self.table, self.table.index(self.step.key), len(bindings)
        if not self.pattern:
            self.pattern = shape.pattern(index.others, index.straight)
        view = table.rows, table.status, visible, 0, 0
        if self.rejects:
            out = self.buffers[0].of(total)
            count = _reject(bindings, total, shape.constants, view, index.arrays, self.pattern, shape.outputs, out)
            return out[:count]
        out, facts = self.buffers[0].of(_SOME + _SOME_EACH * total), (shape.constants, view, index.arrays, self.pattern)
        count, i, _ = _expand(bindings, total, 0, -1, *facts, shape.outputs, -1, NO_IDS, out)
        return out[:count] if i == total else None

    def _in_batches(
        self, bindings: Rows, first: tuple[OutputBuffer, int] | None = None, i: int = 0, cursor: int = -1
    ) -> Iterator[Rows]:
        """Joins the rest of the bindings, from where a first batch filled its buffer, if there was one."""
        tallies = self._tallies(len(bindings))
        if tallies:
            bindings = grouped(bindings, self.shape.group)
        met, more = 0, self._joined(bindings, tallies, i, cursor)
        for buffer, count in chain((first,), more) if first is not None else more:
            if tallies:
                self.weights, self.known = buffer.weights[:count], buffer.known_heads()
            else:
                self.weights, self.known = NO_WEIGHTS, _NO_HEADS
            met += self._weighed(count)
            yield buffer.rows[:count]
        self.fan_out = met / max(1, len(bindings))

    def _tallies(self, bindings: int) -> bool:
        return self.may_tally and self._may_be_alike and bindings >= _WORTH_A_TALLY

    @property
    def _may_be_alike(self) -> bool:
        many_alike = self.instances < buffers.BATCH or self.distinct < _ALIKE * self.instances
        return self.fan_out >= _FAN_OUT and many_alike and not len(self.quota)

    def gathered(self, batches: Iterable[Rows]) -> Iterator[Rows]:
        """Merges batches where heads will be tallied, so that more of them are equal."""
        kept, count = list[Rows](), 0
        for batch in batches:
            if not self._may_be_alike:
                yield batch
                continue
            kept.append(batch.copy())
            count += len(batch)
            if count >= _GATHERED:
                yield np.concatenate(kept)
                kept, count = [], 0
        if kept:
            yield np.concatenate(kept)

    def _weighed(self, count: int) -> int:
        """The number of instances in a batch; records how many of their heads were equal."""
        known, weights = self.known
        if not len(self.weights) and not len(known):
            return count
        instances = int(self.weights.sum()) + int(weights.sum())
        self.instances += instances
        self.distinct += count + len(known)
        return instances

    def _joined(self, bindings: Rows, tallies: bool, i: int, cursor: int) -> Iterator[tuple[OutputBuffer, int]]:
        """Yields output buffers with the number of rows in each.  Begins with the first binding at `cursor`.

        Two threads take half of the bindings each.  When one has finished, it takes half of what the other has left, as
        long as that is worth it.
        """
        kernel, (buffer, other) = _tally if tallies else _expand, self.buffers
        stop = len(bindings)
        while i < stop:
            middle = (i + stop) // 2 if self._splits(stop - i, tallies=tallies) else stop
            j, other_cursor = middle, -1
            while i < middle and j < stop:
                (count, i, cursor), (other_count, j, other_cursor) = side_by_side(
                    kernel,
                    (bindings, middle, i, cursor, *self._arguments(buffer, tallies)),
                    (bindings, stop, j, other_cursor, *self._arguments(other, tallies)),
                )
                if count or buffer.has_known:
                    yield buffer, count
                if other_count or other.has_known:
                    yield other, other_count
            while middle == stop and i < stop:
                count, i, cursor = kernel(bindings, stop, i, cursor, *self._arguments(buffer, tallies))
                if count or buffer.has_known:
                    yield buffer, count
            if i < middle:
                stop = middle
            else:
                i, cursor = j, other_cursor

    def _splits(self, bindings: int, *, tallies: bool) -> bool:
        """Whether two threads should share this number of bindings."""
        work = bindings * max(1, int(self.fan_out)) if tallies else bindings
        return bindings > 1 and worth_splitting(work) and not len(self.quota)

    def facts(self) -> tuple[Any, ...]:
        """The constants, the visible facts, their index, and the atom, as the kernels take them."""
        probe, listed = self.probe, self.listed
        view = probe.view(self.table) if listed is None else (listed.rows, NO_STATUS, NO_STATUS, probe.low, probe.high)
        return self.shape.constants, view, self.index.arrays, self.pattern

    def _arguments(self, buffer: OutputBuffer, tallies: bool, rows: int | None = None) -> tuple[Any, ...]:
        """The arguments of a kernel after the bindings, with a buffer for `rows` rows."""
        out = buffer.of(buffers.BATCH if rows is None else rows)
        if not tallies:
            limit = (self.goal, self.quota) if len(self.quota) else (-1, NO_IDS)
            return *self.facts(), self.shape.outputs, *limit, out
        varying = self.shape.fact_columns
        buffer.prepare_tally(_COUNTED_IN_PLACE if len(varying) == 1 else 0)
        counting = self.shape.group, varying, *buffer.tally
        return *self.facts(), self.shape.outputs, counting, self._known_heads(), out

    def _known_heads(self) -> tuple[Any, ...]:
        """An index of the heads on all columns but the joined fact's, in the form that `kernels.tally` takes."""
        facts = self.shape.fact_columns.tolist()
        key = tuple(column for column in range(len(self.shape.outputs)) if column not in facts)
        index = self.heads.present_index(key) if self.heads is not None and key and len(facts) == 1 else None
        if index is None:
            return _NO_KEY, NO_SLOTS, _NO_ROWS, NO_IDS, _NO_ROWS
        return index.key, index.slots, index.entries[: index.keys], index.ids, index.values


class LookupStep(Runnable):
    """A join where every column is bound: it only checks whether the fact exists."""

    may_list = False

    def __init__(self, step: Join | AntiJoin, table: Table, shape: AtomShape) -> None:
        self.step, self.joins = step, isinstance(step, Join)
        self.place = step.read, step.atom.predicate
        self.table = table
        self.shape = shape
        self.buffer = Buffer(len(shape.outputs))
        self.goal, self.quota = -1, NO_IDS

    def prepare(self, views: ReadViews) -> None:
        self.probe = views.probes[self.place]

    def run(self, bindings: Rows) -> Iterable[Rows]:
        shape, table, probe = self.shape, self.table, self.probe
        if table.fetch is not None and self.step.read in OF_THE_PAST:
            table.fetch(self.step.key, shape.keys_of(bindings))
        out = self.buffer.of(len(bindings))
        known = table.membership
        count = kernels.probe(
            bindings,
            len(bindings),
            shape.constants,
            probe.view(table),
            known.slots,
            known.grid,
            shape.origins,
            self.joins,
            shape.outputs,
            self.goal if len(self.quota) else -1,
            self.quota,
            out,
        )
        return (out[:count],) if count else ()

    def few(self, bindings: Rows, visible: StatusTruth) -> Rows:
        shape, table, total, out = self.shape, self.table, len(bindings), self.buffer.of(len(bindings))
        known, view = table.membership, (table.rows, table.status, visible, 0, 0)
        origins, outputs = shape.origins, shape.outputs
        count = kernels.probe(
            bindings,
            total,
            shape.constants,
            view,
            known.slots,
            known.grid,
            origins,
            self.joins,
            outputs,
            -1,
            NO_IDS,
            out,
        )
        return out[:count]


def grouped(bindings: Rows, columns: CodeArray) -> Rows:
    """Sorts bindings so that those that agree in some columns are adjacent, unless most of them are already."""
    if not len(columns):
        return bindings
    values = bindings[:, columns]
    borders = np.count_nonzero((values[1:] != values[:-1]).any(axis=1))
    return bindings if borders * _FAN_OUT < len(bindings) else bindings[np.lexsort(values.T)]
