"""Transitive rules over large relations are proved by chains, which the checker follows as rule instances."""

from __future__ import annotations

import math
from random import Random

import pytest

import holdfast

from .judging import judge

STEP = "path(x, y) :- edge(x, y)."
TRANSITIVE = "path(x, z) :- path(x, y), path(y, z)."
WITHOUT_LOOPS = "path(x, z) :- path(y, z), path(x, y), x != z."
SYMMETRIC = "path(x, y) :- path(y, x)."


@pytest.mark.parametrize("modules", [(), None], ids=["none", "all modules"])
@pytest.mark.parametrize(
    "rules", [(STEP, TRANSITIVE), (STEP, SYMMETRIC, WITHOUT_LOOPS), (TRANSITIVE,)], ids=["plain", "symmetric", "given"]
)
def test_a_large_closure(rules: tuple[str, ...], modules: tuple[str, ...] | None) -> None:
    size, base = 80, "edge" if STEP in rules else "path"
    edges = [(n, n + 1) for n in range(size)]
    kb = holdfast.from_text("\n".join(rules), facts={base: edges}, **({} if modules is None else {"modules": modules}))
    assert len(kb["path"]) > 2_000
    proof = kb.why(f"path(0, {size})")
    assert proof is not None
    assert proof.height == math.ceil(math.log2(size)) + (base == "edge")
    assert len(proof.facts) == size
    assert f", {size - 1} times" in str(proof)  # folded: the rule, and the first links
    assert max(map(len, (str(proof).splitlines(), proof.text().splitlines()))) < 25
    assert len(proof.tree(depth=100).splitlines()) >= 2 * size - 1
    kb.apply(holdfast.Update(insert={base: [(3, size - 3)]}))
    assert len(kb.why(f"path(0, {size})").facts) == 7  # type: ignore[union-attr]
    proofs = 0
    for name in kb.relations:
        for row in Random(1).sample(sorted(kb[name]), 4):
            again = kb.why(f"{name}{row}")
            assert again is not None
            given = {base: kb.explicit(base)}
            assert holdfast.check_proof(again.to_json(), kb.rules_text(), given) == f"{name}{row}"
            proofs += 1
    assert proofs >= 4


def test_small_closures_are_searched_as_any_rule() -> None:
    kb = holdfast.from_text(STEP + "\n" + TRANSITIVE, facts={"edge": [(1, 2), (2, 3), (3, 1)]})
    assert judge(kb, Random(2), 3)[0] >= 6


@pytest.mark.parametrize("more", ["", SYMMETRIC], ids=["one way", "both ways"])
@pytest.mark.parametrize("transitive", [TRANSITIVE, WITHOUT_LOOPS], ids=["loops", "no loops"])
def test_random_large_closures(transitive: str, more: str) -> None:
    dice = Random(5)
    edges = [(dice.randrange(60), dice.randrange(60)) for _ in range(110)]
    kb = holdfast.from_text("\n".join((STEP, transitive, more)), facts={"edge": edges})
    assert len(kb["path"]) > 2_000
    for row in [*dice.sample(sorted(kb["path"]), 12), *((n, n) for n, m in kb["path"] if n == m)][:30]:
        proof = kb.why(f"path{row}")
        assert proof is not None
        assert holdfast.check_proof(proof.to_json(), kb.rules_text(), {"edge": edges}) == f"path{row}"
