"""`python -m bench.mistakes`: how often why-not names a seeded mistake because of which a fact does not hold.

A mistake is a fact that was left out, a value that is misspelt, or a denial too many.  An answer is a rule that fails:
the fact that it misses, the nearest facts, or the fact that should not be there.
"""

from __future__ import annotations

import json
import sys
from itertools import count, islice
from random import Random

import holdfast
from holdfast.explanations.absence import Absence, Obstacle
from holdfast.explanations.matching import fits
from holdfast.explanations.proof import fact_text
from holdfast.values import Row

RULES = """
.decl has_role(user: symbol, role: symbol)
.decl inherits(role: symbol, from_role: symbol)
.decl grant(role: symbol, action: symbol, resource: symbol)
.decl part_of(resource: symbol, whole: symbol)
.decl deny(user: symbol, resource: symbol)
.decl acts_as(user: symbol, role: symbol)
.decl covers(role: symbol, action: symbol, resource: symbol)
.decl may(user: symbol, action: symbol, resource: symbol)
acts_as(u, r) :- has_role(u, r).
acts_as(u, s) :- acts_as(u, r), inherits(r, s).
covers(g, a, r) :- grant(g, a, r).
covers(g, a, r) :- covers(g, a, w), part_of(r, w).
may(u, a, r) :- acts_as(u, g), covers(g, a, r), !deny(u, r).
"""
Facts = dict[str, list[Row]]
MISTAKES = 60


def organisation(dice: Random) -> Facts:
    users, roles = [f"user{n}" for n in range(12)], [f"role{n}" for n in range(8)]
    things, actions = [f"thing{n}" for n in range(10)], ["read", "write", "print"]
    return {
        "has_role": [(user, dice.choice(roles)) for user in users],
        "inherits": [(roles[n], roles[dice.randrange(n)]) for n in range(1, 8)],
        "grant": [(dice.choice(roles), dice.choice(actions), dice.choice(things)) for _ in range(12)],
        "part_of": [(things[n], things[dice.randrange(n)]) for n in range(1, 10)],
        "deny": [(dice.choice(users), dice.choice(things)) for _ in range(3)],
    }


def spoilt(facts: Facts, proof: holdfast.Proof, dice: Random) -> tuple[Facts, str, Row]:
    """The facts with one mistake in what a proof rests on, the relation, and the fact that is wrong or missing."""
    (_, user, _), given = proof.conclusion[1], list(proof.facts)
    if dice.random() < 0.2:
        fact = (user, proof.conclusion[1][2])
        return {**facts, "deny": [*facts["deny"], fact]}, "deny", fact
    text = dice.choice(given)
    name = text.partition("(")[0]
    row = next(row for row in facts[name] if fact_text((name, row)) == text)
    others = [other for other in facts[name] if other != row]
    if dice.random() < 0.5:
        return {**facts, name: others}, name, row
    place = dice.randrange(len(row))
    wrong = (*row[:place], f"{str(row[place])[:-1]}x{str(row[place])[-1]}", *row[place + 1 :])
    return {**facts, name: [*others, wrong]}, name, wrong


def names(answer: Obstacle, name: str, row: Row) -> bool:
    """Whether an answer names a fact."""
    text = fact_text((name, row))
    missing = answer.missing is not None and answer.missing[0] == name and fits(row, answer.missing[1])
    return missing or text in answer.nearest or text in answer.fails


def first_answers(absence: Absence) -> list[Obstacle]:
    return list(islice((each for answers in absence.obstacles.values() for each in answers), 3))


def mistaken(seed: int) -> tuple[str, Absence, Row] | None:
    """A relation with a mistake, why something does not hold because of it, and the fact; None if nothing is lost."""
    dice = Random(seed)
    facts = organisation(dice)
    kb = holdfast.from_text(RULES, facts=facts)  # type: ignore[arg-type]
    goal = dice.choice(sorted(kb["may"]) or [("", "", "")])
    proof = kb.why(fact_text(("may", goal)))
    if proof is None:
        return None
    wrong, name, row = spoilt(facts, proof, dice)
    absence = holdfast.from_text(RULES, facts=wrong).why_not(fact_text(("may", goal)))  # type: ignore[arg-type]
    return None if absence is None else (name, absence, row)


def main() -> int:
    """Count the mistakes that the first three answers name, and those that any answer names."""
    cases = list(islice(filter(None, map(mistaken, count(1))), MISTAKES))
    first = sum(any(names(answer, name, row) for answer in first_answers(a)) for name, a, row in cases)
    ever = sum(any(names(o, name, row) for found in a.obstacles.values() for o in found) for name, a, row in cases)
    print(json.dumps({"mistakes": len(cases), "named by the first three answers": first, "named at all": ever}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
