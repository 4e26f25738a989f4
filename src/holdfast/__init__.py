"""holdfast: Datalog whose consequences stay true while facts and rules change."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
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
    if name not in _HEAVY:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    module = f"holdfast.{_HEAVY[name]}"
    if module in sys.modules:
        return getattr(import_module(module), name)  # waits for a thread that is just importing it
    with _without_collecting():
        return getattr(import_module(module), name)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """To import makes many objects and no garbage: they are not searched for any, now or right afterwards."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # now they are old
            gc.enable()
