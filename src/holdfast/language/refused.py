"""What Soufflé has and holdfast does not: each is refused by its name."""

from __future__ import annotations

from typing import Final

from holdfast.language.mistakes import Mistake


def _refused(what: str, help: str | None = None) -> Mistake:
    return Mistake("E0120", f"{what} of Soufflé; holdfast has none", help)


RECORDS: Final = _refused("`[…]` is a record", "give each field of the record a column of its own")
BRANCHES: Final = _refused("`$…` is a branch of an algebraic data type or a counter",
                           "give each kind its own relation; there is no automatic numbering")
AUTOINC: Final = _refused("`autoinc()` is a counter", "a counter depends on the order of evaluation; use a key of the data")
NIL: Final = _refused("`nil` is the empty record")
SUBSUMPTION: Final = _refused("`<=` between two heads is subsumption",
                              "for the best row of each group use an aggregate: `x = min y : { … }`")
CHOICE: Final = _refused("`choice-domain` is a choice", "choose by an aggregate: `x = min y : { … }`")
USER_FUNCTORS: Final = _refused("`@name(…)` is a functor of the user")
PREPROCESSOR: Final = Mistake("E0120", "this line is for the C preprocessor; holdfast has none",
                              "a rule attribute is written #[name(\"r1\")]; a comment begins with //")
BLANK_NODE: Final = Mistake("E0120", "a blank node cannot be written in a program",
                            "use a variable, or an IRI")

DIRECTIVES: Final = {
    ".comp": _refused("`.comp` begins a component", "write the relations and rules of the component out"),
    ".init": _refused("`.init` makes an instance of a component"),
    ".functor": _refused("`.functor` declares a functor of the user"),
    ".plan": _refused("`.plan` is a query plan", "leave it away: holdfast orders the joins itself"),
    ".lattice": _refused("`.lattice` declares a lattice", "use min and max aggregates"),
    ".include": _refused("`.include` is an inclusion of another file"),
    ".once": _refused("`.once` is a directive"),
    ".override": _refused("`.override` belongs to components"),
    ".number_type": Mistake("E0120", "`.number_type` is an old spelling", "write .type NAME <: number"),
    ".symbol_type": Mistake("E0120", "`.symbol_type` is an old spelling", "write .type NAME <: symbol"),
}
