"""Pass 0: components.  Every `.init` becomes the declarations and rules that it stands for, under dotted names.

A name inside a component is looked up in the instance itself, then in the enclosing instance, and so on outwards; a
parameter stands for the name that the instance passes.  The items of a base come before those of the component, without
the rules of relations that the component overrides.  Later passes see no components.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from holdfast.errors import Diagnostics, Label
from holdfast.language import tree
from holdfast.program.renaming import Renaming
from holdfast.program.similar import similar
from holdfast.quick_dataclass import dataclass

_DEEPEST = 100


@dataclass
class _Scope:
    """The program or an instance: its declarations, and the scope that encloses it."""

    prefix: str = ""
    parent: _Scope | None = None
    init: tree.Init | None = None
    relations: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    branches: set[str] = field(default_factory=set)
    instances: dict[str, _Scope] = field(default_factory=dict)
    components: dict[str, tree.Component] = field(default_factory=dict)
    content: list[_Content] = field(default_factory=list)

    def outwards(self) -> Iterator[_Scope]:
        """This scope, then the enclosing ones, up to the program."""
        scope: _Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


@dataclass(frozen=True)
class _Bound:
    """The value of a component's parameter: a name, to be looked up in a scope."""

    name: str
    scope: _Scope


_Binding = Mapping[str, _Bound]


@dataclass(frozen=True)
class _Content:
    """An item of a component, with the values of the component's parameters."""

    item: tree.Item
    binding: _Binding


def instantiated(program: tree.Program, diagnostics: Diagnostics) -> tree.Program:
    """The program with every `.init` expanded.  One without components is returned unchanged."""
    if not any(isinstance(item, tree.Init | tree.Component | tree.Override) or _dotted(item) for item in program.items):
        return program
    return replace(program, items=tuple(_Instances(diagnostics).run(program.items)))


def _dotted(item: tree.Item) -> bool:
    """Whether an item has a name that only a component can explain, as far as it can be seen from outside."""
    match item:
        case tree.Rule(heads=heads, body=body):
            return any("." in head.name.text for head in heads) or (body is not None and _has_dotted(body))
        case tree.Directive(names=names):
            return any(_is_plain_dotted(name) for name in names)
        case _:
            return False


def _has_dotted(formula: tree.Formula) -> bool:
    match formula:
        case tree.Atom(name=name):
            return _is_plain_dotted(name)
        case tree.Negation(operand=operand):
            return _has_dotted(operand)
        case tree.Conjunction(items=items) | tree.Disjunction(items=items):
            return any(map(_has_dotted, items))
        case _:
            return False


def _is_plain_dotted(name: tree.Name) -> bool:
    return name.kind is tree.NameKind.PLAIN and "." in name.text


