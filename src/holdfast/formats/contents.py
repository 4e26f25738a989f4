"""Files whose column types are inferred from their contents before they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from holdfast.errors import LimitReached
from holdfast.settings import UNLIMITED, Memory

MOST_KEPT = 1 << 28  # bytes of regular files to cache; larger ones are read from disk twice
_T = TypeVar("_T")


class Contents:
    """Caches the contents of files whose types are inferred first, so that each file is read once.

    Cached contents count as memory in use.  Regular files are read twice instead if together they exceed `MOST_KEPT`
    bytes, or if the memory limit does not allow caching them.
    """

    def __init__(self, memory: Memory = UNLIMITED) -> None:
        self.memory = memory
        self._kept: dict[tuple[Path, bool], tuple[bytes, ExitStack]] = {}

    def __enter__(self) -> Contents:
        return self

    def __exit__(self, *_: object) -> None:
        for key in [*self._kept]:
            self._drop(key)

    @contextmanager
    def opened(self, path: Path, *, compressed: bool = False, again: bool = False) -> Iterator[bytes]:
        """Like `reading`; pass `again` if the file will be opened again."""
        from holdfast.formats.files import reading

        key = path, compressed
        if key not in self._kept:
            held = ExitStack()
            self._kept[key] = held.enter_context(reading(path, self.memory, compressed=compressed)), held
        yield self._kept[key][0]
        if not again or (path.is_file() and sum(len(data) for data, _ in self._kept.values()) > MOST_KEPT):
            self._drop(key)

    def retried(self, act: Callable[[], _T]) -> _T:
        """Call a function; if it reaches a limit, drop the cached regular files and retry."""
        try:
            return act()
        except LimitReached:
            regular = [key for key in self._kept if key[0].is_file()]
            if not regular:
                raise
            for key in regular:
                self._drop(key)
            return act()

    def _drop(self, key: tuple[Path, bool]) -> None:
        _, held = self._kept.pop(key)
        held.close()
