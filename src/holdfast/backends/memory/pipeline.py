"""A plan made ready to run over tables: bindings flow through its steps a batch at a time.

A batch of bindings is a C-contiguous `int64[:, :]`, one row a binding, one column for each live variable.  Each
step has one buffer for what it gives; a batch is driven to the end of the plan before the next one is made, so
memory does not grow with the number of instances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.arithmetic import Undefined
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.facts import FactSet, Kept, Listed, Momentary, Run, as_bytes
from holdfast.backends.memory.functors import Bindings, evaluate, holds, spread
from holdfast.backends.memory.membership import NO_SLOTS
from holdfast.backends.memory.table import Table
from holdfast.backends.memory.threads import side_by_side, worth_splitting
from holdfast.encoding import Dictionary
from holdfast.errors import Diagnostic, EvaluationError
from holdfast.plans.model import GOAL, Compute, Filter, Join, Keep, Plan, Read, Scan, Spread, Step
from holdfast.program.model import AggregateRule, Argument, Compare, Const, Rule, Term, Var, Wildcard
from holdfast.quick_dataclass import dataclass

BATCH = 32_768
_NO_IDS: Ids = np.empty(0, np.int32)
_NONE_KNOWN: Ids = np.zeros(1, np.int32)
_NO_KEY = np.empty(0, np.int64)
_NO_ROWS: Rows = np.empty((0, 0), np.int64)
_NO_STATUS: NDArray[np.uint8] = np.empty(0, np.uint8)
_ONE_BINDING: Rows = np.empty((1, 0), np.int64)
_Codes = NDArray[np.int64]
Weights = NDArray[np.int32]
NO_WEIGHTS: Weights = np.empty(0, np.int32)
_NO_HEADS = _NO_IDS, NO_WEIGHTS
_TALLY_SLOTS = 2 * BATCH + 1  # at most half full
_COUNTED_IN_PLACE = 1 << 20  # values below; pages of larger ones are not touched, so they cost nothing
_MOST_GROUPS = 1 << 31
_WORTH_A_TALLY = 256  # bindings
_SOME, _SOME_EACH = 512, 8  # rows that a few bindings may give, all and each, before there is more room for them
_GATHERED = 1 << 19  # bindings
_FAN_OUT = 4  # facts that a binding must meet for heads to be tallied
_ALIKE = 0.75  # distinct heads of all; with more, they are not tallied


OF_THE_PAST = frozenset({Read.ALL, Read.OLD, Read.ABSENT, Read.ABSENT_OLD})
"""Reads of what held before, of which some may not be rows yet; changed facts always are."""


class Probe(NamedTuple):
    """Which rows of a table a read sees: those from `low` to `high`, or, if `visible` is not empty, those with such
    a status."""

    low: int
    high: int
    visible: NDArray[np.uint8]
    column: str = "status"

    @classmethod
    def of(cls, facts: FactSet, predicate: str, bits: Mapping[Momentary, np.uint8]) -> Probe:
        """From a run of rows if the set is one, and no rows will come to it meanwhile."""
        run = cls.by_run(facts, predicate)
        if run is not None:
            return cls(run[0], run[1], _NO_STATUS)
        return cls(0, 0, as_bytes(facts.formula(predicate).truth(bits)), facts.column(predicate))

    @staticmethod
    def by_run(facts: FactSet, predicate: str) -> Run | None:
        """The run of rows by which a set is probed, if it is."""
        return facts.run(predicate) if facts.tables[predicate].fetch is None else None

    def bytes_of(self, table: Table) -> NDArray[np.uint8]:
        """The byte column that `visible` speaks of."""
        column: NDArray[np.uint8] = getattr(table, self.column)
        return column


class Views(NamedTuple):
    """What each read means during one call of `apply`: a set to walk through, a probe to look into a table."""

    walks: Mapping[tuple[Read, str], FactSet]
    probes: Mapping[tuple[Read, str], Probe]


_expand: Callable[..., tuple[int, int, int]] = kernels.expand
_tally: Callable[..., tuple[int, int, int]] = kernels.tally
_reject: Callable[..., int] = kernels.reject


class Watch(Protocol):
    """Told of each batch, so that limits and Ctrl-C act inside a round."""

    def batch(self, new_facts: int) -> None: ...


class naming_the_rule:  # noqa: N801  it reads as a function; a generator takes longer to begin than a small rule to run
    """A functor without a value becomes an error that says which rule asked for it."""

    def __init__(self, rule: Rule | AggregateRule) -> None:
        self._rule = rule

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Undefined):
            message = f"rule {self._rule.name} has no value for some facts: {error}"
            help = "keep such facts out of the rule by a comparison before it is computed, or mend the data"
            raise EvaluationError(Diagnostic("E0701", message, self._rule.span, help=help)) from error


class Pipeline:
    """One plan over some tables."""

    def __init__(self, plan: Plan, tables: Mapping[str, Table], dictionary: Dictionary, watch: Watch) -> None:
        self.plan = plan
        self.tables = tables
        self.watch = watch
        self.steps = _compile(plan, tables, dictionary)
        last = plan.live[-1] if plan.steps else ()
        self.projections = [_Project(last, terms, dictionary) for _, terms in plan.told] if len(plan.told) > 1 else []
        self.tallying = self._tallying()
        self.walked = [(step.read, step.atom.predicate) for step in plan.steps if isinstance(step, Scan)]
        self.probed = [(step.read, step.atom.predicate) for step in plan.steps if isinstance(step, Join | Keep)]

    def _tallying(self) -> _Join | None:
        """The last step, if it joins and writes heads, of which many may be alike."""
        step = self.steps[-1] if self.steps else None
        if self.projections or not isinstance(step, _Join) or isinstance(step.step, Keep) or not step.shape.tells_alike:
            return None
        step.may_tally, step.heads = True, self.tables[self.plan.told[0][0]]
        return step

    def run(self, views: Views, quota: Ids = _NO_IDS) -> Iterator[tuple[str, Ids, Weights]]:
        """What all instances tell: predicates, row ids and how many instances each stands for (none given: one).

        With a quota, of each goal only so many instances.
        """
        for step in self.steps:
            step.prepare(views)
        limited, first, done = self._limited(quota), dict[str, int](), 0.0
        with naming_the_rule(self.plan.rule):
            for bindings in self._bindings():
                for (predicate, _), rows in zip(self.plan.told, self._told(bindings), strict=True):
                    table = self.tables[predicate]
                    before = table.size
                    new = before - first.setdefault(predicate, before)
                    coming = (int(new / done) - new) // 2 if done else 0  # fewer in what is left than in what is done
                    if self.tallying is None:
                        yield predicate, table.intern(rows, coming), NO_WEIGHTS
                    else:
                        if len(self.tallying.known[0]):
                            yield predicate, *self.tallying.known
                        yield predicate, table.intern(rows, coming), self.tallying.weights
                    self.watch.batch(table.size - before)
                done = self.steps[0].done
        if limited is not None:
            limited.quota = _NO_IDS

    def told(self, views: Views) -> Iterator[list[Rows]]:
        """For each batch of instances, the rows of everything they tell, side by side."""
        for step in self.steps:
            step.prepare(views)
        for bindings in self._bindings():
            yield self._told(bindings)

    def _limited(self, quota: Ids) -> _Join | _Lookup | None:
        """The last step, told of the quota, if it is one that can stop early; else all instances are met."""
        last = self.steps[-1]
        if not len(quota) or not isinstance(last, _Join | _Lookup) or isinstance(last.step, Keep):
            return None
        last.quota, last.goal = quota, self.plan.live[-2].index(GOAL) if len(self.plan.live) > 1 else -1
        return last

    def _told(self, bindings: Rows) -> list[Rows]:
        if not self.projections:
            return [bindings]
        return [projection.run(bindings)[0] for projection in self.projections]

    def _bindings(self) -> Iterable[Rows]:
        if self.tallying is None:
            return self._through(self.steps)
        batches = self._through(self.steps[:-1])
        if isinstance(batches, tuple):
            return self.tallying.run(batches[0]) if batches else ()
        return self._tallied(self.tallying, batches)

    def _tallied(self, last: _Join, batches: Iterable[Rows]) -> Iterator[Rows]:
        for bindings in last.gathered(batches):
            yield from last.run(bindings)

    def _through(self, steps: Sequence[_Runnable]) -> Iterable[Rows]:
        """What comes of all steps; as long as each gives one batch or none, which is so for a few facts, at once."""
        batch = _ONE_BINDING
        self.watch.batch(0)  # one that comes to nothing takes its time too
        for place, step in enumerate(steps):
            batches = step.run(batch)
            if not isinstance(batches, tuple):
                return self._in_turn(iter(batches), steps[place + 1 :])
            if not batches:
                return ()
            batch = batches[0]
        return (batch,)

    def _in_turn(self, batches: Iterator[Rows], steps: Sequence[_Runnable]) -> Iterator[Rows]:
        """Each batch goes through all steps before the next is made; on a stack of its own, for rules of any length."""
        running = [batches]
        while running:
            batch = next(running[-1], None)
            if batch is None:
                running.pop()
            elif len(running) > len(steps):
                yield batch
            else:
                self.watch.batch(0)
                running.append(iter(steps[len(running) - 1].run(batch)))


class _Runnable(ABC):
    """A step ready to run."""

    done = 1.0  # the part of the facts that was walked through, by the first step

    def prepare(self, views: Views) -> None:  # noqa: B027  most steps read no facts
        """Look at the facts as they are now; a step sees none that come during the run."""

    @abstractmethod
    def run(self, bindings: Rows) -> Iterable[Rows]:
        """The next bindings, in batches; a batch is only valid until the next one is asked for.  A tuple has one or
        none: there are no more."""


class _Columns:
    """Where values come from while a step runs: live variables, the joined fact's columns, constants."""

    def __init__(self, live: Sequence[Var], dictionary: Dictionary) -> None:
        self.live = {variable: position for position, variable in enumerate(live)}
        self.fact: dict[Var, int] = {}
        self.constants: list[int] = []
        self.dictionary = dictionary

    def origin(self, term: Term) -> int:
        """The origin of a variable or constant, as the kernels take it."""
        match term:
            case Var() if term in self.live:
                return kernels.FROM_BINDING + self.live[term]
            case Var() if term is GOAL:
                return kernels.FROM_PLACE
            case Var():
                return kernels.FROM_FACT + self.fact[term]
            case Const(value=value, type=type):
                self.constants.append(self.dictionary.encode_value(value, type))
                return kernels.FROM_CONSTANT + len(self.constants) - 1
        raise AssertionError(term)


