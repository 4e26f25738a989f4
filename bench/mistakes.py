"""`python -m bench.mistakes`: how often why-not names a seeded mistake because of which a fact does not hold.

The first 60 mistakes are facts that were left out, values that are misspelt, and denials too many; 60 more are values
in the wrong columns, other values that occur elsewhere, and a rule that asks too much.  An answer is a likely cause:
the facts that it misses, those that it finds wrong, or the condition that fails.  A pattern names what fits it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import count, islice
from random import Random
from statistics import mean
from typing import NamedTuple

import holdfast
from holdfast.explanations.absence import Absence
from holdfast.explanations.matching import fits
from holdfast.explanations.suspects import Suspect
from holdfast.explanations.terms import fact_text
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
MISTAKES, ANSWERS = 60, 3
ACTIONS = ["read", "write", "print"]


def organisation(dice: Random) -> Facts:
    users, roles = [f"user{n}" for n in range(12)], [f"role{n}" for n in range(8)]
    things, actions = [f"thing{n}" for n in range(10)], ACTIONS
    return {
        "has_role": [(user, dice.choice(roles)) for user in users],
        "inherits": [(roles[n], roles[dice.randrange(n)]) for n in range(1, 8)],
        "grant": [(dice.choice(roles), dice.choice(actions), dice.choice(things)) for _ in range(12)],
        "part_of": [(things[n], things[dice.randrange(n)]) for n in range(1, 10)],
        "deny": [(dice.choice(users), dice.choice(things)) for _ in range(3)],
    }


Mistake = tuple[str, str, Facts, str, Row]
"""Its kind, the rules and the facts with it, and the relation and the fact that is wrong or missing."""


def spoilt(facts: Facts, proof: holdfast.Proof, dice: Random) -> Mistake:
    """One mistake in what a proof rests on."""
    (user, _, thing), given = proof.conclusion[1], list(proof.facts)
    if dice.random() < 0.2:
        fact = (user, thing)
        return "denied", RULES, {**facts, "deny": [*facts["deny"], fact]}, "deny", fact
    name, row, others = chosen(facts, given, dice)
    if dice.random() < 0.5:
        return "left out", RULES, {**facts, name: others}, name, row
    place = dice.randrange(len(row))
    wrong = (*row[:place], f"{str(row[place])[:-1]}x{str(row[place])[-1]}", *row[place + 1 :])
    return "misspelt", RULES, {**facts, name: [*others, wrong]}, name, wrong


def spoilt_otherwise(facts: Facts, proof: holdfast.Proof, dice: Random) -> Mistake:
    """One mistake of another kind."""
    name, row, others = chosen(facts, list(proof.facts), dice)
    kind = dice.choice(("swapped", "other value", "rule"))
    if kind == "rule":
        asked = proof.conclusion[1][1]
        other = dice.choice([action for action in ACTIONS if action != asked])
        return kind, RULES.replace("!deny(u, r).", f'!deny(u, r), a = "{other}".'), facts, "a = ", (other,)
    if kind == "swapped":
        wrong: Row = (*row[:-2], row[-1], row[-2])
    else:
        place = dice.randrange(len(row))
        values = sorted({other[place] for other in others} - {row[place]}, key=str)
        wrong = (*row[:place], dice.choice(values), *row[place + 1 :])
    return kind, RULES, {**facts, name: [*others, wrong]}, name, wrong


def chosen(facts: Facts, given: list[str], dice: Random) -> tuple[str, Row, list[Row]]:
    """A fact, and the others of its relation."""
    text = dice.choice(given)
    name = text.partition("(")[0]
    row = next(row for row in facts[name] if fact_text((name, row)) == text)
    return name, row, [other for other in facts[name] if other != row]


def names(answer: Suspect, name: str, row: Row) -> bool:
    """Whether an answer names a fact, or the condition of a rule."""
    if answer.kind == "fails":
        return f'{name}"{row[0]}"' in answer.text
    missing = any(relation == name and fits(row, pattern) for relation, pattern in answer.missing)
    return missing or (name, row) in answer.there


def mistaken(seed: int, spoil: Callable[[Facts, holdfast.Proof, Random], Mistake]) -> Case | None:
    """A mistake because of which something does not hold; None if nothing is lost."""
    dice = Random(seed)
    facts = organisation(dice)
    kb = holdfast.from_text(RULES, facts=facts)  # type: ignore[arg-type]
    goal = dice.choice(sorted(kb["may"]) or [("", "", "")])
    proof = kb.why(fact_text(("may", goal)))
    if proof is None:
        return None
    kind, rules, wrong, name, row = spoil(facts, proof, dice)
    absence = holdfast.from_text(rules, facts=wrong).why_not(fact_text(("may", goal)))  # type: ignore[arg-type]
    return None if absence is None else Case(seed, kind, absence, name, row)


class Case(NamedTuple):
    """A mistake, and the answer to why something does not hold because of it."""

    seed: int
    kind: str
    absence: Absence
    name: str
    row: Row

    def is_named(self, answers: int) -> bool:
        """Whether the first answers name the mistake."""
        return any(names(answer, self.name, self.row) for answer in self.absence.suspects[:answers])


def measured(spoil: Callable[[Facts, holdfast.Proof, Random], Mistake], number: int = MISTAKES) -> list[Case]:
    """So many mistakes."""
    return list(islice(filter(None, (mistaken(seed, spoil) for seed in count(1))), number))


def main() -> int:
    """For each kind of mistake count those that the first answers name; `-v` shows those that three do not."""
    for spoil in (spoilt, spoilt_otherwise):
        cases = measured(spoil)
        for kind in ("all", *sorted({case.kind for case in cases})):
            some = [case for case in cases if kind in ("all", case.kind)]
            found = {f"named by the first {n}": sum(case.is_named(n) for case in some) for n in (1, 3)}
            sizes = [len(each.missing) + len(each.there) for case in some for each in case.absence.suspects[:ANSWERS]]
            facts = {"facts in an answer": round(mean(sizes), 1)}
            print(json.dumps({"kind": kind, "mistakes": len(some), **found, **facts}))
        for case in cases if "-v" in sys.argv else ():
            if not case.is_named(ANSWERS):
                print(f"seed {case.seed}, {case.kind} {fact_text((case.name, case.row))}\n{case.absence}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
