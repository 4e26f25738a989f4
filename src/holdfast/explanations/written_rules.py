"""The rules of a program as they are written, by head: what search and checker read alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from holdfast.explanations.conditions import Conditions, Way, equation
from holdfast.explanations.terms import Terms
from holdfast.language import parse_body, tree
from holdfast.language.editing import name_of
from holdfast.language.printer import show_rule
from holdfast.language.syntax import conjuncts, variables
from holdfast.program.model import Program
from holdfast.program.sums import SUMS
from holdfast.values.structures import Kind

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
    terms: Terms
    limit: tuple[int, str] | None = None  # the column of a limit relation, and min or max
    circle: frozenset[tuple[str, int]] = frozenset()  # the limit relations of its recursion
    has_sums: bool = False  # whether sums are among them

    @cached_property
    def place(self) -> tuple[str, int]:
        """The relation of the head, and how many columns it has."""
        return self.terms.relation(self.head.name), len(self.head.arguments)

    @cached_property
    def text(self) -> str:
        """The rule on one line, or one literal per line, without its attributes."""
        return show_rule(replace(self.rule, attributes=()))

    @cached_property
    def kinds(self) -> Sequence[Kind]:
        """The types of the columns of the head."""
        return self.terms.kinds(*self.place)

    @cached_property
    def head_variables(self) -> frozenset[str]:
        """The variables of the head."""
        return variables(self.head)

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """For each column of the head the function that aggregates it, or nothing."""
        return tuple(a.function if isinstance(a, tree.HeadAggregate) else "" for a in self.head.arguments)

    @cached_property
    def has_aggregates(self) -> bool:
        """Whether its head aggregates what its body gives."""
        return any(self.functions)

    @cached_property
    def is_exact(self) -> bool:
        """Whether it has to know all that its body gives: a sum of its own circle only grows."""
        return self.has_aggregates and self.limit is None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Under which name a substitution has each column: a variable under its own, what is computed under ` i`."""
        own = [a.name if isinstance(a, tree.Variable) else "" for a in self.head.arguments]
        return tuple(name if name and name not in own[:i] else f" {i}" for i, name in enumerate(own))

    @cached_property
    def equations(self) -> dict[str, list[tree.Formula]]:
        """That computed columns have their values; x + 1 = 5 also says what x is."""
        found: dict[str, list[tree.Formula]] = {}
        for name, term in zip(self.columns, self.head.arguments, strict=True):
            if name.startswith(" "):
                found[name] = [equation(name, term.target if isinstance(term, tree.HeadAggregate) else term)]
            match term:
                case tree.Binary(operator="+" | "-", left=tree.Variable() as x, right=tree.Number() as n):
                    if self.terms.is_whole(n):
                        inverse, value = "-" if term.operator == "+" else "+", tree.Variable(name, span=term.span)
                        back = tree.Binary(inverse, value, n, span=term.span)
                        found[name].append(equation(x.name, back))
        return found

    def asked(self, pattern: Sequence[Any]) -> dict[str, Any]:
        """What a pattern says of columns; of an aggregate it says nothing that could narrow its group down."""
        columns = zip(self.columns, self.functions, pattern, strict=True)
        return {name: value for name, function, value in columns if value is not None and not function}

    def asks(self, known: Iterable[str]) -> list[tree.Formula]:
        """The conditions of the rule when some columns are known."""
        return [
            *conjuncts(self.body),
            *(each for name in self.equations if name in known for each in self.equations[name]),
        ]

    def gives(self, known: Iterable[str]) -> list[tree.Formula]:
        """The equations of the columns that are not known."""
        return [each[0] for name, each in self.equations.items() if name not in known]

    def ways(self, known: frozenset[str]) -> tuple[Way, ...]:
        """The steps that find all columns when some are known."""
        conditions, outside = Conditions(self.terms), self.head_variables
        return conditions.ways(self.asks(known), known, frozenset(), outside, self.gives(known))


def rules_by_head(program: Program, terms: Terms) -> dict[tuple[str, int], list[RuleHead]]:
    """The rules by relation and number of columns."""
    found: dict[tuple[str, int], list[RuleHead]] = {}
    for rule in written_rules(program, terms):
        found.setdefault(rule.place, []).append(rule)
    return found


def written_rules(program: Program, terms: Terms) -> Iterator[RuleHead]:
    """The rules that are written, and those of relations that are declared `eqrel`."""
    circles = _circles(program)
    for item in program.written:
        if isinstance(item, tree.Declaration) and "eqrel" in item.qualifiers:
            for name in item.names:
                yield from _equivalence_rules(name, terms)
        elif isinstance(item, tree.Rule):
            assert item.body is not None, "facts are left out"
            for head in item.heads:
                place = terms.relation(head.name), len(head.arguments)
                circle, has_sums = circles.get(place, (frozenset(), False))
                shown, limit = _offered(head, has_sums and place in circle)
                yield RuleHead(name_of(item), shown, item.body, item, terms, limit, circle, has_sums)


def _circles(program: Program) -> dict[tuple[str, int], tuple[frozenset[tuple[str, int]], bool]]:
    """For the relations of each recursion with limit relations these, and whether there are sums: they are some."""
    found = {}
    for node in program.nodes:
        relations = [program.relations[name] for name in node.predicates if node.limits]
        places = {each.name: (each.name.removesuffix(f"/{each.arity}"), each.arity) for each in relations}
        limits = frozenset(place for name, place in places.items() if name in node.limits)
        found.update(dict.fromkeys(places.values(), (limits, bool(node.sums))))
    return found


def _offered(head: tree.Atom, grows: bool) -> tuple[tree.Atom, tuple[int, str] | None]:
    """A head; of a limit relation, whose only aggregate is min or max, what it offers, with the column and which."""
    found = [(i, a.function) for i, a in enumerate(head.arguments) if isinstance(a, tree.HeadAggregate)]
    if len(found) == 1 and grows and found[0][1] in SUMS:
        return head, (found[0][0], "max")
    if len(found) != 1 or found[0][1] not in ("min", "max"):
        return head, None
    terms = tuple(a.target if isinstance(a, tree.HeadAggregate) else a for a in head.arguments)
    return replace(head, arguments=terms), found[0]


def _equivalence_rules(name: tree.Name, terms: Terms) -> Iterator[RuleHead]:
    for kind, texts in _EQUIVALENCE.items():
        atoms = [atom for text in texts if isinstance(atom := parse_body(text, ""), tree.Atom)]
        head, *body = (replace(atom, name=name) for atom in atoms)
        rule = tree.Rule((head,), tree.Conjunction(tuple(body), span=name.span), span=name.span)
        yield RuleHead(
            f"{terms.relation(name)}.{kind}", head, tree.Conjunction(tuple(body), span=name.span), rule, terms
        )
