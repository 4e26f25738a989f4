"""Scripts of closures, with modules on and off: each update compared with generic evaluation from scratch.

The rules make and break what modules serve, in hyper-nodes of their own and beside other recursive rules.  What this
cannot catch: graphs that are too large to be walked (tests/modules has those).
"""

from __future__ import annotations

import pytest

from ..amounts import amount, some
from .runs import take

PARTS, STEPS = 4, 200


@pytest.mark.parametrize("part", range(PARTS))
def test_closures_agree_with_evaluation_from_scratch(part: int) -> None:
    take(amount(some(STEPS), 2), -(part + 1) * 10_000)
