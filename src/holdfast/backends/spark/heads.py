"""The results of the queries of one round, of all predicates together, in one job: collected to the driver if small,
left on the executors if large, each predicate separately.

Facts of different predicates have different columns.  One query returns all of them in common columns, enough for
integers, floats and texts, beside the number of the predicate.  One more job then fetches the rows that the
bases have for them, so that the driver knows for each fact whether E and I have it and what its counters are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from holdfast.backends.spark.counters import Many, SparkBag
from holdfast.backends.spark.facts import NOTHING, FormContext, Local, SparkFacts
from holdfast.backends.spark.frames import Frame, Space, Wanted
from holdfast.backends.spark.relations import STATE, Stored
from holdfast.backends.spark.values import NativeRow, rows_of, spark_type

_LITTLE = 10_000
_KINDS = ("BIGINT", "DOUBLE", "STRING")


class HeadQueries:
    """Queries, by the predicate whose facts they return."""

    def __init__(self, space: Space, stored: Mapping[str, Stored]) -> None:
        self.space = space
        self.stored = stored
        self._frames: dict[str, list[Frame]] = {}
        self._rows: dict[str, float] = {}  # estimated number of rows read
        self._are_counted = False  # whether the queries return numbers of occurrences too

    def add(self, predicate: str, frame: Frame, rows: float) -> None:
        """Add a query, which reads about this number of rows."""
        self._frames.setdefault(predicate, []).append(frame)
        self._rows[predicate] = self._rows.get(predicate, 0.0) + rows

    def __bool__(self) -> bool:
        return bool(self._frames)

    @property
    def predicates(self) -> list[str]:
        """The predicates in the order of their numbers."""
        return list(self._frames)

    def found(
        self,
        engine: FormContext,
        expected: float,
        *,
        once: bool = False,
        known: SparkFacts | None = None,
        stay: bool = False,
    ) -> SparkBag:
        """The facts that the queries return, with their numbers of occurrences; `once` if nothing occurs twice.

        The expected number of rows only decides what is tried first.  If there are many rows, the same job also
        determines which of them are not `known`.  A large result that would soon be folded may `stay`.
        """
        most = self.space.driver_rows
        if most and expected <= 4 * most:
            is_little = expected <= min(most, _LITTLE)  # then grouping and limiting takes longer than it saves
            query = self._query(once or is_little)
            table = self.space.fetched(query if is_little else f"{query} LIMIT {most + 1}", sum(self._rows.values()))
            if table.num_rows <= most:
                return SparkBag(engine, self._few(table))
        return self._many(engine, once, known, self.space.few_rows if stay else most)

    # --- little --------------------------------------------------------------------------------------

    def _query(self, once: bool) -> str:
        new = "new" if self._are_counted else "true AS new"
        return " UNION ALL ".join(
            f"SELECT {number} AS p, k, {new}, {self._slots(predicate, 'g')} FROM ({self._grouped(predicate, once)}) g"
            for number, predicate in enumerate(self._frames)
        )

    def _few(self, table: pa.Table) -> dict[str, dict[NativeRow, int]]:
        result: dict[str, dict[NativeRow, int]] = {}
        for predicate, mine in self._by_predicate(table):
            counted: Counter[NativeRow] = Counter()
            for row, k in zip(self._rows_of(predicate, mine), mine.column("k").to_pylist(), strict=True):
                counted[row] += k
            if counted:
                result[predicate] = counted
        self._look_up(result)
        return result

    def _look_up(self, facts: Mapping[str, Iterable[NativeRow]]) -> None:
        """Look up in the bases rows that have no record yet: one more job, whatever the number of predicates."""
        unknown = {
            predicate: [row for row in rows if row not in self.stored[predicate].records]
            for predicate, rows in facts.items()
        }
        parts, needs = [], []
        for number, predicate in enumerate(self._frames):
            stored = self.stored[predicate]
            if stored.base is not None and unknown.get(predicate):
                needs.append(wanted := self.space.rows(unknown[predicate], stored.types))
                parts.append(
                    f"SELECT /*+ BROADCAST(w) */ {number} AS p, {', '.join(STATE)}, "
                    f"{self._slots(predicate, 'b')} FROM {stored.base.table} b "
                    f"LEFT SEMI JOIN {wanted.table} w ON {stored.equal('b', 'w')}"
                )
        if parts:
            held = sum(self.stored[predicate].size for predicate in self._frames)
            for predicate, mine in self._by_predicate(self.space.fetched(" UNION ALL ".join(parts), held)):
                states = zip(*(mine.column(name).to_pylist() for name in STATE), strict=True)
                self.stored[predicate].looked_up(self._rows_of(predicate, mine), states)
        for predicate, rows in unknown.items():
            for row in rows:
                self.stored[predicate].records.setdefault(row, [0, 0, 0, 0, 0, 0])

    def _by_predicate(self, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        numbers = table.column("p").to_numpy()
        for number, predicate in enumerate(self._frames):
            yield predicate, table.filter(pa.array(numbers == number)) if len(self._frames) > 1 else table

    def _rows_of(self, predicate: str, table: pa.Table) -> Iterable[NativeRow]:
        return rows_of([table.column(slot) for slot in self._places(predicate)], self.stored[predicate].types)

    # --- much ----------------------------------------------------------------------------------------

    def _many(self, engine: FormContext, once: bool, known: SparkFacts | None, most: int) -> SparkBag:
        made = self.space.snapshot(
            *(
                Wanted(
                    self._compared(engine, predicate, self._grouped(predicate, once), known),
                    ["count(*)", "sum(k)", "count_if(new)", *self.stored[predicate].distincts()],
                    self._rows[predicate] + (0 if known is None else self.stored[predicate].size),
                )
                for predicate in self._frames
            )
        )
        small = HeadQueries(self.space, self.stored)
        small._are_counted = True
        many: dict[str, Many] = {}
        for predicate, (frame, (facts, instances, unknown, *distinct)) in zip(self._frames, made, strict=True):
            self.stored[predicate].sampled(facts, distinct)
            if 0 < facts <= most:
                small.add(predicate, frame, facts)
            elif facts:
                mark = known.mark(predicate) if known is not None else None
                many[predicate] = Many(frame, facts, instances, unknown, mark)
        if not small:
            return SparkBag(engine, {}, many)
        table = self.space.fetched(small._query(once=True), sum(small._rows.values()))
        few = small._few(table)
        if known is None:
            return SparkBag(engine, few, many)
        new = small._few(table.filter(table.column("new")))
        marks = {predicate: known.mark(predicate) for predicate in few}
        rest = {p: (mark, Local(frozenset(new.get(p, ())), frozenset({mark}))) for p, mark in marks.items()}
        return SparkBag(engine, few, many, rest)

    def _compared(self, engine: FormContext, predicate: str, query: str, known: SparkFacts | None) -> str:
        """The facts of a query, with whether they are new to a known set."""
        form = NOTHING if known is None else known.form(predicate)
        if form is NOTHING:
            return f"SELECT *, true AS new FROM ({query})"
        facts, stored = engine.frame(predicate, form), self.stored[predicate]
        hint = facts.sent("f", *self._frames[predicate])
        return (
            f"SELECT {hint}q.*, f.known IS NULL AS new FROM ({query}) q LEFT JOIN "
            f"(SELECT *, true AS known FROM {facts.table}) f ON {stored.equal('q', 'f')}"
        )

    # --- columns -------------------------------------------------------------------------------------

    def _grouped(self, predicate: str, once: bool) -> str:
        """The facts of a predicate, each with the number of its occurrences."""
        frames, columns = self._frames[predicate], self.stored[predicate].list
        parts = " UNION ALL ".join(f"SELECT * FROM {frame.table}" for frame in frames)
        if once:
            return f"SELECT {columns}, {'k, new' if self._are_counted else '1L AS k'} FROM ({parts})"
        return f"SELECT {columns}, count(*) AS k FROM ({parts}) GROUP BY {columns}"

    def _width(self, kind: str) -> int:
        return max(sum(spark_type(type) == kind for type in self.stored[p].types) for p in self._frames)

    def _places(self, predicate: str) -> list[str]:
        """For each column of a predicate, the common column that holds it."""
        taken: Counter[str] = Counter()
        places = []
        for type in self.stored[predicate].types:
            kind = spark_type(type)
            places.append(f"{kind.lower()}{taken[kind]}")
            taken[kind] += 1
        return places

    def _slots(self, predicate: str, table: str) -> str:
        mine = {slot: f"{table}.c{place}" for place, slot in enumerate(self._places(predicate))}
        wanted = [(kind, f"{kind.lower()}{place}") for kind in _KINDS for place in range(self._width(kind))]
        return ", ".join(f"{mine.get(slot, f'CAST(NULL AS {kind})')} AS {slot}" for kind, slot in wanted)
