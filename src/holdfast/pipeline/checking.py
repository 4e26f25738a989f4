"""Turn rows into facts: cast each column to the type of the relation's, and give each bad row a reason."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from holdfast.errors import Diagnostic, UsageError
from holdfast.formats.json_lines import from_json
from holdfast.pipeline.model import Source
from holdfast.pipeline.sources import CHANGE_TYPE, CORRUPT, FILE, JSON, OURS, TIME
from holdfast.program.model import Relation
from holdfast.program.similar import similar
from holdfast.spark_session import spark_cause
from holdfast.values import Type
from holdfast.values.dictionary import Dictionary, EncodingError
from holdfast.values.term_text import term_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REASON: Final = "_reason"
ROW: Final = "_row"
INSERT, DELETE = "insert", "delete"
_DELIMITED: Final = ("csv", "tsv")
_SHORT_DECIMAL: Final = re.compile(r"DECIMAL\((\d|1[0-8]),\d+\)|DECIMAL\(\d+,[1-9]\d*\)")
_FLOAT: Final = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$|^\s*[+-]?(inf|infinity|nan)\s*$"
_UNSIGNED: Final = "DECIMAL(20,0)"  # Spark has no unsigned integers
_CAST: Final = {
    Type.NUMBER: "BIGINT",
    Type.UNSIGNED: _UNSIGNED,
    Type.FLOAT: "DOUBLE",
    Type.SYMBOL: "STRING",
    Type.ANY: "STRING",
}


def checked(frame: DataFrame, source: Source, relation: Relation) -> DataFrame:
    """The relation's columns with their types, `_change_type`, `_reason` (null for a good row) and the raw `_row`."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sf

    given_by = _sources_of(frame, source, relation)
    raw = [name for name in frame.columns if name not in OURS]
    change_type = source.change_type or (CHANGE_TYPE if CHANGE_TYPE in frame.columns else None)
    if change_type is not None and change_type not in frame.columns:
        raise _missing(change_type, frame, source, 'change_type = "NAME"')
    change = sf.lit(INSERT) if change_type is None else sf.col(f"`{change_type}`").cast("STRING")
    if source.change_type is None:
        change = sf.coalesce(change, sf.lit(INSERT))  # the column is optional
    reasons = [sf.when(sf.col(CORRUPT).isNotNull(), "the line is malformed")] if CORRUPT in frame.columns else []
    reasons.append(
        sf.when(
            change.isNull() | ~change.isin(INSERT, DELETE),
            sf.concat(sf.lit(f"{change_type} is neither insert nor delete: "), sf.coalesce(change, sf.lit("no value"))),
        )
    )
    typed = []
    for column in relation.columns:
        given, kind = given_by[column.name]
        value, shown = _converted(given, kind, column.type), given.cast("STRING")
        name = source.columns.get(column.name, column.name)
        in_json = sf.col(f"{JSON}.`{name}`") if JSON in frame.columns and name in frame.columns else None
        if column.type is Type.ANY:
            value = _term_text(given, kind, in_json, source)
        elif in_json is not None:
            value, shown = _as_in_json(sf.schema_of_variant(in_json), given, value, column.type)
        typed.append(value.alias(column.name))
        wrong = sf.concat(sf.lit(f"{column.name} is not {column.type.a_value}: "), shown)
        reasons.append(sf.when(given.isNull(), f"{column.name} has no value").when(value.isNull(), wrong))
    row = sf.when(sf.col(CORRUPT).isNotNull(), sf.col(CORRUPT)) if CORRUPT in frame.columns else sf.lit(None)
    whole = sf.col(JSON) if JSON in frame.columns else sf.struct(*(sf.col(f"`{name}`") for name in raw))
    row = sf.coalesce(row, sf.to_json(whole))
    added = (change.alias(CHANGE_TYPE), sf.coalesce(*reasons).alias(REASON), row.alias(ROW))
    typed_frame = frame.select(*typed, *added, FILE, TIME)
    failed = sf.col(REASON)
    for check in source.checks:
        try:
            good = sf.coalesce(sf.expr(check).cast("BOOLEAN"), sf.lit(False))
            typed_frame.select(good)  # refuses an invalid expression now
        except PySparkException as error:
            message = f"the check {check} cannot be used: {spark_cause(error)}"
            help = f"a check is an SQL expression over {', '.join(column.name for column in relation.columns)}"
            raise UsageError(Diagnostic("E1104", message, source.check_span, help=help)) from error
        failed = sf.coalesce(failed, sf.when(~good, f"the check fails: {check}"))
    return typed_frame.withColumn(REASON, failed).withColumn(ROW, sf.when(sf.col(REASON).isNotNull(), sf.col(ROW)))


def _sources_of(frame: DataFrame, source: Source, relation: Relation) -> dict[str, tuple[Column, str]]:
    """For each column of the relation, the expression for its values and its type."""
    known = {column.name for column in relation.columns}
    for name in source.columns:
        if name not in known:
            message = f"{relation.display} has no column {name}"
            help = similar(name, list(known)) or f"its columns are {', '.join(known)}"
            raise UsageError(Diagnostic("E1105", message, source.span, help=help))
    return {column.name: _column(frame, source, column.name) for column in relation.columns}


