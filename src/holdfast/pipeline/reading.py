"""Parse a pipeline file into a `Pipeline`; all errors are collected, with their lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from holdfast.errors import Diagnostic, Diagnostics, Span, UsageError
from holdfast.errors import SourceText as Text
from holdfast.pipeline import model
from holdfast.pipeline.toml_places import TomlPlaces
from holdfast.program.similar import similar
from holdfast.redaction import masked, redacted

_PLACE = ("format", "path", "table", "url", "options")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "pipeline": ("name", "program", "mode"),
    "engine": ("kind", "limit"),
    "snapshots": ("path", "keep", "every"),
    "quarantine": (*_PLACE, "limit"),
    "stream": ("trigger",),
    "spark": ("master", "conf"),
    "sources": (*_PLACE, "relation", "columns", "fields", "checks"),
    "updates": (*_PLACE, "relation", "columns", "fields", "checks", "change_type"),
    "sinks": (*_PLACE, "relation", "write"),
}
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".facts": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
    ".nt": "ntriples",
    ".ttl": "turtle",
}
_KINDS = {str: "a string", int: "a whole number", bool: "true or false", dict: "a table", list: "a list"}
_Kind = TypeVar("_Kind")


def read(path: str | Path) -> model.Pipeline:
    """Read a pipeline from a TOML file; its paths are relative to the file's folder."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(Diagnostic("E1101", f"cannot read the pipeline {path.as_posix()}: {reason}")) from error
    return replace(from_text(text, path.as_posix(), path.parent), file=path.as_posix())


def from_text(text: str, name: str = "<pipeline>", folder: Path = Path()) -> model.Pipeline:
    """Like `read`, for a text; its paths are relative to `folder`."""
    source = Text(name, masked(text))  # quoted in messages
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(_not_toml(error, source)) from None
    reader = _Reader(content, TomlPlaces(source), folder)
    pipeline = reader.pipeline(Path(name).stem)
    reader.problems.raise_errors(UsageError)
    assert pipeline is not None
    return pipeline


def _not_toml(error: tomllib.TOMLDecodeError, source: Text) -> Diagnostic:
    message = str(error)
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    line, column = (int(place[1]), int(place[2])) if place and place[1] else (source.text.rstrip().count("\n") + 1, 1)
    message = message[: place.start()] if place else message
    span = Span(source, line, column, line, column + 1)
    return Diagnostic("E1101", f"not TOML: {message[:1].lower()}{message[1:]}", span)


