"""Values that are easily confused, and the term of clingo that stands for each.

A small number is itself.  A value of another plain type is its place in the order of its type, so that clingo compares
what its own values could not hold.  Records are function terms.
"""

from __future__ import annotations

import math
from typing import Any

from holdfast.values import NIL, BlankNode, Iri, Literal, Record

XSD = "http://www.w3.org/2001/XMLSchema#"
LOOKALIKES = ["", " ", "1", "1.0", "nil", "_:b", "<http://a/b>", '"a"@en', "[1, nil]", "$None", "-0.0", "true", "a,b"]
ODD = [
    "a\tb",
    'q"',
    "back\\slash",
    "line\nend",
    "é",
    "e\u0301",
    "\U0001f600",
    "\uffff",
    "\u2028",
    "\x00",
    "%",
    "//",
    "'",
]
SYMBOLS = sorted([*LOOKALIKES, *ODD, "l" * 3000])
OTHERS: list[Any] = [1, 1.0, 0, 0.0, -1, 2**63 - 1, float(2**63), math.nan, math.inf, Iri("1"), Iri("http://a/b")]
OTHERS += [BlankNode("b"), BlankNode("c"), Literal("a", language="en"), Literal("a", language="fr")]
OTHERS += [Literal("1", XSD + "byte"), Literal("1", "http://a/T"), Literal("1.0", XSD + "decimal"), Iri("a b é")]
PLAIN: dict[str, list[Any]] = {
    "symbol": SYMBOLS,
    "wide": [-(2**63), -(2**53) - 1, -(2**53), -1, 0, 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1],
    "unsigned": [0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1],
    "float": [-math.inf, -1e308, -1.0, -5e-324, 0.0, 5e-324, 0.1, 0.30000000000000004, 1.0, 2.0**53, 1e308, math.inf],
    "nan": [math.nan, 0.0, 1.0, math.inf],
    "any": [*SYMBOLS, *OTHERS],
}
"""In the order of each type.  `wide` are numbers that clingo has not, `nan` floats that are not compared."""
NUMBERS = range(-1, 7)
FIELDS: dict[str, dict[str, tuple[str, ...]]] = {
    "Pair": {"": ("number", "symbol")},
    "List": {"": ("number", "List")},
    "Both": {"": ("any", "float")},
}
FIELDS |= {
    "Tree": {"None": (), "Leaf": ("number",), "Node": ("Tree", "Tree")},
    "Tag": {"Named": ("symbol",), "Bare": ()},
}
TYPES = (
    ".type Pair = [n: number, s: symbol]\n.type List = [head: number, tail: List]\n.type Both = [a: any, f: float]\n"
    ".type Tree = None {} | Leaf {n: number} | Node {l: Tree, r: Tree}\n.type Tag = Named {s: symbol} | Bare {}\n"
)
STRUCTURED: dict[str, list[Record]] = {
    "Pair": [NIL, Record((0, "")), Record((0, "1")), Record((1, "nil")), Record((1, "a,b")), Record((6, 'q"'))],
    "List": [NIL, Record((0, NIL)), Record((1, Record((0, NIL)))), Record((0, Record((1, Record((0, NIL))))))],
    "Both": [NIL, Record((1, 0.1)), Record((1.0, 0.1)), Record(("1", -math.inf)), Record((BlankNode("b"), 1.0))],
    "Tree": [Record((), "None"), Record((1,), "Leaf"), Record((2,), "Leaf")],
    "Tag": [Record((), "Bare"), Record(("",), "Named"), Record(("$None",), "Named")],
}
STRUCTURED["Tree"] += [Record((STRUCTURED["Tree"][1], STRUCTURED["Tree"][0]), "Node")]
STRUCTURED["Tree"] += [Record((STRUCTURED["Tree"][3], STRUCTURED["Tree"][1]), "Node")]


def declared(type_: str) -> str:
    """The type as a program names it."""
    return {"wide": "number", "nan": "float"}.get(type_, type_)


def domain(type_: str) -> list[Any]:
    return list(NUMBERS) if type_ == "number" else PLAIN.get(type_) or list(STRUCTURED[type_])


def _key(value: object) -> tuple[str, str]:
    return type(value).__name__, repr(value)


_PLACES = {type_: {_key(value): place for place, value in enumerate(values)} for type_, values in PLAIN.items()}


def asp(value: Any, type_: str) -> str:
    """The term of clingo; a value of another type or domain is an error."""
    if type_ in FIELDS:
        if not isinstance(value, Record):
            raise TypeError(f"{value!r} is no {type_}")
        if value.is_nil:
            return "nil"
        types = FIELDS[type_][value.branch]
        return structure(value.branch, [asp(v, t) for v, t in zip(value.fields, types, strict=True)])
    if type_ == "number":
        if type(value) is not int:
            raise TypeError(f"{value!r} is no number")
        return str(value)
    place = _PLACES[type_][_key(value)]
    return f"o({place})" if type_ == "any" and place >= len(SYMBOLS) else str(place)


def structure(branch: str, fields: list[str]) -> str:
    name = f"b{branch}" if branch else "r"
    return f"{name}({','.join(fields)})" if fields else name


def text(value: Any, type_: str) -> str:
    """The value as a program writes it."""
    match value:
        case Record(branch=branch, fields=fields):
            if value.is_nil:
                return "nil"
            inside = ", ".join(text(v, t) for v, t in zip(fields, FIELDS[type_][branch], strict=True))
            return f"${branch}({inside})" if branch and fields else f"${branch}" if branch else f"[{inside}]"
        case str():
            return quoted(value)
        case Iri(value=iri):
            return f"<{iri}>"
        case Literal(lexical=lexical, datatype=datatype, language=language):
            return quoted(lexical) + (f"@{language}" if language else f"^^<{datatype}>")
        case int():
            return f"{value}u" if type_ == "unsigned" else str(value)
    return repr(value)


def quoted(string: str) -> str:
    return '"' + "".join(_ESCAPES.get(c, c) for c in string) + '"'


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\x00": "\\u0000"}


def writable(value: Any) -> bool:
    """Whether a program can have it as a constant."""
    if isinstance(value, Record):
        return all(map(writable, value.fields))
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, BlankNode) and not (isinstance(value, Iri) and " " in value.value)
