"""Pairs of programs that a fuzzer found some engine to treat differently (data/ext/deopt): both must agree.

What this cannot catch: an error that both programs of a pair share.
"""

from __future__ import annotations

import pytest

import holdfast
from holdfast.language import parse, tree

from .shared_data import DATA, needs_shared_data, table

pytestmark = needs_shared_data
FOLDER = DATA / "ext" / "deopt"
PAIRS = [(pair["optimised"], pair["reference"]) for pair in table("ext/deopt/pairs.tsv")]


def directed(path: str, kind: str) -> set[str]:
    program = parse((FOLDER / path).read_text(encoding="utf-8"), path)
    return {
        name.text
        for item in program.items
        if isinstance(item, tree.Directive) and item.kind == kind
        for name in item.names
    }


def evaluated(path: str) -> holdfast.KnowledgeBase:
    """A folder's facts are given only to programs that ask for them: the others hold the same facts themselves."""
    return holdfast.open(FOLDER / path, facts=(FOLDER / path).parent if directed(path, "input") else None)


@pytest.mark.parametrize(("optimised", "reference"), PAIRS)
def test_both_programs_give_the_same_relation(optimised: str, reference: str) -> None:
    shared = directed(optimised, "output") & directed(reference, "output")
    assert shared
    one, other = evaluated(optimised), evaluated(reference)
    for name in shared:
        assert set(one[name]) == set(other[name])
