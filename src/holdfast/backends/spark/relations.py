"""What is kept of each relation between updates: E, I and the two counters.

The facts are in one DataFrame, the *base*: a fact's columns, whether it is in E and in I, and its numbers Cn and Cr.
A small update does not touch it.  What it changes is told on the driver, in *records*: a record overrides the base
for its fact, and the driver has one for every row that it met since the base was made, those it only looked at
included.  When there are many records they are folded into a new base.  What is too large for records, sets that were
added to or taken from E or I and counted derivations, waits in DataFrames of its own until the end of the update,
when it is folded too.

Invariant: a fact's state is its record's if it has one, else its base row's, else nothing; plus what waits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.backends.protocol import Facts
from holdfast.backends.spark.facts import (
    NOTHING,
    Engine,
    Far,
    Form,
    Local,
    Near,
    Rows,
    SparkFacts,
    apart,
    own,
    size,
)
from holdfast.backends.spark.frames import Frame, Space, Wanted
from holdfast.backends.spark.values import NativeRow, rows_of, table_of_rows, types_of
from holdfast.program.model import Relation

E, I, N, R = range(4)  # noqa: E741  the papers' letters; places in a record: in E, in I, Cn, Cr; behind them, whether the base has the fact in E and I
STATE = ("e", "i", "n", "r")
Record = list[int]
_SAMPLE = 2_000
_REMEMBERED = 16  # folds, after which it is forgotten how to compute lost blocks: what leads to them grows
_SEGMENTS = 16  # of a set that waits, before they are put together


@dataclass(frozen=True, eq=False)
class Log:
    """Derivations that were counted: of each fact of a frame so many, to be added or taken off."""

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
        self.records: dict[NativeRow, Record] = {}
        self.counts = [0, 0]  # of E and I
        self.version = 0
        self.folds = 0
        self.added: tuple[list[Frame], list[Frame]] = ([], [])  # to E and to I, waiting
        self.removed: tuple[list[Frame], list[Frame]] = ([], [])
        self.logs: dict[int, list[Log]] = {N: [], R: []}  # counted derivations, waiting
        self._distinct: dict[int, tuple[float, float]] = {}
        self._frames: dict[int, tuple[int, Frame]] = {}

    @property
    def list(self) -> str:
        """The columns, for queries."""
        return ", ".join(self.columns)

    def equal(self, left: str, right: str) -> str:
        """A condition: two tables agree in all columns."""
        return " AND ".join(f"{left}.{column} = {right}.{column}" for column in self.columns)

    # --- records -------------------------------------------------------------------------------------

    def learn(self, rows: Iterable[NativeRow]) -> None:
        """Look up rows that have no record yet; there is seldom one, and then it takes a job."""
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
        """These are rows of the base."""
        for row, state in zip(rows, states, strict=True):
            self.records.setdefault(row, [*state, state[E], state[I]])

    def put(self, flag: int, rows: Rows, value: int) -> None:
        """Take rows into E or I, or out."""
        self.learn(rows)
        for row in rows:
            record = self.records[row]
            self.counts[flag] += value - record[flag]
            record[flag] = value
        self.version += 1

    # --- E and I as frames ---------------------------------------------------------------------------

    def waits(self, flag: int) -> bool:
        """Whether part of E or I is not in base and records yet."""
        return bool(self.added[flag] or self.removed[flag])

    def frame(self, flag: int) -> Frame:
        """The facts of E or I."""
        known = self._frames.get(flag)
        if known is None or known[0] != self.version:
            known = self._frames[flag] = (self.version, self._frame(flag))
        return known[1]

    def before(self, flag: int, segment: Frame) -> Frame | None:
        """E or I as it was before a segment came, if that still waits by itself."""
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
        for gone in self.removed[flag]:
            whole = self.anti(whole, gone)
        return whole

    def anti(self, left: Frame, right: Frame) -> Frame:
        """The rows of one frame that are not in another."""
        hint = right.sent("r", left)
        query = f"SELECT {hint}l.* FROM {left.table} l LEFT ANTI JOIN {right.table} r ON {self.equal('l', 'r')}"
        return Frame(self.space, query, [left, right])

    def append(self, flag: int, frame: Frame, number: int) -> None:
        """A large set comes to E or I, which has nothing of it yet."""
        parts = self.added[flag]
        parts.append(frame)
        if len(parts) > _SEGMENTS:
            query = " UNION ALL ".join(f"SELECT * FROM {part.table}" for part in parts)
            parts[:] = [made for made, _ in self.space.snapshot(Wanted(query, ["count(*)"], self.size))]
        self.counts[flag] += number
        self.version += 1

    def mirror(self, less: Rows, more: Rows) -> None:
        """I, which is empty, becomes E without some rows and with some others."""
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
        """Facts with parts of their numbers, to be added up."""
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
            told = self.space.given(table_of_rows(rows, self.types, k=[self.records[row][place] for row in rows]))
            needs.append(told)
            parts.append(f"SELECT * FROM {told.table}")
        parts += [
            f"SELECT {self.list}, {log.sign} * {log.times} AS k FROM {log.frame.table}" for log in self.logs[place]
        ]
        return Frame(self.space, " UNION ALL ".join(parts), needs)

    # --- folding -------------------------------------------------------------------------------------

    def _unfolded(self) -> Frame | None:
        """Records and what waits as one state, if they are many; none if there is nothing to work out."""
        if any(map(self.waits, (E, I))) or any(self.logs.values()):
            return self._unfolded_sets()
        if len(self.records) > self.space.fold_rows:
            changed = any(record[E:N] != record[4:] or record[N] or record[R] for record in self.records.values())
            if changed or self.base is None:
                return self._state()
            self._found(self.base)
        return None

    def _state(self) -> Frame:
        """Base and records as one."""
        live = {row: record for row, record in self.records.items() if any(record[:4])}
        told = {name: [record[place] for record in live.values()] for place, name in enumerate(STATE)}
        needs: list[Frame] = [self.space.given(table_of_rows(live, self.types, **told))]
        parts = [f"SELECT * FROM {needs[0].table}"]
        if self.base is not None:
            needs += [self.base]
            held = f"SELECT {self.list}, e, i, n, r FROM {self.base.table}"
            if self.records:
                needs += [keys := self.space.rows(self.records, self.types)]
                held = (
                    f"SELECT {keys.sent('m', self.base)}b.* FROM ({held}) b LEFT ANTI JOIN {keys.table} m "
                    f"ON {self.equal('b', 'm')}"
                )
            parts.append(held)
        return Frame(self.space, " UNION ALL ".join(parts), needs)

    def _unfolded_sets(self) -> Frame | None:
        """One grouping adds up what is known of each fact; there is none if no fact is in two frames."""
        shares: dict[Frame, list[str]] = {}

        def add(frame: Frame, place: int, times: str) -> None:
            whole, condition = frame.part_of
            shares.setdefault(whole, ["0L"] * len(STATE))[place] += f" + IF({condition}, {times}, 0L)"

        for flag in (E, I):
            for frame in self.added[flag]:
                add(frame, flag, "1L")
            for frame in self.removed[flag]:
                add(frame, flag, "-1L")
        for place, logs in self.logs.items():
            for log in logs:
                add(log.frame, place, f"{log.sign} * {log.times}")
        parts = [
            f"SELECT {self.list}, {', '.join(f'{w} AS {name}' for w, name in zip(what, STATE, strict=True))} "
            f"FROM {frame.table}"
            for frame, what in shares.items()
        ]
        needs = list(shares)
        # what came to I at one time has nothing in common with what came at another
        segments = {frame.part_of[0] for frame in self.added[I] if frame.part_of[1] == "true"}
        is_apart = len(parts) == 1 or (segments.issuperset(shares) and not any(self.removed))
        if is_apart and self.base is None and not self.records:
            state = Frame(self.space, " UNION ALL ".join(parts), needs)
            if len(parts) > 1 or not needs[0].is_kept:
                return state
            self._found(state)  # which is worked out already
            return None
        if self.base is not None or self.records:
            needs += [state := self._state()]
            parts += [f"SELECT * FROM {state.table}"]
        query = (
            f"SELECT {self.list}, CAST(sum(e) > 0 AS BIGINT) AS e, CAST(sum(i) > 0 AS BIGINT) AS i, sum(n) AS n, "
            f"sum(r) AS r FROM ({' UNION ALL '.join(parts)}) GROUP BY {self.list} "
            "HAVING sum(e) > 0 OR sum(i) > 0 OR sum(n) <> 0 OR sum(r) <> 0"
        )
        return Frame(self.space, query, needs)

    def _found(self, base: Frame | None) -> None:
        """All that is known is in a new base."""
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
        """How many facts there are, about."""
        return float(max(self.counts[E], self.counts[I]))

    def distincts(self) -> Sequence[str]:
        """What to ask of a large set of facts that is made, if not enough is known of the columns' values."""
        known = min((at for at, _ in self._distinct.values()), default=0.0)
        return [] if known and self.size < 4 * known else [f"approx_count_distinct({name})" for name in self.columns]

    def sampled(self, facts: int, distinct: Sequence[float]) -> None:
        """So many facts have so many values in each column; of several sets the largest tells the most."""
        for place, number in enumerate(distinct):
            if facts >= self._distinct.get(place, (0.0, 0.0))[0]:
                self._distinct[place] = (float(facts), float(number))

    def distinct(self, place: int) -> float:
        """About how many values a column has: counted in a large set of its facts, else from a sample of the records.

        Where nothing is known it is guessed that all columns have equally many.
        """
        at, number = self._distinct.get(place, (0.0, float(self.size ** (1 / len(self.columns)))))
        if self.base is None and len(self.records) > 2 * at:
            sample = [row for row, _ in zip(self.records, range(_SAMPLE), strict=False)]
            at, number = float(len(self.records)), float(len({row[place] for row in sample}))
            number *= at / len(sample) if number > len(sample) / 2 else 1.0
            self._distinct[place] = (at, number)
        return max(1.0, number)


