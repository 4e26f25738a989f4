"""Modules imported on first use.

Arrow takes longer to import than a small program takes to run, and a small program does not need it.  Type checkers
must see a real import beside it:

    if TYPE_CHECKING:
        import pyarrow as pa
    else:
        pa = lazily("pyarrow")
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class _Lazy(ModuleType):
    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # later lookups do not come here
        return value


def lazily(name: str) -> Any:
    """A stand-in for a module that imports it on first use."""
    return _Lazy(name)
