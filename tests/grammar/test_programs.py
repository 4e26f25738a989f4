"""Random programs over the whole grammar, and texts that are nearly programs: see `judge`.

This is a sample; `make fuzz` goes on for as long as one likes.  What cannot be found here: mistakes that the oracle
shares, and forms that it does not know, of which only the way they end is judged.
"""

from __future__ import annotations

from collections import Counter

import pytest

from .corrupt import corrupted
from .fuzz import judged
from .judge import judge, judge_text
from .programs import SHAPES, program

SEEDS = range(4_000, 4_060)


def test_every_shape_comes() -> None:
    came = set().union(*(program(seed).shapes for seed in range(800)))
    assert came >= SHAPES


def test_a_program_is_the_same_for_the_same_seed() -> None:
    assert program(7).text == program(7).text
    assert corrupted(7) == corrupted(7)


@pytest.mark.parametrize("first", SEEDS[::10])
def test_random_programs_and_texts_are_judged(first: int) -> None:
    came = Counter(answer for seed in range(first, first + 10) for answer in judged(seed))
    assert came.total() == 20


def test_enough_of_them_run_and_are_compared_with_the_oracle() -> None:
    came = Counter(judge(program(seed)) for seed in SEEDS[:30])
    assert came["agreed"] >= 5
    assert came["agreed"] + came["ran"] >= 10


FOUND = {
    "an equation of variables that another equation gives": "amount(1). next(m) :- amount(n), k = n + 1, k = m.",
    "the same backwards": "amount(1). next(m) :- m = k, n + 1 = k, amount(n).",
    "the least number twice in one term": "p(x) :- x = (-9223372036854775808 land -7) lxor (-9223372036854775808).",
    "relations called like aggregates": "count(1). max(1). p(x) :- count(x), max(x).",
    "limitsize without its number": ".limitsize p\np(x) :- p(x). p(1).",
    "limitsize of a digit that is none": '.limitsize p(n="²")\np(x) :- p(x). p(1).',
    "limitsize of thousands of digits": f".limitsize p(n={'7' * 5000})\np(x) :- p(x). p(1).",
    "columns of thousands of digits": f'.input p(columns="{"7" * 5000}")\nq(x) :- p(x).',
    "thousands of digits": f"p({'9' * 5000}).",
    "thousands of digits, unsigned": f"p(-1, {'9' * 5000}u).",
    "thousands of zeros": f"p({'0' * 5000}7).",
    "a lone surrogate": 'p("a\ud800").',
    "a lone surrogate in a comment": "p(1). // \udfff",
    "an escaped surrogate": r'p("\ud83d\ude00").',
    "half an escape": r'p("\u12").',
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_what_random_texts_found(text: str) -> None:
    judge_text(text)
