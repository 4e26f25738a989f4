"""The program after an update: edit its rules, check them, and fit them to the existing facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace

from holdfast.errors import Diagnostic, Diagnostics, ProgramError, Span
from holdfast.formats.fact_data import FactParts
from holdfast.language import tree
from holdfast.language.editing import as_added, rule_names, with_rules, without_rules
from holdfast.program import check
from holdfast.program.components import instantiated
from holdfast.program.maintainable import maintainable
from holdfast.program.model import Program, Relation
from holdfast.program.names import resolve
from holdfast.updates import Update
from holdfast.values import Type


def edited(
    program_tree: tree.Program, program: Program, update: Update, empty: Callable[[str], bool]
) -> tuple[tree.Program, Program]:
    """The tree and the checked program after an update; the same objects if it changes no rules.

    Undeclared types may change for relations that are `empty`.
    """
    if not update.add_rules and not update.remove_rules:
        return program_tree, program
    new = program_tree
    for wanted in update.remove_rules:
        new = without_rules(new, wanted, "<remove_rules>")
    for text in update.add_rules:
        new = with_rules(new, text, "<add_rules>")
    if update.add_rules:
        new = as_added(_instantiated(new), rule_names(program_tree))
    open = {name for name, r in program.relations.items() if _has_open_types(r) and empty(name)}
    types = {
        (name, i): type
        for name, r in program.relations.items()
        for i, type in enumerate(r.types)
        if name not in open or type is not Type.ANY
    }
    edited_tree, hints = _without_orphans(new, program), types | _types_of_facts(program, update, open)
    checked = maintainable(check(edited_tree, hints))
    if any(_retyped(program, checked, open)):
        with suppress(ProgramError):  # facts are stored by their types, which stay if the rules allow it
            checked = maintainable(check(edited_tree, hints, types))
    _refuse_other_types(program, checked, _first_added(program_tree, new), open)
    return new, _with_column_names(checked, program)


def _instantiated(edited: tree.Program) -> tree.Program:
    """The tree with the instances that an update adds expanded, as at the opening."""
    if not any(isinstance(item, tree.Init) for item in edited.items):
        return edited
    diagnostics = Diagnostics()
    found = instantiated(edited, diagnostics)
    diagnostics.raise_errors()
    return found


def _without_orphans(edited: tree.Program, program: Program) -> tree.Program:
    """The tree without directives for relations that only facts mention: they are not part of the program."""
    scope = resolve(edited, Diagnostics())

    def stays(name: tree.Name) -> bool:
        predicate = scope.predicate(name)
        return predicate in scope.relations or predicate not in program.relations

    items: list[tree.Item] = []
    for item in edited.items:
        if isinstance(item, tree.Directive) and not all(map(stays, item.names)):
            names = tuple(filter(stays, item.names))
            items += [replace(item, names=names)] if names else []
        else:
            items.append(item)
    return replace(edited, items=tuple(items))


def _has_open_types(relation: Relation) -> bool:
    return Type.ANY in relation.types and (relation.auxiliary or not relation.declared)


def _types_of_facts(program: Program, update: Update, open: Collection[str]) -> dict[tuple[str, int], Type]:
    """The types that the facts of an update suggest for relations without declared ones."""
    from holdfast.formats.python_data import sniff_python

    spelled = {program.relations[name].display: name for name in open}
    types: dict[tuple[str, int], Type] = {}
    for given, data in update.insert.items():
        name = given if given in open else spelled.get(given)
        if name is not None and not isinstance(data, FactParts):
            columns = [column.name for column in program.relations[name].columns]
            types |= {(name, i): type for i, type in enumerate(sniff_python(data, columns))}
    return types


def _first_added(old: tree.Program, new: tree.Program) -> Span | None:
    """The position of the first rule that an update adds."""
    known = {id(item) for item in old.items}
    return next((item.span for item in new.items if isinstance(item, tree.Rule) and id(item) not in known), None)


def _with_column_names(new: Program, old: Program) -> Program:
    """Keep the old names of undeclared columns, which come from variables of the rules: users may rely on them."""
    relations = {name: _named_like(relation, old.relations.get(name)) for name, relation in new.relations.items()}
    return replace(new, relations=relations)


def _named_like(relation: Relation, old: Relation | None) -> Relation:
    if old is None or relation.declared or relation.auxiliary:
        return relation
    columns = [replace(column, name=was.name) for column, was in zip(relation.columns, old.columns, strict=True)]
    return replace(relation, columns=tuple(columns))


def _refuse_other_types(old: Program, new: Program, place: Span | None, open: Collection[str]) -> None:
    """Refuse changes of type: facts are stored by their types."""
    for relation, other in _retyped(old, new, open):
        was, would = (", ".join(type.value for type in r.types) for r in (relation, other))
        message = f"these rules would change the types of {relation.display} from ({was}) to ({would})"
        help = "declare the relation's types in the program"
        if Type.ANY in relation.types and not relation.declared:
            columns = ", ".join(
                f"{column.name}: {type.value}" for column, type in zip(relation.columns, other.types, strict=True)
            )
            help = (
                f"its types were unknown when the program was opened without facts; "
                f"declare them: .decl {relation.display}({columns})"
            )
        raise ProgramError(Diagnostic("E0912", message, place, help=help))


def _retyped(old: Program, new: Program, open: Collection[str]) -> Iterator[tuple[Relation, Relation]]:
    """Relations whose types change, and may not: as they are and as they would be."""
    for name, relation in old.relations.items():
        other = new.relations.get(name)
        if other is not None and other.types != relation.types and name not in open:
            yield relation, other
