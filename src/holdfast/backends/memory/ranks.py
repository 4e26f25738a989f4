"""Ranks of facts and Cw, in arrays beside the tables of recursive hyper-nodes: eight bytes a fact, none elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, Rows, padded, zeros
from holdfast.backends.memory.bags import HeadBuffer, MemoryBag
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS, Weights
from holdfast.backends.memory.execution.ranked_join import RankedJoin
from holdfast.backends.memory.execution.run import CompiledPlan, naming_the_rule
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.facts import FactSet
from holdfast.backends.memory.pages import in_small_pages
from holdfast.backends.memory.truth import as_bytes
from holdfast.backends.protocol import Facts
from holdfast.plans.instances import named_rule
from holdfast.plans.model import Plan, Read
from holdfast.program.impact import rule_key
from holdfast.program.model import Rule

if TYPE_CHECKING:
    from holdfast.backends.memory.store import MemoryBackend

RowNumbers: TypeAlias = NDArray[np.int32]
Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Ranks that a rule saw together: from the first to the last."""
Weighted: TypeAlias = tuple[Ids, Weights]
"""Heads, and how many instances each stands for; without weights, one."""
_NO_RANKS: RowNumbers = np.empty(0, np.int32)


class _Beside(MemoryCounters):
    """A number for each row of some tables, in arrays of its own."""

    def __init__(self, backend: MemoryBackend) -> None:
        super().__init__(backend.tables, "")
        self.arrays: dict[str, RowNumbers] = {}

    def of(self, predicate: str) -> RowNumbers:
        """The numbers of a table's rows; as many as the table has capacity for."""
        numbers, capacity = self.arrays.get(predicate), len(self.tables[predicate].rows)
        if numbers is None or len(numbers) < capacity:
            numbers = zeros((capacity,), np.int32) if numbers is None else padded(numbers, capacity)
            self.arrays[predicate] = numbers
        return numbers

    def keep_only(self, predicate: str, ids: Ids) -> None:
        """A table has lost its other rows."""
        if predicate in self.arrays:
            self.arrays[predicate] = self.of(predicate)[ids]

    def drop(self, predicate: str) -> bool:
        """A relation is gone; gives whether it had numbers."""
        return self.arrays.pop(predicate, None) is not None


class _Ranks(_Beside):
    """Ranks.  Those of runs of rows are written when they are first read, which most evaluations never see."""

    def __init__(self, backend: MemoryBackend) -> None:
        super().__init__(backend)
        self._unwritten: dict[str, list[tuple[slice, int]]] = {}

    def of(self, predicate: str) -> RowNumbers:
        """The ranks of a table's rows."""
        ranks = _Beside.of(self, predicate)
        for run, rank in self._unwritten.get(predicate, ()):
            ranks[run] = rank
        self._unwritten.pop(predicate, None)  # not before: who is interrupted writes them again
        return ranks

    def enter(self, predicate: str, run: slice, rank: int) -> None:
        """All rows of a run have one rank."""
        self._unwritten.setdefault(predicate, []).append((run, rank))

    def keep_only(self, predicate: str, ids: Ids) -> None:
        """A table has lost its other rows."""
        if predicate in self._unwritten:
            self.of(predicate)
        _Beside.keep_only(self, predicate, ids)

    def drop(self, predicate: str) -> bool:
        """A relation is gone; gives whether it had ranks."""
        was_unwritten = self._unwritten.pop(predicate, None) is not None
        return super().drop(predicate) or was_unwritten


