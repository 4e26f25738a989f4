"""Functors that a user writes in Python: called once for each tuple of arguments, maintained, and wrong ones named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import holdfast
from holdfast import user_functors
from holdfast.errors import EvaluationError, UsageError

from .. import amounts

PROGRAM = """
.functor double(x: number): number
.functor join(symbol, number): symbol
.functor answer(): unsigned
.decl p(s: symbol, x: number)
.decl q(s: symbol, x: number, n: unsigned)
q(@join(s, x), @double(x), @answer()) :- p(s, x).
.decl same(x: number)
same(x) :- p(_, x), @double(x) = x.
"""


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(user_functors, "_REGISTERED", {})
    yield


def _define(**functors: Any) -> None:
    for name, function in functors.items():
        holdfast.functor(name=name)(function)


def test_functors_are_computed_and_maintained() -> None:
    calls: list[tuple[str, int]] = []

    def join(text: str, number: int) -> str:
        calls.append((text, number))
        return f"{text}{number}"

    _define(double=lambda x: 2 * x, join=join, answer=lambda: 2**64 - 1)
    kb = holdfast.from_text(PROGRAM, {"p": [("a", 1), ("b", 0)]})
    assert set(kb["q"]) == {("a1", 2, 2**64 - 1), ("b0", 0, 2**64 - 1)}
    assert set(kb["same"]) == {(0,)}
    assert amounts.ENGINE == "spark" or sorted(calls) == [("a", 1), ("b", 0)]  # there, other processes call it
    change = kb.apply(holdfast.Update(insert={"p": [("c", 3)]}, delete={"p": [("b", 0)]}))
    assert set(change.added["q"]) == {("c3", 6, 2**64 - 1)}
    assert set(change.removed["q"]) == {("b0", 0, 2**64 - 1)}
    assert set(kb["same"]) == set()
    assert set(kb.query("p(s, _), t = @join(s, 9)")) == {("a", "a9"), ("c", "c9")}


def test_a_vectorised_functor_takes_a_batch_at_once() -> None:
    sizes: list[int] = []

    @holdfast.functor(vectorised=True)
    def double(x: Any) -> Any:
        sizes.append(len(x))
        return x * 2

    _define(join=lambda s, x: s, answer=lambda: 1)
    kb = holdfast.from_text(PROGRAM, {"p": [("a", x) for x in range(50)]})
    assert {row[1] for row in kb["q"]} == {2 * x for x in range(50)}
    if amounts.ENGINE != "spark":  # where other processes call it
        assert sizes == [50, 50] or (amounts.ENGINE == "parted" and sum(sizes) == 100)  # one on each shard


@pytest.mark.parametrize(
    ("double", "message"),
    [
        (lambda x: 1 // x, "@double raised ZeroDivisionError: integer division or modulo by zero"),
        (lambda x: "two", '@double(0) gave a wrong value: "two" is not a number'),
        (lambda x: None, "@double(0) gave a wrong value: None is not a number"),
        (lambda x: 1.5, "@double(0) gave a wrong value: 1.5 is not an integer"),
    ],
)
def test_what_goes_wrong_names_the_rule_and_keeps_nothing(double: Any, message: str) -> None:
    _define(double=lambda x: x, join=lambda s, x: s, answer=lambda: 1)
    kb = holdfast.from_text(PROGRAM, {"p": [("a", 1)]})
    before = {name: set(rows) for name, rows in kb.relations.items()}
    _define(double=double)
    with pytest.raises(EvaluationError) as refused:
        kb.apply(holdfast.Update(insert={"p": [("a", 0)]}))
    assert message in str(refused.value)
    assert "rule r1 " in str(refused.value) or "rule r2 " in str(refused.value)
    assert {name: set(rows) for name, rows in kb.relations.items()} == before


def test_a_functor_without_a_function_is_refused_before_anything_runs() -> None:
    _define(double=lambda x: x, answer=lambda: 1)
    with pytest.raises(UsageError) as refused:
        holdfast.from_text(PROGRAM, {"p": []})
    assert refused.value.diagnostics[0].code == "E0923"


@pytest.mark.only_in_memory("has watches")
def test_rules_and_queries_that_come_later_are_refused_too() -> None:
    kb = holdfast.from_text(".functor never(number): number\n.decl p(x: number)", {"p": [(1,)]})
    update = holdfast.Update(add_rules=["p(@never(x)) :- p(x)."])
    for call in (
        lambda: kb.apply(update),
        lambda: kb.what_if(update),
        lambda: list(kb.stream([update])),
        lambda: kb.query("p(x), y = @never(x)"),
        lambda: kb.prepare("p(x), y = count : { p(@never(x)) }"),
        lambda: kb.watch("p(x), y = @never(x)"),
    ):
        with pytest.raises(UsageError) as refused:
            call()
        assert refused.value.diagnostics[0].code == "E0923"
    assert set(kb["p"]) == {(1,)}
