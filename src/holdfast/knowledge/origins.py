"""Where a change comes from: what it takes to say later which parts of the update caused a fact to come or go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import Guard, exclusive
from holdfast.knowledge.materialisation import Materialisation
from holdfast.language import tree
from holdfast.program.model import Program
from holdfast.relation_view import RelationView
from holdfast.updates import Causes, Change, Update
from holdfast.values import Row

Rules: TypeAlias = tuple[tree.Program, Program]
"""Rules as they are written, and as they were checked."""
Moved: TypeAlias = tuple[Mapping[str, RelationView], Mapping[str, RelationView]]
"""The facts that go and those that come, by relation."""


class ChangeOrigin:
    """The update behind a change: the explicit facts that it moved, and the rules before and after it."""

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

    @exclusive
    def why(self, change: Change, relation: str, row: Row | None, seconds: float | None) -> Causes | None:
        """The parts of the update that made a fact come or go; None if it did neither."""
        from holdfast.knowledge.causes import causes

        if self.state.version != self._version:
            message = "the knowledge base has changed since this change, so its causes can no longer be found"
            raise UsageError(Diagnostic("E0943", message, help="ask change.why before the next update"))
        return causes(self, change, relation, row, seconds)
