"""Print the syntax tree in the canonical form of `holdfast fmt`.

Parentheses are written only where the tree needs them, and around a negated comparison for readability.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.language import tree
from holdfast.language.operators import LEVELS, PRIMARY, UNARY, right_level
from holdfast.quick_dataclass import dataclass
from holdfast.values import quote

WIDTH: Final = 100
INDENT: Final = "    "

_bare_value = re.compile(r"(?!_$)[^\W\d]\w*|0|[1-9][0-9]*")


def show(program: tree.Program) -> str:
    """The canonical text of a program, with a blank line between kinds of items."""
    return "".join(line + "\n" for line in show_items(program.items))


def show_items(items: tuple[tree.Item, ...]) -> list[str]:
    """The lines of some items."""
    lines: list[str] = []
    for before, item in zip((None, *items), items, strict=False):
        if before is not None and type(before) is not type(item):
            lines.append("")
        lines += show_item(item).split("\n")
    return lines


def show_item(item: tree.Item) -> str:
    """One item, without a line end."""
    match item:
        case tree.Rule():
            return show_rule(item)
        case tree.Declaration(names, attributes, qualifiers):
            chosen = ", ".join(f"({', '.join(key)})" for key in item.choices)
            choices = [f"choice-domain {chosen}"] if chosen else []
            return " ".join([f".decl {_names(names)}({_columns(attributes)})", *qualifiers, *choices])
        case tree.TypeDeclaration(name, legacy=True):
            return f".{item.targets[0]}_type {name}"
        case tree.TypeDeclaration(name, subtype, targets):
            return f".type {name} {'<:' if subtype else '='} {' | '.join(targets)}"
        case tree.RecordDeclaration(name, fields):
            return f".type {name} = [{_columns(fields)}]"
        case tree.VariantDeclaration(name, branches):
            return f".type {name} = " + " | ".join(f"{each.name} {{{_columns(each.fields)}}}" for each in branches)
        case tree.FunctorDeclaration(name, types, result, stateful):
            return f".functor {name}({', '.join(types)}): {result}" + (" stateful" if stateful else "")
        case tree.PlanDirective(orders):
            return ".plan " + ", ".join(f"{number}:({', '.join(map(str, order))})" for number, order in orders)
        case tree.Subsumption(worse, better, body):
            return f"{show_formula(worse)} <= {show_formula(better)} :- {show_formula(body)}."
        case tree.Component():
            return _show_component(item)
        case tree.Init(name, component):
            return f".init {name} = {_component_type(component)}"
        case tree.Override(name):
            return f".override {name}"
        case tree.Directive(kind, names, parameters):
            return f".{kind} {_names(names)}" + (f"({', '.join(map(_parameter, parameters))})" if parameters else "")
        case tree.Pragma(key, value):
            return f".pragma {quote(key)}" + (f" {quote(value)}" if value is not None else "")
        case tree.Prefix(prefix, iri):
            return f"@prefix {prefix}: <{iri}> ."


def _show_component(component: tree.Component) -> str:
    inside = [INDENT + line if line else "" for line in show_items(component.items)]
    return "\n".join([component_head(component), *inside, "}"])


def component_head(component: tree.Component) -> str:
    """`.comp A<T> : B<T> {`."""
    bases = ", ".join(map(_component_type, component.bases))
    return f".comp {_component_type(component.type)}" + (f" : {bases}" if bases else "") + " {"


def _component_type(type: tree.ComponentType) -> str:
    return type.name + (f"<{', '.join(type.arguments)}>" if type.arguments else "")


def _columns(attributes: Iterable[tree.Attribute]) -> str:
    return ", ".join(f"{attribute.name}: {attribute.type_name}" for attribute in attributes)


def _names(names: Iterable[tree.Name]) -> str:
    return ", ".join(map(show_name, names))


def show_name(name: tree.Name) -> str:
    """The name of a relation, as written."""
    match name.kind:
        case tree.NameKind.QUOTED:
            return "'" + name.text.replace("'", "''") + "'"
        case tree.NameKind.IRI:
            return f"<{name.text}>"
        case _:
            return name.text


def _parameter(parameter: tree.Parameter) -> str:
    value = parameter.value if _bare_value.fullmatch(parameter.value) else quote(parameter.value)
    return f"{parameter.key}={value}"


# --- rules -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RulePart:
    """A part of a rule that gets its own line when the rule is split: the heads, or a literal."""

    nodes: tuple[tree.Node, ...]
    text: str
    indent: str = INDENT


def show_rule(rule: tree.Rule) -> str:
    """A rule on one line, or one literal per line if it is too long."""
    attributes = [show_attribute(attribute) for attribute in rule.attributes]
    parts = list(pieces(rule))
    line = " ".join(piece.text for piece in parts)
    broken = len(line) > WIDTH and len(parts) > 1
    return "\n".join([*attributes, *([piece.indent + piece.text for piece in parts] if broken else [line])])


def show_attribute(attribute: tree.RuleAttribute) -> str:
    """`#[name("r1")]`."""
    return f"#[{attribute.name}({quote(attribute.value)})]"


def pieces(rule: tree.Rule) -> Iterator[RulePart]:
    """The heads, then each literal of the body, with the punctuation that follows it."""
    heads = ", ".join(map(show_formula, rule.heads))
    yield RulePart(rule.heads, heads + (" :-" if rule.body is not None else "."), "")
    if rule.body is None:
        return
    choices = rule.body.items if isinstance(rule.body, tree.Disjunction) else (rule.body,)
    for choice in choices:
        literals = choice.items if isinstance(choice, tree.Conjunction) else (choice,)
        for literal in literals:
            sign = "," if literal is not literals[-1] else " ;" if choice is not choices[-1] else "."
            yield RulePart((literal,), _show_member(literal) + sign)


# --- formulas ----------------------------------------------------------------------------------------


def show_formula(formula: tree.Formula) -> str:
    """A formula on one line."""
    match formula:
        case tree.Atom(name, arguments):
            return f"{show_name(name)}({_terms(arguments)})"
        case tree.Constraint(function, arguments):
            return f"{function}({_terms(arguments)})"
        case tree.Comparison(operator, left, right):
            return f"{show_term(left)} {operator} {show_term(right)}"
        case tree.Truth(value):
            return "true" if value else "false"
        case tree.Negation(tree.Comparison() | tree.Conjunction() | tree.Disjunction() as operand):
            return f"!({show_formula(operand)})"
        case tree.Negation(operand):
            return f"!{show_formula(operand)}"
        case tree.Conjunction(items):
            return ", ".join(map(_show_member, items))
        case tree.Disjunction(items):
            return " ; ".join(map(show_formula, items))


def _show_member(formula: tree.Formula) -> str:
    """A formula as a member of a conjunction."""
    shown = show_formula(formula)
    return f"({shown})" if isinstance(formula, tree.Disjunction) else shown


# --- terms -------------------------------------------------------------------------------------------


def _terms(terms: Iterable[tree.Term]) -> str:
    return ", ".join(map(show_term, terms))


def show_term(term: tree.Term, level: int = 0) -> str:
    """A term, in parentheses if it binds less tightly than `level`."""
    match term:
        case tree.Binary(operator):
            own, text = LEVELS[operator], _show_binary(term)
        case tree.Unary(operator, operand):
            own, text = UNARY, operator + (" " if operator.isalpha() else "") + show_term(operand, UNARY)
        case _:
            return _show_primary(term)
    return f"({text})" if own < level else text


def _show_binary(term: tree.Binary) -> str:
    left, right = LEVELS[term.operator], right_level(term.operator)
    if term.operator == "^":
        left, right = PRIMARY, UNARY  # a sign may follow `^` without ambiguity
    return f"{show_term(term.left, left)} {term.operator} {show_term(term.right, right)}"


def _show_primary(term: tree.Term) -> str:
    match term:
        case tree.Variable(name):
            return name
        case tree.Wildcard():
            return "_"
        case tree.Number(text, kind):
            return text + ("u" if kind is tree.NumberKind.UNSIGNED else "")
        case tree.Call(function, arguments):
            return f"{function}({_terms(arguments)})"
        case tree.Nil():
            return "nil"
        case tree.Record(fields):
            return f"[{_terms(fields)}]"
        case tree.Branch(name, fields):
            return f"${name}({_terms(fields)})" if fields else f"${name}"
        case tree.Cast(operand, type_name):
            return f"as({show_term(operand)}, {type_name})"
        case tree.HeadAggregate(function, target):
            return f"{function}({show_term(target)})"
        case tree.Aggregate(function, target, body):
            return " ".join([function, *_target(target), ":", "{", show_formula(body), "}"])
        case tree.Unary() | tree.Binary():
            return show_term(term)
        case _:
            return _show_constant(term)


def _target(target: tree.Term | None) -> list[str]:
    """The target of an aggregate; `ex:a` and `<iri>` are parenthesised so as not to be read as `x : …` and `x < …`."""
    if target is None:
        return []
    shown = show_term(target)
    return [f"({shown})" if _has_rdf_name(target) else shown]


def _has_rdf_name(term: tree.Term) -> bool:
    match term:
        case tree.PrefixedName() | tree.IriTerm():
            return True
        case tree.Unary(_, operand):
            return _has_rdf_name(operand)
        case tree.Binary(_, left, right):
            return _has_rdf_name(left) or _has_rdf_name(right)
        case _:
            return False


def _show_constant(term: tree.String | tree.IriTerm | tree.PrefixedName | tree.RdfLiteral) -> str:
    match term:
        case tree.String(value):
            return quote(value)
        case tree.IriTerm(iri):
            return f"<{iri}>"
        case tree.PrefixedName(prefix, local):
            return f"{prefix}:{local}"
        case tree.RdfLiteral(lexical, None, language):
            return f"{quote(lexical)}@{language}"
        case tree.RdfLiteral(lexical, datatype):
            assert datatype is not None
            return f"{quote(lexical)}^^{_show_constant(datatype)}"
