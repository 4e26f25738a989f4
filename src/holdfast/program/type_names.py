"""Nominal types: the types that `.type` declares, the subtype relation, their storage, and the fields of records."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import Diagnostics, Label
from holdfast.language import tree
from holdfast.language.foreign import type_help
from holdfast.program.similar import similar
from holdfast.values import Type
from holdfast.values.structures import Kind, Structure

PRIMITIVE = {kind.value: kind for kind in Type if kind is not Type.RECORD}
TypeNames = frozenset[str]


class TypeTable:
    """The types of a program.  Aliases are replaced by what they stand for; every name has a storage type."""

    def __init__(self, declarations: Iterable[tree.AnyType], diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._declared: dict[str, tree.AnyType] = {}
        self._structures: dict[str, Structure] = {}
        self.branches: dict[str, str] = {}  # the algebraic data type that each branch belongs to
        self._bases: dict[str, Type] = dict(PRIMITIVE)
        self._below: dict[str, set[str]] = {}
        self._resolved: dict[str, str] = {}
        for declaration in declarations:
            self._declare(declaration)
        for name in self._declared:
            self._base(name, ())
        for declaration in self._declared.values():
            self._fill(declaration)

    def _declare(self, declaration: tree.AnyType) -> None:
        name = declaration.name
        if name in PRIMITIVE:
            message = f"{name} is a type of the language and cannot be declared"
            self._diagnostics.error("E0204", message, declaration.span)
        elif name in self._declared:
            first = Label(self._declared[name].span, "first declared here")
            self._diagnostics.error("E0204", f"the type {name} is declared twice", declaration.span, labels=[first])
        else:
            self._declared[name] = declaration
            if not isinstance(declaration, tree.TypeDeclaration):
                self._structures[name] = Structure(name)
                self._bases[name] = Type.RECORD

    def _fill(self, declaration: tree.AnyType) -> None:
        """Determine the fields of a record, or of each branch."""
        match declaration:
            case tree.RecordDeclaration(name=name, fields=fields):
                self._structures[name].branches[""] = self._kinds(fields)
            case tree.VariantDeclaration(name=name, branches=branches):
                for branch in branches:
                    if branch.name in self.branches:
                        message = f"the branch ${branch.name} is declared twice"
                        self._diagnostics.error("E0220", message, branch.span)
                    self.branches.setdefault(branch.name, name)
                    self._structures[name].branches[branch.name] = self._kinds(branch.fields)

    def _kinds(self, fields: Iterable[tree.Attribute]) -> tuple[Kind, ...]:
        known = [field.type_name if self.known(field.type_name, field) else "any" for field in fields]
        return tuple(self.structure(name) or self.base(name) for name in known)

    def structure(self, name: str) -> Structure | None:
        """The structure of a type's values, if they are records."""
        seen: set[str] = set()
        while name not in self._structures:
            declaration = self._declared.get(name)
            if name in seen or not isinstance(declaration, tree.TypeDeclaration):
                return None
            seen.add(name)
            name = declaration.targets[0]
        return self._structures[name]

    def fields(self, record: tree.Record | tree.Branch) -> tuple[str, ...]:
        """The names of the types of a record's fields."""
        owner = self.branches.get(record.name, "") if isinstance(record, tree.Branch) else record.type_name
        match self._declared.get(owner):
            case tree.RecordDeclaration(fields=fields):
                return tuple(each.type_name for each in fields)
            case tree.VariantDeclaration(branches=branches) if isinstance(record, tree.Branch):
                found = [branch.fields for branch in branches if branch.name == record.name]
                return tuple(each.type_name for each in found[0])
        return ()

    @property
    def records(self) -> list[Structure]:
        """All record types, each with one unnamed branch."""
        return [structure for structure in self._structures.values() if structure.is_record]

    @property
    def has_structures(self) -> bool:
        """Whether there are any records."""
        return bool(self._structures)

    def _base(self, name: str, path: tuple[str, ...]) -> Type:
        if name in self._bases:
            return self._bases[name]
        declaration = self._declared[name]
        assert isinstance(declaration, tree.TypeDeclaration)  # records have their base type from the start
        if name in path:
            self._diagnostics.error("E0211", f"the type {name} is defined by itself", declaration.span)
            return self._bases.setdefault(name, Type.ANY)
        found = [self._base(t, (*path, name)) for t in declaration.targets if self.known(t, declaration)]
        if len(set(found)) > 1:
            kinds = " and ".join(sorted({kind.value for kind in found}))
            message = f"the type {name} unites types of different kinds: {kinds}"
            self._diagnostics.error("E0211", message, declaration.span)
        return self._bases.setdefault(name, found[0] if found else Type.ANY)

    def known(self, name: str, node: tree.Node) -> bool:
        """Whether there is such a type; reports it if not."""
        if name in PRIMITIVE or name in self._declared:
            return True
        hint = type_help(name) or similar(name, [*PRIMITIVE, *self._declared])
        self._diagnostics.error("E0206", f"there is no type {name}", node.span, help=hint)
        return False

    def base(self, name: str) -> Type:
        """The storage type; `any` for an unknown name, which was reported."""
        return self._bases.get(name, Type.ANY)

    def resolved(self, name: str) -> str:
        """The name behind an alias; a union of one type under several names is also an alias."""
        if name not in self._resolved:
            self._resolved[name] = name  # itself, for a type that is not an alias
            declaration = self._declared.get(name)
            if isinstance(declaration, tree.TypeDeclaration) and not declaration.subtype:
                targets = {self.resolved(target) for target in declaration.targets}
                self._resolved[name] = targets.pop() if len(targets) == 1 else name
        return self._resolved[name]

    def below(self, name: str) -> set[str]:
        """All types whose values are values of this one, including itself."""
        name = self.resolved(name)
        if name not in self._below:
            self._below[name] = self._find_below(name)
        return self._below[name]

    def _find_below(self, name: str) -> set[str]:
        """Grows the set by members of unions in it, subtypes of its members, and unions of only its members."""
        own = [n for n, d in self._declared.items() if isinstance(d, tree.TypeDeclaration) and self.resolved(n) == n]
        found = {name} | ({"symbol"} if name == "any" else set())
        while more := {n for n in own if n not in found and set(self._targets(n)) <= found} | self._members(found):
            found |= more
        return found

    def _targets(self, name: str) -> list[str]:
        declaration = self._declared[name]
        return [self.resolved(t) for t in declaration.targets] if isinstance(declaration, tree.TypeDeclaration) else []

    def _members(self, found: set[str]) -> set[str]:
        declared = [(n, self._declared[n]) for n in found if n in self._declared]
        unions = [n for n, d in declared if isinstance(d, tree.TypeDeclaration) and not d.subtype]
        return {member for union in unions for member in self._targets(union)} - found

    def is_subtype(self, name: str, of: str) -> bool:
        """Whether every value of the first type is a value of the second."""
        return self.resolved(name) in self.below(of)

    def meet(self, first: TypeNames, second: TypeNames) -> TypeNames:
        """The largest types below both sets; empty if they clash."""
        if first == second:
            return first
        common = {t for a in first for b in second for t in self.below(a) & self.below(b)}
        return frozenset(t for t in common if not any(t != u and t in self.below(u) for u in common))
