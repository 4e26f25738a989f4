"""Facts as passed from Python, before they are inspected."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from holdfast.quick_dataclass import dataclass
from holdfast.settings import UNLIMITED, Memory

_PART = 4096  # rows between two checks of the memory limit
FactData: TypeAlias = Any  # everything a user may pass; `python_data` distinguishes the forms and refuses others


@dataclass(frozen=True)
class FactParts:
    """Facts of one relation given in several parts."""

    parts: tuple[FactData, ...]


def kept(data: FactData, memory: Memory = UNLIMITED) -> FactData:
    """The same facts, readable more than once: the items of an iterator are collected in a list."""
    if isinstance(data, Iterator):
        return list(data) if memory is UNLIMITED else _collected(data, memory)
    if isinstance(data, Mapping) and any(isinstance(column, Iterator) for column in data.values()):
        return {name: kept(column, memory) for name, column in data.items()}
    return data


def _collected(items: Iterator[Any], memory: Memory) -> list[Any]:
    """Collect the items of an iterator, within the memory limit."""
    found: list[Any] = []
    size = 0
    while part := list(islice(items, _PART)):
        found += part
        size += sum(map(_size, part))
        memory.check("facts that are given", size)
    return found


def _size(item: object) -> int:
    """The approximate bytes of a row or value, including its slot in a list."""
    inside = item.values() if isinstance(item, Mapping) else item if isinstance(item, list | tuple) else ()
    return 8 + sys.getsizeof(item, 64) + sum(sys.getsizeof(value, 64) for value in inside)


def is_spark_frame(data: object) -> bool:
    """Whether facts are a Spark DataFrame; works without PySpark."""
    return type(data).__module__.startswith("pyspark.sql") and hasattr(data, "toArrow")
