"""What the queries of one round tell, of all predicates together, in one job: brought to the driver if it is little,
left on the executors if it is much.

Facts of different predicates have different columns.  To be told together they are put into common ones, so many for
integers, floats and texts, beside the number of the predicate.  With them come, in the same job, the rows that the
bases have for them, so that the driver knows of each fact it is told whether E and I have it and what its counters are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from holdfast.backends.spark.counters import SparkBag
from holdfast.backends.spark.facts import Engine
from holdfast.backends.spark.frames import Frame, Named, Space
from holdfast.backends.spark.relations import STATE, Stored
from holdfast.backends.spark.values import NativeRow, rows_of, spark_type

_LITTLE = 10_000
_KINDS = ("BIGINT", "DOUBLE", "STRING")


class Heads:
    """Queries by the predicate whose facts they give."""

    def __init__(self, space: Space, stored: Mapping[str, Stored]) -> None:
        self.space = space
        self.stored = stored
        self._frames: dict[str, list[Frame]] = {}
        self._are_counted = False  # then the queries give the numbers of occurrences too

    def add(self, predicate: str, frame: Frame) -> None:
        """One more query."""
        self._frames.setdefault(predicate, []).append(frame)

    def __bool__(self) -> bool:
        return bool(self._frames)

    @property
    def predicates(self) -> list[str]:
        """In the order of their numbers."""
        return list(self._frames)

    def found(self, engine: Engine, expected: float, *, once: bool = False) -> SparkBag:
        """The facts that the queries give, with their numbers of occurrences; `once` if nothing occurs twice.

        About how many rows are expected says what is tried first; it is not too bad to be wrong.
        """
        most = self.space.driver_rows
        if most and expected <= 4 * most:
            is_little = expected <= min(most, _LITTLE)  # then to group and to limit it takes longer than it saves
            query = self._told_with_base(once or is_little)
            table = self.space.fetched(query if is_little else f"{query} LIMIT {2 * most + 1}")
            if table.num_rows <= 2 * most:
                return SparkBag(engine, self._few(table))
        return self._many(engine, once)

    # --- little --------------------------------------------------------------------------------------

    def _told_with_base(self, once: bool) -> str:
        parts = []
        for number, predicate in enumerate(self._frames):
            stored, grouped = self.stored[predicate], self._grouped(predicate, once)
            nothing = ", ".join(f"0L AS {name}" for name in STATE)
            parts.append(f"SELECT {number} AS p, k, {nothing}, {self._slots(predicate, 'g')} FROM ({grouped}) g")
            if stored.base is not None:
                state = ", ".join(f"b.{name}" for name in STATE)
                parts.append(f"SELECT /*+ BROADCAST(g) */ {number} AS p, 0L AS k, {state}, "
                             f"{self._slots(predicate, 'b')} FROM {stored.base.table} b LEFT SEMI JOIN ({grouped}) g "
                             f"ON {stored.equal('b', 'g')}")
        return " UNION ALL ".join(parts)

    def _few(self, table: pa.Table) -> dict[str, dict[NativeRow, int]]:
        result: dict[str, dict[NativeRow, int]] = {}
        numbers = table.column("p").to_numpy()
        for number, predicate in enumerate(self._frames):
            stored = self.stored[predicate]
            mine = table.filter(pa.array(numbers == number)) if len(self._frames) > 1 else table
            rows = rows_of([mine.column(slot) for slot in self._places(predicate)], stored.types)
            times, states = mine.column("k").to_pylist(), zip(*(mine.column(s).to_pylist() for s in STATE), strict=True)
            told: Counter[NativeRow] = Counter()
            for row, k, state in zip(rows, times, states, strict=True):
                if k:
                    told[row] += k
                else:
                    stored.looked_up((row,), (state,))
            for row in told:
                stored.records.setdefault(row, [0, 0, 0, 0, 0, 0])
            if told:
                result[predicate] = told
        return result

    # --- much ----------------------------------------------------------------------------------------

    def _many(self, engine: Engine, once: bool) -> SparkBag:
        parts = [f"SELECT {number} AS p, k, {self._slots(predicate, 'g')} FROM ({self._grouped(predicate, once)}) g"
                 for number, predicate in enumerate(self._frames)]
        kept = self.space.worked_out(" UNION ALL ".join(parts))
        sizes = {row["p"]: (row["f"], row["k"]) for row in self.space.fetched(
            f"SELECT p, count(*) AS f, sum(k) AS k FROM {kept.table} GROUP BY p").to_pylist()}
        small = Heads(self.space, self.stored)
        small._are_counted = True
        many: dict[str, tuple[Frame, int, int]] = {}
        for number, predicate in enumerate(self._frames):
            facts, instances = sizes.get(number, (0, 0))
            if not facts:
                continue
            frame = self._view(kept, number, predicate)
            if facts <= self.space.driver_rows:
                small.add(predicate, frame)
            else:
                many[predicate] = (frame, facts, instances)
        few = small._few(self.space.fetched(small._told_with_base(once=True))) if small else {}
        return SparkBag(engine, few, many)

    def _view(self, kept: Named, number: int, predicate: str) -> Frame:
        slots = ", ".join(f"{slot} AS c{place}" for place, slot in enumerate(self._places(predicate)))
        return Frame(self.space, f"SELECT {slots}, k FROM {kept.table} WHERE p = {number}", [kept])

    # --- columns -------------------------------------------------------------------------------------

    def _grouped(self, predicate: str, once: bool) -> str:
        """The facts of a predicate, each with the number of its occurrences."""
        frames, columns = self._frames[predicate], self.stored[predicate].list
        parts = " UNION ALL ".join(f"SELECT * FROM {frame.table}" for frame in frames)
        if once:
            return f"SELECT {columns}, {'k' if self._are_counted else '1L AS k'} FROM ({parts})"
        return f"SELECT {columns}, count(*) AS k FROM ({parts}) GROUP BY {columns}"

    def _width(self, kind: str) -> int:
        return max(sum(spark_type(type) == kind for type in self.stored[p].types) for p in self._frames)

    def _places(self, predicate: str) -> list[str]:
        """For each column of a predicate, the common one that it is put into."""
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


