"""What `dir`, `help` and a notebook show."""

from __future__ import annotations

import doctest
import pydoc
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib.metadata import version

import pytest

import holdfast
from holdfast import KnowledgeBase, Update


@pytest.fixture
def kb() -> KnowledgeBase:
    rules = "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z).  size(count(x)) :- edge(x, _)."
    return holdfast.from_text(rules, {"edge": [(1, 2), (2, 3)]})


def test_dir_and_help_show_all_that_there_is() -> None:
    assert {*holdfast.__all__, "__version__", "__doc__"} <= {*dir(holdfast)}
    assert holdfast.__version__ == version("holdfast")
    text = pydoc.plain(pydoc.render_doc(holdfast))
    assert [name for name in holdfast.__all__ if name not in text] == []
    assert "facts=" in pydoc.plain(pydoc.render_doc(holdfast.open))


def test_the_version_and_the_names_load_nothing_heavy() -> None:
    code = "import sys, holdfast; dir(holdfast); holdfast.__version__; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="opne"):
        holdfast.opne  # noqa: B018


def test_examples_in_docstrings_run() -> None:
    from holdfast.knowledge import opening

    for module in (holdfast, opening):
        result = doctest.testmod(module, extraglobs={"holdfast": holdfast})
        assert result.failed == 0 and result.attempted


def test_a_knowledge_base_counts_what_it_has_now(kb: KnowledgeBase) -> None:
    assert repr(kb) == "<knowledge base: 2 facts, 4 derived>"
    kb.apply(Update(insert={"edge": [(3, 4)]}))
    assert repr(kb) == "<knowledge base: 3 facts, 7 derived>"


def test_a_knowledge_base_in_a_notebook(kb: KnowledgeBase) -> None:
    table = ElementTree.fromstring(kb._repr_html_())
    rows = [[cell.text for cell in row] for row in table.iter("tr")]
    assert table.findtext("caption") == "knowledge base: 2 facts, 4 derived"
    assert ["path", "x: number, y: number", "3", "0"] in rows
    assert ["edge", "x: number, y: number", "2", "2"] in rows
    assert len(rows) == 1 + len(kb.relations)


def test_names_are_escaped_in_a_notebook() -> None:
    kb = holdfast.from_text("<http://a/b&c>(1).")
    for html in (kb._repr_html_(), kb["http://a/b&c"]._repr_html_()):
        assert "&lt;http://a/b&amp;c&gt;" in html
        ElementTree.fromstring(html)


def test_the_graph_shows_itself(kb: KnowledgeBase) -> None:
    graph = kb.graph()
    ElementTree.fromstring(graph._repr_svg_())
    assert "hyper-node 1: " in str(graph)
    assert "digraph" in graph.dot()
    assert repr(graph) == f"<graph: {len(kb.program.nodes)} hyper-nodes>"
    assert len(graph.json()["nodes"]) == len(kb.program.nodes)  # type: ignore[arg-type]


def test_iterating_gives_the_names_of_relations(kb: KnowledgeBase) -> None:
    assert list(kb) == list(kb.relations)
    assert all(name in kb for name in kb)
