"""A materialised program that is kept up to date: updates become its state, and say exactly what they changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from holdfast.arguments import expect
from holdfast.backends.abilities import Frames, facts_each, given_facts, housekeeping, relation_size, virtual_relations
from holdfast.backends.protocol import Facts as FactSet
from holdfast.boundary import public
from holdfast.deadline import within
from holdfast.editing import edited
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import exclusive
from holdfast.formats.rdf_mirrors import refuse_unmirrored
from holdfast.language import tree
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.maintenance.commit import Step, commit
from holdfast.maintenance.windows import Windows
from holdfast.materialised import Materialised
from holdfast.program.impact import impact
from holdfast.program.maintainable import with_relations
from holdfast.program.model import Program, Relation
from holdfast.program.rdf_views import is_view
from holdfast.relation_view import RelationView
from holdfast.update_codes import Ahead, Encoded, UpdateCodes
from holdfast.updates import Change, Impact, Update, Updating, the_update

if TYPE_CHECKING:
    from holdfast.maintenance.transaction import Outcome
    from holdfast.maintenance.window_transaction import Window

MOST_TOGETHER = 62  # updates in one pass: each has a bit of a word, and so has the state before them


class Maintained(Materialised):
    """A materialisation that updates change."""

    _ahead: Ahead | None = None  # updates that wait, made ready

    @cached_property
    def _codes_of(self) -> UpdateCodes:
        frames = self._backend.ability(Frames)
        return UpdateCodes(self._dictionary, frames.takes if frames else _takes_nothing, self._relation)

    @public
    def update(self, *, algorithm: str | Choice = AUTO) -> Updating:
        """Collect an update in a `with` block; it is applied at the end, and its `change` is there afterwards."""
        _chosen(algorithm)  # what is wrong is said before the block
        return Updating(lambda update: self.apply(update, algorithm=algorithm))

    @exclusive
    def apply(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """Make an update the new state; says exactly what that changed.  If it raises, nothing has changed."""
        return self._maintained(update, algorithm, keep=True)

    @exclusive
    def apply_all(self, updates: Sequence[Update], *, seconds: float | None = None) -> list[Change]:
        """Make several updates of facts the new state in one pass; says exactly what each of them changed.

        All of them or none: if it raises, nothing has changed, be it that it takes more than some `seconds` of
        processor time.  What the pass took stands with the first change.
        """
        _expect_updates(updates)
        return self._window(updates, seconds).all() if updates else []

    @exclusive
    def window(self, updates: Sequence[Update], *, seconds: float | None = None) -> ChangeWindow:
        """The states after several updates of facts, computed in one pass; each `advance()` makes the next one so."""
        return self._window(updates, seconds)

    def _window(self, updates: Sequence[Update], seconds: float | None) -> ChangeWindow:
        from holdfast.maintenance.window_transaction import window

        self._refuse_windows()
        prepared = self._prepared(updates)
        with self._limited(False) as watch:
            if seconds is not None:
                watch.give_up_after(seconds)
            computed = window(self._maintainer, [u for _, u in prepared], [n for n, _ in prepared], watch)
            return ChangeWindow(self, computed)

    @exclusive
    def apply_net(self, updates: Sequence[Update], *, algorithm: str | Choice = AUTO) -> Change:
        """Make several updates of facts the new state, passing over the states between them; says the net change."""
        prepared = self._prepared(updates)
        nothing = self._backend.facts({})
        gone, come = nothing, nothing
        for _, (delete, insert) in prepared:
            gone, come = gone | delete, (come - delete) | insert
        return self._made_so(gone, come, sum(given for given, _ in prepared), algorithm)

    def _made_so(
        self, gone: FactSet, come: FactSet, given: int, algorithm: str | Choice, *, keep: bool = True
    ) -> Change:
        """Make facts go and come, under the same rules."""
        return self._run(gone, come, given, self._choice(algorithm, self.program), self.program, keep=keep)

    def _run(
        self,
        gone: FactSet,
        come: FactSet,
        given: int,
        choice: Choice,
        during: Program,
        *,
        keep: bool,
        adopt: Sequence[Step] = (),
    ) -> Change:
        """The transaction: computed, told, committed, and then cleared up."""
        rules = None if during is self.program else during

        def told(outcome: Outcome) -> tuple[Change, FactSet]:
            return self._change(outcome, during, given - outcome.explicit), outcome.removed

        with self._limited(keep) as watch:
            change, removed = self._maintainer.run(gone, come, rules, choice, watch, told, keep=keep, adopt=adopt)
        if keep:
            housekeeping(self._backend).tidy(removed)
        return change

    def _refuse_windows(self) -> None:
        if self.program.has_limits:
            message = "a program with min or max in the head of a rule does not take several updates in one pass"
            raise UsageError(Diagnostic("E0931", message, help="apply them one by one, or merged by apply_net"))
        if self._backend.ability(Windows) is None:
            message = "this engine does not compute several updates in one pass; the memory engine does"
            raise UsageError(Diagnostic("E0917", message, help="apply them one by one, or merged by apply_net"))

    def _prepared(self, updates: Sequence[Update]) -> list[tuple[int, tuple[FactSet, FactSet]]]:
        """Updates of facts, encoded: how many facts were given, and deletions and insertions."""
        _expect_updates(updates)
        self._refuse_size_limits()
        if len(updates) > MOST_TOGETHER:
            raise UsageError(Diagnostic("E0919", f"one pass takes {MOST_TOGETHER} updates, not {len(updates)}"))
        if any(update.add_rules or update.remove_rules for update in updates):
            message = "updates that change rules are applied one by one"
            raise UsageError(Diagnostic("E0918", message, help="use apply for them, and stream to have both"))
        both = self._codes_of.of(updates, self.program)
        encoded = [(delete, insert) for (delete, _), (insert, _) in both]
        insertions = facts_each(self._backend, [insert for _, insert in encoded])  # a fact may go before it has come
        deletions = facts_each(self._backend, [delete for delete, _ in encoded], known=True)
        given = [sum(map(len, (*delete.values(), *insert.values()))) for delete, insert in encoded]
        return list(zip(given, zip(deletions, insertions, strict=True), strict=True))

    @exclusive
    def what_if(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """The change that an update would make, without making it."""
        return self._maintained(update, algorithm, keep=False)

    @exclusive
    def impact(self, update: Update, *, algorithm: str | Choice = AUTO) -> Impact:
        """The hyper-nodes that an update would bring up to date, and the change it would make, without making it."""
        change = self.what_if(update, algorithm=algorithm)
        _, program = self._edited(update)
        during = with_relations(program, _missing(self.program, program))
        given = {self._relation(name, during).name for name in (*update.delete, *update.insert)}
        return Impact(impact(self.program, during, given), change)

    def _maintained(self, update: Update, algorithm: str | Choice, *, keep: bool) -> Change:
        the_update(update)
        self._refuse_size_limits()
        if self._ahead is not None:
            if not update.add_rules and not update.remove_rules:
                ready = self._ahead.take(update, self.program)
                return self._made_so(self._ahead.deleted(ready), ready.come, ready.given, algorithm, keep=keep)
            self._ahead.forget()
        new_tree, program = self._edited(update)
        during = with_relations(program, _missing(self.program, program))
        choice = self._choice(algorithm, during)
        backend = self._backend
        [(deletions, insertions)] = self._codes_of.of([update], during)
        fresh, retyped = ([], []) if program is self.program else _other_relations(backend.relations, during.relations)
        self._refuse_empty_views(fresh, during, insertions)
        try:
            self._replace(retyped, during.relations)
            for relation in fresh:
                backend.add_relation(relation)
            gone, come = given_facts(backend, *deletions, known=True), given_facts(backend, *insertions)
            given = sum(len(rows) for codes, frames in (deletions, insertions) for rows in codes.values())
            given += sum(
                frame.count()
                for _, frames in (deletions, insertions)
                for several in frames.values()
                for frame in several
            )
            if program is self.program:
                return self._run(gone, come, given, choice, program, keep=keep)
            adopt = [partial(self._adopt, new_tree, program, during)]
            return self._run(gone, come, given, choice, during, keep=keep, adopt=adopt)
        finally:
            if program is not self.program or fresh or retyped:
                self._own_relations()

    def _edited(self, update: Update) -> tuple[tree.Program, Program]:
        """The tree and the program after an update, as far as its rules go; checked within the limit on seconds."""
        with within(self._limits.seconds if self._limits else None):
            return edited(self._tree, self.program, update, self._is_empty)

    def _refuse_size_limits(self) -> None:
        if self.program.size_limits:
            message = "a program with .limitsize is incomplete on purpose, so it cannot be maintained"
            raise UsageError(Diagnostic("E0913", message, help="take the .limitsize away"))

    def _refuse_empty_views(self, fresh: Sequence[Relation], program: Program, insertions: Encoded) -> None:
        """A relation of RDF statements that rules bring in has none of those that others have already."""
        if not any(map(is_view, fresh)):
            return
        sizes = self._backend.explicit.sizes()
        old = [name for name, relation in program.relations.items() if sizes.get(name) and is_view(relation)]
        kept = {name: program.relations[name] for name in (*old, *(relation.name for relation in fresh))}
        rows = {name: self._backend.rows(name, self._backend.explicit) for name in old}
        given = {name: codes for name, codes in rows.items() if isinstance(codes, np.ndarray)}
        elsewhere = {*rows} - {*given} | {*insertions[1]}
        what = "with these rules, the facts of"
        refuse_unmirrored(kept, given | insertions[0], self._dictionary, elsewhere, what=what)

    def _adopt(self, new_tree: tree.Program, program: Program, during: Program) -> None:
        """Rules have changed: relations that no rule mentions any more stay only if they have explicit facts."""
        orphans = {name: r for name, r in _missing(during, program).items() if self._backend.explicit.of((name,))}
        self._tree, self.program = new_tree, with_relations(program, orphans)
        self._own_relations()
        self._maintainer.adopt(self.program)

    def _own_relations(self) -> None:
        """Let the backend have the relations of the program, with these types, and no others."""
        there, own = self._backend.relations, self.program.relations
        self._drop([relation for name, relation in there.items() if name not in own])
        fresh, retyped = _other_relations(there, own)
        self._replace(retyped, own)
        for relation in fresh:
            self._backend.add_relation(relation)

    def _mend(self) -> None:
        self._own_relations()
        self._maintainer.mend()
        if self._ahead is not None:
            self._ahead.forget()

    def _is_empty(self, name: str) -> bool:
        return not relation_size(self._backend, name)

    def _replace(self, relations: Iterable[Relation], others: Mapping[str, Relation]) -> None:
        """Give relations without facts the types of others."""
        for relation in relations:
            virtual_relations(self._backend).materialise_rows((relation.name,))
            self._drop((relation,))
            self._backend.add_relation(others[relation.name])

    def _choice(self, algorithm: str | Choice, program: Program) -> Choice:
        """What was asked for, with predicates for the relations' names."""
        choice = _chosen(algorithm)
        if not choice.of_predicate:
            return choice
        asked = {self._relation(name, program).name: wanted for name, wanted in choice.of_predicate.items()}
        return replace(choice, of_predicate=asked)

    def _change(self, outcome: Outcome, program: Program, no_ops: int) -> Change:
        added, removed = (self._views(facts, program) for facts in (outcome.added, outcome.removed))
        return Change(added, removed, outcome.figures, no_ops)

    def _views(self, facts: FactSet, program: Program) -> dict[str, RelationView]:
        found = sorted((name for name, size in facts.sizes().items() if size), key=program.places.__getitem__)
        relations = [program.relations[name] for name in found if not program.relations[name].auxiliary]
        rows = self._backend.rows
        return {r.name: RelationView(r, rows(r.name, facts), self._dictionary, self._guard) for r in relations}


