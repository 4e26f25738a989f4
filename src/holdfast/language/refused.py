"""Constructs of Soufflé that holdfast lacks; each is refused by name."""

from __future__ import annotations

from typing import Final

from holdfast.language.mistakes import Mistake


def _refused(what: str, help: str | None = None) -> Mistake:
    return Mistake("E0120", f"{what} of Soufflé are not supported", help)


COUNTERS: Final = _refused(
    "counters `$` and `autoinc()`", "a counter depends on the order of evaluation; use a key of the data"
)
PREPROCESSOR: Final = Mistake(
    "E0120",
    "unknown preprocessor directive",
    'a rule attribute is written #[name("r1")]; a comment begins with //',
    ("the directives are #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, #endif and #error",),
)
BLANK_NODE: Final = Mistake("E0120", "a blank node cannot be written in a program", "use a variable, or an IRI")

DIRECTIVES: Final = {
    ".lattice": _refused("lattices `.lattice`", "use min and max aggregates"),
    ".include": Mistake("E0120", "`.include` must be on its own line, with a file in quotes", '.include "file.dl"'),
    ".once": Mistake("E0120", "`.once` must be on its own line"),
}
