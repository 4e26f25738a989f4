"""Aggregates on Spark.

Counts, and extremes of numbers and symbols, are Spark's own.  The others run the memory backend's code over whole
groups, so that sums of floats are added in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from holdfast.backends.spark.frames import Frame, Named, Space
from holdfast.backends.spark.functors import undefined_of
from holdfast.backends.spark.values import arrow_type, codes_of, column_of, spark_type
from holdfast.program.model import AggregateRule, Relation
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary

_PLAIN = (Type.NUMBER, Type.FLOAT, Type.SYMBOL)


def aggregated(
    space: Space,
    rule: AggregateRule,
    number: int,
    source: Relation,
    head: Relation,
    facts: Frame,
    changed: Frame | None,
) -> Frame:
    """A query with one row for each group; with `changed`, only for the groups that one of those facts belongs to."""
    if changed is not None:
        facts = _touched(rule, facts, changed)
    group = [f"c{column}" for column in rule.group]
    if rule.function == "count":
        return _grouped(rule, group, "count(*)", facts)
    assert rule.target is not None
    if rule.function in ("min", "max") and source.types[rule.target] in _PLAIN:
        return _grouped(rule, group, f"{rule.function}(c{rule.target})", facts)
    columns = list(dict.fromkeys([*group, f"c{rule.target}"]))
    rows = space.sql(f"SELECT {', '.join(columns)} FROM {facts.table}")
    together = rows.repartition(*group) if group else rows.repartition(1)
    types = [source.types[int(column[1:])] for column in columns]
    places = [columns.index(column) for column in group], columns.index(f"c{rule.target}")
    schema = ", ".join(f"c{place} {spark_type(type)}" for place, type in enumerate(head.types))
    made = together.mapInArrow(_by_group(rule, number, types, places, head.types), schema)
    return Named(space, made, needs=[facts])


def _grouped(rule: AggregateRule, group: Sequence[str], value: str, facts: Frame) -> Frame:
    columns = list(group)
    columns.insert(rule.place % (len(group) + 1), value)
    listed = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
    by = f" GROUP BY {', '.join(dict.fromkeys(group))}" if group else " HAVING count(*) > 0"
    return Frame(facts.space, f"SELECT {listed} FROM {facts.table}{by}", [facts])


def _touched(rule: AggregateRule, facts: Frame, changed: Frame) -> Frame:
    """The facts of the groups that a changed fact belongs to."""
    agree = " AND ".join(f"f.c{column} = g.c{column}" for column in rule.group) or "true"
    query = f"SELECT {changed.sent('g', facts)}f.* FROM {facts.table} f LEFT SEMI JOIN {changed.table} g ON {agree}"
    return Frame(facts.space, query, [facts, changed])


def _by_group(
    rule: AggregateRule, number: int, types: Sequence[Type], places: tuple[list[int], int], head: Sequence[Type]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Runs on the executors: the aggregates of one partition, which has every group as a whole."""
    group, target = places
    renumbered = AggregateRule(
        rule.name, rule.predicate, rule.source, tuple(group), rule.function, target, place=rule.place
    )

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from holdfast.backends.memory.aggregates import aggregate

        table, dictionary = list(batches), Dictionary()
        if not sum(batch.num_rows for batch in table):
            return
        whole = pa.Table.from_batches(table)
        codes = np.stack([codes_of(whole.column(i), type, dictionary) for i, type in enumerate(types)], axis=1)
        with undefined_of(number):
            result = aggregate(renumbered, codes, types, head, dictionary)
        columns = [column_of(result[:, i], type, dictionary) for i, type in enumerate(head)]
        yield pa.record_batch(columns, pa.schema([(f"c{i}", arrow_type(type)) for i, type in enumerate(head)]))

    return run
