"""One-fact updates that affect little, on materialisations from small to large: the time must not grow with them.

Each materialisation holds a few pairs that touch nothing else; one of them at a time is deleted and inserted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import holdfast
from bench import ontology
from bench.graphs import Facts, random_graph
from bench.graphs import Row as FactRow
from bench.universities import universities
from bench.updates.rows import Row, Taken, row
from bench.updates.timing import Run, arrow, check, fingerprint, from_scratch, size_of, watched
from bench.workloads import CLOSURE, Size
from holdfast import Update

UNREAD = "aside"  # the relation that no rule reads
_FAR = 10**9  # numbers from here on are nobody's
_PAIRS = 21  # one for the first update, twenty to measure


@dataclass(frozen=True)
class Curve:
    """A program, the relation that the pairs go to, and facts of growing number."""

    program: str
    relation: str
    facts: Mapping[Size, Sequence[Callable[[], Facts]]]


def _graph(nodes: int) -> Callable[[], Facts]:
    """Five edges for two nodes: nearly all of them reach nearly all."""
    return lambda: random_graph(nodes, nodes * 5 // 2)


def _campus(number: int, departments: int) -> Callable[[], Facts]:
    return lambda: universities(number, (departments, departments))


CURVES = {
    "closure": Curve(CLOSURE, "edge", {
        "small": (_graph(36), _graph(112), _graph(355)),
        "paper": (_graph(112), _graph(355), _graph(1_120), _graph(3_550)),
        "max": (_graph(112), _graph(355), _graph(1_120), _graph(3_550), _graph(7_100)),
    }),
    "lubm-like": Curve(ontology.program(), "takesCourse", {
        "small": (_campus(1, 1), _campus(1, 2)),
        "paper": (_campus(1, 1), _campus(1, 8), _campus(4, 18), _campus(35, 20)),
        "max": (_campus(1, 1), _campus(1, 8), _campus(4, 18), _campus(35, 20), _campus(100, 20)),
    }),
}


def jobs(size: Size) -> list[tuple[str, ...]]:
    """A process for each materialisation."""
    return [(name, str(place)) for name, curve in CURVES.items() for place in range(len(curve.facts[size]))]


def run(case: tuple[str, ...], told: Run) -> list[Row]:
    """Measure at one point of a curve."""
    name, curve = case[0], CURVES[case[0]]
    _Point(name, curve, curve.facts["small"][0]()).pairs(2)  # nobody looks: everything is loaded now
    point = _Point(name, curve, curve.facts[told.size][int(case[1])]())
    point.pairs(_PAIRS)
    point.unread(_PAIRS)
    point.from_scratch(told)
    return point.rows()


class _Point:
    """One materialisation, and what was measured on it."""

    def __init__(self, name: str, curve: Curve, facts: Facts) -> None:
        self.name, self.curve = name, curve
        rows = {**facts, curve.relation: [*facts[curve.relation], *map(_pair, range(_PAIRS))], UNREAD: [(0,)]}
        self.given = {relation: arrow(rows) for relation, rows in rows.items()}
        self.program = f"{curve.program}{UNREAD}(0).\n"
        self.kb = holdfast.from_text(self.program, facts=self.given)
        self.whole, self.facts = fingerprint(self.kb), size_of(self.kb)
        self.taken: dict[str, list[Taken]] = {}
        self.scratch = list[float]()

    def pairs(self, number: int) -> None:
        """Pairs out and in again, one at a time."""
        for pair in range(number):
            self._both({self.curve.relation: [_pair(pair)]}, f"one {self.curve.relation} fact")
        check(fingerprint(self.kb), self.whole, f"taking out {self.curve.relation} facts and putting them back")

    def unread(self, number: int) -> None:
        """Facts that nothing follows from, the same way."""
        self.kb.apply(Update(insert={UNREAD: [(_FAR + fact,) for fact in range(number)]}))
        before = fingerprint(self.kb)
        for fact in range(number):
            self._both({UNREAD: [(_FAR + fact,)]}, "one fact that nothing reads")
        check(fingerprint(self.kb), before, f"taking out {UNREAD} facts and putting them back")
        self.kb.apply(Update(delete={UNREAD: [(_FAR + fact,) for fact in range(number)]}))

    def _both(self, facts: Mapping[str, list[FactRow]], what: str) -> None:
        deleted, gone = watched(self.kb, Update(delete=facts))
        inserted, come = watched(self.kb, Update(insert=facts))
        check(_rows(gone.removed), _rows(come.added), f"{what} went and came back: what each changed")
        check((len(gone.added), len(come.removed)), (0, 0), f"{what} went and came back: relations changed besides")
        [(relation, rows)] = facts.items()
        check(set(gone.removed[relation]), set(rows), f"deleting {what}")
        self.taken.setdefault(f"{what} deleted", []).append(deleted)
        self.taken.setdefault(f"{what} inserted", []).append(inserted)

    def from_scratch(self, told: Run) -> None:
        """Everything anew without one pair, against the maintained state without it."""
        relation, pair = self.curve.relation, _pair(_PAIRS - 1)
        self.kb.apply(Update(delete={relation: [pair]}))
        facts = {**self.given, relation: self.given[relation].slice(0, len(self.given[relation]) - 1)}
        for _ in range(told.runs):
            seconds, right = from_scratch(self.program, facts)
            check(fingerprint(self.kb), right, f"deleting one {relation} fact")
            self.scratch.append(seconds)
            if told.impatient:
                break

    def rows(self) -> list[Row]:
        """A row for each kind of update."""
        return [row(f"one-fact updates, {self.name}", f"{self.facts:,} facts: {what}", taken, self.scratch,
                    first_apart=True, facts=self.facts) for what, taken in self.taken.items()]


def _pair(number: int) -> FactRow:
    return _FAR + 2 * number, _FAR + 2 * number + 1


def _rows(changed: Mapping[str, holdfast.RelationView]) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(view) for name, view in changed.items()}
