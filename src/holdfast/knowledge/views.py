"""Views of a materialisation: relations, their sizes, and the changes of updates."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from holdfast.backends.abilities import virtual_relations
from holdfast.backends.protocol import Facts as FactSet
from holdfast.exclusive import Guard
from holdfast.formats.fact_data import FactParts
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.prepared_updates import FactChange
from holdfast.knowledge.relations import the_relation
from holdfast.program.model import Program, Relation
from holdfast.relation_view import RelationView
from holdfast.updates import Change, Update

if TYPE_CHECKING:
    from holdfast.knowledge.origins import ChangeOrigin
    from holdfast.maintenance.transaction import Outcome
    from holdfast.store.contents import ExplicitChange

_NONE: Mapping[str, RelationView] = MappingProxyType({})
MakeOrigin: TypeAlias = Callable[[tuple[dict[str, RelationView], dict[str, RelationView]], Guard], "ChangeOrigin"]
"""Makes the origin of a change from the removed and added explicit facts."""


class Views:
    """Creates views of the current facts."""

    def __init__(self, state: Materialisation, guard: Guard) -> None:
        self._state, self._guard = state, guard

    def all_facts(self, relation: Relation) -> RelationView:
        """The facts of a relation."""
        backend = self._state.backend
        virtual = virtual_relations(backend).virtual.get(relation.name)
        rows = backend.rows(relation.name, backend.materialisation) if virtual is None else virtual.now()
        return RelationView(relation, rows, self._state.dictionary, self._guard)

    def explicit_facts(self, relation: Relation) -> RelationView:
        """The explicit facts of a relation."""
        return self._view(relation, self._state.backend.explicit)

    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation."""
        backend = self._state.backend
        sizes = {
            **backend.materialisation.sizes(),
            **{name: facts.size for name, facts in virtual_relations(backend).virtual.items()},
        }
        return {name: sizes.get(name, 0) for name in visible_relations(self._state.program)}

    def change(
        self, outcome: Outcome, program: Program, no_ops: int, origin: MakeOrigin, given: ExplicitChange | None
    ) -> Change:
        """The change of an update that is applied or about to be, under the rules of a program.

        Most of the given facts, if their views are known, change E, and these are what changes where no rule derives
        facts: the same facts have the same view.
        """
        E_minus, E_plus = outcome.explicit
        deleted = self._by_relation(E_minus, program, {} if given is None else given.delete)
        inserted = self._by_relation(E_plus, program, {} if given is None else given.insert)
        removed = self._by_relation(outcome.removed, program, deleted, program.derived)
        added = self._by_relation(outcome.added, program, inserted, program.derived)
        return Change(added, removed, outcome.figures, no_ops, origin((deleted, inserted), self._guard))

    def explicit_change(self, facts: FactChange, program: Program, update: Update | None = None) -> ExplicitChange:
        """The deletions and insertions of an update under the rules of a program, for a log; with its rule changes."""
        from holdfast.store.contents import ExplicitChange

        deleted = self._by_relation(facts.deletions, program)
        inserted = self._by_relation(facts.insertions, program)
        if update is None:
            return ExplicitChange(deleted, inserted)
        in_parts = [
            the_relation(name, program).name for name, data in update.insert.items() if isinstance(data, FactParts)
        ]
        types = {name: [type.value for type in relation.types] for name, relation in visible_relations(program).items()}
        return ExplicitChange(deleted, inserted, update.add_rules, update.remove_rules, in_parts, types)

    def _by_relation(
        self,
        facts: FactSet,
        program: Program,
        others: Mapping[str, RelationView] = _NONE,
        but: Container[str] = (),
    ) -> dict[str, RelationView]:
        """Views of facts by relation.  `others` are views of sets that include them, or that they include, `but` for
        some relations: those with as many facts are used."""
        found: dict[str, RelationView] = {}
        sizes = facts.sizes()
        for name in sorted(sizes, key=program.places.__getitem__) if len(sizes) > 1 else sizes:
            relation = program.relations[name]
            if sizes[name] and not relation.auxiliary:
                other = others.get(name) if name not in but else None
                if other is None or len(other) != sizes[name]:
                    other = self._view(relation, facts)
                found[name] = other
        return found

    def _view(self, relation: Relation, facts: FactSet) -> RelationView:
        rows = self._state.backend.rows(relation.name, facts)
        return RelationView(relation, rows, self._state.dictionary, self._guard)


class ViewsByName(Mapping[str, RelationView]):
    """Relations by name; the facts of each are fetched on access."""

    def __init__(self, relations: Mapping[str, Relation], view: Callable[[str], RelationView]) -> None:
        self._relations = relations
        self._view = view

    def __getitem__(self, name: str) -> RelationView:
        return self._view(self._relations[name].name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._relations)

    def __len__(self) -> int:
        return len(self._relations)


def visible_relations(program: Program) -> dict[str, Relation]:
    """All relations by name, without auxiliary ones; each is read on access."""
    return {name: relation for name, relation in program.relations.items() if not relation.auxiliary}
