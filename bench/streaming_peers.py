"""Updates beside Pathway, the one of the other systems that maintains recursion: edges of a closure out and in again.

All facts go through Pathway's Python connector, as they would in a program that uses it; an update is over when the
number of pairs after it has left the dataflow.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec

import holdfast
from bench import plain
from bench.graphs import Row, random_graph
from bench.own import Found, Job, measured
from bench.papers.measuring import WrongStateError, arrow, check
from bench.processes import Limits
from bench.race import Tell
from bench.tables import OURS, Figure, PaperTable
from bench.workloads import CLOSURE, WORKLOADS, Size
from holdfast import Update
from holdfast.modules import MODULES

GRAPHS: Mapping[Size, tuple[int, int]] = {"small": (60, 120), "paper": (300, 700), "max": (600, 1_500)}
_EDGES = 10  # of an update
_TURNS = 3  # updates of each kind
_BLANK = PaperTable(
    "updates-beside-pathway",
    "",
    "Updates of a transitive closure beside Pathway",
    "from handing in the changed edges until the new number of pairs is there; the first evaluation includes feeding "
    "all edges row by row for Pathway, and loading an Arrow table for holdfast; kernels compiled before",
    (),
    notes=("holdfast answers each update with the pairs that came and went; Pathway is asked for their number only.",),
)


def updates_beside_pathway(size: Size, runs: int, limits: Limits, tell: Tell) -> PaperTable:
    """The same updates in three ways."""
    tell("updates of a closure, beside Pathway")
    jobs = [Job("streaming_peers", (how,), Figure(OURS, how)) for how in ("modules", "generic")]
    if find_spec("pathway"):
        jobs.append(Job("streaming_peers", ("pathway",), Figure("pathway")))
        return measured(_BLANK, jobs, size, runs, limits)
    table = measured(_BLANK, jobs, size, runs, limits)
    missing = Figure("pathway", failure="not installed (pathway)")
    return replace(table, rows=tuple(replace(row, figures=(*row.figures, missing)) for row in table.rows))


def steps(size: Size) -> list[tuple[str, bool, Sequence[Row]]]:
    """What is done: a name, whether edges come, and the edges."""
    edges = random_graph(*GRAPHS[size])["edge"]
    done: list[tuple[str, bool, Sequence[Row]]] = [("all edges", True, edges)]
    for turn in range(_TURNS):
        some = edges[turn :: len(edges) // _EDGES][:_EDGES]
        done += [(f"{_EDGES} edges deleted", False, some), (f"{_EDGES} edges inserted", True, some)]
    return done


def expected(size: Size) -> list[int]:
    """The number of pairs after each step, by the plain check."""
    edges, numbers = set[Row](), list[int]()
    for _, come, some in steps(size):
        edges = edges | set(some) if come else edges - set(some)
        numbers.append(plain.count(WORKLOADS["tc-random"], {"edge": sorted(edges)}))
    return numbers


def measure(size: Size, runs: int, case: tuple[str, ...]) -> Found:
    """All steps by one system."""
    how, names, right = case[0], [name for name, _, _ in steps(size)], expected(size)
    taken = _by_pathway(size) if how == "pathway" else _by_holdfast(size, how)
    check([number for _, number in taken], right, f"the updates by {how}")
    system, variant = (how, "") if how == "pathway" else (OURS, how)
    title = f"closure of {GRAPHS[size][1]:,} edges, {right[0]:,} pairs: "
    for name in dict.fromkeys(names):
        times = tuple(seconds for other, (seconds, _) in zip(names, taken, strict=True) if other == name)
        yield title + name, None, Figure(system, variant, runs=times, checked=f"{right[0]:,} pairs and so on, counted")


def _by_holdfast(size: Size, how: str) -> list[tuple[float, int]]:
    taken = list[tuple[float, int]]()
    first, *others = steps(size)
    modules = MODULES if how == "modules" else ()
    few = holdfast.from_text(CLOSURE, facts={"edge": [(1, 2), (2, 3)]}, modules=modules)
    few.apply(Update(delete={"edge": [(1, 2)]}))  # nobody looks: everything is loaded now
    table, begun = arrow(first[2]), time.perf_counter()
    kb = holdfast.from_text(CLOSURE, facts={"edge": table}, modules=modules)
    taken.append((time.perf_counter() - begun, len(kb["path"])))
    for _, come, edges in others:
        update = Update(insert={"edge": edges}) if come else Update(delete={"edge": edges})
        begun = time.perf_counter()
        kb.apply(update)
        number = len(kb["path"])
        taken.append((time.perf_counter() - begun, number))
    return taken


def _by_pathway(size: Size) -> list[tuple[float, int]]:
    from bench.engines.pathway import Feed, closure_sizes

    feed = Feed([(come, edges) for _, come, edges in steps(size)])
    closure_sizes(feed)
    if len(feed.taken) != len(steps(size)):
        raise WrongStateError(f"WRONG: Pathway ended after {len(feed.taken)} steps")
    return feed.taken
