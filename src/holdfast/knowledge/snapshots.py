"""An immutable version of a knowledge base."""

from __future__ import annotations

from holdfast.exclusive import Guard
from holdfast.knowledge.readable import Readable
from holdfast.knowledge.reading import VersionReader
from holdfast.program.model import Program


class KnowledgeSnapshot(Readable):
    """A knowledge base as it was at one version; made by `kb.snapshot()`.

    Relations, queries and explanations are those of that version.  Any number of threads may read it, and no update
    waits for it.
    """

    _noun = "snapshot"

    def __init__(self, reader: VersionReader, guard: Guard) -> None:
        self._version, self._guard = reader, guard

    def _reader(self) -> VersionReader:
        return self._version

    @property
    def program(self) -> Program:
        """The checked program."""
        return self._version.program

    @property
    def version(self) -> int:
        """The number of updates applied before the snapshot."""
        return self._version.version
