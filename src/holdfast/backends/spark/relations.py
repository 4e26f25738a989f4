"""The stored state of each relation between updates: E, I and the two counters.

The facts are in one DataFrame, the *base*: a fact's columns, whether it is in E and in I, and its numbers Cn and Cr.  A
small update does not touch it.  The driver holds its changes in *records*: a record overrides the base for its fact,
and the driver has one for every row that it has seen since the base was made, including rows that it only read.  When
there are many records, they are folded into a new base.  Changes too large for records (sets added to or removed from E
or I, and counted derivations) are pending in DataFrames of their own until the end of the update, when they are folded
too.

Invariant: a fact's state is its record's if it has one, else its base row's, else nothing; plus pending changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.backends.spark.facts import NativeRows
from holdfast.backends.spark.frames import Frame, Space, Wanted
from holdfast.backends.spark.values import NativeRow, rows_of, table_of_rows, types_of
from holdfast.program.model import Relation

E, I, N, R = range(4)  # noqa: E741  the papers' letters; places in a record: in E, in I, Cn, Cr; behind them, whether the base has the fact in E and I
STATE = ("e", "i", "n", "r")
FactRecord = list[int]
_SAMPLE = 2_000
_SEGMENTS = 16  # segments of a pending set, before they are merged


@dataclass(frozen=True, eq=False)
class Log:
    """Counted derivations: a number for each fact of a frame, to be added or subtracted."""

    frame: Frame
    times: str  # a column of the frame, or 1
    sign: int


class Stored:
    """One relation."""

    def __init__(self, relation: Relation, space: Space) -> None:
        self.relation = relation
        self.space = space
        self.types = types_of(relation)
        self.columns = [f"c{place}" for place in range(len(self.types))]
        self.base: Frame | None = None
        self.records: dict[NativeRow, FactRecord] = {}
        self.counts = [0, 0]  # of E and I
        self.version = 0
        self.folds = 0
        self.added: tuple[list[Frame], list[Frame]] = ([], [])  # pending changes of E and of I
        self.removed: tuple[list[Frame], list[Frame]] = ([], [])
        self.logs: dict[int, list[Log]] = {N: [], R: []}  # pending counted derivations
        self._distinct: dict[int, tuple[float, float]] = {}
        self._frames: dict[int, tuple[int, Frame]] = {}

    @property
    def list(self) -> str:
        """The columns as a list, for queries."""
        return ", ".join(self.columns)

    def equal(self, left: str, right: str) -> str:
        """The condition that two tables agree in all columns."""
        return " AND ".join(f"{left}.{column} = {right}.{column}" for column in self.columns)

    # --- records -------------------------------------------------------------------------------------

    def learn(self, rows: Iterable[NativeRow]) -> None:
        """Look up rows that have no record yet; usually there are none, otherwise it takes a job."""
        unknown = [row for row in rows if row not in self.records]
        if not unknown:
            return
        if self.base is not None:
            wanted = self.space.rows(unknown, self.types)
            query = (
                f"SELECT /*+ BROADCAST(w) */ b.* FROM {self.base.table} b "
                f"LEFT SEMI JOIN {wanted.table} w ON {self.equal('b', 'w')}"
            )
            found = self.space.fetched(query)
            self.looked_up(
                rows_of(found.columns[: len(self.types)], self.types),
                list(zip(*(found.column(name).to_pylist() for name in STATE), strict=True)),
            )
        for row in unknown:
            self.records.setdefault(row, [0, 0, 0, 0, 0, 0])

    def looked_up(self, rows: Iterable[NativeRow], states: Iterable[Sequence[int]]) -> None:
        """Record rows found in the base."""
        for row, state in zip(rows, states, strict=True):
            self.records.setdefault(row, [*state, state[E], state[I]])

    def put(self, flag: int, rows: NativeRows, value: int) -> None:
        """Add rows to E or I, or remove them."""
        self.learn(rows)
        for row in rows:
            record = self.records[row]
            self.counts[flag] += value - record[flag]
            record[flag] = value
        self.version += 1

    # --- E and I as frames ---------------------------------------------------------------------------

    def waits(self, flag: int) -> bool:
        """Whether part of E or I is still pending."""
        return bool(self.added[flag] or self.removed[flag])

    def frame(self, flag: int) -> Frame:
        """The facts of E or I."""
        known = self._frames.get(flag)
        if known is None or known[0] != self.version:
            known = self._frames[flag] = (self.version, self._frame(flag))
        return known[1]

    def before(self, flag: int, segment: Frame) -> Frame | None:
        """E or I before a segment was added, if that segment is still separate."""
        is_there = any(part is segment for part in self.added[flag]) and not self.removed[flag]
        return self._frame(flag, segment) if is_there else None

    def _frame(self, flag: int, skipped: Frame | None = None) -> Frame:
        more = [row for row, record in self.records.items() if record[flag] and not record[4 + flag]]
        less = [row for row, record in self.records.items() if record[4 + flag] and not record[flag]]
        parts = [self.space.rows(more, self.types)] if more else []
        if self.base is not None:
            held = Frame(self.space, f"SELECT {self.list} FROM {self.base.table} WHERE {STATE[flag]} = 1", [self.base])
            parts.append(self.anti(held, self.space.rows(less, self.types)) if less else held)
        parts += [part for part in self.added[flag] if part is not skipped]
        parts = parts or [self.space.rows((), self.types)]
        query = " UNION ALL ".join(f"SELECT * FROM {part.table}" for part in parts)
        whole = Frame(self.space, query, parts) if len(parts) > 1 else parts[0]
        for removed in self.removed[flag]:
            whole = self.anti(whole, removed)
        return whole

    def anti(self, left: Frame, right: Frame) -> Frame:
        """The rows of one frame that are not in another."""
        hint = right.sent("r", left)
        query = f"SELECT {hint}l.* FROM {left.table} l LEFT ANTI JOIN {right.table} r ON {self.equal('l', 'r')}"
        return Frame(self.space, query, [left, right])

    def append(self, flag: int, frame: Frame, number: int) -> None:
        """Add a large set to E or I that is disjoint from it."""
        parts = self.added[flag]
        parts.append(frame)
        if len(parts) > _SEGMENTS:
            query = " UNION ALL ".join(f"SELECT * FROM {part.table}" for part in parts)
            parts[:] = [made for made, _ in self.space.snapshot(Wanted(query, ["count(*)"], self.size))]
        self.counts[flag] += number
        self.version += 1

    def mirror(self, less: NativeRows, more: NativeRows) -> None:
        """Set I, which is empty, to E without some rows and with some others."""
        self.learn(less | more)
        if self.base is not None:
            self.base = Frame(self.space, f"SELECT {self.list}, e, e AS i, n, r FROM {self.base.table}", [self.base])
        for record in self.records.values():
            record[I], record[4 + I] = record[E], record[4 + E]
        self.counts[I] = self.counts[E]
        self.put(I, less, 0)
        self.put(I, more, 1)

    # --- counters ------------------------------------------------------------------------------------

    def numbers(self, place: int) -> Frame:
        """Facts with parts of their numbers, to be summed."""
        name, needs = STATE[place], [log.frame for log in self.logs[place]]
        rows = [row for row, record in self.records.items() if record[place]]
        parts = []
        if self.base is not None:
            needs.append(self.base)
            held, keys = f"SELECT {self.list}, {name} AS k FROM {self.base.table}", list(self.records)
            if keys:
                frame = self.space.rows(keys, self.types)
                needs.append(frame)
                held = (
                    f"SELECT {frame.sent('m', self.base)}b.* FROM ({held}) b LEFT ANTI JOIN {frame.table} m "
                    f"ON {self.equal('b', 'm')}"
                )
            parts.append(held)
        if rows or not parts:
            given = self.space.given(table_of_rows(rows, self.types, k=[self.records[row][place] for row in rows]))
            needs.append(given)
            parts.append(f"SELECT * FROM {given.table}")
        parts += [
            f"SELECT {self.list}, {log.sign} * {log.times} AS k FROM {log.frame.table}" for log in self.logs[place]
        ]
        return Frame(self.space, " UNION ALL ".join(parts), needs)

    def found(self, base: Frame | None) -> None:
        """Replace the base by a new one that includes all records and pending changes."""
        self.base = base
        self.records.clear()
        for parts in (*self.added, *self.removed):
            parts.clear()
        for logs in self.logs.values():
            logs.clear()
        self.version += 1

    # --- statistics ----------------------------------------------------------------------------------

    @property
    def size(self) -> float:
        """The estimated number of facts."""
        return float(max(self.counts[E], self.counts[I]))

    def distincts(self) -> Sequence[str]:
        """The figures to compute for a large new set of facts, if too little is known of the columns' values."""
        known = min((at for at, _ in self._distinct.values()), default=0.0)
        return [] if known and self.size < 4 * known else [f"approx_count_distinct({name})" for name in self.columns]

    def sampled(self, facts: int, distinct: Sequence[float]) -> None:
        """Record the number of facts and of values in each column; the largest of several sets is the best estimate."""
        for place, number in enumerate(distinct):
            if facts >= self._distinct.get(place, (0.0, 0.0))[0]:
                self._distinct[place] = (float(facts), float(number))

    def distinct(self, place: int) -> float:
        """The estimated number of values in a column: counted in a large set of its facts, else from a sample of the
        records.

        If nothing is known, all columns are assumed to have equally many.
        """
        at, number = self._distinct.get(place, (0.0, float(self.size ** (1 / len(self.columns)))))
        if self.base is None and len(self.records) > 2 * at:
            sample = [row for row, _ in zip(self.records, range(_SAMPLE), strict=False)]
            at, number = float(len(self.records)), float(len({row[place] for row in sample}))
            number *= at / len(sample) if number > len(sample) / 2 else 1.0
            self._distinct[place] = (at, number)
        return max(1.0, number)
