"""What hard use and random programs found, each as a user would meet it."""

from __future__ import annotations

from itertools import permutations

import pytest

import holdfast
from holdfast.errors import DataError, EvaluationError, HoldfastError, LimitReached, ProgramError
from holdfast.language import parse
from holdfast.program import check
from holdfast.settings import Limits
from holdfast.update_lines import UpdateLine
from holdfast.updates import Update

from .judge import judge
from .programs import program

_EQUATIONS = ["amount(n)", "k = n + 1", "k = m", "m = j", "j < 9"]


@pytest.mark.parametrize("order", [*permutations(range(5))][::7])
def test_equations_stand_in_any_order(order: tuple[int, ...]) -> None:
    kb = holdfast.from_text(f"amount(1). amount(2). next(j) :- {', '.join(_EQUATIONS[i] for i in order)}.")
    assert set(kb.relations["next"]) == {(2,), (3,)}
    kb.apply(Update(delete={"amount": [(1,)]}, insert={"amount": [(4,), (9,)]}))
    assert set(kb.relations["next"]) == {(3,), (5,)}


def test_a_recursion_through_equal_variables_is_warned_of() -> None:
    warnings = check(parse("p(0). p(m) :- p(n), k = n + 1, k = m.")).warnings
    assert [warning.code for warning in warnings] == ["W0003"]


_BIG, _LONE = "9" * 5000, "\\ud800"
_LINES = [
    f'{{"insert": {{"p": [[{_BIG}]]}}}}',
    f'{{"insert": {{"s": [["{_LONE}"]]}}}}',
    f'{{"insert": {{"p": [["{_LONE}"]]}}}}',
    f'{{"insert": {{"{_LONE}": [[1]]}}}}',
    f'{{"insert": {{"a": [[{{"@value": "x", "@language": "{_LONE}"}}]]}}}}',
    f'{{"insert": {{"a": [[{{"@value": "x", "@type": "{_LONE}"}}]]}}}}',
    f'{{"insert": {{"a": [[{{"@id": "_:{_LONE}"}}]]}}}}',
    f'{{"add_rules": ["q(x) :- p(x), x < {_BIG}."]}}',
    f'{{"add_rules": ["q(x) :- s(x), x = \\"{_LONE}\\"."]}}',
    f'{{"remove_rules": ["{_LONE}"]}}',
]
_DECLARED = ".decl p(x: number) .decl s(x: symbol) .decl a(x: any) .decl q(x: number) q(x) :- p(x)."


@pytest.mark.parametrize("line", _LINES, ids=map(str, range(len(_LINES))))
def test_an_update_that_cannot_be_is_a_typed_error_with_its_line(line: str) -> None:
    kb, update = holdfast.from_text(_DECLARED), UpdateLine("u.jsonl", 3, 1, line.encode())
    with pytest.raises(HoldfastError) as caught:
        kb.apply(update.update())
    placed = update.placed(caught.value)
    assert "u.jsonl:3:" in str(placed)
    str(placed).encode()
    assert not any(len(view) for view in kb.relations.values())


_VALUES = {
    "huge": 10**5000,
    "hugely negative": -(10**5000),
    "lone": "\ud800",
    "huge in a list": [10**5000],
    "lone in an IRI": holdfast.Iri("\ud800"),
}


@pytest.mark.parametrize("value", _VALUES.values(), ids=_VALUES)
@pytest.mark.parametrize("relation", ["p", "s", "a"])
def test_a_value_that_cannot_be_is_a_typed_error(relation: str, value: object) -> None:
    kb = holdfast.from_text(_DECLARED)
    with pytest.raises(DataError) as caught:
        kb.apply(Update(insert={relation: [(value,)]}))
    str(caught.value).encode()


@pytest.mark.parametrize("query", [f"p({_BIG})", 's("\ud800")', "'\udc00'(x)"], ids=["huge", "lone", "lone name"])
def test_a_query_that_cannot_be_is_a_typed_error(query: str) -> None:
    with pytest.raises(ProgramError) as caught:
        holdfast.from_text(_DECLARED).query(query)
    str(caught.value).encode()


def test_rules_change_beside_a_directive_for_a_relation_that_only_facts_mention() -> None:
    kb = holdfast.from_text("e0(1). e1(2). p(x) :- e1(x).\n.output e0, p")
    kb.apply(Update(add_rules=["q(x) :- e1(x)."]))
    assert set(kb.relations["q"]) == {(2,)}
    assert set(kb.relations["e0"]) == {(1,)}


