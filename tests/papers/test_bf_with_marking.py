"""Illich, Glimm: Backward/Forward with Marking, examples 1 to 3 and the programs of appendix B.

Each dataset that the examples reach is computed from scratch.  What this cannot catch: marks, and the sets C, D,
V, W and Y; they belong to the maintenance of a stream.
"""

from __future__ import annotations

import holdfast


def facts_after(rules: str, *explicit: str) -> set[str]:
    """The names of the predicates that hold of c, when the named explicit ones do."""
    kb = holdfast.from_text(rules, facts={name: [("c",)] for name in explicit})
    return {name for name in kb.relations if set(kb[name]) == {("c",)}}


EXAMPLE_1 = "q(x) :- p1(x), p2(x)."
EXAMPLE_2 = "q(x) :- p1(x), p2(x). q(x) :- p3(x). r(x) :- q(x)."
EXAMPLE_3 = EXAMPLE_2 + " s(x) :- q(x), p4(x)."


def test_example_1() -> None:
    assert facts_after(EXAMPLE_1, "p1") == {"p1"}
    assert facts_after(EXAMPLE_1, "p1", "p2") == {"p1", "p2", "q"}
    assert facts_after(EXAMPLE_1, "p2") == {"p2"}


def test_example_2() -> None:
    assert facts_after(EXAMPLE_2, "p1", "p2", "p3") == {"p1", "p2", "p3", "q", "r"}
    assert facts_after(EXAMPLE_2, "p2", "p3") == {"p2", "p3", "q", "r"}


def test_example_2_alternative_derivation_is_counted() -> None:
    kb = holdfast.from_text(EXAMPLE_2, facts={name: [("c",)] for name in ("p1", "p2", "p3")})
    assert kb.counters("q") == {("c",): (2, 0)}
    assert kb.counters("r") == {("c",): (1, 0)}


def test_example_3() -> None:
    assert facts_after(EXAMPLE_3, "p1", "p2", "p3") == {"p1", "p2", "p3", "q", "r"}
    assert facts_after(EXAMPLE_3, "p2", "p3", "p4") == {"p2", "p3", "p4", "q", "r", "s"}
    assert facts_after(EXAMPLE_3, "p2", "p3") == {"p2", "p3", "q", "r"}


def test_appendix_b_figure_1a_p_trans() -> None:
    rules = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
    kb = holdfast.from_text(rules, facts={"edge": [(0, 1), (1, 2), (2, 0), (2, 3)]})
    assert set(kb["path"]) == {(i, j) for i in range(3) for j in range(4)}
    assert kb.counters("path")[0, 1] == (1, 1)


def test_appendix_b_figure_1b_p_seq() -> None:
    rules = "\n".join(f"edge{i + 1}(x, y) :- edge{i or ''}(x, y)." for i in range(4))
    edges = {(i, i * 7 % 10) for i in range(10)}
    kb = holdfast.from_text(rules, facts={"edge": sorted(edges)})
    for i in range(1, 5):
        assert kb.counters(f"edge{i}") == dict.fromkeys(edges, (1, 0))


def test_appendix_b_figure_2_ways() -> None:
    rules = """
    connection(Z1, Z2) :- nextInWay(X, Y1, Z1), nextInWay(X, Y2, Z2), Z1 != Z2.
    connection(Z1, Z2) :- nextInWay(X, Y1, Z1), nextInWay(X2, X, Z2), Z1 != Z2.
    connection(Z1, Z2) :- nextInWay(X1, Y, Z1), nextInWay(Y, Y2, Z2), Z1 != Z2.
    connection(Z1, Z2) :- nextInWay(X1, Y, Z1), nextInWay(X2, Y, Z2), Z1 != Z2.
    connection(X, Z) :- connection(X, Y), connection(Y, Z).
    """
    steps = [(1, 2, "w1"), (2, 3, "w1"), (3, 4, "w2"), (4, 5, "w3"), (9, 8, "w4")]
    kb = holdfast.from_text(rules, facts={"nextInWay": steps})
    joined = ("w1", "w2", "w3")
    assert set(kb["connection"]) == {(a, b) for a in joined for b in joined}
