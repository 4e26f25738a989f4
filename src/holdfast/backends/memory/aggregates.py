"""Aggregates over groups of facts: count, sum, min, max, mean, median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arithmetic import Column, Undefined, codes_of, typed
from holdfast.backends.memory.arrays import Rows
from holdfast.backends.memory.table import Table
from holdfast.encoding import Dictionary, float_codes
from holdfast.program.model import AggregateRule
from holdfast.values import Type

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


def aggregate(rule: AggregateRule, rows: Rows, source: Sequence[Type], head: Sequence[Type],
              dictionary: Dictionary) -> Rows:
    """One row for each group: the group's columns and the aggregate's value."""
    if not len(rows):
        return np.empty((0, len(head)), np.int64)
    keys = np.ascontiguousarray(rows[:, list(rule.group)])
    table = Table(rule.predicate, len(rule.group))
    groups = table.intern(keys)
    target = np.zeros(len(rows), np.int64) if rule.target is None else np.ascontiguousarray(rows[:, rule.target])
    type = Type.NUMBER if rule.target is None else source[rule.target]
    sorted_groups = _sorted(groups, _order(target, type, dictionary))
    result = np.empty((table.size, len(head)), np.int64)
    result[:, :-1] = table.rows[: table.size]
    result[:, -1] = _values(rule.function, target, type, head[-1], sorted_groups)
    return result


def _order(codes: NDArray[np.int64], type: Type, dictionary: Dictionary) -> Column:
    if type.in_dictionary:
        return dictionary.order_keys(codes)
    return typed(codes, type)


def _sorted(groups: NDArray[np.int32], order: Column) -> _Groups:
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


def _sum(values: Column, groups: _Groups) -> Column:
    if values.dtype != np.float64:
        about = np.add.reduceat(np.abs(values.astype(np.float64)), groups.starts)
        if (about > 2.0**62).any():
            return _exact_sum(values, groups)
    return np.add.reduceat(values, groups.starts)


def _exact_sum(values: Column, groups: _Groups) -> Column:
    sums = [sum(map(int, values[a:b])) for a, b in zip(groups.starts, groups.stops, strict=True)]
    try:
        return np.array(sums, values.dtype)
    except OverflowError as error:
        raise Undefined("the sum does not fit 64 bits") from error


def _mean(values: Column, groups: _Groups) -> Column:
    return np.add.reduceat(values.astype(np.float64), groups.starts) / groups.sizes


def _median(values: Column, groups: _Groups) -> Column:
    """The middle value, or the mean of the two middle ones."""
    low = values[groups.starts + (groups.sizes - 1) // 2].astype(np.float64)
    high = values[groups.starts + groups.sizes // 2].astype(np.float64)
    middle: Column = low + (high - low) / 2
    return middle
