"""Find relations by the names that users write, and update the relations of the backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.arguments import expect
from holdfast.backends.abilities import virtual_relations
from holdfast.backends.protocol import Backend
from holdfast.errors import Diagnostic, UsageError
from holdfast.language import tree
from holdfast.language.printer import show
from holdfast.program.check import outline
from holdfast.program.model import Program, Relation
from holdfast.program.similar import similar
from holdfast.values import Type


def find_relation(name: str, program: Program) -> Relation | None:
    """A relation by its name, its name as written in the program, an IRI or a prefixed name."""
    relations = program.relations
    prefix, colon, local = name.partition(":")
    expanded = f"<{program.prefixes.get(prefix, '')}{local}>" if colon else ""
    for spelling in (name, f"<{name}>", expanded):
        if spelling in relations and not relations[spelling].auxiliary:
            return relations[spelling]
    return None


def the_relation(name: str, program: Program) -> Relation:
    """Like `find_relation`, but raises if there is no such relation."""
    expect(name, str, "a relation's name is a string", 'kb["path"]; kb.relations has all of them')
    relation = program.relations.get(name)
    if relation is not None and not relation.auxiliary:
        return relation
    relation = find_relation(name, program)
    if relation is None:
        names = [r.display for r in program.relations.values() if not r.auxiliary]
        help = similar(name, names) or f"the relations are {', '.join(names)}"
        raise UsageError(Diagnostic("E0901", f"there is no relation {name}", help=help))
    return relation


def written_name(predicate: str, arity: int, program: Program) -> str:
    """The name as rules write it: if two relations share a name, one is `edge/3` internally."""
    base = predicate.removesuffix(f"/{arity}")
    shared = program.relations.get(base)
    return base if shared is not None and shared.arity != arity else predicate


def predicate_of(name: str, arity: int, program: Program) -> str:
    """The relation that a rule means by a name with this many arguments."""
    shared = program.relations.get(name)
    return name if shared is None or shared.arity == arity else f"{name}/{arity}"


def rules_text(rules: tree.Program, program: Program) -> str:
    """The declarations and rules of a program without its facts.

    Where facts were all that said that there is some relation, all relations are declared, so that the text has it too.
    """
    text, known = show(rules), outline(rules)
    shown = [relation for relation in program.relations.values() if not relation.auxiliary]
    names = {relation.name.removesuffix(f"/{relation.arity}") for relation in shown}
    if all(each.name in known for each in shown) or len(names) < len(shown) or any(map(_has_records, shown)):
        return text
    return "".join(f".decl {each.display}({_columns(each)})\n" for each in shown) + "\n" + text


def _has_records(relation: Relation) -> bool:
    return Type.RECORD in relation.types


def _columns(relation: Relation) -> str:
    return ", ".join(f"{column.name}: {column.type.value}" for column in relation.columns)


def missing(old: Program, new: Program) -> dict[str, Relation]:
    """The relations of the old program that the new one lacks."""
    return {name: relation for name, relation in old.relations.items() if name not in new.relations}


def differences(old: Mapping[str, Relation], new: Mapping[str, Relation]) -> tuple[list[Relation], list[Relation]]:
    """The new relations, and the old ones whose types change."""
    return (
        [relation for name, relation in new.items() if name not in old],
        [relation for name, relation in old.items() if name in new and new[name].types != relation.types],
    )


def own_relations(backend: Backend, program: Program) -> None:
    """Make the backend's relations those of the program, with its types."""
    there, own = backend.relations, program.relations
    drop_relations(backend, [relation for name, relation in there.items() if name not in own])
    fresh, retyped = differences(there, own)
    replace_relations(backend, retyped, own)
    for relation in fresh:
        backend.add_relation(relation)


def replace_relations(backend: Backend, relations: Iterable[Relation], others: Mapping[str, Relation]) -> None:
    """Give empty relations the types of others."""
    for relation in relations:
        virtual_relations(backend).materialise_rows((relation.name,))
        drop_relations(backend, (relation,))
        backend.add_relation(others[relation.name])


def drop_relations(backend: Backend, relations: Iterable[Relation]) -> None:
    """Drop relations, if the backend has them: adding one may have failed at a limit."""
    for relation in relations:
        if relation.name in backend.relations:
            backend.drop_relation(relation.name)
