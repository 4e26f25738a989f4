"""Turn the frames of sources into one update: good rows as facts to insert and delete, bad rows with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.formats.parquet import MARK
from holdfast.pipeline.batches import MicroBatch
from holdfast.pipeline.checking import DELETE, INSERT, REASON, ROW, checked
from holdfast.pipeline.model import LINES, RDF, Source
from holdfast.pipeline.sources import CHANGE_TYPE, FILE, LINE, TIME, Reader, rdf_tables, text_size
from holdfast.program.model import Relation
from holdfast.values import Type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE: Final = "_source"
_FEW: Final = 100_000  # rows for which no counting job is needed
REJECTED: Final = pa.schema(
    [("source", pa.string()), ("relation", pa.string()), ("reason", pa.string()), ("row", pa.string())]
)


@dataclass(frozen=True)
class Line:
    """An update given as a line of JSON, with its position."""

    source: str
    file: str
    number: int
    text: str
    time: datetime = datetime.min  # modification time of the file


@dataclass(frozen=True)
class Taken:
    """The input read: rows by operation and relation, lines, and rejected rows."""

    rows: tuple[tuple[str, str, pa.Table | DataFrame], ...] = ()
    lines: tuple[Line, ...] = ()
    rejected: tuple[pa.Table | DataFrame, ...] = ()
    rejections: int = 0
    seen: int = 0

    def __add__(self, other: Taken) -> Taken:
        return Taken(
            self.rows + other.rows,
            tuple(sorted(self.lines + other.lines, key=lambda line: (line.time, line.file, line.number))),
            self.rejected + other.rejected,
            self.rejections + other.rejections,
            self.seen + other.seen,
        )


class Intake:
    """Reads and checks the sources of one kind: initial facts or updates."""

    def __init__(self, sources: Sequence[Source], relations: Mapping[str, Relation], reader: Reader) -> None:
        self._sources = sources
        self._relations = relations
        self._reader = reader

    def count(self, frame: DataFrame | None) -> int:
        """An upper bound on the number of rows, without RDF; a row of a text file takes at least a byte."""
        if frame is None:
            return 0
        sizes = [text_size(source.place) for source in self._framed()]
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes) and sum(known) <= _FEW:
            return sum(known)
        with self._reader.reading():
            return frame.count()

    def frame(self, *, stream: bool = False) -> DataFrame | None:
        """The rows of all sources in one frame: the source, the operation, the reason if rejected, and the columns."""
        frames = [self._one(source, stream) for source in self._sources if source.place.format not in RDF]
        if not frames:
            return None
        with self._reader.reading():
            return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    def _one(self, source: Source, stream: bool) -> DataFrame:
        from pyspark.sql import functions as sf

        relation = None if source.relation is None else self._relations[source.relation]
        frame = self._reader.frame(source, relation, stream=stream)
        with self._reader.reading(source.name):
            if relation is not None:
                frame = checked(frame, source, relation)
            names = [LINE] if relation is None else [column.name for column in relation.columns]
            own = [sf.col(f"`{name}`").alias(_prefixed(source, name)) for name in names]
            common = [name for name in (CHANGE_TYPE, REASON, ROW) if name in frame.columns]
            return frame.select(sf.lit(source.name).alias(SOURCE), FILE, TIME, *common, *own)

    def rdf(self) -> Taken:
        """The facts of RDF sources, which can only be inserted."""
        rows = [
            (INSERT, name, table)
            for source in self._sources
            if source.place.format in RDF
            for name, table in rdf_tables(source, self._relations)
        ]
        return Taken(tuple(rows), seen=sum(table.num_rows for _, _, table in rows))

    def fetched(self, frame: DataFrame) -> pa.Table:
        """Fetch the rows into this process with one job."""
        with self._reader.reading():
            return frame.toArrow()

    def by_file(self, frame: DataFrame, *, here: bool) -> MicroBatch:
        """Split a micro-batch by file."""
        lines = [_prefixed(source, LINE) for source in self._framed() if source.place.format == LINES]
        return MicroBatch(frame, self.fetched, here=here, texts=lines)

    def here(self, rows: DataFrame | pa.Table | None) -> Taken:
        """The rows sorted into facts, lines and rejected rows, in this process."""
        if rows is None:
            return self.rdf()
        table = rows if isinstance(rows, pa.Table) else self.fetched(rows)
        of_source = ((s, table.filter(pc.equal(table[SOURCE], s.name))) for s in self._framed())
        return sum((self._split(source, part) for source, part in of_source), self.rdf())

    def distributed(self, frame: DataFrame | None) -> Taken:
        """The same as Spark frames, without fetching rows; `frame` should be cached."""
        if frame is None:
            return self.rdf()
        from pyspark.sql import functions as sf

        with self._reader.reading():
            good = (sf.col(REASON).isNull() if REASON in frame.columns else sf.lit(True)).alias("good")
            counts = frame.groupBy(SOURCE, good).count().collect()
            lines = [s for s in self._framed() if s.place.format == LINES]
            taken = sum((self._lines(s, frame.filter(sf.col(SOURCE) == s.name).toArrow()) for s in lines), self.rdf())
            rows = [
                (kind, source.relation or "", self._columns(frame, source, kind))
                for source in self._framed()
                if source not in lines
                for kind in (DELETE, INSERT)
            ]
            bad = sum(row["count"] for row in counts if not row["good"])
            rejected = (self._bad(frame),) if bad else ()
            seen = sum(row["count"] for row in counts)
        return taken + Taken(tuple(rows), (), rejected, bad, seen)

    def _framed(self) -> Iterable[Source]:
        return (source for source in self._sources if source.place.format not in RDF)

    def _columns(self, frame: DataFrame, source: Source, kind: str) -> DataFrame:
        from pyspark.sql import functions as sf

        chosen = (sf.col(SOURCE) == source.name) & sf.col(REASON).isNull() & (sf.col(CHANGE_TYPE) == kind)
        columns = self._relations[source.relation or ""].columns
        return frame.filter(chosen).select(
            *(
                sf.col(f"`{_prefixed(source, c.name)}`").alias(c.name, metadata=MARK if c.type is Type.ANY else {})
                for c in columns
            )
        )

    def _bad(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as sf

        names = sf.create_map(*(sf.lit(text) for s in self._framed() for text in (s.name, s.relation or "")))
        return frame.filter(sf.col(REASON).isNotNull()).select(
            sf.col(SOURCE).alias("source"),
            names[sf.col(SOURCE)].alias("relation"),
            sf.col(REASON).alias("reason"),
            sf.col(ROW).alias("row"),
        )

    def _split(self, source: Source, table: pa.Table) -> Taken:
        if source.place.format == LINES:
            return self._lines(source, table)
        relation = self._relations[source.relation or ""]
        good = table.filter(pc.is_null(table[REASON]))
        columns = [_as_typed(good[_prefixed(source, column.name)], column.type) for column in relation.columns]
        fields = [
            pa.field(column.name, values.type, metadata=MARK if column.type is Type.ANY else None)
            for column, values in zip(relation.columns, columns, strict=True)
        ]
        facts = pa.table(columns, schema=pa.schema(fields))
        kinds = {kind: facts.filter(pc.equal(good[CHANGE_TYPE], kind)) for kind in (DELETE, INSERT)}
        rows = tuple((kind, relation.name, part) for kind, part in kinds.items() if part.num_rows)
        bad = table.filter(pc.is_valid(table[REASON]))
        return Taken(
            rows,
            (),
            (rejected(source, bad[REASON].to_pylist(), bad[ROW].to_pylist()),) if len(bad) else (),
            bad.num_rows,
            table.num_rows,
        )

    def _lines(self, source: Source, table: pa.Table) -> Taken:
        columns = (table[name].to_pylist() for name in (FILE, _prefixed(source, LINE), TIME))
        lines = [
            Line(source.name, file, number, text, time)
            for file, content, time in zip(*columns, strict=True)
            for number, text in enumerate(content.removeprefix("\ufeff").split("\n"), 1)
            if text.strip()
        ]
        return Taken((), tuple(lines), (), 0, len(lines))


def rejected(source: Source, reasons: Sequence[str], rows: Sequence[str]) -> pa.Table:
    """Rejected rows, in the form of the quarantine."""
    count = len(reasons)
    return pa.table([[source.name] * count, [source.relation or ""] * count, reasons, rows], schema=REJECTED)


def _as_typed(values: pa.ChunkedArray, type: Type) -> pa.ChunkedArray:
    """The values, with decimals cast back to unsigned integers, which Spark lacks."""
    return values.cast(pa.uint64()) if type is Type.UNSIGNED else values


def _prefixed(source: Source, column: str) -> str:
    return f"{source.name}/{column}"