class _Reader:
    """Reads each table once; a wrong value is reported and skipped."""

    def __init__(self, content: Mapping[str, Any], places: TomlPlaces, folder: Path) -> None:
        self._content, self._places, self._folder = content, places, folder
        self.problems = Diagnostics()

    def pipeline(self, name: str) -> model.Pipeline | None:
        """The pipeline; None if something essential is wrong."""
        self._check_keys((), self._content, _KEYS)
        head, spark = self._table("pipeline"), self._table("spark")
        for table in ("pipeline", "engine", "snapshots", "quarantine", "stream", "spark"):
            self._check_keys((table,), self._table(table), _KEYS[table])
        program = self._value(("pipeline",), head, "program", str, required='the rules: program = "rules.dl"')
        conf: dict[str, Any] = self._value(("spark",), spark, "conf", dict) or {}
        built: dict[str, Any] = {
            "name": self._value(("pipeline",), head, "name", str) or name,
            "mode": self._choice(("pipeline",), head, "mode", model.MODES, "batch"),
            "sources": tuple(self._sources("sources", model.SOURCE_FORMATS)),
            "updates": tuple(self._sources("updates", model.UPDATE_FORMATS)),
            "sinks": tuple(self._sinks()),
            "quarantine": self._quarantine(),
            "engine": self._engine(),
            "snapshots": self._snapshots(),
            "trigger": self._value(("stream",), self._table("stream"), "trigger", str) or "available",
            "master": self._value(("spark",), spark, "master", str),
            "conf": {key: _text(value) for key, value in _flat(conf)},
        }
        if program is None:
            return None
        if not (self._folder / program).is_file():
            self._error("E1104", f"there is no program {(self._folder / program).as_posix()}", ("pipeline", "program"))
        return model.Pipeline(program=self._folder / program, **built)

    def _sources(self, table: str, formats: tuple[str, ...]) -> Iterable[model.Source]:
        for name, content in self._tables(table):
            path = (table, name)
            place = self._place(path, content, formats)
            if place is None:
                continue
            names_itself = place.format in (*model.RDF, model.LINES)
            columns: dict[str, Any] = self._value(path, content, "columns", dict) or {}
            yield model.Source(
                name,
                place,
                relation=self._value(path, content, "relation", str) or (None if names_itself else name),
                columns={key: str(value) for key, value in columns.items()},
                fields=self._strings(path, content, "fields"),
                checks=self._strings(path, content, "checks"),
                change_type=self._value(path, content, "change_type", str),
                span=self._places.span(path),
                check_span=self._places.span((*path, "checks")),
            )

    def _sinks(self) -> Iterable[model.Sink]:
        for name, content in self._tables("sinks"):
            path = ("sinks", name)
            place = self._place(path, content, model.SINK_FORMATS)
            what = self._choice(path, content, "write", ("state", "changes"), "state")
            if place is not None:
                relation = self._value(path, content, "relation", str) or name
                yield model.Sink(name, place, relation, what == "changes", self._places.span(path))

    def _place(self, path: tuple[str, ...], content: Mapping[str, Any], formats: tuple[str, ...]) -> model.Place | None:
        given = {key: self._value(path, content, key, str) for key in ("format", "path", "table", "url")}
        format, where = given["format"], given["path"]
        if format is None and where is not None:
            format = _SUFFIXES.get(Path(where).suffix)
        if format is None:
            help = f"format = one of {', '.join(formats)}"
            if "format" not in content:
                message = f"{'.'.join(path)} has no format, and its path does not imply one"
                self._error("E1103", message, path, help=help)
            return None
        if format not in formats and not format.startswith(model.CUSTOM):
            help = (
                similar(format, formats)
                or f"the formats are {', '.join(formats)}, and spark:NAME for any of Spark's own"
            )
            self._error("E1104", f"unknown format {format}", (*path, "format"), help=help)
            return None
        for needed in _needs(format):
            if given[needed] is None and needed not in content:
                self._error("E1103", f"{'.'.join(path)} has no {needed}, which {format} needs", path)
        options: dict[str, Any] = self._value(path, content, "options", dict) or {}
        shown = where if where is None or "://" in where else (self._folder / where).as_posix()
        path_used = shown if where is None or "://" in where else str(Path(str(shown)).absolute())
        return model.Place(
            format,
            path_used,
            given["table"],
            given["url"],
            {key: _text(value) for key, value in options.items()},
            shown,
        )

    def _quarantine(self) -> model.Quarantine:
        table = self._table("quarantine")
        if not table:
            return model.Quarantine()
        place = self._place(("quarantine",), {"format": "json", **table}, model.SINK_FORMATS)
        limit = table.get("limit")
        match limit:
            case None:
                return model.Quarantine(place, None)
            case str() if re.fullmatch(r"\d+(\.\d+)?\s*%", limit):
                return model.Quarantine(place, None, float(limit.rstrip("% ")) / 100)
            case int() if not isinstance(limit, bool) and limit >= 0:
                return model.Quarantine(place, limit)
        self._error(
            "E1104",
            f"{limit!r} is not a limit on rows",
            ("quarantine", "limit"),
            help='write a number of rows, limit = 100, or a share, limit = "1%"',
        )
        return model.Quarantine(place)

    def _engine(self) -> model.EngineSettings:
        table = self._table("engine")
        kind = self._choice(("engine",), table, "kind", ("auto", "memory", "spark"), "auto")
        return model.EngineSettings(kind, self._amount(("engine",), table, "limit", model.EngineSettings.limit))

    def _snapshots(self) -> model.Snapshots | None:
        table, path = self._table("snapshots"), ("snapshots",)
        if "snapshots" not in self._content:
            return None
        where = self._value(path, table, "path", str, required='a folder: path = "snapshots"')
        keep, every = (self._amount(path, table, key, getattr(model.Snapshots, key)) for key in ("keep", "every"))
        if where is None:
            return None
        if "://" in where:
            self._error("E1104", "snapshots are kept in a folder of a file system, not at a URL", (*path, "path"))
        return model.Snapshots(self._folder / where, keep, every)

    # --- values ---------------------------------------------------------------------------------------

    def _table(self, name: str) -> dict[str, Any]:
        found = self._content.get(name, {})
        return found if isinstance(found, dict) else {}

    def _tables(self, name: str) -> Iterable[tuple[str, dict[str, Any]]]:
        for key, content in self._table(name).items():
            if isinstance(content, dict):
                self._check_keys((name, key), content, _KEYS[name])
                yield key, content
            else:
                self._error("E1104", f"{name}.{key} is a table of its own: [{name}.NAME]", (name, key))

    def _value(
        self,
        path: tuple[str, ...],
        table: Mapping[str, Any],
        key: str,
        kind: Callable[..., _Kind],
        *,
        required: str | None = None,
    ) -> _Kind | None:
        if key not in table:
            if required:
                self._error("E1103", f"[{'.'.join(path)}] lacks {required}", path)
            return None
        value = table[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):  # type: ignore[arg-type]
            self._error("E1104", f"{key} is {_KINDS[kind]}, not {redacted(repr(value))}", (*path, key))  # type: ignore[index]
            return None
        return value  # type: ignore[no-any-return]

    def _strings(self, path: tuple[str, ...], table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        found: list[Any] = self._value(path, table, key, list) or []
        if not all(isinstance(item, str) for item in found):
            self._error("E1104", f"{key} is a list of strings", (*path, key))
            return ()
        return tuple(found)

    def _amount(self, path: tuple[str, ...], table: Mapping[str, Any], key: str, default: int) -> int:
        value = self._value(path, table, key, int)
        if value is not None and value < 1:
            self._error("E1104", f"{key} is at least 1, not {value}", (*path, key))
        return default if value is None else value

    def _choice(
        self, path: tuple[str, ...], table: Mapping[str, Any], key: str, choices: tuple[str, ...], default: str
    ) -> str:
        value = self._value(path, table, key, str)
        if value is None or value in choices:
            return value or default
        help = similar(value, choices) or f"choose one of {', '.join(choices)}"
        self._error("E1104", f"unknown {key} {value}", (*path, key), help=help)
        return default

    def _check_keys(self, path: tuple[str, ...], table: Mapping[str, Any], known: Iterable[str]) -> None:
        for key in table:
            if key not in known:
                where = f"[{'.'.join(path)}]" if path else "a pipeline file"
                help = similar(key, list(known)) or f"the keys are {', '.join(known)}"
                self._error("E1102", f"{where} has no {key}", (*path, key), help=help)

    def _error(self, code: str, message: str, path: tuple[str, ...], *, help: str | None = None) -> None:
        self.problems.error(code, message, self._places.span(path), help=help)


def _needs(format: str) -> tuple[str, ...]:
    match format:
        case "jdbc":
            return "url", "table"
        case "table":
            return ("table",)
        case "frame":
            return ()
        case custom if custom.startswith(model.CUSTOM):
            return ()
    return ("path",)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Flatten Spark's settings: their names contain dots, which TOML reads as tables."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
