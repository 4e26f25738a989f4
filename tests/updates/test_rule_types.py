"""A rule that was added can be removed again, whatever types were inferred in between."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast import Update

RULES = 'p(v) :- p(v), y = str(as(v, any)), q(y).  n(1).  q("1").'
ADDED = "p(to_string(x)) :- n(x)."


def _types(kb: holdfast.KnowledgeBase) -> tuple[str, ...]:
    return tuple(type.value for type in kb.program.relations["p"].types)


def test_a_removed_rule_leaves_the_types_that_facts_are_stored_by() -> None:
    kb = holdfast.from_text(RULES)
    assert _types(kb) == ("any",)
    kb.apply(Update(add_rules=[ADDED]))
    assert (_types(kb), set(kb["p"])) == (("symbol",), {("1",)})
    kb.apply(Update(remove_rules=[ADDED]))
    assert (_types(kb), set(kb["p"])) == (("symbol",), set())


@pytest.mark.only_in_memory("can undo updates")
def test_an_added_rule_can_be_undone() -> None:
    kb = holdfast.from_text(RULES)
    kb.apply(Update(add_rules=[ADDED]))
    kb.undo()
    assert set(kb["p"]) == set()


@pytest.mark.only_in_memory("has a store")
def test_so_does_a_store_that_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "r.dl").write_text(RULES)
    with holdfast.open(tmp_path / "r.dl", store=tmp_path / "kb") as kb:
        kb.apply(Update(add_rules=[ADDED], insert={"p": [("z",)]}))
        kb.apply(Update(remove_rules=[ADDED]))
    with holdfast.open(tmp_path / "kb") as kb:
        assert (_types(kb), set(kb["p"])) == (("symbol",), {("z",)})
        kb.apply(Update(add_rules=[ADDED]))
        assert set(kb["p"]) == {("1",), ("z",)}
