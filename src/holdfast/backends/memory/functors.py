"""Terms, comparisons, tests and ranges over a batch of bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.backends.memory import arithmetic
from holdfast.backends.memory.arithmetic import Undefined, ValueColumn, codes_of, typed
from holdfast.backends.memory.arrays import Rows
from holdfast.errors import shortened
from holdfast.interrupts import foreign
from holdfast.program.folding import ON_STRINGS
from holdfast.program.model import Apply, Compare, Const, Range, Term, Test, Var
from holdfast.regular_expressions import BY_PATTERN, PatternError, all_match
from holdfast.user_functors import UserFunctor, registered
from holdfast.values import BlankNode, Iri, Literal, Type, Value
from holdfast.values.dates import ON_DATES, DateError
from holdfast.values.dictionary import Dictionary, EncodingError
from holdfast.values.number_text import NumberError, parse_float, parse_integer
from holdfast.values.single_values import plain
from holdfast.values.structures import form_of
from holdfast.values.term_text import plain_text

Codes = NDArray[np.int64]

_LONG = 1 << 16  # characters; results are counted before copies of a longer string are made
_XSD = "http://www.w3.org/2001/XMLSchema#"


class Bindings:
    """A batch of bindings: a column of codes for each variable."""

    def __init__(self, columns: Mapping[Var, Codes], size: int, dictionary: Dictionary) -> None:
        self.columns = columns
        self.size = size
        self.dictionary = dictionary

    @classmethod
    def of(cls, rows: Rows, variables: Sequence[Var], dictionary: Dictionary) -> Bindings:
        """Bindings from rows whose columns hold the given variables."""
        return cls({v: rows[:, place] for place, v in enumerate(variables)}, len(rows), dictionary)

    def __len__(self) -> int:
        return self.size

    def extended(self, variable: Var, codes: Codes) -> Bindings:
        """The same bindings with one more variable bound."""
        return Bindings({**self.columns, variable: codes}, self.size, self.dictionary)

    def at(self, places: NDArray[Any], size: int) -> Bindings:
        """The bindings at the given places, or where a mask is true."""
        return Bindings({v: column[places] for v, column in self.columns.items()}, size, self.dictionary)


def evaluate(term: Term, given: Bindings) -> Codes:
    """The codes of a term for each binding."""
    match term:
        case Var():
            return given.columns[term]
        case Const(value=value, type=type):
            return np.full(len(given), given.dictionary.encode_value(value, type), np.int64)
        case Apply(function="record", arguments=(Const(value=str(form)), *fields)):
            columns = [evaluate(field, given) for field in fields]
            types = [field.type for field in fields]
            return given.dictionary.make_records(form_of(form), columns, types, len(given))
        case Apply(function="field", arguments=(record, Const(value=str(form)), Const(value=int(number)))):
            return given.dictionary.take_field(form_of(form), evaluate(record, given), number, term.type)
        case Apply(function=function, arguments=()):
            functor = registered(function)
            value = _given(functor, (), _called(functor, [()], (), given.dictionary)[0], term.type, given.dictionary)
            return np.full(len(given), value, np.int64)
        case Apply(function=function, arguments=arguments):
            columns = [evaluate(argument, given) for argument in arguments]
            return _apply(function, columns, [argument.type for argument in arguments], term.type, given.dictionary)


def holds(condition: Compare | Test, given: Bindings) -> NDArray[np.bool_]:
    """For each binding, whether a condition holds."""
    match condition:
        case Test(function="has_form", arguments=(record, Const(value=str(form)))):
            return given.dictionary.have_form(form_of(form), evaluate(record, given))
        case Test(function=function, arguments=arguments, negated=negated):
            values = [given.dictionary.decode_values(evaluate(a, given), a.type) for a in arguments]
            found = _tested(function, values, [argument.type for argument in arguments])
            return ~found if negated else found
        case Compare(operator=operator, left=left, right=right):
            columns = [evaluate(left, given), evaluate(right, given)]
            if operator not in ("=", "!="):
                columns = _comparable(columns, left.type, given.dictionary)
            result: NDArray[np.bool_] = _COMPARISONS[operator](*columns)
            return result


def _tested(function: str, values: Sequence[Sequence[Value]], types: Sequence[Type]) -> NDArray[np.bool_]:
    if function == "match":
        try:
            return all_match(*values)
        except PatternError as error:
            raise Undefined(str(error)) from None
    test = _where_typed(_TESTS[function], types, otherwise=False)
    return np.fromiter(map(test, *values), np.bool_, len(values[0]))


def spread(range: Range, given: Bindings, most: int) -> Iterator[Bindings]:
    """Binds the range's variable to each of its values, in batches of about `most` bindings."""
    type = range.variable.type
    start, stop = (typed(evaluate(term, given), type) for term in (range.start, range.stop))
    if range.step is None:
        step = np.where(start <= stop, 1, -1).astype(start.dtype) if type is not Type.UNSIGNED else np.ones_like(start)
    else:
        step = typed(evaluate(range.step, given), type)
    for place in np.arange(len(given)):
        if step[place] == 0:
            raise Undefined("a range with step 0 has no end")
        for values in _chunks(start[place], stop[place], step[place], most):
            chunk = codes_of(values, type)
            yield from _bound(range.variable, chunk, given.at(np.full(len(chunk), place), len(chunk)))


