"""Nominal types: what `.type` declares, which type is a subtype of which, and what storage each has."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import Diagnostics, Label
from holdfast.language import tree
from holdfast.language.foreign import type_help
from holdfast.program.similar import similar
from holdfast.values import Type

PRIMITIVE = {kind.value: kind for kind in Type}
Names = frozenset[str]


class TypeTable:
    """The types of a program.  Aliases are replaced by what they stand for; every name has a storage type."""

    def __init__(self, declarations: Iterable[tree.TypeDeclaration], diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._declared: dict[str, tree.TypeDeclaration] = {}
        self._bases: dict[str, Type] = dict(PRIMITIVE)
        self._below: dict[str, set[str]] = {}
        for declaration in declarations:
            self._declare(declaration)
        for name in self._declared:
            self._base(name, ())

    def _declare(self, declaration: tree.TypeDeclaration) -> None:
        name = declaration.name
        if name in PRIMITIVE:
            message = f"{name} is a type of the language and cannot be declared"
            self._diagnostics.error("E0204", message, declaration.span)
        elif name in self._declared:
            first = Label(self._declared[name].span, "declared here first")
            self._diagnostics.error("E0204", f"the type {name} is declared twice", declaration.span, labels=[first])
        else:
            self._declared[name] = declaration

    def _base(self, name: str, path: tuple[str, ...]) -> Type:
        if name in self._bases:
            return self._bases[name]
        declaration = self._declared[name]
        if name in path:
            self._diagnostics.error("E0211", f"the type {name} is declared by itself", declaration.span)
            return self._bases.setdefault(name, Type.ANY)
        found = [self._base(t, (*path, name)) for t in declaration.targets if self.known(t, declaration)]
        if len(set(found)) > 1:
            kinds = " and ".join(sorted({kind.value for kind in found}))
            message = f"the type {name} unites types of different kinds: {kinds}"
            self._diagnostics.error("E0211", message, declaration.span)
        return self._bases.setdefault(name, found[0] if found else Type.ANY)

    def known(self, name: str, node: tree.Node) -> bool:
        """Whether there is such a type; if not, says so."""
        if name in PRIMITIVE or name in self._declared:
            return True
        hint = type_help(name) or similar(name, [*PRIMITIVE, *self._declared])
        self._diagnostics.error("E0206", f"there is no type {name}", node.span, help=hint)
        return False

    def base(self, name: str) -> Type:
        """The storage type; `any` for a name that is not known, which was reported."""
        return self._bases.get(name, Type.ANY)

    def resolved(self, name: str) -> str:
        """The name behind an alias."""
        seen: set[str] = set()
        while (declaration := self._declared.get(name)) and not declaration.subtype and len(declaration.targets) == 1:
            if name in seen:
                break
            seen.add(name)
            name = declaration.targets[0]
        return name

    def below(self, name: str) -> set[str]:
        """All types whose values are values of this one, itself included."""
        name = self.resolved(name)
        if name not in self._below:
            self._below[name] = self._find_below(name)
        return self._below[name]

    def _find_below(self, name: str) -> set[str]:
        """Grows the set by members of unions in it, subtypes of what is in it, and unions of nothing else."""
        own = [other for other in self._declared if self.resolved(other) == other]
        found = {name} | ({"symbol"} if name == "any" else set())
        while more := {n for n in own if n not in found and set(self._targets(n)) <= found} | self._members(found):
            found |= more
        return found

    def _targets(self, name: str) -> list[str]:
        return [self.resolved(target) for target in self._declared[name].targets]

    def _members(self, found: set[str]) -> set[str]:
        unions = [n for n in found if n in self._declared and not self._declared[n].subtype]
        return {member for union in unions for member in self._targets(union)} - found

    def is_subtype(self, name: str, of: str) -> bool:
        """Whether every value of the one type is a value of the other."""
        return self.resolved(name) in self.below(of)

    def meet(self, first: Names, second: Names) -> Names:
        """The largest types that lie below both sets; empty when they clash."""
        if first == second:
            return first
        common = {t for a in first for b in second for t in self.below(a) & self.below(b)}
        return frozenset(t for t in common if not any(t != u and t in self.below(u) for u in common))
