"""Datalog whose consequences stay true while facts and rules change.

>>> import holdfast
>>> kb = holdfast.from_text(
...     "path(x, y) :- edge(x, y).  path(x, z) :- path(x, y), edge(y, z).",
...     facts={"edge": [(1, 2), (2, 3)]},
... )
>>> sorted(kb["path"])
[(1, 2), (1, 3), (2, 3)]
>>> with kb.update() as u:
...     u.delete("edge", [(2, 3)])
>>> u.change
<change: 2 removed from path, 1 removed from edge>
>>> kb.query("path(1, x)").head()
[(2,)]

`open` reads a program file, `from_text` a program given as text; both give a `KnowledgeBase`.  Its relations and the
answers to queries are `RelationView`s, an update is an `Update`, and what it changed a `Change`.  Errors are
`HoldfastError`s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.settings import Limits, Progress
from holdfast.values import BlankNode, Iri, Literal, Type

if TYPE_CHECKING:
    from holdfast.knowledge_base import KnowledgeBase, from_text, open
    from holdfast.maintenance.algorithms import Choice
    from holdfast.materialised import Statistics
    from holdfast.relation_view import RelationView
    from holdfast.streaming.driver import Answer, Lookahead
    from holdfast.streaming.queue import UpdateQueue
    from holdfast.updates import Change, Impact, Update

__all__ = [
    "Answer",
    "BlankNode",
    "Change",
    "Choice",
    "HoldfastError",
    "Impact",
    "Iri",
    "KnowledgeBase",
    "Limits",
    "Literal",
    "Lookahead",
    "Progress",
    "RelationView",
    "Statistics",
    "Type",
    "Update",
    "UpdateQueue",
    "from_text",
    "open",
]

_HEAVY = {
    "Answer": "streaming.driver",
    "Change": "updates",
    "Choice": "maintenance.algorithms",
    "Impact": "updates",
    "KnowledgeBase": "knowledge_base",
    "Lookahead": "streaming.driver",
    "RelationView": "relation_view",
    "Statistics": "materialised",
    "Update": "updates",
    "UpdateQueue": "streaming.queue",
    "from_text": "knowledge_base",
    "open": "knowledge_base",
}


def __getattr__(name: str) -> Any:
    """Load what needs NumPy and Arrow only when it is asked for, so that `holdfast check` starts quickly."""
    if name == "__version__":
        from importlib.metadata import version

        return version("holdfast")
    if name not in _HEAVY:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}", name=name)
    from importlib import import_module

    return getattr(import_module(f"holdfast.{_HEAVY[name]}"), name)


def __dir__() -> list[str]:
    """All that there is, loaded or not."""
    return sorted({*globals(), *__all__, "__version__"} - {"Any", "TYPE_CHECKING", "annotations"})
