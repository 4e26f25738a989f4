"""Whatever the checker accepts is true: corrupted proofs of random programs are rejected, or show what holds anyway.

Here the engine judges the checker; elsewhere the checker judges proofs of what the engine derived.
"""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import holdfast
from holdfast import ProofError
from holdfast.errors import HoldfastError
from holdfast.explanations.proof import fact_text
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.language import parse

from ..amounts import amount
from ..equivalence.scripts import closure_writer, graph_writer, grouped, random_script
from .judging import explicit, missing
from .test_checker import CORRUPTIONS, other_goal


def certificates(kb: KnowledgeBase, dice: Random) -> list[dict[str, Any]]:
    """Some proofs and absences."""
    found: list[dict[str, Any]] = []
    for name in kb.relations:
        rows = sorted(kb[name])
        for row in dice.sample(rows, min(2, len(rows))):
            found += [proof.as_json() for proof in [kb.why(fact_text((name, row)), seconds=None)] if proof]
        for row in missing(rows, dice, 2):
            found += [absent.as_json() for absent in [kb.why_not(fact_text((name, row)), seconds=None)] if absent]
    return found


def is_true(kb: KnowledgeBase, shown: dict[str, Any]) -> bool:
    """Whether the engine agrees with what a proof or a certificate shows."""
    if "absent" in shown:
        return kb.why_not(shown["absent"], seconds=0) is not None
    return kb.why_not(shown["finalConclusion"], seconds=0) is None


def test_what_is_accepted_is_true() -> None:
    rejected = accepted = seed = 0
    while rejected < amount(1_000, 50):
        seed += 1
        dice = Random(seed)
        script = random_script(dice, writer=(closure_writer if seed % 2 else graph_writer)(dice))
        try:
            kb = holdfast.from_text(script.text(script.rules), facts=grouped(script.facts))
        except HoldfastError:
            continue
        rules, given = parse(kb.rules_text(), "<rules>"), explicit(kb)
        for proof in certificates(kb, dice):
            for corrupt in (each for each in CORRUPTIONS if each is not other_goal):  # it knows one program
                wrong = deepcopy(proof)
                if not corrupt(wrong, dice) or wrong == proof:
                    continue
                try:
                    holdfast.check_proof(wrong, rules, given)
                except ProofError:
                    rejected += 1
                else:
                    accepted += 1
                    assert is_true(kb, wrong), (seed, corrupt.__name__, json.dumps(wrong))
    assert accepted < rejected / 20
