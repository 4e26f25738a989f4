"""Pass 1: what every name of the text stands for: prefixes, types, relations, directives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from holdfast.errors import Diagnostics, Label, Severity, Span
from holdfast.language import tree
from holdfast.language.tree import NameKind
from holdfast.language.vocabulary import STANDARD_PREFIXES
from holdfast.program.column_names import column_names
from holdfast.program.core import children
from holdfast.program.functors import FUNCTORS, TESTS, Functor
from holdfast.program.model import Io
from holdfast.program.similar import similar
from holdfast.program.type_names import TypeTable
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type

_SIZE = re.compile(r"[0-9]{1,18}")


@dataclass
class KnownRelation:
    """A relation as far as names go.  `type_names` are None for a column whose type must be inferred."""

    name: str
    display: str
    columns: tuple[str, ...]
    type_names: tuple[str | None, ...]
    span: Span | None
    auxiliary: bool = False
    equivalence: bool = False
    declared: bool = False
    column_spans: tuple[Span, ...] = ()
    io: list[Io] = field(default_factory=list)

    @property
    def arity(self) -> int:
        """The number of columns."""
        return len(self.columns)

    def keep_type(self, place: int, type: Type) -> None:
        """Give a column a type, unless one is declared."""
        if place < self.arity and self.type_names[place] is None:
            self.type_names = (*self.type_names[:place], type.value, *self.type_names[place + 1 :])

    @property
    def is_rdf(self) -> bool:
        """Whether the relation is named by an IRI."""
        return self.name.startswith("<")


class Names:
    """What is known by name.  Passes after this one look names up here and add auxiliary relations."""

    def __init__(self, types: TypeTable, diagnostics: Diagnostics) -> None:
        self.types = types
        self.diagnostics = diagnostics
        self.prefixes: dict[str, str] = dict(STANDARD_PREFIXES)
        self.relations: dict[str, KnownRelation] = {}
        self.refused: set[int] = set()  # ids of rules with an error; later passes leave them out
        self.waiting: dict[Span, list[str]] = {}  # by aggregate: what it takes from outside, bound by recursion only
        self.functors: dict[str, Functor] = dict(FUNCTORS)
        self.legacy = False  # written for a Soufflé whose types by name were only comments

    @property
    def error_count(self) -> int:
        """How many errors there are so far."""
        return sum(item.severity is Severity.ERROR for item in self.diagnostics.items)

    def expand(self, prefix: str, local: str, span: Span) -> str:
        """The IRI of a prefixed name."""
        if prefix not in self.prefixes:
            hint = similar(f"{prefix}:", [f"{known}:" for known in self.prefixes])
            hint = hint or f"declare it: @prefix {prefix}: <…> ."
            self.diagnostics.error("E0207", f"the prefix {prefix}: is not declared", span, help=hint)
        return self.prefixes.get(prefix, f"{prefix}:") + local

    def predicate(self, name: tree.Name) -> str:
        """The predicate that a written name stands for."""
        match name.kind:
            case NameKind.PREFIXED:
                prefix, _, local = name.text.partition(":")
                return f"<{self.expand(prefix, local, name.span)}>"
            case NameKind.IRI:
                return f"<{name.text}>"
            case _:
                return name.text

    def predicate_of(self, atom: tree.Atom) -> str:
        """The predicate of an atom; a quoted or RDF name may stand for several relations of different arity."""
        name = self.predicate(atom.name)
        relation = self.relations.get(name)
        overloaded = f"{name}/{len(atom.arguments)}"
        if relation is None or relation.arity == len(atom.arguments) or overloaded not in self.relations:
            return name
        return overloaded

    def is_test(self, atom: tree.Atom) -> bool:
        """Whether what looks like an atom is a test of the language: no relation has its name, unless in quotes."""
        return is_test_name(atom.name)

    def add_auxiliary(self, stem: str, columns: tuple[str, ...], span: Span) -> str:
        """Add a relation that the checker needs, under a name that no other relation has."""
        number = 1
        while f"{stem}{number}" in self.relations:
            number += 1
        name = f"{stem}{number}"
        self.relations[name] = KnownRelation(name, name, columns, (None,) * len(columns), span, auxiliary=True)
        return name


def is_test_name(name: tree.Name) -> bool:
    """Whether a name means a test of the language."""
    return name.kind is NameKind.PLAIN and name.text in TESTS


def resolve(program: tree.Program, diagnostics: Diagnostics) -> Names:
    """Collect everything that has a name, and report names that are unknown or declared twice."""
    types = TypeTable((i for i in program.items if isinstance(i, tree.AnyType)), diagnostics)
    names = Names(types, diagnostics)
    seen: dict[str, tree.Prefix] = {}
    for item in program.items:
        match item:
            case tree.Prefix():
                _add_prefix(item, names, seen)
            case tree.FunctorDeclaration():
                add_functor(item, names)
            case tree.Pragma(key="legacy") | tree.TypeDeclaration(legacy=True):
                names.legacy = True
    for item in program.items:
        if isinstance(item, tree.Declaration):
            _declare(item, names)
    _use_relations(program, names, bool(names.relations))
    name_columns(program, names)
    for item in program.items:
        if isinstance(item, tree.Directive):
            _direct(item, names)
    return names


def add_functor(item: tree.FunctorDeclaration, names: Names) -> None:
    """A functor of the user: what it takes and gives."""
    known = [names.types.known(name, item) for name in (*item.parameters, item.result)]
    bases = [names.types.base(name) for name in (*item.parameters, item.result)]
    if all(known) and Type.RECORD in bases:
        message = f"@{item.name} takes or gives a record, which a user's functor cannot"
        names.diagnostics.error("E0217", message, item.span, help="pass the fields one by one")
    functor = Functor(f"@{item.name}", tuple(frozenset({base}) for base in bases[:-1]), bases[-1])
    first = names.functors.setdefault(functor.name, functor)
    if first is not functor and first != functor:
        names.diagnostics.error("E0208", f"two functors are named {functor.name}", item.span)


def _add_prefix(item: tree.Prefix, names: Names, seen: dict[str, tree.Prefix]) -> None:
    first = seen.setdefault(item.prefix, item)
    if first.iri != item.iri:
        labels = [Label(first.span, "first declared here")]
        message = f"the prefix {item.prefix}: is declared twice, with different IRIs"
        names.diagnostics.error("E0215", message, item.span, labels=labels)
    names.prefixes[item.prefix] = first.iri


def display(name: tree.Name) -> str:
    """A relation's name as it was written."""
    match name.kind:
        case NameKind.QUOTED:
            return "'" + name.text.replace("'", "''") + "'"
        case NameKind.IRI:
            return f"<{name.text}>"
        case _:
            return name.text


