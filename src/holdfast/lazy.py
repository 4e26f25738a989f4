"""Modules that are imported at their first use.

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
        setattr(self, name, value)  # the next time it is found without coming here
        return value


def lazily(name: str) -> Any:
    """A stand-in for a module, which imports it at the first use."""
    return _Lazy(name)