@dataclass(frozen=True)
class _Shape:
    """An atom as the kernels take it: its key with where the key's values come from, the columns that must be
    equal because a variable repeats, and where the output's columns come from."""

    key: _Codes
    origins: _Codes
    left: _Codes
    right: _Codes
    constants: _Codes
    outputs: _Codes

    @property
    def group(self) -> _Codes:
        """The columns of a binding that the output takes."""
        return self.outputs[self.outputs < kernels.FROM_FACT]

    def keys_of(self, bindings: Rows) -> Rows:
        """What each binding looks up."""
        keys = np.empty((len(bindings), len(self.origins)), np.int64)
        for place, origin in enumerate(self.origins):
            is_constant = origin >= kernels.FROM_CONSTANT
            keys[:, place] = self.constants[origin - kernels.FROM_CONSTANT] if is_constant else bindings[:, origin]
        return keys

    @property
    def told(self) -> _Codes:
        """The output's columns that come from the joined fact."""
        outputs = self.outputs
        return np.flatnonzero((outputs >= kernels.FROM_FACT) & (outputs < kernels.FROM_PLACE))

    @property
    def tells_alike(self) -> bool:
        """Whether `kernels.tally` can do it."""
        return len(self.told) > 0 and not len(self.left)


def _shape(
    arguments: Sequence[Argument],
    key: tuple[int, ...],
    columns: _Columns,
    outputs: Sequence[Term],
    places: Mapping[int, int] | None = None,
) -> _Shape:
    """`places` says where a fact's column stands in what the kernel reads, where that is not the table's row."""
    origins = [columns.origin(_known(arguments[column])) for column in key]
    left, right = [], []
    for column, argument in enumerate(arguments):
        if column in key or not isinstance(argument, Var):
            continue
        place = column if places is None else places[column]
        if argument in columns.fact:
            left.append(columns.fact[argument])
            right.append(place)
        else:
            columns.fact[argument] = place
    wanted = [columns.origin(term) for term in outputs]
    return _Shape(_codes(key), _codes(origins), _codes(left), _codes(right), _codes(columns.constants), _codes(wanted))


