"""Raw rows from outside as Spark DataFrames, complete or as a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from holdfast.errors import Diagnostic, UsageError
from holdfast.formats.parquet import to_arrow
from holdfast.formats.places import other_columns, refuse
from holdfast.formats.rdf import read_rdf
from holdfast.pipeline.model import CUSTOM, FILES, LINES, RDF, Place, Source
from holdfast.program.model import Relation
from holdfast.spark_session import SparkFailure, spark_account, spark_cause, spark_errors, unread_file
from holdfast.values.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CHANGE_TYPE: Final = "_change_type"
CORRUPT: Final = "_corrupt_record"
LINE: Final = "_text"
FILE: Final = "_file"
TIME: Final = "_time"
JSON: Final = "_json"  # the original values; the columns hold their texts
OURS: Final = (CORRUPT, FILE, TIME, JSON)
_ANY_AGE: Final = "100000d"
_FILE: Final = "CSV file: "  # how Spark names a file that it rejects
_TEXTS: Final = {"csv": {"sep": ","}, "tsv": {"sep": "\t", "quote": ""}, "json": {}}


class Reader:
    """Creates the frames of sources; frames from Python are given by source name."""

    def __init__(self, session: SparkSession, frames: Mapping[str, DataFrame] | None = None) -> None:
        self._session = session
        self._frames = frames or {}
        self._headed: list[tuple[Source, Mapping[str, str], tuple[str, ...]]] = []  # sources of files with a header

    @contextmanager
    def reading(self, what: str = "the sources") -> Iterator[None]:
        """Convert Spark's failures inside the block to our errors; a file with other columns gets its own message."""
        try:
            with spark_errors(f"cannot read {what}"):
                yield
        except SparkFailure as failure:
            cause = failure.__cause__ or failure
            self._refuse_header(spark_account(cause))
            if (file := unread_file(cause)) is not None:
                raise _unreadable(file, cause) from cause
            raise

    def _refuse_header(self, account: Sequence[str]) -> None:
        """If Spark reports a different header, name the columns that the file has and should have."""
        for file in (line.removeprefix(_FILE) for line in account if line.startswith(_FILE)):
            place = unquote(file.removeprefix("file://"))
            for source, options, fields in self._headed:
                names = self._session.read.options(**options).csv(file).columns
                if not _is_of(place, _path(source.place.path)) or names == list(fields):
                    continue
                refuse(
                    "E1116",
                    f"{_shown(place, source.place)} {other_columns(names, fields)}",
                    notes=(
                        f"its header is {', '.join(names)}",
                        f"{source.name} reads {', '.join(fields)}, in this order",
                    ),
                    help="correct the header in place, and run again: nothing of this file was applied",
                )

    def frame(self, source: Source, relation: Relation | None, *, stream: bool = False) -> DataFrame:
        """The rows of a source with all its columns; those of text files are strings."""
        with self.reading(source.name):
            frame = self._frame(source, relation, stream)
            is_of_files = source.place.format in (*FILES, LINES)
            return frame if is_of_files else frame.selectExpr("*", f"'' AS {FILE}", f"TIMESTAMP'1970-01-01' AS {TIME}")

    def _frame(self, source: Source, relation: Relation | None, stream: bool) -> DataFrame:
        place, session = source.place, self._session
        _refuse_absent(source, stream)
        reader: Any = session.readStream if stream else session.read
        if stream:
            _refuse_streaming(source)
            # By default Spark ignores files a week older than the newest.  Do not limit the files per micro-batch: they
            # can be put in order only together with those of other sources.
            reader = reader.options(maxFileAge=_ANY_AGE) if place.path else reader
        reader = reader.options(**{} if place.format in _TEXTS or place.format == LINES else place.options)
        match place.format:
            case "frame":
                return self._given(source, stream)
            case "csv" | "tsv" | "json" as format:
                return self._texts(reader, source, format, relation, stream)
            case "parquet":
                if stream:
                    reader = reader.schema(session.read.parquet(_path(place.path)).schema)
                elif _is_empty_folder(_path(place.path)):
                    reader = reader.schema(_all(_fields(source, relation), "STRING"))
                frame: DataFrame = _with_files(reader.parquet(_path(place.path)))
            case "jdbc":
                frame = reader.format("jdbc").options(url=place.url, dbtable=place.table).load()
            case "table":
                frame = reader.table(place.table)
            case name if name == LINES:
                frame = reader.options(wholetext="true", **place.options).text(_path(place.path))
                frame = _with_files(frame).withColumnRenamed("value", LINE)
            case name:
                reader = reader.format(name.removeprefix(CUSTOM))
                frame = reader.load(_path(place.path)) if place.path else reader.load()
        return frame

    def _texts(self, reader: Any, source: Source, format: str, relation: Relation | None, stream: bool) -> DataFrame:
        """All columns as strings, and one for malformed lines."""
        path = _path(source.place.path)
        options = {**_TEXTS[format], **source.place.options}
        has_header = options.get("header", "false") == "true"
        if source.fields or not has_header or stream or _is_empty_folder(path):
            fields = source.fields or _fields(source, relation)
        else:
            fields = tuple(self._session.read.options(**options).csv(path).columns)
        if has_header:
            options["enforceSchema"] = "false"  # report different column names instead of mixing up columns
            self._headed.append((source, options, fields))
        reader = reader.options(**options, columnNameOfCorruptRecord=CORRUPT)
        if format == "json":
            if source.change_type is None:
                fields = (*fields, CHANGE_TYPE)  # optional; rows without it are insertions
            return _as_texts(_with_files(reader.schema(_all(fields, "VARIANT")).json(path)), fields)
        frame = _with_files(reader.schema(_all(fields, "STRING")).csv(path))
        return frame if "nullValue" in options else _with_empty_texts(frame)

    def _given(self, source: Source, stream: bool) -> DataFrame:
        if source.name not in self._frames:
            given = ", ".join(self._frames) or "none"
            raise UsageError(
                Diagnostic(
                    "E1110",
                    f"no frame was given for {source.name}",
                    source.span,
                    notes=(f"frames given: {given}",),
                    help=f"from Python: run(pipeline, frames={{{source.name!r}: frame}})",
                )
            )
        frame = self._frames[source.name]
        if frame.isStreaming != stream:
            message = f"the frame given for {source.name} is " + (
                "a stream, which only mode stream can read"
                if frame.isStreaming
                else "not a stream, which mode stream needs"
            )
            raise UsageError(Diagnostic("E1108", message, source.span))
        return frame


