"""The structure of record types and algebraic data types."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TypeAlias

from holdfast.quick_dataclass import dataclass
from holdfast.values.model import Type

Kind: TypeAlias = "Type | Structure"


@dataclass(eq=False)
class Structure:
    """A record type, with the one branch "", or an algebraic data type.

    Types may refer to each other, so the branches are filled in when all types exist.
    """

    name: str
    branches: dict[str, tuple[Kind, ...]] = field(default_factory=dict, repr=False)

    @property
    def is_record(self) -> bool:
        """Whether it is a record type, which has `nil` too."""
        return "" in self.branches

    @property
    def value(self) -> str:
        """The type's name, as used in messages."""
        return self.name


@dataclass(frozen=True)
class RecordForm:
    """What records that are compared field by field share: the branch and the number of fields."""

    branch: str
    arity: int

    def __str__(self) -> str:
        return f"{self.branch}/{self.arity}"


@lru_cache(maxsize=1024)
def form_of(text: str) -> RecordForm:
    """The form that a text stands for, as plans hold it."""
    branch, _, arity = text.rpartition("/")
    return RecordForm(branch, int(arity))
