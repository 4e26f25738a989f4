"""One-fact updates that affect little, on materialisations from small to large: the time must not grow with them.

Each holds a few pairs that touch nothing else; one of them at a time is deleted and inserted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import holdfast
from bench import ontology
from bench.graphs import Facts, random_graph
from bench.papers.measuring import (
    FROM_SCRATCH,
    Answer,
    Run,
    Taken,
    answer,
    arrow,
    check,
    fingerprint,
    from_scratch,
    watched,
)
from bench.papers.study import Job, Place, Study
from bench.tables import Figure
from bench.universities import universities
from bench.workloads import CLOSURE, Size
from holdfast import RelationView, Update

_FAR = 10**9  # numbers from here on are nobody's
_SECONDS = 180.0
_PAIRS = 11  # one for the first update, which builds indexes, and ten to measure


@dataclass(frozen=True)
class Curve:
    """A program, the relation that pairs which touch nothing else go to, and facts of growing number."""

    program: str
    relation: str
    facts: Callable[[int], Facts]
    sizes: Mapping[str, Sequence[int]]


def _graph(nodes: int) -> Facts:
    """Five edges for two nodes: nearly all of them reach nearly all."""
    return random_graph(nodes, nodes * 5 // 2)


def _campus(departments: int) -> Facts:
    return universities(-(-departments // 20), (min(departments, 20), min(departments, 20)))


CURVES = {
    "closure": Curve(
        CLOSURE,
        "edge",
        _graph,
        {"small": (36, 112), "paper": (112, 355, 1_120, 3_550), "max": (112, 355, 1_120, 3_550, 11_200)},
    ),
    "LUBM-like": Curve(
        ontology.program(), "takesCourse", _campus, {"small": (1, 2), "paper": (1, 8, 72, 300), "max": (1, 8, 72, 700)}
    ),
}


def curves(size: Size) -> list[Job]:
    """A process for each curve."""
    return [
        Job(
            "one_fact",
            (name,),
            {
                f"{number} {kind}": Place(
                    f"{name}, {number:,} {'nodes' if name == 'closure' else 'departments'}",
                    Figure("holdfast", f"{name}, {kind}"),
                    at=number,
                )
                for number in curve.sizes[size]
                for kind in ("one fact deleted", "one fact inserted", "from scratch")
            },
            _SECONDS,
        )
        for name, curve in CURVES.items()
    ]


def measure(case: Sequence[str], told: Run) -> Iterator[tuple[str, Answer]]:
    """Everything is loaded by a first run on few facts that nobody looks at."""
    curve = CURVES[case[0]]
    tuple(_point(curve, curve.sizes["small"][0], told))
    for number in curve.sizes[told.size]:
        yield from _point(curve, number, told)


def _point(curve: Curve, number: int, told: Run) -> Iterator[tuple[str, Answer]]:
    """Pairs out and in again, one at a time, on one materialisation."""
    facts = curve.facts(number)
    given = {relation: arrow(rows) for relation, rows in facts.items()}
    pairs = [(_FAR + 2 * pair, _FAR + 2 * pair + 1) for pair in range(_PAIRS)]
    given[curve.relation] = arrow([*facts[curve.relation], *pairs])
    kb = holdfast.from_text(curve.program, facts=given)
    whole, deleted, inserted = fingerprint(kb), list[Taken](), list[Taken]()
    for pair in pairs:
        one = {curve.relation: [pair]}
        taken, gone = watched(kb, Update(delete=one))
        deleted.append(taken)
        taken, come = watched(kb, Update(insert=one))
        inserted.append(taken)
        check(_rows(gone.removed), _rows(come.added), f"{pair} went and came back: what each changed")
        check((len(gone.added), len(come.removed)), (0, 0), f"{pair} went and came back: what changed besides")
    check(fingerprint(kb), whole, "taking facts out and putting them back")
    kb.apply(Update(delete={curve.relation: pairs[-1:]}))
    rest, seconds = {**given, curve.relation: given[curve.relation].slice(0, len(given[curve.relation]) - 1)}, []
    for _ in range(told.runs):
        taken_seconds, right = from_scratch(curve.program, rest)
        check(fingerprint(kb), right, f"deleting {pairs[-1]}")
        seconds.append(taken_seconds)
    checked = f"each by what it says it changed; the last state: {FROM_SCRATCH}"
    yield f"{number} one fact deleted", answer(deleted[1:], checked, facts=whole[0], first=deleted[0].seconds)
    yield f"{number} one fact inserted", answer(inserted[1:], checked, facts=whole[0], first=inserted[0].seconds)
    yield f"{number} from scratch", Answer(tuple(seconds), FROM_SCRATCH, {"facts": whole[0]})


def _rows(changed: Mapping[str, RelationView]) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(view) for name, view in changed.items()}


_APPLY = "All of `apply`. From scratch: evaluation, without reading and storing facts."
TABLES = (
    Study(
        "updates-by-facts",
        "",
        "One-fact updates that affect little, on more and more facts",
        _APPLY,
        curves,
        axis="facts of the materialisation",
        logarithmic=(True, True),
        at="facts",
    ),
)
