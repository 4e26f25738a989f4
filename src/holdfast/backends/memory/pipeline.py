"""A plan made ready to run over tables: bindings flow through its steps a batch at a time.

A batch of bindings is a C-contiguous `int64[:, :]`, one row a binding, one column for each live variable.  Each
step has one buffer for what it gives; a batch is driven to the end of the plan before the next one is made, so
memory does not grow with the number of instances.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import kernels
from holdfast.backends.memory.facts import EVERY_STATUS, FactSet, Kept, Momentary
from holdfast.backends.memory.functors import Bindings, evaluate, holds, spread
from holdfast.backends.memory.table import Ids, Rows, Table
from holdfast.backends.protocol import Facts
from holdfast.encoding import Dictionary
from holdfast.plans.model import Compute, Filter, Join, Keep, Plan, Read, Scan, Spread, Step
from holdfast.program.model import Argument, Const, Term, Var, Wildcard

BATCH = 16_384
_NO_IDS: Ids = np.empty(0, np.int32)
_ONE_BINDING: Rows = np.empty((1, 0), np.int64)
_Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Views:
    """What each read means during one call of `apply`: a set to walk through, a truth table to probe with."""

    tables: Mapping[str, Table]
    sources: Mapping[Read, Facts]
    visible: Mapping[Read, NDArray[np.uint8]]


class Watch(Protocol):
    """Told of each batch, so that limits and Ctrl-C act inside a round."""

    def batch(self, new_facts: int) -> None: ...


class Pipeline:
    """One plan over some tables."""

    def __init__(self, plan: Plan, tables: Mapping[str, Table], dictionary: Dictionary, watch: Watch) -> None:
        self.plan = plan
        self.head = tables[plan.rule.predicate]
        self.watch = watch
        self.steps = _compile(plan, tables, dictionary)

    def run(self, views: Views) -> list[Ids]:
        """The row ids of the heads of all instances."""
        found: list[Ids] = []
        self._push(0, _ONE_BINDING, views, found)
        return found

    def _push(self, depth: int, bindings: Rows, views: Views, found: list[Ids]) -> None:
        if depth == len(self.steps):
            before = self.head.size
            found.append(self.head.intern(bindings))
            self.watch.batch(self.head.size - before)
            return
        for batch in self.steps[depth].run(bindings, views):
            self._push(depth + 1, batch, views, found)


class _Runnable(Protocol):
    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]: ...


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

    key: tuple[int, ...]
    origins: _Codes
    left: _Codes
    right: _Codes
    constants: _Codes
    outputs: _Codes


def _shape(arguments: Sequence[Argument], key: tuple[int, ...], columns: _Columns, outputs: Sequence[Term]) -> _Shape:
    origins = [columns.origin(_known(arguments[column])) for column in key]
    left, right = [], []
    for column, argument in enumerate(arguments):
        if column in key or not isinstance(argument, Var):
            continue
        if argument in columns.fact:
            left.append(columns.fact[argument])
            right.append(column)
        else:
            columns.fact[argument] = column
    places = [columns.origin(term) for term in outputs]
    return _Shape(key, _codes(origins), _codes(left), _codes(right), _codes(columns.constants), _codes(places))


def _known(argument: Argument) -> Var | Const:
    assert not isinstance(argument, Wildcard)
    return argument


class _Scan:
    def __init__(self, step: Scan, table: Table, shape: _Shape) -> None:
        self.step = step
        self.table = table
        self.shape = shape
        self.buffer = _Buffer(len(shape.outputs))

    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]:
        ids, first, stop, visible = self._walk(views.sources[self.step.read])
        position, shape, table = 0, self.shape, self.table
        while position < stop:
            out = self.buffer.room(stop - position)
            count, position = kernels.scan(ids, first, position, stop, table.rows, table.status, visible, shape.constants,
                                           self.key, shape.origins, shape.left, shape.right, shape.outputs, out)
            if count:
                yield out[:count]

    def _walk(self, facts: Facts) -> tuple[Ids, int, int, NDArray[np.uint8]]:
        """Row ids to walk through (none: a range), the range's first row, how many, and which to take."""
        assert isinstance(facts, FactSet)
        if isinstance(facts, Kept) and not len(self.step.key):
            return _NO_IDS, 0, self.table.size, facts.truth({}).astype(np.uint8)
        ids = facts.ids(self.step.atom.predicate)
        return ids, 0, len(ids), EVERY_STATUS

    @property
    def key(self) -> _Codes:
        return _codes(self.shape.key)


