"""Raw rows from outside, as Spark DataFrames: whole, or as a stream of what arrives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from holdfast.encoding import Dictionary
from holdfast.errors import Diagnostic, UsageError
from holdfast.formats.parquet import to_arrow
from holdfast.formats.rdf import read_rdf
from holdfast.pipeline.model import CUSTOM, FILES, LINES, RDF, Place, Source
from holdfast.program.model import Relation
from holdfast.spark_session import spark_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CHANGE_TYPE: Final = "_change_type"
CORRUPT: Final = "_corrupt_record"
LINE: Final = "_text"
FILE: Final = "_file"
TIME: Final = "_time"
_TEXTS: Final = {"csv": {"sep": ","}, "tsv": {"sep": "\t", "quote": ""}, "json": {}}


class Reader:
    """Makes the frames of sources; frames from Python come by the source's name."""

    def __init__(self, session: SparkSession, frames: Mapping[str, DataFrame] | None = None) -> None:
        self._session = session
        self._frames = frames or {}

    def frame(self, source: Source, relation: Relation | None, *, stream: bool = False) -> DataFrame:
        """The rows of a source with whatever columns it has; those of text files are all strings."""
        with spark_errors(f"cannot read {source.name}"):
            frame = self._frame(source, relation, stream)
            is_of_files = source.place.format in (*FILES, LINES)
            return frame if is_of_files else frame.selectExpr("*", f"'' AS {FILE}", f"TIMESTAMP'1970-01-01' AS {TIME}")

    def _frame(self, source: Source, relation: Relation | None, stream: bool) -> DataFrame:
        place, session = source.place, self._session
        reader: Any = session.readStream if stream else session.read
        if stream:
            reader = reader.options(maxFilesPerTrigger="1") if place.path else reader
            _refuse_streaming(source)
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
                    reader = reader.schema(_all_texts(_fields(source, relation)))
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
        """Every column a string, and one more for lines that are not what they should be."""
        path = _path(source.place.path)
        options = {**_TEXTS[format], **source.place.options}
        has_header = options.get("header", "false") == "true"
        if source.fields or not has_header or stream or _is_empty_folder(path):
            fields = source.fields or _fields(source, relation)
        else:
            fields = tuple(self._session.read.options(**options).csv(path).columns)
        if has_header:
            options["enforceSchema"] = "false"  # a header with other names is an error, not columns mixed up
        if format == "json" and source.change_type is None:
            fields = (*fields, CHANGE_TYPE)  # objects may have it; if no row does, all are inserted
        reader = reader.options(**options, columnNameOfCorruptRecord=CORRUPT).schema(_all_texts((*fields, CORRUPT)))
        frame = _with_files(reader.json(path) if format == "json" else reader.csv(path))
        return frame if format == "json" or "nullValue" in options else _with_empty_texts(frame)

    def _given(self, source: Source, stream: bool) -> DataFrame:
        if source.name not in self._frames:
            given = ", ".join(self._frames) or "none"
            raise UsageError(Diagnostic("E1110", f"no frame was given for {source.name}", source.span, notes=(
                f"frames given: {given}",), help=f"from Python: run(pipeline, frames={{{source.name!r}: frame}})"))
        frame = self._frames[source.name]
        if frame.isStreaming != stream:
            message = f"the frame given for {source.name} is " + (
                "a stream, which only mode stream can read" if frame.isStreaming else "no stream, as mode stream needs")
            raise UsageError(Diagnostic("E1108", message, source.span))
        return frame


def text_size(place: Place) -> int | None:
    """The bytes of plain text files on this machine, None for anything else."""
    if place.format not in _TEXTS or place.path is None or "://" in place.path:
        return None
    path = Path(place.path)
    files = [path] if path.is_file() else list(path.iterdir()) if path.is_dir() else list(path.parent.glob(path.name))
    if any(file.is_dir() or file.suffix in (".gz", ".bz2", ".zst", ".xz", ".lz4") for file in files):
        return None
    return sum(file.stat().st_size for file in files)


def _is_empty_folder(path: str) -> bool:
    """A folder of this machine in which Spark sees nothing, so that it cannot tell what columns there are."""
    return "://" not in path and Path(path).is_dir() and not any(
        file.name[0] not in "._" for file in Path(path).iterdir())


def _all_texts(names: Iterable[str]) -> str:
    """A schema of strings."""
    return ", ".join(f"`{name}` STRING" for name in dict.fromkeys(names))


def _with_files(frame: DataFrame) -> DataFrame:
    """Each row with the file that it is from, and the time of that."""
    return frame.selectExpr("*", f"_metadata.file_path AS {FILE}", f"_metadata.file_modification_time AS {TIME}")


def _with_empty_texts(frame: DataFrame) -> DataFrame:
    """Spark takes an empty text for no value; in a facts file it is a value like any other."""
    from pyspark.sql import functions as sf

    ours = (CORRUPT, FILE, TIME)
    texts = [sf.coalesce(sf.col(f"`{name}`"), sf.lit("")).alias(name) for name in frame.columns if name not in ours]
    return frame.select(*texts, *ours)


def _fields(source: Source, relation: Relation | None) -> tuple[str, ...]:
    """What the columns of a file are called that does not name them: as the relation's, in their order."""
    assert relation is not None
    called = (source.columns.get(column.name, column.name) for column in relation.columns)
    names = tuple(name for name in called if "(" not in name)  # an expression is no column of a file
    return (*names, source.change_type) if source.change_type else names


def _path(path: str | None) -> str:
    assert path is not None
    return path


def _refuse_streaming(source: Source) -> None:
    if source.place.format in (*RDF, "jdbc"):
        message = f"{source.place.format} cannot be read as a stream"
        raise UsageError(Diagnostic("E1108", message, source.span, help="use it with mode = \"update\""))


def rdf_tables(source: Source, relations: Mapping[str, Relation]) -> Iterator[tuple[str, pa.Table]]:
    """The facts of RDF files by relation.  They are parsed in this process."""
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