def _known(argument: Argument) -> Var | Const:
    assert not isinstance(argument, Wildcard)
    return argument


class _Scan(_Runnable):
    def __init__(self, step: Scan, table: Table, shape: _Shape) -> None:
        self.place = step.read, step.atom.predicate
        self.table = table
        self.shape = shape
        self.buffer = _Buffer(len(shape.outputs))
        self.numbers_goals = kernels.FROM_PLACE in shape.outputs  # then by their places in a list, not by row ids

    def prepare(self, views: Views) -> None:
        facts, predicate = views.walks[self.place], self.place[1]
        run = facts.run(predicate)
        self.ids, self.visible = _NO_IDS, _NO_STATUS
        if run is not None and not self.numbers_goals:
            self.first, self.stop = run
        elif isinstance(facts, Kept) and not isinstance(facts, Listed) and facts.column("") == "status":
            self.first, self.stop, self.visible = 0, self.table.size, as_bytes(facts.truth({}))
        else:
            self.ids = facts.ids(predicate)
            self.first, self.stop = 0, len(self.ids)

    def run(self, bindings: Rows) -> Iterable[Rows]:
        if self.stop - self.first > BATCH:
            return self._in_batches()
        self.done = 1.0
        out, count, _ = self._from(self.first)
        return (out[:count],) if count else ()

    def _in_batches(self) -> Iterator[Rows]:
        place = self.first
        while place < self.stop:
            out, count, place = self._from(place)
            self.done = (place - self.first) / (self.stop - self.first)
            if count:
                yield out[:count]

    def _from(self, place: int) -> tuple[Rows, int, int]:
        shape, table, out = self.shape, self.table, self.buffer.room(self.stop - place)
        count, place = kernels.scan(
            self.ids,
            place,
            self.stop,
            table.rows,
            table.status,
            self.visible,
            shape.constants,
            shape.key,
            shape.origins,
            table.all_columns,
            shape.left,
            shape.right,
            shape.outputs,
            out,
        )
        return out, count, place


