"""How a program becomes a knowledge base: with facts from a loader, and the user's settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.loading import Loaded
from holdfast.language import tree
from holdfast.values.dictionary import Dictionary

Loader: TypeAlias = Callable[[tree.Program, Dictionary], Loaded]


class Evaluate(Protocol):
    """Evaluates a program with the settings of a call; without a loader, with the facts of that call."""

    def __call__(self, program: tree.Program, loader: Loader | None = None) -> KnowledgeBase:
        """The knowledge base."""
        ...
