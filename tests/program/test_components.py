"""Components: what an instance holds, and that it costs nothing: the plans are those of the program written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast import plans
from holdfast.language import parse
from holdfast.program import check

GRAPHS = """
.comp Graph<Node> {
  .decl edge(x: Node, y: Node)
  .decl path(x: Node, y: Node)
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
}
.comp Counted<Node> : Graph<Node> {
  .decl degree(x: Node, n: number)
  degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
}
.init g = Counted<number>
.decl start(x: number)
.decl reached(x: number)
reached(y) :- start(x), g.path(x, y), !g.degree(y, 0).
"""
BY_HAND = """
.decl g_edge(x: number, y: number)
.decl g_path(x: number, y: number)
g_path(x, y) :- g_edge(x, y).
g_path(x, z) :- g_path(x, y), g_edge(y, z).
.decl g_degree(x: number, n: number)
g_degree(x, n) :- g_edge(x, _), n = count : { g_edge(x, _) }.
.decl start(x: number)
.decl reached(x: number)
reached(y) :- start(x), g_path(x, y), !g_degree(y, 0).
"""


def test_the_plans_are_those_of_the_program_written_by_hand() -> None:
    with_components, by_hand = (plans.explain(check(parse(text))) for text in (GRAPHS, BY_HAND))
    assert with_components.replace("g.", "g_") == by_hand


def _facts(text: str, **given: list[tuple[object, ...]]) -> dict[str, set[tuple[object, ...]]]:
    kb = holdfast.from_text(text, {name.replace("__", "."): rows for name, rows in given.items()})
    return {name: set(rows) for name, rows in kb.relations.items()}


def test_parameters_stand_for_types_and_components() -> None:
    text = """
    .type City <: symbol
    .comp Loud { .decl say(x: symbol) say("LOUD"). }
    .comp Soft { .decl say(x: symbol) say("soft"). }
    .comp Speaker<Voice, Place> { .init voice = Voice .decl at(p: Place, s: symbol) at("Ulm", s) :- voice.say(s). }
    .init a = Speaker<Loud, City>
    .init b = Speaker<Soft, symbol>
    """
    found = _facts(text)
    assert found["a.at"] == {("Ulm", "LOUD")}
    assert found["b.at"] == {("Ulm", "soft")}
    assert check(parse(text)).relations["a.at"].columns[0].type_name == "City"


def test_overriding_leaves_out_the_rules_of_the_bases() -> None:
    text = """
    .comp A { .decl p(x: number) overridable .decl q(x: number) p(1). p(x), q(x) :- r(x). q(x) :- p(x). }
    .comp B : A { .override p p(7). }
    .decl r(x: number)
    r(5).
    .init a = A
    .init b = B
    """
    found = _facts(text)
    assert (found["a.p"], found["a.q"]) == ({(1,), (5,)}, {(1,), (5,)})
    assert (found["b.p"], found["b.q"]) == ({(7,)}, {(5,), (7,)})


def test_a_name_is_the_innermost_one_and_a_rule_may_be_for_a_relation_outside() -> None:
    text = """
    .decl p(x: number)
    .decl out(x: number, y: symbol)
    p(1).
    .comp Inner { out(x, "inner") :- p(x). }
    .comp Outer { .decl p(x: number) p(2). .init inner = Inner out(x, "outer") :- p(x). }
    .init outer = Outer
    .init inner = Inner
    """
    assert _facts(text)["out"] == {(1, "inner"), (2, "inner"), (2, "outer")}


def test_types_of_an_instance_are_its_own() -> None:
    text = """
    .comp Stack<Item> {
      .type List = [top: Item, rest: List]
      .decl stack(l: List) .decl top(x: Item)
      top(x) :- stack([x, _]).
    }
    .init n = Stack<number>
    .init s = Stack<symbol>
    n.stack([1, [2, nil]]).
    s.stack(["a", nil]).
    .decl tops(x: number, y: symbol)
    tops(x, y) :- n.stack([_, [x, _]]), s.top(y).
    """
    assert _facts(text)["tops"] == {(2, "a")}


def test_branches_of_an_instance_are_its_own() -> None:
    text = """
    .comp Tree<Item> {
      .type Tree = Leaf {} | Node {item: Item, left: Tree, right: Tree}
      .decl tree(t: Tree) .decl item(x: Item)
      tree(l), tree(r), item(x) :- tree($Node(x, l, r)).
      tree($Leaf).
    }
    .init n = Tree<number>
    .init s = Tree<symbol>
    n.tree($n.Node(1, $n.Leaf, $n.Node(2, $n.Leaf, $n.Leaf))).
    """
    found = _facts(text)
    assert found["n.item"] == {(1,), (2,)}
    assert {str(tree) for (tree,) in found["s.tree"]} == {"$s.Leaf"}


def test_rules_of_instances_come_and_go() -> None:
    kb = holdfast.from_text(GRAPHS, {"g.edge": [(1, 2), (2, 3)], "start": [(1,)]})
    assert set(kb["reached"]) == {(2,), (3,)}
    change = kb.apply(holdfast.Update(add_rules=["g.edge(y, x) :- g.edge(x, y)."], delete={"g.edge": [(2, 3)]}))
    assert set(change.added["g.edge"]) == {(2, 1)}
    assert set(kb["reached"]) == {(1,), (2,)}
    kb.apply(holdfast.Update(remove_rules=["g.edge(y, x) :- g.edge(x, y)."], add_rules=[".init h = Graph<symbol>"]))
    assert set(kb["reached"]) == {(2,)}
    assert set(kb["h.path"]) == set()


PARTS = '.comp Parts { .decl in(x: number) .decl out(x: number) out(x) :- in(x). #[name("next")] out(x + 9) :- in(x). }'


def test_an_instance_that_comes_with_an_update_is_undone_and_comes_again(tmp_path: Path) -> None:
    kb = holdfast.from_text(".decl e(x: number)", {"e": [(1,)]}, store=tmp_path / "store")
    update = holdfast.Update(add_rules=[PARTS, ".init p = Parts\np.in(x) :- e(x)."])
    for _ in range(2):
        kb.apply(update)
        assert set(kb["p.out"]) == {(1,), (10,)}
        kb.undo()
        assert not kb["p.out"]
    kb.apply(update)
    kb.apply(holdfast.Update(remove_rules=["p.next"]))  # rules of instances have names, as at the opening
    assert set(kb["p.out"]) == {(1,)}
    kb.close()
    with holdfast.open(tmp_path / "store") as again:
        assert set(again["p.out"]) == {(1,)}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (".comp Fact { .decl f(x: number) f(1). } .init f = Fact", "E0910"),  # it was lost, and there after a restart
        (".init p = Unknown", "E0218"),
        (".init g = Parts", "E0208"),
        (".decl e(y: symbol)", "E0202"),
    ],
)
def test_what_an_update_may_not_add(text: str, code: str) -> None:
    kb = holdfast.from_text(f".decl e(x: number)\n{PARTS}\n.init g = Parts", {"g.in": [(1,)]})
    before = kb.rules_text()
    with pytest.raises(holdfast.HoldfastError) as refused:
        kb.apply(holdfast.Update(add_rules=[text]))
    assert [found.code for found in refused.value.diagnostics] == [code]
    assert kb.rules_text() == before
    assert set(kb["g.out"]) == {(1,), (10,)}


@pytest.mark.parametrize("text", [GRAPHS, BY_HAND])
def test_a_program_is_made_only_once(text: str) -> None:
    from holdfast.errors import Diagnostics
    from holdfast.program.components import instantiated

    once = instantiated(parse(text), Diagnostics())
    assert instantiated(once, Diagnostics()) == once