def _chunks(start: Any, stop: Any, step: Any, most: int) -> Iterator[ValueColumn]:
    """Yields the values of one range in pieces; integers may cover all 64 bits."""
    if start.dtype == np.float64:
        if not np.isfinite([start, stop, step]).all():
            raise Undefined("a range to or by infinity has no end")
        yield from _float_chunks(start, stop, step, most)
        return
    left = range(int(start), int(stop), int(step))
    while part := left[:most]:
        yield start.dtype.type(part.start) + np.arange(len(part), dtype=start.dtype) * step
        left = left[most:]


@np.errstate(over="ignore")
def _before(start: Any, stop: Any, step: Any, most: int) -> ValueColumn:
    """The first floats of a range, each the one before and the step, and one more or those after its end."""
    count = int(np.clip((stop - start) / step + 2, 1, most))
    values: ValueColumn = np.add.accumulate(np.append(start, np.full(count, step)))
    return values


def _float_chunks(start: Any, stop: Any, step: Any, most: int) -> Iterator[ValueColumn]:
    while True:
        values = _before(start, stop, step, most)
        inside = values < stop if step > 0 else values > stop
        if not inside.all():
            if inside[0]:
                yield values[: np.argmin(inside)]
            return
        if values[-1] == values[-2]:
            raise Undefined("a range whose step is too small for its numbers has no end")
        yield values[:-1]
        start = values[-1]


def _bound(variable: Var, codes: Codes, given: Bindings) -> Iterator[Bindings]:
    if variable not in given.columns:
        yield given.extended(variable, codes)
    else:
        kept = np.flatnonzero(given.columns[variable] == codes)
        if len(kept):
            yield given.at(kept, len(kept))


# --- functors ----------------------------------------------------------------------------------------


def _apply(function: str, columns: Sequence[Codes], types: Sequence[Type], type: Type, dictionary: Dictionary) -> Codes:
    if function.startswith("@"):
        return _by_user(registered(function), columns, types, type, dictionary)
    if function in _ON_VALUES:
        return _by_value(_ON_VALUES[function], columns, types, type, dictionary)
    if function in BY_PATTERN:
        return _by_pattern(BY_PATTERN[function], columns, types, dictionary)
    if function in ("min", "max"):
        return _extreme(function, columns, type, dictionary)
    if function == "ord":
        return columns[0]
    operands = [typed(column, t) for column, t in zip(columns, types, strict=True)]
    with np.errstate(over="ignore", invalid="ignore"):
        return codes_of(_ARITHMETIC[function](*operands), type)


def _extreme(function: str, columns: Sequence[Codes], type: Type, dictionary: Dictionary) -> Codes:
    keys = _comparable(columns, type, dictionary)
    table, ranks = np.stack(columns), np.stack(keys)
    best = np.argmin(ranks, axis=0) if function == "min" else np.argmax(ranks, axis=0)
    chosen: Codes = np.take_along_axis(table, best[np.newaxis], axis=0)[0]
    return chosen


def _comparable(columns: Sequence[Codes], type: Type, dictionary: Dictionary) -> list[ValueColumn]:
    """Columns whose entries compare as their values do."""
    if not type.in_dictionary:
        return [typed(column, type) for column in columns]
    keys = dictionary.order_keys(np.concatenate(columns))
    return list(np.split(keys, np.cumsum([len(column) for column in columns])[:-1]))


