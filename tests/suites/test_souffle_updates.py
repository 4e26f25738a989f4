"""Soufflé's tests reached by updates: begin with some of the facts and some that were made up, end at the given ones.

Facts are those in files and those in the text.  Programs that leave a recursion incomplete on purpose (.limitsize) do
not take part.  On the way an update may fail, when a made-up fact has no value or no end under the rules: then it must
leave no trace.  What this cannot catch: states on the way, which nobody computed.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import holdfast
from holdfast.errors import EvaluationError, HoldfastError, LimitReached
from holdfast.language import parse
from holdfast.settings import Limits
from holdfast.updates import Update
from holdfast.values import Row

from ..oracle.evaluate import Evaluation
from .shared_data import needs_shared_data, read_text
from .streams import OTHERS
from .test_oracle_on_souffle import given_facts
from .test_souffle import OUTPUT_DELIMITERS, POSITIVE, expected_outputs, facts_of, program_of, rows_of

pytestmark = [needs_shared_data, pytest.mark.sampled(12), pytest.mark.many_cases]
Fact = tuple[str, Row]
LIMITS = Limits(facts=300_000, seconds=20)


def facts_in_files(test: str) -> dict[str, list[Row]]:
    evaluation = Evaluation(parse(read_text(program_of(test)), test))
    return given_facts(evaluation, facts_of(test))


def made_up(facts: list[Fact], random: Random) -> list[Fact]:
    """Facts that are not among the given ones, of values that stand in the same columns."""
    found = []
    for name, row in random.sample(facts, min(len(facts), 8)):
        others = [other for n, other in facts if n == name]
        found.append((name, tuple(random.choice(others)[i] for i in range(len(row)))))
    return sorted(set(found) - set(facts), key=repr)


def grouped(facts: list[Fact]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, row in facts:
        found.setdefault(name, []).append(row)
    return found


def attempt(kb: holdfast.KnowledgeBase, update: Update, algorithm: str) -> bool:
    """Apply an update that may fail while rules are evaluated; if it does, all is as it was."""
    before = {name: set(rows) for name, rows in kb.relations.items()}
    try:
        kb.apply(update, algorithm=algorithm)
    except (EvaluationError, LimitReached):
        assert {name: set(rows) for name, rows in kb.relations.items()} == before
        return False
    return True


def walk(kb: holdfast.KnowledgeBase, given: list[Fact], there: list[Fact], random: Random, algorithm: str) -> None:
    """In random batches from the facts that are there to the given ones, by way of others."""
    extra = made_up(given, random) if given else []
    there_now, wanted = set(there), set(given)
    some = random.sample(there, len(there) // 3)
    if attempt(kb, Update(grouped(some), grouped(extra)), algorithm):
        there_now = (there_now - set(some)) | set(extra)
    changes = [(fact, fact in wanted) for fact in sorted(wanted ^ there_now, key=repr)]
    random.shuffle(changes)
    while changes:
        size = random.choice((1, 2, 5, 50, len(changes)))
        batch, changes = changes[:size], changes[size:]
        update = Update(grouped([f for f, comes in batch if not comes]), grouped([f for f, comes in batch if comes]))
        if not attempt(kb, update, algorithm):
            assert changes, "the given facts themselves are refused"
            changes = [*changes, *batch]
    left = Update(grouped(extra), grouped(given))
    assert not kb.apply(left, algorithm=algorithm), "what is there was inserted, what is not was deleted: a no-op"


def is_complete(test: str) -> bool:
    return ".limitsize" not in read_text(program_of(test))


TESTS = [test for test in POSITIVE if is_complete(test)]


@pytest.mark.parametrize("test", TESTS)
def test_a_path_of_updates_ends_at_the_csv(test: str, tmp_path: Path) -> None:
    random = Random(test)
    text, files = read_text(program_of(test)), facts_in_files(test)
    given = [(name, row) for name, rows in files.items() for row in dict.fromkeys(rows)]
    part = [fact for fact in given if random.random() < 0.5]
    nothing: dict[str, list[Row]] = {name: [] for name in files}
    try:
        kb = holdfast.from_text(text, facts=nothing | grouped(part), name=test, limits=LIMITS)
    except (EvaluationError, LimitReached):  # a part of the facts may have no end or no value under the rules
        part = given
        kb = holdfast.from_text(text, facts=nothing | grouped(part), name=test, limits=LIMITS)
    in_text = [(name, tuple(row)) for name, rows in kb.program.facts.items() for row in rows]
    everything = list(dict.fromkeys([*given, *in_text]))
    algorithm = random.choice(("auto", *OTHERS))
    try:
        walk(kb, everything, list(dict.fromkeys([*part, *in_text])), random, algorithm)
    except HoldfastError as error:
        error.add_note(algorithm)
        raise
    kb.write_outputs(tmp_path)
    for name, file in expected_outputs(test).items():
        delimiter = OUTPUT_DELIMITERS.get(test, "\t")
        got = (tmp_path / f"{name}.csv").read_text(encoding="utf-8")
        assert rows_of(got, delimiter) == rows_of(read_text(file), delimiter), (name, algorithm)
