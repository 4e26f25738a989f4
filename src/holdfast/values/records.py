"""Records and values of algebraic data types: checks them against their types, reads and writes them.

`[1, [2, nil]]` and `$Cons(1, $Nil)` are the texts, in facts files too.  A string inside is written as it is, or in
quotes where it would end too early.  In JSON a record is an array and `nil` is null; a branch is `{"Cons": [1, …]}`.
From Python a record may also be given as a tuple or a list, and `nil` as None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from holdfast.values.dates import DateError
from holdfast.values.foreign_values import FOREIGN, Foreign, ForeignError, adapted
from holdfast.values.model import NIL, BlankNode, Iri, Literal, Record, Type, Value, field_text
from holdfast.values.number_text import NumberError, parse_float, parse_integer
from holdfast.values.single_values import (
    MAX_UNSIGNED,
    EncodingError,
    checked_float,
    checked_integer,
    checked_string,
    shown_repr,
    wrong,
)
from holdfast.values.structures import Kind, Structure
from holdfast.values.term_text import MAX_NUMBER, MIN_NUMBER, parse_term, term_text

_BRANCH: Final = re.compile(r"\$\s*([\w?.]+)\s*")
_PLAIN_FIELD: Final = re.compile(r"[^,\[\]()]*")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\(.)")
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t"}


def as_record(given: object, structure: Structure) -> Record:
    """The value of a type that a Python object stands for; raises `EncodingError` for other objects."""
    open_: list[tuple[object, Structure]] = [(given, structure)]
    order: list[tuple[object, Structure, str, Sequence[object]]] = []
    while open_:
        item, of = open_.pop()
        branch, fields = _taken_apart(item, of)
        order.append((item, of, branch, fields))
        if branch != NIL.branch:
            kinds = of.branches[branch]
            open_ += [(f, kind) for f, kind in zip(fields, kinds, strict=True) if isinstance(kind, Structure)]
    made: list[Record] = []
    for _, of, branch, fields in reversed(order):
        if branch == NIL.branch:
            made.append(NIL)
            continue
        kinds = of.branches[branch]
        backwards = zip(reversed(fields), reversed(kinds), strict=True)
        values = [made.pop() if isinstance(kind, Structure) else _single(each, kind) for each, kind in backwards]
        made.append(Record(tuple(values[::-1]), branch))
    return made.pop()


def _taken_apart(item: object, of: Structure) -> tuple[str, Sequence[object]]:
    """The branch and the fields of an object."""
    match item:
        case Record(fields=fields, branch=branch):
            found: Sequence[object] = fields
        case None:
            branch, found = NIL.branch, ()
        case tuple() | list():
            branch, found = "", item
        case Mapping() if len(item) == 1:
            [(branch, inside)] = item.items()
            found = inside if isinstance(inside, list | tuple) else (inside,)
        case _:
            raise EncodingError(f"{_shown(item)} is not a value of type {of.name}", item)
    if branch == NIL.branch and of.is_record:
        return branch, ()
    if branch not in of.branches:
        raise EncodingError(f"{_shown(item)} is not a value of type {of.name}", item)
    if len(found) != len(of.branches[branch]):
        wanted = len(of.branches[branch])
        what = f"${branch}" if branch else of.name
        raise EncodingError(f"{_shown(item)} has {len(found)} fields, and {what} has {wanted}", item)
    return branch, found


def _shown(item: object) -> str:
    return str(item) if isinstance(item, Record) else shown_repr(item)


def _single(item: object, kind: Type) -> Value:
    """A field other than a record, as a value of its type."""
    if item.__class__ in FOREIGN:
        try:
            item = adapted(cast("Foreign", item), kind)
        except (ForeignError, DateError) as error:
            raise EncodingError(str(error), item) from None
    match kind:
        case Type.NUMBER:
            return checked_integer(item, kind, MIN_NUMBER, MAX_NUMBER)
        case Type.UNSIGNED:
            return checked_integer(item, kind, 0, MAX_UNSIGNED)
        case Type.FLOAT:
            return checked_float(item)
        case Type.SYMBOL if isinstance(item, str):
            return checked_string(item)
        case Type.ANY if isinstance(item, int) and item.__class__ is not bool:
            return checked_integer(item, kind, MIN_NUMBER, MAX_NUMBER)
        case Type.ANY if isinstance(item, float | str | Iri | BlankNode | Literal):
            return item
    raise wrong(item, kind)


def record_text(record: Value, kind: Kind) -> str:
    """The text of a record of a type, as Soufflé writes it; `parse_record` is the inverse.

    In a field of type `any` a value is written as in such a column, and quoted if that would end the field.
    """
    parts: list[str] = []
    left: list[tuple[Value, Kind | None]] = [(record, kind)]
    while left:
        value, of = left.pop()
        if of is None or not isinstance(value, Record):
            parts.append(str(value) if of is None else field_text(term_text(value) if of is Type.ANY else value))
            continue
        opened = f"${value.branch}" if value.branch else "["
        if value.is_nil or (value.branch and not value.fields):
            parts.append("nil" if value.is_nil else opened)
            continue
        parts.append(f"{opened}(" if value.branch else opened)
        kinds = of.branches[value.branch] if isinstance(of, Structure) else ()
        fields: list[tuple[Value, Kind | None]] = []
        for each in zip(value.fields, kinds, strict=True):
            fields += [(", ", None), each]
        left += [(")" if value.branch else "]", None), *reversed(fields[1:])]
    return "".join(parts)


def parse_record(text: str, structure: Structure) -> Record:
    """The value that a text stands for; raises `NumberError`, whose message follows the value."""
    reader = _Reader(text)
    record = reader.structured(structure)
    reader.space()
    if reader.place < len(text):
        raise NumberError(f"continues after its end: {text[reader.place :][:20]}")
    return record


class _Reader:
    """Reads one text from left to right, without recursion for nested records: lists are long."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def structured(self, structure: Structure) -> Record:
        """A record or a branch; the stack holds the open ones."""
        stack: list[tuple[str, tuple[Kind, ...], str, list[Value]]] = []
        wanted: Kind = structure
        while True:
            value: Value | None
            if isinstance(wanted, Structure):
                begun = self._begin(wanted)
                value = begun if isinstance(begun, Record) else None
                if not isinstance(begun, Record):
                    stack.append((*begun, []))
            else:
                value = self._single(wanted)
            while True:
                if value is not None and not stack:
                    assert isinstance(value, Record)
                    return value
                branch, kinds, close, values = stack[-1]
                if value is not None:
                    values.append(value)
                if len(values) < len(kinds):
                    if values:
                        self._expect(",")
                    wanted = kinds[len(values)]
                    break
                self._expect(close)
                stack.pop()
                value = Record(tuple(values), branch)

    def _begin(self, of: Structure) -> Record | tuple[str, tuple[Kind, ...], str]:
        self.space()
        if of.is_record:
            if self.text.startswith("nil", self.place):
                self.place += 3
                return NIL
            self._expect("[")
            return "", of.branches[""], "]"
        found = _BRANCH.match(self.text, self.place)
        if found is None or found[1] not in of.branches:
            raise NumberError(f"is not a value of type {of.name}")
        self.place = found.end()
        kinds = of.branches[found[1]]
        if not self.text.startswith("(", self.place):
            if kinds:
                raise NumberError(f"lacks the fields of ${found[1]}")
            return Record((), found[1])
        self.place += 1
        return found[1], kinds, ")"

    def _single(self, kind: Type) -> Value:
        self.space()
        quoted = _QUOTED.match(self.text, self.place)
        if quoted is not None and kind in (Type.SYMBOL, Type.ANY):
            self.place = quoted.end()
            text = _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), quoted[1])
            return text if kind is Type.SYMBOL else parse_term(text)
        plain = _PLAIN_FIELD.match(self.text, self.place)
        text = plain.group() if plain is not None else ""
        self.place += len(text)
        match kind:
            case Type.NUMBER | Type.UNSIGNED:
                return parse_integer(text, kind)
            case Type.FLOAT:
                return parse_float(text)
            case Type.ANY:
                return parse_term(text.strip())
        return text.strip()

    def _expect(self, sign: str) -> None:
        self.space()
        if not self.text.startswith(sign, self.place):
            found = self.text[self.place : self.place + 1]
            raise NumberError(f"has {found} where {sign} should be" if found else f"ends where {sign} should be")
        self.place += 1

    def space(self) -> None:
        """Skip blanks."""
        while self.text.startswith((" ", "\t"), self.place):
            self.place += 1
