"""No text is too deep or too long: the deep ones are refused with an error of ours, the long ones work."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.errors import ProgramError
from holdfast.language import parse, parse_body
from holdfast.language.formatter import format_source
from holdfast.language.nesting import DEEPEST
from holdfast.program import check


def forms(depth: int) -> dict[str, str]:
    """Clauses that nest so deeply, each in another way."""
    return {
        "brackets": f"p({'(' * (depth - 1)}1{')' * (depth - 1)}).",
        "brackets of formulas": f"p(x) :- {'(' * (depth - 1)}q(x){')' * (depth - 1)}.",
        "operators": f"p(x) :- q(y), x = y{' + 1' * depth}.",
        "powers": f"p(x) :- q(y), x = y{' ^ 1' * depth}.",
        "signs": f"p({'-' * (depth - 1)}1).",
        "negations": f"p(x) :- q(x), {'!' * (depth - 1)}q(x).",
        "functors": f"p({'abs(' * (depth - 1)}1{')' * (depth - 1)}).",
        "aggregates": f"p() :- {'0 = count : { q(_), ' * (depth - 1)}q(_){' }' * (depth - 1)}.",
        "operators and brackets": f"p(x) :- q(y), x = {'(' * (depth // 2)}y{' + 1)' * (depth // 2)}.",
        "choices": f"p(x) :- {'(q(x) ; (q(x), ' * (depth // 2 - 1)}q(x){'))' * (depth // 2 - 1)}.",
    }


@pytest.mark.parametrize("form", forms(2))
def test_what_is_just_deep_enough_works(form: str) -> None:
    text = "q(1). " + forms(DEEPEST)[form]
    assert format_source(format_source(text)) == format_source(text)
    assert "p" in holdfast.from_text(text)


@pytest.mark.parametrize("depth", [DEEPEST + 4, 20_000])
@pytest.mark.parametrize("form", forms(2))
def test_what_is_too_deep_is_refused(form: str, depth: int) -> None:
    text = forms(depth)[form] + "\nq(1)."
    for read in (parse, format_source):
        with pytest.raises(ProgramError) as caught:
            read(text)
        assert [item.code for item in caught.value.diagnostics] == ["E0117"]
        assert len(str(caught.value)) < 1000  # not the whole line


def test_a_query_that_is_too_deep_is_refused() -> None:
    with pytest.raises(ProgramError, match="E0117"):
        parse_body(f"x = {'(' * 5000}1{')' * 5000}")


def test_brackets_that_never_close_or_never_open_are_no_trouble() -> None:
    for text in ("p(" * 5000, "p" + ")" * 5000, "p(x) :- " + "{" * 5000):
        with pytest.raises(ProgramError):
            parse(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (f"p(x) :- {', '.join(['q(x)'] * 1000)}.", 1),
        (f"p(x) :- {' ; '.join(['q(x)'] * 1000)}.", 1),
        (f"p(x) :- q(x), {', '.join(f'x != {i}' for i in range(2, 1002))}.", 1),
        (f"p(x) :- q(y), x = max({', '.join(['y'] * 1000)}).", 1),
        (" ".join(f"p({i})." for i in range(2_000)), 2_000),
        (", ".join(["p(x)"] * 1000) + " :- q(x).", 1),
    ],
)
def test_what_is_long_but_flat_works(text: str, size: int) -> None:
    text = f"q(1). {text}"
    assert check(parse(format_source(text))).relations.keys() == {"q", "p"}
    assert len(holdfast.from_text(text)["p"]) == size


@pytest.mark.parametrize(
    "text",
    [
        f"p(x) :- {', '.join(['(q(x) ; r(x))'] * 40)}.",
        f"p(x) :- s(x), !({' ; '.join(['(q(x), r(x))'] * 40)}).",
        f"p(x) :- {' ; '.join(['(' + ', '.join(['(q(x) ; r(x))'] * 12) + ')'] * 40)}.",
        f"p(x) :- s(x), {', '.join(f'n{i} = count : {{ q(x, {i}) }}' for i in range(20))}.",
        f"{', '.join(f'p{i}(x)' for i in range(200))} :- {', '.join(['(q(x) ; r(x))'] * 8)}.",
        f"p(n) :- n = count : {{ {', '.join(['(q(x) ; r(x))'] * 40)} }}.",
    ],
)
def test_what_would_become_too_many_rules_is_refused(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check(parse(text))
    assert [item.code for item in caught.value.diagnostics] == ["E0213"]
