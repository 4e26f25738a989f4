"""Hyper-nodes: against brute force on random graphs, and the checks and views that read them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import ProgramError
from holdfast.language import parse
from holdfast.program import check
from holdfast.program.graph import components
from holdfast.program.graph_views import graph_dot, graph_json, graph_svg, graph_text
from holdfast.program.model import Atom, Negated, Program

NODES = "abcdefg"
edges = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES), st.booleans()), max_size=14)


def reachable(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    closed = set(pairs)
    for middle, first, last in product(NODES, repeat=3):
        if (first, middle) in closed and (middle, last) in closed:
            closed.add((first, last))
    return closed


@given(edges)
def test_components_are_the_classes_of_mutual_reachability(graph: list[tuple[str, str, bool]]) -> None:
    pairs = {(a, b) for a, b, _ in graph}
    closed = reachable(pairs)
    found = components(NODES, {n: [b for a, b in sorted(pairs) if a == n] for n in NODES})
    assert sorted(n for group in found for n in group) == sorted(NODES)
    for group in found:
        expected = {m for m in NODES if m == group[0] or {(group[0], m), (m, group[0])} <= closed}
        assert set(group) == expected
    position = {n: i for i, group in enumerate(found) for n in group}
    assert all(position[b] <= position[a] for a, b in pairs)


def program_of(graph: list[tuple[str, str, bool]]) -> str:
    rules = [f"{a}(x) :- base(x), {'!' if negative else ''}{b}(x)." for a, b, negative in graph]
    return "\n".join(["base(1).", *(f"{n}(x) :- base(x), x > 5." for n in NODES), *rules])


@settings(deadline=None)
@given(edges)
def test_a_program_is_refused_exactly_when_a_negative_edge_lies_on_a_cycle(graph: list[tuple[str, str, bool]]) -> None:
    closed = reachable({(a, b) for a, b, _ in graph})
    unstratified = any(negative and (b == a or (b, a) in closed) for a, b, negative in graph)
    if unstratified:
        with pytest.raises(ProgramError) as caught:
            check(parse(program_of(graph)))
        assert {diagnostic.code for diagnostic in caught.value.diagnostics} == {"E0501"}
    else:
        program = check(parse(program_of(graph)))
        nodes_are_right(program)


def nodes_are_right(program: Program) -> None:
    number = {name: node.index for node in program.nodes for name in node.predicates}
    assert sorted(number) == sorted(program.relations)
    assert [node.index for node in program.nodes] == list(range(len(program.nodes)))
    assert sum(len(node.recursive) + len(node.nonrecursive) for node in program.nodes) == len(program.rules)
    for node in program.nodes:
        rules = (*node.nonrecursive, *node.recursive)
        positive = {number[lit.predicate] for rule in rules for lit in rule.body if isinstance(lit, Atom)}
        negative = {number[lit.predicate] for rule in rules for lit in rule.body if isinstance(lit, Negated)}
        assert set(node.positive) == positive - {node.index}
        assert set(node.negative) == negative | {number[a.source] for a in node.aggregates}
        assert all(index < node.index for index in (*node.positive, *node.negative))
        for rule in rules:
            reads_own = any(isinstance(lit, Atom) and number[lit.predicate] == node.index for lit in rule.body)
            assert (rule in node.recursive) == reads_own


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    names = [f"p{i}" for i in range(20000)]
    found = components(names, {a: [b] for a, b in pairwise(names)})
    assert found[0] == ("p19999",) and len(found) == 20000


PROGRAM = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
lone(x) :- node(x), !path(x, _).
degree(x, n) :- node(x), n = max y : { path(x, y) }.
"""


def test_text_names_everything() -> None:
    text = graph_text(check(parse(PROGRAM)))
    assert "hyper-node 1: path  (recursive)\n  nonrecursive  r1: path(x, y) :- edge(x, y)." in text
    assert "  recursive     r2: path(x, z) :- path(x, y), edge(y, z)." in text
    assert "  reads -       hyper-node 1: path" in text
    assert "degree.max1  (made for an aggregate)" in text


def test_json_is_json() -> None:
    nodes = json.loads(json.dumps(graph_json(check(parse(PROGRAM)))))["nodes"]
    [lone] = [node for node in nodes if node["predicates"] == ["lone"]]
    assert lone["reads"]["negative"] == [1] and not lone["recursive"]
    assert lone["rules"]["nonrecursive"] == [{"name": "r3", "text": "lone(x) :- node(x), !path(x, _)."}]


def test_dot_marks_negative_edges() -> None:
    dot = graph_dot(check(parse(PROGRAM + "'say \"hi\"'(x) :- node(x).")))
    assert dot.count("style=dashed, color") == 2
    assert '\\"hi\\"' in dot


def test_svg_is_well_formed_and_draws_every_node_and_edge() -> None:
    program = check(parse(PROGRAM + "'a<b'(x) :- node(x)."))
    root = ElementTree.fromstring(graph_svg(program))
    space = "{http://www.w3.org/2000/svg}"
    assert len([group for group in root.findall(f"{space}g") if group.get("id")]) == len(program.nodes)
    paths = root.findall(f"{space}path")
    assert len(paths) == sum(len(node.positive) + len(node.negative) for node in program.nodes)
    assert sum(path.get("class") == "negative" for path in paths) == 2


def test_svg_boxes_of_a_layer_do_not_overlap() -> None:
    program = check(parse("\n".join(f"p{i}(x) :- e{i % 7}(x), !f{i % 3}(x)." for i in range(30))))
    rects = [
        tuple(float(rect.get(key, "0")) for key in ("x", "y", "width"))
        for rect in ElementTree.fromstring(graph_svg(program)).iter("{http://www.w3.org/2000/svg}rect")
        if rect.get("class") != "paper"
    ]
    for first, second in product(rects, repeat=2):
        if first is not second and first[1] == second[1] and first[0] <= second[0]:
            assert first[0] + first[2] <= second[0]


def test_svg_edges_pass_beside_the_boxes_of_the_layers_between() -> None:
    program = check(parse("b(x) :- a(x). c(x) :- b(x), a(x). d(x) :- c(x), a(x), !b(x). e(x) :- d(x), a(x)."))
    root = ElementTree.fromstring(graph_svg(program))
    space = "{http://www.w3.org/2000/svg}"
    boxes = [
        [float(rect.get(key, "0")) for key in ("x", "y", "width", "height")]
        for group in root.findall(f"{space}g")
        if group.get("id")
        for rect in group.iter(f"{space}rect")
    ]
    lanes = [
        tuple(map(float, found))
        for path in root.findall(f"{space}path")
        for found in re.findall(r"([\d.]+) ([\d.]+) V ([\d.]+)", path.get("d", ""))
    ]
    assert len(lanes) == 1 + 2 + 3 + 1  # from a to c, d and e, and from b to d
    for x, top, bottom in lanes:
        assert not any(
            left <= x <= left + width and top < y + height and y < bottom for left, y, width, height in boxes
        )


def test_views_of_an_empty_program() -> None:
    program = check(parse(""))
    assert graph_text(program).strip() == "" and "<svg" in graph_svg(program) and "digraph" in graph_dot(program)
