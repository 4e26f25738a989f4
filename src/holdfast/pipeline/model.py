"""A pipeline as a value: the sources of facts and updates, the program, and the sinks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from holdfast.errors import Span

MODES: Final = ("batch", "update", "stream")
FILES: Final = ("csv", "tsv", "json", "parquet")
RDF: Final = ("ntriples", "turtle")
LINES: Final = "updates"
SOURCE_FORMATS: Final = (*FILES, *RDF, "jdbc", "table", "frame")
UPDATE_FORMATS: Final = (*SOURCE_FORMATS, LINES)
SINK_FORMATS: Final = (*FILES, "jdbc", "table")
CUSTOM: Final = "spark:"  # `spark:kafka` is Spark's own format of that name
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Place:
    """A place outside: a folder or file, a table of a database or of Spark's catalogue, a given frame.

    The path is absolute because Spark has another working directory; `shown` is the path as the user wrote it.
    """

    format: str
    path: str | None = None
    table: str | None = None
    url: str | None = None
    options: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    shown: str | None = None

    def __str__(self) -> str:
        return self.shown or self.path or self.table or self.format

    def part(self, name: str) -> Place:
        """A subfolder, or a table with a longer name."""

        def longer(path: str | None) -> str | None:
            return path and f"{path}/{name}"

        table = self.table and f"{self.table}_{name}"
        return replace(self, path=longer(self.path), shown=longer(self.shown), table=table)


@dataclass(frozen=True)
class Source:
    """Rows for a relation.  `columns` maps a column of the relation to its name in the source."""

    name: str
    place: Place
    relation: str | None = None  # None for RDF and update lines, which name their relations
    columns: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    fields: tuple[str, ...] = ()  # names for the columns of files without a header
    checks: tuple[str, ...] = ()
    change_type: str | None = None  # the column with insert or delete
    span: Span | None = field(default=None, compare=False, repr=False)
    check_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Sink:
    """Where to write a relation, or its changes; `*` means every derived relation."""

    name: str
    place: Place
    relation: str
    changes: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Quarantine:
    """Where rejected rows go, and the number or share of them that stops the run."""

    place: Place | None = None
    rows: int | None = 0
    share: float | None = None

    def allows(self, rejected: int, seen: int) -> bool:
        """Whether the run may continue."""
        if self.share is not None:
            return rejected <= self.share * seen
        return self.rows is None or rejected <= self.rows

    @property
    def limit(self) -> str:
        """The limit in words."""
        return f"{self.share:.3%}".replace(".000", "") if self.share is not None else f"{self.rows}"


@dataclass(frozen=True)
class EngineSettings:
    """Where maintenance runs: in this process, on Spark, or in this process up to a limit on facts."""

    kind: str = "auto"
    limit: int = 10_000_000


@dataclass(frozen=True)
class Snapshots:
    """Where snapshots are kept, how many, and after how many updates a full one is written."""

    path: Path
    keep: int = 3
    every: int = 10


@dataclass(frozen=True)
class Pipeline:
    """A pipeline, as read from a TOML file by `holdfast.pipeline.read`."""

    name: str
    program: Path
    mode: str = "batch"
    sources: tuple[Source, ...] = ()
    updates: tuple[Source, ...] = ()
    sinks: tuple[Sink, ...] = ()
    quarantine: Quarantine = field(default_factory=Quarantine)
    engine: EngineSettings = field(default_factory=EngineSettings)
    snapshots: Snapshots | None = None
    trigger: str = "available"
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    file: str = "PIPELINE"  # as the user named it, for suggested commands
