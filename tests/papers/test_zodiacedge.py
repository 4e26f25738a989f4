"""Xu, Curé: ZodiacEdge, figures 1 to 3 and 5, sections 2.1, 4.2 and 4.4, the rule sets of the appendices.

The paper's hyper-nodes are components of the graph of rules, ours of the graph of predicates: one of ours holds the
nonrecursive rules of its predicates as well, each of which is a hyper-node of its own in the paper.  What this
cannot catch: anything about changing rules; figures 3(b) and 3(c) are checked as programs of their own.
"""

from __future__ import annotations

import pytest

import holdfast
from holdfast.errors import ProgramError
from holdfast.language import parse
from holdfast.program import check
from holdfast.program.model import HyperNode, Program

RULES = {
    "r1": "p1(X, Y) :- p0(X, Y).",
    "r2": "p2(X, Z) :- p1(X, Y), p3(Y, Z).",
    "r3": "p3(X, Y) :- p4(X, Y).",
    "r4": "p4(X, Y) :- p2(X, Y).",
    # printed without p0(X, _): X then stands under the negation only, and the rule is not safe
    "r5": "p5(X, Y) :- p6(Y, Z), p0(X, _), not p2(X, Z).",
    "r6": "p6(X, Y) :- p5(X, Y).",
    "r7": "p7(X, Z) :- p3(X, Y), p5(Y, Z).",
    "r8": "p2(X, Z) :- p3(X, Y), p2(Y, Z).",
}


def checked(*names: str) -> Program:
    return check(parse("\n".join(f'#[name("{name}")]\n{RULES[name]}' for name in names)))


def node(program: Program, predicate: str) -> HyperNode:
    return program.node_of(predicate)


def edges(program: Program, kind: str) -> set[tuple[str, str]]:
    """Edges between nodes that have rules, each node named by its first predicate."""

    def has_rules(n: HyperNode) -> bool:
        return bool(n.nonrecursive or n.recursive or n.aggregates)

    return {
        (min(program.nodes[i].predicates), min(n.predicates))
        for n in program.nodes
        if has_rules(n)
        for i in getattr(n, kind)
        if has_rules(program.nodes[i])
    }


def rule_names(rules: tuple[object, ...]) -> set[str]:
    return {rule.name for rule in rules}  # type: ignore[attr-defined]


SEVEN = ("r1", "r2", "r3", "r4", "r5", "r6", "r7")


def test_figure_1_r5_as_printed_is_not_safe() -> None:
    with pytest.raises(ProgramError) as caught:
        check(parse("p5(X, Y) :- p6(Y, Z), not p2(X, Z)."))
    assert "X" in caught.value.diagnostics[0].message


def test_figure_3a_hyper_nodes() -> None:
    program = checked(*SEVEN)
    groups = {frozenset(n.predicates) for n in program.nodes}
    assert groups == {
        frozenset({"p0"}),
        frozenset({"p1"}),
        frozenset({"p2", "p3", "p4"}),
        frozenset({"p5", "p6"}),
        frozenset({"p7"}),
    }
    assert rule_names(node(program, "p2").recursive) == {"r2", "r3", "r4"}
    assert rule_names(node(program, "p5").recursive) == {"r5", "r6"}


def test_figure_3a_edges() -> None:
    program = checked(*SEVEN)
    assert edges(program, "positive") == {("p1", "p2"), ("p2", "p7"), ("p5", "p7")}
    assert edges(program, "negative") == {("p2", "p5")}


def test_figure_3b_r8_joins_the_node_of_p2() -> None:
    program = checked(*SEVEN, "r8")
    assert rule_names(node(program, "p2").recursive) == {"r2", "r3", "r4", "r8"}
    assert edges(program, "positive") == {("p1", "p2"), ("p2", "p7"), ("p5", "p7")}


def test_figure_3c_without_r4_the_node_splits() -> None:
    program = checked("r1", "r2", "r3", "r5", "r6", "r7", "r8")
    assert node(program, "p2").predicates == ("p2",)
    assert rule_names(node(program, "p2").nonrecursive) == {"r2"}
    assert rule_names(node(program, "p2").recursive) == {"r8"}
    assert node(program, "p3").predicates == ("p3",)
    assert not node(program, "p3").is_recursive


def test_section_4_2_order_of_evaluation() -> None:
    program = checked(*SEVEN)
    for n in program.nodes:
        assert all(i < n.index for i in (*n.positive, *n.negative))


def test_section_4_2_negation_inside_a_component_is_refused() -> None:
    with pytest.raises(ProgramError):
        check(parse("p2(X, Z) :- p1(X, Y), p3(Y, Z). p3(X, Y) :- p1(X, Y), not p2(X, Y)."))


