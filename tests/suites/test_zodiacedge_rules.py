"""ZodiacEdge's rule sets 1 to 3 under rule changes: every single rule and every two rules, out and in again.

The data are chains of the same form as DS1 and DS2, only shorter.  After each update state and counters equal
from-scratch evaluation of the rules that are left.  What this cannot catch: rule sets of another form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import combinations

import pytest

import holdfast
from holdfast.maintenance.algorithms import STRATEGIES, Choice
from holdfast.updates import Update
from holdfast.values import Row

from ..amounts import amount
from .shared_data import DATA, needs_shared_data
from .streams import OTHERS

pytestmark = needs_shared_data
RULE_SETS = ("rs1", "rs2", "rs3")
WIDTH = 4
PARTS = 3  # of the changes of rules; two of them only among what is slow
Facts = dict[str, list[Row]]
State = dict[str, tuple[set[Row], dict[Row, tuple[int, int]]]]


@cache
def rules_of(rule_set: str) -> tuple[str, ...]:
    text = (DATA / "zodiacedge" / "rules" / f"{rule_set}.dl").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("%"))


def chain(first: int, length: int = WIDTH) -> list[Row]:
    return [(f"t{i}", f"t{i + 1}") for i in range(first, first + length)]


def facts_of(rule_set: str) -> Facts:
    if rule_set == "rs1":
        warm = [(f"t{i}", 40 if i == 2 else 25) for i in range(8)]
        return {"hasNeighbour": chain(0, 7), "hasAirTemperatureMesurement": warm}
    chains = {f"p{k + 1}": chain(k * WIDTH) for k in range(3)}  # no rule reads p4
    return chains | {"p5": [(f"t{WIDTH}", f"t{WIDTH + 2}")]}


def from_scratch(rules: Sequence[str], facts: Facts) -> State:
    text = "\n".join(rules)
    mentioned = {name: rows for name, rows in facts.items() if re.search(rf"\b{name}\(", text)}
    return state(holdfast.from_text(text, facts=mentioned))


def state(kb: holdfast.KnowledgeBase) -> State:
    return {name: (set(rows), kb.counters(name)) for name, rows in kb.relations.items()}


def agree(kb: holdfast.KnowledgeBase, expected: State, facts: Facts) -> None:
    """Relations that no rule mentions any more have their explicit facts and nothing else."""
    found = state(kb)
    assert {name: found.get(name) for name in expected} == expected
    assert {name: rows for name, (rows, _) in found.items() if name not in expected} == {
        name: set(rows) for name, rows in facts.items() if name not in expected
    }


def changes(rule_set: str) -> list[tuple[str, ...]]:
    rules = rules_of(rule_set)
    return [*((rule,) for rule in rules), *combinations(rules, 2)]


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))])
@pytest.mark.parametrize("rule_set", RULE_SETS)
def test_every_rule_and_every_two_out_and_in_again(rule_set: str, part: int) -> None:
    rules, facts = rules_of(rule_set), facts_of(rule_set)
    whole, kb = from_scratch(rules, facts), holdfast.from_text("\n".join(rules), facts=facts)
    for number, some in enumerate(changes(rule_set)[part :: amount(PARTS, 50)]):
        choice = Choice(("auto", *OTHERS)[number % 6], strategy=STRATEGIES[number // 6 % 2])
        kb.apply(Update(remove_rules=some), algorithm=choice)
        agree(kb, from_scratch([rule for rule in rules if rule not in some], facts), facts)
        kb.apply(Update(add_rules=some[::-1]), algorithm=choice)
        agree(kb, whole, facts)


@pytest.mark.parametrize("rule_set", RULE_SETS)
def test_one_rule_for_another_and_a_fact_in_one_update(rule_set: str) -> None:
    """Each rule goes while the one before it comes back, together with a fact that goes and one that comes back."""
    rules, facts = rules_of(rule_set), facts_of(rule_set)
    kb = holdfast.from_text("\n".join(rules), facts=facts)
    moving = [(name, row) for name, rows in facts.items() for row in rows]
    missing, out = None, None
    for number, rule in enumerate(rules[: amount(len(rules), 2)]):
        name, row = moving[number * 7 % len(moving)]
        if (name, row) == out:
            name, row = moving[0]
        update = Update({name: [row]}, {out[0]: [out[1]]} if out else {}, [missing] if missing else [], [rule])
        kb.apply(update, algorithm=("auto", *OTHERS)[number % 6])
        missing, out = rule, (name, row)
        left = {n: [r for r in rows if (n, r) != out] for n, rows in facts.items()}
        agree(kb, from_scratch([other for other in rules if other != rule], left), left)


def test_there_are_as_many_changes_as_there_should_be() -> None:
    assert [len(changes(rule_set)) for rule_set in RULE_SETS] == [6 + 15, 18 + 153, 18 + 153]
