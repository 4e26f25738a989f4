"""The closure of Debian's dependency graph (data/ext/debian): 3,854,089 pairs over 282,432 edges.

What this cannot catch: wrong pairs that make up for missing ones; the random programs compare facts, not numbers.
"""

from __future__ import annotations

from pathlib import Path

import holdfast

from .shared_data import DATA, needs_shared_data

pytestmark = needs_shared_data
PROGRAM = """
.decl depends(package: symbol, kind: symbol, group: symbol, target: symbol, operator: symbol, version: symbol)
.input depends(filename="depends.tsv.gz")
.decl edge(package: symbol, target: symbol)
edge(p, t) :- depends(p, "pre", _, t, _, _).
edge(p, t) :- depends(p, "dep", _, t, _, _).
.decl reach(package: symbol, target: symbol)
reach(p, t) :- edge(p, t).
reach(p, t) :- reach(p, m), edge(m, t).
.decl in_cycle(package: symbol)
in_cycle(p) :- reach(p, p).
.decl node(package: symbol)
node(p) :- edge(p, _).
node(p) :- edge(_, p).
"""


def test_closure_of_dependencies(tmp_path: Path) -> None:
    program = tmp_path / "closure.dl"
    program.write_text(PROGRAM, encoding="utf-8")
    kb = holdfast.open(program, facts=DATA / "ext" / "debian")
    assert len(kb["edge"]) == 282_432
    assert len(kb["node"]) == 64_047
    assert len(kb["reach"]) == 3_854_089
    assert 0 < len(kb["in_cycle"]) < 1_000