class _Join:
    def __init__(self, step: Join, table: Table, shape: _Shape) -> None:
        self.step = step
        self.table = table
        self.shape = shape
        self.buffer = _Buffer(len(shape.outputs))

    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]:
        shape, table = self.shape, self.table
        index = table.index(shape.key)
        visible = views.visible[self.step.read]
        i, row, total = 0, -1, len(bindings)
        out = self.buffer.room(BATCH)
        while i < total:
            count, i, row = kernels.expand(bindings, total, i, row, shape.constants, table.rows, table.status, visible,
                                           index.slots, index.following, index.key, shape.origins, shape.left,
                                           shape.right, shape.outputs, out)
            if count:
                yield out[:count]


class _Keep:
    def __init__(self, step: Keep, table: Table, shape: _Shape) -> None:
        self.step = step
        self.table = table
        self.shape = shape
        self.buffer = _Buffer(len(shape.outputs))

    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]:
        shape, table = self.shape, self.table
        index = table.index(shape.key)
        out = self.buffer.room(len(bindings))
        count = kernels.keep(bindings, len(bindings), shape.constants, table.rows, table.status,
                             views.visible[self.step.read], index.slots, index.following, index.key, shape.origins,
                             shape.left, shape.right, False, shape.outputs, out)
        if count:
            yield out[:count]


class _Filter:
    def __init__(self, step: Filter, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.condition = step.condition
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]:
        kept = bindings[holds(self.condition, Bindings(bindings, self.before, self.dictionary))]
        if len(kept):
            yield _project(Bindings(kept, self.before, self.dictionary), self.after)


class _Compute:
    def __init__(self, step: Compute, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.assignment = step.assignment
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]:
        given = Bindings(bindings, self.before, self.dictionary)
        value = evaluate(self.assignment.term, given)
        yield _project(given.extended(self.assignment.variable, value), self.after)


class _Spread:
    def __init__(self, step: Spread, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.range = step.range
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]:
        for given in spread(self.range, Bindings(bindings, self.before, self.dictionary), BATCH):
            yield _project(given, self.after)


class _Project:
    """The head's arguments from the last bindings, where no kernel could write them at once."""

    def __init__(self, before: Sequence[Var], after: Sequence[Term], dictionary: Dictionary) -> None:
        self.before = tuple(before)
        self.after = tuple(after)
        self.dictionary = dictionary

    def run(self, bindings: Rows, views: Views) -> Iterator[Rows]:
        yield _project(Bindings(bindings, self.before, self.dictionary), self.after)


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
    head = plan.rule.arguments
    plain_head = all(isinstance(term, Var | Const) for term in head)
    for position, (step, after) in enumerate(zip(plan.steps, plan.live, strict=True)):
        is_last = position == len(plan.steps) - 1
        outputs: Sequence[Term] = head if is_last and plain_head else after
        steps.append(_runnable(step, before, outputs, tables, dictionary))
        before = after
    if not plan.steps or not plain_head:
        steps.append(_Project(before, head, dictionary))
    return steps


def _runnable(step: Step, before: Sequence[Var], after: Sequence[Term], tables: Mapping[str, Table],
              dictionary: Dictionary) -> _Runnable:
    columns = _Columns(before, dictionary)
    match step:
        case Scan(atom=atom, key=key):
            return _Scan(step, tables[atom.predicate], _shape(atom.arguments, key, columns, after))
        case Join(atom=atom, key=key):
            return _Join(step, tables[atom.predicate], _shape(atom.arguments, key, columns, after))
        case Keep(atom=negated, key=key):
            return _Keep(step, tables[negated.predicate], _shape(negated.arguments, key, columns, after))
        case Filter():
            return _Filter(step, before, after, dictionary)
        case Compute():
            return _Compute(step, before, after, dictionary)
        case Spread():
            return _Spread(step, before, after, dictionary)


def _project(bindings: Bindings, terms: Sequence[Term]) -> Rows:
    out = np.empty((len(bindings), len(terms)), np.int64)
    for column, term in enumerate(terms):
        out[:, column] = evaluate(term, bindings)
    return out


def _codes(values: Sequence[int]) -> _Codes:
    return np.array(values, np.int64)
