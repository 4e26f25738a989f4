"""The judges judge each other: the oracle against clingo and against Nemo, on random programs.

What this cannot catch: a reading of the language that the oracle and the translation share, above all in the
parser, which all of them use; and whatever the judges have no word for: floats, means, medians, functors.
"""

from __future__ import annotations

from hypothesis import HealthCheck, given, reject, settings

from holdfast.language import parse

from ..oracle.evaluate import evaluate
from . import clingo_judge, nemo_judge
from .fragment import UnsupportedError
from .programs import FOR_CLINGO, FOR_NEMO, Sketch, sketches

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(sketches(FOR_CLINGO))
def test_oracle_and_clingo_agree(sketch: Sketch) -> None:
    program = parse(sketch.text)
    ours, theirs = evaluate(program, sketch.facts).facts, clingo_judge.evaluate(program, sketch.facts)
    for predicate in sketch.predicates:
        assert ours.get(predicate.name, set()) == theirs.get(predicate.name, set()), predicate.name


@settings(max_examples=130, deadline=None, suppress_health_check=SLOW)
@given(sketches(FOR_NEMO))
def test_oracle_and_nemo_agree(sketch: Sketch) -> None:
    program = parse(sketch.text)
    ours = evaluate(program, sketch.facts).facts
    try:
        theirs = nemo_judge.evaluate(program, sketch.facts, {p.name: len(p.types) for p in sketch.predicates})
    except UnsupportedError:
        reject()
    for predicate in sketch.predicates:
        assert ours.get(predicate.name, set()) == theirs.get(predicate.name, set()), predicate.name
