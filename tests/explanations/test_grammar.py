"""Programs that the grammar gives are explained: all forms of terms, types, aggregates and names, over odd values.

`python -m tests.explanations.test_grammar 600 1` goes on for so many seconds.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from random import Random

import holdfast
from holdfast.errors import HoldfastError, LimitReached
from holdfast.explanations.terms import fact_text
from holdfast.knowledge.relations import written_name
from holdfast.language import parse

from ..amounts import some
from ..grammar.judge import LIMITS, judge_text
from ..grammar.programs import program
from .judging import explicit, missing

UNKNOWN = ("does not know", "do not know")  # functors, and complements of two types


def explained(seed: int) -> Counter[str]:
    """Explain some facts of the program of a seed, and some that it does not derive."""
    written = program(seed)
    kb = judge_text(written.text, LIMITS, may_read="input" in written.shapes)
    if isinstance(kb, str):
        return Counter({kb: 1})
    dice, done = Random(seed), Counter[str]()
    rules, given = parse(kb.rules_text(), "<rules>"), explicit(kb)
    for name in kb.relations:
        rows = sorted(kb[name], key=str)
        shown = written_name(name, len(kb[name].types), kb.program)
        for row in (*dice.sample(rows, min(2, len(rows))), *missing(rows, dice, 2)):
            text, holds = fact_text((shown, row)), row in kb[name]
            try:
                found = kb.why(text) if holds else kb.why_not(text)
                assert found is not None, text
                assert holdfast.check_proof(found.to_json(), rules, given) == text
            except LimitReached:
                done["late"] += 1
            except HoldfastError as error:
                assert any(words in str(error) for words in UNKNOWN), (text, str(error))
                done["unknown"] += 1
            else:
                done["proofs" if holds else "absences"] += 1
    return done


def test_programs_of_the_grammar_are_explained() -> None:
    done = sum((explained(seed) for seed in range(1, 1 + some(90))), Counter[str]())
    assert done["proofs"] > 50
    assert done["absences"] > 20
    assert done["late"] + done["unknown"] < done["proofs"] / 10


def main(seconds: float, seed: int) -> None:
    """Go through seeds until time is over, and say which fail."""
    end, done = time.monotonic() + seconds, Counter[str]()
    while time.monotonic() < end:
        try:
            done += explained(seed)
        except Exception as error:
            print(f"{seed}: {type(error).__name__} {str(error)[:600]}", flush=True)
        seed += 1
    print(f"before seed {seed}: {dict(done)}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
