"""The engine against the oracle, on random programs: facts, derivation counters, and any order of what is written.

What this cannot catch: what happens only on large relations (several batches, index growth), values outside the
small domains, and readings that parser and oracle share; the outside suites are for these.
"""

from __future__ import annotations

from contextlib import ExitStack
from random import Random
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.backends.memory.execution import join
from holdfast.backends.memory.statistics import TableStatistics
from holdfast.language import parse
from holdfast.plans import planner

from ..oracle.evaluate import Result, evaluate
from ..oracle.values import tag_row
from .programs import COUNTABLE, EVERYTHING, RECORDS, Sketch, sketches

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def facts_of(kb: holdfast.KnowledgeBase, sketch: Sketch) -> dict[str, set[object]]:
    return {p.name: {tag_row(row) for row in kb[p.name]} for p in sketch.predicates}


def counters_of(kb: holdfast.KnowledgeBase, sketch: Sketch) -> dict[str, dict[object, tuple[int, int]]]:
    return {p.name: {tag_row(row): pair for row, pair in kb.counters(p.name).items()} for p in sketch.predicates}


def expected_of(sketch: Sketch) -> Result:
    return evaluate(parse(sketch.text), sketch.facts, {p.name: p.types for p in sketch.predicates})


def expected_facts(result: Result, sketch: Sketch) -> dict[str, set[object]]:
    return {p.name: set(result.facts.get(p.name, set())) for p in sketch.predicates}


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(sketches(EVERYTHING))
def test_engine_and_oracle_agree(sketch: Sketch) -> None:
    kb = holdfast.from_text(sketch.text, facts=sketch.facts)
    assert facts_of(kb, sketch) == expected_facts(expected_of(sketch), sketch)


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(sketches(RECORDS))
def test_engine_and_oracle_agree_on_records(sketch: Sketch) -> None:
    kb = holdfast.from_text(sketch.text, facts=sketch.facts)
    assert facts_of(kb, sketch) == expected_facts(expected_of(sketch), sketch)


def test_the_sum_of_no_floats_is_a_float() -> None:
    text, facts = "q(x, v) :- p(x), v = sum k : { e(x, k) }.", {"p": [(1,), (2,)], "e": [(1, 0.5)]}
    expected = evaluate(parse(text), facts, {"q": ("number", "float")}).facts["q"]
    assert (
        {tag_row(row) for row in holdfast.from_text(text, facts)["q"]}
        == expected
        == {(("number", 1), ("float", 0.5)), (("number", 2), ("float", 0.0))}
    )


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(sketches(COUNTABLE), st.booleans(), st.sampled_from([0, 1, 4]))
def test_counters_agree(sketch: Sketch, large: bool, late: int) -> None:
    """`large`: with what is else only done where there are many facts, rules that wait and heads that are tallied."""
    with ExitStack() as patches:
        if large:
            patches.enter_context(patch.object(TableStatistics, "many", 0.0))
            patches.enter_context(patch.object(planner, "_LATE", late))
            patches.enter_context(patch.multiple(join, _WORTH_A_TALLY=0, _FAN_OUT=0))
        kb = holdfast.from_text(sketch.text, facts=sketch.facts)
    expected = expected_of(sketch)
    assert facts_of(kb, sketch) == expected_facts(expected, sketch)
    assert counters_of(kb, sketch) == {p.name: expected.counters.get(p.name, {}) for p in sketch.predicates}


def test_a_rule_that_is_there_twice_waits_twice() -> None:
    with patch.object(TableStatistics, "many", 0.0), patch.object(planner, "_LATE", 0):
        kb = holdfast.from_text(
            "p(1). p(y), p(y) :- p(x), e(x, y). p(y) :- p(x), f(x, y).",
            {"e": [(1, 2), (2, 3)], "f": [(1, 3)]},
            modules=(),
        )
    assert kb.counters("p") == {(1,): (1, 0), (2,): (0, 2), (3,): (0, 3)}


@settings(max_examples=100, deadline=None, suppress_health_check=SLOW)
@given(sketches(EVERYTHING), st.integers(0, 2**32))
def test_order_does_not_matter(sketch: Sketch, seed: int) -> None:
    one = holdfast.from_text(sketch.text, facts=sketch.facts)
    other = holdfast.from_text(sketch.shuffled(Random(seed)).text, facts=sketch.facts)
    assert facts_of(one, sketch) == facts_of(other, sketch)
    assert counters_of(one, sketch) == counters_of(other, sketch)
