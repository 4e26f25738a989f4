"""What limit relations mean: the examples of the pages, and random programs whose values are all derived first, within
bounds, and the best taken at the end, by the engine without recursion through min and max and by clingo."""

from __future__ import annotations

from random import Random

import pytest

import holdfast
from holdfast import HoldfastError, Update
from holdfast.language import parse

from ..amounts import amount
from ..judges import clingo_judge
from ..judges.fragment import UnsupportedError
from .rules import Fact, NoEnd, Rule, naive
from .running import text
from .scripts import ARITY, Writer

BOUND = 60

EXAMPLES = {
    "distances": (
        "edge(1, 2, 4). edge(2, 3, 1). edge(1, 3, 9). edge(3, 1, 2). dist(1, 0)."
        "dist(y, min(d + w)) :- dist(x, d), edge(x, y, w).",
        {"dist": {(1, 0), (2, 4), (3, 5)}},
    ),
    "a budget": (
        "cost(1, 0). edge(1, 2, 4). edge(2, 3, 5). edge(3, 4, 3)."
        "cost(y, min(c + w)) :- cost(x, c), edge(x, y, w), c + w <= 10.",
        {"cost": {(1, 0), (2, 4), (3, 9)}},
    ),
    "two relations": (
        "start(1). busline(3, 2, 1). line(1, 3, 2). busline(3, 1, 5). line(2, 4, 1)."
        "bus(x, min(0)) :- start(x). bus(y, min(d + w)) :- rail(x, d), busline(x, y, w)."
        "rail(y, min(d + w)) :- bus(x, d), line(x, y, w).",
        {"bus": {(1, 0), (2, 3)}, "rail": {(3, 2), (4, 4)}},
    ),
    "a plain relation in the circle": (
        "dist(1, 0). edge(1, 2, 3). edge(2, 3, 4). edge(3, 4, 1). edge(2, 5, 9). edge(5, 4, 1). key(5)."
        "dist(y, min(d + w)) :- dist(x, d), edge(x, y, w), open(x)."
        "open(x) :- dist(x, d), d <= 5. open(x) :- key(x).",
        {"dist": {(1, 0), (2, 3), (3, 7), (5, 12), (4, 13)}, "open": {(1,), (2,), (5,)}},
    ),
    "several rules, one fact a group": (
        "a(1, 5). b(1, 3). b(2, 4). best(2, 1). best(1, 9). best(x, min(p)) :- a(x, p). best(x, min(p)) :- b(x, p).",
        {"best": {(1, 3), (2, 1)}},
    ),
    "one group": ("e(4). e(2). e(7). top(max(x)) :- e(x). top(max(x + 1)) :- top(x), x < 7.", {}),
    "labels that are strings": (
        'link("b", "a"). link("b", "c"). link("z", "y").'
        "label(x, min(x)) :- link(x, _) ; link(_, x). label(y, min(l)) :- label(x, l), link(x, y)."
        "label(x, min(l)) :- label(y, l), link(x, y).",
        {"label": {("a", "a"), ("b", "a"), ("c", "a"), ("y", "y"), ("z", "y")}},
    ),
    "floats": (
        "edge(1, 2, 0.5). edge(2, 3, 0.25). edge(1, 3, 1.0). dist(1, 0.0)."
        "dist(y, min(d + w)) :- dist(x, d), edge(x, y, w).",
        {"dist": {(1, 0.0), (2, 0.5), (3, 0.75)}},
    ),
}


@pytest.mark.parametrize("name", [name for name, (_, expected) in EXAMPLES.items() if expected])
def test_an_example_derives_what_the_page_says(name: str) -> None:
    program, expected = EXAMPLES[name]
    kb = holdfast.from_text(program)
    for relation, facts in expected.items():
        assert set(kb[relation]) == facts, relation


def test_a_comparison_from_above_under_max_is_refused() -> None:
    with pytest.raises(HoldfastError, match="E0504"):
        holdfast.from_text(EXAMPLES["one group"][0])


def test_an_explicit_fact_comes_back_when_what_beat_it_goes() -> None:
    kb = holdfast.from_text("low(x, min(y)) :- e(x, y).", facts={"e": [(1, 2), (1, 3)], "low": [(1, 5), (1, 4)]})
    assert set(kb["low"]) == {(1, 2)}
    assert set(kb.explicit("low")) == {(1, 5), (1, 4)}
    assert repr(kb) == "<knowledge base: 2 facts, 1 derived>"
    assert kb.statistics.derived == 1
    change = kb.apply(Update(delete={"e": [(1, 2), (1, 3)]}))
    assert set(change.added["low"]) == {(1, 4)}
    assert set(change.removed["low"]) == {(1, 2)}


