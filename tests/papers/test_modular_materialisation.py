"""Hu, Motik, Horrocks: Modular Materialisation of Datalog Programs (AAAI 2019), examples 1 and 2, sections 5 and 6.

Here the closures are computed by the plain rules; the modules must give the same facts.  What this cannot catch:
how many rule instances were looked at, which is what the examples are about.
"""

from __future__ import annotations

import holdfast

N = 25
TRANSITIVE = "R(x, z) :- R(x, y), R(y, z).\n"
SYMMETRIC = "R(y, x) :- R(x, y).\n"


def chain(first: int, last: int) -> list[tuple[str, str]]:
    return [(f"c{i}", f"c{i + 1}") for i in range(first, last)]


def test_example_1_chain() -> None:
    kb = holdfast.from_text(TRANSITIVE, facts={"R": chain(0, N)})
    assert set(kb["R"]) == {(f"c{i}", f"c{j}") for i in range(N + 1) for j in range(i + 1, N + 1)}


def test_example_1_every_instance_of_rule_1_counts() -> None:
    """R(ci, ck) has one instance of rule (1) for each j between: k - i - 1 of them."""
    kb = holdfast.from_text(TRANSITIVE, facts={"R": chain(0, N)})
    expected = {(f"c{i}", f"c{k}"): (int(k == i + 1), k - i - 1) for i in range(N + 1) for k in range(i + 1, N + 1)}
    assert kb.counters("R") == expected


def test_example_1_linear_rule_4_gives_the_same() -> None:
    linear = "R(x, z) :- X(x, z). R(x, z) :- X(x, y), R(y, z)."
    one = holdfast.from_text(TRANSITIVE, facts={"R": chain(0, N)})
    other = holdfast.from_text(linear, facts={"X": chain(0, N)})
    assert set(one["R"]) == set(other["R"])


def test_example_2_symmetric_transitive_closure() -> None:
    ring = [*chain(1, N), (f"c{N}", "c1")]
    kb = holdfast.from_text(TRANSITIVE + SYMMETRIC, facts={"R": ring})
    assert set(kb["R"]) == {(f"c{i}", f"c{j}") for i in range(1, N + 1) for j in range(1, N + 1)}


def test_section_6_each_component_is_closed_by_itself() -> None:
    parts = chain(0, 4) + [(f"d{i}", f"d{i + 1}") for i in range(3)]
    kb = holdfast.from_text(TRANSITIVE + SYMMETRIC, facts={"R": parts})
    blocks = ([f"c{i}" for i in range(5)], [f"d{i}" for i in range(4)])
    assert set(kb["R"]) == {(u, v) for block in blocks for u in block for v in block}


def test_section_5_other_rules_feed_the_transitive_relation() -> None:
    """External facts that another rule of the same stratum derives take part in the closure."""
    rules = TRANSITIVE + "R(x, y) :- S(x, y), R(y, _)."
    kb = holdfast.from_text(rules, facts={"R": chain(0, 3), "S": [("s", "c1"), ("t", "s"), ("u", "nowhere")]})
    nodes = ["t", "s", "c1", "c2", "c3"]
    expected = {(nodes[i], nodes[j]) for i in range(5) for j in range(i + 1, 5)} | {("c0", f"c{j}") for j in (1, 2, 3)}
    assert set(kb["R"]) == expected
