"""Which file holds a relation's facts.

The file of relation `edge` is `edge.facts`, `edge.tsv`, `edge.csv`, `edge.parquet` or `edge.jsonl`, and all but
Parquet may end in `.gz`.  Names with characters that are unsafe in file names have two spellings:
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
"""Extensions of formats that facts cannot be written in; any other extension means separated values."""

_LONGEST: Final = 200


def file_stem(relation: Relation) -> str:
    """The file name for a relation's facts, without the extension; kept below the usual limit of 255 characters."""
    stem = quote(relation.display, safe=" ()+,=@!~$&';[]{}", errors="surrogatepass")
    digest = hashlib.sha256(relation.display.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return stem if len(stem) <= _LONGEST else f"{stem[: _LONGEST - 20]}~{digest}"


def find_facts(folder: Path, relation: Relation) -> Path | None:
    """The file in the folder with a relation's facts, or None; raises if there are two."""
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
    """A file named after a relation without facts, but without the extension of a facts file."""
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
    """The file that an `.output` directive writes; by default `<relation>.csv`."""
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
    """Refuse one file for two relations; `done` is the verb for messages, such as "written to"."""
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
    """Whether two names that differ only in case are one file; if it does not exist, the folder decides."""
    try:
        return path.samefile(other)
    except OSError:
        folder = path.parent
        return folder.name.swapcase() != folder.name and folder.with_name(folder.name.swapcase()).exists()


def inside(folder: Path, name: str, span: Span | None = None) -> Path:
    """`folder / name`, refused if it leaves the folder through `..`, an absolute path or a link."""
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
    """Whether a file or folder exists; a name that the system refuses, such as one too long, does not."""
    try:
        return path.exists()
    except OSError:
        return False


def refuse_overwriting(path: Path, read: Iterable[Path], span: Span | None = None) -> None:
    """Refuse to overwrite a file that was read, under any name or link."""
    if is_there(path) and any(is_there(other) and path.samefile(other) for other in read):
        refuse(
            "E0625",
            f"{path.as_posix()} is not overwritten: the program, facts or updates of this run are read from it",
            span,
            help="write to another folder or file",
        )


def _span_of(relation: Relation, parameters: Mapping[str, str]) -> Span | None:
    return next((io.span for io in relation.io if io.parameters == parameters), None)
