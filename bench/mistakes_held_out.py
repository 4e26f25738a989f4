"""`python -m bench.mistakes_held_out`: seeded mistakes in programs on which the ranking of likely causes was not tuned.

Three programs, 20 mistakes each, kinds in turn: facts left out, misspelt as typists do, in swapped columns, with
another value, with a number that fails a comparison, and facts too many that a negation finds.  An answer names a
mistake strictly if it names the wrong fact, or the missing one where one was left out, or the comparison that fails
because of it; leniently, also if it names the fact that should be there.  Do not tune on these: add another set.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from random import Random
from typing import Any, NamedTuple

import holdfast
from bench.mistakes import ANSWERS, Facts, chosen, names
from holdfast.explanations.absence import Absence
from holdfast.explanations.suspects import Suspect
from holdfast.explanations.terms import fact_text
from holdfast.values import Row

EACH, FIRST_SEED = 20, 7_000


class Domain(NamedTuple):
    """A program with facts, and what may go wrong in it."""

    rules: str
    goal: str
    facts: Callable[[Random], Facts]
    too_many: Callable[[Row], tuple[str, Row]]  # a fact that forbids a goal
    number: tuple[str, int, Callable[[int], int], str]  # relation, column, what makes it fail, the comparison


def courses(dice: Random) -> Facts:
    students, topics = [f"s{n:03}" for n in range(15)], ["algebra", "logic", "optics", "botany", "harmony", "rhetoric"]
    years = {student: dice.randint(1, 4) for student in students}
    return {
        "student": list(years.items()),
        "passed": [(s, t) for s in students for t in dice.sample(topics[:4], dice.randint(1, 3))],
        "requires": [("optics", "algebra"), ("harmony", "logic"), ("rhetoric", "logic"), ("rhetoric", "botany")],
        "level": [(topic, dice.randint(1, 3)) for topic in topics],
        "closed": [(dice.choice(topics),)],
    }


COURSES = Domain(
    """
    .decl student(name: symbol, year: number)
    .decl passed(name: symbol, topic: symbol)
    .decl requires(topic: symbol, first: symbol)
    .decl level(topic: symbol, year: number)
    .decl closed(topic: symbol)
    .decl lacks(name: symbol, topic: symbol)
    .decl enrols(name: symbol, topic: symbol)
    lacks(s, t) :- student(s, _), requires(t, d), !passed(s, d).
    enrols(s, t) :- student(s, y), level(t, l), y >= l, !lacks(s, t), !closed(t), !passed(s, t).
    """,
    "enrols",
    courses,
    lambda row: ("closed", (row[1],)),
    ("student", 1, lambda year: 0, "y >= l"),
)


def deliveries(dice: Random) -> Facts:
    towns = ["Bergen", "Dale", "Evje", "Florø", "Gol", "Hamar", "Lom", "Moss", "Odda", "Rena"]
    goods = ["salt", "rope", "paint", "glass"]
    roads = [(towns[dice.randrange(n)], towns[n], dice.randint(20, 90)) for n in range(1, len(towns))]
    return {
        "depot": [(towns[0],), (towns[dice.randrange(1, 4)],)],
        "road": roads,
        "blocked": [tuple(dice.choice(roads)[:2])],
        "stock": [(dice.choice(towns[:4]), good, dice.randint(3, 40)) for good in goods for _ in range(2)],
        "order": [(dice.choice(towns), dice.choice(goods)) for _ in range(9)],
    }


DELIVERIES = Domain(
    """
    .decl depot(town: symbol)
    .decl road(a: symbol, b: symbol, km: number)
    .decl blocked(a: symbol, b: symbol)
    .decl stock(town: symbol, good: symbol, n: number)
    .decl order(town: symbol, good: symbol)
    .decl reaches(town: symbol, other: symbol)
    .decl served(town: symbol, good: symbol)
    reaches(d, d) :- depot(d).
    reaches(d, b) :- reaches(d, a), road(a, b, _), !blocked(a, b).
    served(t, g) :- order(t, g), reaches(d, t), stock(d, g, n), n > 2.
    """,
    "served",
    deliveries,
    lambda row: ("blocked", ("", "")),  # chosen from the proof: see `too_many`
    ("stock", 2, lambda n: n % 3, "n > 2"),
)


def packages(dice: Random) -> Facts:
    names = ["ansi", "bolt", "curl", "dhcp", "ecos", "fuse", "gzip", "html"]
    return {
        "depends": [(names[n], names[dice.randrange(n)]) for n in range(1, 8) for _ in range(1 + (n > 4))],
        "released": [(name, dice.randint(2, 9), dice.choice(["mit", "gpl", "bsd"])) for name in names],
        "wants": [(f"host{n}", dice.choice(names[3:])) for n in range(6)],
        "allows": [(f"host{n}", licence) for n in range(6) for licence in dice.sample(["mit", "gpl", "bsd"], 2)],
        "banned": [(f"host{dice.randrange(6)}", dice.choice(names))],
    }


PACKAGES = Domain(
    """
    .decl depends(name: symbol, on: symbol)
    .decl released(name: symbol, version: number, licence: symbol)
    .decl wants(host: symbol, name: symbol)
    .decl allows(host: symbol, licence: symbol)
    .decl banned(host: symbol, name: symbol)
    .decl needs(host: symbol, name: symbol)
    .decl installs(host: symbol, name: symbol)
    needs(h, p) :- wants(h, p).
    needs(h, q) :- needs(h, p), depends(p, q).
    installs(h, p) :- needs(h, p), released(p, v, l), v >= 2, allows(h, l), !banned(h, p).
    """,
    "installs",
    packages,
    lambda row: ("banned", row),
    ("released", 1, lambda version: -version, "v >= 2"),
)
DOMAINS = {"courses": COURSES, "deliveries": DELIVERIES, "packages": PACKAGES}


class Spoilt(NamedTuple):
    """Facts with a mistake: the fact that is wrong or missing, what it should be, the comparison that it fails."""

    kind: str
    facts: Facts
    name: str
    wrong: Row
    right: Row | None = None
    condition: str = ""
    rules: str = ""  # if the mistake is in the rules


def left_out(domain: Domain, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt:
    name, row, others = chosen(facts, list(proof.facts), dice)
    return Spoilt("left out", {**facts, name: others}, name, row)


def misspelt(domain: Domain, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, row, others = chosen(facts, list(proof.facts), dice)
    words = [place for place, value in enumerate(row) if isinstance(value, str) and len(value) > 2]
    if not words:
        return None
    place = dice.choice(words)
    wrong = (*row[:place], _mistyped(str(row[place]), dice), *row[place + 1 :])
    return Spoilt("misspelt", {**facts, name: [*others, wrong]}, name, wrong, row)


def _mistyped(word: str, dice: Random) -> str:
    """A letter left out, doubled, or exchanged with the next; or another case."""
    at = dice.randrange(len(word) - 1)
    ways = (
        word[:at] + word[at + 1 :],
        word[: at + 1] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word.swapcase(),
    )
    return dice.choice([way for way in ways if way != word])


def swapped(domain: Domain, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, row, others = chosen(facts, list(proof.facts), dice)
    if len(row) < 2 or not isinstance(row[0], str) or not isinstance(row[1], str):
        return None
    wrong = (row[1], row[0], *row[2:])
    return Spoilt("swapped", {**facts, name: [*others, wrong]}, name, wrong, row)


def other_value(domain: Domain, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, row, others = chosen(facts, list(proof.facts), dice)
    place = dice.randrange(len(row))
    values = sorted({other[place] for other in others} - {row[place]}, key=str)
    if not values or not isinstance(row[place], str):
        return None
    wrong = (*row[:place], dice.choice(values), *row[place + 1 :])
    return Spoilt("other value", {**facts, name: [*others, wrong]}, name, wrong, row)


def wrong_number(domain: Domain, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, place, change, condition = domain.number
    given = [fact for fact in proof.facts if fact.startswith(f"{name}(")]
    if not given:
        return None
    _, row, others = chosen(facts, given, dice)
    wrong = (*row[:place], change(int(row[place])), *row[place + 1 :])  # type: ignore[call-overload]
    return Spoilt("wrong number", {**facts, name: [*others, wrong]}, name, wrong, row, condition)


def too_many(domain: Domain, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, row = domain.too_many(proof.conclusion[1])
    if "" in row:
        roads = [each for each in facts["road"] if fact_text(("road", each)) in proof.facts]
        if not roads:
            return None
        row = tuple(dice.choice(roads)[:2])
    return Spoilt("too many", {**facts, name: [*facts[name], row]}, name, row)


KINDS = (left_out, misspelt, swapped, other_value, wrong_number, too_many)


class HeldOut(NamedTuple):
    """A mistake, and the answer to why something does not hold because of it."""

    domain: str
    seed: int
    spoilt: Spoilt
    absence: Absence

    def is_named(self, answers: int, *, lenient: bool = False) -> bool:
        """Whether one of the first answers names the mistake."""
        return any(self._names(answer, lenient) for answer in self.absence.suspects[:answers])

    def _names(self, answer: Suspect, lenient: bool) -> bool:
        spoilt = self.spoilt
        if answer.kind == "fails":
            return bool(spoilt.condition) and spoilt.condition in answer.text
        also = lenient and spoilt.right is not None and names(answer, spoilt.name, spoilt.right)
        return also or names(answer, spoilt.name, spoilt.wrong)


def cases(name: str, number: int = EACH) -> Iterator[HeldOut]:
    """So many mistakes of one program."""
    return drawn(name, DOMAINS[name], KINDS, FIRST_SEED, number)


def drawn(
    name: str,
    domain: Any,
    kinds: Sequence[Callable[[Any, Facts, holdfast.Proof, Random], Spoilt | None]],
    first: int,
    number: int,
) -> Iterator[HeldOut]:
    """So many mistakes of one program, kinds in turn; not every kind is possible in every program."""
    found = 0
    for seed in count(first):
        if found == number:
            return
        dice = Random(f"{name} {seed}")
        facts = domain.facts(dice)
        kb = holdfast.from_text(domain.rules, facts=facts)
        goals = sorted(kb[domain.goal], key=str)
        proof = kb.why(fact_text((domain.goal, dice.choice(goals)))) if goals else None
        spoilt = kinds[seed % len(kinds)](domain, facts, proof, dice) if proof is not None else None
        if spoilt is None or proof is None:
            continue
        absence = holdfast.from_text(spoilt.rules or domain.rules, facts=spoilt.facts).why_not(  # type: ignore[arg-type]
            fact_text(proof.conclusion)
        )
        if absence is not None:
            found += 1
            yield HeldOut(name, seed, spoilt, absence)


def report(found: Sequence[HeldOut]) -> int:
    """Count the mistakes that the first answers name; `-v` shows those that three do not."""
    for kind in ("all", *dict.fromkeys(case.spoilt.kind for case in found), *dict.fromkeys(c.domain for c in found)):
        some = [case for case in found if kind in ("all", case.spoilt.kind, case.domain)]
        strict = {f"named by the first {n}": sum(case.is_named(n) for case in some) for n in (1, ANSWERS)}
        lenient = {f"leniently, {ANSWERS}": sum(case.is_named(ANSWERS, lenient=True) for case in some)}
        print(json.dumps({"kind": kind, "mistakes": len(some), **strict, **lenient}))
    for case in found if "-v" in sys.argv else ():
        if not case.is_named(ANSWERS):
            shown = fact_text((case.spoilt.name, case.spoilt.wrong))
            print(f"{case.domain}, seed {case.seed}, {case.spoilt.kind} {shown}\n{case.absence}\n")
    return 0


if __name__ == "__main__":
    sys.exit(report([case for name in DOMAINS for case in cases(name)]))
