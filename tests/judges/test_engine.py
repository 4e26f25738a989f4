"""The engine against the oracle, on random programs: facts, derivation counters, and any order of what is written.

What this cannot catch: what happens only on large relations (several batches, index growth), values outside the
small domains, and readings that parser and oracle share; the outside suites are for these.
"""

from __future__ import annotations

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.language import parse

from ..oracle.evaluate import Result, evaluate
from ..oracle.values import tag_row
from .programs import COUNTABLE, EVERYTHING, Sketch, sketches

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def facts_of(kb: holdfast.KnowledgeBase, sketch: Sketch) -> dict[str, set[object]]:
    return {p.name: {tag_row(row) for row in kb[p.name]} for p in sketch.predicates}


def counters_of(kb: holdfast.KnowledgeBase, sketch: Sketch) -> dict[str, dict[object, tuple[int, int]]]:
    return {p.name: {tag_row(row): pair for row, pair in kb.counters(p.name).items()} for p in sketch.predicates}


def expected_facts(result: Result, sketch: Sketch) -> dict[str, set[object]]:
    return {p.name: set(result.facts.get(p.name, set())) for p in sketch.predicates}


@settings(max_examples=900, deadline=None, suppress_health_check=SLOW)
@given(sketches(EVERYTHING))
def test_engine_and_oracle_agree(sketch: Sketch) -> None:
    kb = holdfast.from_text(sketch.text, facts=sketch.facts)
    assert facts_of(kb, sketch) == expected_facts(evaluate(parse(sketch.text), sketch.facts), sketch)


@settings(max_examples=500, deadline=None, suppress_health_check=SLOW)
@given(sketches(COUNTABLE))
def test_counters_agree(sketch: Sketch) -> None:
    kb = holdfast.from_text(sketch.text, facts=sketch.facts)
    expected = evaluate(parse(sketch.text), sketch.facts)
    assert facts_of(kb, sketch) == expected_facts(expected, sketch)
    assert counters_of(kb, sketch) == {p.name: expected.counters.get(p.name, {}) for p in sketch.predicates}


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(sketches(EVERYTHING), st.integers(0, 2**32))
def test_order_does_not_matter(sketch: Sketch, seed: int) -> None:
    one = holdfast.from_text(sketch.text, facts=sketch.facts)
    other = holdfast.from_text(sketch.shuffled(Random(seed)).text, facts=sketch.facts)
    assert facts_of(one, sketch) == facts_of(other, sketch)
    assert counters_of(one, sketch) == counters_of(other, sketch)
