"""The rules of a program as they are written, by head: what search and checker read alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from holdfast.explanations.terms import Terms
from holdfast.language import parse_body, tree
from holdfast.language.editing import name_of
from holdfast.language.syntax import variables
from holdfast.program.model import Program

_EQUIVALENCE = {
    "symmetric": ("p(y, x)", "p(x, y)"),
    "transitive": ("p(x, z)", "p(x, y)", "p(y, z)"),
    "reflexive": ("p(x, x)", "p(x, y)"),
}


@dataclass(frozen=True, eq=False)
class RuleHead:
    """One head of a rule as written, under the rule's name; of a limit relation, what it offers."""

    name: str
    head: tree.Atom
    body: tree.Formula
    rule: tree.Rule
    limit: tuple[int, str] | None = None  # the column of a limit relation, and min or max

    @cached_property
    def head_variables(self) -> frozenset[str]:
        """The variables of the head."""
        return variables(self.head)

    @cached_property
    def has_aggregates(self) -> bool:
        """Whether its head aggregates what its body gives."""
        return any(isinstance(term, tree.HeadAggregate) for term in self.head.arguments)


def written_rules(program: Program, terms: Terms) -> Iterator[RuleHead]:
    """The rules that are written, and those of relations that are declared `eqrel`."""
    for item in program.written:
        if isinstance(item, tree.Declaration) and "eqrel" in item.qualifiers:
            for name in item.names:
                yield from _equivalence_rules(name, terms.relation(name))
        elif isinstance(item, tree.Rule):
            assert item.body is not None, "facts are left out"
            for head in item.heads:
                shown, limit = _offered(head)
                yield RuleHead(name_of(item), shown, item.body, item, limit)


def _offered(head: tree.Atom) -> tuple[tree.Atom, tuple[int, str] | None]:
    """A head; of a limit relation, whose only aggregate is min or max, what it offers, with the column and which."""
    found = [(i, a.function) for i, a in enumerate(head.arguments) if isinstance(a, tree.HeadAggregate)]
    if len(found) != 1 or found[0][1] not in ("min", "max"):
        return head, None
    terms = tuple(a.target if isinstance(a, tree.HeadAggregate) else a for a in head.arguments)
    return replace(head, arguments=terms), found[0]


def _equivalence_rules(name: tree.Name, relation: str) -> Iterator[RuleHead]:
    for kind, texts in _EQUIVALENCE.items():
        atoms = [atom for text in texts if isinstance(atom := parse_body(text, ""), tree.Atom)]
        head, *body = (replace(atom, name=name) for atom in atoms)
        rule = tree.Rule((head,), tree.Conjunction(tuple(body), span=name.span), span=name.span)
        yield RuleHead(f"{relation}.{kind}", head, tree.Conjunction(tuple(body), span=name.span), rule)
