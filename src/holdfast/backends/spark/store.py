"""The spark backend: relations on a cluster, sets and counters, and Π as one query."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from holdfast.backends.abilities import Able, Frames, Housekeeping, ModuleBudget, Tuning
from holdfast.backends.protocol import Facts, Watch
from holdfast.backends.spark.aggregates import aggregated
from holdfast.backends.spark.counters import SparkBag, SparkCounters
from holdfast.backends.spark.exchange import SparkRows, native_frame
from holdfast.backends.spark.facts import (
    NOTHING,
    Elsewhere,
    Far,
    Form,
    Listed,
    Local,
    Near,
    SparkFacts,
    own,
    size,
)
from holdfast.backends.spark.folding import fold
from holdfast.backends.spark.frames import Frame, Space, free_unused
from holdfast.backends.spark.functors import Functions
from holdfast.backends.spark.heads import HeadQueries
from holdfast.backends.spark.queries import QueryWriter
from holdfast.backends.spark.relations import STATE, N, R, Stored
from holdfast.backends.spark.relations import E as IN_E
from holdfast.backends.spark.relations import I as IN_I
from holdfast.backends.spark.standing import Standing
from holdfast.backends.spark.values import (
    NativeRow,
    codes_of_table,
    rows_of,
    table_of,
    table_of_rows,
)
from holdfast.errors import Diagnostic, UsageError
from holdfast.plans.model import AggregatePlan, AnyPlan, Plan, Read
from holdfast.program.model import Atom, Relation
from holdfast.values import Type
from holdfast.values.dictionary import Codes, Dictionary


class StoredStatistics:
    """What the planner may know of the relations."""

    def __init__(self, stored: Mapping[str, Stored]) -> None:
        self._stored = stored

    def size(self, predicate: str) -> float:
        """How many facts there are."""
        return self._stored[predicate].size

    many = math.inf  # a round is a job

    def smallest(self, predicate: str, column: int) -> float:
        """Not known: it would take a job."""
        return -math.inf

    def fanout(self, predicate: str, columns: tuple[int, ...], arity: int) -> float:
        """How many facts share their values in some columns, on average, as if the columns were independent."""
        stored, keys = self._stored[predicate], 1.0
        for column in columns:
            keys *= stored.distinct(column)
        return min(1.0, stored.size / keys) if len(columns) == arity else stored.size / min(keys, max(1.0, stored.size))

    def unindexed(self, predicate: str, columns: tuple[int, ...]) -> float:
        """There are no indexes."""
        return 0.0


class SparkBackend(Able, ModuleBudget, Frames, Tuning, Housekeeping):
    """Facts on a cluster."""

    def __init__(
        self, session: SparkSession, relations: Mapping[str, Relation], dictionary: Dictionary, watch: Watch
    ) -> None:
        self.space = Space(session)
        self.dictionary = dictionary
        self.watch = watch
        self.relations: dict[str, Relation] = {}
        self.stored: dict[str, Stored] = {}
        self.explicit = Standing(self, self.stored, IN_E)
        self.materialisation = Standing(self, self.stored, IN_I)
        self.deleted, self.added, self.checked, self.proved, self.delayed = (Listed(self) for _ in range(5))
        undo: list[Callable[[], None]] = []
        self.nonrecursive = SparkCounters(self, self.stored, N, undo)
        self.recursive = SparkCounters(self, self.stored, R, undo)
        self.statistics = StoredStatistics(self.stored)
        self.functions = Functions(self.space.session)
        self.reports_new_facts = False  # which heads are new is seen when they are compared with I
        self.most_at_once = 60  # Spark's parser descends into each part of a union
        # Modules work on the driver: their edges have to fit there (-1: no modules), and what they derive.
        self.most_for_modules, self.most_by_modules = self.space.module_rows or -1, self.space.module_facts
        for relation in relations.values():
            self.add_relation(relation)

    # --- relations -----------------------------------------------------------------------------------

    def add_relation(self, relation: Relation) -> None:
        """Begin to keep the facts of one more relation."""
        if Type.RECORD in relation.types:
            message = f"{relation.display} holds records, which the spark engine does not support"
            help = 'use engine="memory" for this program'
            raise UsageError(Diagnostic("E0917", message, relation.span, help=help))
        self.relations[relation.name] = relation
        self.stored[relation.name] = Stored(relation, self.space)

    def drop_relation(self, name: str) -> None:
        """Forget a relation and its facts."""
        del self.relations[name], self.stored[name]

    repeats = False

    def mend(self) -> None:
        """Only a commit changes anything in parts here."""

    def forget_plans(self, heads: Container[str]) -> None:
        """Rules have changed: what was prepared for the old ones is of no use, and for the others quickly made."""
        self.functions.forget()

    def tidy(self, removed: Facts) -> None:
        """Fold what has become much into new bases."""
        fold(self.space, self.stored.values())
        free_unused()

    def reclaim(self) -> None:
        """The limit holds for this process, and the facts are in others."""

    @property
    def nbytes(self) -> int:
        """What the driver holds, about: a record is some 200 bytes."""
        return sum(200 * len(stored.records) for stored in self.stored.values())

    # --- facts in and out ----------------------------------------------------------------------------

    def takes(self, data: object) -> bool:
        """DataFrames of Spark."""
        return isinstance(data, DataFrame)

    def facts(self, rows: Mapping[str, Codes], *, known: bool = False) -> SparkFacts:
        """Encoded rows as a set of facts, never seen ones too."""
        return SparkFacts(self, {name: self._given(name, codes) for name, codes in rows.items()})

    def facts_with_frames(self, rows: Mapping[str, Codes], frames: Mapping[str, Sequence[Any]]) -> SparkFacts:
        """Encoded rows and DataFrames as a set of facts."""
        found = self.facts(rows)
        for name, several in frames.items():
            for frame in several:
                found = found | SparkFacts(self, {name: Far(native_frame(self.space, frame, self.relations[name]))})
        return SparkFacts(self, self.measured(found.forms, stay=True))

    def _given(self, name: str, codes: Codes) -> Form:
        relation, stored = self.relations[name], self.stored[name]
        table = table_of(codes, relation, self.dictionary)
        if len(codes) <= self.space.driver_rows:
            rows = frozenset(rows_of(table.columns, stored.types))
            stored.learn(rows)
            return Local(rows)
        return Far(Frame(self.space, f"SELECT DISTINCT * FROM {(given := self.space.given(table)).table}", [given]))

    def rows(self, predicate: str, facts: Facts) -> Codes | SparkRows:
        """The rows of a set's facts of one predicate; many stay where they are."""
        relation = self.relations[predicate]
        if self.is_open(own(facts).form(predicate)):
            facts.sizes()  # which computes it
        form = own(facts).form(predicate)
        if isinstance(form, Local):
            table = table_of_rows(form.rows, self.stored[predicate].types)
            return codes_of_table(table, relation, self.dictionary)
        return SparkRows(relation, self.frame(predicate, form), size(predicate, form), self.dictionary)

    def derivations(self, predicate: str) -> tuple[Codes, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them Cn and Cr; all are collected to the driver."""
        stored = self.stored[predicate]
        fold(self.space, [stored])
        rows = [row for row, record in stored.records.items() if record[IN_I]]
        numbers = [[stored.records[row][place] for row in rows] for place in (N, R)]
        tables = [table_of_rows(rows, stored.types, n=numbers[0], r=numbers[1])]
        if stored.base is not None:
            held = self.space.fetched(f"SELECT {stored.list}, n, r FROM {stored.base.table} WHERE i = 1")
            known = [row in stored.records for row in rows_of(held.columns[: len(stored.types)], stored.types)]
            tables.append(held.filter(pa.array(np.logical_not(known), pa.bool_())).cast(tables[0].schema))
        table = pa.concat_tables(tables)
        counts = (table.column(name).to_pylist() for name in ("n", "r"))
        return codes_of_table(table, self.relations[predicate], self.dictionary), *counts

    # --- forms ---------------------------------------------------------------------------------------

    def width(self, predicate: str) -> int:
        """The number of a predicate's columns in Spark."""
        return len(self.stored[predicate].types)

    def frame(self, predicate: str, form: Form) -> Frame:
        """A form as a DataFrame."""
        stored = self.stored[predicate]
        match form:
            case Local(rows=rows):
                return self.space.rows(rows, stored.types)
            case Far(frame=frame):
                return frame
            case Near(standing=standing, less=less, more=more):
                frame = standing.frame(predicate)
                if less:
                    frame = stored.anti(frame, self.space.rows(less, stored.types))
                if more:
                    others = self.space.rows(more, stored.types)
                    query = f"SELECT * FROM {frame.table} UNION ALL SELECT * FROM {others.table}"
                    frame = Frame(self.space, query, [frame, others])
                return frame

    def joined(self, predicate: str, left: Form, right: Form, how: str) -> Frame:
        """The rows of one form that are (`SEMI`) or are not (`ANTI`) in another."""
        stored, one, other = self.stored[predicate], self.frame(predicate, left), self.frame(predicate, right)
        query = (
            f"SELECT {other.sent('r', one)}l.* FROM {one.table} l LEFT {how} JOIN {other.table} r "
            f"ON {stored.equal('l', 'r')}"
        )
        return Frame(self.space, query, [one, other])

    def together(self, predicate: str, left: Form, right: Form) -> Frame:
        """The rows of both forms, each once."""
        one, other = self.frame(predicate, left), self.frame(predicate, right)
        rest = self.joined(predicate, right, left, "ANTI")
        return Frame(self.space, f"SELECT * FROM {one.table} UNION ALL SELECT * FROM {rest.table}", [one, other, rest])

    def is_open(self, form: Form) -> TypeGuard[Far]:
        """Whether a form is still to be computed, or to be collected to the driver because it is small."""
        return isinstance(form, Far) and (form.size is None or form.size <= self.space.driver_rows) and not form.stays

    def measured(self, forms: Mapping[str, Form], *, freeze: bool = False, stay: bool = False) -> dict[str, Form]:
        """The same forms, far ones computed and local if they are small; to `freeze` is to leave no near ones.

        What would be folded soon may `stay` where it is.
        """
        result, heads, expected = dict(forms), HeadQueries(self.space, self.stored), 0.0
        for predicate, form in forms.items():
            if isinstance(form, Far) and form.size == 0:
                result[predicate] = NOTHING
            elif self.is_open(form):
                heads.add(predicate, form.frame, form.frame.rows if form.size is None else form.size)
                expected += 1e9 if form.size is None else form.size
            elif freeze and isinstance(form, Near):
                here = form.standing.here(predicate)
                if here is not None:
                    result[predicate] = Local((here - form.less) | form.more)
                elif size(predicate, form) <= self.space.driver_rows:
                    heads.add(predicate, self.frame(predicate, form), size(predicate, form))
                    expected += size(predicate, form)
                else:
                    result[predicate] = Far(self.frame(predicate, form), size(predicate, form))
        if heads:
            with self.functions.naming_the_rule():
                found = heads.found(self, expected, once=True, stay=stay)
            for predicate in heads.predicates:
                form = found.support().form(predicate)
                before = forms[predicate]
                if isinstance(form, Far) and isinstance(before, Far):
                    form = replace(form, apart=before.apart)
                result[predicate] = form
        return result

    def elsewhere(self, predicates: Iterable[str], here: Facts, rest: Facts) -> SparkFacts:
        """One set for some predicates, another for all others."""
        return Elsewhere(self, predicates, own(here), own(rest))

    # --- the end of an update ------------------------------------------------------------------------

    def commit(self) -> None:
        """Frames and records are the state as they are."""

    def restore(self) -> None:
        """E and I change only at a commit, and the counters were rolled back."""

    # --- Π -------------------------------------------------------------------------------------------

    def apply(self, plans: Iterable[AnyPlan], sources: Mapping[Read, Facts]) -> SparkBag:
        """The heads of all instances of the plans: Π⟦…⟧ of ALGORITHMS.md, in one query."""
        reads = {read: own(facts) for read, facts in sources.items()}
        known: dict[tuple[Read, str], tuple[Form, Frame]] = {}

        def reading(read: Read, predicate: str) -> tuple[Form, Frame]:
            if (read, predicate) not in known:
                form = reads[read].form(predicate)
                known[read, predicate] = (form, self.frame(predicate, form))
            return known[read, predicate]

        heads, rows = HeadQueries(self.space, self.stored), 0.0
        writer = QueryWriter(self.functions, self.statistics, reading, self.space.broadcast_rows)
        for plan in plans:
            if isinstance(plan, AggregatePlan):
                heads.add(
                    plan.rule.predicate, self._aggregate(plan, reads, reading), self.statistics.size(plan.rule.source)
                )
                rows += self.statistics.size(plan.rule.predicate)
            elif self._can_start(plan, reads):
                for predicate, query in writer.outputs(plan):
                    heads.add(predicate, Frame(self.space, query.text, query.needs), query.read)
                    rows += query.rows
        if not heads:
            return SparkBag(self, {})
        is_far = any(isinstance(form, Far) for form, _ in known.values())
        with self.functions.naming_the_rule():
            all = reads.get(Read.ALL)  # I, in evaluation, where it is asked next which heads are new to it
            known_facts = all if isinstance(all, Standing) else None
            bag = heads.found(self, 1e9 if is_far else rows, known=known_facts, stay=known_facts is not None)
        self.watch.batch(0)
        return bag

    def expand(self, plans: Sequence[Plan], sources: Mapping[Read, Facts], most: int) -> tuple[SparkBag, SparkFacts]:
        """All that supports the goals, however many instances that takes: a round costs more here than its rows."""
        return self.apply(plans, sources), own(sources[Read.DELTA])

    def _can_start(self, plan: Plan, reads: Mapping[Read, SparkFacts]) -> bool:
        """A plan whose pivot has no facts has no instances."""
        if plan.pivot is None or plan.delta_predicate is None:
            return True
        read = Read.DELTA if isinstance(plan.rule.body[plan.pivot], Atom) else Read.ABSENT_DELTA
        form = reads[read].form(plan.delta_predicate)
        return form is not NOTHING and not (isinstance(form, Local) and not form.rows)

    def _aggregate(
        self, plan: AggregatePlan, reads: Mapping[Read, SparkFacts], reading: Callable[[Read, str], tuple[Form, Frame]]
    ) -> Frame:
        rule = plan.rule
        changed = reading(Read.DELTA, rule.source)[1] if Read.DELTA in reads else None
        return aggregated(
            self.space,
            rule,
            self.functions.number(rule),
            self.relations[rule.source],
            self.relations[rule.predicate],
            reading(Read.ALL, rule.source)[1],
            changed,
        )


__all__ = ["STATE", "NativeRow", "SparkBackend"]
