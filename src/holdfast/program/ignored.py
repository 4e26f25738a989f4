"""Directives for Soufflé's compiler that holdfast does not need: one warning for a program, however many there are."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.errors import Diagnostics
from holdfast.language import tree

_STORAGE = frozenset({"btree", "btree_delete", "brie", "inline", "no_inline", "magic", "no_magic"})


def warn_of_ignored(program: tree.Program, diagnostics: Diagnostics) -> None:
    """One warning, at the first place, that names everything without effect."""
    found = list(_ignored(program))
    if not found:
        return
    names = list(dict.fromkeys(name for name, _ in found))
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    more = [f"{len(found)} places in all"] if len(found) > 1 else []
    message = f"{listed} {'has' if len(names) == 1 else 'have'} no effect"
    note = "holdfast chooses join orders and storage from the data"
    diagnostics.warning("W0001", message, found[0][1].span, notes=[note, *more])


def _ignored(program: tree.Program) -> Iterator[tuple[str, tree.Node]]:
    for item in program.items:
        match item:
            case tree.Pragma(key="legacy"):
                continue
            case tree.Pragma(key=key):
                yield f'the pragma "{key}"', item
            case tree.PlanDirective():
                yield ".plan", item
            case tree.Declaration(qualifiers=qualifiers):
                yield from ((f"`{qualifier}`", item) for qualifier in qualifiers if qualifier in _STORAGE)
