"""The text of a value in a column of type `any`, and the meaning of RDF literals.

A column of type `any` holds values of every kind, so its text has to distinguish them: an integer is written `7`, a
float `7.0`, an IRI `<http://a/b>`, a blank node `_:b`, a literal `"chat"@fr`, and a string as itself, `chat`, unless it
would then read as something else; in that case it is quoted, `"7"`.  A blank in an IRI or label, and what else they
should not have, is written `\\u0020`, and an empty one `\\`.  `parse_term` is the exact inverse of `term_text`.
"""

from __future__ import annotations

import math
import re

from holdfast.values.model import NIL, BlankNode, Iri, Literal, Record, Value, quote

XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING = XSD + "string"
XSD_INTEGER = XSD + "integer"
XSD_DOUBLE = XSD + "double"

MIN_NUMBER, MAX_NUMBER = -(2**63), 2**63 - 1

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:e[+-][0-9]+)?|-?[1-9]e[+-][0-9]+")
_DOUBLE = re.compile(r"-?[0-9]\.[0-9]+E(?:0|-?[1-9][0-9]*)|NaN|-?INF")
_IRI = re.compile(r'<((?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-F]{4})+|\\)>')
_BLANK = re.compile(r"_:([^\s<>\"]+)")
_QUOTED = re.compile(
    r'"((?:[^"\\\n\r\t]|\\["\\nrt])*)"(?:@((?:[A-Za-z0-9\-\U00010000-\U0010ffff]|\\u[0-9A-F]{4})+|\\)|\^\^<([^\x00-\x20<>]+)>)?'
)
_UNFIT = re.compile(r'[\s\x00-\x20<>"{}|^`\\]')  # for the inside of an IRI or a label
_UNFIT_LANGUAGE = re.compile(r"[^A-Za-z0-9\-\U00010000-\U0010ffff]")
_CODE_POINT = re.compile(r"\\u([0-9A-F]{4})")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_MARKS = frozenset('"<_-0123456789')  # a text that begins otherwise is a plain string


def literal_value(lexical: str, datatype: str | None, language: str | None = None) -> Value:
    """The value of an RDF literal: a Python number or string where that means exactly the same."""
    if language is not None:
        return Literal(lexical, None, language)
    match datatype:
        case None | "http://www.w3.org/2001/XMLSchema#string":
            return lexical
        case "http://www.w3.org/2001/XMLSchema#integer":
            number = _integer(lexical)
            return Literal(lexical, datatype) if number is None else number
        case "http://www.w3.org/2001/XMLSchema#double" if _DOUBLE.fullmatch(lexical):
            value = float(lexical)
            return value if double_text(value) == lexical else Literal(lexical, datatype)
    return Literal(lexical, datatype)


def double_text(value: float) -> str:
    """A float in the canonical form of xsd:double, `1.5E0`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    sign, digits, exponent = _decimal(value)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _decimal(value: float) -> tuple[str, str, int]:
    """Sign, shortest digits that read back as this float, and the power of ten of the first digit."""
    mantissa, _, exponent = repr(abs(value) + 0.0).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "", "0", 0
    leading = len(whole) - 1 - (len(whole + fraction) - len(digits))
    return "-" if value < 0 else "", digits.rstrip("0"), leading + int(exponent or 0)


def term_text(value: Value) -> str:
    """A value as the text of a column of type `any`."""
    match value:
        case str():
            return quote(value) if _reads_otherwise(value) else value
        case Iri(iri):
            return f"<{_escaped(iri)}>"
        case BlankNode(label):
            return f"_:{_escaped(label)}"
        case Literal(lexical, _, str(language)):
            return f"{quote(lexical)}@{_escaped(language, _UNFIT_LANGUAGE)}"
        case Literal(lexical, str(datatype)):
            return f"{quote(lexical)}^^<{_escaped(datatype)}>"
        case _:
            return plain_text(value)


def plain_text(value: Value) -> str:
    """A value as text, a string as itself and terms as they are: what `to_string` gives."""
    if not isinstance(value, float):
        return str(value)
    return repr(value) if math.isfinite(value) else str(Literal(double_text(value), XSD_DOUBLE))


def as_json(value: Value) -> object:
    """A value for JSON, the same everywhere; `formats.json_lines.from_json` is the inverse.

    RDF terms are objects as in JSON-LD, and floats that JSON cannot write are literals.
    """
    match value:
        case Iri(iri):
            return {"@id": iri}
        case BlankNode(label):
            return {"@id": f"_:{label}"}
        case Literal(lexical, _, str(language)):
            return {"@value": lexical, "@language": language}
        case Literal(lexical, datatype, _):
            return {"@value": lexical, "@type": datatype}
        case float() if not math.isfinite(value):
            return {"@value": double_text(value), "@type": XSD_DOUBLE}
        case Record(fields=fields, branch=branch):
            inside = [as_json(field) for field in fields]
            return None if value == NIL else {branch: inside} if branch else inside
    return value


def parse_term(text: str) -> Value:
    """The value that a text stands for in a column of type `any`; a string if it is nothing else."""
    if text[:1] not in _MARKS:
        return text
    match text[0]:
        case "<":
            found = _IRI.fullmatch(text)
            return Iri(_unescaped(found[1])) if found else text
        case "_":
            found = _BLANK.fullmatch(text)
            return BlankNode(_unescaped(found[1])) if found else text
        case '"':
            found = _QUOTED.fullmatch(text)
            if not found:
                return text
            datatype, language = (None if part is None else _unescaped(part) for part in (found[3], found[2]))
            return literal_value(_unescape(found[1]), datatype, language)
    return _number(text)


def _number(text: str) -> Value:
    number = _integer(text)
    if number is not None:
        return number
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if repr(value) == text else text
    return text


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if MIN_NUMBER <= number <= MAX_NUMBER else None


def _reads_otherwise(text: str) -> bool:
    if "\t" in text or "\n" in text or "\r" in text:
        return True
    return text[:1] in _MARKS and parse_term(text) is not text


def _escaped(text: str, unfit: re.Pattern[str] = _UNFIT) -> str:
    return unfit.sub(lambda found: f"\\u{ord(found[0]):04X}", text) or "\\"


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return "" if text == "\\" else _CODE_POINT.sub(lambda found: chr(int(found[1], 16)), text)


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], text) if "\\" in text else text
