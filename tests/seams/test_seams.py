"""A few random walks, always the same; `make fuzz` goes on with others."""

from __future__ import annotations

from collections import Counter

import pytest

from .walks import Walk

pytestmark = pytest.mark.only_in_memory("a walk chooses its engine")
WALKS = 24


@pytest.mark.parametrize("first", range(0, WALKS, 6))
def test_walks_agree_with_clingo(first: int) -> None:
    done = Counter[str]()
    for seed in range(first, first + 6):
        done += Walk(seed).run()
    assert done["program"] >= 3 and done["facts"] + done["rules"] >= 5