def _unreadable(file: str, cause: BaseException) -> SparkFailure:
    help = "correct the file in place, and run again: nothing of this file was applied"
    return SparkFailure(Diagnostic("E1005", f"cannot read {file}: {spark_cause(cause)}", help=help))


def text_size(place: Place) -> int | None:
    """The size in bytes of plain text files on this machine; None for anything else."""
    if place.format not in _TEXTS or place.path is None or "://" in place.path:
        return None
    path = Path(place.path)
    files = [path] if path.is_file() else list(path.iterdir()) if path.is_dir() else list(path.parent.glob(path.name))
    if any(file.is_dir() or file.suffix in (".gz", ".bz2", ".zst", ".xz", ".lz4") for file in files):
        return None
    return sum(file.stat().st_size for file in files)


def _is_empty_folder(path: str) -> bool:
    """Whether a folder on this machine looks empty to Spark, so that it cannot infer columns."""
    return (
        "://" not in path and Path(path).is_dir() and not any(file.name[0] not in "._" for file in Path(path).iterdir())
    )


def _is_of(file: str, path: str) -> bool:
    """Whether a path covers a file: as the file itself, its folder, or a pattern."""
    path = path.removeprefix("file://")
    return file == path or file.startswith(path.rstrip("/") + "/") or fnmatch(file, path)