def _declare(item: tree.Declaration, names: Names) -> None:
    first_of: dict[str, tree.Attribute] = {}
    for attribute in item.attributes:
        names.types.known(attribute.type_name, attribute)
        first = first_of.setdefault(attribute.name, attribute)
        if first is not attribute:
            labels = [Label(first.span, "the first one")]
            message = f"two columns are named {attribute.name}"
            names.diagnostics.error("E0203", message, attribute.span, labels=labels)
    for name in item.names:
        _declare_relation(name, item, names)


def _declare_relation(name: tree.Name, item: tree.Declaration, names: Names) -> None:
    if is_test_name(name):
        _refuse_test_name(name, names)
    predicate = names.predicate(name)
    if (first := names.relations.get(predicate)) is not None:
        labels = [Label(first.span, "first declared here")] if first.span else []
        names.diagnostics.error("E0202", f"{display(name)} is declared twice", name.span, labels=labels)
        return
    relation = KnownRelation(
        predicate,
        display(name),
        tuple(a.name for a in item.attributes),
        tuple(a.type_name for a in item.attributes),
        name.span,
        equivalence="eqrel" in item.qualifiers,
        declared=True,
        column_spans=tuple(a.span for a in item.attributes),
    )
    bases = {names.types.base(attribute.type_name) for attribute in item.attributes}
    if relation.equivalence and (relation.arity != 2 or len(bases) > 1):
        message = f"{relation.display} is an eqrel, so it needs two columns of the same type"
        names.diagnostics.error("E0212", message, name.span)
        relation.equivalence = False
    names.relations[predicate] = relation


def _use_relations(program: tree.Program, names: Names, declared: bool) -> None:
    """Check each atom against its relation; without declarations the first atom sets the arity."""
    for item in program.items:
        if isinstance(item, tree.Rule):
            before = names.error_count
            for head in filter(names.is_test, item.heads):
                if head.name.text not in names.relations:  # its declaration was refused already
                    _refuse_test_name(head.name, names)
            for atom in rule_atoms(item):
                _use(atom, names, declared)
            if names.error_count > before:
                names.refused.add(id(item))


def _refuse_test_name(name: tree.Name, names: Names) -> None:
    message = f"{name.text} is a built-in test, so a relation cannot have this name"
    help = f"choose another name, or write it in quotes everywhere: '{name.text}'"
    names.diagnostics.error("E0223", message, name.span, help=help)


