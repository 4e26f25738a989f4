"""Pass 4: every variable must be bound: by a positive atom, by `=` with bound values, or by a range."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from holdfast.deadline import look_at_the_clock
from holdfast.errors import Diagnostics, Label
from holdfast.language import tree
from holdfast.program.core import (
    ANSWER,
    Bound,
    CoreAtom,
    CoreCompare,
    CoreProgram,
    CoreRange,
    CoreRule,
    CoreTest,
    bound_variables,
    is_counted,
    is_fresh,
    is_unused,
    literal_variables,
    term_variables,
)

_IN_RECORD = "a record is taken apart where it is bound; for a negated atom first say q(x) :- p([x, _]). and then !q(x)"
_NOTE = "a variable is bound by a positive atom, by `=` with bound values, or by a range"


def check_safety(program: CoreProgram, diagnostics: Diagnostics) -> None:
    """Report each unbound variable of each rule once, where it is used first."""
    for rule in program.rules:
        look_at_the_clock()
        bound = bound_variables(rule.body)
        blamed = _blamed(rule, bound)
        lonely = _lonely(rule, bound) if blamed else []
        for code, place, variable in _uses(rule):
            if variable.name in blamed and (is_unused(variable.name) or is_counted(variable.name)):
                blamed.remove(variable.name)
                diagnostics.error("E0308", "`_` has no value to use here", variable.span, help=_IN_RECORD)
            elif variable.name in blamed and not is_fresh(variable.name):
                blamed.remove(variable.name)
                _report(rule, code, place, variable, lonely, diagnostics)


def _blamed(rule: CoreRule, bound: Mapping[str, int]) -> set[str]:
    """The unbound variables at the root: were they bound, `=` and ranges would bind all the others."""
    unbound = [name for name in dict.fromkeys(v.name for _, _, v in _uses(rule)) if name not in bound]
    blamed = set(unbound) - _defined(rule)
    reached = Bound(rule.body)
    reached.add(blamed)
    for name in unbound:
        if name not in reached.places:
            blamed.add(name)
            reached.add([name])
    return blamed


def _defined(rule: CoreRule) -> set[str]:
    found = set()
    for literal in rule.body:
        if isinstance(literal, CoreRange):
            found.add(literal.variable.name)
        elif isinstance(literal, CoreCompare) and literal.operator == "=":
            found |= {side.name for side in (literal.left, literal.right) if isinstance(side, tree.Variable)}
    return found


def _uses(rule: CoreRule) -> Iterator[tuple[str, str, tree.Variable]]:
    """Every use of a variable that needs it bound: the code, where, the variable."""
    is_answer = rule.head.predicate == ANSWER
    if not rule.inner and not is_answer:
        yield from _head_uses(rule, "E0301", "the head")
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
            case CoreRange():
                code, place = "E0304", "the range"
        yield from ((code, place, variable) for variable in literal_variables(literal))
    if rule.inner:
        yield from _head_uses(rule, "E0310", "the aggregate")
    if is_answer:
        yield from _head_uses(rule, "E0301", "the answer")


def _head_uses(rule: CoreRule, code: str, place: str) -> Iterator[tuple[str, str, tree.Variable]]:
    for argument in rule.head.arguments:
        yield from ((code, place, variable) for variable in term_variables(argument))


def _report(
    rule: CoreRule, code: str, place: str, variable: tree.Variable, lonely: list[str], diagnostics: Diagnostics
) -> None:
    binder = "the body of the aggregate" if rule.inner else "the body"
    what = f"no positive atom of {binder} binds it"
    labels = []
    if rule.alternative is not None:
        what = "one alternative of the body does not bind it"
        labels = [Label(rule.alternative, "this alternative")]
    message = f"{place} uses {variable.name}, but {what}"
    help = _hint(variable, lonely)
    diagnostics.error(code, message, variable.span, labels=labels, notes=[_NOTE], help=help)


def _lonely(rule: CoreRule, bound: Mapping[str, int]) -> list[str]:
    """The bound variables with one use."""
    uses = Counter(v.name for literal in (rule.head, *rule.body) for v in literal_variables(literal))
    return sorted(name for name in bound if uses[name] == 1 and not is_fresh(name))


def _hint(variable: tree.Variable, lonely: list[str]) -> str:
    """A bound variable with one use may be the intended one."""
    near = get_close_matches(variable.name, lonely, 1, 0.5)
    if near or (len(lonely) == 1 and len(variable.name) == len(lonely[0]) == 1):
        return f"did you mean {(near or lonely)[0]}?"
    return f"add a positive atom with {variable.name}"
