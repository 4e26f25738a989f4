"""Ranks of facts and Cw, in arrays beside the tables of recursive hyper-nodes: eight bytes a fact, none elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, RowNumbers, Rows, padded, zeros
from holdfast.backends.memory.bags import MemoryBag
from holdfast.backends.memory.counters import MemoryCounters
from holdfast.backends.memory.facts import FactSet, Momentary
from holdfast.backends.memory.founded import FoundedHeads, Spans, as_seen
from holdfast.backends.memory.truth import Run
from holdfast.backends.protocol import Facts
from holdfast.plans.instances import named_rule
from holdfast.plans.model import Plan, Read
from holdfast.program.impact import rule_key
from holdfast.program.model import Rule

if TYPE_CHECKING:
    from holdfast.backends.memory.store import MemoryBackend

Where: TypeAlias = NDArray[np.integer] | slice
"""Some rows: all from a first one to a last, or by their ids."""

_MANY_RUNS = 4_096  # of one relation whose numbers wait to be written
_FEW_ROWS = 4_096  # whose numbers are not worth shortening


class _Beside(MemoryCounters):
    """A number for each row of some tables, in arrays of its own.

    The numbers of the rows that entered together are written when numbers are first read, which most evaluations never
    see.  Until then they take little memory: to touch new memory takes longer than to count in it.
    """

    def __init__(self, backend: MemoryBackend) -> None:
        super().__init__(backend.tables, "")
        self.arrays: dict[str, RowNumbers] = {}
        self.unwritten: defaultdict[str, list[tuple[Where, int | NDArray[np.integer]]]] = defaultdict(list)

    def of(self, predicate: str) -> RowNumbers:
        """The numbers of a table's rows; as many as the table has capacity for."""
        numbers, capacity = self.arrays.get(predicate), len(self.tables[predicate].rows)
        if numbers is None or len(numbers) < capacity:
            numbers = zeros((capacity,), np.int32) if numbers is None else padded(numbers, capacity)
            self.arrays[predicate] = numbers
        for where, some in self.unwritten.get(predicate, ()):
            numbers[where] = some
        self.unwritten.pop(predicate, None)  # not before: who is interrupted writes them again
        return numbers

    def has(self, predicate: str) -> bool:
        """Whether there are numbers of a table's rows."""
        return predicate in self.arrays or predicate in self.unwritten

    def write_many(self, predicate: str) -> None:
        """So many runs wait that they take more memory than numbers do."""
        if len(self.unwritten.get(predicate, ())) > _MANY_RUNS:
            self.of(predicate)

    def put_back(self, predicate: str) -> Callable[[], None]:
        """What makes the present numbers of a table its numbers again, after `take_over`."""
        array, runs = self.arrays.get(predicate), self.unwritten.get(predicate)

        def put_back() -> None:
            self.drop(predicate)
            if array is not None:
                self.arrays[predicate] = array
            if runs is not None:
                self.unwritten[predicate] = runs

        return put_back

    def take_over(self, predicate: str, other: _Beside, places: Ids | slice, where: Where, step: int) -> None:
        """The numbers at some places of another table, each greater by `step`, are those of some rows, and the only
        ones; numbers that wait go on waiting, if they are those of all rows there."""
        self.drop(predicate)
        if isinstance(places, slice) and predicate not in other.arrays:
            waiting = other.unwritten.pop(predicate, [])
            self.unwritten[predicate] = [(_part(where, rows), some + step) for rows, some in waiting]
        else:
            self.of(predicate)[where] = other.of(predicate)[places] + np.int32(step)

    def keep_only(self, predicate: str, ids: Ids) -> None:
        """A table has lost its other rows."""
        if self.has(predicate):
            self.arrays[predicate] = self.of(predicate).take(ids)

    def drop(self, predicate: str) -> bool:
        """A relation is gone; gives whether it had numbers."""
        had = self.has(predicate)
        self.unwritten.pop(predicate, None)
        self.arrays.pop(predicate, None)
        return had

    @property
    def known(self) -> set[str]:
        """The tables that have numbers."""
        return {*self.arrays, *self.unwritten}


