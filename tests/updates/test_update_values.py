"""Updates and changes as values: how they may be given, how they show themselves, and what they leave as it was."""

from __future__ import annotations

import pytest

import holdfast
from holdfast import HoldfastError, KnowledgeBase, Update

RULES = """\
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
lonely(x) :- node(x), !path(x, _).
reached(x, count(y)) :- path(x, y).
"""


def opened() -> KnowledgeBase:
    return holdfast.from_text(RULES, {"edge": [(1, 2), (2, 3), (3, 1), (3, 4)], "node": [(n,) for n in range(6)]})


def test_a_string_is_one_text_of_rules() -> None:
    kb = opened()
    kb.apply(Update(add_rules="start(x) :- edge(x, _)."))
    assert set(kb["start"]) == {(1,), (2,), (3,)}
    kb.apply(Update(remove_rules="start(x) :- edge(x, _)."))
    assert "start" not in kb.relations


def test_columns_keep_their_names_when_rules_go_and_come() -> None:
    kb = holdfast.from_text("big(size) :- n(size). big(x) :- m(x). m(width) :- k(width).", {"n": [(1,)], "k": [(2,)]})
    names = {name: view.columns for name, view in kb.relations.items()}
    kb.apply(Update(remove_rules=["r1"], add_rules=["big(other) :- k(other)."]))
    assert {name: kb[name].columns for name in names} == names
    assert names["big"] == names["n"] == ("size",)


def test_changes_and_impacts_show_themselves_briefly() -> None:
    kb = opened()
    update = Update(insert={"edge": [(5, 6)]})
    reported = "<change: 1 added to edge, 1 added to path, 1 added to reached, 1 removed from lonely>"
    impact = kb.impact(update)
    assert sorted(repr(impact.change)[9:-1].split(", ")) == sorted(reported[9:-1].split(", "))
    assert repr(impact).startswith("<impact on edge, path") and repr(impact).endswith(f"; {impact.change!r}>")
    change = kb.apply(update)
    assert repr(change) == repr(impact.change)
    assert repr(change.added["edge"]).endswith(": 1 fact>")
    assert repr(kb.apply(update)) == "<change: nothing>"


def test_rules_that_would_change_types_are_shown() -> None:
    with pytest.raises(HoldfastError, match=r"(?s)E0912.*<add_rules>:1:1"):
        opened().apply(Update(add_rules=['path("a", "b") :- edge(_, _).']))


def test_only_facts_from_elsewhere_and_new_names_count_for_misspelt_relations() -> None:
    kb = holdfast.from_text("p(x) :- edge(x), edgy(x), nodes(x).", {"edgy": [(1,)]})
    assert [w.message.split()[0] for w in kb.warnings] == ["edge"]
    kb.apply(Update(add_rules="p(x) :- noddes(x)."))
    assert [w.message.split()[0] for w in kb.warnings] == ["noddes"]


def test_where_types_are_unknown_the_declaration_is_offered() -> None:
    kb = holdfast.from_text("o(x) :- p(x, _).")
    kb.apply(Update(insert={"p": [(1, 2)]}))
    with pytest.raises(HoldfastError, match=r"(?s)E0912.*declare them: \.decl o\(x: number\)"):
        kb.apply(Update(add_rules=["q(x + 1) :- p(x, _)."]))