def test_without_rules_all_explicit_facts_are_there() -> None:
    kb = holdfast.from_text("low(x, min(y)) :- e(x, y).", facts={"e": [(1, 2)], "low": [(1, 5), (1, 4)]})
    kb.apply(Update(remove_rules=["low(x, min(y)) :- e(x, y)."]))
    assert set(kb["low"]) == {(1, 4), (1, 5)}
    kb.apply(Update(add_rules=["low(x, max(y)) :- e(x, y)."]))
    assert set(kb["low"]) == {(1, 5)}


def test_positive_steps_overdelete_exactly_what_changes() -> None:
    side, random = 12, Random(1)
    places = [(x, y) for x in range(side) for y in range(side)]
    edges = [
        (side * x + y, side * a + b, random.randint(1, 9))
        for x, y in places
        for a, b in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
        if 0 <= a < side and 0 <= b < side
    ]
    kb = holdfast.from_text("dist(0, 0). dist(y, min(d + w)) :- dist(x, d), edge(x, y, w).", facts={"edge": edges})
    changed = 0
    for _ in range(amount(10, 3)):
        gone = random.sample(edges, 5)
        change = kb.apply(Update(delete={"edge": gone}))
        here = len(change.removed.get("dist", ()))
        assert sum(figures.overdeleted for figures in change.figures if figures.algorithm == "limits") == here
        changed += here
        kb.apply(Update(insert={"edge": gone}))
    assert changed


# --- all values first, the best at the end ---------------------------------------------------------------


def levelled(seed: int) -> tuple[list[Rule], dict[str, set[Fact]]]:
    """Rules whose offers are never better than the values they are made of, so that a bound cuts nothing off."""
    random = Random(seed)
    writer = Writer(random)
    writer.kind = random.choice(["add", "copy", "closure", "bound"])
    function = "min" if writer.kind == "add" else random.choice(["min", "max"])
    writer.function, writer.heights, writer.weights = {"l": function, "m": function}, None, (0, 1, 3)
    writer.own = [name for name in writer.own if name != "open"]
    rules = [rule for rule in writer.program() if rule.predicate in writer.own]
    facts = {name: writer.facts(name) for name in ("edge", "node", "shut", "l")}
    return rules, facts


def bounded(rules: list[Rule]) -> str:
    """The same with all values, of a relation `all_l` for `l`, and the best of them by an aggregate in a body."""
    lines = []
    for rule in rules:
        assert rule.limit is not None
        column, body = rule.limit[0], ", ".join(map(str, rule.body))
        for name in ("l", "m"):
            body = body.replace(f"{name}(", f"all_{name}(")
        shown = ["value" if i == column else str(term) for i, term in enumerate(rule.arguments)]
        tests = f"value = {rule.arguments[column]}, value <= {BOUND}, value >= {-BOUND}"
        lines.append(f"all_{rule.predicate}({', '.join(shown)}) :- {body}, {tests}.")
    for name, (column, function) in {rule.predicate: rule.limit for rule in rules if rule.limit}.items():
        pair, wild, inner = (["x", "n"], ["x", "_"], ["x", "u"]) if column else (["n", "x"], ["_", "x"], ["u", "x"])
        values = f"n = {function} u : {{ all_{name}({', '.join(inner)}) }}"
        lines.append(f"{name}({', '.join(pair)}) :- all_{name}({', '.join(wild)}), {values}.")
    return "\n".join(lines)


def test_all_values_first_give_the_same() -> None:
    compared = by_both = 0
    for seed in range(amount(60, 2)):
        rules, facts = levelled(seed)
        given = {name: sorted(found) for name, found in facts.items()}
        try:
            truth = naive(rules, facts)
            kb = holdfast.from_text(text(rules), facts=given)
        except (HoldfastError, NoEnd):
            continue  # refused: a comparison that may fail
        derived = {rule.predicate for rule in rules}
        if "l" not in derived:
            continue
        plain = {("all_l" if name == "l" else name): found for name, found in given.items()}
        columns = {3: "x: number, y: number, z: number", 2: "x: number, y: number", 1: "x: number"}
        declared = [f".decl {name}({columns[arity]})" for name, arity in ARITY.items()]
        declared += [f".decl all_{name}(x: number, y: number)" for name in ("l", "m")]
        program = "\n".join([*declared, bounded(rules)])
        other = holdfast.from_text(program, facts=plain)
        judged = by_clingo(program, plain)
        for name in derived:
            found = set(kb[name])
            assert found == set(other[name]) == truth.get(name, set()), (seed, name)
            assert judged is None or found == judged.get(name, set()), (seed, name)
        compared += 1
        by_both += judged is not None
    assert compared >= amount(20, 1)
    assert by_both >= amount(10, 0)


def by_clingo(program: str, facts: dict[str, list[Fact]]) -> dict[str, set[Fact]] | None:
    """What clingo derives; None where it lacks a functor."""
    try:
        judged = clingo_judge.evaluate(parse(program), facts)
    except UnsupportedError:
        return None
    return {name: {tuple(int(value[1]) for value in row) for row in rows} for name, rows in judged.items()}
