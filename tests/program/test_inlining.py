"""`inline` relations whose rules leave a variable to their callers are written out at their uses."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.errors import ProgramError

TEXT = """
.decl label(x: number, s: symbol) inline
label(x, s) :- s = cat("n", to_string(x)).
label(x, s) :- x > 1, s = "big".
.decl far(x: number, y: number, n: number) inline
far(x, y, n) :- edge(x, z), edge(z, y), label(n, _), n > x.
.decl p(x: number)
.decl edge(x: number, y: number)
p(1). p(2). p(3). edge(1, 2). edge(2, 3).
.decl named(x: number, s: symbol)
named(x, s) :- p(x), label(x, s).
.decl small(x: number)
small(x) :- p(x), !label(x, "big").
.decl other(x: number, n: number)
other(x, n) :- p(n), far(x, _, n).
"""


def test_uses_are_written_out() -> None:
    kb = holdfast.from_text(TEXT)
    assert set(kb["named"]) == {(1, "n1"), (2, "n2"), (3, "n3"), (2, "big"), (3, "big")}
    assert set(kb["small"]) == {(1,)}
    assert set(kb["other"]) == {(1, 2), (1, 3)}
    assert "label" not in kb.relations
    kb.apply(holdfast.Update(delete={"p": [(2,)], "edge": [(2, 3)]}))
    assert set(kb["named"]) == {(1, "n1"), (3, "n3"), (3, "big")}
    assert set(kb["other"]) == set()


def test_other_inline_relations_stay() -> None:
    kb = holdfast.from_text(".decl p(x: number) inline\n.decl q(x: number)\nq(1).\np(x) :- q(x).\n")
    assert set(kb["p"]) == {(1,)}


def test_what_the_caller_does_not_bind_either_is_reported() -> None:
    with pytest.raises(ProgramError) as refused:
        holdfast.from_text(TEXT + ".decl bad(x: number, s: symbol)\nbad(x, s) :- label(x, s).\n")
    assert refused.value.diagnostics[0].code in ("E0301", "E0304")
