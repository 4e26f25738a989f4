"""Random terms of each type, over the whole of the language; what was used is noted by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

NUMBERS = ["0", "1", "2", "3", "-1", "-7", "0x1F", "0b101", "007", "9223372036854775807", "-9223372036854775808"]
UNSIGNED = ["0u", "1u", "2u", "7u", "0xffu", "18446744073709551615u"]
FLOATS = ["0.5", "1.5", "-2.25", "2.0e1", "1.0e-2", "-0.0", "1.7e308", "3e2"]
STRINGS = [
    '""',
    '"a"',
    '"b"',
    '"ab"',
    '"7"',
    '"-3"',
    r'"q\"\\\n\t\r"',
    r'"\u00e9\U0001F600"',
    '"// %"',
    '"1.5"',
    '"été"',
]
PATTERNS = ['"a.*"', '"[ab]+"', '"a|b"', '""', r'"\\d+"', '"(a+)+b"', '"é?"']
TERMS = [
    *("ex:a", "ex:b", "<http://a/c>", '"x"@en', '"x"@fr-CA', '"5"^^xsd:byte', '"z"^^<http://a/T>', '"s"'),
    *(":d", "rdf:type", '"12"^^xsd:integer', '"1e3"^^xsd:double', "<urn:x>"),
]
LITERALS = {"number": NUMBERS, "unsigned": UNSIGNED, "float": FLOATS, "symbol": STRINGS, "any": TERMS}
# the oracle has no unsigned arithmetic beyond 63 bits, knows RDF literals only as they are written, and computes
# powers and texts of floats by other routines
BEYOND_ORACLE = frozenset(
    {
        *("huge unsigned", "op:bnot:unsigned", "op:-:unsigned", "typed literal", "op:^:float", "text of float"),
        *("ord", "str", "lang", "datatype", "is_iri", "is_literal", "is_blank", "text to number", "input", "limitsize"),
        *("huge float", "cast", "unsigned range"),
    }
)
_ARITHMETIC = {
    "number": ["+", "-", "*", "/", "%", "^", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"],
    "unsigned": ["+", "-", "*", "/", "%", "^", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"],
    "float": ["+", "-", "*", "/", "^"],
}
_UNARY = {"number": ["-", "bnot ", "lnot "], "unsigned": ["bnot ", "lnot "], "float": ["-"]}


@dataclass
class Draw:
    """A random source that remembers which shapes it was used for."""

    random: Random
    shapes: set[str] = field(default_factory=set)
    plain: bool = False  # only what the oracle knows

    def note(self, shape: str) -> None:
        self.shapes.add(shape)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def known(self, make: Callable[[], str]) -> str:
        """Something that the oracle knows, where that is asked for."""
        while True:
            before = set(self.shapes)
            text = make()
            if not self.plain or not (self.shapes - before) & BEYOND_ORACLE:
                return text
            self.shapes.clear()
            self.shapes.update(before)

    def of(self, items: list[str]) -> str:
        return self.random.choice(items)


@dataclass
class Terms:
    """Terms over some variables; `types` are their types."""

    draw: Draw
    types: dict[str, str]

    def variables(self, type: str) -> list[str]:
        return [name for name, own in self.types.items() if own == type]

    def literal(self, type: str) -> str:
        return self.draw.known(lambda: self._literal(type))

    def _literal(self, type: str) -> str:
        text = self.draw.of(LITERALS[type])
        self.draw.note(f"literal:{type}")
        if len(text) > 15 and type == "unsigned":
            self.draw.note("huge unsigned")
        if "e308" in text:
            self.draw.note("huge float")
        if type == "any":
            self.draw.note("language literal" if "@" in text else "typed literal" if "^^" in text else "iri")
        return text

    def plain(self, type: str) -> str:
        """A variable, or else a constant."""
        known = self.variables(type)
        return self.draw.of(known) if known and self.draw.chance(0.8) else self.literal(type)

    def term(self, type: str, depth: int = 2) -> str:
        if depth == 0 or self.draw.chance(0.4) or (not self.types and self.draw.chance(0.6)):
            return self.plain(type)
        return self.draw.known(lambda: self._computed(type, depth))

    def _computed(self, type: str, depth: int) -> str:
        if self.draw.plain and type == "any":
            return self.plain(type)
        makers: list[Callable[[str, int], str]] = [self._call]
        makers += [self._binary, self._binary, self._unary] if type in _ARITHMETIC else []
        text = self.draw.random.choice(makers)(type, depth - 1)
        return f"({text})" if self.draw.chance(0.3) else text

    def _binary(self, type: str, depth: int) -> str:
        operator = self.draw.of(_ARITHMETIC[type])
        self.draw.note(f"op:{operator}:{type}")
        left, right = self.term(type, depth), self.term(type, depth)
        if operator in ("^", "bshl", "bshr", "bshru") and self.draw.chance(0.8):
            right = {"number": "2", "unsigned": "2u", "float": "2.0"}[type]
        if operator in ("/", "%") and self.draw.chance(0.7):
            right = {"number": "3", "unsigned": "3u", "float": "2.0"}[type]
        return f"({left}) {operator} ({right})" if self.draw.chance(0.8) else f"{left} {operator} {right}"

    def _unary(self, type: str, depth: int) -> str:
        operator = self.draw.of(_UNARY[type])
        self.draw.note(f"op:{operator.strip()}:{type}" if operator != "-" else f"op:neg:{type}")
        return f"{operator}({self.term(type, depth)})"

    def _call(self, type: str, depth: int) -> str:
        functor = self.draw.of(_FUNCTORS[type])
        name, *wanted = functor.split()
        self.draw.note(name if name in BEYOND_ORACLE else f"functor:{name}")
        arguments = [self.term(type if want == "same" else want, depth) for want in wanted]
        if name in ("min", "max", "cat") and self.draw.chance(0.3):
            self.draw.note("variadic")
            arguments.append(self.term(type, depth))
        if name == "as":
            self.draw.note("cast")
            return f"as({arguments[0]}, {type})"
        if name.startswith("to_") and wanted == ["symbol"]:
            self.draw.note("text to number")
        if name == "to_string" and wanted == ["float"]:
            self.draw.note("text of float")
        if name == "substr":
            arguments[1:] = [self.draw.of(["0", "1", "2"]), self.draw.of(["0", "1", "5"])]
        return f"{name}({', '.join(arguments)})"


_FUNCTORS = {
    "number": [
        *("abs same", "min same same", "max same same", "strlen symbol", "ord symbol", "to_number symbol"),
        *("to_number unsigned", "to_number float", "ftoi float", "utoi unsigned", "as float", "as unsigned"),
    ],
    "unsigned": [
        "min same same",
        "max same same",
        "to_unsigned number",
        "to_unsigned symbol",
        "itou number",
        "ftou float",
    ],
    "float": [
        *("abs same", "min same same", "max same same", "to_float number", "to_float symbol", "itof number"),
        *("utof unsigned", "as number"),
    ],
    "symbol": [
        *("cat same same", "substr same number number", "min same same", "to_string number", "to_string float"),
        *("to_string unsigned", "to_string symbol", "str any", "lang any"),
    ],
    "any": ["datatype any", "as symbol"],
}
