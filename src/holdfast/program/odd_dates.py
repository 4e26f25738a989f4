"""A warning: `2020-01-31` without quotes is a subtraction, and was probably meant as a date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from holdfast.errors import Diagnostics
from holdfast.language import tree

_DATE = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b")


def warn_of_dates(program: tree.Program, diagnostics: Diagnostics) -> None:
    """Warn of each subtraction that looks like a date."""
    rules = [item for item in program.items if isinstance(item, tree.Rule)]
    sources = {id(rule.span.source): rule.span.source for rule in rules}
    suspect = {key for key, source in sources.items() if _DATE.search(source.text)}  # there are hardly ever any
    for rule in rules if suspect else ():
        if id(rule.span.source) in suspect:
            for term in _subtractions(rule):
                if _DATE.fullmatch(written := _text(term)):
                    message = f"{written} is a subtraction, not a date"
                    diagnostics.warning("W0017", message, term.span, help=f'write it as a string: "{written}"')


def _subtractions(rule: tree.Rule) -> Iterator[tree.Binary]:
    waiting: list[object] = [rule]
    while waiting:
        match waiting.pop():
            case tuple() as several:
                waiting += several
            case tree.Node() as node:
                if isinstance(node, tree.Binary) and node.operator == "-":
                    yield node
                waiting += [getattr(node, field.name) for field in fields(node)]


def _text(node: tree.Node) -> str:
    span = node.span
    return span.source.line(span.line)[span.column - 1 : span.end_column - 1] if span.line == span.end_line else ""
