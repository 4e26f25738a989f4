"""Built kernels and Numba's own come to the same: random programs and updates, in two processes."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from tests.startup.processes import WITHOUT, run

SCRIPT = """
import hashlib, random
import holdfast
from holdfast import compilation

RULES = {
    "joins": "a(x, z) :- e(x, y), f(y, z). b(x, z) :- a(x, z), !e(x, z). c(x, n) :- b(x, _), n = count : { e(x, _) }.",
    "closure": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). loop(x) :- p(x, x), !f(x, _).",
    "generic": "s(x, y) :- e(z, x), e(z, y). s(x, y) :- e(a, x), s(a, b), f(b, y).",
    "equivalence": "q(x, y) :- e(x, y). q(y, x) :- q(x, y). q(x, z) :- q(x, y), q(y, z). q(x, x) :- q(x, _)."
    "g(x) :- f(x, x).",
}
random, digest = random.Random(17), hashlib.sha256()


def edges(count):
    return [(random.randrange(25), random.randrange(25)) for _ in range(count)]


for modules in ([], ["transitive-closure", "equivalence"]):
    for name, rules in RULES.items():
        kb = holdfast.from_text(rules, {"e": edges(40), "f": edges(30)}, modules=modules)
        for _ in range(12):
            update = holdfast.Update(insert={"e": edges(3), "f": edges(1)}, delete={"e": edges(8), "f": edges(3)})
            kb.apply(update)
            for relation in sorted(kb.relations):
                digest.update(repr((name, relation, sorted(kb[relation]))).encode())
print(compilation.built is None, digest.hexdigest())
"""


_BUILT = any(Path(holdfast.__file__).parent.glob("_kernels*.so"))


@pytest.mark.only_with_numba("pytest --kernels numba runs it")
@pytest.mark.skipif(not _BUILT, reason="the kernels are not built ahead here")
def test_both_ways_derive_the_same_facts_after_every_update() -> None:
    pytest.importorskip("numba")
    by_numba, built = run(WITHOUT.format(names=("holdfast._kernels",)) + SCRIPT), run(SCRIPT)
    assert (by_numba.split()[0], built.split()[0]) == ("True", "False")
    assert by_numba.split()[1] == built.split()[1]