class _Instances:
    """One run over a program."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._unexplained: dict[str, list[tree.Node]] = {}  # the unknown part of a dotted name: where it is used

    def run(self, items: Iterable[tree.Item]) -> list[tree.Item]:
        """All items, with instances expanded."""
        program = _Scope()
        program.content = [_Content(item, {}) for item in items]
        self._collect(program)
        found = list(self._emit(program))
        self._report_unexplained()
        return found

    # --- first: what is declared where ---

    def _collect(self, scope: _Scope) -> None:
        for content in scope.content:
            match content.item:
                case tree.Component() as component:
                    self._declare_component(component, scope)
                case tree.Declaration(names=names):
                    scope.relations.update(name.text for name in names)
                case tree.VariantDeclaration(name=name, branches=branches):
                    scope.types.add(name)
                    scope.branches.update(branch.name for branch in branches)
                case tree.TypeDeclaration(name=name) | tree.RecordDeclaration(name=name):
                    scope.types.add(name)
        for content in scope.content:
            if isinstance(content.item, tree.Init):
                self._instantiate(content.item, content.binding, scope)

    def _declare_component(self, component: tree.Component, scope: _Scope) -> None:
        first = scope.components.setdefault(component.type.name, component)
        if first is not component:
            labels = [Label(first.span, "the first one")]
            message = f"two components are named {component.type.name}"
            self._diagnostics.error("E0218", message, component.span, labels=labels)

    def _instantiate(self, init: tree.Init, binding: _Binding, scope: _Scope) -> None:
        if init.name in scope.instances:
            self._diagnostics.error("E0218", f"two instances are named {init.name}", init.span)
            return
        instance = _Scope(f"{scope.prefix}{init.name}.", scope, init)
        scope.instances[init.name] = instance
        if instance.prefix.count(".") > _DEEPEST:
            message = f"{init.component.name} has an instance of itself"
            self._diagnostics.error("E0218", message, init.span, help="a component cannot be a part of itself")
            return
        instance.content = list(self._content(init.component, binding, scope, instance, ()))
        self._collect(instance)

    def _content(
        self,
        type: tree.ComponentType,
        binding: _Binding,
        scope: _Scope,
        instance: _Scope,
        path: tuple[tree.Component, ...],
    ) -> Iterator[_Content]:
        """The items of an instance, those of its bases first; `scope` is where the component is named."""
        component = self._component(type, binding, scope)
        if component is None:
            return
        if any(component is above for above in path):
            self._diagnostics.error("E0218", f"{component.type.name} has itself as a base", component.span)
            return
        inner = self._bound(component, type, binding, scope)
        overridden = {item.name for item in component.items if isinstance(item, tree.Override)}
        for base in component.bases:
            for content in self._content(base, inner, instance, instance, (*path, component)):
                kept = _without(content.item, overridden)
                if kept is not None:
                    yield replace(content, item=kept)
        yield from (_Content(item, inner) for item in component.items)

    def _component(self, type: tree.ComponentType, binding: _Binding, scope: _Scope) -> tree.Component | None:
        bound = binding.get(type.name, _Bound(type.name, scope))
        for outer in bound.scope.outwards():
            if bound.name in outer.components:
                return outer.components[bound.name]
        known = [name for outer in bound.scope.outwards() for name in outer.components]
        message = f"there is no component {bound.name}"
        self._diagnostics.error("E0218", message, type.span, help=similar(bound.name, known))
        return None

    def _bound(self, component: tree.Component, type: tree.ComponentType, binding: _Binding, scope: _Scope) -> _Binding:
        """The values of a component's parameters."""
        parameters, given = component.type.arguments, type.arguments
        if len(parameters) != len(given):
            many = "parameter" if len(parameters) == 1 else "parameters"
            are = "is" if len(given) == 1 else "are"
            message = f"{component.type.name} has {len(parameters)} {many}, but {len(given)} {are} given"
            labels = [Label(component.span, "declared here")]
            self._diagnostics.error("E0218", message, type.span, labels=labels)
        return {
            parameter: binding.get(name, _Bound(name, scope))
            for parameter, name in zip(parameters, given, strict=False)
        }

    # --- then: each item with its full names ---

    def _emit(self, scope: _Scope) -> Iterator[tree.Item]:
        for content in scope.content:
            if isinstance(content.item, tree.Init):
                instance = scope.instances[content.item.name]
                if instance.init is content.item:
                    yield from self._emit(instance)
            else:
                yield from self._renamed(content, scope)

    def _renamed(self, content: _Content, scope: _Scope) -> Iterator[tree.Item]:
        before = sum(map(len, self._unexplained.values()))
        item = self._with_names(content, scope)
        if item is not None and sum(map(len, self._unexplained.values())) == before:
            yield item

    def _with_names(self, content: _Content, scope: _Scope) -> tree.Item | None:
        names = Renaming(
            lambda name: self._relation(name, scope),
            lambda name, node: self._type(name, content.binding, scope, node),
            lambda name: self._branch(name, scope),
        )
        match content.item:
            case tree.Rule() as rule:
                return names.rule(_with_prefix(rule, scope.prefix))
            case tree.Subsumption(worse=worse) as item:
                return replace(item, worse=replace(worse, name=self._relation(worse.name, scope)))
            case tree.Declaration(names=declared, attributes=attributes) as item:
                full = tuple(replace(name, text=_own(name, scope)) for name in declared)
                return replace(item, names=full, attributes=names.attributes(attributes))
            case tree.Directive(names=used) as item:
                return replace(item, names=tuple(self._relation(name, scope) for name in used))
            case tree.Component() as item:
                return item if not scope.prefix else None
            case tree.Override() as item:
                if not scope.prefix:
                    help = "it belongs in a component with a base"
                    self._diagnostics.error(
                        "E0218", f".override {item.name} is outside a component", item.span, help=help
                    )
                return None
            case tree.TypeDeclaration() | tree.RecordDeclaration() | tree.VariantDeclaration() as item:
                return self._type_declaration(item, names, scope)
            case other:
                return other

    def _type_declaration(self, item: tree.AnyType, names: Renaming, scope: _Scope) -> tree.AnyType:
        full = scope.prefix + item.name
        match item:
            case tree.TypeDeclaration(targets=targets):
                return replace(item, name=full, targets=tuple(names.type(target, item) for target in targets))
            case tree.RecordDeclaration(fields=fields):
                return replace(item, name=full, fields=names.attributes(fields))
            case tree.VariantDeclaration(branches=branches):
                renamed = (
                    replace(each, name=scope.prefix + each.name, fields=names.attributes(each.fields))
                    for each in branches
                )
                return replace(item, name=full, branches=tuple(renamed))

    # --- names ---

    def _relation(self, name: tree.Name, scope: _Scope) -> tree.Name:
        if name.kind is not tree.NameKind.PLAIN:
            return name
        found = _found(name.text, scope, "relations")
        if found is None and "." in name.text:
            self._unexplained.setdefault(_unknown_part(name.text, scope), []).append(name)
        return name if found is None else replace(name, text=found)

    def _type(self, name: str, binding: _Binding, scope: _Scope, node: tree.Node) -> str:
        bound = binding.get(name)
        if bound is not None:
            name, scope = bound.name, bound.scope
        found = _found(name, scope, "types")
        if found is None and "." in name:
            self._unexplained.setdefault(_unknown_part(name, scope), []).append(node)
        return found or name

    def _branch(self, name: str, scope: _Scope) -> str:
        return _found(name, scope, "branches") or name

    def _report_unexplained(self) -> None:
        """Report dotted names that no instance explains: once for each first part, however often it is used."""
        for part, places in self._unexplained.items():
            instance, _, name = part.rpartition(".")
            message = f"there is no instance {part} of a component, which the dotted name needs"
            help = f"make one: .init {part} = SomeComponent"
            if instance:
                message, help = f"the instance {instance} has nothing named {name}", ""
            more = [f"{len(places) - 1} more such name{'s' * (len(places) > 2)}"] if places[1:] else []
            self._diagnostics.error("E0219", message, places[0].span, notes=more, help=help or None)


