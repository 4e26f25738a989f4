"""Wildcards get names, so that a substitution says which fact each of them met."""

from __future__ import annotations

from itertools import count

from holdfast.language import tree


def name_wildcards(body: tree.Formula, fresh: count[int] | None = None) -> tree.Formula:
    """Each `_` of a positive atom becomes a variable of its own, so that every fact it meets counts."""
    fresh = fresh or count()
    match body:
        case tree.Atom(name=name, arguments=arguments):
            named = (
                tree.Variable(f"_{next(fresh)}", span=a.span)
                if isinstance(a, tree.Wildcard)
                else _in_aggregates(a, fresh)
                for a in arguments
            )
            return tree.Atom(name, tuple(named), span=body.span)
        case tree.Conjunction(items=items):
            return tree.Conjunction(tuple(name_wildcards(item, fresh) for item in items), span=body.span)
        case tree.Disjunction(items=items):
            return tree.Disjunction(tuple(name_wildcards(item, fresh) for item in items), span=body.span)
        case tree.Comparison(operator=operator, left=left, right=right):
            return tree.Comparison(operator, _in_aggregates(left, fresh), _in_aggregates(right, fresh), span=body.span)
        case _:
            return body


def is_wildcard(name: str) -> bool:
    """Whether a variable stands for a `_`."""
    return name[0] == "_" and name[1:].isdigit()


def _in_aggregates(term: tree.Term, fresh: count[int]) -> tree.Term:
    match term:
        case tree.Aggregate(function=function, target=target, body=body):
            return tree.Aggregate(function, target, name_wildcards(body, fresh), span=term.span)
        case tree.Binary(operator=operator, left=left, right=right):
            return tree.Binary(operator, _in_aggregates(left, fresh), _in_aggregates(right, fresh), span=term.span)
        case _:
            return term