class ChangeWindow:
    """Updates whose changes are known; `advance` makes the next one the state.  If anything else happens to the
    knowledge base before that, they are no longer `current`."""

    def __init__(self, kb: Maintained, window: Window) -> None:
        self._kb, self._window, self._last = kb, window, len(window.no_ops)
        self._guard = kb._guard

    @property
    @exclusive
    def is_current(self) -> bool:
        """Whether the state is the one that the next change was computed for."""
        return self._window.is_current

    @exclusive
    def advance(self) -> Change | None:
        """The next update is the new state; says what that changed.  None, and nothing happens, if it is not current
        any more: another thread may have been quicker."""
        if not self._window.is_current:
            return None
        [change] = self._advanced(self._window.done + 1)
        return change

    def all(self) -> list[Change]:
        """All that are left, at once."""
        return self._advanced(self._last)

    def _advanced(self, number: int) -> list[Change]:
        kb, window = self._kb, self._window
        outcomes = [window.outcome(i) for i in range(window.done, number)]
        no_ops = window.no_ops[window.done : number]
        changes = [kb._change(outcome, kb.program, n) for outcome, n in zip(outcomes, no_ops, strict=True)]
        facts = kb._watch.facts + sum(len(outcome.added) - len(outcome.removed) for outcome in outcomes)
        commit(kb._backend, [partial(window.advance, number), partial(kb._watch.rest, facts)])
        if number == self._last:  # row ids change: only when they are no longer needed
            for i in range(self._last):
                housekeeping(kb._backend).tidy(window.outcome(i).removed)
        return changes


def _chosen(algorithm: str | Choice) -> Choice:
    expect(algorithm, (str, Choice), "an algorithm is a name or a holdfast.Choice")
    return Choice(algorithm) if isinstance(algorithm, str) else algorithm


def _expect_updates(updates: object) -> None:
    expect(updates, Sequence, "several updates are a list", "put it into a list: [update]")
    for update in cast("Sequence[object]", updates):
        the_update(update)


def _takes_nothing(data: object) -> bool:
    return False


def _other_relations(old: Mapping[str, Relation], new: Mapping[str, Relation]) -> tuple[list[Relation], list[Relation]]:
    """New relations that there were none of, and old ones that have other types now."""
    return (
        [relation for name, relation in new.items() if name not in old],
        [relation for name, relation in old.items() if name in new and new[name].types != relation.types],
    )


def _missing(old: Program, new: Program) -> dict[str, Relation]:
    return {name: relation for name, relation in old.relations.items() if name not in new.relations}
