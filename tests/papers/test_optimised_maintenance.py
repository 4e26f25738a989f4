"""Hu, Motik, Horrocks: Optimised Maintenance of Datalog Materialisations (AAAI 2018), examples 1 to 3.

The states before and after each update are computed from scratch; that an update takes one to the other is for
the tests of maintenance.  What this cannot catch: the costs that the examples are about.
"""

from __future__ import annotations

import holdfast

N = 30


def test_example_1_materialisation() -> None:
    rule = "S(y1, y2) :- R(x, y1), R(x, y2)."
    explicit = [(f"a{i}", "b") for i in range(N)] + [(f"a{i}", f"c{i}") for i in range(N)]
    kb = holdfast.from_text(rule, facts={"R": explicit})
    expected = {("b", "b")} | {pair for i in range(N) for pair in (("b", f"c{i}"), (f"c{i}", "b"), (f"c{i}", f"c{i}"))}
    assert set(kb["S"]) == expected


def test_example_1_counters() -> None:
    """The program is not recursive: Cn is the multiplicity, Cr never used."""
    explicit = [(f"a{i}", "b") for i in range(N)] + [(f"a{i}", f"c{i}") for i in range(N)]
    kb = holdfast.from_text("S(y1, y2) :- R(x, y1), R(x, y2).", facts={"R": explicit})
    counters = kb.counters("S")
    assert counters.pop(("b", "b")) == (N, 0)
    assert set(counters.values()) == {(1, 0)}


def test_example_1_after_the_deletion() -> None:
    kb = holdfast.from_text("S(y1, y2) :- R(x, y1), R(x, y2).", facts={"R": [(f"a{i}", "b") for i in range(N)]})
    assert kb.counters("S") == {("b", "b"): (N, 0)}


PATHS = """
D(y, z) :- B("a", y, z).
D(y, z) :- D(x, z1), B(x, y, z2), z = z1 + z2.
"""


def edges(with_b1: bool) -> list[tuple[str, str, int]]:
    first = [("a", "b1", 1)] if with_b1 else []
    rest = [("a", f"c{i}", 1) for i in range(1, N + 1)]
    return first + rest + [(f"b{i}", f"d{j}", 1) for i in range(1, N + 1) for j in range(1, N + 1)]


def test_example_2_materialisation() -> None:
    kb = holdfast.from_text(PATHS, facts={"B": edges(with_b1=True)})
    expected = {("b1", 1)} | {(f"c{i}", 1) for i in range(1, N + 1)} | {(f"d{j}", 2) for j in range(1, N + 1)}
    assert set(kb["D"]) == expected
    assert kb.counters("D")["d1", 2] == (0, 1)
    assert kb.counters("D")["b1", 1] == (1, 0)


def test_example_2_after_the_deletion() -> None:
    kb = holdfast.from_text(PATHS, facts={"B": edges(with_b1=False)})
    assert set(kb["D"]) == {(f"c{i}", 1) for i in range(1, N + 1)}


def test_section_6_sspe_enumerates_path_lengths() -> None:
    """SSPE on a ladder: two ways a step of lengths 1 and 2, so node n is reached with every length from n to 2 n."""
    ladder = [(f"n{i}", f"n{i + 1}", length) for i in range(12) for length in (1, 2)]
    kb = holdfast.from_text(PATHS.replace('"a"', '"n0"'), facts={"B": ladder})
    assert set(kb["D"]) == {(f"n{i}", length) for i in range(1, 13) for length in range(i, 2 * i + 1)}


CHAIN = "A(y) :- A(x), B(x, y)."
B = [("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")]


def test_example_3_figure_1_row_t1() -> None:
    kb = holdfast.from_text(CHAIN, facts={"A": [("a",), ("b",), ("d",)], "B": B})
    assert kb.counters("A") == {("a",): (1, 0), ("b",): (1, 0), ("c",): (0, 2), ("d",): (1, 1), ("e",): (0, 1)}


def test_example_3_figure_1_row_t3() -> None:
    """After the deletion of A(a): A(c) keeps its derivation from A(b)."""
    kb = holdfast.from_text(CHAIN, facts={"A": [("b",), ("d",)], "B": B})
    assert kb.counters("A") == {("b",): (1, 0), ("c",): (0, 1), ("d",): (1, 1), ("e",): (0, 1)}
