"""The order in which facts are written and shown."""

from __future__ import annotations

import numpy as np

from holdfast.program.model import Relation
from holdfast.values.dictionary import Codes, Dictionary


def in_order(relation: Relation, codes: Codes, dictionary: Dictionary) -> Codes:
    """The facts sorted column by column: numbers by size, strings by their bytes."""
    if not relation.columns or len(codes) < 2:
        return codes
    keys = [dictionary.order_keys(codes[:, number], column.type) for number, column in enumerate(relation.columns)]
    return codes[np.lexsort(keys[::-1])]


def order_size(relation: Relation, rows: int) -> int:
    """The bytes that sorting takes: codes, a key per column, sorted codes; for strings also a sorted list."""
    in_dictionary = sum(column.type.in_dictionary for column in relation.columns)
    return rows * (24 + 24 * relation.arity + 80 * in_dictionary)
