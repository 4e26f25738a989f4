"""Π on one shard: segments of plans, and the exchanges between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory.arrays import Ids, Rows, padded
from holdfast.backends.memory.bags import HeadBuffer, MemoryBag
from holdfast.backends.memory.execution.buffers import NO_WEIGHTS
from holdfast.backends.memory.execution.join import JoinStep
from holdfast.backends.memory.execution.run import CompiledPlan, entered, naming_the_rule
from holdfast.backends.memory.execution.views import ReadViews
from holdfast.backends.memory.facts import FactSet, Momentary
from holdfast.backends.memory.table import Table
from holdfast.backends.parted.partition import (
    BINDINGS,
    HERE,
    NO_HUBS,
    Hop,
    Hubs,
    PartedAggregate,
    PartedPlan,
    RankedPlan,
    Route,
    Segment,
    among,
    routed,
)
from holdfast.backends.protocol import Watch
from holdfast.plans.model import Read, Scan
from holdfast.quick_dataclass import dataclass
from holdfast.values.dictionary import Dictionary

if TYPE_CHECKING:
    from holdfast.backends.parted.shard import Shard

_SAMPLE, _LARGEST = 1 << 10, 1 << 13  # heads in the sample that shows whether many are equal: at least, at most
_ALIKE = 0.5  # share of distinct heads; above it, summing equal heads does not pay
_MOST = 2**31 - 1
AT_ONCE = 1 << 16  # outgoing rows; when more wait, they are sent before others are computed
SUMMED = 1 << 20  # distinct heads of a predicate that are summed; with more, all are sent


@dataclass
class Traffic:
    """Work of a shard: rule instances, rows and bytes sent to others, and the most rows that waited to be sent."""

    instances: int = 0
    rows: int = 0
    nbytes: int = 0
    most_waiting: int = 0
    most_summed: int = 0
    """The most distinct heads of one predicate that waited."""


Emitted: TypeAlias = str | tuple[int, int]
"""The kind of rows: heads of a predicate, or bindings for a plan (by number) and one of its phases."""


class SegmentRun(CompiledPlan):
    """A segment over the tables of a shard.  Its output goes to other shards, so it is not tallied by row id."""

    def __init__(
        self, segment: Segment, tables: Any, dictionary: Dictionary, watch: Watch, *, of_hubs: bool = False
    ) -> None:
        plan = segment.of_hubs if of_hubs and segment.of_hubs is not None else segment.plan
        super().__init__(plan, tables, dictionary, watch, segment.before)
        self.routes, self._hub_column = segment.routes, segment.hub_column
        self.of_hubs: SegmentRun | None = None
        if segment.of_hubs is not None and not of_hubs:
            self.of_hubs = SegmentRun(segment, tables, dictionary, watch, of_hubs=True)

    def _tallying(self) -> JoinStep | None:
        return None

    @contextmanager
    def limited(self, quota: Ids) -> Iterator[None]:
        """Limits the variant for hubs by the same quota."""
        with super().limited(quota), self.of_hubs.limited(quota) if self.of_hubs else nullcontext():
            yield

    def continued_with(self, views: ReadViews, bindings: Rows, hubs: Hubs) -> Iterator[list[Rows]]:
        """Runs the segment on received bindings; those with hubs may read another table."""
        if self.of_hubs is None:
            yield from self.continued(views, bindings)
            return
        is_hub = among(bindings[:, self._hub_column], hubs)
        for piece, some in ((self, bindings[~is_hub]), (self.of_hubs, bindings[is_hub])):
            if len(some):
                yield from piece.continued(views, some)


class HeadSums:
    """The heads that leave this shard, each once with the number of its occurrences."""

    def __init__(self, arity: int) -> None:
        self._arity = arity
        self._empty()

    def _empty(self) -> None:
        self._table = Table("heads", self._arity)
        self._times: NDArray[np.int64] = np.zeros(0, np.int64)
        self._added = 0

    @property
    def size(self) -> int:
        """The number of distinct heads."""
        return self._table.size

    @property
    def are_alike(self) -> bool:
        """Whether many of the heads were equal."""
        return self._table.size <= _ALIKE * self._added

    def add(self, rows: Rows) -> None:
        """Add heads."""
        self._added += len(rows)
        ids = self._table.intern(np.ascontiguousarray(rows))
        if self._table.size > len(self._times):
            self._times = padded(self._times, 2 * self._table.size)
        self._times[: self._table.size] += np.bincount(ids, minlength=self._table.size)

    def taken(self) -> Iterator[Rows]:
        """Removes and yields all heads, with a last column for the occurrences; a number fits into a counter."""
        rows, times = self._table.rows[: self._table.size], self._times[: self._table.size]
        self._empty()
        while len(rows):
            yield np.hstack([rows, np.minimum(times, _MOST)[:, None]])
            rows, times = rows[times > _MOST], times[times > _MOST] - _MOST


def distinct_share(rows: Rows) -> float:
    """The share of distinct heads, estimated from the first of them."""
    sample = Table("sample", rows.shape[1])
    sample.intern(np.ascontiguousarray(rows[:_LARGEST]))
    return sample.size / min(len(rows), _LARGEST)


class Round:
    """One call of Π on one shard."""

    def __init__(self, shard: Shard, sources: Mapping[Read, FactSet]) -> None:
        self.shard, self._sources = shard, sources
        self._aggregates: list[PartedAggregate] = []
        self._local: list[CompiledPlan] = []
        self._moving: list[tuple[PartedPlan, list[SegmentRun]]] = []
        self._heads = defaultdict[str, HeadBuffer](HeadBuffer)
        self._boxes: list[list[tuple[Emitted, Rows]]] = [[] for _ in range(shard.parts)]
        self._waiting = 0  # number of rows in the boxes
        self._sums: dict[tuple[str, Route], HeadSums | None] = {}  # None: its heads are hardly ever equal
        self._bindings = defaultdict[tuple[int, int], list[Rows]](list)  # by plan and phase

    def bag(self, plans: Sequence[PartedPlan | PartedAggregate]) -> MemoryBag:
        """The heads that belong to this shard."""
        self._aggregates = [parted for parted in plans if isinstance(parted, PartedAggregate)]
        for parted in plans:
            if isinstance(parted, PartedPlan) and not parted.is_local:
                self._moving.append((parted, self.shard.pieces(parted)))
            elif isinstance(parted, PartedPlan) and self._can_start(parted):
                self._local.append(self.shard.pipeline(parted))
        self._run()
        return self._bag(self._heads)

    def _bag(self, heads: Mapping[str, HeadBuffer]) -> MemoryBag:
        return MemoryBag(
            self.shard.tables,
            {name: found.ids[: found.size] for name, found in heads.items()},
            {name: found.weights[: found.size] for name, found in heads.items() if len(found.weights)},
        )

    def _run(self) -> None:
        """Run all phases.  Only the plans decide whether rows are exchanged after a phase, never a shard's data."""
        for aggregated in self._aggregates:  # before the views mark rows
            rows = self.shard.aggregated(aggregated, self._sources)
            self._emit(aggregated.plan.rule.predicate, rows, aggregated.route)
        if any(aggregated.route != HERE for aggregated in self._aggregates):
            self._exchange(is_done=True)
        pieces = [each for _, some in self._moving for piece in some for each in (piece, piece.of_hubs) if each]
        with self.shard.seen([*self._local, *pieces], self._sources) as views:
            if self._moving:
                self._run_from(0, views)
            for pipeline in self._local:
                for predicate, ids, weights in pipeline.run(views):
                    self._heads[predicate].add(ids, weights)
                    self.shard.traffic.instances += int(weights.sum()) if len(weights) else len(ids)

    def _run_from(self, phase: int, views: ReadViews) -> None:
        """Run a phase and all later ones.

        When many rows wait, they are sent and later phases run before more are computed, so memory does not grow with
        the number of instances.  All shards go on as long as one of them has more.
        """
        numbers = range(len(self._moving))
        moves, is_last = any(self._moves(n, phase) for n in numbers), phase + 1 == max(map(self._phases, numbers))
        making, has_more = self._batches(phase, views), True
        while has_more:
            is_done = all(self._waiting < AT_ONCE for _ in making)
            has_more = moves and self._exchange(is_done)
            if not is_last:
                self._run_from(phase + 1, views)

    def _batches(self, phase: int, views: ReadViews) -> Iterator[None]:
        """Runs a phase and emits its output; yields after each batch."""
        for number, (parted, _) in enumerate(self._moving):
            if phase < self._phases(number):
                with naming_the_rule(parted.plan.rule):
                    yield from self._run_phase(number, phase, views)

    def _phases(self, number: int) -> int:
        """The number of phases of a plan that moves rows."""
        return len(self._moving[number][0].segments)

    def _moves(self, number: int, phase: int) -> bool:
        """Whether a plan may send rows in a phase."""
        segments = self._moving[number][0].segments
        return phase < len(segments) and segments[phase].moves

    def _can_start(self, parted: PartedPlan) -> bool:
        """Whether this shard has anything to start from; only checked for a set of rows, where it costs nothing."""
        steps = parted.segments[0].plan.steps
        if not parted.is_everywhere:
            return self.shard.number == 0
        if not steps or not isinstance(steps[0], Scan):
            return True
        facts = self._sources[steps[0].read]
        return not isinstance(facts, Momentary) or steps[0].atom.predicate in facts.rows

    def _run_phase(self, number: int, phase: int, views: ReadViews) -> Iterator[None]:
        parted, pieces = self._moving[number]
        piece = pieces[phase]
        for rows in self._instances(number, parted, piece, phase, views):
            if phase == len(pieces) - 1:
                self.shard.traffic.instances += len(rows[0])
            for (name, _), some, route in zip(piece.plan.outputs, rows, piece.routes, strict=True):
                self._emit((number, phase + 1) if name == BINDINGS else name, some, route)
            yield

    def _instances(
        self, number: int, parted: PartedPlan, piece: SegmentRun, phase: int, views: ReadViews
    ) -> Iterable[list[Rows]]:
        if phase == 0:
            return piece.instances(views) if self._can_start(parted) else ()
        came = self._bindings.pop((number, phase), None)
        return piece.continued_with(views, np.concatenate(came), self.shard.hubs) if came is not None else ()

    def _emit(self, what: Emitted, rows: Rows, route: Route) -> None:
        """Emit heads of a predicate, or bindings for the next phase of a plan."""
        if not len(rows):
            return
        if not isinstance(what, str):
            self._send(what, rows, route)
        elif route == HERE:
            self._heads[what].add(self._interned(what, rows), NO_WEIGHTS)
        else:
            self._sum_or_send(what, rows, route)

    def _sum_or_send(self, predicate: str, rows: Rows, route: Route) -> None:
        """Send equal heads once with a number, if a sample shows that many are equal; otherwise send each."""
        place = predicate, route
        if place not in self._sums and len(rows) >= _SAMPLE:
            self._sums[place] = HeadSums(rows.shape[1]) if distinct_share(rows) < _ALIKE else None
        sums = self._sums.get(place)
        if sums is not None:
            sums.add(rows)
            self.shard.watch.batch(0)
            self.shard.traffic.most_summed = max(self.shard.traffic.most_summed, sums.size)
            if sums.size > SUMMED:
                self._sums[place] = sums if sums.are_alike else None
                self._send_sums(predicate, route, sums)
        else:
            self._send(predicate, np.hstack([rows, np.ones((len(rows), 1), np.int64)]), route)

    def _send_sums(self, predicate: str, route: Route, sums: HeadSums) -> None:
        for rows in sums.taken():
            self._send(predicate, rows, route)

    def _send(self, what: Emitted, rows: Rows, route: Route) -> None:
        parts = self.shard.parts
        match route.kind:
            case "here":
                self._receive(what, rows.copy())
            case "one":
                self._put(what, [rows.copy() if part == route.number else rows[:0] for part in range(parts)])
            case "all":
                self._put(what, [rows.copy()] * parts)
            case "column":
                spread = self.shard.spread.get(route.table, NO_HUBS)
                self._put(what, routed(rows, route.number, parts, spread, slice(*route.fact)))
            case _:
                is_hub = among(rows[:, route.number], self.shard.hubs)
                self._put(what, routed(rows[~is_hub], route.number, parts))
                self._send(what, rows[is_hub], Route("all") if route.kind == "to hubs" else HERE)

    def _put(self, what: Emitted, parts: Sequence[Rows]) -> None:
        """Queue rows for each shard."""
        traffic = self.shard.traffic
        for part, (box, rows) in enumerate(zip(self._boxes, parts, strict=True)):
            if len(rows):
                box.append((what, rows))
                self._waiting += len(rows)
                if part != self.shard.number:
                    traffic.rows += len(rows)
                    traffic.nbytes += rows.nbytes
        traffic.most_waiting = max(traffic.most_waiting, self._waiting)

    def _receive(self, what: Emitted, rows: Rows) -> None:
        """Enter bindings, or heads with a last column for the number of occurrences."""
        if not len(rows):
            return
        if not isinstance(what, str):
            self._bindings[what].append(rows)
            return
        ids, times = self._interned(what, np.ascontiguousarray(rows[:, :-1])), rows[:, -1]
        self._heads[what].add(ids, NO_WEIGHTS if (times == 1).all() else times.astype(np.int32))

    def _interned(self, predicate: str, rows: Rows) -> Ids:
        return entered(self.shard.tables[predicate], rows, self.shard.watch)

    def _exchange(self, is_done: bool) -> bool:
        """Send the waiting rows; returns whether a shard has more to send."""
        for (predicate, route), sums in self._sums.items() if is_done else ():
            if sums is not None:
                self._send_sums(predicate, route, sums)
        boxes, self._boxes, self._waiting = self._boxes, [[] for _ in self._boxes], 0
        came = self.shard.exchanged([(is_done, box) for box in boxes])
        for _, box in came:
            for what, rows in box:
                self._receive(what, rows)
        return not all(is_done for is_done, _ in came)


