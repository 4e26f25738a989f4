"""Whole programs in batches of a few bindings, and with two threads for each of them, against the usual way."""

from __future__ import annotations

import pytest

import holdfast

from .building import small_batches

PAIRS = [(i * 7 % 13, i * 5 % 11) for i in range(60)]
WORDS = [("a",), ("bb",), ("ccc",), ("",)]
PROGRAMS = {
    "closure": ("r(x, y) :- e(x, y).\nr(x, z) :- r(x, y), e(y, z).", {"e": PAIRS}),
    "same generation": ("s(x, x) :- e(x, _).\ns(x, y) :- e(p, x), s(p, q), e(q, y).", {"e": PAIRS}),
    "triangles": ("t(x, y, z) :- e(x, y), e(y, z), e(z, x), x != y.", {"e": PAIRS}),
    "product": ("p(x, y, z) :- e(x, _), e(_, y), e(z, z).", {"e": PAIRS}),
    "negation": ("n(x, y) :- e(x, _), e(_, y), !e(x, y), !e(y, _).", {"e": PAIRS}),
    "repeated": ("d(x) :- e(x, x).\nq(x, y) :- e(x, y), e(y, y), e(x, x).", {"e": PAIRS}),
    "constants": ("c(x, 1) :- e(3, x), e(x, _), !e(x, 4).", {"e": PAIRS}),
    "arithmetic": ("a(x + y, x * y) :- e(x, y), x < y.\nb(x, n) :- e(x, y), n = range(x, y).", {"e": PAIRS}),
    "strings": ('w(cat(x, y), strlen(x)) :- word(x), word(y), contains("b", y).', {"word": WORDS}),
    "aggregates": (
        "deg(x, n) :- e(x, _), n = count : { e(x, _) }.\ntop(max(n)) :- deg(_, n).\nmid(x, median(y)) :- e(x, y).",
        {"e": PAIRS},
    ),
    "mutual": ("even(0).\nodd(x + 1) :- even(x), x < 40.\neven(x + 1) :- odd(x), x < 40.", {}),
    "no columns": ("yes() :- e(x, x).\nno() :- !yes().\nboth(x) :- e(x, _), yes(), !no().", {"e": PAIRS}),
}


def everything(program: str, facts: dict[str, list[tuple[object, ...]]]) -> dict[str, object]:
    kb = holdfast.from_text(program, facts=facts)
    return {name: kb.counters(name) for name in kb.relations} | {"instances": kb.statistics.instances}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("batch", "worth_splitting"), [(1, None), (3, None), (3, 1), (7, 2)])
def test_small_batches_change_nothing(name: str, batch: int, worth_splitting: int | None) -> None:
    program, facts = PROGRAMS[name]
    usual = everything(program, facts)
    with small_batches(batch, worth_splitting):
        assert everything(program, facts) == usual