class MemoryRanking:
    """The ability of the memory backend to rank facts."""

    most_rounds = 2**30

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.founded, self._rank = _Beside(backend), _Beside(backend)
        self.rounds = 0
        self.deferred: dict[tuple[object, ...], Spans] = {}
        self._founded_heads = FoundedHeads(backend, self)

    # --- ranks -----------------------------------------------------------------------------------------

    def rank_anew(self, predicates: Iterable[str]) -> None:
        """A hyper-node is about to be evaluated from scratch: none of its rules is deferred.

        Cw is left as it is: it is set for each fact that enters, and never read for one that does not.
        """
        names = set(predicates)
        self._defer({key: spans for key, spans in self.deferred.items() if key[0] not in names})

    def enter(self, *rounds: Facts) -> None:
        """Facts that enter in one round get the next rank, and Cw := Cr."""
        ranks, remembers = self._rank.unwritten, self.founded.remembers
        runs: dict[str, Run] = {}  # whose Cw is still to be set; one of round after round is set at once
        for facts in map(_snapshot, rounds):
            self.rounds += 1
            if remembers:
                self._remember((facts & self._backend.materialisation).snapshot())
            for predicate, ids in facts.rows.items():
                run = facts.run(predicate)
                if run is None:
                    self._scatter(predicate, ids)
                    continue
                ranks[predicate].append((slice(*run), self.rounds))
                known = runs.get(predicate)
                if known is not None and known[1] == run[0]:
                    run = known[0], run[1]
                elif known is not None:
                    self._copy(predicate, known)
                runs[predicate] = run
        for predicate, run in runs.items():
            self._copy(predicate, run)

    def _copy(self, predicate: str, run: Run) -> None:
        """Cw := Cr for a run of rows, of which most have few derivations."""
        rows = slice(*run)
        Cr = self._backend.recursive.of(predicate)[rows]
        most = np.min_scalar_type(Cr.max()) if len(Cr) > _FEW_ROWS else Cr.dtype
        self.founded.unwritten[predicate].append((rows, Cr.astype(most)))
        for beside in (self._rank, self.founded):
            beside.write_many(predicate)
        self._tell(predicate)

    def _scatter(self, predicate: str, ids: Ids) -> None:
        """Cw := Cr for rows that are no run, and their rank; they wait if others do."""
        Cr = self._backend.recursive.of(predicate)[ids]
        if predicate in self._rank.unwritten and predicate in self.founded.unwritten:
            self._rank.unwritten[predicate].append((ids, self.rounds))
            self.founded.unwritten[predicate].append((ids, Cr))
            for beside in (self._rank, self.founded):
                beside.write_many(predicate)
        else:
            self._put(predicate, ids, self.rounds, Cr)
        self._tell(predicate)

    def _remember(self, again: Momentary) -> None:
        """Facts that were there before the update get other ranks and Cw; those of others are never read."""
        for predicate, ids in again.rows.items():
            old = self._rank.of(predicate)[ids], self.founded.of(predicate)[ids]
            self.founded.remember(partial(self._put, predicate, ids, *old))

    def _tell(self, predicate: str) -> None:
        self._backend.watch.grown(f"ranks of {predicate}", 8 * self._backend.tables[predicate].size)

    def _put(self, predicate: str, where: Where, rank: RowNumbers | int, Cw: RowNumbers) -> None:
        self._rank.of(predicate)[where] = rank
        self.founded.of(predicate)[where] = Cw

    def take_over(self, other: MemoryRanking, places: Mapping[str, Ids | slice], where: Mapping[str, Where]) -> None:
        """Facts were ranked at some places of other tables, by rounds of their own; these are the next ones here."""
        base = self.rounds
        self.rounds += other.rounds
        for predicate, rows in where.items():
            for beside, new, step in ((self._rank, other._rank, base), (self.founded, other.founded, 0)):
                self.founded.remember(beside.put_back(predicate))
                beside.take_over(predicate, new, places[predicate], rows, step)
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
        for predicate in self.founded.known:
            self.founded.drop(predicate)
            self._rank.drop(predicate)

    def ranks(self, predicate: str) -> tuple[Rows, list[int], list[int]]:
        """The rows of I of one predicate, and for each of them its rank and Cw."""
        ids = self._backend.materialisation.ids(predicate)
        numbers = (beside.of(predicate)[ids].tolist() for beside in (self._rank, self.founded))
        return self._backend.tables[predicate].rows[ids], *numbers

    def numbers(self, predicate: str, ids: Ids, *, has_some: bool = False) -> tuple[RowNumbers, RowNumbers]:
        """The ranks and Cw of some rows; a table has arrays for them if it had some, or is about to have some."""
        if not has_some and not self.founded.has(predicate):
            return np.zeros(len(ids), np.int32), np.zeros(len(ids), np.int32)
        return self._rank.of(predicate)[ids], self.founded.of(predicate)[ids]

    def set_numbers(self, predicate: str, ids: Ids, rank: RowNumbers, Cw: RowNumbers) -> None:
        """Facts have come from another table, with their ranks and Cw."""
        if self.founded.has(predicate):
            self._put(predicate, ids, rank, Cw)

    def saved(self, predicate: str) -> tuple[RowNumbers, ...]:
        """The ranks and Cw of a table's rows; nothing if it has none, or if a rule was deferred."""
        if self.deferred or not self.founded.has(predicate):
            return ()
        return self._rank.of(predicate), self.founded.of(predicate)

    def restore(self, predicate: str, numbers: Sequence[RowNumbers]) -> None:
        """Take up what was saved."""
        self._rank.drop(predicate)
        self.founded.drop(predicate)
        for beside, saved in zip((self._rank, self.founded), numbers, strict=False):
            beside.arrays[predicate] = saved

    # --- tables ----------------------------------------------------------------------------------------

    def keep_only(self, predicate: str, ids: Ids) -> None:
        """A table has lost its other rows."""
        for beside in (self.founded, self._rank):
            beside.keep_only(predicate, ids)
        if self.founded.has(predicate):
            self._backend.watch.grown(f"ranks of {predicate}", 8 * len(ids))

    def drop(self, predicate: str) -> None:
        """A relation is gone."""
        self._rank.drop(predicate)
        if self.founded.drop(predicate):
            self._backend.watch.grown(f"ranks of {predicate}", 0)

    @property
    def nbytes(self) -> int:
        """The memory that ranks and Cw take, unused capacity not."""
        return sum(8 * self._backend.tables[name].size for name in self.founded.known)

    # --- Π ---------------------------------------------------------------------------------------------

    def apply_ranked(self, plans: Iterable[Plan], sources: Mapping[Read, Facts]) -> tuple[MemoryBag, MemoryBag]:
        """The heads of all instances, and of the founded ones."""
        able = self._backend.able(plans, sources)
        return self._founded_heads.of(able, sources) if able else (self._backend.no_heads, self._backend.no_heads)

    def founded_up_to(self, plans: Iterable[Plan], sources: Mapping[Read, Facts], rank: int) -> MemoryBag:
        """The heads of founded instances, of heads that have at most this rank."""
        _, founded = self.apply_ranked(plans, sources)
        old = {name: self._rank.of(name)[ids] <= rank for name, ids in founded.rows.items()}
        weights = {name: numbers[old[name]] for name, numbers in founded.weights.items()}
        return MemoryBag(founded.tables, {name: ids[old[name]] for name, ids in founded.rows.items()}, weights)

    def highest(self, predicate: str, facts: Rows) -> RowNumbers:
        """The ranks of some facts."""
        ranks: RowNumbers = self._rank.of(predicate)[self._backend.tables[predicate].find(facts)]
        return ranks

    def of_rows(self, predicate: str) -> RowNumbers:
        """The ranks of a table's rows."""
        return self._rank.of(predicate)

    def is_founded(self, plan: Plan, ids: Ids, highest: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Of each instance of a plan, whether it is founded: by its head and the highest rank in its body."""
        return self.is_above(plan.outputs[0][0], self.spans(plan.rule), ids, highest.astype(np.int32))

    def is_above(self, head: str, spans: Spans, ids: Ids, highest: RowNumbers) -> NDArray[np.bool_]:
        """Of each head, whether its rank is higher than another one, which its rule may have seen with later ones."""
        above: NDArray[np.bool_] = as_seen(highest, spans) < self._rank.of(head)[ids]
        return above

    def spans(self, rule: Rule) -> Spans:
        """The ranks that a rule saw together."""
        if not self.deferred:
            return ()
        key = rule_key(rule)
        assert isinstance(key, tuple)
        return self.deferred.get(key, ())


def _snapshot(facts: Facts) -> Momentary:
    assert isinstance(facts, FactSet)
    return facts.snapshot()


def _part(where: Where, places: Where) -> Where:
    """Some of the rows that other rows, from the first on, were brought to."""
    if isinstance(where, slice) and isinstance(places, slice):
        return slice(where.start + places.start, where.start + places.stop)
    return where[places] if not isinstance(where, slice) else where.start + places


def _shifted(spans: Spans, base: int) -> Spans:
    return tuple((first + base, last + base) for first, last in spans)