class MemoryRanking:
    """The ability of the memory backend to rank facts."""

    most_rounds = 2**30

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.founded, self._rank = _Beside(backend), _Ranks(backend)
        self.rounds = 0
        self.deferred: dict[tuple[object, ...], Spans] = {}
        self._joins: WeakKeyDictionary[CompiledPlan, RankedJoin | None] = WeakKeyDictionary()

    # --- ranks -----------------------------------------------------------------------------------------

    def rank_anew(self, predicates: Iterable[str]) -> None:
        """A hyper-node is about to be evaluated from scratch: none of its rules is deferred.

        Cw is left as it is: it is set for each fact that enters, and never read for one that does not.
        """
        names = set(predicates)
        self._defer({key: spans for key, spans in self.deferred.items() if key[0] not in names})

    def enter(self, facts: Facts) -> None:
        """Facts that enter in one round get the next rank, and Cw := Cr."""
        assert isinstance(facts, FactSet)
        self.rounds += 1
        entered = facts.snapshot()
        for predicate, ids in entered.rows.items():
            run = entered.run(predicate)
            where, Cr = ids if run is None else slice(*run), self._backend.recursive.of(predicate)
            if self.founded.remembers:
                old = self._rank.of(predicate)[where].copy(), self.founded.of(predicate)[where].copy()
                self.founded.remember(partial(self._put, predicate, where, *old))
            if isinstance(where, slice):
                self._rank.enter(predicate, where, self.rounds)
                self.founded.of(predicate)[where] = Cr[where]
            else:
                self._put(predicate, where, self.rounds, Cr[where])
            self._tell(predicate)

    def _tell(self, predicate: str) -> None:
        self._backend.watch.grown(f"ranks of {predicate}", 8 * self._backend.tables[predicate].size)

    def _put(self, predicate: str, where: Ids | slice, rank: RowNumbers | int, Cw: RowNumbers) -> None:
        self._rank.of(predicate)[where] = rank
        self.founded.of(predicate)[where] = Cw

    def take_over(self, other: MemoryRanking, ids: Mapping[str, Ids]) -> None:
        """Facts were ranked in other tables, by rounds of their own; these are the next ones here."""
        base = self.rounds
        self.rounds += other.rounds
        for predicate, some in ids.items():
            rank, Cw = (beside.of(predicate)[: len(some)] for beside in (other._rank, other.founded))
            if self.founded.remembers:
                old = self._rank.of(predicate)[some], self.founded.of(predicate)[some]
                self.founded.remember(partial(self._put, predicate, some, *old))
            self._put(predicate, some, rank + np.int32(base), Cw)
            self._tell(predicate)
        moved = {key: _shifted(spans, base) for key, spans in other.deferred.items()}
        self._defer({**self.deferred, **moved})

    def defer_rule(self, rule: Rule, first: int, last: int) -> None:
        """A rule saw the facts of some ranks together, when those of the last one had entered."""
        key = rule_key(named_rule(rule))
        assert isinstance(key, tuple)
        self._defer({**self.deferred, key: (*self.deferred.get(key, ()), (first, last))})

    def _defer(self, deferred: dict[tuple[object, ...], Spans]) -> None:
        self.founded.remember(partial(setattr, self, "deferred", self.deferred))
        self.deferred = deferred

    def restart(self) -> None:
        """No rank is believed any more."""
        self.rounds, self.deferred = 0, {}
        for predicate in (*self.founded.arrays,):
            self.founded.drop(predicate)
            self._rank.drop(predicate)

    def ranks(self, predicate: str) -> tuple[Rows, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them its rank and Cw."""
        ids = self._backend.materialisation.ids(predicate)
        numbers = (beside.of(predicate)[ids].tolist() for beside in (self._rank, self.founded))
        return self._backend.tables[predicate].rows[ids], *numbers

    def saved(self, predicate: str) -> tuple[RowNumbers, ...]:
        """The ranks and Cw of a table's rows; nothing if it has none, or if a rule was deferred."""
        if self.deferred or predicate not in self.founded.arrays:
            return ()
        return self._rank.of(predicate), self.founded.of(predicate)

    def restore(self, predicate: str, numbers: Sequence[RowNumbers]) -> None:
        """Take up what was saved."""
        self._rank.drop(predicate)
        for beside, saved in zip((self._rank, self.founded), numbers, strict=False):
            beside.arrays[predicate] = saved

    # --- tables ----------------------------------------------------------------------------------------

    def keep_only(self, predicate: str, ids: Ids) -> None:
        """A table has lost its other rows."""
        for beside in (self.founded, self._rank):
            beside.keep_only(predicate, ids)

    def drop(self, predicate: str) -> None:
        """A relation is gone."""
        self._rank.drop(predicate)
        if self.founded.drop(predicate):
            self._backend.watch.grown(f"ranks of {predicate}", 0)

    @property
    def nbytes(self) -> int:
        """The memory that ranks and Cw take, unused capacity not."""
        return sum(8 * self._backend.tables[name].size for name in self.founded.arrays)

    # --- Π ---------------------------------------------------------------------------------------------

    def apply_ranked(self, plans: Iterable[Plan], sources: Mapping[Read, Facts]) -> tuple[MemoryBag, MemoryBag]:
        """The heads of all instances, and of the founded ones."""
        able = self._backend.able(plans, sources)
        return self._heads(able, sources) if able else (self._backend.no_heads, self._backend.no_heads)

    @in_small_pages
    def _heads(self, plans: Sequence[Plan], sources: Mapping[Read, Facts]) -> tuple[MemoryBag, MemoryBag]:
        found, founded = defaultdict[str, HeadBuffer](HeadBuffer), defaultdict[str, HeadBuffer](HeadBuffer)
        pipelines = self._backend.pipelines(plans)
        with self._backend.seen(pipelines, sources) as views:
            for pipeline in pipelines:
                head = pipeline.plan.outputs[0][0]
                with naming_the_rule(pipeline.plan.rule):
                    for (ids, weights), grounded in self._instances(pipeline, views):
                        found[head].add(ids, weights)
                        founded[head].add(*grounded)
        return self._bag(found), self._bag(founded)

    def _instances(self, pipeline: CompiledPlan, views: ReadViews) -> Iterator[tuple[Weighted, Weighted]]:
        """The heads of all instances, and of the founded ones, a batch at a time."""
        plan, spans = pipeline.plan, self._spans(pipeline.plan.rule)
        join = self._ranked_join(pipeline)
        if join is None or pipeline.counts is not None:
            for rows, *bodies in pipeline.instances(views):
                yield self._judged(plan, spans, rows, bodies)
            return
        join.prepare(views)
        compare = partial(self._compared, plan, join, spans)
        for bindings in pipeline.before_last(views):
            worthwhile = join.worthwhile(bindings)
            if worthwhile is None:
                for rows, *bodies in pipeline.last(bindings):
                    yield self._judged(plan, spans, rows, bodies)
                continue
            for (ids, weights, grounded), (rows, highest) in join.run(*worthwhile, self._highest_of, compare):
                self._backend.watch.batch(0)
                is_grounded = grounded > 0
                yield (ids, weights), (ids[is_grounded], grounded[is_grounded])
                if len(rows):
                    others = self._intern(plan, rows)
                    some = self._there(plan, others)
                    heads = others[some]
                    above = self._is_above(plan.outputs[0][0], (), heads, highest[some])
                    yield (others, NO_WEIGHTS), (heads[above], NO_WEIGHTS)

    def _ranked_join(self, pipeline: CompiledPlan) -> RankedJoin | None:
        """The last step of a pipeline, if it can count; looked for once."""
        if pipeline not in self._joins:
            self._joins[pipeline] = RankedJoin.of(pipeline, self._backend.dictionary)
        return self._joins[pipeline]

    def _compared(self, plan: Plan, join: RankedJoin, spans: Spans) -> tuple[object, ...]:
        """What the kernel compares: ranks of joined facts and of heads, and spans.

        Heads that are not in (I \\ D) ∪ A may be counted as founded: their Cw is set when they enter.
        """
        fact_ranks = self._rank.of(join.join.step.atom.predicate) if join.joins_ranked else _NO_RANKS
        return fact_ranks, self._rank.of(plan.outputs[0][0]), np.array(spans, np.int64).ravel()

    def _highest_of(self, bodies: Sequence[tuple[str, Rows]], count: int) -> RowNumbers:
        """The highest rank of the facts side by side in some lists of so many."""
        highest: RowNumbers = np.zeros(count, np.int32)
        for predicate, facts in bodies:
            np.maximum(highest, self.highest(predicate, facts), out=highest)
        return highest

    def _intern(self, plan: Plan, rows: Rows) -> Ids:
        table = self._backend.tables[plan.outputs[0][0]]
        before, ids = table.size, table.intern(rows)
        self._backend.watch.batch(table.size - before)
        return ids

    def _there(self, plan: Plan, ids: Ids) -> Ids | slice:
        """Those in (I \\ D) ∪ A; the Cw of others is set when they enter."""
        backend = self._backend
        J = (backend.materialisation - backend.deleted) | backend.added
        there = as_bytes(J.truth({}))[backend.tables[plan.outputs[0][0]].status[ids]].view(np.bool_)
        return slice(None) if there.all() else np.flatnonzero(there)

    def _judged(self, plan: Plan, spans: Spans, rows: Rows, bodies: Sequence[Rows]) -> tuple[Weighted, Weighted]:
        """The heads of a batch of instances, and of the founded ones."""
        (head, _), *atoms = plan.outputs
        ids = self._intern(plan, rows)
        some = self._there(plan, ids)
        heads = ids[some]
        named = [(predicate, body[some]) for (predicate, _), body in zip(atoms, bodies, strict=True)]
        highest = self._highest_of(named, len(heads))
        return (ids, NO_WEIGHTS), (heads[self._is_above(head, spans, heads, highest)], NO_WEIGHTS)

    def highest(self, predicate: str, facts: Rows) -> RowNumbers:
        """The ranks of some facts."""
        ranks: RowNumbers = self._rank.of(predicate)[self._backend.tables[predicate].find(facts)]
        return ranks

    def is_founded(self, plan: Plan, ids: Ids, highest: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Of each instance of a plan, whether it is founded: by its head and the highest rank in its body."""
        return self._is_above(plan.outputs[0][0], self._spans(plan.rule), ids, highest.astype(np.int32))

    def _is_above(self, head: str, spans: Spans, ids: Ids, highest: RowNumbers) -> NDArray[np.bool_]:
        for first, last in spans:
            highest[(highest >= first) & (highest <= last)] = last
        above: NDArray[np.bool_] = highest < self._rank.of(head)[ids]
        return above

    def _spans(self, rule: Rule) -> Spans:
        if not self.deferred:
            return ()
        key = rule_key(rule)
        assert isinstance(key, tuple)
        return self.deferred.get(key, ())

    def _bag(self, heads: Mapping[str, HeadBuffer]) -> MemoryBag:
        rows = {name: found.ids[: found.size] for name, found in heads.items()}
        weights = {name: found.weights[: found.size] for name, found in heads.items() if len(found.weights)}
        return MemoryBag(self._backend.tables, rows, weights)


def _shifted(spans: Spans, base: int) -> Spans:
    return tuple((first + base, last + base) for first, last in spans)
