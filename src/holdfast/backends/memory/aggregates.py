"""Aggregates over groups of facts: count, sum, min, max, mean, median."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arithmetic import Undefined, ValueColumn, codes_of, typed
from holdfast.backends.memory.arrays import Ids, Rows
from holdfast.backends.memory.facts import FactSet, Momentary
from holdfast.backends.memory.table import Table
from holdfast.backends.protocol import Facts
from holdfast.program.model import AggregateRule
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary, float_codes

_Places = NDArray[np.int64]


@dataclass(frozen=True)
class _Groups:
    """Sorted source rows: group g is order[starts[g]:stops[g]], by ascending target value within the group."""

    order: _Places
    starts: _Places
    stops: _Places

    @property
    def sizes(self) -> _Places:
        return self.stops - self.starts


def aggregate(
    rule: AggregateRule, rows: Rows, source: Sequence[Type], head: Sequence[Type], dictionary: Dictionary
) -> Rows:
    """One row for each group: the group's columns and the aggregate's value."""
    if not len(rows):
        return np.empty((0, len(head)), np.int64)
    keys = np.ascontiguousarray(rows[:, list(rule.group)])
    table = Table(rule.predicate, len(rule.group))
    groups = table.intern(keys)
    target = np.zeros(len(rows), np.int64) if rule.target is None else np.ascontiguousarray(rows[:, rule.target])
    type = Type.NUMBER if rule.target is None else source[rule.target]
    sorted_groups = _sorted(groups, _order(target, type, dictionary))
    place, result = rule.place % len(head), np.empty((table.size, len(head)), np.int64)
    result[:, [column for column in range(len(head)) if column != place]] = table.rows[: table.size]
    result[:, place] = _values(rule.function, target, type, head[place], sorted_groups)
    return result


def _order(codes: NDArray[np.int64], type: Type, dictionary: Dictionary) -> ValueColumn:
    if type.in_dictionary:
        return dictionary.order_keys(codes)
    return typed(codes, type)


def _sorted(groups: NDArray[np.int32], order: ValueColumn) -> _Groups:
    places = np.lexsort((order, groups))
    starts = np.flatnonzero(np.diff(groups[places], prepend=-1)).astype(np.int64)
    return _Groups(places, starts, np.append(starts[1:], len(places)))


def _values(function: str, target: NDArray[np.int64], type: Type, head: Type, groups: _Groups) -> NDArray[np.int64]:
    match function:
        case "count":
            return groups.sizes
        case "min":
            return target[groups.order[groups.starts]]
        case "max":
            return target[groups.order[groups.stops - 1]]
    values = typed(target, type)[groups.order]
    match function:
        case "sum":
            return codes_of(_sum(values, groups), head)
        case "mean":
            return float_codes(_mean(values, groups))
        case "median":
            return float_codes(_median(values, groups))
    raise AssertionError(function)


def _sum(values: ValueColumn, groups: _Groups) -> ValueColumn:
    if _stays_within(2.0**62, values, groups):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.add.reduceat(values, groups.starts)
    try:
        return np.array(_whole_sums(values, groups), values.dtype)
    except OverflowError as error:
        raise Undefined("the sum does not fit 64 bits") from error


def _stays_within(bound: float, values: ValueColumn, groups: _Groups) -> bool:
    """Whether no sum can exceed a bound, so that Python's integers are not needed."""
    if values.dtype == np.float64:
        return True
    about = np.add.reduceat(np.abs(values.astype(np.float64)), groups.starts)
    return not (about > bound).any()


def _whole_sums(values: ValueColumn, groups: _Groups) -> list[int]:
    return [sum(map(int, values[a:b])) for a, b in zip(groups.starts, groups.stops, strict=True)]


def _mean(values: ValueColumn, groups: _Groups) -> ValueColumn:
    if _stays_within(2.0**53, values, groups):
        return _sum(values.astype(np.float64), groups) / groups.sizes
    totals = zip(_whole_sums(values, groups), groups.sizes.tolist(), strict=True)
    return np.array([total / size for total, size in totals])


def _median(values: ValueColumn, groups: _Groups) -> ValueColumn:
    """The middle value, or the mean of the two middle ones."""
    low, high = values[groups.starts + (groups.sizes - 1) // 2], values[groups.starts + groups.sizes // 2]
    if low.dtype != np.float64:
        return np.array([(a + b) / 2 for a, b in zip(low.tolist(), high.tolist(), strict=True)])
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (low + high) / 2
    halves: ValueColumn = np.where(np.isinf(middle) & np.isfinite(low), low / 2 + high / 2, middle)
    return halves


def source_rows(rule: AggregateRule, table: Table, facts: FactSet, changed: Facts | None) -> Rows:
    """The facts to aggregate: all of them, or only the groups that a changed fact belongs to."""
    assert changed is None or isinstance(changed, FactSet)
    if changed is None:
        return table.rows[facts.ids(rule.source)]
    groups = Table(rule.predicate, len(rule.group))
    groups.intern(np.ascontiguousarray(table.rows[changed.ids(rule.source)][:, list(rule.group)]))
    wanted = in_groups(table, rule.group, groups.rows[: groups.size])
    return table.rows[(Momentary(facts.tables, {rule.source: wanted}) & facts).ids(rule.source)]


def in_groups(table: Table, group: tuple[int, ...], keys: Rows) -> Ids:
    """The rows of a table whose group columns hold one of the given keys."""
    if not group:
        return np.arange(table.size if len(keys) else 0, dtype=np.int32)
    columns = tuple(sorted(set(group)))
    places = [group.index(column) for column in columns]
    return table.matching(columns, np.ascontiguousarray(keys[:, places]))