class _Join(_Runnable):
    """A join by an index on some columns; rejecting, it keeps the bindings that meet nothing.

    As the last step it may write heads that are alike once, with a weight, where bindings meet many facts: a rule
    with millions of instances for thousands of heads would else spend its time finding the same rows again.
    """

    may_tally = False
    weights = NO_WEIGHTS  # of the last batch
    known = _NO_HEADS  # heads of the last batch that are not among its rows, since their row ids are known

    def __init__(self, step: Join | Keep, table: Table, shape: _Shape) -> None:
        self.step, self.rejects = step, isinstance(step, Keep)
        self.place = step.read, step.atom.predicate
        self.table = table
        self.shape = shape
        self.rooms = _Room(len(shape.outputs)), _Room(len(shape.outputs))
        self.heads: Table | None = None
        self.goal, self.quota = -1, _NO_IDS
        self.fan_out, self.instances, self.distinct = 0.0, 0, 0

    def prepare(self, views: Views) -> None:
        self.index = self.table.index(self.step.key)
        self.probe = views.probes[self.place]
        self.instances = self.distinct = 0
        if not self.fan_out:  # nothing was met yet: what a key has on average
            seen = self.index.covered if len(self.probe.visible) else self.probe.high - self.probe.low
            self.fan_out = seen / max(1, self.index.keys)

    def run(self, bindings: Rows) -> Iterable[Rows]:
        if self.table.fetch is not None and self.step.read in OF_THE_PAST:
            self.table.fetch(self.step.key, self.shape.keys_of(bindings))
            self.index = self.table.index(self.step.key)
        if self.rejects:
            out = self.rooms[0].buffer.room(len(bindings))
            count = _reject(bindings, len(bindings), *self._facts(), out)
            return (out[:count],) if count else ()
        if len(bindings) >= _WORTH_A_TALLY:
            return self._in_batches(bindings)
        [room, _], total = self.rooms, len(bindings)
        count, i, cursor = _expand(bindings, total, 0, -1, *self._arguments(room, False, _SOME + _SOME_EACH * total))
        if i < total:
            return self._in_batches(bindings, (room, count), i, cursor)
        self.weights, self.known, self.fan_out = NO_WEIGHTS, _NO_HEADS, count / max(1, total)
        return (room.buffer.rows[:count],) if count else ()

    def _in_batches(
        self, bindings: Rows, first: tuple[_Room, int] | None = None, i: int = 0, cursor: int = -1
    ) -> Iterator[Rows]:
        """From where a first batch was full, if there was one."""
        tallies = self._tallies(len(bindings))
        if tallies:
            bindings = _grouped(bindings, self.shape.group)
        met, more = 0, self._joined(bindings, tallies, i, cursor)
        for room, count in chain((first,), more) if first is not None else more:
            if tallies:
                self.weights, self.known = room.weights[:count], room.known_heads()
            else:
                self.weights, self.known = NO_WEIGHTS, _NO_HEADS
            met += self._weighed(count)
            yield room.buffer.rows[:count]
        self.fan_out = met / max(1, len(bindings))

    def _tallies(self, bindings: int) -> bool:
        return self.may_tally and self._may_be_alike and bindings >= _WORTH_A_TALLY

    @property
    def _may_be_alike(self) -> bool:
        many_alike = self.instances < BATCH or self.distinct < _ALIKE * self.instances
        return self.fan_out >= _FAN_OUT and many_alike and not len(self.quota)

    def gathered(self, batches: Iterable[Rows]) -> Iterator[Rows]:
        """Larger batches where heads will be tallied: more of them are alike."""
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
        """The instances of a batch; remembers how many were alike."""
        known, weights = self.known
        if not len(self.weights) and not len(known):
            return count
        instances = int(self.weights.sum()) + int(weights.sum())
        self.instances += instances
        self.distinct += count + len(known)
        return instances

    def _joined(self, bindings: Rows, tallies: bool, i: int, cursor: int) -> Iterator[tuple[_Room, int]]:
        """Where the next rows are and how many: two threads take half of the bindings each; when one has no more, half
        of what the other has left, while that is worth it.  Begins with the first binding at `cursor`."""
        kernel, (room, other) = _tally if tallies else _expand, self.rooms
        stop = len(bindings)
        while i < stop:
            middle = (i + stop) // 2 if self._splits(stop - i, tallies) else stop
            j, other_cursor = middle, -1
            while i < middle and j < stop:
                (count, i, cursor), (other_count, j, other_cursor) = side_by_side(
                    kernel,
                    (bindings, middle, i, cursor, *self._arguments(room, tallies)),
                    (bindings, stop, j, other_cursor, *self._arguments(other, tallies)),
                )
                if count or room.has_known:
                    yield room, count
                if other_count or other.has_known:
                    yield other, other_count
            while middle == stop and i < stop:
                count, i, cursor = kernel(bindings, stop, i, cursor, *self._arguments(room, tallies))
                if count or room.has_known:
                    yield room, count
            if i < middle:
                stop = middle
            else:
                i, cursor = j, other_cursor

    def _splits(self, bindings: int, tallies: bool) -> bool:
        """Whether two threads share so many bindings."""
        work = bindings * max(1, int(self.fan_out)) if tallies else bindings
        return bindings > 1 and worth_splitting(work) and not len(self.quota)

    def _facts(self) -> tuple[Any, ...]:
        shape, index = self.shape, self.index
        return *self._run_facts(), index.straight, shape.left, shape.right, shape.outputs

    def _run_facts(self) -> tuple[Any, ...]:
        shape, table, index, probe = self.shape, self.table, self.index, self.probe
        return (
            shape.constants,
            table.rows,
            probe.bytes_of(table),
            probe.visible,
            probe.low,
            probe.high,
            index.slots,
            index.direct,
            index.entries,
            index.ids,
            index.values,
            index.following,
            index.settled,
            shape.origins,
            index.others,
        )

    def _arguments(self, room: _Room, tallies: bool, rows: int = BATCH) -> tuple[Any, ...]:
        """What a kernel is told beside the bindings; it may write so many rows."""
        out = room.buffer.room(rows)
        if tallies:
            room.prepare_tally(_COUNTED_IN_PLACE if len(self.shape.told) == 1 else 0)
            return (
                *self._run_facts(),
                self.shape.outputs,
                self.shape.group,
                self.shape.told,
                room.seen,
                room.counts,
                room.weights,
                *self._known_heads(),
                room.known,
                room.known_weights,
                out,
            )
        limit = (self.goal, self.quota) if len(self.quota) else (-1, _NO_IDS)
        return *self._facts(), *limit, out

    def _known_heads(self) -> tuple[Any, ...]:
        """An index of the heads by all columns but the one that facts tell, as `kernels.tally` takes it."""
        told = self.shape.told.tolist()
        key = tuple(column for column in range(len(self.shape.outputs)) if column not in told)
        index = self.heads.present_index(key) if self.heads is not None and key and len(told) == 1 else None
        if index is None:
            return _NO_KEY, NO_SLOTS, _NO_ROWS, _NO_IDS, _NO_ROWS
        return index.key, index.slots, index.entries[: index.keys], index.ids, index.values


