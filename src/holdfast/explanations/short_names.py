"""IRIs in texts for people, shortened by the prefixes that a program declares: `ex:ann` for `<http://example.org/ann>`.

JSON keeps full IRIs, so that it can be read without the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from holdfast.language.vocabulary import AGGREGATES, IRI, KEYWORDS, LOCAL

_PART = re.compile(rf"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|(?P<iri>{IRI.pattern})", re.DOTALL)


class ShortNames:
    """Shortens the IRIs of a text, outside quoted strings and names."""

    def __init__(self, prefixes: Mapping[str, str] | None = None) -> None:
        declared = ((label, iri) for label, iri in (prefixes or {}).items() if iri and _is_read_anywhere(label))
        self._prefixes = sorted(declared, key=lambda each: (-len(each[1]), each[0]))  # the longest first

    def __call__(self, text: str) -> str:
        """The text with short names where a program that declares the prefixes would read the same."""
        if not self._prefixes or "<" not in text:
            return text
        return _PART.sub(lambda found: self._short(found.group("iri")) or found.group(), text)

    def _short(self, written: str | None) -> str | None:
        for label, start in self._prefixes if written else ():
            assert written is not None
            if written.startswith(start, 1) and LOCAL.fullmatch(local := written[1 + len(start) : -1]):
                return f"{label}:{local}"
        return None


FULL_NAMES = ShortNames()
"""Shortens nothing."""


def _is_read_anywhere(label: str) -> bool:
    """Whether a prefix is recognised in a text that does not declare it, such as a fact that a user asks about."""
    word = label.isidentifier() and not label.startswith("_")
    return not label or (word and label not in AGGREGATES and label not in KEYWORDS)
