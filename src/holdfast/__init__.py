"""Datalog in Python: rules, facts, and everything that follows, maintained exactly while facts and rules change.

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

`open` reads a program file and `from_text` a program given as text; both return a `KnowledgeBase`.  Its relations and
the answers to queries are `RelationView`s.  An update is an `Update` and returns a `Change`.  Errors are
`HoldfastError`s.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.errors import HoldfastError
    from holdfast.explanations.absence import Absence
    from holdfast.explanations.checker import ProofError
    from holdfast.explanations.proof import Proof
    from holdfast.explanations.ways import Derivations, Supports
    from holdfast.knowledge.evaluation import Statistics
    from holdfast.knowledge.facade import KnowledgeBase
    from holdfast.knowledge.opening import from_text, open
    from holdfast.knowledge.profiling import Profile
    from holdfast.knowledge.readable import PreparedQuery
    from holdfast.knowledge.repairs import Repair, Repairs
    from holdfast.knowledge.snapshots import KnowledgeSnapshot
    from holdfast.knowledge.watches import QueryWatch, WatchChange
    from holdfast.maintenance.algorithms import Choice
    from holdfast.relation_view import RelationView
    from holdfast.settings import Limits, Progress
    from holdfast.streaming.driver import Answer, Lookahead
    from holdfast.streaming.queue import UpdateQueue
    from holdfast.updates import Causes, Change, Impact, Update
    from holdfast.user_functors import functor
    from holdfast.values import BlankNode, Iri, Literal, Record, Type

__all__ = [
    "Absence",
    "Answer",
    "BlankNode",
    "Causes",
    "Change",
    "Choice",
    "Derivations",
    "HoldfastError",
    "Impact",
    "Iri",
    "KnowledgeBase",
    "KnowledgeSnapshot",
    "Limits",
    "Literal",
    "Lookahead",
    "PreparedQuery",
    "Profile",
    "Progress",
    "Proof",
    "ProofError",
    "QueryWatch",
    "Record",
    "RelationView",
    "Repair",
    "Repairs",
    "Statistics",
    "Supports",
    "Type",
    "Update",
    "UpdateQueue",
    "WatchChange",
    "check_proof",
    "from_text",
    "functor",
    "open",
]

_HOME = {
    "Absence": "explanations.absence",
    "Answer": "streaming.driver",
    "BlankNode": "values",
    "Causes": "updates",
    "Change": "updates",
    "Choice": "maintenance.algorithms",
    "Derivations": "explanations.ways",
    "HoldfastError": "errors",
    "Impact": "updates",
    "Iri": "values",
    "KnowledgeBase": "knowledge.facade",
    "KnowledgeSnapshot": "knowledge.snapshots",
    "Limits": "settings",
    "Literal": "values",
    "Lookahead": "streaming.driver",
    "PreparedQuery": "knowledge.readable",
    "Profile": "knowledge.profiling",
    "Progress": "settings",
    "Proof": "explanations.proof",
    "ProofError": "explanations.checker",
    "QueryWatch": "knowledge.watches",
    "Record": "values",
    "RelationView": "relation_view",
    "Repair": "knowledge.repairs",
    "Repairs": "knowledge.repairs",
    "Statistics": "knowledge.evaluation",
    "Supports": "explanations.ways",
    "Type": "values",
    "Update": "updates",
    "UpdateQueue": "streaming.queue",
    "WatchChange": "knowledge.watches",
    "check_proof": "knowledge.proof_checks",
    "from_text": "knowledge.opening",
    "functor": "user_functors",
    "open": "knowledge.opening",
}
_MODULES = ("errors", "settings", "values")  # available after a plain `import holdfast`


def __getattr__(name: str) -> Any:
    """Load a name on first use, so that importing the package costs nothing."""
    if name in _MODULES:
        return import_module(f"holdfast.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("holdfast")
    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}", name=name)
    module = f"holdfast.{_HOME[name]}"
    if module in sys.modules:
        return getattr(import_module(module), name)  # waits if another thread is importing it
    from holdfast.idle_threads import idle_threads

    with _without_collecting(), idle_threads():
        return getattr(import_module(module), name)


def __dir__() -> list[str]:
    """All public names, loaded or not."""
    return sorted({*__all__, *_MODULES, "__version__", *(name for name in globals() if name.startswith("__"))})


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Suspend garbage collection: an import creates many objects and no garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # moves the new objects to the oldest generation
            gc.enable()
