"""An update that changes rules: the edited program, and the relations that it adds and removes."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from holdfast.backends.abilities import relation_size
from holdfast.formats.rdf_mirrors import refuse_unmirrored
from holdfast.knowledge.editing import edited
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.prepared_updates import Encoded
from holdfast.knowledge.relations import differences, missing, own_relations, replace_relations
from holdfast.language import tree
from holdfast.program.maintainable import with_relations
from holdfast.program.model import Program, Relation
from holdfast.program.rdf_views import is_view
from holdfast.updates import Update
from holdfast.user_functors import require


class EditedRules:
    """The rules after an update; the materialisation takes them over in `adopt`, a step of the commit."""

    def __init__(self, state: Materialisation, new_tree: tree.Program, program: Program) -> None:
        self._state, self._tree, self._program = state, new_tree, program
        self.rules = (new_tree, program)
        self.during = with_relations(program, missing(state.program, program))
        """The new rules, with all previous relations."""

    @cached_property
    def _differences(self) -> tuple[list[Relation], list[Relation]]:
        return differences(self._state.backend.relations, self.during.relations)

    def refuse_empty_views(self, insertions: Encoded) -> None:
        """Refuse a new relation of RDF statements that lacks the statements other relations already have."""
        fresh, _ = self._differences
        if not any(map(is_view, fresh)):
            return
        backend, relations = self._state.backend, self.during.relations
        sizes = backend.explicit.sizes()
        old = [name for name, relation in relations.items() if sizes.get(name) and is_view(relation)]
        kept = {name: relations[name] for name in (*old, *(relation.name for relation in fresh))}
        rows = {name: backend.rows(name, backend.explicit) for name in old}
        given = {name: codes for name, codes in rows.items() if isinstance(codes, np.ndarray)}
        elsewhere = {*rows} - {*given} | {*insertions[1]}
        what = "with these rules, the facts of"
        refuse_unmirrored(kept, given | insertions[0], self._state.dictionary, elsewhere, what=what)

    def add_relations(self) -> None:
        """Add the relations that the update needs to the backend."""
        backend, (fresh, retyped) = self._state.backend, self._differences
        replace_relations(backend, retyped, self.during.relations)
        for relation in fresh:
            backend.add_relation(relation)

    def adopt(self) -> None:
        """Take over the rules.  Relations that no rule mentions any more stay only if they have explicit facts."""
        state = self._state
        unused = missing(self.during, self._program)
        orphans = {name: relation for name, relation in unused.items() if state.backend.explicit.of((name,))}
        state.tree, state.program = self._tree, with_relations(self._program, orphans)
        own_relations(state.backend, state.program)
        state.maintainer.adopt(state.program)


def rule_change(state: Materialisation, update: Update) -> EditedRules:
    """The rules after an update, checked within the time limit; the current rules if it changes none."""
    with state.within_seconds():
        new_tree, program = edited(state.tree, state.program, update, lambda name: _is_empty(state, name))
        if program is not state.program:
            require(program)
        return EditedRules(state, new_tree, program)


def _is_empty(state: Materialisation, name: str) -> bool:
    return not relation_size(state.backend, name)
