"""What is measured: programs, the facts they run on in each size, and how many facts must come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, get_args

from bench import ontology
from bench.graphs import Facts, chain, connected, generations, modules, random_dag, random_graph, weighted_dag
from bench.rules import Rule, arities, read_rules
from bench.universities import universities

Size: TypeAlias = Literal["small", "paper", "max"]
SIZES: tuple[Size, ...] = get_args(Size)

CLOSURE = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
QUADRATIC = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""
CLIQUES = """
conn(x, y) :- link(x, y).
conn(y, x) :- conn(x, y).
conn(x, z) :- conn(x, y), conn(y, z).
"""
CLIQUES_LINEAR = """
sym(x, y) :- link(x, y).
sym(y, x) :- link(x, y).
conn(x, y) :- sym(x, y).
conn(x, z) :- sym(x, y), conn(y, z).
"""
LENGTHS = """
d(y, l) :- b(0, y, l).
d(y, l) :- d(x, k), b(x, y, w), l = k + w.
"""
SAME_GENERATION = """
sg(x, y) :- par(x, p), par(y, p), x != y.
sg(x, y) :- sg(p, q), par(x, p), par(y, q).
"""
POINTS_TO = """
vp(v, o) :- new(v, o).
vp(v, o) :- vp(w, o), assign(v, w).
hp(o, f, p) :- store(v, f, w), vp(v, o), vp(w, p).
vp(v, p) :- load(v, w, f), vp(w, o), hp(o, f, p).
"""


@dataclass(frozen=True)
class Workload:
    """A program with its facts."""

    name: str
    title: str
    program: str
    facts: Mapping[Size, Callable[[], Facts]]
    expected: int  # facts of the counted relations, in size paper
    counts: tuple[str, ...] = ()  # the relations that are counted; none are all
    closure: bool = False  # a module of holdfast keeps what is counted compact

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The program, rule by rule."""
        return read_rules(self.program)

    @cached_property
    def arities(self) -> Mapping[str, int]:
        """All relations with their number of columns."""
        return arities(self.rules)

    @property
    def counted(self) -> tuple[str, ...]:
        """The relations whose facts are counted."""
        return self.counts or tuple(self.arities)


def _components(*sizes: int) -> Callable[[], Facts]:
    def facts() -> Facts:
        tree, more = connected(sizes)
        return {"link": [*tree, *more]}

    return facts


_DAGS: Mapping[Size, Callable[[], Facts]] = {
    "small": lambda: random_dag(60, 300),
    "paper": lambda: random_dag(10_000, 100_000),
    "max": lambda: random_dag(16_000, 160_000),
}
_CLIQUES: Mapping[Size, Callable[[], Facts]] = {
    "small": _components(30, 10),
    "paper": _components(2_000, 1_000, 500, 250, 125, *20 * [50], *100 * [10]),
    "max": _components(4_000, 2_000, 1_000, *100 * [50]),
}

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload(
            "tc-random",
            "transitive closure of a random graph",
            CLOSURE,
            {
                "small": lambda: random_graph(150, 300),
                "paper": lambda: random_graph(2_000, 5_000),
                "max": lambda: random_graph(4_000, 10_000),
            },
            3_171_739,
            ("path",),
            closure=True,
        ),
        Workload(
            "chain",
            "transitive closure of a chain",
            CLOSURE,
            {"small": lambda: chain(100), "paper": lambda: chain(2_000), "max": lambda: chain(4_000)},
            1_999_000,
            ("path",),
            closure=True,
        ),
        Workload(
            "dag-linear",
            "transitive closure of DAG-R, right-linear",
            CLOSURE,
            _DAGS,
            22_358_303,
            ("path",),
            closure=True,
        ),
        Workload(
            "dag-quadratic",
            "transitive closure of DAG-R, quadratic",
            QUADRATIC,
            _DAGS,
            22_358_303,
            ("path",),
            closure=True,
        ),
        Workload(
            "cliques-linear",
            "symmetric-transitive closure, linear",
            CLIQUES_LINEAR,
            _CLIQUES,
            5_388_125,
            ("conn",),
            closure=True,
        ),
        Workload(
            "cliques",
            "symmetric-transitive closure, quadratic",
            CLIQUES,
            _CLIQUES,
            5_388_125,
            ("conn",),
            closure=True,
        ),
        Workload(
            "sspe",
            "lengths of all paths from one node",
            LENGTHS,
            {
                "small": lambda: weighted_dag(300, 1_500),
                "paper": lambda: weighted_dag(100_000, 1_000_000),
                "max": lambda: weighted_dag(300_000, 3_000_000),
            },
            2_218_604,
            ("d",),
        ),
        Workload(
            "same-generation",
            "same generation",
            SAME_GENERATION,
            {
                "small": lambda: generations(5, 40),
                "paper": lambda: generations(12, 550),
                "max": lambda: generations(12, 1_000),
            },
            2_292_593,
            ("sg",),
        ),
        Workload(
            "points-to",
            "points-to analysis",
            POINTS_TO,
            {"small": lambda: modules(4, 60, 12), "paper": lambda: modules(60), "max": lambda: modules(90)},
            5_163_551,
            ("vp", "hp"),
        ),
        Workload(
            "lubm-like",
            "universities with an ontology",
            ontology.program(),
            {
                "small": lambda: universities(1, (1, 1)),
                "paper": lambda: universities(12),
                "max": lambda: universities(50),
            },
            3_529_485,
        ),
    )
}
