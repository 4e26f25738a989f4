"""`.limitsize` breaks the recursion of its hyper-node off between rounds, as Soufflé does; nothing else is limited."""

from __future__ import annotations

import pytest

import holdfast

COUNT = "count(1). count(n + 1) :- count(n), n < 1000.\n"


def sizes(text: str) -> dict[str, int]:
    kb = holdfast.from_text(text)
    return {name: len(view) for name, view in kb.relations.items()}


def test_the_example_of_souffles_documentation() -> None:
    assert sizes(COUNT + ".limitsize count(n=47)") == {"count": 47}


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    assert sizes(COUNT + ".limitsize count(n=1001)") == {"count": 1000}


def test_the_smallest_of_several_limits_holds() -> None:
    assert sizes(COUNT + ".limitsize count(n=40)\n.limitsize count(n=7)") == {"count": 7}


def test_the_round_in_which_the_limit_is_reached_is_kept_whole() -> None:
    text = "p(1). p(2). p(3). p(n + 10) :- p(n).\n.limitsize p(n=4)"
    assert sizes(text) == {"p": 6}


def test_mutually_recursive_relations_stop_together_and_readers_go_on() -> None:
    text = "even(0). odd(n + 1) :- even(n). even(n + 1) :- odd(n). both(n) :- even(n) ; odd(n).\n.limitsize odd(n=3)"
    assert sizes(text) == {"even": 3, "odd": 3, "both": 6}


def test_a_relation_that_is_not_recursive_is_not_limited() -> None:
    assert sizes("p(1). p(2). q(x) :- p(x).\n.limitsize q(n=1)") == {"p": 2, "q": 2}


@pytest.mark.parametrize(("limit", "instances"), [("", 1000 - 1), (".limitsize count(n=47)", 46)])
def test_instances_are_counted_once(limit: str, instances: int) -> None:
    assert holdfast.from_text(COUNT + limit).statistics.instances == instances
