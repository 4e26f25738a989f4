"""What must hold of explanations of one knowledge base: every proof and every absence passes the checker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

import holdfast
from holdfast.explanations.terms import fact_text
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.relations import written_name
from holdfast.language import parse
from holdfast.values import Row

Given = Mapping[str, Iterable[Row]]


def explicit(kb: KnowledgeBase) -> dict[str, set[Row]]:
    """The facts that were given."""
    return {name: set(kb.explicit(name)) for name in kb.relations}


def judge(kb: KnowledgeBase, dice: Random, most: int) -> tuple[int, int]:
    """Explain so many facts of each relation, and as many that do not hold; gives how many proofs and absences."""
    rules, given, proofs, absences = parse(kb.rules_text(), "<rules>"), explicit(kb), 0, 0
    for name in kb.relations:
        rows = sorted(kb[name], key=str)
        written = written_name(name, len(kb[name].types), kb.program)
        for row in dice.sample(rows, min(most, len(rows))):
            text = fact_text((written, row))
            proof = kb.why(text, seconds=None)
            assert proof is not None, text
            assert holdfast.check_proof(proof.to_json(), rules, given) == text
            proofs += 1
        for row in missing(rows, dice, most):
            text = fact_text((written, row))
            assert kb.why(text, seconds=None) is None
            absence = kb.why_not(text, seconds=None)
            assert absence is not None
            assert holdfast.check_proof(absence.to_json(), rules, given) == text
            absences += 1
    return proofs, absences


def missing(rows: list[Row], dice: Random, most: int) -> set[Row]:
    """Rows of values that occur, in the columns where they occur, but not together."""
    if not rows:
        return set()
    columns = [sorted({row[i] for row in rows}, key=str) for i in range(len(rows[0]))]
    drawn = {tuple(dice.choice(column) for column in columns) for _ in range(4 * most)}
    return set(sorted(drawn - set(rows), key=str)[:most])