def _use(atom: tree.Atom, names: Names, declared: bool) -> None:
    if names.is_test(atom):
        return
    predicate = names.predicate_of(atom)
    relation = names.relations.get(predicate)
    if relation is None:
        if declared and not predicate.startswith("<"):
            unknown_relation(atom.name, names, _declare_it(atom.name))
        else:
            _add_undeclared(predicate, display(atom.name), atom, names)
    elif relation.arity != len(atom.arguments) and not relation.declared and atom.name.kind is not NameKind.PLAIN:
        # as in RDF, where a name may be a class and a property, and in Prolog
        overloaded = f"{predicate}/{len(atom.arguments)}"
        _add_undeclared(overloaded, f"{relation.display}/{len(atom.arguments)}", atom, names)
        message = f"{relation.display} is used with {_count(relation.arity, 'column')} and with {len(atom.arguments)}"
        labels = [Label(relation.span, "first used here")] if relation.span else []
        note = f"these are two relations; the second one is shown as {relation.display}/{len(atom.arguments)}"
        names.diagnostics.warning("W0004", message, atom.name.span, labels=labels, notes=[note])
    else:
        check_arity(atom, relation, names.diagnostics)


def _add_undeclared(predicate: str, shown: str, atom: tree.Atom, names: Names) -> None:
    columns = tuple(f"c{i + 1}" for i in range(len(atom.arguments)))
    names.relations[predicate] = KnownRelation(predicate, shown, columns, (None,) * len(columns), atom.name.span)


def name_columns(program: tree.Program, names: Names) -> None:
    """Name the columns of undeclared relations after the variables at their positions."""
    rules = [item for item in program.items if isinstance(item, tree.Rule) and id(item) not in names.refused]
    heads = [head for rule in rules for head in rule.heads]
    bodies = [atom for rule in rules if rule.body is not None for atom in formula_atoms(rule.body)]
    uses: dict[str, list[tree.Atom]] = {}
    for atom in (*heads, *bodies):
        uses.setdefault(names.predicate_of(atom), []).append(atom)
    for predicate, relation in names.relations.items():
        if not relation.declared:
            relation.columns = column_names(uses.get(predicate, ()), relation.arity)


def unknown_relation(name: tree.Name, names: Names, otherwise: str, note: str = "") -> None:
    """Report a relation that is not there; the hint is a similar name, or `otherwise`."""
    known = [relation.display for relation in names.relations.values() if not relation.auxiliary]
    hint = similar(display(name), known) or otherwise
    notes = [note] if note else []
    names.diagnostics.error("E0201", f"there is no relation {display(name)}", name.span, notes=notes, help=hint)


def _declare_it(name: tree.Name) -> str:
    return f"declare it: .decl {display(name)}(…)"


def check_arity(atom: tree.Atom, relation: KnownRelation, diagnostics: Diagnostics) -> None:
    """Report an atom with the wrong number of arguments."""
    if len(atom.arguments) == relation.arity:
        return
    how = "declared" if relation.declared else "first used"
    labels = [Label(relation.span, f"{how} here with {_count(relation.arity, 'column')}")] if relation.span else []
    given = len(atom.arguments)
    message = f"{relation.display} has {_count(relation.arity, 'column')}, "
    message += f"but this atom has {_count(given, 'argument')}"
    diagnostics.error("E0205", message, atom.span, labels=labels)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _direct(item: tree.Directive, names: Names) -> None:
    parameters = {parameter.key: parameter.value for parameter in item.parameters}
    if item.kind == "limitsize" and not _SIZE.fullmatch(parameters.get("n", "")):
        help = "for example .limitsize path(n=1000)"
        names.diagnostics.error("E0216", ".limitsize needs the parameter n, an integer", item.span, help=help)
        return
    for name in item.names:
        relation = names.relations.get(names.predicate(name))
        if relation is None:
            note = f".{item.kind} names it, but nothing declares or uses it"
            unknown_relation(name, names, _declare_it(name), note)
        else:
            relation.io.append(Io(item.kind, parameters, item.span))


def rule_atoms(rule: tree.Rule) -> Iterator[tree.Atom]:
    """Every atom of a rule, those inside aggregates too, in their order."""
    for head in rule.heads:
        yield head
        for term in head.arguments:
            yield from _term_atoms(term)
    if rule.body is not None:
        yield from formula_atoms(rule.body)


def formula_atoms(formula: tree.Formula) -> Iterator[tree.Atom]:
    """Every atom of a formula, those inside aggregates too."""
    match formula:
        case tree.Atom():
            yield formula
            terms: tuple[tree.Term, ...] = formula.arguments
        case tree.Negation(operand=operand):
            yield from formula_atoms(operand)
            return
        case tree.Conjunction(items=items) | tree.Disjunction(items=items):
            for item in items:
                yield from formula_atoms(item)
            return
        case tree.Comparison(left=left, right=right):
            terms = (left, right)
        case tree.Constraint(arguments=arguments):
            terms = arguments
        case tree.Truth():
            return
    for term in terms:
        yield from _term_atoms(term)


def _term_atoms(term: tree.Term) -> Iterator[tree.Atom]:
    if isinstance(term, tree.Aggregate):
        yield from formula_atoms(term.body)
        if term.target is not None:
            yield from _term_atoms(term.target)
    for child in children(term):
        yield from _term_atoms(child)
