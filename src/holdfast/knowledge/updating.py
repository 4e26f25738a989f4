"""Apply updates one at a time, each with its exact change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from holdfast.arguments import expect
from holdfast.backends.abilities import Linking, housekeeping
from holdfast.backends.protocol import Facts as FactSet
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import Guard
from holdfast.knowledge.materialisation import LoggedAhead, Materialisation
from holdfast.knowledge.origins import ChangeOrigin, Moved
from holdfast.knowledge.prepared_updates import FactChange, Prefetcher, UpdateEncoder, looked_up, looked_up_each
from holdfast.knowledge.relations import own_relations, the_relation
from holdfast.knowledge.rule_changes import EditedRules, rule_change
from holdfast.knowledge.views import MakeOrigin, Views
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.program.impact import Impacted, impact
from holdfast.program.model import Program
from holdfast.updates import Change, Update, the_update

if TYPE_CHECKING:
    from holdfast.maintenance.marking import Marking
    from holdfast.maintenance.transaction import Outcome
    from holdfast.store.contents import ExplicitChange
    from holdfast.streaming.queue import UpdateQueue

_AUTOMATIC = Choice()
MOST_TOGETHER = 62  # updates in one pass: each takes a bit of a word, and so does the state before them


class Updater:
    """Applies updates to a materialisation.  Everything that can fail happens before the commit."""

    def __init__(self, state: Materialisation, views: Views) -> None:
        self._state, self._views = state, views
        self._encoder = UpdateEncoder(state.dictionary, state.backend)
        self._prefetcher: Prefetcher | None = None  # set for a stream that looks ahead

    def apply(self, update: Update, algorithm: str | Choice, *, keep: bool) -> Change:
        """Apply an update and return its change; with `keep` false, only compute the change."""
        the_update(update)
        refuse_size_limits(self._state.program)
        if changes_rules(update):
            return self._apply_rules(update, algorithm, keep=keep)
        choice = self._choice(algorithm, self._state.program)
        return self._run(self._facts(update), choice, (update,), keep=keep)

    def apply_net(self, updates: Sequence[Update], algorithm: str | Choice) -> Change:
        """Apply the net effect of several updates of facts and return the net change."""
        prepared = self.prepared(updates)
        nothing = self._state.backend.facts({})
        deletions, insertions = nothing, nothing
        for each in prepared:
            deletions = deletions | each.deletions
            insertions = (insertions - each.deletions) | each.insertions
        net = FactChange(deletions, insertions, sum(each.given for each in prepared))
        return self._run(net, self._choice(algorithm, self._state.program), updates, keep=True)

    def origin(self, later: int, rules: EditedRules | None = None, *, is_applied: bool = True) -> MakeOrigin:
        """A function that makes the origin of a change which will be committed `later` updates from now."""
        state = self._state
        before = state.tree, state.program
        after = before if rules is None else rules.rules

        def make(explicit: Moved, guard: Guard) -> ChangeOrigin:
            version = state.version + later
            return ChangeOrigin(state, guard, self._try, explicit, (before, after), version, is_applied=is_applied)

        return make

    def _try(self, update: Update) -> Change:
        return self.apply(update, AUTO, keep=False)

    def impact(self, update: Update) -> tuple[Impacted, ...]:
        """The hyper-nodes that an update would maintain."""
        during = rule_change(self._state, update).during
        given = {the_relation(name, during).name for name in (*update.delete, *update.insert)}
        return impact(self._state.program, during, given)

    def prepared(self, updates: Sequence[Update]) -> list[FactChange]:
        """Encode several updates that change only facts."""
        expect_updates(updates)
        refuse_size_limits(self._state.program)
        if len(updates) > MOST_TOGETHER:
            raise UsageError(Diagnostic("E0919", f"a window takes at most {MOST_TOGETHER} updates, not {len(updates)}"))
        if any(map(changes_rules, updates)):
            message = "updates that change rules are applied one by one"
            raise UsageError(Diagnostic("E0918", message, help="use apply for them, or stream, which takes both"))
        return looked_up_each(self._encoder.encode(updates, self._state.program), self._state.backend)

    def look_ahead(self, queue: UpdateQueue | None) -> Marking | None:
        """Mark what the next update in a queue deletes while another one is applied; None turns marking off."""
        state = self._state
        state.maintainer.marking = self._prefetcher = None
        if queue is None:
            return None
        from holdfast.maintenance.marking import Marking

        linking = state.backend.ability(Linking)
        if linking is None:
            return None
        prefetcher = Prefetcher(self._encoder, state.backend, queue.ahead)
        self._prefetcher = None if state.takes_one_by_one else prefetcher  # limits apply to each update
        marking = Marking(lambda: prefetcher.next_deletions(state.program), linking.links(), state.program.derived)
        state.maintainer.marking = marking
        return marking

    def mend(self) -> None:
        """Recompute what can be recomputed after a call was interrupted at an unknown point."""
        own_relations(self._state.backend, self._state.program)
        self._state.maintainer.mend()
        self._forget_prefetched()

    def _facts(self, update: Update) -> FactChange:
        if (marking := self._state.maintainer.marking) is not None and marking.is_over:
            self.look_ahead(None)
        if self._prefetcher is not None:
            return self._prefetcher.take(update, self._state.program)
        [both] = self._encoder.encode((update,), self._state.program)
        return looked_up(both, self._state.backend)

    def _apply_rules(self, update: Update, algorithm: str | Choice, *, keep: bool) -> Change:
        self._forget_prefetched()
        rules = rule_change(self._state, update)
        choice = self._choice(algorithm, rules.during)
        [both] = self._encoder.encode((update,), rules.during)
        rules.refuse_empty_views(both[1])
        try:
            rules.add_relations()
            return self._run(looked_up(both, self._state.backend), choice, (update,), rules, keep=keep)
        finally:
            own_relations(self._state.backend, self._state.program)

    def _run(
        self,
        facts: FactChange,
        choice: Choice,
        updates: Sequence[Update],
        rules: EditedRules | None = None,
        *,
        keep: bool,
    ) -> Change:
        """The transaction: compute, report, log, commit, clean up."""
        state = self._state
        during = state.program if rules is None else rules.during

        given: list[ExplicitChange] = []

        def explicit() -> list[ExplicitChange]:
            given.append(self._views.explicit_change(facts, during, None if rules is None else updates[0]))
            return given

        def report(outcome: Outcome) -> tuple[Change, FactSet]:
            state.watch.give_way()
            origin = self.origin(len(updates) if keep else 0, rules, is_applied=keep)
            no_ops = facts.given - sum(map(len, outcome.explicit))
            change = self._views.change(outcome, during, no_ops, origin, given[0] if given else None)
            if ahead is not None:
                ahead.finish()
            elif keep:
                state.log_commit(updates, (change,), explicit)
            return change, outcome.removed

        state.watch.give_way()
        steps = [*([] if rules is None else [rules.adopt]), state.next_version(updates)]
        ahead = state.log_ahead(updates, explicit) if keep and rules is None else None
        with RetractedIfItFails(ahead), state.limited(keep=keep) as watch:
            moved, program = (facts.deletions, facts.insertions), None if rules is None else during
            change, removed = state.maintainer.run(moved, choice, watch, report, program, steps if keep else None)
        if keep:
            housekeeping(state.backend).tidy(removed)
            state.committed((change,))
        return change

    def _choice(self, algorithm: str | Choice, program: Program) -> Choice:
        """The choice, with predicates in place of relation names."""
        choice = chosen(algorithm)
        if not choice.of_predicate:
            return choice
        asked = {the_relation(name, program).name: wanted for name, wanted in choice.of_predicate.items()}
        return replace(choice, of_predicate=asked)

    def _forget_prefetched(self) -> None:
        if self._prefetcher is not None:
            self._prefetcher.forget()


class RetractedIfItFails:
    """A context that retracts what was logged ahead if the block raises.  A class: a generator takes longer."""

    def __init__(self, ahead: LoggedAhead | None) -> None:
        self._ahead = ahead

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._ahead is not None:
            self._ahead.retract()


def chosen(algorithm: str | Choice) -> Choice:
    """A choice, from an algorithm's name or as given."""
    if algorithm == AUTO:
        return _AUTOMATIC
    expect(algorithm, (str, Choice), "an algorithm is a name or a holdfast.Choice")
    return Choice(algorithm) if isinstance(algorithm, str) else algorithm


def expect_updates(updates: object) -> None:
    """Refuse anything but a list of updates."""
    expect(updates, Sequence, "several updates are a list", "put it into a list: [update]")
    for update in cast("Sequence[object]", updates):
        the_update(update)


def changes_rules(update: Update) -> bool:
    """Whether an update changes rules."""
    return bool(update.add_rules or update.remove_rules)


def refuse_size_limits(program: Program) -> None:
    """Refuse programs with size limits: deliberately incomplete relations have no exact changes."""
    if program.size_limits:
        message = "a program with .limitsize is incomplete on purpose, so it cannot be maintained"
        raise UsageError(Diagnostic("E0913", message, help="remove the .limitsize"))
