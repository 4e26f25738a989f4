"""A script of `wide.py` in the rest of the language: its rules inside components, its columns inside records and
branches of algebraic data types, its comparisons and sums by functors of the user, its text through macros.

The program means the same, so what it derives, with its records taken apart again, is what the plain one derives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import holdfast
from holdfast.language import parse, show, tree
from holdfast.program.renaming import Renaming
from holdfast.values import Record

from ..oracle.scope import conjuncts
from .wide import Facts, Row, Script

_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "<": lambda x, y: x < y,
    ">=": lambda x, y: x >= y,
    "!=": lambda x, y: x != y,
}
_NAMES = {"<": "form_less", ">=": "form_least", "!=": "form_differ"}
_FUNCTORS = "\n".join(
    [
        *(f".functor {name}(number, number): number" for name in _NAMES.values()),
        ".functor form_sum(number, number): number",
    ]
)
_MACRO = "#define RULE(...) __VA_ARGS__.\n#ifdef NOBODY_DEFINES_THIS\nthis is no rule\n#endif\n"
KEYS = ("x", "y", "z")

for _operator, _name in _NAMES.items():
    holdfast.functor(name=_name)(lambda x, y, holds=_COMPARED[_operator]: int(holds(x, y)))
holdfast.functor(name="form_sum", vectorised=True)(lambda x, y: x + y)


@dataclass(frozen=True)
class Packed:
    """Columns of a relation that stand in one record, or branch, which comes first; the last of them may be nested."""

    columns: tuple[int, ...]
    is_branch: bool
    is_nested: bool

    def rest(self, arity: int) -> list[int]:
        return [i for i in range(arity) if i not in self.columns]


class Form:
    """How one script is written."""

    def __init__(self, script: Script, random: Random) -> None:
        self.script = script
        self.types = {_name(line): _types(line) for line in script.declarations}
        self.instance = random.choice(["", "c", "c", "o.c"])
        self.has_base, self.has_functors, self.has_macros = (random.random() < 0.5 for _ in range(3))
        self.outside = random.random() < 0.3  # of the rules of an instance stand outside it
        rules = [*script.rules, *(rule for step in script.steps for rule in step.add)]
        limits, bare = dict(_limit_columns(rules)), set(_bare_columns(rules))
        draw = ((name, self._packed(name, limits, bare, random)) for name in self.types)
        self.packed = {name: packed for name, packed in draw if packed is not None}

    def _packed(self, name: str, limits: dict[str, int], bare: set[tuple[str, int]], random: Random) -> Packed | None:
        free = [i for i in range(len(self.types[name])) if i != limits.get(name) and (name, i) not in bare]
        if name in ("bl", "most", "near", "t", "l", "d") and name not in limits:
            return None  # a rule may make it a limit relation later on
        if not free or random.random() < 0.4:
            return None
        columns = tuple(free) if random.random() < 0.7 else tuple(sorted(random.sample(free, 1)))
        return Packed(columns, random.random() < 0.4, len(columns) > 1 and random.random() < 0.4)

    @property
    def shapes(self) -> list[str]:
        """What of the language it uses."""
        found = {
            "component": bool(self.instance),
            "nested component": "." in self.instance,
            "inheritance": bool(self.instance) and self.has_base,
            "record": any(not packed.is_branch for packed in self.packed.values()),
            "branch": any(packed.is_branch for packed in self.packed.values()),
            "nested record": any(packed.is_nested for packed in self.packed.values()),
            "functor": self.has_functors,
            "macro": self.has_macros,
        }
        return [name for name, there in found.items() if there]

    # --- the program -----------------------------------------------------------------------------------

    def text(self, rules: list[str]) -> str:
        """The program with some rules."""
        inside = [rule for i, rule in enumerate(rules) if not (self.outside and i % 2)]
        outside = [rule for rule in rules if rule not in inside]
        declared = [*self._structures(), *map(self._declared, self.types)]
        written = [self._kept(self._written(rule, "")) for rule in inside]
        body = "\n".join([*declared, *written]) if not self.instance else self._component(declared, written)
        rest = [self._kept(self.rule(rule)) for rule in outside]
        return "\n".join([_MACRO if self.has_macros else "", _FUNCTORS, body, *rest])

    def _component(self, declared: list[str], rules: list[str]) -> str:
        half = len(rules) // 2 if self.has_base else 0
        base = "\n".join([*declared, *rules[:half]])
        own = "\n".join(rules[half:])
        lines = [f".comp Base<Key> {{\n{base}\n}}", f".comp All<Key> : Base<Key> {{\n{own}\n}}"]
        if "." in self.instance:
            return "\n".join([".comp Outer {", *lines, ".init c = All<number>", "}", ".init o = Outer"])
        return "\n".join([*lines, ".init c = All<number>"])

    def _structures(self) -> Iterable[str]:
        for name, packed in self.packed.items():
            types = [self._type(self.types[name][i]) for i in packed.columns]
            if packed.is_nested:
                yield f".type Last_{name} = [a: {types[-1]}]"
                types[-1] = f"Last_{name}"
            fields = ", ".join(f"a{i}: {type_}" for i, type_ in enumerate(types))
            branches = f"In_{name} {{{fields}}} | Out_{name} {{}}"
            yield f".type Of_{name} = " + (branches if packed.is_branch else f"[{fields}]")

    def _type(self, name: str) -> str:
        return "Key" if self.instance and name == "number" else name

    def _declared(self, name: str) -> str:
        types, packed = [self._type(type_) for type_ in self.types[name]], self.packed.get(name)
        if packed is not None:
            types = [f"Of_{name}", *(types[i] for i in packed.rest(len(types)))]
        return f".decl {name}({', '.join(f'c{i}: {type_}' for i, type_ in enumerate(types))})"

    def _kept(self, rule: str) -> str:
        return f"RULE({rule.strip().removesuffix('.')})" if self.has_macros else rule

    # --- a rule ----------------------------------------------------------------------------------------

    def rule(self, text: str) -> str:
        """A rule as it is written outside of components, in updates too."""
        return self._written(text, f"{self.instance}." if self.instance else "")

    def _written(self, text: str, prefix: str) -> str:
        program = parse(text)
        packing = _Packing(self, prefix)
        return show(replace(program, items=tuple(packing.rule(item) for item in program.items)))  # type: ignore[arg-type]

    # --- facts -----------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        """What a relation is called."""
        return f"{self.instance}.{name}" if self.instance else name

    def facts(self, facts: Facts) -> dict[str, list[Row]]:
        """Facts as the program has them."""
        return {self.name(name): [self._row(name, row) for row in sorted(rows)] for name, rows in facts.items()}

    def _row(self, name: str, row: Row) -> Row:
        packed = self.packed.get(name)
        if packed is None:
            return row
        fields = [row[i] for i in packed.columns]
        if packed.is_nested:
            fields[-1] = Record((fields[-1],))
        branch = self.name(f"In_{name}") if packed.is_branch else ""
        return (Record(tuple(fields), branch), *(row[i] for i in packed.rest(len(row))))

    def plain(self, name: str, row: tuple[Any, ...]) -> Row:
        """A row of the program as the plain one has it."""
        packed = self.packed.get(name)
        if packed is None:
            return row
        fields = list(row[0].fields)
        if packed.is_nested:
            fields[-1] = fields[-1].fields[0]
        arity = len(self.types[name])
        whole = dict(zip((*packed.columns, *packed.rest(arity)), (*fields, *row[1:]), strict=True))
        return tuple(whole[i] for i in range(arity))


class _Packing(Renaming):
    """Rules with records in place of columns, dotted names, and functors."""

    def __init__(self, form: Form, prefix: str) -> None:
        super().__init__(lambda name: replace(name, text=prefix + name.text), lambda name, _: name, lambda name: name)
        object.__setattr__(self, "form", form)
        object.__setattr__(self, "prefix", prefix)

    form: Form
    prefix: str

    def rule(self, rule: tree.Rule) -> tree.Rule:
        new = super().rule(rule)
        reads_circle = any(name in ("t", "l", "d", "p") for name in _read(rule.body))
        return new if reads_circle or not self.form.has_functors else replace(new, heads=tuple(map(_summed, new.heads)))

    def formula(self, formula: Any) -> Any:
        if isinstance(formula, tree.Comparison) and self.form.has_functors and _of_keys(formula):
            call = tree.Call(f"@{_NAMES[formula.operator]}", (formula.left, formula.right), span=formula.span)
            return tree.Comparison(
                "=", call, tree.Number("1", tree.NumberKind.NUMBER, span=formula.span), span=formula.span
            )
        return super().formula(formula)

    def _atom(self, atom: tree.Atom) -> tree.Atom:
        new, packed = super()._atom(atom), self.form.packed.get(atom.name.text)
        if packed is None:
            return new
        fields = [new.arguments[i] for i in packed.columns]
        if packed.is_nested:
            fields[-1] = tree.Record((fields[-1],), span=atom.span)
        inside: tree.Term = tree.Record(tuple(fields), span=atom.span)
        if packed.is_branch:
            inside = tree.Branch(f"{self.prefix}In_{atom.name.text}", tuple(fields), span=atom.span)
        rest = (new.arguments[i] for i in packed.rest(len(new.arguments)))
        return replace(new, arguments=(inside, *rest))


def _summed(head: tree.Atom) -> tree.Atom:
    """`v + c`, both numbers, in a head by a functor."""

    def changed(term: tree.Term) -> tree.Term:
        if isinstance(term, tree.HeadAggregate) and isinstance(term.target, tree.Binary) and _is_sum(term.target):
            call = tree.Call("@form_sum", (term.target.left, term.target.right), span=term.span)
            return replace(term, target=call)
        return term

    return replace(head, arguments=tuple(map(changed, head.arguments)))


def _is_sum(term: tree.Binary) -> bool:
    names = [side.name for side in (term.left, term.right) if isinstance(side, tree.Variable)]
    return term.operator == "+" and names == ["v", "c"]  # which are numbers only if the values are


def _of_keys(formula: tree.Comparison) -> bool:
    """Whether keys are compared, which are numbers in every script."""
    sides = (formula.left, formula.right)
    are_keys = all(isinstance(s, tree.Number) or (isinstance(s, tree.Variable) and s.name in KEYS) for s in sides)
    return formula.operator in _COMPARED and are_keys


def _read(formula: Any) -> Iterable[str]:
    if isinstance(formula, tree.Atom):
        yield formula.name.text
    for item in getattr(formula, "items", ()):
        yield from _read(item)


def _limit_columns(rules: Iterable[str]) -> Iterable[tuple[str, int]]:
    for text in rules:
        for item in parse(text).items:
            for head in item.heads if isinstance(item, tree.Rule) else ():
                for i, argument in enumerate(head.arguments):
                    if isinstance(argument, tree.HeadAggregate):
                        yield head.name.text, i


def _bare_columns(rules: Iterable[str]) -> Iterable[tuple[str, int]]:
    """Columns with a `_` in a negated atom, which a record may not have."""
    for text in rules:
        for item in parse(text).items:
            for formula in conjuncts(item.body) if isinstance(item, tree.Rule) and item.body is not None else ():
                if isinstance(formula, tree.Negation) and isinstance(formula.operand, tree.Atom):
                    arguments = enumerate(formula.operand.arguments)
                    yield from ((formula.operand.name.text, i) for i, a in arguments if isinstance(a, tree.Wildcard))


def _name(declaration: str) -> str:
    return declaration.split("(")[0].removeprefix(".decl ")


def _types(declaration: str) -> tuple[str, ...]:
    inside = declaration.split("(")[1].removesuffix(")")
    return tuple(column.split(": ")[1] for column in inside.split(", "))
