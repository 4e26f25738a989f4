"""Closures beyond the papers' tables, by modules and generic: cliques and chains that grow, Debian's dependencies."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

import holdfast
from bench.graphs import Row, chain, connected
from bench.papers.measuring import (
    DATA,
    FROM_SCRATCH,
    Answer,
    Run,
    Work,
    answer,
    arrow,
    check,
    evaluation,
    fingerprint,
    from_scratch,
    size_of,
    timed,
)
from bench.papers.study import Job, Place, Study, apart
from bench.papers.subjects import LINEAR, QUADRATIC, SYMMETRIC
from bench.tables import Figure
from bench.workloads import Size
from holdfast import Update
from holdfast.modules import MODULES

HOW: Mapping[str, tuple[Any, ...]] = {"modules": MODULES, "generic": ()}
CLIQUES: Mapping[str, Sequence[int]] = {
    "small": (30, 60),
    "paper": (250, 500, 1_000, 2_000),
    "max": (500, 1_000, 2_000, 4_000),
}
CHAINS: Mapping[str, Sequence[int]] = {
    "small": (50, 100),
    "paper": (250, 500, 1_000, 2_000),
    "max": (1_000, 2_000, 4_000),
}
DEBIAN = {"right-linear rule": LINEAR, "quadratic rule": QUADRATIC}
_EDGES = 5  # that go and come in a clique, one at a time
_SMALL = 600  # lines of Debian's dependencies in size small
_SECONDS: Mapping[str, float] = {"small": 60, "paper": 45, "max": 600}


def cliques(size: Size) -> list[Job]:
    """A process for each way: its sizes grow, and what comes after a limit is lost."""
    kinds = ("materialisation", "an edge with a detour deleted", "a leaf deleted")
    return [
        Job(
            "closures",
            ("cliques", *ways),
            {
                f"{how} {nodes} {kind}": Place(f"{nodes:,} nodes, {kind}", Figure("holdfast", how), at=nodes)
                for how in ways
                for nodes in CLIQUES[size]
                for kind in kinds
            },
            _SECONDS[size],
        )
        for ways in apart(HOW, size)
    ]


def chains(size: Size) -> list[Job]:
    """The same."""
    return [
        Job(
            "closures",
            ("chains", *ways),
            {
                f"{how} {nodes}": Place(f"{nodes:,} nodes", Figure("holdfast", how), at=nodes)
                for how in ways
                for nodes in CHAINS[size]
            },
            _SECONDS[size],
        )
        for ways in apart(HOW, size)
    ]


def debian(size: Size) -> list[Job]:
    """A process for each rule and way."""
    reason = "" if (DATA / "ext" / "debian").is_dir() else "there is no ../shared/data/ext/debian"
    return [
        Job(
            "closures",
            (rule, *ways),
            {
                f"{how} {kind}": Place(f"{kind}, {rule}", Figure("holdfast", how))
                for how in ways
                for kind in ("materialisation", "all uploads")
            },
            _SECONDS[size],
            reason,
        )
        for rule in DEBIAN
        for ways in apart(HOW, size)
    ]


def measure(case: Sequence[str], told: Run) -> Iterator[tuple[str, Answer]]:
    """What a process does."""
    what, *ways = case
    for how in ways:
        for _ in _clique(CLIQUES["small"][0], how, told):
            pass  # nobody looks: everything is loaded now
        yield from ((f"{how} {name}", found) for name, found in _measured(what, how, told))


def _measured(what: str, how: str, told: Run) -> Iterator[tuple[str, Answer]]:
    if what in DEBIAN:
        yield from _debian(DEBIAN[what], how, told)
    elif what == "chains":
        for nodes in CHAINS[told.size]:
            yield _chain(nodes, how, told)
    else:
        for nodes in CLIQUES[told.size]:
            yield from _clique(nodes, how, told)


def _evaluated(
    program: str, facts: Mapping[str, pa.Table], how: str, told: Run
) -> tuple[holdfast.KnowledgeBase, list[float]]:
    """Evaluated as often as asked; the last one."""
    kb, seconds = holdfast.from_text(program, facts=facts, modules=HOW[how]), list[float]()
    seconds.append(evaluation(kb))
    while len(seconds) < told.runs and not told.impatient:
        kb = holdfast.from_text(program, facts=facts, modules=HOW[how])
        seconds.append(evaluation(kb))
    return kb, seconds


def _clique(nodes: int, how: str, told: Run) -> Iterator[tuple[str, Answer]]:
    """One component; edges that leave it connected go and come one at a time, then edges to leaves."""
    tree, more = connected((nodes,))
    kb, seconds = _evaluated(SYMMETRIC, {"edge": arrow([*tree, *more])}, how, told)
    check(len(kb["path"]), nodes * nodes, f"evaluating a clique of {nodes:,}")
    yield (
        f"{nodes} materialisation",
        Answer(
            tuple(seconds),
            "the number of facts, which is known",
            {"facts": size_of(kb), "edges": len(tree) + len(more)},
        ),
    )
    ends = Counter(node for edge in (*tree, *more) for node in edge)
    leaves = [edge for edge in tree if ends[edge[0]] == 1]
    for kind, some, left in (("an edge with a detour", more, nodes * nodes), ("a leaf", leaves, (nodes - 1) ** 2)):
        taken = []
        for edge in some[:_EDGES]:
            taken.append(timed(kb, Update(delete={"edge": [edge]})))
            check(len(kb["path"]), left, f"deleting {edge}")
            kb.apply(Update(insert={"edge": [edge]}))
            check(len(kb["path"]), nodes * nodes, f"inserting {edge}")
            if told.impatient:
                break
        yield f"{nodes} {kind} deleted", answer(taken, "the number of facts, which is known")


def _chain(nodes: int, how: str, told: Run) -> tuple[str, Answer]:
    kb, seconds = _evaluated(LINEAR, {"edge": arrow(chain(nodes)["edge"])}, how, told)
    check(len(kb["path"]), nodes * (nodes - 1) // 2, f"evaluating a chain of {nodes:,}")
    return str(nodes), Answer(tuple(seconds), "the number of facts, which is known", {"rounds": kb.statistics.rounds})


def _debian(program: str, how: str, told: Run) -> Iterator[tuple[str, Answer]]:
    """Each upload as one update; the last state is checked."""
    numbers: dict[str, int] = {}
    lines = list(_lines("depends"))[: _SMALL if told.size == "small" else None]
    counts = Counter(_edge(numbers, line) for line in lines if line[1] in ("pre", "dep"))
    edges = sorted(counts)
    uploads = list(_uploads(numbers, counts))
    kb, seconds = _evaluated(program, {"edge": arrow(edges)}, how, told)
    check(fingerprint(kb), from_scratch(program, {"edge": arrow(edges)})[1], "evaluation")
    yield "materialisation", Answer(tuple(seconds), FROM_SCRATCH, {"facts": size_of(kb), "given": len(edges)})
    taken = [timed(kb, upload) for upload in uploads]
    check(fingerprint(kb), from_scratch(program, {"edge": arrow(sorted(+counts))})[1], f"{len(uploads)} uploads")
    work = sum((one.work for one in taken), Work())
    yield (
        "all uploads",
        Answer(
            (sum(one.seconds for one in taken),),
            f"after the last: {FROM_SCRATCH}",
            {"uploads": len(taken), "slowest": max(one.seconds for one in taken), "changed": work.changed},
        ),
    )


def _uploads(numbers: dict[str, int], counts: Counter[Row]) -> Iterator[Update]:
    """Each source package's upload as one update; several lines may say the same edge."""
    uploads = list[list[tuple[str, Row]]]()
    for mark, *line in _lines("updates"):
        if mark == "@":
            uploads.append([])
        elif line[0] == "depends" and line[2] in ("pre", "dep"):
            uploads[-1].append((mark, _edge(numbers, line[1:])))
    for upload in uploads:
        before = {edge for _, edge in upload if counts[edge] > 0}
        for mark, edge in upload:
            counts[edge] += 1 if mark == "+" else -min(1, counts[edge])
        after = {edge for _, edge in upload if counts[edge] > 0}
        yield Update(delete={"edge": sorted(before - after)}, insert={"edge": sorted(after - before)})


def _edge(numbers: dict[str, int], line: Sequence[str]) -> Row:
    return (numbers.setdefault(line[0], len(numbers)), numbers.setdefault(line[3], len(numbers)))


def _lines(name: str) -> Iterator[list[str]]:
    with gzip.open(DATA / "ext" / "debian" / f"{name}.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n").split("\t")


_EVALUATION = "Materialisation: evaluation, without reading and storing facts. Updates: all of `apply`."
TABLES = (
    Study(
        "closures-cliques",
        "",
        "Symmetric-transitive closure of one component",
        _EVALUATION,
        cliques,
        axis="nodes",
        logarithmic=(True, True),
    ),
    Study(
        "closures-chains",
        "",
        "Transitive closure of a chain: as many rounds as nodes",
        _EVALUATION,
        chains,
        axis="nodes, and rounds of generic evaluation",
        logarithmic=(True, True),
    ),
    Study("closures-debian", "", "The dependencies of a Debian archive, and its uploads", _EVALUATION, debian),
)