# --- shifts ------------------------------------------------------------------------------------------

_SHIFTS = [(1, "bshl", 62), (1, "bshl", 63), (-1, "bshl", 63), (3, "bshl", 62), (1, "bshl", 64), (1, "bshr", 64)]
_SHIFTS += [
    (1, "bshr", -1),
    (-8, "bshru", 63),
    (-8, "bshru", 64),
    (0, "bshl", -1),
    (2, "^", -1),
    (-1, "^", -3),
    (0, "^", -1),
]


@pytest.mark.parametrize(("left", "operator", "right"), _SHIFTS)
def test_constants_and_data_are_shifted_alike(left: int, operator: str, right: int) -> None:
    exact = {"bshl": left * 2.0**right, "bshr": 0, "bshru": 1, "^": 0 if left == 2 else -1}[operator]
    fits = -(2**63) <= exact < 2**63 and (right in range(64) if operator != "^" else left != 0)
    text = f"r(x {operator} y) :- e(x, y)."
    if fits:
        kb = holdfast.from_text(text, {"e": [(left, right)]})
        assert (
            set(kb.relations["r"])
            == {(int(exact),)}
            == set(holdfast.from_text(f"r(({left}) {operator} ({right})).").relations["r"])
        )
        return
    with pytest.raises(EvaluationError):
        holdfast.from_text(text, {"e": [(left, right)]})
    with pytest.raises(ProgramError):
        holdfast.from_text(f"r(({left}) {operator} ({right})).")


# --- limits on seconds, and patterns -----------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)*b", "(.*)*x", "(a*)*(a*)*b"])
def test_patterns_from_data_take_linear_time(pattern: str) -> None:
    facts = {"p": [(pattern,)], "s": [("a" * 20_000,), ("a" * 9 + "b",)]}  # a backtracking engine would never end
    kb = holdfast.from_text(
        ".decl p(x: symbol) .decl s(x: symbol) .decl m(x: symbol) m(y) :- p(x), s(y), match(x, y).", facts
    )
    assert len(kb.relations["m"]) == (pattern != "(.*)*x")


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)a", "(?<!b)a", "a)(b", "(", "a{99999}", "a++"])
def test_what_cannot_be_matched_in_linear_time_is_refused(pattern: str) -> None:
    text = '.decl p(x: symbol) .decl m(x: symbol) m(x) :- p(x), match(x, "a").'
    with pytest.raises(EvaluationError, match="regular expression"):
        holdfast.from_text(text, {"p": [(pattern,)]})


class _Clock:
    """A clock that makes a step at each look."""

    def __init__(self, step: float) -> None:
        self.now, self.step, self.looks = 0.0, step, 0

    def monotonic(self) -> float:
        self.now, self.looks = self.now + self.step, self.looks + 1
        return self.now


@pytest.mark.parametrize("step", [0.001, 0.01, 0.1, 0.5])
def test_the_limit_on_seconds_holds_before_anything_is_evaluated(step: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier the clock has run out, the earlier in parsing, checking or planning the run ends."""
    monkeypatch.setattr("holdfast.deadline.time", clock := _Clock(step))
    text = "\n".join(f"p{i}(x) :- e(x), x = {i}, !q(x)." for i in range(400))
    with pytest.raises(LimitReached, match="1 seconds"):
        holdfast.from_text(text, limits=Limits(seconds=1))
    assert clock.now <= 1 + 3 * step


def test_the_limit_on_seconds_holds_for_rules_and_queries_that_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = holdfast.from_text("e(1). p(x) :- e(x).", limits=Limits(seconds=1))
    monkeypatch.setattr("holdfast.deadline.time", _Clock(0.01))
    rules = "\n".join(f"p{i}(x) :- e(x), x = {i}." for i in range(400))
    with pytest.raises(LimitReached):
        kb.apply(Update(add_rules=[rules]))
    with pytest.raises(LimitReached):
        kb.query(", ".join(f"e(x{i})" for i in range(400)))
    assert set(kb.relations) == {"e", "p"}


def test_constants_of_the_wrong_type_are_a_conflict_and_no_internal_error() -> None:
    """A variable is a symbol inside an aggregate and a number outside of it: `min` was folded over both."""
    judge(program(7700753))