def fold(space: Space, several: Iterable[Stored]) -> None:
    """Put records and what waits into new bases where they are many, in one job; only then the old ones go."""
    due = [(stored, state) for stored in several if (state := stored._unfolded()) is not None]
    for stored, _ in due:
        stored.folds += 1
    made = space.snapshot(
        *(
            Wanted(
                state.query,
                ["sum(e)", "sum(i)", "count(*)", *stored.distincts()],
                3 * stored.size,
                stored.folds % _REMEMBERED == 0,
            )
            for stored, state in due
        )
    )
    for (stored, _), (base, (explicit, derived, facts, *distinct)) in zip(due, made, strict=True):
        stored.counts[:] = explicit, derived
        stored.sampled(facts, distinct)
        stored._found(base if facts else None)


class Standing(SparkFacts):
    """E or I."""

    def __init__(self, engine: Engine, stored: Mapping[str, Stored], flag: int) -> None:
        super().__init__(engine)
        self.stored = stored
        self.flag = flag

    def predicates(self) -> Iterator[str]:
        """The predicates that have facts in it."""
        return (name for name, stored in self.stored.items() if stored.counts[self.flag])

    def form(self, predicate: str) -> Form:
        """The facts of one predicate."""
        stored = self.stored[predicate]
        if stored.waits(self.flag):
            return Far(stored.frame(self.flag), stored.counts[self.flag], stays=True)
        return Near(self) if stored.counts[self.flag] else NOTHING

    def mark(self, predicate: str) -> object:
        """A name for the set as it is now."""
        return (id(self), predicate, self.stored[predicate].version)

    def __sub__(self, other: Facts) -> SparkFacts:
        """`I \\ Δ` after `I ∪= Δ` is what I was before: its older segments."""
        result, rest = super().__sub__(other), own(other)
        for predicate in rest.predicates():
            form, stored = rest.form(predicate), self.stored[predicate]
            before = stored.before(self.flag, form.frame) if isinstance(form, Far) else None
            if before is not None and isinstance(form, Far) and form.size is not None:
                result.forms[predicate] = Far(before, stored.counts[self.flag] - form.size, stays=True)
        return result

    def having(self, predicate: str, rows: Collection[NativeRow]) -> Rows:
        """Those of some rows that it has."""
        stored = self.stored[predicate]
        if stored.base is not None:
            stored.learn(rows)
        records = stored.records
        return frozenset(row for row in rows if row in records and records[row][self.flag])

    def here(self, predicate: str) -> Rows | None:
        """Its facts of a predicate, if the driver has them all."""
        stored = self.stored[predicate]
        if stored.base is not None or stored.waits(self.flag):
            return None
        return frozenset(row for row, record in stored.records.items() if record[self.flag])

    def count(self, predicate: str) -> int:
        """How many facts of a predicate it has."""
        return self.stored[predicate].counts[self.flag]

    def frame(self, predicate: str) -> Frame:
        """Its facts of a predicate."""
        return self.stored[predicate].frame(self.flag)

    def __ior__(self, more: Facts) -> Standing:
        for predicate, form in [(p, own(more).form(p)) for p in own(more).predicates()]:
            stored = self.stored[predicate]
            match form:
                case Local(rows=rows) if not stored.waits(self.flag):
                    stored.put(self.flag, rows, 1)
                case Near(standing=Standing(flag=0), less=less, more=rows) if self.flag == I and not stored.counts[I]:
                    stored.mirror(less, rows)
                case _:
                    self._append(predicate, form)
        return self

    def _append(self, predicate: str, form: Form) -> None:
        new = SparkFacts(self.engine, {predicate: form})
        if self.mark(predicate) not in apart(form):
            new = (new - self).snapshot()
        form = new.snapshot().form(predicate)
        if number := size(predicate, form):
            self.stored[predicate].append(self.flag, self.engine.frame(predicate, form), number)

    def __isub__(self, fewer: Facts) -> Standing:
        for predicate, form in [(p, own(fewer).form(p)) for p in own(fewer).predicates()]:
            stored = self.stored[predicate]
            if isinstance(form, Local) and not stored.waits(self.flag):
                stored.put(self.flag, form.rows, 0)
            elif number := size(predicate, form):
                stored.removed[self.flag].append(self.engine.frame(predicate, form))
                stored.counts[self.flag] -= number
                stored.version += 1
        return self

    def _settle(self) -> None:
        """Its sizes are always known."""
