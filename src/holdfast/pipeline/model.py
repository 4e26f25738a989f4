"""A pipeline as a value: where facts and updates come from, the program, and where results go."""

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
CUSTOM: Final = "spark:"  # `spark:kafka` is whatever that name means to Spark
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Place:
    """Something outside: a folder or file, a table of a database or of Spark's catalogue, a given frame.

    The path is absolute, because Spark's working directory is another one; `shown` is how the user wrote it.
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
        """A folder in a folder, or a table with a longer name."""

        def longer(path: str | None) -> str | None:
            return path and f"{path}/{name}"

        table = self.table and f"{self.table}_{name}"
        return replace(self, path=longer(self.path), shown=longer(self.shown), table=table)


@dataclass(frozen=True)
class Source:
    """Rows for a relation.  `columns` maps a column of the relation to its name in the source."""

    name: str
    place: Place
    relation: str | None = None  # None: RDF and update lines name their relations themselves
    columns: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    fields: tuple[str, ...] = ()  # the columns of files that do not name them
    checks: tuple[str, ...] = ()
    change_type: str | None = None  # the column that says insert or delete
    span: Span | None = field(default=None, compare=False, repr=False)
    check_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Sink:
    """Where a relation, or what changes in it, is written; `*` means every relation that rules derive."""

    name: str
    place: Place
    relation: str
    changes: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Quarantine:
    """Where rows go that fail their checks, and how many of them, or which share, stop the run."""

    place: Place | None = None
    rows: int | None = 0
    share: float | None = None

    def allows(self, rejected: int, seen: int) -> bool:
        """Whether the run may go on."""
        if self.share is not None:
            return rejected <= self.share * seen
        return self.rows is None or rejected <= self.rows

    @property
    def limit(self) -> str:
        """The limit in words."""
        return f"{self.share:.3%}".replace(".000", "") if self.share is not None else f"{self.rows}"


@dataclass(frozen=True)
class EngineSettings:
    """Where maintenance runs: in this process, on Spark, or here while there are not more facts than the limit."""

    kind: str = "auto"
    limit: int = 10_000_000


@dataclass(frozen=True)
class Snapshots:
    """Where snapshots are kept, how many of them, and after how many updates a whole one is written."""

    path: Path
    keep: int = 3
    every: int = 10


@dataclass(frozen=True)
class Pipeline:
    """A pipeline; `holdfast.pipeline.read` makes one from a TOML file."""

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
    file: str = "PIPELINE"  # as the user named it, for commands that are suggested
