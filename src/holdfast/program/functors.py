"""The functors and constraint functors of the language: names, arities, types.  The engine computes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from holdfast.quick_dataclass import dataclass
from holdfast.values import Type

Types = frozenset[Type]

NUMERIC: Types = frozenset({Type.NUMBER, Type.UNSIGNED, Type.FLOAT})
INTEGRAL: Types = frozenset({Type.NUMBER, Type.UNSIGNED})
ORDERED: Types = NUMERIC | {Type.SYMBOL}
EVERY: Types = frozenset(Type)
_NUMBER: Types = frozenset({Type.NUMBER})
_UNSIGNED: Types = frozenset({Type.UNSIGNED})
_FLOAT: Types = frozenset({Type.FLOAT})
_SYMBOL: Types = frozenset({Type.SYMBOL})
_TERM: Types = frozenset({Type.SYMBOL, Type.ANY})


@dataclass(frozen=True)
class Signature:
    """One meaning of a functor."""

    arguments: tuple[Type, ...]
    result: Type


@dataclass(frozen=True)
class Functor:
    """The parameters and the result of a functor.

    If `result` is None, all arguments and the result have one common type, out of the first parameter's types.  A
    variadic functor takes any number of arguments of its last parameter, at least as many as it has parameters.
    """

    name: str
    parameters: tuple[Types, ...]
    result: Type | None = None
    variadic: bool = False

    @property
    def arity(self) -> int:
        """The number of arguments; the least number if it is variadic."""
        return len(self.parameters)

    def accepts(self, count: int) -> bool:
        """Whether this number of arguments is valid."""
        return count == self.arity or (self.variadic and count > self.arity)

    def parameter(self, index: int) -> Types:
        """The types that an argument may have."""
        return self.parameters[min(index, self.arity - 1)]

    def signatures(self) -> Iterator[Signature]:
        """The meanings with exactly `arity` arguments."""
        for types in product(*(sorted(p, key=lambda t: t.value) for p in self.parameters)):
            if self.result is not None:
                yield Signature(types, self.result)
            elif len(set(types)) == 1:
                yield Signature(types, types[0])


def _alike(types: Types, *names: str, arity: int = 2, variadic: bool = False) -> list[Functor]:
    return [Functor(name, (types,) * arity, None, variadic) for name in names]


_ALL = [
    *_alike(NUMERIC, "+", "-", "*", "/", "^"),
    *_alike(INTEGRAL, "%", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor"),
    *_alike(INTEGRAL, "bnot", "lnot", arity=1),
    *_alike(frozenset({Type.NUMBER, Type.FLOAT}), "neg", "abs", arity=1),
    *_alike(ORDERED, "min", "max", variadic=True),
    Functor("cat", (_SYMBOL, _SYMBOL), Type.SYMBOL, variadic=True),
    Functor("strlen", (_SYMBOL,), Type.NUMBER),
    Functor("substr", (_SYMBOL, _NUMBER, _NUMBER), Type.SYMBOL),
    Functor("lower", (_SYMBOL,), Type.SYMBOL),
    Functor("upper", (_SYMBOL,), Type.SYMBOL),
    Functor("trim", (_SYMBOL,), Type.SYMBOL),
    Functor("replace", (_SYMBOL, _SYMBOL, _SYMBOL), Type.SYMBOL),
    Functor("split", (_SYMBOL, _SYMBOL, _NUMBER), Type.SYMBOL),
    Functor("regex_group", (_SYMBOL, _SYMBOL, _NUMBER), Type.SYMBOL),
    Functor("regex_replace", (_SYMBOL, _SYMBOL, _SYMBOL), Type.SYMBOL),
    Functor("to_date", (_SYMBOL,), Type.NUMBER),
    Functor("to_time", (_SYMBOL,), Type.NUMBER),
    Functor("date_text", (_NUMBER,), Type.SYMBOL),
    Functor("time_text", (_NUMBER,), Type.SYMBOL),
    Functor("parse_time", (_SYMBOL, _SYMBOL), Type.NUMBER),
    Functor("format_time", (_NUMBER, _SYMBOL), Type.SYMBOL),
    *_alike(_NUMBER, "year", "month", "day", "weekday", "hour", "minute", "second", "date_of", "time_of", arity=1),
    *_alike(_NUMBER, "add_months"),
    Functor("ord", (_TERM | {Type.RECORD, Type.NUMBER},), Type.NUMBER),
    Functor("to_number", (ORDERED,), Type.NUMBER),
    Functor("to_unsigned", (ORDERED,), Type.UNSIGNED),
    Functor("to_float", (ORDERED,), Type.FLOAT),
    Functor("to_string", (ORDERED,), Type.SYMBOL),
    Functor("ftoi", (_FLOAT,), Type.NUMBER),
    Functor("ftou", (_FLOAT,), Type.UNSIGNED),
    Functor("itof", (_NUMBER,), Type.FLOAT),
    Functor("itou", (_NUMBER,), Type.UNSIGNED),
    Functor("utoi", (_UNSIGNED,), Type.NUMBER),
    Functor("utof", (_UNSIGNED,), Type.FLOAT),
    Functor("str", (_TERM,), Type.SYMBOL),
    Functor("lang", (_TERM,), Type.SYMBOL),
    Functor("datatype", (_TERM,), Type.ANY),
]

FUNCTORS: dict[str, Functor] = {functor.name: functor for functor in _ALL}

TESTS: dict[str, Functor] = {
    functor.name: functor
    for functor in (
        Functor("match", (_SYMBOL, _SYMBOL), Type.NUMBER),
        Functor("contains", (_SYMBOL, _SYMBOL), Type.NUMBER),
        Functor("starts_with", (_SYMBOL, _SYMBOL), Type.NUMBER),
        Functor("ends_with", (_SYMBOL, _SYMBOL), Type.NUMBER),
        Functor("is_iri", (_TERM,), Type.NUMBER),
        Functor("is_literal", (_TERM,), Type.NUMBER),
        Functor("is_blank", (_TERM,), Type.NUMBER),
    )
}

CONVERSIONS: dict[tuple[Type, Type], str] = {
    (Type.FLOAT, Type.NUMBER): "ftoi",
    (Type.FLOAT, Type.UNSIGNED): "ftou",
    (Type.NUMBER, Type.FLOAT): "itof",
    (Type.NUMBER, Type.UNSIGNED): "itou",
    (Type.UNSIGNED, Type.NUMBER): "utoi",
    (Type.UNSIGNED, Type.FLOAT): "utof",
}

PATTERN_ARGUMENT = {"match": 0, "regex_group": 1, "regex_replace": 1}  # which argument is a regular expression

UNARY_OPERATORS = {"-": "neg", "bnot": "bnot", "lnot": "lnot"}