def _by_value(
    function: Callable[..., Any], columns: Sequence[Codes], types: Sequence[Type], type: Type, dictionary: Dictionary
) -> Codes:
    """Evaluates a functor in Python, once for each distinct tuple of arguments."""
    values, places = _distinct(columns, types, dictionary)
    if function is ON_STRINGS["replace"]:
        _check_size(values, dictionary)
    if function is _joined and dictionary.longest > _LONG:
        for texts in zip(*values, strict=True):
            dictionary.memory.check("strings", 2 * sum(len(text) for text in texts if isinstance(text, str)))
    function = _where_typed(function, types, otherwise="" if type.in_dictionary else 0)
    try:
        results = [dictionary.encode_value(function(*arguments), type) for arguments in zip(*values, strict=True)]
    except DateError as error:
        raise Undefined(str(error)) from None
    return np.array(results, np.int64)[places]


def _by_pattern(
    function: Callable[..., list[str]], columns: Sequence[Codes], types: Sequence[Type], dictionary: Dictionary
) -> Codes:
    """Evaluates a functor of regular expressions, for all distinct tuples with the same pattern at once."""
    values, places = _distinct(columns, types, dictionary)
    try:
        results = function(*values, lambda nbytes: dictionary.memory.check("strings", nbytes))
    except PatternError as error:
        raise Undefined(str(error)) from None
    return dictionary.encode_strings(results)[places]


def _distinct(
    columns: Sequence[Codes], types: Sequence[Type], dictionary: Dictionary
) -> tuple[list[list[Value]], NDArray[np.int64]]:
    """The columns of the distinct tuples of arguments, and for each binding the place of its tuple."""
    distinct, places = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return [dictionary.decode_values(distinct[:, i], t) for i, t in enumerate(types)], places.reshape(-1)


def _by_user(
    functor: UserFunctor, columns: Sequence[Codes], types: Sequence[Type], type: Type, dictionary: Dictionary
) -> Codes:
    """Evaluates a user's functor once for each distinct tuple of arguments, or once for all if it is vectorised."""
    values, places = _distinct(columns, types, dictionary)
    rows = list(zip(*values, strict=True))
    typed_rows = [row for row in rows if _is_typed(row, types)]
    results = dict(zip(typed_rows, _called(functor, typed_rows, types, dictionary), strict=True))
    otherwise = "" if type.in_dictionary else 0
    codes = [_given(functor, row, results.get(row, otherwise), type, dictionary) for row in rows]
    return np.array(codes, np.int64)[places]


def _is_typed(row: tuple[Value, ...], types: Sequence[Type]) -> bool:
    return all(isinstance(value, str) for value, type in zip(row, types, strict=True) if type is Type.SYMBOL)


def _called(
    functor: UserFunctor, rows: list[tuple[Value, ...]], types: Sequence[Type], dictionary: Dictionary
) -> list[Value]:
    """Calls a user's functor on some arguments."""
    try:
        if not functor.vectorised or not types:
            with dictionary.one_thread(), foreign():
                return [functor.function(*row) for row in rows]
        columns = zip(*rows, strict=True) if rows else [()] * len(types)
        arrays = [np.array(c, object if t.in_dictionary else None) for c, t in zip(columns, types, strict=True)]
        with dictionary.one_thread(), foreign():
            results = [plain(value) for value in functor.function(*arrays)]
    except Exception as error:
        raise Undefined(f"@{functor.name} raised {error.__class__.__name__}: {error}") from error
    if len(results) != len(rows):
        raise Undefined(f"@{functor.name} gave {len(results)} values for {len(rows)} rows")
    return results


def _given(functor: UserFunctor, row: tuple[Value, ...], value: Value, type: Type, dictionary: Dictionary) -> int:
    try:
        return dictionary.encode_value(value, type)
    except EncodingError as error:
        shown = ", ".join(map(repr, row))
        raise Undefined(f"@{functor.name}({shown}) gave a wrong value: {error.reason}") from None


def _where_typed(function: Callable[..., Any], types: Sequence[Type], otherwise: Any) -> Callable[..., Any]:
    """A function of symbols that skips other values.

    A column of any type may bind a variable to another value before a symbol column of the same rule filters it out.
    """
    symbols = [i for i, type in enumerate(types) if type is Type.SYMBOL]

    def typed_function(*arguments: Any) -> Any:
        return function(*arguments) if all(isinstance(arguments[i], str) for i in symbols) else otherwise

    return typed_function if symbols else function


