"""Which file holds a relation's facts.

The file of relation `edge` is `edge.facts`, `edge.tsv`, `edge.csv`, `edge.parquet` or `edge.jsonl`, each but
Parquet also with `.gz`.  Names with characters that are unsafe in file names have two spellings:
percent-encoded, `ex%3Aknows.facts`, and with `_` for a colon, `ex_knows.facts`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
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
"""Names of formats that facts are not written in; any other name is one of separated values."""

_LONGEST: Final = 200


def file_stem(relation: Relation) -> str:
    """The name under which a relation's facts are written, without the suffix; file names have some 255 characters."""
    stem = quote(relation.display, safe=" ()+,=@!~$&';[]{}", errors="surrogatepass")
    digest = hashlib.sha256(relation.display.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return stem if len(stem) <= _LONGEST else f"{stem[: _LONGEST - 20]}~{digest}"


def find_facts(folder: Path, relation: Relation) -> Path | None:
    """The file in the folder with the facts of a relation, or None; two are an error."""
    found = [path for path in _candidates(folder, relation) if len(path.name) < _LONGEST + 20 and path.exists()]
    if len(found) > 1:
        refuse(
            "E0608",
            f"relation {relation.display} has two files: {found[0].as_posix()} and {found[1].as_posix()}",
            relation.span,
            help='keep one, or choose with .input and filename="…"',
        )
    return inside(folder, found[0].name, relation.span) if found else None


def _candidates(folder: Path, relation: Relation) -> Iterator[Path]:
    stems = dict.fromkeys(
        (
            file_stem(relation),
            quote(relation.display, safe=" ", errors="surrogatepass"),
            file_stem(relation).replace("%3A", "_"),
        )
    )
    for suffix in SUFFIXES:
        for stem in stems:
            yield folder / f"{stem}{suffix}"
            if suffix != ".parquet":
                yield folder / f"{stem}{suffix}.gz"


def unread_facts(folder: Path, relation: Relation) -> Path | None:
    """A file with the name of a relation without facts, but not the ending of a facts file."""
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
            f"{name} cannot be written: {suffix} is not an output format",
            _span_of(relation, parameters),
            help="the formats are .csv, .tsv, .jsonl and .parquet, and for RDF .nt, .nq, .ttl, .trig and .rdf",
        )
    return inside(folder, name, _span_of(relation, parameters))


def refuse_shared_file(files: Iterable[tuple[Path, Relation]], done: str) -> None:
    """Refuse a file for two relations; `done` says what would be done with both: "written to"."""
    found: dict[str, tuple[Path, Relation]] = {}
    for path, relation in files:
        other, first = found.setdefault(path.as_posix().casefold(), (path, relation))
        if first.name != relation.name and (path == other or _is_same(path, other)):
            refuse(
                "E0624",
                f"{first.display} and {relation.display} would both be {done} {path.as_posix()}",
                relation.span,
                help='give each its own file: filename="…"',
            )


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names that differ in case are one file: for a file that does not exist, its folder decides."""
    try:
        return path.samefile(other)
    except OSError:
        folder = path.parent
        return folder.name.swapcase() != folder.name and folder.with_name(folder.name.swapcase()).exists()


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


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder; a name that the system refuses, as too long, is not there."""
    try:
        return path.exists()
    except OSError:
        return False


def refuse_overwriting(path: Path, read: Iterable[Path], span: Span | None = None) -> None:
    """Refuse to write to a file that something was read from, by whatever name or link."""
    if is_there(path) and any(is_there(other) and path.samefile(other) for other in read):
        refuse(
            "E0625",
            f"{path.as_posix()} is not overwritten: the program, facts or updates of this run are read from it",
            span,
            help="write to another folder or file",
        )


def _span_of(relation: Relation, parameters: Mapping[str, str]) -> Span | None:
    return next((io.span for io in relation.io if io.parameters == parameters), None)
