"""Pass 4a: declared types by name: a variable has the meet of its positive atoms' types, a head accepts subtypes."""

from __future__ import annotations

from dataclasses import replace

from holdfast.errors import Diagnostics, Label, Span
from holdfast.language import tree
from holdfast.program.core import CoreAtom, CoreCompare, CoreProgram, CoreRule, is_fresh, source_text
from holdfast.program.names import KnownRelation, Names
from holdfast.program.records import directions
from holdfast.program.type_names import TypeTable
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type


@dataclass(frozen=True)
class Use:
    """A variable in a declared column of a positive atom, or in a field of a record; `what` says which."""

    names: frozenset[str]
    span: Span
    what: str

    @property
    def text(self) -> str:
        """Describes the use in the user's words."""
        return f"{self.what} is {_either(self.names)}"


def check_nominal(program: CoreProgram, scope: Names, diagnostics: Diagnostics) -> None:
    """Report rules that confuse declared types of the same storage."""
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
        ways = directions(self.rule.body)
        for literal in self.rule.body:
            if isinstance(literal, CoreCompare) and ways.get(id(literal)):
                self._bind_fields(literal.right)
        for literal in self.rule.body:
            if isinstance(literal, CoreCompare):
                self._compare(literal)
        self._head()
        for literal in self.rule.body:
            if isinstance(literal, CoreCompare) and ways.get(id(literal)) is False:
                self._made(literal.right)
        for argument in self.rule.head.arguments:
            self._made(argument)

    def _bind(self, atom: CoreAtom) -> None:
        relation = self.scope.relations[atom.predicate]
        for column, argument in enumerate(atom.arguments):
            declared = relation.type_names[column]
            if isinstance(argument, tree.Variable) and declared is not None and not is_fresh(argument.name):
                what = f"the column {relation.columns[column]} of {relation.display}"
                use = Use(frozenset({self.types.resolved(declared)}), argument.span, what)
                self._meet(argument.name, use)

    def _bind_fields(self, term: tree.Term) -> None:
        """The fields of a record that is taken apart have the types that the record's type declares."""
        if not isinstance(term, tree.Record | tree.Branch):
            return
        whole = f"${term.name}" if isinstance(term, tree.Branch) else term.type_name
        for number, (inside, declared) in enumerate(zip(term.fields, self.types.fields(term), strict=False)):
            if isinstance(inside, tree.Variable) and not is_fresh(inside.name):
                what = f"field {number + 1} of {whole}"
                self._meet(inside.name, Use(frozenset({self.types.resolved(declared)}), inside.span, what))
            self._bind_fields(inside)

    def _meet(self, name: str, use: Use) -> None:
        first = self.known.setdefault(name, use)
        met = self.types.meet(first.names, use.names)
        if met:
            self.known[name] = use if met == use.names != first.names else replace(first, names=met)
        elif self._same_storage(first.names, use.names) and name not in self.clashed:
            self.clashed.add(name)
            message = f"no value of {name} can be both {_either(first.names)} and {_either(use.names)}: {use.text}"
            self._report("E0401", message, use.span, [Label(first.span, first.text)])

    def _same_storage(self, first: frozenset[str], second: frozenset[str]) -> bool:
        """Inference reports different storage, once."""
        kinds = {self.types.base(name) for name in first | second}
        if Type.RECORD in kinds:
            return False  # records.py has compared their fields
        return len(kinds) == 1 or kinds == {Type.SYMBOL, Type.ANY}

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
            if use is not None and self._is_other(use, declared):
                self._wrong_head(argument, use, relation, column)

    def _made(self, term: tree.Term) -> None:
        """The fields of a record that is constructed accept subtypes, as columns do."""
        if not isinstance(term, tree.Record | tree.Branch):
            return
        whole = f"${term.name}" if isinstance(term, tree.Branch) else term.type_name
        for number, (inside, declared) in enumerate(zip(term.fields, self.types.fields(term), strict=False)):
            use = self.known.get(inside.name) if isinstance(inside, tree.Variable) else None
            if use is not None and self._is_other(use, declared):
                message = f"{source_text(inside.span)} is {_either(use.names)}, but field {number + 1} of {whole} is "
                self._report("E0402", message + declared, inside.span, [Label(use.span, use.text)])
            self._made(inside)

    def _is_other(self, use: Use, declared: str) -> bool:
        """Whether a value has the same storage as a declared type, but not the type."""
        fits = all(self.types.is_subtype(name, declared) for name in use.names)
        return not fits and self._same_storage(use.names, frozenset({declared}))

    def _wrong_head(self, argument: tree.Variable, use: Use, relation: KnownRelation, column: int) -> None:
        message = f"{argument.name} is {_either(use.names)}, but the column {relation.columns[column]} of "
        message += f"{relation.display} is {relation.type_names[column]}"
        labels = [Label(use.span, use.text)]
        if relation.column_spans:
            labels.append(Label(relation.column_spans[column], "declared here"))
        self._report("E0402", message, argument.span, labels)

    def _report(self, code: str, message: str, span: Span, labels: list[Label]) -> None:
        """Report different types of one storage: an error, except in a legacy program, which never compared types."""
        if self.scope.legacy:
            self.diagnostics.warning("W0009", message, span, labels=labels)
        else:
            self.diagnostics.error(code, message, span, labels=labels)


def _either(names: frozenset[str]) -> str:
    return " or ".join(sorted(names))
