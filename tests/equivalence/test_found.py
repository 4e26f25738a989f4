"""What random scripts found, cut down to the least that showed it."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.modules import MODULES
from holdfast.updates import Update

from .lanes import FIXED


def test_a_relation_that_comes_back_is_not_counted_twice() -> None:
    """The aggregate's own relation was remembered as uncounted after it had been dropped."""
    rule = "h(1, mean(x)) :- e(_), e(x)."
    kb = holdfast.from_text(".decl e(x: number)\n.decl h(g: number, m: float)\n.decl p(x: number)")
    kb.apply(Update(add_rules=[rule]))
    kb.apply(Update(remove_rules=[rule]), algorithm="dred")
    kb.apply(Update(insert={"e": [(-1,)]}))
    kb.apply(Update(add_rules=[rule]))
    assert kb.counters("h") == {(1, -1.0): (1, 0)}
    kb.apply(Update(delete={"e": [(-1,)]}))
    assert not len(kb["h"])


@pytest.mark.parametrize("algorithm", FIXED)
def test_constants_computed_in_recursive_rules(algorithm: str) -> None:
    """A plan that looks backwards computed the constant before it read the goals it counts by."""
    rules = "p(x, n) :- e(x, _), n = 2 + 1. p(y, n) :- p(x, m), e(x, y), k = 1 + 1, n = m + k, n < 9."
    kb = holdfast.from_text(rules, facts={"e": [(1, 2), (2, 3), (3, 1)]})
    kb.apply(Update(delete={"e": [(2, 3)]}), algorithm=algorithm)
    assert kb.counters("p") == holdfast.from_text(rules, facts={"e": [(1, 2), (3, 1)]}).counters("p")


@pytest.mark.parametrize("algorithm", FIXED)
def test_symbols_among_any_values(algorithm: str) -> None:
    """A variable that is a symbol's may first be bound by a column of any values, backwards by a goal."""
    rules = """
    .decl a(x: any)
    .decl s(x: symbol)
    .decl p(n: number, x: any)
    p(n, u) :- s(u), n = strlen(u).
    p(1, x) :- a(x).
    .decl q(n: number)
    q(n) :- a(u), s(u), n = strlen(u).
    q(n) :- a(u), s(u), n = to_number(u), contains("1", u).
    """
    many = [(f"{i}",) for i in range(100, 300)]
    kb = holdfast.from_text(rules, facts={"a": [(7,), ("123",), (2.5,)], "s": many})
    assert set(kb["q"]) == {(3,), (123,)}
    kb.apply(Update(delete={"a": [(7,), ("123",)]}, insert={"a": [(8,), ("299",)]}), algorithm=algorithm)
    assert set(kb["q"]) == {(3,)}
    left = holdfast.from_text(rules, facts={"a": [(8,), ("299",), (2.5,)], "s": many})
    assert kb.counters("p") == left.counters("p")


@pytest.mark.parametrize("algorithm", [*FIXED, "exact"])
@pytest.mark.parametrize("modules", [["reflexive-transitive-closure"], ["transitive-closure"], MODULES])
def test_what_is_reflexive_through_what_is_derived(algorithm: str, modules: list[str]) -> None:
    """p(4, 4) follows from p(2, 4), which a rule beside the module derives; both were taken for the module's own."""
    rules = "p(x, x) :- p(_, x). p(y, x) :- p(x, y). p(x, z) :- p(x, y), p(y, z), x != z."
    kb = holdfast.from_text(".decl p(x: number, y: number)\n" + rules, facts={"p": [(4, 2)]}, modules=modules)
    if algorithm == "exact" and modules is not MODULES:
        return
    kb.apply(Update(delete={"p": [(4, 2)]}), algorithm=algorithm)
    assert not len(kb["p"])


PAIRS = "".join(f".decl {name}(x: number, y: number)\n" for name in ("edge", "step", "reach", "b"))
STEP_RIGHT = "reach(x, y) :- edge(x, y). reach(x, z) :- reach(x, y), edge(y, z). reach(y, x) :- reach(x, y)."
BOTH_SIDES = "reach(x, z) :- step(x, y), reach(y, z). reach(x, z) :- reach(x, y), b(y, z). reach(y, x) :- reach(x, y)."


@pytest.mark.parametrize(
    "windows",
    [
        pytest.param(False, id="one by one"),
        pytest.param(
            True, id="in windows", marks=pytest.mark.only_in_memory("several updates are not one pass elsewhere")
        ),
    ],
)
def test_an_edge_that_has_no_way_back_in_a_symmetric_closure(windows: bool) -> None:
    """Without edges, steps over all of them are as good as a plain graph, and it was taken for plain ever after."""
    kb = holdfast.from_text(PAIRS + STEP_RIGHT)
    update = Update(insert={"edge": [(1, 2)]})
    changes = kb.apply_all([update]) if windows else [kb.apply(update)]
    assert set(kb["reach"]) == {(1, 2), (2, 1), (2, 2)} == set(changes[0].added["reach"])


def test_edges_and_steps_that_lose_the_same() -> None:
    """What the symmetric rule makes of them may differ all the same: b has lost its only edge, and step has not."""
    facts = {"reach": [(1, 2), (2, 1)], "step": [(1, 2), (2, 1)], "b": [(1, 2)]}
    kb = holdfast.from_text(PAIRS + BOTH_SIDES, facts=facts)
    kb.apply(Update(delete={name: [(1, 2)] for name in facts}))
    assert set(kb["reach"]) == {(1, 2), (2, 1), (2, 2)}


def test_a_closure_that_a_module_reads_twice() -> None:
    """It was to be written out twice."""
    rules = """
    reach(x, y) :- edge(x, y).
    reach(x, z) :- reach(x, y), reach(y, z).
    b(x, z) :- reach(x, y), b(y, z).
    b(x, z) :- b(x, y), reach(y, z).
    """
    kb = holdfast.from_text(PAIRS + rules, facts={"edge": [(1, 2), (2, 3)], "b": [(3, 1)]})
    assert set(kb["b"]) == {(x, y) for x in (1, 2, 3) for y in (1, 2, 3)}
    kb.apply(Update(delete={"edge": [(1, 2)]}))
    assert set(kb["b"]) == {(3, 1), (2, 1)}
