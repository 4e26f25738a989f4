"""`change.why`: undoing the causes undoes the fact, always; and each cause is a part of the update.

What this cannot catch: causes that are right and longer than a person would name.
"""

from __future__ import annotations

import json
from random import Random

import pytest

import holdfast
from holdfast.errors import HoldfastError, LimitReached, UsageError
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.updates import Causes, Change, Update
from holdfast.values import Row

from ..amounts import amount
from ..equivalence.runs import lanes_of, script_of
from ..equivalence.scripts import fitting

REACH = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."
POLICY = """
may(u, r) :- has(u, g), grant(g, r), !deny(u, r).
rights(u, n) :- has(u, _), n = count : { may(u, _) }.
"""


def moved(change: Change) -> list[tuple[str, Row, bool]]:
    """Each fact of a change, and whether it came."""
    return [
        (name, row, came)
        for came, part in ((True, change.added), (False, change.removed))
        for name, view in part.items()
        for row in sorted(view, key=str)
    ]


def undone(kb: KnowledgeBase, found: Causes, name: str, row: Row) -> bool:
    """Whether taking the causes back takes the fact back."""
    back = kb.what_if(found.undo)
    return row in (back.removed if found.came else back.added).get(name, ())


def judged(kb: KnowledgeBase, change: Change, dice: Random, most: int) -> int:
    """Ask for the causes of some facts of a change that was applied; gives how many."""
    facts = moved(change)
    asked = dice.sample(facts, min(most, len(facts)))
    for name, row, came in asked:
        found = change.why(name, row, seconds=None)
        assert found is not None
        assert found.came == came
        assert found.parts
        assert undone(kb, found, name, row), (name, row, str(found))
        assert json.loads(found.to_json())["causes"]
    return len(asked)


def explained(seed: int, steps: int, most: int) -> int:
    script, dice = script_of(seed), Random(seed)
    try:
        lane = dice.choice(lanes_of(script, seed))
    except HoldfastError:
        return 0
    rules, asked = list(script.rules), 0
    for step in script.steps[:steps]:
        fit = fitting(rules, step)
        update = lane.update(fit, dice)
        try:
            tried = lane.kb.what_if(update)
            before = {fact: tried.why(*fact[:2], seconds=None) for fact in moved(tried)[:1]}
            change = lane.kb.apply(update, algorithm=lane.choice(dice))
        except HoldfastError:
            continue
        for (name, row, came), found in before.items():
            assert found is not None
            assert found.came == came
            assert undone(lane.kb, found, name, row)
        lane.adopt(fit)
        for rule in fit.remove:
            rules.remove(rule)
        rules += fit.add
        asked += judged(lane.kb, change, dice, most)
    return asked


@pytest.mark.parametrize("kind", [1, -1], ids=["rules", "closures"])
def test_undoing_the_causes_undoes_the_fact(kind: int) -> None:
    assert sum(explained(kind * seed, 6, 3) for seed in range(1, 1 + amount(14, 2))) > amount(60, 2)


def test_one_way_and_another() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (4, 5)]})
    change = kb.apply(Update(insert={"edge": [(2, 3), (3, 4), (2, 4), (7, 8)]}))
    found = change.why("path(1, 5)")
    assert found is not None
    assert {str(part) for part in found.parts} == {
        "inserted edge(2, 4)",
        "inserted edge(2, 3)",
        "inserted edge(3, 4)",
    }
    assert "edge(4, 5)  held before" in str(found)
    assert undone(kb, found, "path", (1, 5))


def test_a_fact_that_went() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (2, 3), (3, 4)]})
    change = kb.apply(Update(delete={"edge": [(2, 3)]}, insert={"edge": [(8, 9)]}))
    found = change.why("path", (1, 4))
    assert found is not None
    assert [str(part) for part in found.parts] == ["deleted edge(2, 3)"]
    assert str(found).splitlines()[0] == "path(1, 4) went because the update deleted edge(2, 3)"
    assert "edge(2, 3)  deleted" in str(found)
    assert "edge(3, 4)  still holds" in str(found)


def test_negation_and_counts_lead_from_what_comes_to_what_goes() -> None:
    facts = {"has": [("ada", "staff")], "grant": [("staff", "door")], "deny": [("ada", "door")]}
    kb = holdfast.from_text(POLICY, facts=facts)
    change = kb.apply(Update(delete={"deny": [("ada", "door")]}))
    for fact in ('may("ada", "door")', 'rights("ada", 1)', 'rights("ada", 0)'):
        found = change.why(fact)
        assert found is not None
        assert [str(part) for part in found.parts] == ['deleted deny("ada", "door")'], fact
        assert 'deny("ada", "door")  deleted' in str(found).splitlines(), "found by search, not by trying everything"


def test_rules_are_causes() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (2, 3)]})
    change = kb.apply(Update(add_rules=["path(y, x) :- path(x, y)."], insert={"edge": [(5, 6)]}))
    found = change.why("path(3, 1)")
    assert found is not None
    assert [str(part) for part in found.parts] == ["added r3: path(y, x) :- path(x, y)."]
    assert "by r3, which was added" in str(found)
    change = kb.apply(Update(remove_rules=["r2", "r3"]))
    found = change.why("path(3, 1)")
    assert found is not None
    assert {part.kind for part in found.parts} == {"remove_rule"}
    assert undone(kb, found, "path", (3, 1))