def _check_size(values: Sequence[Sequence[Value]], dictionary: Dictionary) -> None:
    """Refuse a replacement whose result is too large before making it: it may grow to the product of two strings."""
    for text, old, new in zip(*values, strict=True):
        if isinstance(text, str) and isinstance(old, str) and isinstance(new, str) and len(new) > len(old):
            size = len(text) + text.count(old) * (len(new) - len(old))
            dictionary.memory.check("strings", size if text.isascii() and new.isascii() else 4 * size)


def _joined(*texts: str) -> str:
    return "".join(texts)


def _substring(text: str, start: int, length: int) -> str:
    if start < 0 or length < 0:
        raise Undefined(f"substr({shortened(repr(text))}, {start}, {length}): start and length must not be negative")
    return text[start : start + length]


def _to_number(value: Value) -> int:
    if isinstance(value, float):
        return int(arithmetic.to_integer(np.array([value]))[0])
    return _integer(value, Type.NUMBER)


def _to_unsigned(value: Value) -> int:
    if isinstance(value, float):
        return int(arithmetic.to_natural(np.array([value]))[0])
    return _integer(value, Type.UNSIGNED)


def _integer(value: Value, type: Type) -> int:
    try:
        return parse_integer(str(value), type)
    except NumberError as error:
        raise Undefined(f"{_quoted(value)} {error}") from error


def _to_float(value: Value) -> float:
    try:
        return parse_float(value) if isinstance(value, str) else float(str(value))
    except NumberError as error:
        raise Undefined(f"{_quoted(value)} {error}") from error


def _quoted(value: Value) -> str:
    return shortened(f'"{value}"' if isinstance(value, str) else str(value))


def _lexical(value: Value) -> str:
    match value:
        case Iri(value=text) | BlankNode(label=text) | Literal(lexical=text):
            return text
    return plain_text(value)


def _datatype(value: Value) -> Iri:
    match value:
        case int():
            return Iri(_XSD + "integer")
        case float():
            return Iri(_XSD + "double")
        case str():
            return Iri(_XSD + "string")
        case Literal(datatype=datatype, language=language):
            return Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString" if language else str(datatype))
    raise Undefined(f"{value} is not a literal and has no datatype")


_ON_VALUES: dict[str, Callable[..., Any]] = {
    **ON_STRINGS,
    **ON_DATES,
    "cat": _joined,
    "strlen": len,
    "substr": _substring,
    "to_number": _to_number,
    "to_unsigned": _to_unsigned,
    "to_float": _to_float,
    "to_string": plain_text,
    "str": _lexical,
    "lang": lambda value: (value.language or "") if isinstance(value, Literal) else "",
    "datatype": _datatype,
}

_ARITHMETIC: dict[str, Callable[..., ValueColumn]] = {
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.remainder,
    "^": arithmetic.power,
    "neg": arithmetic.negate,
    "abs": arithmetic.absolute,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "bnot": np.bitwise_not,
    "bshl": arithmetic.shift_left,
    "bshr": arithmetic.shift_right,
    "bshru": arithmetic.shift_right_unsigned,
    "land": arithmetic.as_truth(np.logical_and),
    "lor": arithmetic.as_truth(np.logical_or),
    "lxor": arithmetic.as_truth(np.logical_xor),
    "lnot": arithmetic.as_truth(np.logical_not),
    "ftoi": arithmetic.to_integer,
    "utoi": arithmetic.to_integer,
    "ftou": arithmetic.to_natural,
    "itou": arithmetic.to_natural,
    "itof": lambda column: column.astype(np.float64),
    "utof": lambda column: column.astype(np.float64),
}

_COMPARISONS: dict[str, Callable[[ValueColumn, ValueColumn], ValueColumn]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

_TESTS: dict[str, Callable[..., bool]] = {
    "contains": lambda part, text: part in text,
    "starts_with": lambda part, text: text.startswith(part),
    "ends_with": lambda part, text: text.endswith(part),
    "is_iri": lambda value: isinstance(value, Iri),
    "is_blank": lambda value: isinstance(value, BlankNode),
    "is_literal": lambda value: not isinstance(value, Iri | BlankNode),
}