RUNNING = "\n".join(RULES[name] for name in SEVEN)
FACTS = {"p0": [("a", "b"), ("b", "c"), ("c", "a")], "p4": [("b", "x"), ("x", "y")], "p6": [("k", "y"), ("m", "x")]}


def test_figure_1_materialisation() -> None:
    """By hand: p2 spreads x backwards along p1 and round the circle; p5 takes what p2 does not have."""
    kb = holdfast.from_text(RUNNING, facts=FACTS)
    assert set(kb["p1"]) == set(FACTS["p0"])
    assert set(kb["p2"]) == {("a", "x"), ("c", "x"), ("b", "x")}
    assert set(kb["p3"]) == set(kb["p4"]) == {("a", "x"), ("b", "x"), ("c", "x"), ("x", "y")}
    # p6(k, y): nobody has p2(·, y), so all of a, b, c come; p6(m, x): everybody has p2(·, x)
    assert {("a", "k"), ("b", "k"), ("c", "k")} <= set(kb["p5"])
    assert not {(x, "m") for x in "abc"} & set(kb["p5"])


def test_appendix_b_number_of_hyper_nodes() -> None:
    """14 in table 1: each nonrecursive rule is one, and the recursive rules of each of our recursive nodes are one."""
    program = check(parse(RS2))
    assert sum(len(n.nonrecursive) + n.is_recursive for n in program.nodes) == 14


def test_appendix_c_r10_new_reads_z_as_a_wildcard_with_a_warning() -> None:
    changed = RS2.replace("p20(X, Y) :- p12(X, Y).", "p20(X, Y) :- p12(X, Y), not p13(Y, Z).")
    program = check(parse(changed))
    assert [warning.code for warning in program.warnings] == ["W0002"]
    facts = {"p1": [], "p2": [("a", "b"), ("b", "c")], "p3": [("b", "q")], "p5": []}
    kb = holdfast.from_text(changed, facts=facts)
    # p13 is {(b, q), (q, b)}; p12 is {(a, b), (b, c), (a, c)}: only (a, b) ends where p13 starts
    assert set(kb["p20"]) == {("b", "c"), ("a", "c"), ("b", "q"), ("q", "b")}


RS2 = """
p11(X, Y) :- p1(X, Y).
p11(X, Y) :- p11(Y, X).
p11(X, Y) :- p11(X, Z), p11(Z, Y), X != Y.
p12(X, Y) :- p2(X, Y).
p12(X, Y) :- p12(X, Z), p12(Z, Y), X != Y.
p13(X, Y) :- p3(X, Y).
p14(X, Y) :- p13(X, Y).
p13(X, Y) :- p14(Y, X).
p20(X, Y) :- p11(X, Y).
p20(X, Y) :- p12(X, Y).
p20(X, Y) :- p13(X, Y).
p21(X, Y) :- p20(X, Y).
p22(X, Y) :- p21(X, Y).
p20(X, Y) :- p22(X, Y).
p25(X, Z) :- p11(X, Y), p12(Y, Z), not p5(Y, Z).
p26(X, Z) :- p12(X, Y), p13(Z, Y), not p5(Z, Y).
p30(X, Z) :- p22(X, Y), p21(Y, Z).
p31(X, Y) :- p25(X, Y), p26(Y, Z).
"""


def test_appendix_a_anomalous_turbine() -> None:
    rules = """
    hasNeighbour(X, Y) :- hasNeighbour(Y, X).
    hasNeighbour(X, Y) :- hasNeighbour(X, Z), hasNeighbour(Z, Y), X != Y.
    number(X, count(T)) :- hasNeighbour(X, Y), temperature(Y, T).
    medianNearby(X, median(T)) :- hasNeighbour(X, Y), temperature(Y, T).
    moreThan3Neighbours(X) :- number(X, N), N >= 3.
    anomaly(X) :- medianNearby(X, M), moreThan3Neighbours(X), temperature(X, T), D = abs(to_float(T) - M), D > 5.0.
    """
    chain = [(f"t{i}", f"t{i + 1}") for i in range(5)]
    warm = [(f"t{i}", 40 if i == 2 else 25) for i in range(6)]
    kb = holdfast.from_text(rules, facts={"hasNeighbour": chain, "temperature": warm})
    assert set(kb["number"]) == {(f"t{i}", 5) for i in range(6)}
    assert set(kb["medianNearby"]) == {(f"t{i}", 25.0) for i in range(6)}
    assert set(kb["anomaly"]) == {("t2",)}
