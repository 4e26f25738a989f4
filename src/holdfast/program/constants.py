"""Constants: converts what is written to a value of the type that its place requires."""

from __future__ import annotations

import math

from holdfast.language import tree
from holdfast.language.literals import integer
from holdfast.program.names import Names
from holdfast.values import NIL, Iri, Type, Value
from holdfast.values.term_text import literal_value

SMALLEST = {Type.NUMBER: -(2**63), Type.UNSIGNED: 0}
LARGEST = {Type.NUMBER: 2**63 - 1, Type.UNSIGNED: 2**64 - 1}


class DoesNotFitError(Exception):
    """A constant does not fit the type; the text continues "… does not fit"."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def constant(term: tree.Term, type: Type, scope: Names) -> Value:
    """The value of a constant term, as a value of a type."""
    match term:
        case tree.Number():
            return number(term, type)
        case tree.Unary(operator="-", operand=tree.Number() as literal):
            return number(literal, type, negative=True)
        case tree.String(value=value):
            if type.is_numeric or type is Type.RECORD:
                raise DoesNotFitError("E0403", f": a string is not {type.a_value}")
            return value
        case tree.Nil():
            if type is not Type.RECORD:
                raise DoesNotFitError("E0403", f": nil is a record, not {type.a_value}")
            return NIL
        case _ if type is Type.RECORD:
            raise DoesNotFitError("E0403", ": a record is required")
        case tree.IriTerm(iri=iri):
            return _only_any(Iri(iri), type)
        case tree.PrefixedName(prefix=prefix, local=local):
            return _only_any(Iri(scope.expand(prefix, local, term.span)), type)
        case tree.RdfLiteral():
            return _only_any(_literal(term, scope), type)
        case _:
            raise AssertionError(f"not a constant: {term}")


def _only_any(value: Value, type: Type) -> Value:
    if type is Type.ANY or (type is Type.SYMBOL and isinstance(value, str)):
        return value
    raise DoesNotFitError("E0403", f": an RDF term is not {type.a_value}; only a column of type any holds it")


def number(literal: tree.Number, type: Type, negative: bool = False) -> int | float:
    """The value of a numeric literal; in an `any` column it keeps its own kind."""
    own = Type(literal.kind.value)
    if type is Type.RECORD:
        raise DoesNotFitError("E0403", ": a number is not a record")
    if type is Type.SYMBOL:
        raise DoesNotFitError("E0403", f': a number is not a symbol; write it as a string: "{literal.text}"')
    wanted = own if type is Type.ANY else type
    if own is Type.FLOAT and wanted is not Type.FLOAT:
        raise DoesNotFitError("E0403", f": a float is not {wanted.a_value}")
    if own is Type.UNSIGNED and wanted is Type.FLOAT:
        raise DoesNotFitError("E0403", ": an unsigned number is not a float")
    value = _read(literal) * (-1 if negative else 1)
    if wanted is Type.FLOAT:
        return _finite(value)
    if not SMALLEST[wanted] <= value <= LARGEST[wanted]:
        raise DoesNotFitError("E0405", f" into {wanted.value}")
    if type is Type.ANY and value > LARGEST[Type.NUMBER]:
        raise DoesNotFitError("E0405", " into any, whose integers have the range of number")
    return value


def _read(literal: tree.Number) -> int | float:
    if literal.kind is tree.NumberKind.FLOAT:
        return float(literal.text)
    return integer(literal.text)


def _finite(value: int | float) -> float:
    try:
        result = float(value) + 0.0  # -0.0 is 0.0
    except OverflowError:
        result = math.inf
    if math.isinf(result):
        raise DoesNotFitError("E0405", " into float")
    return result


def _literal(term: tree.RdfLiteral, scope: Names) -> Value:
    match term.datatype:
        case tree.IriTerm(iri=iri):
            return literal_value(term.lexical, iri, term.language)
        case tree.PrefixedName(prefix=prefix, local=local, span=span):
            return literal_value(term.lexical, scope.expand(prefix, local, span), term.language)
        case None:
            return literal_value(term.lexical, None, term.language)
