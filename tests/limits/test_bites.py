"""The tests bite: every broken copy of the algorithm is caught by the random scripts."""

from __future__ import annotations

import pytest

from holdfast.backends.memory import limits as memory
from holdfast.backends.memory import ranks
from holdfast.maintenance import limits
from holdfast.plans import limits as plans
from holdfast.program import limits as program

from ..equivalence.mutants import Mutant, broken
from .judged import Judged
from .running import failure
from .scripts import paths_script, random_script, supporting_script
from .sums import sums_script

pytestmark = [pytest.mark.only_in_memory("that tests bite is shown once"), pytest.mark.many_cases]

ENOUGH = 250
PATHS, SUPPORTING, SUMS = "paths", "supporting", "sums"
MAKERS = {PATHS: paths_script, SUPPORTING: supporting_script, "": random_script}

MUTANTS = [
    Mutant("explicit facts prove nothing", limits._unfounded, "(facts & s.E) - s.E_minus", "facts & s.E_minus", ""),
    Mutant("deleted explicit facts prove", limits._unfounded, "(facts & s.E) - s.E_minus", "facts & s.E", ""),
    Mutant("what is negated reads the new state", limits._unfounded, "s.I | s.A", "s.I", ""),
    Mutant("deleted facts prove", limits._unfounded, "s.I - (s.D - s.A)", "s.I", ""),
    Mutant("only explicit facts are rederived", limits.rederive, "return explicit | N", "return explicit", ""),
    Mutant("explicit facts are not rederived", limits.rederive, "return explicit | N", "return N", ""),
    Mutant("removed rules lose nothing", limits.first_deletions, "if s.removed:", "if not s.removed:", ""),
    Mutant("deletions stop after one round", limits.overdelete, "s.count(count)", "N = N & D", ""),
    Mutant("every regime is tight", limits.maintain, "if N and not known.tight:", "if N and False:", SUPPORTING),
    Mutant("another meaning goes unnoticed", limits.maintain, "if _means_other(s):", "if False:", ""),
    Mutant("rivals stay", limits.insert, "A -= rivals", "A -= Δ", ""),
    Mutant("rivals of the old state stay", limits.insert, "D |= rivals & I", "D |= rivals & A", ""),
    Mutant("added rules offer nothing", limits.insert, "if s.added:", "if s.added and False:", ""),
    Mutant("inserted facts offer nothing", limits.insert, "R | s.E_plus", "R", ""),
    Mutant(
        "values of the same level prove",
        plans._founded,
        "Compare(below, value, offer)",
        'Compare(below + "=", value, offer)',
        "",
    ),
    Mutant("the data does not matter", program._at_least, "return (code, math.inf)", "return (0.0, math.inf)", PATHS),
    Mutant(
        "endless values are not looked for",
        limits.Improvement._look_for_circles,
        "self.rounds > self._enough + 1",
        "False",
        PATHS,
    ),
    Mutant(
        "every direction is the right one",
        program._directions,
        "growth(offer.term, v, known)",
        'frozenset(("up", "down"))',
        SUPPORTING,
    ),
    Mutant("facts come in without ranks", limits.Improvement._take, "self._ranks.enter(Δ)", "pass", ""),
    Mutant("ranks of other regimes are right", limits.insert, "s.is_ranked and known.levelled", "s.is_ranked", ""),
    Mutant("ranks are right without levels", limits.recompute, "_ranks(s.planner, s.backend, known)", "s", ""),
    Mutant("equal ranks prove", ranks.MemoryRanking.is_above, "spans) < self", "spans) <= self", ""),
    Mutant("groups are not looked up", memory.MemoryGroups._look_up, "if len(keys):", "if False:", ""),
    Mutant("the last offer wins", memory._Best.winners, "keys == self._offered[groups]", "keys == keys", ""),
    Mutant("a replaced value stays in mind", memory._Best.replaced, "self.put(offers, ids)", "pass", ""),
    Mutant("sums stay as they were first", limits.Improvement._sums, "if Δ.sizes().get(rule.source)", "if False", SUMS),
    Mutant("sums of the new facts alone", limits.Improvement._sums, "Read.ALL: J", "Read.ALL: Δ", SUMS),
    Mutant("numbers below 0 are summed", limits._refuse_negative, "< 0", "< -9", SUMS),
    Mutant("values end too early", limits.Improvement._look_for_circles, "self.rounds > self._enough + 1", "True", ""),
]


# The scripts that catch them, tried first.
HINTS = {
    "what is negated reads the new state": 28,
    "another meaning goes unnoticed": 46,
    "rivals stay": 15,
    "added rules offer nothing": 81,
    "values of the same level prove": 12,
    "endless values are not looked for": 11,
    "ranks of other regimes are right": 33,
    "numbers below 0 are summed": 38,
}


def caught(mutant: Mutant) -> int | None:
    """The first script that fails, be it that it breaks off."""
    for seed in dict.fromkeys((HINTS.get(mutant.name, 0), *range(ENOUGH))):
        try:
            found = _failure(mutant.policy, seed)
        except Exception:
            return seed
        if found is not None:
            return seed
    return None


def _failure(kind: str, seed: int) -> str | None:
    if kind == SUMS:
        Judged(sums_script(seed), seed).all()  # raises what is wrong
        return None
    return failure(lambda: MAKERS[kind](seed))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(mutant: Mutant) -> None:
    with broken(mutant):
        assert caught(mutant) is not None
