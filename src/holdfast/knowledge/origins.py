"""The origin of a change, which can later explain which parts of the update added or removed a fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from holdfast.backends.abilities import Versioned
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import Guard, exclusive
from holdfast.knowledge.materialisation import Materialisation
from holdfast.language import tree
from holdfast.language.editing import name_of
from holdfast.language.printer import show_rule
from holdfast.program.model import Program
from holdfast.relation_view import RelationView
from holdfast.updates import NO_INVERSE, Causes, Change, Update
from holdfast.values import Row

Rules: TypeAlias = tuple[tree.Program, Program]
"""Rules as written, and as checked."""
Moved: TypeAlias = tuple[Mapping[str, RelationView], Mapping[str, RelationView]]
"""The removed and the added facts, by relation."""


class ChangeOrigin:
    """The update behind a change: the explicit facts that it changed, and the rules before and after it."""

    def __init__(
        self,
        state: Materialisation,
        guard: Guard,
        what_if: Callable[[Update], Change],
        explicit: Moved,
        rules: tuple[Rules, Rules],
        version: int,
        *,
        is_applied: bool,
    ) -> None:
        self.state, self._guard, self.what_if, self.explicit, self.rules = state, guard, what_if, explicit, rules
        self._version, self.is_applied = version, is_applied

    @property
    def applied_version(self) -> int | None:
        """The version after the update; None if it was only tried."""
        return self._version if self.is_applied else None

    def inverse(self) -> Update:
        """The update that restores the explicit facts and the rules."""
        if self.state.backend.ability(Versioned) is None:
            message = "this engine keeps no versions, so its changes have no inverse; those of the memory engine do"
            raise UsageError(Diagnostic(NO_INVERSE, message, help="insert and delete the facts of your update"))
        deleted, inserted = self.explicit
        (old, _), (new, _) = self.rules
        before, after = _rules(old), _rules(new)
        added = [name_of(rule) for key, rule in after.items() if key not in before]
        removed = [show_rule(rule) for key, rule in before.items() if key not in after]
        return Update({**inserted}, {**deleted}, add_rules=removed, remove_rules=added)

    @exclusive
    def why(self, change: Change, relation: str, row: Row | None, seconds: float | None) -> Causes | None:
        """The parts of the update that added or removed a fact; None if the fact did not change."""
        from holdfast.knowledge.causes import causes

        if self.state.version != self._version:
            message = "the knowledge base has changed since this change, so its causes can no longer be found"
            raise UsageError(Diagnostic("E0943", message, help="ask change.why before the next update"))
        return causes(self, change, relation, row, seconds)


def _rules(program: tree.Program) -> dict[int, tree.Rule]:
    """The rules by identity: editing a program keeps the objects of unchanged rules."""
    return {id(item): item for item in program.items if isinstance(item, tree.Rule)}
