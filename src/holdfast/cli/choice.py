"""Turn `--algorithm` and `--strategy` into what the library accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.cli import codes
from holdfast.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from holdfast import Choice, KnowledgeBase


@dataclass(frozen=True)
class Asked:
    """The chosen algorithms: a default, and exceptions for the hyper-nodes of some relations."""

    default: str
    of_relation: Mapping[str, str]
    strategy: str

    @classmethod
    def parsed(cls, words: Sequence[str], strategy: str) -> Asked:
        """Parse `NAME` and `RELATION=NAME`."""
        named = [word.rpartition("=") for word in words]
        defaults = [name for _, equals, name in named if not equals]
        of_relation = {relation: name for relation, equals, name in named if equals}
        if len(defaults) > 1 or len(defaults) + len(of_relation) < len(words):
            raise UsageError(
                Diagnostic(
                    codes.BAD_USAGE,
                    "--algorithm is given twice for the same hyper-nodes",
                    help="once for all, and once for each relation: --algorithm path=dred",
                )
            )
        asked = cls(defaults[0] if defaults else "auto", of_relation, strategy)
        asked._choice(of_relation)  # refuse unknown algorithms before any file is read
        return asked

    def check(self, base: KnowledgeBase) -> None:
        """Refuse unknown relations."""
        for relation in self.of_relation:
            base[relation]

    def choice(self, base: KnowledgeBase) -> Choice:
        """The choice for the next update; a relation removed with its rules is ignored until it exists again."""
        return self._choice({relation: name for relation, name in self.of_relation.items() if relation in base})

    def _choice(self, of_relation: Mapping[str, str]) -> Choice:
        from holdfast import Choice

        return Choice(self.default, of_relation, self.strategy)
