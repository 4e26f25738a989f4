"""Arithmetic on columns: 64-bit and exact, or refused.

Every function takes and returns NumPy columns of the operands' own kind: int64 for numbers, uint64 for unsigned
numbers, float64 for floats.  An operation without a value (a division by zero, a result beyond 64 bits) raises
`Undefined`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.values import Type
from holdfast.values.dictionary import float_codes

ValueColumn = NDArray[Any]


class Undefined(ArithmeticError):
    """A functor has no value for its arguments; the message says why in the user's words."""


def typed(codes: NDArray[np.int64], type: Type) -> ValueColumn:
    """Converts codes of a numeric type to the numbers they stand for."""
    match type:
        case Type.FLOAT:
            return codes.view(np.float64)
        case Type.UNSIGNED:
            return codes.view(np.uint64)
    return codes


def codes_of(column: ValueColumn, type: Type) -> NDArray[np.int64]:
    """Converts numbers of a type to codes."""
    return float_codes(column) if type is Type.FLOAT else column.view(np.int64)


def add(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`+`."""
    result = left + right
    if left.dtype == np.int64:
        if not (_is_small(left) and _is_small(right)):
            _refuse(((left ^ result) & (right ^ result)) < 0, left, "+", right)
    elif left.dtype == np.uint64:
        _refuse(result < left, left, "+", right)
    return result


def subtract(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`-`."""
    result = left - right
    if left.dtype == np.int64:
        if not (_is_small(left) and _is_small(right)):
            _refuse(((left ^ right) & (left ^ result)) < 0, left, "-", right)
    elif left.dtype == np.uint64:
        _refuse(right > left, left, "-", right)
    return result


def multiply(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`*`."""
    result = left * right
    if left.dtype != np.float64:
        near = np.abs(left.astype(np.float64) * right.astype(np.float64)) > 2.0**62
        if near.any():
            wanted = [int(a) * int(b) for a, b in zip(left[near], right[near], strict=True)]
            wrong = np.zeros(len(left), np.bool_)
            wrong[near] = [int(r) != w for r, w in zip(result[near], wanted, strict=True)]
            _refuse(wrong, left, "*", right)
    return result


def divide(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`/`: truncates towards zero for integers."""
    if left.dtype == np.float64:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return left / right
    _refuse(right == 0, left, "/", right, "division by zero")
    if left.dtype == np.uint64:
        return left // right
    _refuse((left == np.iinfo(np.int64).min) & (right == -1), left, "/", right)
    quotient = left // right
    return quotient + ((quotient * right != left) & ((left < 0) != (right < 0)))


def remainder(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`%`: takes the sign of the left operand."""
    _refuse(right == 0, left, "%", right, "division by zero")
    return np.fmod(left, np.where((left.dtype == np.int64) & (right == -1), np.ones_like(right), right))


def power(base: ValueColumn, exponent: ValueColumn) -> ValueColumn:
    """`^`: truncates towards zero for a negative exponent of an integer."""
    if base.dtype == np.float64:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.power(base, exponent)
    return _exactly("^", _integer_power, base, exponent)


def _integer_power(base: int, exponent: int) -> int:
    if exponent >= 0:
        if abs(base) > 1 and exponent > 64:
            raise OverflowError
        return base**exponent
    if base == 0:
        raise ZeroDivisionError
    return int(base ** (exponent % 2)) if abs(base) == 1 else 0


def negate(operand: ValueColumn) -> ValueColumn:
    """Unary `-`."""
    if operand.dtype == np.int64 and (operand == np.iinfo(np.int64).min).any():
        raise Undefined(f"-({np.iinfo(np.int64).min}) does not fit 64 bits")
    return -operand


def absolute(operand: ValueColumn) -> ValueColumn:
    """`abs`."""
    return np.where(operand < 0, negate(np.where(operand < 0, operand, np.zeros_like(operand))), operand)


def shift_left(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`bshl`: multiplies by a power of two, so no bit may be lost."""
    _refuse_shift(left, "bshl", right)
    result = left << right
    _refuse((result >> right) != left, left, "bshl", right)
    return result


def shift_right(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`bshr`: keeps the sign of a number."""
    _refuse_shift(left, "bshr", right)
    return left >> right


def shift_right_unsigned(left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """`bshru`: fills with zeros."""
    _refuse_shift(left, "bshru", right)
    return (left.view(np.uint64) >> right.astype(np.uint64)).view(left.dtype)


def _refuse_shift(left: ValueColumn, operator: str, right: ValueColumn) -> None:
    _refuse((right < 0) | (right > 63), left, operator, right, "a shift is by 0 to 63 bits")


def as_truth(operation: Callable[..., ValueColumn]) -> Callable[..., ValueColumn]:
    """Wraps a logical functor: any number but 0 is true, and the result is 1 or 0."""
    return lambda *operands: operation(*(operand != 0 for operand in operands)).astype(operands[0].dtype)


def to_integer(column: ValueColumn) -> ValueColumn:
    """Converts a float or an unsigned number to a number, truncated towards zero."""
    if column.dtype == np.uint64:
        _refuse_single(column > np.uint64(2**63 - 1), column, "number")
    else:
        _refuse_single(~((column >= -(2.0**63)) & (column < 2.0**63)), column, "number")
    return column.astype(np.int64)


def to_natural(column: ValueColumn) -> ValueColumn:
    """Converts a float or a number to an unsigned number, truncated towards zero."""
    too_large = np.zeros(len(column), np.bool_)
    if column.dtype == np.float64:
        too_large = (column >= 2.0**64) | np.isnan(column)
    _refuse_single((column <= -1) | too_large, column, "unsigned")
    return column.astype(np.uint64)


def _is_small(column: ValueColumn) -> bool:
    """Whether all values are so small that sums and differences cannot overflow; cheaper than checking for overflow."""
    return not len(column) or bool(column.max() < 2**62 and column.min() > -(2**62))


def _exactly(operator: str, function: Callable[[int, int], int], left: ValueColumn, right: ValueColumn) -> ValueColumn:
    """Evaluates an integer function with Python's integers, once for each distinct pair."""
    pairs, places = np.unique(np.stack([left, right]), axis=1, return_inverse=True)
    try:
        results = [function(int(a), int(b)) for a, b in pairs.T]
        return np.array(results, left.dtype)[places.reshape(-1)] if results else left
    except OverflowError as error:
        raise Undefined(f"the result of `{operator}` does not fit 64 bits") from error
    except ZeroDivisionError as error:
        raise Undefined(f"0 {operator} a negative number has no value") from error


def _refuse(wrong: ValueColumn, left: ValueColumn, operator: str, right: ValueColumn, reason: str = "") -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        raise Undefined(f"{left[at]} {operator} {right[at]}: {reason or 'the result does not fit 64 bits'}")


def _refuse_single(wrong: ValueColumn, column: ValueColumn, type_name: str) -> None:
    if wrong.any():
        raise Undefined(f"{column[int(np.argmax(wrong))]} does not fit type {type_name}")
