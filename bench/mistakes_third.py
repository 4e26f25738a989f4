"""`python -m bench.mistakes_third`: a third set of seeded mistakes, of other kinds, in other programs and data.

Three programs (with sums of time, an aggregate, IRIs), 20 mistakes each, kinds in turn: a value written in another way
(a space, another dash, other cases), a number with a digit lost or two exchanged, a value of the next row, all facts of
one thing lost, a rule that asks too much, a rule with its columns exchanged, and a fact because of which a fact that
forbids the goal is derived.  A mistake is named if the wrong fact is, or one of those that were lost, or the condition
that is wrong.  The seeds were fixed before the first run.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from random import Random
from typing import NamedTuple

import holdfast
from bench.mistakes import Facts, chosen
from bench.mistakes_held_out import Spoilt, drawn, report
from holdfast.explanations.terms import fact_text
from holdfast.values import Iri, Row

EACH, FIRST_SEED = 20, 11_000
EX = "http://example.org/"


class Programme(NamedTuple):
    """A program with facts, and what may go wrong in its rules."""

    rules: str
    goal: str
    facts: Callable[[Random], Facts]
    stricter: tuple[tuple[str, str, str], ...]  # in a rule, what takes its place, and the condition that fails then
    exchanged: tuple[tuple[str, str], ...]  # atoms, and the same with exchanged columns
    forbids: Callable[[Row, Facts, Random], tuple[str, Row] | None]  # a fact from which a goal's prohibition follows


# --- a clinic: an aggregate, ages, allergies by way of ingredients -------------------------------------


def clinic(dice: Random) -> Facts:
    people = [f"{first} {last}" for first in ("Ada", "Bo", "Cy", "Di") for last in ("Berg-Lie", "Dahl", "Moe")]
    drugs = {"penicillin": "beta-lactam", "amoxil": "beta-lactam", "aspirin": "salicylate", "insulin": "peptide"}
    doses = [
        (p, f"2026-0{dice.randint(1, 9)}-1{dice.randint(0, 9)}") for p in people for _ in range(dice.randint(1, 4))
    ]
    return {
        "born": [(person, dice.randint(1930, 2015)) for person in people],
        "made_of": list(drugs.items()),
        "prescribed": [(p, d) for p in people for d in dice.sample(sorted(drugs), dice.randint(1, 2))],
        "allergic": [(dice.choice(people), dice.choice(sorted(drugs.values()))) for _ in range(2)],
        "dose": sorted(set(doses)),
        "ward": [(person, dice.choice(["north", "south"])) for person in people],
        "pharmacy": [("north", "apotek-1"), ("south", "apotek-2")],
    }


def _allergy(goal: Row, facts: Facts, dice: Random) -> tuple[str, Row] | None:
    found = [inside for drug, inside in facts["made_of"] if drug == goal[1]]  # type: ignore[misc]
    return ("allergic", (goal[0], found[0])) if found else None


CLINIC = Programme(
    """
    .decl born(person: symbol, year: number)
    .decl made_of(drug: symbol, kind: symbol)
    .decl prescribed(person: symbol, drug: symbol)
    .decl allergic(person: symbol, kind: symbol)
    .decl dose(person: symbol, day: symbol)
    .decl ward(person: symbol, ward: symbol)
    .decl pharmacy(ward: symbol, name: symbol)
    .decl doses(person: symbol, n: number)
    .decl unsafe(person: symbol, drug: symbol)
    .decl hands_out(person: symbol, drug: symbol, name: symbol)
    doses(p, n) :- born(p, _), n = count : { dose(p, _) }.
    unsafe(p, d) :- allergic(p, c), made_of(d, c).
    hands_out(p, d, a) :- prescribed(p, d), born(p, y), 2026 - y >= 18, doses(p, n), n >= 2,
        ward(p, w), pharmacy(w, a), made_of(d, _), !unsafe(p, d).
    """,
    "hands_out",
    clinic,
    (("2026 - y >= 18", "2026 - y >= 118", ">= 118"), ("n >= 2", "n > 4", "n > 4")),
    (
        ("ward(p, w), pharmacy(w, a)", "ward(p, w), pharmacy(a, w)"),
        ("prescribed(p, d), born", "prescribed(d, p), born"),
    ),
    _allergy,
)

# --- a timetable: times along a recursion ---------------------------------------------------------------


def timetable(dice: Random) -> Facts:
    stops = ["Ås", "Ski", "Moss", "Oslo S", "Lysaker", "Asker", "Drammen", "Kongsberg"]
    runs: list[Row] = []
    for line in ("L2", "R10", "RE11", "F4"):
        at, minute = dice.randrange(3), dice.randint(360, 420)
        for place in range(at, dice.randint(at + 3, len(stops) - 1)):
            ride = dice.randint(6, 25)
            runs.append((line, stops[place], minute, stops[place + 1], minute + ride))
            minute += ride + dice.randint(1, 12)
    zones = {stop: f"zone {n // 3 + 1}" for n, stop in enumerate(stops)}
    return {
        "run": runs,
        "zone": list(zones.items()),
        "ticket": [(f"T-{n:04}", zone) for n in range(8) for zone in dice.sample(["zone 1", "zone 2", "zone 3"], 2)],
        "starts": [(f"T-{n:04}", dice.choice(stops[:3]), dice.randint(330, 360)) for n in range(8)],
        "strike": [(dice.choice(["L2", "R10"]), "Asker")],
        "replaced": [],
    }


def _strike(goal: Row, facts: Facts, dice: Random) -> tuple[str, Row] | None:
    last = [(line, at) for line, at, _, to, _ in facts["run"] if to == goal[1]]  # type: ignore[misc]
    return ("strike", dice.choice(last)) if len(last) == 1 else None


TIMETABLE = Programme(
    """
    .decl run(line: symbol, at: symbol, leaves: number, to: symbol, arrives: number)
    .decl zone(stop: symbol, zone: symbol)
    .decl ticket(ticket: symbol, zone: symbol)
    .decl starts(ticket: symbol, stop: symbol, minute: number)
    .decl strike(line: symbol, at: symbol)
    .decl replaced(line: symbol, at: symbol)
    .decl cancelled(line: symbol, at: symbol)
    .decl there(ticket: symbol, stop: symbol, minute: number)
    .decl may_reach(ticket: symbol, stop: symbol)
    cancelled(l, a) :- strike(l, a), !replaced(l, a).
    there(t, s, m) :- starts(t, s, m).
    there(t, b, n) :- there(t, a, m), run(l, a, d, b, n), d >= m + 1, !cancelled(l, a).
    may_reach(t, s) :- there(t, s, m), m < 1440, zone(s, z), ticket(t, z).
    """,
    "may_reach",
    timetable,
    (("d >= m + 1", "d >= m + 300", "m + 300"), ("m < 1440", "m < 144", "m < 144")),
    (
        ("zone(s, z), ticket(t, z)", "zone(z, s), ticket(t, z)"),
        ("zone(s, z), ticket(t, z)", "zone(s, z), ticket(z, t)"),
    ),
    _strike,
)

# --- a catalogue: IRIs, two hierarchies -------------------------------------------------------------------


def catalogue(dice: Random) -> Facts:
    def iri(text: str) -> Iri:
        return Iri(EX + text)

    subjects = [iri(name) for name in ("Science", "Physics", "Optics", "Lasers", "Botany", "Mosses", "History")]
    works = [iri(f"work{n:02}") for n in range(12)]
    libraries = [iri(name) for name in ("central", "harbour", "hill")]
    broader = [(1, 0), (2, 1), (3, 2), (4, 0), (5, 4)]
    return {
        "broader": [(subjects[a], subjects[b]) for a, b in broader],
        "about": [(work, dice.choice(subjects[2:])) for work in works],
        "held": [(dice.choice(libraries), work, dice.randint(1, 5)) for work in works],
        "follows": [(f"reader-{n}", dice.choice(subjects[:4])) for n in range(6)],
        "member": [(f"reader-{n}", dice.choice(libraries)) for n in range(6) for _ in range(2)],
        "fine": [(f"reader-{dice.randrange(6)}", dice.randint(1, 40))],
    }


def _fine(goal: Row, facts: Facts, dice: Random) -> tuple[str, Row] | None:
    return "fine", (goal[0], dice.randint(120, 300))


CATALOGUE = Programme(
    f"""
    @prefix ex: <{EX}>.
    within(a, b) :- broader(a, b).
    within(a, c) :- within(a, b), broader(b, c).
    on(w, s) :- about(w, s).
    on(w, t) :- about(w, s), within(s, t).
    barred(r) :- fine(r, n), n > 100.
    offered(r, w) :- follows(r, s), on(w, s), held(l, w, n), n > 0, member(r, l), !barred(r).
    """,
    "offered",
    catalogue,
    (("n > 0", "n > 6", "n > 6"),),
    (("member(r, l)", "member(l, r)"), ("about(w, s), within(s, t)", "about(w, s), within(t, s)")),
    _fine,
)
PROGRAMMES = {"clinic": CLINIC, "timetable": TIMETABLE, "catalogue": CATALOGUE}

# --- mistakes -----------------------------------------------------------------------------------------


def _with(facts: Facts, name: str, others: list[Row], wrong: Row) -> Facts:
    return {**facts, name: [*others, wrong]}


def written_otherwise(programme: Programme, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, row, others = chosen(facts, list(proof.facts), dice)
    words = [place for place, value in enumerate(row) if isinstance(value, str | Iri)]
    place = dice.choice(words)
    word = row[place].value if isinstance(row[place], Iri) else str(row[place])  # type: ignore[union-attr]
    local = word.removeprefix(EX)
    ways = [f"{local} ", local.replace("-", "_"), local.replace(" ", ""), local.upper(), local.lower()]
    ways = [way for way in ways if way != local and (" " not in way or not isinstance(row[place], Iri))]
    if not ways:
        return None
    new = dice.choice(ways)
    wrong = (*row[:place], Iri(EX + new) if isinstance(row[place], Iri) else new, *row[place + 1 :])
    return Spoilt("written otherwise", _with(facts, name, others, wrong), name, wrong, row)


def digits(programme: Programme, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, row, others = chosen(facts, list(proof.facts), dice)
    numbers = [place for place, value in enumerate(row) if isinstance(value, int) and value > 9]
    if not numbers:
        return None
    place = dice.choice(numbers)
    text, at = str(row[place]), dice.randrange(len(str(row[place])) - 1)
    ways = (text[:at] + text[at + 1 :], text[:at] + text[at + 1] + text[at] + text[at + 2 :], text + text[-1])
    wrong = (*row[:place], int(dice.choice(ways)), *row[place + 1 :])
    return Spoilt("digits", _with(facts, name, others, wrong), name, wrong, row, f"= {wrong[place]}")


def next_row(programme: Programme, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    name, row, others = chosen(facts, list(proof.facts), dice)
    place, at = dice.randrange(len(row)), facts[name].index(row)
    if at + 1 == len(facts[name]):
        return None
    wrong = (*row[:place], facts[name][at + 1][place], *row[place + 1 :])
    if wrong == row or wrong in others:
        return None
    return Spoilt("next row", _with(facts, name, others, wrong), name, wrong, row)


def lost(programme: Programme, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    """All facts of a relation with one value of a fact that is needed; it is named if that fact is."""
    name, row, others = chosen(facts, list(proof.facts), dice)
    place = dice.randrange(len(row))
    return Spoilt("lost", {**facts, name: [other for other in others if other[place] != row[place]]}, name, row)


def too_strict(programme: Programme, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    was, now, condition = dice.choice(programme.stricter)
    return Spoilt("too strict", facts, "", (), condition=condition, rules=programme.rules.replace(was, now))


def exchanged(programme: Programme, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    """It is named if a fact is missed that has a proper one's values in the other order."""
    was, now = dice.choice(programme.exchanged)
    wrong_atom = next(atom for atom in re.findall(r"\w+\(.*?\)", now) if atom not in was)
    name = wrong_atom.partition("(")[0]
    rows = [row for row in facts.get(name, ()) if fact_text((name, row)) in proof.facts]
    if not rows:
        return None
    wrong = tuple(reversed(dice.choice(rows)))
    return Spoilt("exchanged", facts, name, wrong, rules=programme.rules.replace(was, now))


def forbidden(programme: Programme, facts: Facts, proof: holdfast.Proof, dice: Random) -> Spoilt | None:
    found = programme.forbids(proof.conclusion[1], facts, dice)
    if found is None or found[1] in facts[found[0]]:
        return None
    name, row = found
    return Spoilt("forbidden", _with(facts, name, facts[name], row), name, row)


KINDS = (written_otherwise, digits, next_row, lost, too_strict, exchanged, forbidden)

if __name__ == "__main__":
    sys.exit(report([c for name, each in PROGRAMMES.items() for c in drawn(name, each, KINDS, FIRST_SEED, EACH)]))
