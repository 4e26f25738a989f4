"""Pass 4a: declared types by name: a variable has the meet of what its positive atoms give, a head takes subtypes."""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import Diagnostics, Label, Span
from holdfast.language import tree
from holdfast.program.core import CoreAtom, CoreCompare, CoreProgram, CoreRule, is_fresh
from holdfast.program.names import KnownRelation, Names
from holdfast.program.type_names import TypeTable
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Use:
    """A variable in a declared column of a positive atom."""

    names: frozenset[str]
    span: Span
    relation: KnownRelation
    column: int

    @property
    def text(self) -> str:
        """The use in the user's words."""
        return f"the column {self.relation.columns[self.column]} of {self.relation.display} is {_either(self.names)}"


def check_nominal(program: CoreProgram, scope: Names, diagnostics: Diagnostics) -> None:
    """Report rules that mix up declared types of the same storage."""
    for rule in program.rules:
        _Rule(rule, scope, diagnostics).check()


class _Rule:
    def __init__(self, rule: CoreRule, scope: Names, diagnostics: Diagnostics) -> None:
        self.rule = rule
        self.scope = scope
        self.types: TypeTable = scope.types
        self.diagnostics = diagnostics
        self.known: dict[str, Use] = {}
        self.clashed: set[str] = set()

    def check(self) -> None:
        for literal in self.rule.body:
            if isinstance(literal, CoreAtom) and not literal.negated:
                self._bind(literal)
        for literal in self.rule.body:
            if isinstance(literal, CoreCompare):
                self._compare(literal)
        self._head()

    def _bind(self, atom: CoreAtom) -> None:
        relation = self.scope.relations[atom.predicate]
        for column, argument in enumerate(atom.arguments):
            declared = relation.type_names[column]
            if isinstance(argument, tree.Variable) and declared is not None and not is_fresh(argument.name):
                use = Use(frozenset({self.types.resolved(declared)}), argument.span, relation, column)
                self._meet(argument.name, use)

    def _meet(self, name: str, use: Use) -> None:
        first = self.known.setdefault(name, use)
        met = self.types.meet(first.names, use.names)
        if met:
            self.known[name] = use if met == use.names != first.names else replace(first, names=met)
        elif self._same_storage(first.names, use.names) and name not in self.clashed:
            self.clashed.add(name)
            message = f"no value of {name} can be both {_either(first.names)} and {_either(use.names)}: {use.text}"
            self.diagnostics.error("E0401", message, use.span, labels=[Label(first.span, first.text)])

    def _same_storage(self, first: frozenset[str], second: frozenset[str]) -> bool:
        """Different storage is reported by the inference, once."""
        kinds = {self.types.base(name) for name in first | second}
        return len(kinds) == 1 or all(kind.in_dictionary for kind in kinds)

    def _compare(self, literal: CoreCompare) -> None:
        left, right = literal.left, literal.right
        if not (isinstance(left, tree.Variable) and isinstance(right, tree.Variable)):
            return
        first, second = self.known.get(left.name), self.known.get(right.name)
        if first is None or second is None:
            if literal.operator == "=" and (first or second):
                self.known.setdefault(right.name if first else left.name, first or second)  # type: ignore[arg-type]
            return
        if not self.types.meet(first.names, second.names) and self._same_storage(first.names, second.names):
            message = f"{left.name} is {_either(first.names)} and {right.name} is {_either(second.names)}: "
            labels = [Label(first.span, first.text), Label(second.span, second.text)]
            self.diagnostics.error("E0407", message + "no value is both", literal.span, labels=labels)

    def _head(self) -> None:
        relation = self.scope.relations[self.rule.head.predicate]
        for column, argument in enumerate(self.rule.head.arguments):
            declared = relation.type_names[column]
            if not isinstance(argument, tree.Variable) or declared is None or argument.name in self.clashed:
                continue
            use = self.known.get(argument.name)
            if use is None or all(self.types.is_subtype(name, declared) for name in use.names):
                continue
            if self._same_storage(use.names, frozenset({declared})):
                self._wrong_head(argument, use, relation, column)

    def _wrong_head(self, argument: tree.Variable, use: Use, relation: KnownRelation, column: int) -> None:
        message = f"{argument.name} is {_either(use.names)}, but the column {relation.columns[column]} of "
        message += f"{relation.display} is {relation.type_names[column]}"
        labels = [Label(use.span, use.text)]
        if relation.column_spans:
            labels.append(Label(relation.column_spans[column], "declared here"))
        self.diagnostics.error("E0402", message, argument.span, labels=labels)


def _either(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))
