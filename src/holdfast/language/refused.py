"""What Soufflé has and holdfast does not: each is refused by its name."""

from __future__ import annotations

from typing import Final

from holdfast.language.mistakes import Mistake


def _refused(what: str, help: str | None = None) -> Mistake:
    return Mistake("E0120", f"{what} are Soufflé's; holdfast has none", help)


RECORDS: Final = _refused("records `[…]`", "give each field of the record a column of its own")
BRANCHES: Final = _refused("algebraic data types `$Branch(…)`", "give each branch a relation of its own")
COUNTERS: Final = _refused(
    "counters `$` and `autoinc()`", "a counter depends on the order of evaluation; use a key of the data"
)
NIL: Final = _refused("records, and with them `nil`,")
SUBSUMPTION: Final = _refused(
    "subsumptions `p(x) <= p(y)`", "for the best row of each group use an aggregate: `x = min y : { … }`"
)
CHOICE: Final = _refused("choices `choice-domain`", "choose by an aggregate: `x = min y : { … }`")
USER_FUNCTORS: Final = _refused("functors of the user `@f(…)`")
PREPROCESSOR: Final = Mistake(
    "E0120",
    "this line is for the C preprocessor; holdfast has none",
    'a rule attribute is written #[name("r1")]; a comment begins with //',
)
BLANK_NODE: Final = Mistake("E0120", "a blank node cannot be written in a program", "use a variable, or an IRI")

DIRECTIVES: Final = {
    ".comp": _refused("components `.comp`", "write the relations and rules of the component out"),
    ".init": _refused("components and their instances `.init`"),
    ".functor": _refused("functors of the user `.functor`"),
    ".plan": _refused("query plans `.plan`", "leave it away: holdfast orders the joins itself"),
    ".lattice": _refused("lattices `.lattice`", "use min and max aggregates"),
    ".include": _refused("inclusions of other files `.include`"),
    ".override": _refused("components and `.override`"),
    ".number_type": Mistake("E0120", "`.number_type` is an old spelling", "write .type NAME <: number"),
    ".symbol_type": Mistake("E0120", "`.symbol_type` is an old spelling", "write .type NAME <: symbol"),
}
