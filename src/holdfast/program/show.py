"""Core rules as text, for people who want to see how a program was translated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.program.model import (
    AggregateRule,
    Apply,
    Assign,
    Atom,
    BodyLiteral,
    Compare,
    Const,
    Negated,
    Range,
    Relation,
    Rule,
    Test,
    Var,
    Wildcard,
)
from holdfast.values import Value, quote
from holdfast.values.structures import form_of

Relations = Mapping[str, Relation]


def shown_names(predicates: Iterable[str], relations: Relations) -> tuple[str, ...]:
    """Predicates for display: auxiliary ones are shown by their definitions."""
    return tuple([relations[name].display if relations[name].auxiliary else name for name in predicates])


def show_rule(rule: Rule | AggregateRule, relations: Relations) -> str:
    """A rule of the core in the notation of the language; an aggregate rule as a head with the aggregate in it."""
    if isinstance(rule, AggregateRule):
        return _show_aggregate(rule, relations)
    shown = [
        f"{rule.limit.function}({show_term(term)})" if rule.limit and rule.limit.column == i else show_term(term)
        for i, term in enumerate(rule.arguments)
    ]
    head = f"{relations[rule.predicate].display}({', '.join(shown)})"
    body = ", ".join(show_literal(literal, relations) for literal in rule.body)
    return f"{head} :- {body}." if body else f"{head} :- true."


def _show_aggregate(rule: AggregateRule, relations: Relations) -> str:
    columns = [column.name for column in relations[rule.source].columns]
    target = columns[rule.target] if rule.target is not None else ""
    head = [*(columns[i] for i in rule.group), f"{rule.function}({target})"]
    body = f"{relations[rule.source].display}({', '.join(columns)})"
    return f"{relations[rule.predicate].display}({', '.join(head)}) :- {body}."


def show_literal(literal: BodyLiteral, relations: Relations) -> str:
    """A literal of a body."""
    match literal:
        case Atom(predicate=predicate, arguments=arguments):
            return _atom(predicate, arguments, relations)
        case Negated(predicate=predicate, arguments=arguments):
            return "!" + _atom(predicate, arguments, relations)
        case Compare(operator=operator, left=left, right=right):
            return f"{show_term(left)} {operator} {show_term(right)}"
        case Test(function="has_form", arguments=(record, Const(value=form))):
            return f"{show_term(record)} = {_record(str(form), ['_'] * form_of(str(form)).arity)}"
        case Test(function=function, arguments=arguments, negated=negated):
            return f"{'!' if negated else ''}{function}({', '.join(map(show_term, arguments))})"
        case Assign(variable=variable, term=term):
            return f"{show_term(variable)} = {show_term(term)}"
        case Range(variable=variable, start=start, stop=stop, step=step):
            bounds = [start, stop] if step is None else [start, stop, step]
            return f"{show_term(variable)} = range({', '.join(map(show_term, bounds))})"


def _atom(predicate: str, arguments: tuple[Var | Const | Wildcard | Apply, ...], relations: Relations) -> str:
    return f"{relations[predicate].display}({', '.join(map(show_term, arguments))})"


def show_term(term: Var | Const | Wildcard | Apply) -> str:
    """A term; operators with parentheses around every operand that has one itself."""
    match term:
        case Wildcard():
            return "_"
        case Var(name=name):
            return name.replace("$", "_")  # auxiliary variables are named $1, which a program cannot write
        case Const(value=value):
            return _value(value)
        case Apply(function="record", arguments=(Const(value=form), *fields)):
            return _record(str(form), map(show_term, fields))
        case Apply(function="field", arguments=(record, Const(), Const(value=int(number)))):
            return f"field({show_term(record)}, {number + 1})"
        case Apply(function="neg", arguments=(operand,)):
            return f"-{_operand(operand)}"
        case Apply(function=function, arguments=(left, right)) if not function.isidentifier() or function[0] in "bl":
            return f"{_operand(left)} {function} {_operand(right)}"
        case Apply(function=function, arguments=arguments):
            return f"{function}({', '.join(map(show_term, arguments))})"


def _record(form: str, fields: Iterable[str]) -> str:
    branch, inside = form_of(form).branch, ", ".join(fields)
    return f"${branch}({inside})" if branch else f"[{inside}]"


def _operand(term: Var | Const | Apply) -> str:
    text = show_term(term)
    return f"({text})" if isinstance(term, Apply) and " " in text else text


def _value(value: Value) -> str:
    return quote(value) if isinstance(value, str) else str(value)
