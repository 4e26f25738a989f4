"""A warning: a relation without facts whose name is almost that of another was probably misspelt."""

from __future__ import annotations

from collections.abc import Set

from holdfast.language import tree
from holdfast.program.names import KnownRelation, Names
from holdfast.program.similar import can_slip, similar, slip, slips


def warn_of_misspelt(program: tree.Program, names: Names, given: Set[str]) -> None:
    """Warn of relations that only occur in bodies; `given` are those that have facts from elsewhere.

    If two similar names are only read, the first in the text is assumed to be right.
    """
    heads = [head for item in program.items if isinstance(item, tree.Rule) for head in item.heads]
    filled = given | {names.predicate_of(head) for head in heads}
    right: dict[str, list[KnownRelation]] = {}  # by their names with one letter left out
    for relation in names.relations.values():
        if _is_filled(relation, filled):
            _add(relation, right)
    for relation in names.relations.values():
        if _is_filled(relation, filled) or not can_slip(relation.display):
            continue
        near = {r.name: r for left in slips(relation.display) for r in right.get(left, ())}
        alike = [r.display for r in near.values() if r.arity == relation.arity and slip(relation.display, r.display)]
        if alike and relation.span is not None:
            message = f"{relation.display} has no rules, facts or .input here"
            names.diagnostics.warning("W0007", message, relation.span, help=similar(relation.display, alike))
        _add(relation, right)


def _add(relation: KnownRelation, right: dict[str, list[KnownRelation]]) -> None:
    if can_slip(relation.display):
        for left in slips(relation.display):
            right.setdefault(left, []).append(relation)


def _is_filled(relation: KnownRelation, filled: Set[str]) -> bool:
    """Whether facts can come from somewhere; declared, quoted and RDF names are not questioned."""
    has_input = any(io.kind == "input" for io in relation.io)
    return relation.declared or not relation.name.isidentifier() or has_input or relation.name in filled
