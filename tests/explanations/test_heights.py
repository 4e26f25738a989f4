"""The height of a proof is the least there is: the round in which naive evaluation meets the fact.

Programs without negation and aggregates only; there a round of all rules at once is a step of height.
"""

from __future__ import annotations

import re
from random import Random

import holdfast
from holdfast.explanations.terms import fact_text
from holdfast.language import parse

from ..amounts import amount
from ..equivalence.scripts import closure_writer, graph_writer, grouped, random_script
from ..oracle.evaluate import Evaluation
from ..oracle.scope import variables
from ..oracle.values import Fact, tag_row

CLOSED = re.compile(r"!|{|not |\b(count|sum|min|max|mean|median)\(")


def rounds(text: str, facts: dict[str, list[tuple[object, ...]]]) -> dict[tuple[str, Fact], int]:
    """The round of naive evaluation in which each fact is first met: 0 if it was given."""
    evaluation = Evaluation(parse(text))
    for name, rows in facts.items():
        evaluation.known[name] |= {tag_row(row) for row in rows}  # type: ignore[arg-type]
    met = {(name, row): 0 for name, rows in evaluation.known.items() for row in rows}
    size, number = -1, 0
    while size != (size := len(met)):
        number += 1
        found = [
            (evaluation.name(head.name), row)
            for head, body in evaluation.rules
            for row in evaluation.heads(head, evaluation.solve(body, [{}], outside=variables(head)))
        ]
        for name, row in found:
            met.setdefault((name, row), number)
            evaluation.known[name].add(row)
    return met


def test_heights_are_least() -> None:
    compared, tallest, seed = 0, 0, 0
    while compared < amount(300, 2):
        seed += 1
        dice = Random(seed)
        script = random_script(dice, writer=(closure_writer if seed % 2 else graph_writer)(dice))
        text = script.text([rule for rule in map(str, script.rules) if not CLOSED.search(rule)])
        facts = grouped(script.facts)
        try:
            kb = holdfast.from_text(text, facts=facts)
        except holdfast.HoldfastError:
            continue
        ranks = rounds(text, facts)  # type: ignore[arg-type]
        for name in kb.relations:
            rows = sorted(kb[name], key=str)
            for row in dice.sample(rows, min(4, len(rows))):
                proof = kb.why(fact_text((name, row)), seconds=None)
                assert proof is not None
                assert proof.height == ranks[name, tag_row(row)], (seed, name, row)
                compared, tallest = compared + 1, max(tallest, proof.height)
    assert tallest >= 3


def test_a_long_chain_and_a_short_cut() -> None:
    rules = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), path(y, z)."
    kb = holdfast.from_text(rules, facts={"edge": [(n, n + 1) for n in range(16)]})
    proof = kb.why("path(0, 16)")
    assert proof is not None
    assert proof.height == 5  # 16 edges, halved four times, and the edge itself
    kb.apply(holdfast.Update(insert={"edge": [(2, 14)]}))
    shorter = kb.why("path(0, 16)")
    assert shorter is not None
    assert shorter.height == 4
    assert len(shorter.facts) == 5
    kb.apply(holdfast.Update(delete={"edge": [(2, 14)]}))
    again = kb.why("path(0, 16)")
    assert again is not None
    assert again.height == 5