class RankedRound(Round):
    """One call of `apply_ranked` on one shard: segments as in any plan, then a hop for each fact of an instance."""

    def __init__(self, shard: Shard, sources: Mapping[Read, FactSet]) -> None:
        super().__init__(shard, sources)
        self._founded = defaultdict[str, HeadBuffer](HeadBuffer)
        self._hops: list[tuple[Hop, ...]] = []

    def bags(self, plans: Sequence[RankedPlan]) -> tuple[MemoryBag, MemoryBag]:
        """The heads of all instances and of the founded ones that belong to this shard."""
        self._moving = [(ranked.parted, self.shard.pieces(ranked.parted)) for ranked in plans]
        self._hops = [ranked.hops for ranked in plans]
        self._run()
        return self._bag(self._heads), self._bag(self._founded)

    def _phases(self, number: int) -> int:
        return super()._phases(number) + len(self._hops[number])

    def _moves(self, number: int, phase: int) -> bool:
        later = phase + 1 - super()._phases(number)  # the hop after this phase; the last segment leads to the first hop
        return super()._moves(number, phase) or (0 < later < len(self._hops[number]) and self._route(number, later))

    def _route(self, number: int, hop: int) -> bool:
        return self._hops[number][hop].route != HERE

    def _run_phase(self, number: int, phase: int, views: ReadViews) -> Iterator[None]:
        parted, pieces = self._moving[number]
        place = phase - len(pieces)
        if place >= 0:
            came = self._bindings.pop((number, phase), None)
            if came is not None:
                self._visit(number, place, np.concatenate(came))
            return
        piece = pieces[phase]
        for [rows] in self._instances(number, parted, piece, phase, views):
            is_last = place == -1  # from here on the rows are instances, with a column for the highest rank
            some = np.hstack([rows, np.zeros((len(rows), 1), np.int64)]) if is_last else rows
            self._emit((number, phase + 1), some, piece.routes[0])
            yield

    def _visit(self, number: int, place: int, instances: Rows) -> None:
        """Look up a fact of each instance."""
        hops = self._hops[number]
        hop, ranking = hops[place], self.shard.ranking
        facts = np.ascontiguousarray(instances[:, hop.columns])
        if place < len(hops) - 1:
            np.maximum(instances[:, -1], ranking.highest(hop.predicate, facts), out=instances[:, -1])
            self._emit((number, len(self._moving[number][1]) + place + 1), instances, hops[place + 1].route)
            return
        ids = self._interned(hop.predicate, facts)
        is_founded = ranking.is_founded(self._moving[number][0].plan, ids, instances[:, -1])
        self._heads[hop.predicate].add(ids, NO_WEIGHTS)
        self._founded[hop.predicate].add(ids[is_founded], NO_WEIGHTS)
