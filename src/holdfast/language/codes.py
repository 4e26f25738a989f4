"""Every code that reading a text gives out, with its one meaning; docs/errors.md tells more of each."""

from __future__ import annotations

from typing import Final

ALL_CODES: Final[dict[str, str]] = {
    "E0101": "something stands where the grammar has no place for it",
    "E0102": "a string or a quoted name is not closed",
    "E0103": "a comment is not closed",
    "E0104": "a character has no meaning in the language",
    "E0105": "digits with something behind them are not a number",
    "E0106": "a number is too large for its type",
    "E0107": "a backslash in a string is followed by something without meaning",
    "E0108": "an operator is spelled as in another language",
    "E0109": "a name in single quotes stands where a constant is meant",
    "E0110": "a formula stands where a value is needed",
    "E0111": "a value stands where an atom or a comparison is needed",
    "E0112": "a head is not an atom",
    "E0113": "an aggregate of a head stands somewhere else",
    "E0114": "the dot at the end is missing",
    "E0115": "a directive is not known",
    "E0116": "a bracket is not closed, or closes nothing",
    "E0117": "a clause is nested too deeply",
    "E0118": "the preprocessor cannot do what a line asks for",
    "E0119": "the conditions of the preprocessor do not fit together",
    "E0120": "a construct of Soufflé that holdfast does not have",
    "E0121": "a file with lines for the preprocessor is to be formatted",
    "E0910": "a fact is among the rules to add",
    "E0911": "a rule to remove is not there",
}
