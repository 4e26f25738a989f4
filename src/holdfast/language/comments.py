"""The comments of a source, kept beside the tree so that `fmt` keeps them."""

from __future__ import annotations

from holdfast.errors import Span
from holdfast.quick_dataclass import dataclass


@dataclass(frozen=True)
class Comment:
    """A comment as written, with its delimiters; `own_line` if nothing precedes it on its line."""

    text: str
    position: int
    span: Span
    own_line: bool