def test_relations_that_rules_bring_and_take() -> None:
    declared = "".join(f".decl {name}(x: number, y: number)\n" for name in ("path", "edge"))
    kb = holdfast.from_text(declared + REACH, facts={"edge": [(1, 2)]})
    added = ".decl far(x: number)\n.decl mark(x: number)\nfar(x) :- path(1, x), mark(x)."
    update = Update(add_rules=[added], insert={"mark": [(2,)]})
    tried = kb.what_if(update).why("far", (2,))
    assert tried is not None
    assert {part.kind for part in tried.parts} == {"add_rule", "insert"}
    change = kb.apply(update)
    assert change.why("far(2)").parts == tried.parts  # type: ignore[union-attr]
    gone = kb.apply(Update(remove_rules=["far(x) :- path(1, x), mark(x)."])).why("far(2)")
    assert gone is not None
    assert [part.kind for part in gone.parts] == ["remove_rule"]


def test_a_limit_relation_is_tried_out() -> None:
    rules = "d(0, min(0)) :- edge(0, _, _).  d(y, min(k + w)) :- d(x, k), edge(x, y, w)."
    kb = holdfast.from_text(rules, facts={"edge": [(0, 1, 4), (1, 2, 1)]})
    change = kb.apply(Update(insert={"edge": [(0, 2, 2), (2, 0, 1), (5, 6, 1)]}))
    found = change.why("d(2, 2)")
    assert found is not None
    assert [str(part) for part in found.parts] == ["inserted edge(0, 2, 2)"]


def test_what_does_not_change_has_no_causes() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2)]})
    change = kb.apply(Update(insert={"edge": [(1, 2), (2, 3)]}))
    assert change.why("path(1, 2)") is None
    assert change.why("path(9, 9)") is None
    assert change.why("edge(2, 3)").parts[0].text == "edge(2, 3)"  # type: ignore[union-attr]


def test_errors() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2), (2, 3)]})
    change = kb.apply(Update(insert={"edge": [(3, 4)]}))
    with pytest.raises(UsageError, match="E0941"):
        change.why("path(1, x)")
    with pytest.raises(UsageError, match="E0901"):
        change.why("way", (1, 2))
    with pytest.raises(LimitReached, match="E0806"):
        change.why("path(1, 4)", seconds=0)
    kb.apply(Update(insert={"edge": [(4, 5)]}))
    with pytest.raises(UsageError, match="E0943"):
        change.why("path(1, 4)")
    with pytest.raises(UsageError, match="E0943"):
        Change({}, {}).why("path(1, 4)")


def test_windows_and_merged_updates() -> None:
    kb = holdfast.from_text(REACH, facts={"edge": [(1, 2)]})
    window = kb.window([Update(insert={"edge": [(2, 3)]}), Update(delete={"edge": [(1, 2)]})])
    first = window.advance()
    assert first is not None
    assert [str(p) for p in first.why("path(1, 3)").parts] == ["inserted edge(2, 3)"]  # type: ignore[union-attr]
    second = window.advance()
    assert second is not None
    assert [str(p) for p in second.why("path(1, 3)").parts] == ["deleted edge(1, 2)"]  # type: ignore[union-attr]
    net = kb.apply_net([Update(insert={"edge": [(3, 4)]}), Update(insert={"edge": [(1, 2)]})])
    assert {str(p) for p in net.why("path(1, 4)").parts} == {  # type: ignore[union-attr]
        "inserted edge(3, 4)",
        "inserted edge(1, 2)",
    }


def test_names_that_are_shared_and_rdf() -> None:
    kb = holdfast.from_text("p(x) :- 'e'(x, y), 'e'(x, y, _).", facts={"e": [(1, 2)]})
    change = kb.apply(Update(insert={"e/3": [(1, 2, 3)]}))
    found = change.why("p(1)")
    assert found is not None
    assert undone(kb, found, "p", (1,))
    rdf = holdfast.from_text("@prefix ex: <http://example.org/> .\nex:p(x, y) :- ex:q(y, x).", facts={})
    ann = holdfast.Iri("http://example.org/ann")
    change = rdf.apply(Update(insert={"ex:q": [(ann, 1.5)]}))
    found = change.why("ex:p", (1.5, ann))
    assert found is not None
    assert undone(rdf, found, "<http://example.org/p>", (1.5, ann))


def test_a_worse_fact_of_a_group_that_went_is_no_cause() -> None:
    """Only a better one would have kept it from coming."""
    rules = """
    dist(0, min(0)) :- road(0, _, _).
    dist(y, min(d + k)) :- dist(x, d), road(x, y, k).
    """
    kb = holdfast.from_text(rules, {"road": [(0, 1, 7), (1, 2, 2), (2, 3, 5)]})
    change = kb.apply(holdfast.Update({"road": [(1, 2, 2)]}, {"road": [(0, 3, 1), (0, 2, 1)]}))
    assert change.removed["dist"] == {(2, 9), (3, 14)}
    came, went = change.why("dist(3, 1)"), change.why("dist(3, 14)")
    assert came is not None and went is not None
    assert list(map(str, came.parts)) == ["inserted road(0, 3, 1)"]
    assert {"deleted road(1, 2, 2)", "inserted road(0, 3, 1)"} <= set(map(str, went.parts))
