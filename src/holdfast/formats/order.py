"""The order in which facts are written and shown."""

from __future__ import annotations

import numpy as np

from holdfast.encoding import Codes, Dictionary
from holdfast.program.model import Relation


def in_order(relation: Relation, codes: Codes, dictionary: Dictionary) -> Codes:
    """The facts sorted column by column: numbers by size, strings by their bytes."""
    if not relation.columns or len(codes) < 2:
        return codes
    keys = [dictionary.order_keys(codes[:, number], column.type) for number, column in enumerate(relation.columns)]
    return codes[np.lexsort(keys[::-1])]
