"""The folder or table of each relation in a sink, and a check that no two places are the same.

Two relations never share a place, whatever their names: a plain name is used as it is, any other becomes a readable
part of it and a hash.  Rule changes do not change these names.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from holdfast.errors import Diagnostic, Diagnostics, Span, UsageError
from holdfast.pipeline.model import Pipeline, Place, Sink, Source

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HASHED: Final = re.compile(r"(?:.*_)?[0-9a-f]{16}")
_RESERVED: Final = re.compile(r"(?i)con|prn|aux|nul|com[0-9]|lpt[0-9]|_temporary|_success|_update|_metadata")
_LONGEST: Final = 48  # characters of a plain name: databases silently truncate longer table names
_READABLE: Final = 30
_PATTERN: Final = re.compile(r"[*?\[{]")


def place_name(name: str) -> str:
    """The folder of a relation, or the end of its table's name; different for different relations.

    Names that differ only in case are left to `sink_places`: both are plain.
    """
    if (
        _PLAIN.fullmatch(name)
        and len(name) <= _LONGEST
        and not _HASHED.fullmatch(name)
        and not _RESERVED.fullmatch(name)
    ):
        return name
    tail = re.split(r"[/#]", name.strip("<>"))[-1] if name.startswith("<") else name
    readable = re.sub(r"[^A-Za-z0-9]+", "_", tail).strip("_")[:_READABLE].strip("_")
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable}_{digest}" if readable else f"_{digest}"


def sink_places(sink: Sink, displays: Mapping[str, str]) -> list[tuple[Place, str]]:
    """The relations that a sink writes, each with its place; `displays` are their names in the program."""
    if sink.relation != "*":
        return [(sink.place, name) for name, shown in displays.items() if sink.relation in (name, shown)]
    found: dict[str, str] = {}
    for name in displays:
        other = found.setdefault(place_name(name).casefold(), name)
        if other != name and _ignores_case(sink.place):
            message = f"{displays[other]} and {displays[name]} would be written to one place: that place ignores case"
            help = 'declare a separate sink for each instead of relation = "*"'
            raise UsageError(Diagnostic("E1108", message, sink.span, help=help))
    return [(sink.place.part(place_name(name)), name) for name in displays]


def _ignores_case(place: Place) -> bool:
    """Whether names that differ only in case are the same: always for tables; for folders, the file system decides."""
    if place.path is None:
        return True
    if "://" in place.path:
        return False
    there = next(folder for folder in (Path(place.path), *Path(place.path).parents) if folder.is_dir())
    with tempfile.TemporaryDirectory(prefix="holdfast-case-", dir=there) as folder:
        return Path(folder).with_name(Path(folder).name.upper()).exists()


# --- shared places -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Use:
    """A use of a place by a pipeline."""

    what: str
    place: Place
    span: Span | None
    is_written: bool

    @property
    def path(self) -> Path | None:
        """A folder or file on this machine; for a pattern, the folder that contains its files."""
        path = (self.place.path or "").removeprefix("file://")
        if not path or "://" in path:
            return None
        parts = Path(path).parts
        fixed = next((i for i, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
        return Path(*parts[:fixed])

    @property
    def table(self) -> tuple[str | None, str] | None:
        """The table, with its name in lower case."""
        return (self.place.url, self.place.table.casefold()) if self.place.table else None


def refuse_shared_places(pipeline: Pipeline, displays: Mapping[str, str], problems: Diagnostics) -> None:
    """Refuse a sink that would overwrite another one, a source or the snapshots."""
    uses = list(_uses(pipeline, displays))
    for number, use in enumerate(uses):
        for other in uses[:number]:
            if (use.is_written or other.is_written) and use.what != other.what and _is_shared(use, other):
                message = f"{other.what} and {use.what} are both in {_shown(use, other)} and would overwrite each other"
                problems.error("E1108", message, use.span or other.span, help="give each its own place")


def _uses(pipeline: Pipeline, displays: Mapping[str, str]) -> Iterator[_Use]:
    sources: Iterable[tuple[str, Source]] = (
        *(("source", source) for source in pipeline.sources),
        *(("updates", source) for source in pipeline.updates),
    )
    for kind, source in sources:
        yield _Use(f"{kind} {source.name}", source.place, source.span, False)
    if pipeline.snapshots is not None:
        folder = str(pipeline.snapshots.path.absolute())
        yield _Use("the snapshots", Place("folder", folder, shown=str(pipeline.snapshots.path)), None, True)
    if pipeline.quarantine.place is not None:
        yield _Use("the quarantine", pipeline.quarantine.place, None, True)
    for sink in pipeline.sinks:
        places = [sink.place]
        if sink.relation == "*" and sink.place.table:
            places = [place for place, _ in sink_places(sink, displays)]
        yield from (_Use(f"sink {sink.name}", place, sink.span, True) for place in places)


def _is_shared(use: _Use, other: _Use) -> bool:
    if use.table is not None and use.table == other.table:
        return True
    return _is_under(use, other) or _is_under(other, use) if use.path and other.path else _same_url(use, other)


def _is_under(inner: _Use, outer: _Use) -> bool:
    """Whether `inner` is `outer` or lies inside it; for a pattern that is only read, whether it matches."""
    assert inner.path is not None and outer.path is not None
    inside, around = inner.path.resolve(), outer.path.resolve()
    if str(outer.path) != outer.place.path and not outer.is_written:
        return fnmatch(str(inside), str(outer.place.path))
    return inside.is_relative_to(around)


def _same_url(use: _Use, other: _Use) -> bool:
    path, place = use.place.path, other.place.path
    return path is not None and place is not None and "://" in path and path.rstrip("/") == place.rstrip("/")


def _shown(use: _Use, other: _Use) -> str:
    return min(str(use.place), str(other.place), key=len)
