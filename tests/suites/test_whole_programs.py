"""Whole Soufflé code bases: every main program checks as it stands, and runs on made-up facts with exact updates."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.errors import ProgramError
from holdfast.language import parse
from holdfast.plans.literals import terms
from holdfast.program import check
from holdfast.program.maintainable import maintainable
from holdfast.program.model import Apply, Program, Relation
from holdfast.values import NIL, Record, Type, Value
from holdfast.values.structures import Kind, Structure
from tests.equivalence.reference import State, evaluated, state_of
from tests.suites.shared_data import needs_shared_data
from tests.suites.whole_programs import ORDER_DEPENDENT, PROGRAMS, WholeProgram, whole_programs

ALIKE = ("doop-1-call-site-sensitive", "doop-2-object-sensitive+heap", "python-1-call-site-sensitive")
REFUSED_ALIKE = ("cclyzer-debug", "cclyzer-subset-and-unification")  # both hold the rules of cclyzer-unification
READS_NUMBERS = {"doop-data-flow", "doop-xtractor", "python-1-call-site-sensitive"}  # so all texts are numbers
RUN = ("vandal", "securify", "doop-micro", "doop-1-call-site-sensitive", "cclyzer-subset")


@cache
def _all(folder: Path) -> dict[str, WholeProgram]:
    return {whole.id: whole for whole in whole_programs(folder)}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, WholeProgram]:
    if not PROGRAMS.is_dir():
        pytest.skip("the shared inputs are not at ../shared/data")
    return _all(tmp_path_factory.getbasetemp())


_CHECKED: dict[str, Program] = {}  # those that two tests need


def _checked(whole: WholeProgram) -> Program:
    if whole.id in _CHECKED:
        return _CHECKED[whole.id]
    program = check(parse(whole.text, whole.name, whole.given))
    if whole.id in RUN:
        _CHECKED[whole.id] = program
    return program


def _ids() -> list[str]:
    """All, but of Doop's many analyses that differ in a few rules only some."""
    if not PROGRAMS.is_dir():
        return []
    ids = [whole.id for whole in whole_programs()]
    return [id for id in ids if not re.match(r"(doop|python)-.*sensitive", id) or id in ALIKE]


@needs_shared_data
@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=pytest.mark.slow) if id in REFUSED_ALIKE else id for id in _ids()]
)
def test_a_main_program_checks_as_it_stands(programs: dict[str, WholeProgram], id: str) -> None:
    if id.removeprefix("cclyzer-") in ORDER_DEPENDENT:
        with pytest.raises(ProgramError) as refused:
            _checked(programs[id])
        assert {diagnostic.code for diagnostic in refused.value.diagnostics} == {"E0217"}
    else:
        assert _checked(programs[id]).rules


# --- made-up facts ---


def _value(kind: Kind, name: str, chance: random.Random, number: int | None = None, depth: int = 0) -> Value:
    """A value of a type; without the `name` of one, a text is a number.  A text has the `number` that is given."""
    if isinstance(kind, Structure):
        if kind.is_record and (depth > 2 or chance.random() < 0.3):
            return NIL
        branch = chance.choice(sorted(kind.branches))
        fields = kind.branches[branch]
        parts = (_value(field, name and field.value, chance, number, depth + 1) for field in fields)
        return Record(tuple(parts), branch)
    if kind in (Type.NUMBER, Type.UNSIGNED):
        return chance.randrange(4)
    if kind is Type.FLOAT:
        return float(chance.randrange(4))
    letter = name[-1:] if chance.random() < 0.8 else name and "s"
    return f"{letter}{chance.randrange(4) if number is None else number}"


@dataclass(frozen=True)
class _Facts:
    """Makes facts up: for a relation so many at `most`.

    Of Doop's, no fact leads back to where another began: it counts the steps from a class to those above, for ever if
    there is a circle.
    """

    chance: random.Random
    most: int
    named: bool  # texts have a letter of their type
    ordered: bool  # the numbers of texts grow from column to column

    def rows(self, relation: Relation, most: int) -> set[tuple[Value, ...]]:
        return {self._row(relation) for _ in range(self.chance.randrange(min(most, self.most) + 1))}

    def _row(self, relation: Relation) -> tuple[Value, ...]:
        columns = relation.columns
        numbers: list[int | None] = [None] * len(columns)
        if self.ordered:
            numbers = sorted(self.chance.sample(range(len(columns) + 2), len(columns)))
        return tuple(
            _value(column.kind, column.type_name if self.named else "", self.chance, number)
            for column, number in zip(columns, numbers, strict=True)
        )


