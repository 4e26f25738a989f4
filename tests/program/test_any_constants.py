"""Facts of the text that Python would call equal are different values of type any."""

from __future__ import annotations

import holdfast


def test_one_and_one_point_zero_in_a_text_are_two_facts() -> None:
    kb = holdfast.from_text(
        '.decl v(x: any)  v(1).  v(1.0).  v("1").  v(1).  .type P = [a: any]  .decl p(x: P)  p([1]).  p([1.0]).'
    )
    assert sorted(map(repr, kb["v"])) == ["('1',)", "(1,)", "(1.0,)"]
    assert len(kb["p"]) == 2
