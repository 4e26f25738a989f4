"""Statements of RDF are in several relations, which rules do not keep the same.

A statement is in `triple(s, p, o)`, in the relation of its property, `p(s, o)`, and if that is rdf:type in the relation
of its class, `o(s)`.  Reading RDF fills all of them that a program has; a rule fills one.  A program that derives a
statement in one and looks for it in another is refused, one that only reads in several is warned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from holdfast.errors import Diagnostics, Label, Span
from holdfast.language import tree
from holdfast.language.printer import show_formula, show_term
from holdfast.language.vocabulary import STANDARD_PREFIXES
from holdfast.program.model import Const, Program, Relation
from holdfast.program.names import KnownRelation, Names, formula_atoms, rule_atoms
from holdfast.quick_dataclass import dataclass
from holdfast.values import Iri, Type

RDF_TYPE: Final = STANDARD_PREFIXES["rdf"] + "type"
TRIPLE: Final = "triple"
DERIVED_AND_READ: Final = "E0222"
_NOTE: Final = "both hold statements of RDF files, as separate relations: a fact derived in one is not in the other"


@dataclass(frozen=True)
class Statements:
    """Which statements an atom is about: those with a property and an object, None where they may have any."""

    link: str | None = None
    object: str | None = None

    def overlap(self, other: Statements) -> bool:
        """Whether a statement can be among both."""
        both = ((self.link, other.link), (self.object, other.object))
        return all(a is None or b is None or a == b for a, b in both)


@dataclass(frozen=True)
class _Use:
    """A place where a program, or a query, has to do with statements."""

    predicate: str
    statements: Statements
    display: str
    span: Span
    atom: tree.Atom | None = None  # None for a declaration or directive

    @property
    def is_wide(self) -> bool:
        """Whether it is `triple` or rdf:type: only these share statements with other relations."""
        return self.predicate in (TRIPLE, f"<{RDF_TYPE}>")


def statements_of(predicate: str, constants: Sequence[str | None]) -> Statements | None:
    """What an atom is about, by its predicate and the constants of its arguments; None if it is no view of RDF."""
    if predicate == TRIPLE and len(constants) == 3:
        return Statements(constants[1], constants[2])
    if predicate.startswith("<") and predicate.endswith(">") and len(constants) in (1, 2):
        iri = predicate[1:-1]
        return Statements(RDF_TYPE, iri) if len(constants) == 1 else Statements(iri, constants[1])
    return None


def is_view(relation: Relation) -> bool:
    """Whether a relation is filled from RDF files by its name."""
    return statements_of(relation.name, (None,) * relation.arity) is not None and _holds_terms(relation.types)


def _holds_terms(types: Sequence[Type]) -> bool:
    """Whether IRIs fit into the columns that would have them."""
    return all(type in (Type.ANY, Type.SYMBOL) for type in types[:2] if len(types) == 3)


# --- programs ----------------------------------------------------------------------------------------


def check_views(program: tree.Program, names: Names) -> None:
    """Report statements that are derived in one relation and read in another; warn where both are only used."""
    if not any(predicate in (TRIPLE, f"<{RDF_TYPE}>") for predicate in names.relations):
        return
    rules = [item for item in program.items if isinstance(item, tree.Rule)]
    written = _distinct(_use(head, names) for rule in rules for head in rule.heads)
    heads = {id(head) for rule in rules for head in rule.heads}
    bodies = (atom for rule in rules for atom in rule_atoms(rule) if id(atom) not in heads)
    read = _distinct((*(_use(atom, names) for atom in bodies), *_named(program, names)))
    reported = set[frozenset[str]]()
    for use, other in _pairs(written, read):
        if frozenset((use.predicate, other.predicate)) not in reported:
            reported.add(frozenset((use.predicate, other.predicate)))
            _report(use, other, names.diagnostics)
    for use, other in _pairs([*written, *read], [*written, *read]):
        if frozenset((use.predicate, other.predicate)) not in reported:
            reported.add(frozenset((use.predicate, other.predicate)))
            _warn(use, other, names.diagnostics)


def check_query_views(formula: tree.Formula, program: Program, names: Names) -> None:
    """Report statements that a query looks for in one relation and that rules derive in another."""
    read = _distinct(_use(atom, names) for atom in formula_atoms(formula))
    if not read:
        return
    heads = [
        (
            rule,
            statements_of(rule.predicate, [_text(a.value) if isinstance(a, Const) else None for a in rule.arguments]),
        )
        for rule in program.rules
    ]
    written = [
        _Use(rule.predicate, found, program.relations[rule.predicate].display, rule.span)
        for rule, found in heads
        if found is not None and rule.span is not None
    ]
    for use, other in _pairs(written, read):
        message = f"{other.display} is queried, but rules derive such statements only in {use.display}"
        labels = [Label(use.span, "derived here")]
        names.diagnostics.error(DERIVED_AND_READ, message, other.span, labels=labels, help=f"query {use.display}")
        return


def _text(value: object) -> str | None:
    return value.value if isinstance(value, Iri) else value if isinstance(value, str) else None


def _report(written: _Use, read: _Use, diagnostics: Diagnostics) -> None:
    message = f"{written.display} is derived here, but {read.display}, which is read, does not receive it"
    labels = [Label(read.span, f"{read.display} is read here")]
    diagnostics.error(
        DERIVED_AND_READ, message, written.span, labels=labels, notes=[_NOTE], help=_instead(written, read)
    )


def _warn(use: _Use, other: _Use, diagnostics: Diagnostics) -> None:
    first, second = sorted((use, other), key=lambda u: (u.span.line, u.span.column))
    message = f"{first.display} and {second.display} hold the same RDF statements as separate relations"
    labels = [Label(first.span, f"{first.display} is used here")]
    notes = ["they agree while all facts come from RDF files; an update must change both"]
    diagnostics.warning("W0016", message, second.span, labels=labels, notes=notes, help=_instead(use, other))


def _instead(use: _Use, other: _Use) -> str:
    """What to write so that only one of the relations is used."""
    wide, narrow = (use, other) if use.predicate == TRIPLE or not other.is_wide else (other, use)
    if wide.atom is not None and (shorter := _as_relation(wide.atom, wide.statements)):
        return f"write {shorter} in place of {show_formula(wide.atom)}"
    if narrow.atom is not None:
        return f"write {_as_wide(narrow, wide)} in place of {show_formula(narrow.atom)}, everywhere"
    return "use one of the two everywhere, or give what is derived a separate plain name"


def _as_relation(atom: tree.Atom, statements: Statements) -> str | None:
    """`ex:Person(?x)` for `triple(?x, rdf:type, ex:Person)`, if the property and the class are constant."""
    subject, *middle, object = atom.arguments
    if statements.link == RDF_TYPE:
        return f"{show_term(object)}({show_term(subject)})" if statements.object else None
    if not statements.link or not middle:
        return None
    return f"{show_term(middle[0])}({show_term(subject)}, {show_term(object)})"


def _as_wide(narrow: _Use, wide: _Use) -> str:
    """`triple(?x, rdf:type, ex:Person)` for `ex:Person(?x)`."""
    assert narrow.atom is not None
    subject, *objects = map(show_term, narrow.atom.arguments)
    if wide.predicate == TRIPLE:
        rest = [narrow.display, *objects] if objects else ["rdf:type", narrow.display]
        return f"{TRIPLE}({', '.join([subject, *rest])})"
    return f"{wide.display}({subject}, {narrow.display})"


# --- uses --------------------------------------------------------------------------------------------


def _use(atom: tree.Atom, names: Names) -> _Use | None:
    predicate = names.predicate_of(atom)
    known = names.relations.get(predicate)
    found = statements_of(predicate, [_iri(term, names) for term in atom.arguments])
    if found is None or known is None or not _may_hold_terms(known, names):
        return None
    return _Use(predicate, found, known.display, atom.span, atom)


def _iri(term: tree.Term, names: Names) -> str | None:
    match term:
        case tree.IriTerm(iri=iri):
            return iri
        case tree.PrefixedName(prefix=prefix, local=local) if prefix in names.prefixes:
            return names.prefixes[prefix] + local
        case tree.String(value=value):
            return value
        case tree.Number() | tree.RdfLiteral():
            return ""  # no IRI
    return None


def _may_hold_terms(known: KnownRelation, names: Names) -> bool:
    return _holds_terms([Type.ANY if name is None else names.types.base(name) for name in known.type_names])


def _named(program: tree.Program, names: Names) -> Iterator[_Use]:
    """Relations that are declared, or that a directive names, and so are meant to be read."""
    for item in program.items:
        if not isinstance(item, tree.Declaration | tree.Directive):
            continue
        for name in item.names:
            known = names.relations.get(names.predicate(name))
            if known is not None and _may_hold_terms(known, names):
                found = statements_of(known.name, (None,) * known.arity)
                yield from [_Use(known.name, found, known.display, name.span)] if found is not None else ()


def _distinct(uses: Iterable[_Use | None]) -> list[_Use]:
    """The first of each kind."""
    found: dict[tuple[str, Statements], _Use] = {}
    for use in uses:
        if use is not None:
            found.setdefault((use.predicate, use.statements), use)
    return list(found.values())


def _pairs(uses: Sequence[_Use], others: Sequence[_Use]) -> Iterator[tuple[_Use, _Use]]:
    """Uses of different relations that share statements."""
    wide, other_wide = ([use for use in some if use.is_wide] for some in (uses, others))
    for some, more in ((wide, others), ([use for use in uses if not use.is_wide], other_wide)):
        for use in some:
            for other in more:
                if use.predicate != other.predicate and use.statements.overlap(other.statements):
                    yield use, other
