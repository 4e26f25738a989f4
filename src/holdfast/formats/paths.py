"""Which file holds a relation's facts.

The file of relation `edge` is `edge.facts`, `edge.tsv`, `edge.csv`, `edge.parquet` or `edge.jsonl`, each but
Parquet also with `.gz`.  Names with characters that a file name cannot safely have come in two spellings:
percent-encoded, `ex%3Aknows.facts`, and with `_` for a colon, `ex_knows.facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

from holdfast.errors import Span
from holdfast.formats.parameters import SUFFIXES, check_parameters, is_rdf
from holdfast.formats.places import refuse
from holdfast.program.model import Relation

_OTHERS: Final = frozenset(
    {".arrow", ".db", ".feather", ".html", ".json", ".jsonld", ".ndjson", ".ods", ".sqlite", ".xlsx", ".yaml", ".yml"}
)
"""Names of formats that facts are not written in; any other name that tells nothing is one of separated values."""


def file_stem(relation: Relation) -> str:
    """The name under which a relation's facts are written, without the suffix."""
    return quote(relation.display, safe=" ()+,=@!~$&';[]{}")


def find_facts(folder: Path, relation: Relation) -> Path | None:
    """The file in the folder with the facts of a relation, None if there is none; two are an error."""
    found = [path for path in _candidates(folder, relation) if path.exists()]
    if len(found) > 1:
        refuse(
            "E0608",
            f"relation {relation.display} has two files: {found[0].as_posix()} and {found[1].as_posix()}",
            relation.span,
            help='keep one, or choose with .input and filename="…"',
        )
    return found[0] if found else None


def _candidates(folder: Path, relation: Relation) -> Iterator[Path]:
    stems = dict.fromkeys(
        (file_stem(relation), quote(relation.display, safe=" "), file_stem(relation).replace("%3A", "_"))
    )
    for suffix in SUFFIXES:
        for stem in stems:
            yield folder / f"{stem}{suffix}"
            if suffix != ".parquet":
                yield folder / f"{stem}{suffix}.gz"


def unread_facts(folder: Path, relation: Relation) -> Path | None:
    """A file that is called after a relation without facts, but has an ending that is none of a facts file."""
    beginnings = tuple(f"{stem}.".casefold() for stem in (relation.display, file_stem(relation)))
    if find_facts(folder, relation) is not None:
        return None
    named = (path for path in sorted(folder.iterdir()) if path.name.casefold().startswith(beginnings))
    return next((path for path in named if path.is_file() and not is_rdf(path)), None)


def input_path(folder: Path, relation: Relation, parameters: Mapping[str, str]) -> Path | None:
    """The file that an `.input` directive reads; None if it names none and the folder has none."""
    check_parameters(relation, parameters)
    if "filename" not in parameters:
        return find_facts(folder, relation)
    return inside(folder, parameters["filename"], _span_of(relation, parameters))


def output_path(folder: Path, relation: Relation, parameters: Mapping[str, str]) -> Path:
    """The file that an `.output` directive writes: `<relation>.csv` if it names none."""
    check_parameters(relation, parameters)
    packed = ".gz" if parameters.get("compress") == "true" else ""
    name = parameters.get("filename", f"{file_stem(relation)}.csv{packed}")
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix in _OTHERS:
        refuse(
            "E0618",
            f"{name} cannot be written: facts do not go out as {suffix}",
            _span_of(relation, parameters),
            help="the formats are .csv, .tsv, .jsonl and .parquet, and for RDF .nt, .nq, .ttl, .trig and .rdf",
        )
    return inside(folder, name, _span_of(relation, parameters))


def inside(folder: Path, name: str, span: Span | None = None) -> Path:
    """`folder / name`, refused if it leads out of the folder by `..`, by being absolute or through a link."""
    path = folder / name
    if not name or "\0" in name or Path(name).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        refuse(
            "E0607",
            f"the file name {name!r} leads out of the folder {folder.as_posix()}",
            span,
            help="move the file into the folder, or give another folder",
        )
    return path


def _span_of(relation: Relation, parameters: Mapping[str, str]) -> Span | None:
    return next((io.span for io in relation.io if io.parameters == parameters), None)
