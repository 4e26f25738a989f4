"""The error codes of parsing, with their meanings; docs/errors.md describes each."""

from __future__ import annotations

from typing import Final

ALL_CODES: Final[dict[str, str]] = {
    "E0101": "unexpected text",
    "E0102": "a string or a quoted name is not closed",
    "E0103": "a comment is not closed",
    "E0104": "a character has no meaning in the language",
    "E0105": "a word that begins with digits is not a number",
    "E0106": "a number is too large for its type",
    "E0107": "a string has an unknown escape",
    "E0108": "an operator is spelled as in another language",
    "E0109": "a name in single quotes is used as a constant",
    "E0110": "a formula is used where a value is needed",
    "E0111": "a value is used where an atom or a comparison is needed",
    "E0112": "a head is not an atom",
    "E0113": "a head aggregate is used outside a head",
    "E0114": "the dot at the end is missing",
    "E0115": "unknown directive",
    "E0116": "a bracket is not closed, or closes nothing",
    "E0117": "a clause is nested too deeply",
    "E0118": "the preprocessor cannot process a line",
    "E0119": "a preprocessor condition is malformed or not closed",
    "E0120": "an unsupported construct of Soufflé",
    "E0121": "a file with preprocessor lines cannot be formatted",
    "E0910": "a fact is among the rules to add",
    "E0911": "a rule to remove does not exist",
}