def _column(frame: DataFrame, source: Source, name: str) -> tuple[Column, str]:
    """The expression for a column and its type: a column, ignoring case, or an SQL expression."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sf

    wanted, types = source.columns.get(name, name), dict(frame.dtypes)
    same = [wanted] if wanted in types else [name for name in types if name.lower() == wanted.lower()]
    if same:
        return sf.col(f"`{same[0]}`"), types[same[0]]
    if wanted.isidentifier():
        raise _missing(wanted, frame, source, f'columns = {{ {name} = "NAME" }}')
    try:
        return sf.expr(wanted), frame.select(sf.expr(wanted)).dtypes[0][1]
    except PySparkException as error:
        message = f"{source.name} has no column {wanted}, and it is not an SQL expression: {spark_cause(error)}"
        raise UsageError(Diagnostic("E1106", message, source.span)) from error


def _missing(wanted: str, frame: DataFrame, source: Source, setting: str) -> UsageError:
    there = [name for name in frame.columns if name not in OURS]
    help = f"name its column in the source: {setting}"
    if close := similar(wanted, there):
        help = f"{close} {help}"
    return UsageError(
        Diagnostic(
            "E1106",
            f"{source.name} has no column {wanted}",
            source.span,
            notes=(f"it has {', '.join(there)}",),
            help=help,
        )
    )


def _as_in_json(kind: Column, text: Column, value: Column, wanted: Type) -> tuple[Column, Column]:
    """A value if its JSON type fits, as in `holdfast run`: 1 is not a symbol, "1" and 1.0 are not numbers.

    Also returns the value as messages show it: with its JSON type if only that is wrong.
    """
    from pyspark.sql import functions as sf

    match wanted:
        case Type.NUMBER | Type.UNSIGNED:  # integers of more than 18 digits are decimals, and so is 1.0
            fits = (kind == "BIGINT") | kind.rlike(r"^DECIMAL\((19|[23]\d),0\)$")
        case Type.FLOAT:  # JSON has only strings for infinities and NaN
            fits = kind.rlike("^(BIGINT|DECIMAL|DOUBLE|FLOAT)") | sf.lower(text).rlike("^[+-]?(inf|infinity|nan)$")
        case _:
            fits = kind == "STRING"
    called = sf.regexp_replace(sf.lower(sf.regexp_extract(kind, "^[A-Z]+", 0)), "bigint", "integer")
    return sf.when(fits, value), sf.when(value.isNull(), text).otherwise(
        sf.concat(text, sf.lit(", in JSON of type "), called)
    )


def _term_text(given: Column, kind: str, in_json: Column | None, source: Source) -> Column:
    """The text of a value in a column of type `any` (`values/term_text.py`), as `holdfast run` would read it."""
    from pyspark.sql import functions as sf

    from holdfast.backends.spark_parted.columns import arrow_function

    text: Column
    if in_json is not None:
        text = arrow_function(_texts_of_json, "string")(sf.schema_of_variant(in_json), sf.to_json(in_json))
        return text
    if source.place.format in _DELIMITED:
        return given.cast("STRING")  # already in that form
    if kind in ("bigint", "int", "smallint", "tinyint"):
        return given.cast("STRING")
    text = arrow_function(_texts_of_values, "string")(given if kind in ("float", "double") else given.cast("STRING"))
    return text


def _texts_of_json(kinds: pa.Array, values: pa.Array) -> pa.Array:
    terms = Dictionary()
    both = zip(kinds.to_pylist(), values.to_pylist(), strict=True)
    return pa.array([_text_of_json(kind, text, terms) for kind, text in both], pa.string())


def _text_of_json(kind: str | None, text: str | None, terms: Dictionary) -> str | None:
    if kind is None or text is None:
        return None
    value = json.loads(text)
    if _SHORT_DECIMAL.fullmatch(kind):  # 1.0 is a decimal without places
        value = float(value)
    try:
        return term_text(terms.value_of(terms.encode_value(from_json(value), Type.ANY)))
    except (EncodingError, ValueError):
        return None


def _texts_of_values(values: pa.Array) -> pa.Array:
    return pa.array([None if value is None else term_text(value) for value in values.to_pylist()], pa.string())


def _converted(given: Column, kind: str, wanted: Type) -> Column:
    """The value as the wanted type, or null: nothing is rounded, truncated or guessed."""
    from pyspark.sql import functions as sf

    value = given.try_cast(_CAST[wanted])
    is_text = kind == "string" or kind.startswith(("varchar", "char"))
    match wanted:
        case Type.FLOAT if is_text:
            text = sf.lower(given)  # rejects a number too large for a float
            return sf.when(text.rlike(_FLOAT) & ((sf.abs(value) != float("inf")) | text.contains("inf")), value)
        case Type.FLOAT if kind == "boolean" or kind.startswith(("timestamp", "date")):
            return sf.lit(None).cast(_CAST[wanted])
        case Type.NUMBER | Type.UNSIGNED if kind == "boolean" or kind.startswith(("timestamp", "date")):
            return sf.lit(None).cast(_CAST[wanted])
        case Type.NUMBER if not is_text and kind not in ("bigint", "int", "smallint", "tinyint"):
            return sf.when(value.cast(kind) == given, value)
        case Type.UNSIGNED:
            whole = given.rlike(r"^\s*\+?\d+\s*$") if is_text else value.cast(kind) == given
            return sf.when(whole & (value >= 0) & (value < sf.lit("18446744073709551616").cast("DECIMAL(20,0)")), value)
    return value
