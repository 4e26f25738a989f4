"""A short way to say what a tree looks like: fully parenthesised text without spans."""

from __future__ import annotations

from typing import Any

from holdfast.language import parse, parse_body, tree


def shape(node: Any) -> str:
    """A term or formula with every grouping written out."""
    match node:
        case tree.Binary(operator, left, right) | tree.Comparison(operator, left, right):
            return f"({shape(left)} {operator} {shape(right)})"
        case tree.Unary(operator, operand):
            return f"({operator} {shape(operand)})"
        case tree.Negation(operand):
            return f"(! {shape(operand)})"
        case tree.Atom(name, arguments):
            return f"{name.kind.value}:{name.text}[{' '.join(map(shape, arguments))}]"
        case tree.Call(function, arguments) | tree.Constraint(function, arguments):
            return f"{type(node).__name__}:{function}[{' '.join(map(shape, arguments))}]"
        case tree.Aggregate(function, target, body):
            return f"<{function} {shape(target)} : {shape(body)}>"
        case tree.HeadAggregate(function, target):
            return f"<{function} {shape(target)}>"
        case tree.Conjunction(items):
            return "(" + " & ".join(map(shape, items)) + ")"
        case tree.Disjunction(items):
            return "(" + " | ".join(map(shape, items)) + ")"
        case tree.Variable(name):
            return name
        case tree.Number(text, kind):
            return text if kind is tree.NumberKind.NUMBER else f"{text}/{kind.value}"
        case tree.PrefixedName(prefix, local):
            return f"{prefix}:{local}"
        case tree.IriTerm(iri):
            return f"iri={iri}"
        case tree.String(value):
            return repr(value)
        case tree.Wildcard():
            return "_"
        case tree.Truth(value):
            return str(value)
        case tree.Cast(operand, type_name):
            return f"as[{shape(operand)} {type_name}]"
        case tree.RdfLiteral(lexical, datatype, language):
            return f"{lexical!r}@{language}" if language else f"{lexical!r}^^{shape(datatype)}"
        case None:
            return "-"
    raise AssertionError(f"no shape for {node!r}")


def body(text: str) -> str:
    """The shape of a query."""
    return shape(parse_body(text))


def rule(text: str) -> str:
    """The shape of the only item of a text, which must be a rule."""
    (item,) = parse(text).items
    assert isinstance(item, tree.Rule)
    heads = " & ".join(map(shape, item.heads))
    return heads if item.body is None else f"{heads} <- {shape(item.body)}"
