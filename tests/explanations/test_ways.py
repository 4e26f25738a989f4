"""All ways to a fact, and its minimal supports, against brute force.

What this cannot catch: supports of programs with negation or aggregates, of which a subset of the facts says little.
"""

from __future__ import annotations

import json
from itertools import combinations
from random import Random

import holdfast
from holdfast.errors import HoldfastError
from holdfast.explanations.terms import fact_text
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.values import Row

from ..amounts import amount
from ..equivalence.scripts import Fact, Script, closure_writer, graph_writer, grouped, random_script
from .test_heights import CLOSED

REACH = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."


def test_all_ways() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (2, 4), (1, 3), (3, 4)], "path": [(1, 4)]})
    ways = kb.why("path(1, 4)", ways="all")
    assert ways is not None
    assert (ways.number, ways.is_complete) == (2, True)
    assert str(ways).splitlines()[0] == "path(1, 4)  given, in 2 ways:"
    assert "  r2: path(1, 2), edge(2, 4)" in str(ways)
    assert {step["conclusion"] for step in json.loads(ways.to_json())["inferences"]} >= {"path(1, 4)", "edge(1, 2)"}
    assert ways.to_dot().count('label="r2"') == 2
    assert kb.why("path(4, 1)", ways="all") is None


def test_ways_that_are_left_out_are_counted() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(0, n) for n in range(1, 50)] + [(n, 99) for n in range(1, 50)]})
    ways = kb.why("path(0, 99)", ways="all", limit=8)
    assert ways is not None
    assert (ways.number, ways.is_complete) == (49, False)
    assert "… and 41 more ways" in str(ways)


def test_every_way_of_a_large_closure_is_listed() -> None:
    rules = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), path(y, z)."
    kb = holdfast.from_text(rules, facts={"edge": [(n, n + 1) for n in range(80)]})
    ways = kb.why("path(0, 80)", ways="all")
    assert ways is not None
    assert ways.number == 79


def test_supports() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (2, 4), (1, 3), (3, 4), (1, 4)]})
    found = kb.supports("path(1, 4)")
    assert found is not None
    assert [support.facts for support in found] == [
        ("edge(1, 4)",),
        ("edge(1, 2)", "edge(2, 4)"),
        ("edge(1, 3)", "edge(3, 4)"),
    ]
    assert found.is_complete
    assert kb.supports("path(1, 4)", rules=True)[0].rules == ("r1",)  # type: ignore[index]
    assert json.loads(found.to_json())["supports"][0] == {"facts": ["edge(1, 4)"]}
    assert not kb.supports("path(1, 4)", limit=2).is_complete  # type: ignore[union-attr]
    assert kb.supports("path(4, 1)") is None


def test_a_fact_may_follow_from_nothing() -> None:
    kb = holdfast.from_text("p(1) :- !q(2).  q(x) :- r(x).", facts={"r": [(1,)]})
    found = kb.supports("p(1)")
    assert found is not None
    assert [support.facts for support in found] == [()]
    assert str(found) == "1. nothing"


Made = dict[frozenset[Fact], KnowledgeBase]


def by_brute_force(text: str, given: list[Fact], name: str, row: Row, made: Made) -> set[frozenset[str]]:
    """All smallest-by-inclusion subsets of the facts from which a fact follows; `made` has what was evaluated."""
    found: list[frozenset[Fact]] = []
    for size in range(len(given) + 1):
        for some in map(frozenset, combinations(given, size)):
            if any(smaller <= some for smaller in found):
                continue
            if some not in made:
                made[some] = holdfast.from_text(text, facts=grouped(list(some)))
            if row in made[some][name]:
                found.append(some)
    return {frozenset(fact_text(fact) for fact in some) for some in found}


def small(script: Script) -> tuple[str, list[Fact], KnowledgeBase] | None:
    """A script's program without negation and aggregates, with a few of its facts."""
    text = script.text([rule for rule in map(str, script.rules) if not CLOSED.search(rule)])
    given = list(dict.fromkeys(script.facts))[:6]
    try:
        return text, given, holdfast.from_text(text, facts=grouped(given))
    except HoldfastError:
        return None


def test_supports_equal_brute_force() -> None:
    compared, several, seed = 0, 0, 0
    while compared < amount(40, 0):
        seed += 1
        dice = Random(seed)
        writer = (closure_writer if seed % 2 else graph_writer)(dice)
        writer.domains["number"] = list(range(3))
        found = small(random_script(dice, writer=writer, most_facts=(12,)))
        if found is None:
            continue
        text, given, kb = found
        made: Made = {}
        facts = [(name, row) for name in kb.relations for row in sorted(kb[name]) if (name, row) not in given]
        for name, row in dice.sample(facts, min(2, len(facts))):
            supports = kb.supports(fact_text((name, row)), limit=None, seconds=None)
            assert supports is not None
            assert supports.is_complete
            assert {frozenset(each.facts) for each in supports} == by_brute_force(text, given, name, row, made), (
                seed,
                name,
            )
            compared += 1
            several += len(supports) > 1
    assert several >= amount(5, 0)
