"""The part of the language that the measured programs use, so that each rule can be said to other systems too.

Atoms over variables and whole numbers, `x != y`, and `z = x + y`.  The reader is not holdfast's parser: what the
other systems are told must not depend on what is measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Term: TypeAlias = str | int  # a variable's name or a whole number

_RULE = re.compile(r"(?P<head>\w+\([^)]*\))\s*:-\s*(?P<body>.+?)\.\s", re.DOTALL)
_LITERAL = re.compile(r"(\w+)\(([^)]*)\)|(\w+) != (\w+)|(\w+) = (\w+) \+ (\w+)")


@dataclass(frozen=True)
class Atom:
    """A relation and what stands in its columns."""

    relation: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True)
class Different:
    """`left != right`"""

    left: str
    right: str


@dataclass(frozen=True)
class Sum:
    """`result = left + right`"""

    result: str
    left: str
    right: str


Literal: TypeAlias = Atom | Different | Sum


@dataclass(frozen=True)
class Rule:
    """A head that follows from a body."""

    head: Atom
    body: tuple[Literal, ...]

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of the body, in order."""
        return tuple(literal for literal in self.body if isinstance(literal, Atom))

    def inside(self, component: Iterable[str]) -> tuple[int, ...]:
        """The places of the atoms whose relations belong to a component."""
        return tuple(place for place, atom in enumerate(self.atoms) if atom.relation in component)


def read_rules(text: str) -> tuple[Rule, ...]:
    """The rules of a program text."""
    return tuple(
        Rule(_atom(*_atom_parts(found["head"])), tuple(map(_literal, _LITERAL.finditer(found["body"]))))
        for found in _RULE.finditer(text + "\n")
    )


def _atom_parts(text: str) -> tuple[str, str]:
    name, _, rest = text.partition("(")
    return name, rest.rstrip(")")


def _atom(name: str, arguments: str) -> Atom:
    return Atom(name, tuple(int(word) if word.isdigit() else word for word in arguments.replace(",", " ").split()))


def _literal(found: re.Match[str]) -> Literal:
    name, arguments, left, right, *addition = found.groups()
    if name:
        return _atom(name, arguments)
    return Different(left, right) if left else Sum(*addition)


def arities(rules: Iterable[Rule]) -> dict[str, int]:
    """The relations of the rules, each with its number of columns."""
    return {atom.relation: len(atom.arguments) for rule in rules for atom in (*rule.atoms, rule.head)}


def components(rules: tuple[Rule, ...]) -> list[tuple[str, ...]]:
    """The derived relations, those that need each other together, in an order in which they can be computed."""
    below = {rule.head.relation: {rule.head.relation} for rule in rules}
    grew = True
    while grew:
        grew = False
        for rule in rules:
            known = below[rule.head.relation]
            more = set().union(*(below.get(atom.relation, ()) for atom in rule.atoms)) - known
            known |= more
            grew = grew or bool(more)
    groups = {tuple(sorted(other for other in known if name in below[other])) for name, known in below.items()}
    return sorted(groups, key=lambda group: (len(below[group[0]]), group))
