"""The rules of a program as they are written, and their instances over facts that are looked up: for the checker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from holdfast.explanations.checked_bodies import (
    FREE,
    PREMISES,
    BodyEvaluator,
    Ground,
    GroundRow,
    Looking,
    Substitution,
    plain,
)
from holdfast.explanations.terms import NOTHING, NoValue, aggregated, alike, as_close, number, value_of
from holdfast.language import parse_body, tree
from holdfast.language.editing import name_of
from holdfast.language.syntax import alternatives, conjuncts, is_pattern, variables
from holdfast.program.model import Program

_EQUIVALENCE = {
    "symmetric": ("p(y, x)", "p(x, y)"),
    "transitive": ("p(x, z)", "p(x, y)", "p(y, z)"),
    "reflexive": ("p(x, x)", "p(x, y)"),
}


@dataclass(frozen=True, eq=False)
class CheckedRule:
    """A rule with one head."""

    name: str
    head: tree.Atom
    body: tree.Formula

    @property
    def open_variables(self) -> frozenset[str]:
        """Those that a substitution may give values: not the ones that only a negation or an aggregate mentions."""
        items = (item for some in alternatives(self.body) for item in some if not isinstance(item, tree.Negation))
        return variables(self.head).union(*(variables(item, False) for item in items))

    @property
    def has_aggregates(self) -> bool:
        """Whether its head aggregates what its body gives."""
        return any(isinstance(term, tree.HeadAggregate) for term in self.head.arguments)


class CheckedRules(BodyEvaluator):
    """The rules by relation and width."""

    def __init__(self, program: Program, look: Looking) -> None:
        super().__init__(program, look)
        self.rules: dict[tuple[str, int], list[CheckedRule]] = {}
        self.limits: dict[tuple[str, int], tuple[int, str]] = {}
        self._equations: dict[int, tree.Comparison] = {}
        for item in program.written:
            if isinstance(item, tree.Declaration) and "eqrel" in item.qualifiers:
                for name, (kind, head, body) in ((n, each) for n in item.names for each in equivalence_rules(n)):
                    self._add(f"{self.relation(name)}.{kind}", head, body)
        for rule in (item for item in program.written if isinstance(item, tree.Rule)):
            for head in rule.heads:
                assert rule.body is not None, "facts are left out"
                self._add(name_of(rule), head, rule.body)

    def _add(self, name: str, written: tree.Atom, body: tree.Formula) -> None:
        head, limit = offered(written)
        place = self.relation(head.name), len(head.arguments)
        if limit is not None:
            self.limits[place] = limit
        self.rules.setdefault(place, []).append(CheckedRule(name, head, body))

    def group(self, name: str, pattern: GroundRow) -> GroundRow:
        """A pattern; of a limit relation, that of all that may be offered beside it."""
        column = self.limits[name, len(pattern)][0] if (name, len(pattern)) in self.limits else None
        return tuple(FREE if i == column else value for i, value in enumerate(pattern))

    def lacks(self, name: str, best: dict[GroundRow, GroundRow], derived: GroundRow) -> bool:
        """Whether complete facts, by their groups, lack one that is derived; of a limit relation, a better one."""
        there = best.get(self.group(name, derived))
        if there is None or (name, len(derived)) not in self.limits:
            return there is None
        column, function = self.limits[name, len(derived)]
        mine, other = alike([there[column], derived[column]])
        return bool(other < mine if function == "min" else other > mine)

    def fact(self, text: str, whole: bool = False) -> Ground:
        """A fact, or a pattern with `_` for any value, from its text."""
        atom = parse_body(text, "<fact>")
        if not isinstance(atom, tree.Atom):
            raise NoValue(f"{text} is not a fact")
        name = self.relation(atom.name)
        kinds = self.kinds(name, len(atom.arguments))
        values = [FREE if isinstance(a, tree.Wildcard) else self.value(a, {}) for a in atom.arguments]
        if whole and FREE in values:
            raise NoValue(f"{text} is not one fact")
        return name, tuple(map(value_of, values, kinds))

    def constant(self, text: str) -> Any:
        """A value from its text."""
        comparison = parse_body(f"x = {text}", "<proof>")
        if not isinstance(comparison, tree.Comparison) or variables(comparison.right):
            raise NoValue(f"{text} is not a value")
        return self.value(comparison.right, {})

    def _ground(self, atom: tree.Atom, b: Substitution) -> Ground:
        name = self.relation(atom.name)
        kinds = self.kinds(name, len(atom.arguments))
        return name, tuple(value_of(self.value(a, b), kind) for a, kind in zip(atom.arguments, kinds, strict=True))

    # --- instances -------------------------------------------------------------------------------------

    def instances(
        self, rule: CheckedRule, pattern: GroundRow, given: Substitution
    ) -> Iterator[tuple[GroundRow, Substitution]]:
        """The instances of a rule whose heads fit a pattern: the head's values, and the substitution.

        What is `given` must not narrow a group down: of a head with aggregates only the pattern counts.
        """
        b: Substitution | None = {} if rule.has_aggregates else given
        items = conjuncts(rule.body)
        for place, (term, value) in enumerate(zip(rule.head.arguments, pattern, strict=True)):
            if b is not None and value is not FREE and not isinstance(term, tree.HeadAggregate):
                b = self._fitted(place, term, value, b, items)
        if b is None:
            return
        body = tree.Conjunction(tuple(items), span=rule.head.span)
        found = self.solve(body, b, frozenset(), variables(rule.head), rule.has_aggregates)
        heads = self._grouped(rule.head, found, pattern) if rule.has_aggregates else self._each_head(rule.head, found)
        for row, new in heads:
            if NOTHING not in row and fits(row, pattern):
                yield row, new

    def _fitted(self, place: int, term: Any, value: Any, b: Substitution, items: list[Any]) -> Substitution | None:
        """What a column of the head says of variables; what it cannot say yet becomes a condition."""
        if is_pattern(term) or not variables(term):
            return self.equal(term, value, b)
        new: Substitution | None = b
        match term:  # x + 1 = 5 says what x is
            case tree.Binary(operator="+" | "-", left=tree.Variable() as left, right=tree.Number() as right):
                if isinstance(value, int) and isinstance(number(right), int):
                    new = self.equal(left, value - number(right) * (1 if term.operator == "+" else -1), b)
        if id(term) not in self._equations:
            left_over = tree.Variable(f" {place}", span=term.span)
            self._equations[id(term)] = tree.Comparison("=", left_over, term, span=term.span)
        items.append(self._equations[id(term)])
        return None if new is None else {**new, f" {place}": value}

    def _each_head(self, head: tree.Atom, found: Iterable[Substitution]) -> Iterator[tuple[GroundRow, Substitution]]:
        return ((self._ground(head, b)[1], b) for b in found)

    def _grouped(
        self, head: tree.Atom, found: Iterable[Substitution], pattern: GroundRow
    ) -> Iterator[tuple[GroundRow, Substitution]]:
        """The aggregates of a head, computed anew over the distinct substitutions of each group."""
        kinds = self.kinds(self.relation(head.name), len(head.arguments))
        groups: dict[GroundRow, list[Substitution]] = {}
        for b in found:
            key = tuple(self.value(a, b) for a in head.arguments if not isinstance(a, tree.HeadAggregate))
            groups.setdefault(key, []).append(b)
        for members in groups.values():
            distinct = {plain(b): b for b in members}.values()
            row = [
                aggregated(a.function, [self.value(a.target, b) for b in distinct])
                if isinstance(a, tree.HeadAggregate)
                else self.value(a, members[0])
                for a in head.arguments
            ]
            shared = {n: v for n, v in members[0].items() if all(n in b and b[n] == v for b in members)}
            facts = tuple(fact for b in members for fact in b.get(PREMISES, ()))
            yield tuple(map(as_close, map(value_of, row, kinds), pattern)), {**shared, PREMISES: facts}


def offered(head: tree.Atom) -> tuple[tree.Atom, tuple[int, str] | None]:
    """A head; of a limit relation, whose only aggregate is min or max, what it offers, with the column and which."""
    found = [(i, a.function) for i, a in enumerate(head.arguments) if isinstance(a, tree.HeadAggregate)]
    if len(found) != 1 or found[0][1] not in ("min", "max"):
        return head, None
    terms = tuple(a.target if isinstance(a, tree.HeadAggregate) else a for a in head.arguments)
    return replace(head, arguments=terms), found[0]


def equivalence_rules(name: tree.Name) -> Iterator[tuple[str, tree.Atom, tree.Formula]]:
    """The rules of a relation that is declared `eqrel`, each with its kind."""
    for kind, texts in _EQUIVALENCE.items():
        atoms = [atom for text in texts if isinstance(atom := parse_body(text, ""), tree.Atom)]
        head, *body = (replace(atom, name=name) for atom in atoms)
        yield kind, head, tree.Conjunction(tuple(body), span=name.span)


def fits(row: GroundRow, pattern: GroundRow) -> bool:
    """Whether a fact has the values that a pattern asks for, and as many."""
    return len(row) == len(pattern) and all(w is FREE or v == w for v, w in zip(row, pattern, strict=True))
