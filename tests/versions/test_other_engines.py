"""An engine that keeps no versions: queries with parameters work, one call at a time; the rest is refused by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
from holdfast import KnowledgeBase, Update

from ..backends.model import ModelBackend

RULES = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z).  named(x) :- label(x, _)."


@pytest.fixture
def kb() -> KnowledgeBase:
    return holdfast.from_text(RULES, {"edge": [(1, 2), (2, 3)], "label": [(1, "a")]}, engine=ModelBackend)


def test_parameters_and_prepared_queries(kb: KnowledgeBase) -> None:
    ask = kb.prepare("path($from, x), !label(x, $label)")
    assert set(ask({"from": 1, "label": "never seen"})) == {(2,), (3,)}
    change = kb.apply(Update(insert={"edge": [(3, 4)]}))
    assert change.version == kb.version == 1
    assert set(ask({"from": 1, "label": "a"})) == {(2,), (3,), (4,)}
    assert set(kb.query("path($from, x)", {"from": 3})) == {(4,)} and (1, 4) in kb["path"]
    assert set(kb.relations) == {"path", "edge", "label", "named"}, "a query leaves no relation"
    assert change.to_json()["added"]["edge"] == [[3, 4]]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda kb: kb.snapshot(), "E0917"),
        (lambda kb: kb.watch("path(1, x)"), "E0917"),
        (lambda kb: kb.undo(), "E0953"),
        (lambda kb: kb.apply(Update(insert={"edge": [(3, 4)]})).inverse(), "E0953"),
        (lambda kb: kb.query("path($from, x)"), "E0950"),
        (lambda kb: kb.query("path($from, x)", {"from": "a"}), "E0951"),
    ],
)
def test_what_needs_versions_is_refused(kb: KnowledgeBase, call: Callable[[KnowledgeBase], object], code: str) -> None:
    with pytest.raises(holdfast.HoldfastError) as caught:
        call(kb)
    assert caught.value.diagnostics[0].code == code
