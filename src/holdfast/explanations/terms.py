"""What names, values, operators and functors mean, for search and checker: plain Python, nothing from the engine."""

from __future__ import annotations

import math
import operator as op
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, cast

from holdfast.language import parse_body, tree
from holdfast.language.syntax import children, variables
from holdfast.language.vocabulary import STANDARD_PREFIXES
from holdfast.program.model import Program
from holdfast.values import BlankNode, Iri, Literal, Type, Value
from holdfast.values.model import NIL, Record, quote
from holdfast.values.number_text import parse_float, parse_integer
from holdfast.values.structures import Kind, Structure
from holdfast.values.term_text import XSD_DOUBLE, double_text, plain_text


class NoValue(Exception):
    """The term has no value: division by zero, a number out of range."""


class Unknown(NoValue):
    """The checker does not know this functor or kind of formula."""


NOTHING = NoValue
"""The value of a term that has none; it equals no value."""


class Float(float):
    """A float that equals no integer, so that 1 and 1.0 are different values; NaN equals itself.

    Aggregates order floats, with NaN as the greatest; the comparisons of programs are those of plain floats.
    """

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, float) and float(self) == float(other)
        return same or (isinstance(other, float) and math.isnan(self) and math.isnan(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: float) -> bool:
        return not math.isnan(self) and (math.isnan(other) or float(self) < other)

    def __gt__(self, other: float) -> bool:
        return not math.isnan(other) and (math.isnan(self) or float(self) > other)

    def __hash__(self) -> int:
        return hash(("float", float.__hash__(self) if not math.isnan(self) else 0))


def value_of(given: Any, kind: Kind = Type.ANY) -> Any:
    """A value as the checker represents it, in a column of some type."""
    if isinstance(given, Record):
        return _record_of(given, kind)
    if isinstance(given, float) or (kind is Type.FLOAT and isinstance(given, int)):
        return Float(given + 0.0)  # -0.0 is 0.0
    return given


def is_of(value: Any, kind: Kind) -> bool:
    """Whether a column of some type may have a value."""
    match kind:
        case Type.NUMBER:
            return isinstance(value, int) and -(2**63) <= value < 2**63
        case Type.UNSIGNED:
            return isinstance(value, int) and 0 <= value < 2**64
        case Type.ANY:
            return not isinstance(value, Record)
    python = {Type.FLOAT: float, Type.SYMBOL: str}
    return isinstance(value, python[kind] if isinstance(kind, Type) and kind in python else Record)


def _record_of(given: Record, kind: Kind) -> Record:
    """A record of such values, made from the inside out: lists may be longer than Python can recurse."""
    found: list[Any] = []
    left: list[tuple[Any, Kind, bool]] = [(given, kind, False)]
    while left:
        value, kind, is_open = left.pop()
        if not isinstance(value, Record):
            found.append(value_of(value, kind))
        elif is_open:
            first = len(found) - len(value.fields)
            found[first:] = [Record(tuple(found[first:]), value.branch)]
        else:
            fields = kind.branches.get(value.branch, ()) if isinstance(kind, Structure) else ()
            inside = zip_longest(value.fields, fields[: len(value.fields)], fillvalue=Type.ANY)
            left.append((value, kind, True))
            left += reversed([(field, each, False) for field, each in inside])
    return cast("Record", found[0])


def text_of(value: Value) -> str:
    """A value as programs write it; a blank node, which they cannot write, is `<_:label>`."""
    match value:
        case Record():
            return value.written(text_of)
        case str():
            return quote(value)
        case float():
            return float.__repr__(value) if math.isfinite(value) else f'"{double_text(value)}"^^<{XSD_DOUBLE}>'
        case BlankNode(label):
            return f"<_:{label}>"
        case int():
            return str(value) if value < 2**63 else f"{value}u"
    return str(value)


def fact_text(fact: tuple[str, Sequence[Any]]) -> str:
    """A fact, or a pattern with `_` for any value (None), as programs write it."""
    name, row = fact
    is_plain = name.startswith("<") or name.replace(".", "").isidentifier()
    shown = name if is_plain else f"'{name.replace(chr(39), chr(39) * 2)}'"
    return f"{shown}({', '.join('_' if value is None else text_of(value) for value in row)})"


def place_of(node: object) -> str:
    """The name under which a binding has the value of an aggregate or a range."""
    return f" {id(node)}"


class Terms:
    """The terms of one program: names, whole numbers where a float is required, conversions, sums of nothing."""

    def __init__(self, program: Program) -> None:
        self._kept, items = program, program.written
        self._floats = {id(term) for term in program.floats}  # ids, which stay theirs while the program is kept
        self._integers = program.integers
        self.prefixes = STANDARD_PREFIXES | {item.prefix: item.iri for item in items if isinstance(item, tree.Prefix)}
        self._types = {item.name: item.targets[0] for item in items if isinstance(item, tree.TypeDeclaration)}
        relations = [relation for relation in program.relations.values() if not relation.auxiliary]
        self._kinds = {(each.name.removesuffix(f"/{each.arity}"), each.arity): each.kinds for each in relations}
        sums = (rule for rule in program.aggregates if rule.function == "sum")
        self._float_sums = {r.span for r in sums if program.relations[r.predicate].types[r.place] is Type.FLOAT}

    def is_whole(self, term: tree.Number) -> bool:
        """Whether a number literal is an integer."""
        return isinstance(number(term), int) and id(term) not in self._floats

    @property
    def places(self) -> Iterable[tuple[str, int]]:
        """The relations that the program shows, with how many columns each has."""
        return self._kinds

    def kinds(self, name: str, arity: int) -> Sequence[Kind]:
        """The types of the columns of a relation."""
        return self._kinds.get((name, arity), (Type.ANY,) * arity)

    def relation(self, name: tree.Name) -> str:
        """A relation: plain text, or an IRI in angle brackets."""
        if name.kind is tree.NameKind.PREFIXED:
            prefix, _, local = name.text.partition(":")
            return f"<{self.prefixes[prefix]}{local}>"
        return f"<{name.text}>" if name.kind is tree.NameKind.IRI else name.text

    def _iri(self, term: tree.IriTerm | tree.PrefixedName) -> str:
        return term.iri if isinstance(term, tree.IriTerm) else self.prefixes[term.prefix] + term.local

    def value(self, term: Any, b: Mapping[str, Any], apply: Callable[[str, list[Any]], Any] | None = None) -> Any:
        """The value of a term whose variables are bound, as are aggregates and ranges in it; NOTHING if it has none."""
        match term:
            case tree.Variable(name=name):
                return b[name]
            case tree.Number():
                return Float(number(term)) if id(term) in self._floats else number(term)
            case tree.String(value=value):
                return value
            case tree.Nil():
                return NIL
            case tree.IriTerm() | tree.PrefixedName():
                iri = self._iri(term)
                return BlankNode(iri[2:]) if iri.startswith("_:") else Iri(iri)
            case tree.RdfLiteral(lexical=lexical, datatype=datatype, language=language):
                return literal(lexical, self._iri(datatype) if datatype else None, language)
            case tree.Aggregate() | tree.Call(function="range"):
                return b[place_of(term)]
        values = [self.value(child, b, apply) for child in children(term)]
        return NOTHING if NOTHING in values else self._computed(term, values, apply or compute)

    def _computed(self, term: Any, values: list[Any], apply: Callable[[str, list[Any]], Any]) -> Any:
        try:
            match term:
                case tree.Unary(operator="bnot") if self._is_unsigned(term):
                    return 2**64 - 1 - values[0]
                case tree.Unary(operator=function) | tree.Binary(operator=function) | tree.Call(function=function):
                    return apply(function, values)
                case tree.Record():
                    return Record(tuple(values))
                case tree.Branch(name=name):
                    return Record(tuple(values), name)
                case tree.Cast():
                    return self._cast(term, values[0])
        except Unknown:
            raise
        except NoValue:
            return NOTHING
        raise Unknown(f"explanations do not know {type(term).__name__}")

    def _is_unsigned(self, term: tree.Node) -> bool:
        """Whether a complement or a range is one of unsigned numbers; instances of a component may be of others."""
        types = {type for span, type in self._integers if span == term.span}
        if Type.UNSIGNED in types and len(types) > 1:
            raise Unknown("explanations do not know which instance of a component has unsigned numbers here")
        return Type.UNSIGNED in types

    def bounds(self, term: tree.Call) -> tuple[tree.Term, ...]:
        """The arguments of a range; without a step, unsigned numbers do not count down."""
        counts_up = len(term.arguments) == 2 and self._is_unsigned(term)
        return (
            (*term.arguments, tree.Number("1", tree.NumberKind.UNSIGNED, span=term.span))
            if counts_up
            else term.arguments
        )

    def fact(self, text: str, whole: bool = False) -> tuple[str, tuple[Any, ...]]:
        """A fact, or a pattern with `_` for any value (None), from its text; its values are of the columns' types."""
        name, row = self.read_fact(text, whole)
        if not all(
            value is None or is_of(value, kind) for value, kind in zip(row, self.kinds(name, len(row)), strict=True)
        ):
            raise NoValue(f"{text} has a value that its column cannot have")
        return name, row

    def read_fact(self, text: str, whole: bool = False) -> tuple[str, tuple[Any, ...]]:
        """A fact or a pattern from its text, which may have values that its columns cannot have."""
        atom = parse_body(text, "<fact>")
        if not isinstance(atom, tree.Atom):
            raise NoValue(f"{text} is not a fact")
        name = self.relation(atom.name)
        values = [None if isinstance(a, tree.Wildcard) else self.value(a, {}) for a in atom.arguments]
        if NOTHING in values or (whole and None in values):
            raise NoValue(f"{text} is not one fact")
        return name, tuple(map(value_of, values, self.kinds(name, len(values))))

    def text(self, name: str, row: Sequence[Any]) -> str:
        """A fact or a pattern as programs write it."""
        return fact_text((name, row))

    def constant(self, text: str) -> Any:
        """A value from its text."""
        comparison = parse_body(f"x = {text}", "<value>")
        if not isinstance(comparison, tree.Comparison) or variables(comparison.right):
            raise NoValue(f"{text} is not a value")
        return self.value(comparison.right, {})

    def _cast(self, term: tree.Cast, value: Any) -> Any:
        """A value as another type."""
        wanted = term.type_name
        for _ in self._types:
            wanted = self._types.get(wanted, wanted)
        if wanted == "float":
            return value_of(value, Type.FLOAT)
        return compute("ftoi", [value]) if wanted in ("number", "unsigned") and isinstance(value, float) else value

    def aggregate(self, term: tree.Aggregate, values: list[Any], wanted: Any) -> Any:
        """The value of an aggregate, or the wanted one if it is close to it; None if it has none."""
        value = as_close(term.function, aggregated(term.function, values), wanted)
        return Float(0) if not values and term.span in self._float_sums else value


def number(term: tree.Number) -> Any:
    """The value of a number literal, as it is written."""
    text = term.text.rstrip("u") if term.text[:2] in ("0x", "0b") else term.text.rstrip("uf")
    return Float(text) if term.kind is tree.NumberKind.FLOAT else int(text, 0 if text[:2] in ("0x", "0b") else 10)


def literal(lexical: str, datatype: str | None, language: str | None) -> Any:
    """The value of an RDF literal: a number or a string if that means the same."""
    if language is None and datatype in (None, "http://www.w3.org/2001/XMLSchema#string"):
        return lexical
    if datatype == "http://www.w3.org/2001/XMLSchema#integer" and re.fullmatch("0|-?[1-9][0-9]{0,18}", lexical):
        return int(lexical) if -(2**63) <= int(lexical) < 2**63 else Literal(lexical, datatype)
    if datatype == XSD_DOUBLE and re.fullmatch(r"-?[0-9]\.[0-9]+E(0|-?[1-9][0-9]*)|NaN|-?INF", lexical):
        return Float(lexical) if double_text(float(lexical)) == lexical else Literal(lexical, datatype)
    return Literal(lexical, datatype, language)


def compute(function: str, arguments: list[Any]) -> Any:
    """The value of an operator or functor; raises if an integer does not fit in 64 bits."""
    if function not in FUNCTIONS:
        raise Unknown(f"the checker does not know {function}")
    try:
        value = FUNCTIONS[function](*alike(arguments))
    except (ArithmeticError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise NoValue(f"{function}: {error}") from error
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise NoValue(f"{value} does not fit 64 bits")
    return value_of(value)


def alike(values: list[Any]) -> list[Any]:
    """Convert an integer beside a float to a float."""
    mixed = {isinstance(value, float) for value in values if isinstance(value, int | float)} == {True, False}
    return [
        float(value) if isinstance(value, float) or (mixed and isinstance(value, int)) else value for value in values
    ]


def aggregated(function: str, values: list[Any]) -> Any:
    """The value of an aggregate; None if it has none."""
    if not values and function not in ("count", "sum"):
        return None
    match function:
        case "count":
            return len(values)
        case "sum":
            return value_of(_sum(values))
        case "min" | "max":
            return (min if function == "min" else max)(values)
        case "mean":
            return value_of(_sum(values) / len(values))
    ordered = sorted(values)
    low, high = ordered[(len(values) - 1) // 2], ordered[len(values) // 2]
    middle = (low + high) / 2
    return value_of(low / 2 + high / 2 if math.isinf(middle) and math.isfinite(low) else middle)


def _sum(values: list[Any]) -> Any:
    if not values or not isinstance(values[0], float):
        return sum(values)
    plain = [float(value) for value in values]
    try:
        return math.fsum(plain)
    except (ArithmeticError, ValueError):  # infinite or too large
        return sum(plain)


def as_close(function: str, value: Any, wanted: Any) -> Any:
    """The wanted float if a sum or a mean is close to it, else the value: the last digits depend on the order."""
    floats = function in ("sum", "mean") and isinstance(value, float) and isinstance(wanted, float)
    return wanted if floats and math.isclose(value, wanted, rel_tol=1e-12) else value


def spanned(start: Any, stop: Any, step: Any = None) -> Iterator[Any]:
    """The numbers that `range` produces."""
    step = (1 if start <= stop else -1) if step is None else step
    while step and (start < stop if step > 0 else start > stop):
        yield value_of(start)
        if start + step == start or math.isinf(stop):
            raise NoValue("a range has no end")
        start += step


def _divide(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return a / b if b else math.nan if not a or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    """The least or the greatest of some values; NaN if one is."""
    return lambda *values: next((value for value in values if value != value), None) or choose(values)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, float):
        return _float_power(a, b)
    if abs(a) > 1 and b > 63:
        raise OverflowError(f"{a} ^ {b} does not fit 64 bits")
    if abs(a) > 1 and b < 0:
        return 0
    return a ** abs(b) if a else a**b


def _float_power(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
    except ValueError:  # 0 to a negative power, or a number below 0 to a fraction
        return math.nan if a else math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def _shift(bits: int) -> int:
    if bits not in range(64):
        raise ValueError("a shift by less than 0 or more than 63 bits")
    return bits


def _lexical(term: Any) -> str:
    match term:
        case Iri(value=text) | BlankNode(label=text) | Literal(lexical=text):
            return text
    return plain_text(term)


def _whole(type: Type) -> Callable[[Any], int]:
    """The integer that a value stands for."""
    return lambda value: int(value) if isinstance(value, float) else parse_integer(str(value), type)


def _part(text: str, by: str, place: int) -> str:
    parts = text.split(by) if by else text
    return parts[place] if 0 <= place < len(parts) else ""


# fmt: off
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": op.add, "-": lambda a, *b: a - b[0] if b else -a, "*": op.mul, "/": _divide, "^": _power,
    "%": lambda a, b: a - b * _divide(a, b), "min": _extreme(min), "max": _extreme(max), "abs": abs,
    "band": op.and_, "bor": op.or_, "bxor": op.xor, "bnot": op.invert,
    "bshl": lambda a, b: a << _shift(b), "bshr": lambda a, b: a >> _shift(b),
    "land": lambda a, b: int(a != 0 and b != 0), "lor": lambda a, b: int(a != 0 or b != 0),
    "lxor": lambda a, b: int((a != 0) != (b != 0)), "lnot": lambda a: int(a == 0),
    "cat": lambda *parts: "".join(parts), "strlen": len, "split": _part,
    "lower": str.lower, "upper": str.upper, "trim": str.strip,
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
    "substr": lambda text, start, size: text[start:][:size] if start >= 0 <= size else 1 // 0,
    "to_number": _whole(Type.NUMBER), "to_unsigned": _whole(Type.UNSIGNED),
    "ftoi": int, "ftou": int, "itou": int, "utoi": int, "itof": float, "utof": float,
    "to_float": lambda value: parse_float(value) if isinstance(value, str) else float(value),
    "to_string": plain_text, "str": _lexical,
    "lang": lambda term: getattr(term, "language", None) or "",
}
TESTS: dict[str, Callable[..., bool]] = {
    "starts_with": lambda part, text: text.startswith(part), "ends_with": lambda part, text: text.endswith(part),
    "is_iri": lambda term: isinstance(term, Iri), "is_blank": lambda term: isinstance(term, BlankNode),
    "is_literal": lambda term: not isinstance(term, Iri | BlankNode),
    "match": lambda pattern, text: re.fullmatch(pattern, text) is not None,
    "contains": lambda part, text: part in text,
    "=": op.eq, "!=": op.ne, "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge,
    "true": lambda: True, "false": lambda: False,
}
# fmt: on


def is_test(item: object) -> bool:
    """Whether a condition is a test of its arguments, not a relation."""
    plain = isinstance(item, tree.Atom) and item.name.kind is tree.NameKind.PLAIN and item.name.text in TESTS
    return plain or isinstance(item, tree.Constraint)


def passes(test: str, values: list[Any]) -> bool:
    """Whether values pass a test; an equation does not take an integer for a float."""
    try:
        given = values if test in ("=", "!=") else alike(values)
        return NOTHING not in values and bool(TESTS[test](*given))
    except (TypeError, AttributeError, re.error) as error:
        raise Unknown(f"{test}: {error}") from error