def _shown(file: str, place: Place) -> str:
    """A file's name as the pipeline file would write it."""
    path, shown = place.path or "", place.shown or ""
    return shown + file.removeprefix(path) if file.startswith(path) else file


def _all(names: Iterable[str], type: str) -> str:
    """A schema of columns of one type, and one for malformed lines."""
    return ", ".join((*(f"`{name}` {type}" for name in dict.fromkeys(names)), f"{CORRUPT} STRING"))


def _as_texts(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """JSON values as texts, and the original values in another column."""
    from pyspark.sql import functions as sf

    columns = {name: sf.col(f"`{name}`") for name in names}
    texts = [column.cast("STRING").alias(name) for name, column in columns.items()]
    return frame.select(*texts, sf.struct(*columns.values()).alias(JSON), CORRUPT, FILE, TIME)


def _with_files(frame: DataFrame) -> DataFrame:
    """Add the file of each row and its modification time."""
    return frame.selectExpr("*", f"_metadata.file_path AS {FILE}", f"_metadata.file_modification_time AS {TIME}")


def _with_empty_texts(frame: DataFrame) -> DataFrame:
    """Replace nulls by empty texts: Spark reads an empty text as null, but in a facts file it is a value."""
    from pyspark.sql import functions as sf

    texts = [sf.coalesce(sf.col(f"`{name}`"), sf.lit("")).alias(name) for name in frame.columns if name not in OURS]
    return frame.select(*texts, CORRUPT, FILE, TIME)


def _fields(source: Source, relation: Relation | None) -> tuple[str, ...]:
    """Column names for a file without a header: those of the relation, in order."""
    assert relation is not None
    called = (source.columns.get(column.name, column.name) for column in relation.columns)
    names = tuple(name for name in called if "(" not in name)  # an expression is not a column of the file
    return (*names, source.change_type) if source.change_type else names


def _path(path: str | None) -> str:
    assert path is not None
    return path


def _refuse_absent(source: Source, stream: bool) -> None:
    """Refuse a path on this machine that does not exist."""
    path = source.place.path
    if path is None or "://" in path or Path(path).exists():
        return
    if re.search(r"[*?\[{]", path):  # only Hadoop can expand its patterns
        return
    message = f"there is no file or folder {source.place} for {source.name} to read"
    help = "create the folder; files may arrive later" if stream else None
    raise UsageError(Diagnostic("E0903", message, source.span, help=help))


def _refuse_streaming(source: Source) -> None:
    if source.place.format in (*RDF, "jdbc"):
        message = f"{source.place.format} cannot be read as a stream"
        raise UsageError(Diagnostic("E1108", message, source.span, help='use it with mode = "update"'))


def rdf_tables(source: Source, relations: Mapping[str, Relation]) -> Iterator[tuple[str, pa.Table]]:
    """The facts of RDF files by relation, parsed in this process."""
    wanted = relations if source.relation is None else {source.relation: relations[source.relation]}
    for path in _rdf_files(source):
        dictionary = Dictionary()
        for name, codes in read_rdf(path, wanted, dictionary).items():
            yield name, to_arrow(relations[name], codes, dictionary)


def _rdf_files(source: Source) -> Sequence[Path]:
    path = _path(source.place.path)
    suffixes = {"ntriples": (".nt", ".nt.gz"), "turtle": (".ttl", ".ttl.gz", ".n3")}[source.place.format]
    pattern = Path(path)
    files = sorted(pattern.iterdir() if pattern.is_dir() else pattern.parent.glob(pattern.name))
    found = [file for file in files if file.name.endswith(suffixes)]
    if not found:
        message = f"there are no {source.place.format} files at {path}"
        help = f"their names end with {' or '.join(suffixes)}"
        raise UsageError(Diagnostic("E0903", message, source.span, help=help))
    return found
