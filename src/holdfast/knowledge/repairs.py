"""Repairs as people and programs see them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any, overload

from holdfast.explanations.candidates import Edit
from holdfast.explanations.matching import Fact
from holdfast.explanations.proof import quoted
from holdfast.explanations.short_names import FULL_NAMES, ShortNames
from holdfast.explanations.terms import fact_text
from holdfast.knowledge.relations import written_name
from holdfast.program.model import Program
from holdfast.quick_dataclass import dataclass
from holdfast.relation_view import RelationView
from holdfast.updates import Change, Update

MOST_SHOWN = 5
"""Side effects that a text shows; the others are counted."""


@dataclass(frozen=True, eq=False)
class Repair:
    """An update that makes the given facts true or false, and the whole change that it would make, as tested."""

    update: Update
    change: Change
    inserts: tuple[str, ...]
    deletes: tuple[str, ...]
    also_added: tuple[str, ...]  # beside what was asked: the first few
    also_removed: tuple[str, ...]
    side_effects: int  # facts that change beside the edits and what was asked
    names: ShortNames = FULL_NAMES  # in texts

    @property
    def size(self) -> int:
        """The number of facts to insert and delete."""
        return len(self.inserts) + len(self.deletes)

    def __str__(self) -> str:
        edits = [f"insert {fact}" for fact in self.inserts] + [f"delete {fact}" for fact in self.deletes]
        edits = edits or ["nothing has to change"]
        shown = [f"+ {fact}" for fact in self.also_added] + [f"- {fact}" for fact in self.also_removed]
        more = self.side_effects - len(shown)
        lines = [f"  {line}" for line in [*shown, *([f"… and {more:,} more facts change"] if more else [])]]
        return self.names("\n".join([", ".join(edits), *(["  would also change:"] if lines else []), *lines]))

    def __repr__(self) -> str:
        return f"<repair: {str(self).splitlines()[0]}; {self.side_effects:,} side effects>"

    def as_json(self) -> dict[str, Any]:
        """For `to_json`; facts are texts."""
        return {
            "insert": list(self.inserts),
            "delete": list(self.deletes),
            "sideEffects": self.side_effects,
            "alsoAdded": list(self.also_added),
            "alsoRemoved": list(self.also_removed),
        }


class Repairs(Sequence[Repair]):
    """Repairs, the fewest edits first, then the fewest side effects.

    `is_complete` says whether the search covered everything up to the limit on edits; otherwise there may be others.
    """

    def __init__(self, found: Sequence[Repair], *, is_complete: bool) -> None:
        self._found, self.is_complete = tuple(found), is_complete

    @overload
    def __getitem__(self, place: int) -> Repair: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Repair]: ...

    def __getitem__(self, place: int | slice) -> Repair | Sequence[Repair]:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __str__(self) -> str:
        lines = [f"{number}. {repair}" for number, repair in enumerate(self._found, 1)] or ["no repair was found"]
        more = [] if self.is_complete else ["there may be more: the search was not complete"]
        return "\n".join([*lines, *more]).replace("\n  ", "\n   ")

    def __repr__(self) -> str:
        return f"<repairs: {len(self)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_dot(self) -> str:
        """As a graph for Graphviz: each repair with its edits, and the first facts that it would change beside."""
        lines = ["digraph repairs {", "  rankdir=LR;", "  node [shape=box, fontname=sans];"]
        for number, repair in enumerate(self._found, 1):
            lines.append(f"  r{number} [label={quoted(str(number))}, shape=ellipse];")
            edits = [f"+ {fact}" for fact in repair.inserts] + [f"- {fact}" for fact in repair.deletes]
            also = [f"+ {fact}" for fact in repair.also_added] + [f"- {fact}" for fact in repair.also_removed]
            for kind, texts, style in (("e", edits, "filled"), ("s", also, "dashed")):
                for place, text in enumerate(texts):
                    node = f"r{number}{kind}{place}"
                    lines.append(f"  {node} [label={quoted(repair.names(text))}, style={style}];")
                    lines.append(f"  {f'{node} -> r{number}' if kind == 'e' else f'r{number} -> {node}'};")
        return "\n".join([*lines, "}"])

    def to_json(self, **options: Any) -> str:
        """As JSON."""
        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        return {"complete": self.is_complete, "repairs": [repair.as_json() for repair in self._found]}


def repair_of(
    edits: Sequence[Edit], update: Update, change: Change, asked: set[Fact], program: Program, names: ShortNames
) -> Repair:
    """A repair that was tried out."""
    expected = asked | {edit.fact for edit in edits}
    added, removed = (_others(part, expected, program) for part in (change.added, change.removed))
    known = sum(1 for edit in edits if _moves(change, edit)) + sum(1 for fact in asked if _is_moved(change, fact))
    both = sum(1 for edit in edits if edit.fact in asked)
    return Repair(
        update,
        change,
        tuple(sorted(fact_text(edit.fact) for edit in edits if edit.inserts)),
        tuple(sorted(fact_text(edit.fact) for edit in edits if not edit.inserts)),
        added,
        removed,
        len(change) - known + both,
        names,
    )


def _moves(change: Change, edit: Edit) -> bool:
    return _is_moved(change, edit.fact)


def _is_moved(change: Change, fact: Fact) -> bool:
    name, row = fact
    names = (name, f"{name}/{len(row)}")
    return any(row in part[n] for part in (change.added, change.removed) for n in names if n in part)


def _others(part: Mapping[str, RelationView], expected: set[Fact], program: Program) -> tuple[str, ...]:
    return tuple(islice(_other_facts(part, expected, program), MOST_SHOWN))


def _other_facts(part: Mapping[str, RelationView], expected: set[Fact], program: Program) -> Iterator[str]:
    for name, view in part.items():
        written = written_name(name, len(view.types), program)
        for row in sorted(view, key=str):
            if (written, row) not in expected:
                yield fact_text((written, row))
