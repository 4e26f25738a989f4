"""Several updates in one pass over limit relations that do not depend on themselves; others are refused by name."""

from __future__ import annotations

from collections import Counter

import pytest

import holdfast
from holdfast import HoldfastError, Update
from holdfast.backends.memory.window import limits

from ..amounts import some
from ..equivalence.mutants import Mutant, broken
from .judged import Judged
from .running import Mismatch
from .wide import wide_script

pytestmark = pytest.mark.only_in_memory("several updates are not one pass elsewhere")

PROGRAM = """
.decl price(item: symbol, shop: symbol, p: number)
.decl shut(shop: symbol)
.decl best(item: symbol, p: number)
.decl dearest(p: number)
.decl named(n: symbol)
best(i, min(p)) :- price(i, s, p), !shut(s).
best(i, min(p + 5)) :- price(i, s, p), shut(s).
dearest(max(p)) :- best(_, p).
named(min(s)) :- price(_, s, p), dearest(p).
"""
FACTS = {"price": [("nut", "a", 3), ("nut", "b", 2), ("bolt", "a", 7)], "best": [("nut", 9), ("pin", 4)]}


def test_each_change_is_that_of_a_single_update() -> None:
    updates = [
        Update(insert={"shut": [("b",)]}),  # the best goes, and comes back later
        Update(delete={"price": [("nut", "a", 3)]}),
        Update(delete={"price": [("nut", "b", 2)]}),  # the explicit fact holds
        Update(delete={"best": [("nut", 9)]}, insert={"price": [("bolt", "c", 7)]}),  # the group is gone
        Update(insert={"price": [("nut", "b", 1)]}, delete={"shut": [("b",)]}),
    ]
    one, other = holdfast.from_text(PROGRAM, FACTS), holdfast.from_text(PROGRAM, FACTS)
    changes = one.apply_all(updates)
    assert changes == [other.apply(update) for update in updates]
    assert [set(change.added.get("best", ())) for change in changes] == [
        {("nut", 3)},
        {("nut", 7)},
        {("nut", 9)},
        set(),
        {("nut", 1)},
    ]
    for name in one.relations:
        assert set(one[name]) == set(other[name])
    [change] = one.apply_all([Update(delete={"best": [("pin", 4)]})])
    assert set(change.removed["best"]) == {("pin", 4)}


def test_a_stream_uses_windows() -> None:
    kb = holdfast.from_text("low(x, min(y)) :- e(x, y).", facts={"e": [(1, 5)]})
    updates = [Update(insert={"e": [(1, 4 - i)]}) for i in range(4)]
    answers = list(kb.stream(updates, lookahead="window"))
    assert max(answer.window for answer in answers) > 1
    assert [set(answer.change.added["low"]) for answer in answers if answer.change] == [{(1, 4 - i)} for i in range(4)]


def test_recursion_through_min_is_refused_by_name() -> None:
    text = "near(1, 0). near(y, min(d + 1)) :- near(x, d), e(x, y). low(min(d)) :- near(_, d)."
    kb = holdfast.from_text(text, facts={"e": [(1, 2)]})
    with pytest.raises(HoldfastError, match=r"E0931.: several updates .* to the recursion of near"):
        kb.apply_all([Update(insert={"e": [(2, 3)]})])
    assert set(kb["near"]) == {(1, 0), (2, 1)}
    assert len(list(kb.stream([Update(insert={"e": [(2, 3)]}), Update(delete={"e": [(1, 2)]})]))) == 2


def run(seed: int) -> Counter[str]:
    """A script without rule changes, and without rules that make limit relations recursive."""
    script = wide_script(seed)
    script.rules = [rule for rule in script.rules if not _reads_a_limit(rule)]
    for step in script.steps:
        step.add.clear()
        step.remove.clear()
    return Judged(script, seed).all()


def _reads_a_limit(rule: str) -> bool:
    """Whether a rule of a limit relation reads one: then it may be recursive."""
    head, body = rule.split(" :- ")
    return head[0] in "tldp" and head[1] == "(" and any(f" {name}(" in f" {body}" for name in "tld")


def test_random_windows_agree_with_the_oracle() -> None:
    met = Counter[str]()
    for seed in range(5_000, 5_000 + some(100)):
        met.update(run(seed))
    assert met["window"] > some(200), dict(met)


MUTANTS = [
    Mutant("changes go unnoticed", limits._Limited._goals, "rows[words != every]", "rows[words == 0]", ""),
    Mutant("explicit facts stay", limits._Limited._explicit, "with_changes(words, ids, *s.E[self._name])", "words", ""),
    Mutant("the worst is the best", limits._Limited._ordered, "~keys if", "keys if", ""),
    Mutant("all states are the first", limits._Limited.best, "(words >> state) & 1", "words & 1", ""),
    Mutant("what goes is never absent", limits._Limited._derived, "I - s.P", "I", "", hint=5_141),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant: Mutant) -> None:
    with broken(mutant), pytest.raises(Mismatch):
        for seed in (mutant.hint or 5_000, *range(5_000, 5_150)):
            run(seed)
