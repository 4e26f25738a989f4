"""The execution plan of a rule change, on the running example of the ZodiacEdge paper (figures 1 and 3)."""

from __future__ import annotations

from holdfast.language import parse
from holdfast.program import check
from holdfast.program.impact import Impacted, impact
from holdfast.program.maintainable import maintainable, with_relations
from holdfast.program.model import Program
from tests.papers.test_zodiacedge import RULES, SEVEN


def program(*names: str) -> Program:
    return maintainable(check(parse("\n".join(f'#[name("{name}")] {RULES[name]}' for name in names))))


def plan(old: tuple[str, ...], new: tuple[str, ...]) -> dict[tuple[str, ...], Impacted]:
    before, after = program(*old), program(*new)
    missing = {name: relation for name, relation in before.relations.items() if name not in after.relations}
    found = impact(before, with_relations(after, missing))
    return {tuple(sorted(node.relations)): node for node in found if node.relations}


def direct(found: dict[tuple[str, ...], Impacted]) -> set[tuple[str, ...]]:
    return {relations for relations, node in found.items() if node.is_direct}


def test_a_rule_inside_a_hyper_node() -> None:
    found = plan(SEVEN, (*SEVEN, "r8"))
    assert direct(found) == {("p2", "p3", "p4")}
    assert list(found) == [("p2", "p3", "p4"), ("p5", "p6"), ("p7",)]
    assert found["p2", "p3", "p4"].added == ("r8",)


def test_a_hyper_node_that_is_split() -> None:
    found = plan(SEVEN, tuple(name for name in SEVEN if name != "r4"))
    assert direct(found) == {("p2",), ("p3",), ("p4",)}
    assert set(found) - direct(found) == {("p5", "p6"), ("p7",)}
    assert all(found[name].is_regrouped and found[name].was_recursive for name in direct(found))
    assert [name for name, node in found.items() if node.removed == ("r4",)] == [("p4",)]


def test_hyper_nodes_that_are_put_together() -> None:
    found = plan(tuple(name for name in SEVEN if name != "r4"), SEVEN)
    assert direct(found) == {("p2", "p3", "p4")}
    assert found["p2", "p3", "p4"].is_regrouped
    assert found["p2", "p3", "p4"].node.is_recursive
    assert not found["p2", "p3", "p4"].was_recursive


def test_hyper_nodes_that_go_altogether_reach_nothing_else() -> None:
    found = plan(SEVEN, SEVEN[:4])
    assert set(found) == direct(found) == {("p5",), ("p6",), ("p7",)}


def test_a_leaf_impacts_only_itself() -> None:
    assert set(plan(SEVEN[:6], SEVEN)) == {("p7",)}


def test_names_do_not_matter() -> None:
    old = program(*SEVEN)
    renamed = maintainable(check(parse("\n".join(RULES[name] for name in reversed(SEVEN)))))
    assert impact(old, renamed) == ()


def test_explicit_facts_impact_what_reads_them() -> None:
    old = program(*SEVEN)
    found = impact(old, old, {"p6"})
    shown = [(set(node.relations), node.is_direct, node.has_new_facts) for node in found if node.relations]
    assert shown == [({"p5", "p6"}, True, True), ({"p7"}, False, False)]
