"""What tables take in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.backends.memory.table import Table


@contextmanager
def entering(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, int]]:
    """Notes the sizes of all tables of this name, however their run ends."""
    sizes, tables, intern = dict[int, int](), list[Table](), Table.intern

    def noting(self: Table, *arguments: Any, **named: Any) -> Any:
        ids = intern(self, *arguments, **named)
        if self.name == name:
            tables.append(self)  # which keeps its id
            sizes[id(self)] = self.size
        return ids

    monkeypatch.setattr(Table, "intern", noting)
    yield sizes
    monkeypatch.undo()
