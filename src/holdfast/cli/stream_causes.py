"""Why each derived fact of a change was added or removed, for `stream --why`."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from holdfast.errors import LimitReached

if TYPE_CHECKING:
    from holdfast import Change, KnowledgeBase

MOST = 100
"""The most facts of one change that are explained."""


def change_causes(change: Change, base: KnowledgeBase) -> list[dict[str, Any]]:
    """For each of the first derived facts, the parts of the update that caused it."""
    program = base.program
    derived = {rule.predicate for rule in program.rules} | {rule.predicate for rule in program.aggregates}
    facts = (
        (name, row)
        for part in (change.added, change.removed)
        for name, view in part.items()
        if name in derived or name not in program.relations
        for row in view.sorted_rows()
    )
    return [_causes(change, *fact) for fact in islice(facts, MOST)]


def _causes(change: Change, name: str, row: tuple[Any, ...]) -> dict[str, Any]:
    try:
        found = change.why(name, row)
    except LimitReached as limit:
        return {"relation": name, "error": [each.to_json() for each in limit.diagnostics]}
    assert found is not None, "it is a fact of the change"
    whole = found.as_json()
    return {key: whole[key] for key in ("fact", "change", "causes")}
