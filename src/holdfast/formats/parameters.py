"""The parameters of `.input` and `.output` directives, and the file layout that they describe."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from holdfast.errors import Span
from holdfast.formats.places import refuse
from holdfast.program.model import Relation
from holdfast.quick_dataclass import dataclass

PARAMETERS: Final[Mapping[str, str]] = {
    "IO": "only file",
    "filename": "the file, in the facts or the output folder",
    "delimiter": "the separator between values; one or more characters",
    "headers": "true if the first line has the column names",
    "rfc4180": "true if values may be in double quotes, as spreadsheets write them",
    "compress": "true if the file is gzip whatever its name",
    "escape": r"true if \t, \n, \r and \\ stand for a tab, a line end, a carriage return and a backslash",
    "columns": 'which columns of the file to read, from 0: "0:2"',
}
SUFFIXES: Final = (".facts", ".tsv", ".csv", ".parquet", ".jsonl")
RDF_FORMATS: Final[Mapping[str, str]] = {
    ".nt": "N_TRIPLES",
    ".ttl": "TURTLE",
    ".nq": "N_QUADS",
    ".n3": "TURTLE",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
    ".xml": "RDF_XML",
}
"""The RDF formats by file extension, as pyoxigraph names them."""
_MOST_LINES: Final = 100  # that one quoted value of the first line may have


@dataclass(frozen=True)
class Layout:
    """The layout of a facts file.  `kind` is the suffix without .gz."""

    kind: str
    delimiter: str = "\t"
    headers: bool = False
    rfc4180: bool = False
    compressed: bool = False
    escape: bool = False
    columns: tuple[int, ...] | None = None


def kind_of(path: Path) -> str:
    """The suffix that determines the format; `.facts` for other names."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in SUFFIXES else ".facts"


def is_rdf(path: Path) -> bool:
    """Whether a file's name is that of an RDF file."""
    return rdf_format_name(path) is not None


def rdf_format_name(path: Path) -> str | None:
    """The RDF format that a file's name implies, None for other files."""
    return RDF_FORMATS.get(Path(path.name.lower().removesuffix(".gz")).suffix)


def input_layout(path: Path, relation: Relation | None, parameters: Mapping[str, str], head: bytes) -> Layout:
    """The layout of a file to read.

    A `.csv` without a delimiter is comma-separated with quotes, unless its first line, given in `head`, contains a tab:
    Soufflé and `holdfast run` write such files.  A line end in quotes does not end the line.
    """
    kind = kind_of(path)
    commas = kind == ".csv" and "delimiter" not in parameters and b"\t" not in _first_line(head)
    return _layout(kind, relation, parameters, "," if commas else "\t", commas)


def _first_line(head: bytes) -> bytes:
    """The first line; if a quote opened in it is closed in a later one, what follows there belongs to it."""
    line, *others = head.split(b"\n", _MOST_LINES)
    while line.count(b'"') % 2 and len(others) > 1:
        line += others.pop(0)
    return line if not line.count(b'"') % 2 else head.split(b"\n", 1)[0]


def output_layout(path: Path, relation: Relation, parameters: Mapping[str, str]) -> Layout:
    """The layout of a file to write: tab-separated, as in Soufflé, even if the name ends in `.csv`."""
    return _layout(kind_of(path), relation, parameters, "\t", False)


def _layout(
    kind: str, relation: Relation | None, parameters: Mapping[str, str], delimiter: str, rfc4180: bool
) -> Layout:
    check_parameters(relation, parameters)
    span = _span(relation, parameters)
    return Layout(
        kind,
        _delimiter(parameters.get("delimiter", delimiter), span),
        _flag(parameters, "headers", False, span),
        _flag(parameters, "rfc4180", rfc4180, span),
        _flag(parameters, "compress", False, span),
        _flag(parameters, "escape", False, span),
        _columns(parameters.get("columns"), relation, span),
    )


def check_parameters(relation: Relation | None, parameters: Mapping[str, str]) -> None:
    """Refuse unknown parameters, and devices other than files."""
    span = _span(relation, parameters)
    for name in parameters:
        if name not in PARAMETERS:
            close = difflib.get_close_matches(name, PARAMETERS, 1)
            refuse(
                "E0609",
                f"unknown parameter {name}{_for(relation)}",
                span,
                notes=("the parameters are " + ", ".join(PARAMETERS),),
                help=f"did you mean {close[0]}?" if close else None,
            )
    if parameters.get("IO", "file") != "file":
        wanted = "IO is file, and for an .output also stdout"
        refuse("E0610", f"IO={parameters['IO']} is not supported{_for(relation)}; {wanted}", span)


def _for(relation: Relation | None) -> str:
    return f" for relation {relation.display}" if relation else ""


def _span(relation: Relation | None, parameters: Mapping[str, str]) -> Span | None:
    """Where the program gives the parameters."""
    directives = relation.io if relation else ()
    return next((io.span for io in directives if io.parameters == parameters), None)


def _flag(parameters: Mapping[str, str], name: str, default: bool, span: Span | None) -> bool:
    value = parameters.get(name)
    if value not in (None, "true", "false"):
        refuse("E0610", f"{name} is true or false, not {value!r}", span)
    return default if value is None else value == "true"


def _delimiter(text: str, span: Span | None) -> str:
    delimiter = text.replace("\\t", "\t")
    if not delimiter or "\n" in delimiter or "\r" in delimiter or '"' in delimiter:
        refuse("E0610", "a delimiter is at least one character and has no line end or double quote in it", span)
    return delimiter


def _columns(text: str | None, relation: Relation | None, span: Span | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    parts = text.split(":")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        refuse("E0610", f'columns are numbers from 0 with colons between them, such as "0:2", not {text!r}', span)
    columns = tuple(map(int, parts))
    if len(set(columns)) != len(columns):
        refuse("E0610", f"columns names a column of the file twice: {text!r}", span)
    if relation and len(columns) != relation.arity:
        refuse(
            "E0610", f"columns names {len(columns)} columns, but relation {relation.display} has {relation.arity}", span
        )
    return columns