def _found(name: str, scope: _Scope, kind: str) -> str | None:
    """The full name that a name refers to in a scope; the innermost one wins."""
    *path, last = name.split(".")
    for outer in scope.outwards():
        if name in getattr(outer, kind):
            return outer.prefix + name
        here: _Scope | None = outer
        for part in path:
            here = here.instances.get(part) if here is not None else None
        if here is not None and last in getattr(here, kind):
            return here.prefix + last
    return None


def _unknown_part(name: str, scope: _Scope) -> str:
    """The first part of a dotted name, if there is no such instance; otherwise the whole name."""
    first = name.split(".")[0]
    return name if any(first in outer.instances for outer in scope.outwards()) else first


def _own(name: tree.Name, scope: _Scope) -> str:
    return scope.prefix + name.text if name.kind is tree.NameKind.PLAIN else name.text


def _with_prefix(rule: tree.Rule, prefix: str) -> tree.Rule:
    """A named rule gets a name of its own in each instance, and a span of its own, by which rules are distinguished."""
    attributes = (replace(each, value=prefix + each.value, span=replace(each.span)) for each in rule.attributes)
    return replace(rule, attributes=tuple(attributes))


def _without(item: tree.Item, overridden: set[str]) -> tree.Item | None:
    """An item of a base without the rules of overridden relations."""
    if not isinstance(item, tree.Rule):
        return item
    heads = tuple(head for head in item.heads if head.name.text not in overridden)
    return replace(item, heads=heads) if heads else None