class _Lookup(_Runnable):
    """A join where every column is known: the fact is there, or it is not."""

    def __init__(self, step: Join | Keep, table: Table, shape: _Shape) -> None:
        self.step, self.joins = step, isinstance(step, Join)
        self.place = step.read, step.atom.predicate
        self.table = table
        self.shape = shape
        self.buffer = _Buffer(len(shape.outputs))
        self.goal, self.quota = -1, _NO_IDS

    def prepare(self, views: Views) -> None:
        self.probe = views.probes[self.place]

    def run(self, bindings: Rows) -> Iterable[Rows]:
        shape, table, probe = self.shape, self.table, self.probe
        if table.fetch is not None and self.step.read in OF_THE_PAST:
            table.fetch(self.step.key, shape.keys_of(bindings))
        out = self.buffer.room(len(bindings))
        known, column = table.membership, probe.bytes_of(table)
        count = kernels.probe(
            bindings,
            len(bindings),
            shape.constants,
            table.rows,
            column,
            probe.visible,
            probe.low,
            probe.high,
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


class _Compare(_Runnable):
    """A test whether two values are the same: codes tell."""

    def __init__(self, left: Term, right: Term, equal: bool, after: Sequence[Term], columns: _Columns) -> None:
        self.sides, self.equal = _codes([columns.origin(left), columns.origin(right)]), equal
        self.outputs = _codes([columns.origin(term) for term in after])
        self.constants = _codes(columns.constants)
        self.buffer = _Buffer(len(after))

    def run(self, bindings: Rows) -> Iterable[Rows]:
        out = self.buffer.room(len(bindings))
        count = kernels.compare(bindings, len(bindings), self.constants, self.sides, self.equal, self.outputs, out)
        return (out[:count],) if count else ()


class _Filter(_Runnable):
    def __init__(self, step: Filter, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.condition = step.condition
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> Iterable[Rows]:
        given = Bindings.of(bindings, self.before, self.dictionary)
        passed = np.flatnonzero(holds(self.condition, given))
        return (_project(given.at(passed, len(passed)), self.after),) if len(passed) else ()


class _Compute(_Runnable):
    def __init__(self, step: Compute, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.assignment = step.assignment
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> Iterable[Rows]:
        given = Bindings.of(bindings, self.before, self.dictionary)
        value = evaluate(self.assignment.term, given)
        return (_project(given.extended(self.assignment.variable, value), self.after),)


class _Spread(_Runnable):
    def __init__(self, step: Spread, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.range = step.range
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> Iterator[Rows]:
        for given in spread(self.range, Bindings.of(bindings, self.before, self.dictionary), BATCH):
            yield _project(given, self.after)


class _Project(_Runnable):
    """The head's arguments from the last bindings, where no kernel could write them at once."""

    def __init__(self, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows) -> tuple[Rows]:
        return (_project(Bindings.of(bindings, self.before, self.dictionary), self.after),)


class _Room:
    """Where one thread writes what a join gives."""

    def __init__(self, width: int) -> None:
        self.buffer = _Buffer(width)
        self.seen: NDArray[np.uint64] = np.empty(0, np.uint64)
        self.counts = self.seen
        self.weights = self.known_weights = NO_WEIGHTS
        self.known: Ids = _NONE_KNOWN

    @property
    def has_known(self) -> bool:
        """Whether the last batch has heads whose row ids are known."""
        return bool(self.known[-1])

    def known_heads(self) -> tuple[Ids, Weights]:
        """Those heads, and how many instances each stands for."""
        count = self.known[-1]
        return self.known[:count].copy(), self.known_weights[:count]

    def prepare_tally(self, counted_in_place: int) -> None:
        """Make what only a tally needs, on first use, and again before the number of groups fills its 32 bits."""
        if not len(self.seen) or self.seen[-1] > _MOST_GROUPS:
            self.seen, self.weights = np.zeros(_TALLY_SLOTS, np.uint64), np.empty(BATCH, np.int32)
            self.counts = np.zeros(counted_in_place, np.uint64)
            self.known, self.known_weights = np.zeros(2 * BATCH + 1, np.int32), np.empty(2 * BATCH, np.int32)
        self.known[-1] = 0


class _Buffer:
    """Room for what a step gives, made on first use and used again for each batch."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows: Rows = np.empty((0, width), np.int64)

    def room(self, wanted: int) -> Rows:
        wanted = min(wanted, BATCH)
        if len(self.rows) < wanted:
            self.rows = np.empty((wanted, self.width), np.int64)
        return self.rows


def _compile(plan: Plan, tables: Mapping[str, Table], dictionary: Dictionary) -> list[_Runnable]:
    steps: list[_Runnable] = []
    before: tuple[Var, ...] = ()
    if len(plan.told) > 1:
        head: tuple[Term, ...] = plan.live[-1]
    else:
        head = plan.told[0][1]
    plain_head = all(isinstance(term, Var | Const) for term in head)
    for position, (step, after) in enumerate(zip(plan.steps, plan.live, strict=True)):
        is_last = position == len(plan.steps) - 1
        outputs: Sequence[Term] = head if is_last and plain_head else after
        steps.append(_runnable(step, before, outputs, tables, dictionary))
        before = after
    if not plan.steps or not plain_head:
        steps.append(_Project(before, head, dictionary))
    return steps


def _runnable(
    step: Step, before: Sequence[Var], after: Sequence[Term], tables: Mapping[str, Table], dictionary: Dictionary
) -> _Runnable:
    columns = _Columns(before, dictionary)
    match step:
        case Scan(atom=atom, key=key):
            return _Scan(step, tables[atom.predicate], _shape(atom.arguments, key, columns, after))
        case Join(atom=atom, key=key) | Keep(atom=atom, key=key):
            table = tables[atom.predicate]
            if len(key) == table.arity:
                return _Lookup(step, table, _shape(atom.arguments, key, columns, after))
            others = [column for column in range(table.arity) if column not in key]
            places = {column: place for place, column in enumerate(others)}
            return _Join(step, table, _shape(atom.arguments, key, columns, after, places))
        case Filter(
            condition=Compare(
                operator="=" | "!=" as operator, left=Var() | Const() as left, right=Var() | Const() as right
            )
        ):
            return _Compare(left, right, operator == "=", after, columns)
        case Filter():
            return _Filter(step, before, after, dictionary)
        case Compute():
            return _Compute(step, before, after, dictionary)
        case Spread():
            return _Spread(step, before, after, dictionary)


def _grouped(bindings: Rows, columns: _Codes) -> Rows:
    """Bindings with those that agree in some columns side by side, nearly: those that are so already are left alone."""
    if not len(columns):
        return bindings
    values = bindings[:, columns]
    borders = np.count_nonzero((values[1:] != values[:-1]).any(axis=1))
    return bindings if borders * _FAN_OUT < len(bindings) else bindings[np.lexsort(values.T)]


def _project(bindings: Bindings, terms: Sequence[Term]) -> Rows:
    out = np.empty((len(bindings), len(terms)), np.int64)
    for column, term in enumerate(terms):
        out[:, column] = evaluate(term, bindings)
    return out


def _codes(values: Sequence[int]) -> _Codes:
    return np.array(values, np.int64)
