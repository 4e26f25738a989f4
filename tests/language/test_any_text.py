"""Whatever is typed, the answer is a program or diagnostics: no other exception, no silence, no endless loop."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import ProgramError
from holdfast.language import parse, parse_body, show

_WORDS = r"""
    p( p(x) q(x,y) x 1 1.5 0x 12ab "s" "open 'q' 'open . . . , ; :- : ( ) { } [ ] < > <= = == != ! not % //
    /* */ /*c*/ @prefix ex: <urn:x> ex:a :b _ _:b ?x + - * / ^ ^^ @fr @f $ | & && ~ \ # #[ #include .decl
    .type .input .output .comp .init .plan .foo count max sum count:{ as(x,T) true band lnot btree nil <- → é
    choice-domain autoinc() #[name("r")]
"""
_FRAGMENTS = [*_WORDS.split(), ".decl a(x: number)", ".type A <: B", "max y:A(y)", "\u00a0", "\n", "\n", "\n  "]
texts = st.builds(str.join, st.sampled_from(["", " "]), st.lists(st.sampled_from(_FRAGMENTS), max_size=25))


@settings(deadline=None, max_examples=400)
@given(texts)
@example(".lattice L<> { a")
@example("/*")
@example(".")
@example('p(x) :- q(x), "')
def test_any_text_gives_a_program_or_diagnostics(text: str) -> None:
    try:
        program = parse(text)
    except ProgramError as error:
        assert error.diagnostics
        assert all(d.span is not None and d.code.startswith("E01") for d in error.diagnostics)
    else:
        assert parse(show(program)) == program


@settings(deadline=None, max_examples=200)
@given(texts)
def test_any_query_gives_a_formula_or_diagnostics(text: str) -> None:
    try:
        formula = parse_body(text)
    except ProgramError as error:
        assert error.diagnostics
    else:
        assert formula is not None


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=40))
@example("0²")
@example("p(12٣). p(٣).")
def test_any_characters_give_a_program_or_diagnostics(text: str) -> None:
    try:
        parse(text)
    except ProgramError as error:
        assert error.diagnostics
