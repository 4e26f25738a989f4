"""Describe nodes of the tree in messages."""

from __future__ import annotations

from holdfast.language import tree


def described(node: tree.Term | tree.Formula) -> str:
    """A node in the user's words."""
    match node:
        case tree.Atom(name):
            return f"the atom {name.text}(…)"
        case tree.Variable(name):
            return f"the variable {name}"
        case tree.Call(function):
            return f"{function}(…)"
        case tree.Negation():
            return "a negation"
        case tree.Comparison(operator):
            return f"a comparison with `{operator}`"
        case tree.Constraint(function):
            return f"the condition {function}(…)"
        case tree.Truth(value):
            return f"`{str(value).lower()}`"
        case tree.Conjunction():
            return "a list of conditions"
        case tree.Disjunction():
            return "a choice of conditions"
        case tree.Record() | tree.Nil():
            return "a record"
        case tree.Branch(name):
            return f"the value ${name}"
        case tree.Wildcard():
            return "`_`"
        case tree.Unary(operator) | tree.Binary(operator):
            return f"a value computed with `{operator}`"
        case tree.Aggregate(function):
            return f"the aggregate {function}"
        case _:
            return "a constant"
