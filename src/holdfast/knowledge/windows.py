"""Several updates computed in one pass, and committed one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from holdfast.backends.abilities import housekeeping
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import Guard, exclusive
from holdfast.knowledge.materialisation import LoggedAhead, Materialisation
from holdfast.knowledge.prepared_updates import FactChange
from holdfast.knowledge.updating import RetractedIfItFails, Updater
from holdfast.knowledge.views import Views
from holdfast.maintenance.commit import CommitStep, commit
from holdfast.maintenance.windows import Windows
from holdfast.program.show import shown_names
from holdfast.updates import Change, Update

if TYPE_CHECKING:
    from holdfast.maintenance.window_transaction import Window
    from holdfast.store.contents import ExplicitChange


class ChangeWindow:
    """Updates with known changes; `advance` commits the next one.

    Any other change of the knowledge base makes the window stale (`is_current`).
    """

    def __init__(
        self,
        state: Materialisation,
        updater: Updater,
        views: Views,
        guard: Guard,
        updates: Sequence[Update],
        facts: Sequence[FactChange],
        window: Window,
        ahead: LoggedAhead | None = None,
        logged: Sequence[ExplicitChange] = (),
    ) -> None:
        """`ahead` means that the updates are already in the log, as `logged`, to be committed at once."""
        self._state, self._updater, self._views, self._guard = state, updater, views, guard
        self._updates, self._facts, self._window, self._ahead = updates, facts, window, ahead
        self._logged: Sequence[ExplicitChange | None] = logged if logged else [None] * len(updates)

    @property
    @exclusive
    def is_current(self) -> bool:
        """Whether the state is the one that the next change was computed for."""
        return self._window.is_current

    @exclusive
    def advance(self) -> Change | None:
        """Commit the next update and return its change; None, with no effect, if another thread was faster."""
        if not self._window.is_current:
            return None
        [change] = self._advanced(self._window.done + 1)
        return change

    def all(self) -> list[Change]:
        """Commit all remaining updates at once."""
        with RetractedIfItFails(self._ahead):
            return self._advanced(len(self._updates))

    def _advanced(self, number: int) -> list[Change]:
        state, window = self._state, self._window
        updates = self._updates[window.done : number]
        outcomes = [window.outcome(i) for i in range(window.done, number)]
        no_ops = window.no_ops[window.done : number]
        each_of = zip(outcomes, no_ops, self._logged[window.done : number], strict=True)
        changes = [
            self._views.change(outcome, state.program, n, self._updater.origin(later), given)
            for later, (outcome, n, given) in enumerate(each_of, 1)
        ]
        facts = state.watch.facts + sum(len(outcome.added) - len(outcome.removed) for outcome in outcomes)
        if self._ahead is not None:
            self._ahead.finish()
        else:
            state.log_commit(updates, changes, _explicit(self._facts[window.done : number], state, self._views))
        steps: list[CommitStep] = [
            partial(window.advance, number),
            partial(state.watch.rest, facts),
            state.next_version(updates),
        ]
        commit(state.backend, steps)
        if number == len(self._updates):  # row ids change, so only after the last use
            for i in range(number):
                housekeeping(state.backend).tidy(window.outcome(i).removed)
        state.committed(changes)
        return changes


def change_window(
    updates: Sequence[Update],
    seconds: float | None,
    state: Materialisation,
    updater: Updater,
    views: Views,
    guard: Guard,
    *,
    at_once: bool = False,
) -> ChangeWindow:
    """The states after several updates of facts; abandoned after this many `seconds` of processor time.

    If all are to be committed `at_once`, they may be logged while they are computed.
    """
    from holdfast.maintenance.window_transaction import window

    if state.program.recursive_limits:
        shown = shown_names(state.program.recursive_limits, state.program.relations)
        message = (
            f"several updates cannot be applied in one pass to the recursion of {', '.join(shown)} through an aggregate"
        )
        raise UsageError(Diagnostic("E0931", message, help="apply them one by one, or merged by apply_net"))
    if state.backend.ability(Windows) is None:
        message = "this engine does not compute windows of updates; the memory engine does"
        raise UsageError(Diagnostic("E0917", message, help="apply them one by one, or merged by apply_net"))
    prepared = updater.prepared(updates)
    logged: list[ExplicitChange] = []

    def explicit() -> list[ExplicitChange]:
        logged.extend(_explicit(prepared, state, views)())
        return logged

    ahead = state.log_ahead(updates, explicit) if at_once and seconds is None else None
    with RetractedIfItFails(ahead), state.limited(keep=False) as watch:
        if seconds is not None:
            watch.give_up_after(seconds)
        facts = [(each.deletions, each.insertions) for each in prepared]
        computed = window(state.maintainer, facts, [each.given for each in prepared], watch)
    return ChangeWindow(state, updater, views, guard, tuple(updates), prepared, computed, ahead, logged)


def _explicit(
    facts: Sequence[FactChange], state: Materialisation, views: Views
) -> Callable[[], Sequence[ExplicitChange]]:
    return lambda: [views.explicit_change(each, state.program) for each in facts]
