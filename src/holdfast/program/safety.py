"""Pass 4: every variable must be bound: by a positive atom, by `=` with bound values, or by a range."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from holdfast.errors import Diagnostics, Label
from holdfast.language import tree
from holdfast.program.core import (
    CoreAtom,
    CoreCompare,
    CoreProgram,
    CoreRule,
    CoreTest,
    bound_variables,
    is_fresh,
    literal_variables,
    term_variables,
)

_NOTE = "a variable is bound by a positive atom, by `=` with bound values, or by a range"


def check_safety(program: CoreProgram, diagnostics: Diagnostics) -> None:
    """Report each unbound variable of each rule once, where it is used first."""
    for rule in program.rules:
        bound = bound_variables(rule.body)
        reported: set[str] = set()
        for code, place, variable in _uses(rule):
            if variable.name not in bound and variable.name not in reported and not is_fresh(variable.name):
                reported.add(variable.name)
                _report(rule, code, place, variable, bound, diagnostics)


def _uses(rule: CoreRule) -> Iterator[tuple[str, str, tree.Variable]]:
    """Every use of a variable that needs it bound: the code, where, the variable."""
    code, place = ("E0310", "the aggregate") if rule.inner else ("E0301", "the head")
    for argument in rule.head.arguments:
        yield from ((code, place, variable) for variable in term_variables(argument))
    for literal in rule.body:
        match literal:
            case CoreAtom(negated=True):
                code, place = "E0303", "the negated atom"
            case CoreAtom():
                continue
            case CoreCompare():
                code, place = "E0304", "the comparison"
            case CoreTest():
                code, place = "E0304", f"the constraint {literal.function}"
            case _:
                code, place = "E0304", "the range"
        yield from ((code, place, variable) for variable in literal_variables(literal))


def _report(rule: CoreRule, code: str, place: str, variable: tree.Variable, bound: set[str],
            diagnostics: Diagnostics) -> None:
    binder = "the body of the aggregate" if rule.inner else "the body"
    what = f"no positive atom of {binder} binds it"
    labels = []
    if rule.alternative is not None:
        what = "one alternative of the body does not bind it"
        labels = [Label(rule.alternative, "this alternative")]
    message = f"{place} uses {variable.name}, but {what}"
    help = _hint(rule, variable, bound)
    diagnostics.error(code, message, variable.span, labels=labels, notes=[_NOTE], help=help)


def _hint(rule: CoreRule, variable: tree.Variable, bound: set[str]) -> str | None:
    written = sorted(name for name in bound if not is_fresh(name))
    used_in_head = {v.name for argument in rule.head.arguments for v in term_variables(argument)}
    near = get_close_matches(variable.name, [name for name in written if name not in used_in_head], 1, 0.5)
    lonely = [name for name in written if name not in used_in_head]
    if near or (len(lonely) == 1 and len(variable.name) == 1):
        return f"did you mean {(near or lonely)[0]}?"
    if rule.head.arguments and not rule.body:
        return f"add a positive atom with {variable.name} to the body"
    return f"add a positive atom with {variable.name}"
