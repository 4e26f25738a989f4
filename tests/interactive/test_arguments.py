"""Wrong arguments are refused with what to write instead, nothing is changed, and our own frames are not shown."""

from __future__ import annotations

import copy
import pickle
import traceback
from typing import Any

import pytest

import holdfast
from holdfast import Choice, HoldfastError, KnowledgeBase, Limits, Lookahead, Update, UpdateQueue
from holdfast.errors import DataError, ProgramError, UsageError

RULES = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z)."
NAMES: dict[str, Any] = {
    "holdfast": holdfast,
    "Choice": Choice,
    "Limits": Limits,
    "Lookahead": Lookahead,
    "Update": Update,
    "UpdateQueue": UpdateQueue,
    "RULES": RULES,
}


@pytest.fixture
def kb() -> KnowledgeBase:
    return holdfast.from_text(RULES, {"edge": [(1, 2), (2, 3)]})


WRONG = {
    'kb.apply({"insert": {"edge": [(3, 4)]}})': "E0926",
    "kb.apply(None)": "E0926",
    "holdfast.functor(5)": "E0926",
    "holdfast.functor(lambda x: x)": "E0926",
    "kb.what_if([(1, 2)])": "E0926",
    "kb.impact(5)": "E0926",
    "kb.apply_all(Update())": "E0926",
    "kb.apply_all([{}])": "E0926",
    "kb.apply_net(5)": "E0926",
    "kb.window(Update())": "E0926",
    "kb.stream(5)": "E0926",
    "list(kb.stream([{}]))": "E0926",
    "kb.stream([], lookahead=5)": "E0905",
    "kb.apply(Update(), algorithm='dread')": "E0905",
    "kb.apply(Update(), algorithm=5)": "E0926",
    "kb.update(algorithm=5)": "E0926",
    "kb.update(algorithm='dread')": "E0905",
    "kb.query(1)": "E0926",
    "kb[5]": "E0926",
    "kb.explicit(5)": "E0926",
    "kb.counters(None)": "E0926",
    "kb.write_outputs(5)": "E0926",
    'kb.insert("edge", [(3, 4)])': "E0927",
    "kb.add_rule('p(1).')": "E0927",
    'kb.apply(Update(insert={"edge": 5}))': "E0630",
    'kb.apply(Update(insert={"edge": "abc"}))': "E0630",
    'kb.apply(Update(insert={"edge": ["ab", "cd"]}))': "E0630",
    'kb.apply(Update(insert={"edge": (3, 4)}))': "E0630",
    "kb.apply(Update(insert={5: [(1, 2)]}))": "E0926",
    "UpdateQueue().put({})": "E0926",
    "Update.from_json(5)": "E0907",
    "holdfast.open(5)": "E0926",
    'holdfast.open("path(x, y) :- edge(x, y).")': "E0902",
    "holdfast.from_text(5)": "E0926",
    'holdfast.from_text("examples/family/family.dl")': "E0926",
    "holdfast.from_text(RULES, facts=5)": "E0926",
    "holdfast.from_text(RULES, facts=[(1, 2)])": "E0926",
    'holdfast.from_text(RULES, facts={"edge": "edges.csv"})': "E0630",
    "holdfast.from_text(RULES, facts={5: [(1, 2)]})": "E0926",
    'holdfast.from_text(RULES, engine="duck")': "E0916",
    "holdfast.from_text(RULES, engine=5)": "E0916",
    'holdfast.from_text(RULES, limits={"facts": 5})': "E0926",
    "holdfast.from_text(RULES, progress=5)": "E0926",
    "holdfast.from_text(RULES, modules=5)": "E0926",
    "holdfast.from_text(RULES, modules=[5])": "E0926",
    "holdfast.from_text(RULES, output=5)": "E0926",
}
WRONG_VALUES = {
    "Update(insert=[(1, 2)])": "E0926",
    "Update(delete='edge')": "E0926",
    "Update(add_rules=5)": "E0926",
    "Update(remove_rules=[5])": "E0926",
    'Limits(facts="x")': "E0926",
    "Limits(seconds=True)": "E0926",
    'Choice("foo")': "E0905",
    "Choice(5)": "E0905",
    'Choice("auto", 5)': "E0926",
    "Lookahead(5)": "E0905",
    'UpdateQueue("a")': "E0926",
}


@pytest.mark.parametrize(("call", "code"), {**WRONG, **WRONG_VALUES}.items())
def test_wrong_arguments_are_refused_with_a_code_and_help(call: str, code: str, kb: KnowledgeBase) -> None:
    before = {name: set(view) for name, view in kb.relations.items()}
    with pytest.raises((UsageError, DataError)) as refused:
        eval(call, {**NAMES, "kb": kb})
    assert [found.code for found in refused.value.diagnostics] == [code]
    assert {name: set(view) for name, view in kb.relations.items()} == before


@pytest.mark.parametrize("call", WRONG)
def test_one_frame_of_ours_is_shown(call: str, kb: KnowledgeBase) -> None:
    try:
        eval(call, {**NAMES, "kb": kb})
    except HoldfastError as error:
        shown = "".join(traceback.format_exception(error))
        assert shown.count("/src/holdfast/") <= 1, shown
        assert shown.count("Traceback") == 1


def test_the_frames_are_kept(kb: KnowledgeBase) -> None:
    with pytest.raises(ProgramError) as refused:
        kb.query("path(1, x")
    error = refused.value
    assert error.original is not None and error.original.diagnostics == error.diagnostics
    assert "parse_body" in "".join(traceback.format_exception(error.original))
    assert str(error) == str(error.original)


@pytest.mark.parametrize(
    ("method", "argument"), [("insert", 5), ("delete", None), ("add_rules", ["p(1)."]), ("remove_rules", 5)]
)
def test_wrong_arguments_inside_a_block(method: str, argument: Any, kb: KnowledgeBase) -> None:
    with pytest.raises(UsageError, match="E0926"), kb.update() as u:
        u.insert("edge", [(7, 8)])
        getattr(u, method)(*([argument, [(1, 2)]] if method in ("insert", "delete") else [argument]))
    assert (7, 8) not in kb["edge"]


def test_a_missing_method_is_an_attribute_error(kb: KnowledgeBase) -> None:
    assert not hasattr(kb, "insert") and not hasattr(kb, "qury")
    with pytest.raises(AttributeError) as refused:
        kb.qury  # type: ignore[attr-defined]  # noqa: B018
    assert refused.value.name == "qury" and refused.value.obj is kb


def test_an_error_of_several_algorithms_for_a_relation_that_the_block_makes_is_not_too_early(kb: KnowledgeBase) -> None:
    with kb.update(algorithm=Choice("auto", {"new": "dred"})) as u:
        u.add_rules("new(x) :- path(x, _).")
    assert set(kb["new"]) == {(1,), (2,)}


def test_errors_can_be_copied_and_pickled() -> None:
    with pytest.raises(HoldfastError) as refused:
        holdfast.from_text("p(x) :- q(y).")
    for other in (copy.copy(refused.value), pickle.loads(pickle.dumps(refused.value))):
        assert type(other) is ProgramError and str(other) == str(refused.value)
        assert other.diagnostics == refused.value.diagnostics
