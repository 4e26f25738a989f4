"""The program that an update leaves: its rules edited, checked, and made fit for the facts that are there."""

from __future__ import annotations

from holdfast.errors import Diagnostic, ProgramError
from holdfast.language import tree
from holdfast.language.editing import rule_names, with_rules, without_rules
from holdfast.program import check
from holdfast.program.maintainable import maintainable
from holdfast.program.model import Program
from holdfast.updates import Update


def edited(program_tree: tree.Program, program: Program, update: Update) -> tuple[tree.Program, Program]:
    """The tree and the checked program after an update; the same objects if it changes no rules."""
    if not update.add_rules and not update.remove_rules:
        return program_tree, program
    new = program_tree
    for wanted in update.remove_rules:
        new = without_rules(new, wanted, "<remove_rules>")
    for text in update.add_rules:
        new = with_rules(new, text, "<add_rules>", rule_names(program_tree))
    types = {(name, i): type for name, r in program.relations.items() for i, type in enumerate(r.types)}
    checked = maintainable(check(new, types))
    _refuse_other_types(program, checked)
    return new, checked


def _refuse_other_types(old: Program, new: Program) -> None:
    """Facts are stored by their types, which therefore stay."""
    for name, relation in old.relations.items():
        other = new.relations.get(name)
        if other is not None and other.types != relation.types:
            was, would = (", ".join(type.value for type in r.types) for r in (relation, other))
            message = f"with these rules {relation.display} would have the types ({would}), but it has ({was})"
            help = "declare the relation's types from the start"
            raise ProgramError(Diagnostic("E0912", message, help=help))