def _made_up(id: str, chance: random.Random) -> _Facts:
    return _Facts(
        chance, 6 if id in RUN else 3, named=id not in READS_NUMBERS, ordered=id.startswith(("doop", "python"))
    )


def _inputs(program: Program) -> list[Relation]:
    """The relations that facts come in for; where nothing says which, those without rules."""
    relations = [relation for relation in program.relations.values() if not relation.auxiliary]
    named = [relation for relation in relations if any(io.kind == "input" for io in relation.io)]
    derived = {rule.predicate for rule in program.rules}
    return named or [relation for relation in relations if relation.name not in derived and "." not in relation.name]


def _ordinal(program: Program) -> set[str]:
    """Relations that depend on `ord`, which numbers values by when they were seen first."""

    def uses(term: Any) -> bool:
        return isinstance(term, Apply) and (term.function == "ord" or any(map(uses, term.arguments)))

    found = {
        rule.predicate
        for rule in program.rules
        if any(uses(term) for term in (*rule.arguments, *(t for literal in rule.body for t in terms(literal))))
    }
    while new := {name for name, read in _reads(program) if read in found} - found:
        found |= new
    return found


def _reads(program: Program) -> Iterator[tuple[str, str]]:
    for rule in program.rules:
        yield from ((rule.predicate, literal.predicate) for literal in rule.body if hasattr(literal, "predicate"))
    yield from ((aggregate.predicate, aggregate.source) for aggregate in program.aggregates)


def _without(state: State, left_out: set[str]) -> State:
    return {name: rows for name, rows in state.items() if name not in left_out}


def _from_scratch(program: Program, facts: dict[str, set[tuple[Value, ...]]]) -> State:
    """By the program as it was checked before: to parse and check it takes longer than to evaluate it."""
    written = {name: [*rows, *facts.get(name, ())] for name, rows in program.facts.items()}
    return evaluated(maintainable(program), {**facts, **written}).state


@pytest.fixture
def _functors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What securify's C++ functors do: sets as strings."""

    def members(text: str) -> set[str]:
        return set(filter(None, text.split(",")))

    holdfast.functor(name="empty")(lambda: "")
    holdfast.functor(name="add")(lambda text, number: ",".join(sorted(members(text) | {str(number)})))
    holdfast.functor(name="size")(lambda text: len(members(text)))
    holdfast.functor(name="isSubset")(lambda one, other: int(members(one) <= members(other)))
    holdfast.functor(name="isElement")(lambda number, text: int(str(number) in members(text)))
    holdfast.functor(name="enumerate")(lambda _, text: 1 + 2 * "abcdef".find(text[:1]) + (len(text) > 1))


def _running() -> list[Any]:
    """Every main program that is not refused; most of them are slow."""
    left_out = {f"cclyzer-{name}" for name in ORDER_DEPENDENT}
    slow = [pytest.param(id, marks=pytest.mark.slow) for id in _ids() if id not in left_out.union(RUN)]
    return [*RUN, *slow]


@needs_shared_data
@pytest.mark.usefixtures("_functors")
@pytest.mark.parametrize("id", _running())
def test_updates_are_exact(programs: dict[str, WholeProgram], id: str) -> None:
    whole = programs[id]
    program, chance = _checked(whole), random.Random(7)
    inputs, made_up = _inputs(program), _made_up(id, chance)
    facts = {relation.name: made_up.rows(relation, 6) for relation in inputs}

    given, left_out = whole.given, _ordinal(program)
    kb = holdfast.from_text(whole.text, facts, name=whole.name, macros=given.macros, include=given.folders)
    for _ in range(2):
        changed = chance.sample(inputs, min(5, len(inputs)))
        gone = {relation.name: sorted(facts[relation.name], key=str)[::2] for relation in changed}
        come = {relation.name: made_up.rows(relation, 4) - facts[relation.name] for relation in changed}
        kb.apply(holdfast.Update(insert=come, delete=gone))
        for relation in changed:
            facts[relation.name] = (facts[relation.name] - set(gone[relation.name])) | come[relation.name]
    assert _without(state_of(kb), left_out) == _without(_from_scratch(program, facts), left_out)
