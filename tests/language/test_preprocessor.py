"""The preprocessor: what comes out, and that every message points to the file and line that somebody wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import Diagnostics, ProgramError, SourceText
from holdfast.language import parse
from holdfast.language.preprocessor import Preprocessing, preprocessed
from holdfast.program import check


def _words(text: str, **macros: str) -> str:
    """What the preprocessor makes of a text, without its white space."""
    source = preprocessed(SourceText("main.dl", text), Preprocessing(macros), Diagnostics())
    return " ".join(source.text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define N 5\np(N).", "p(5)."),
        ("#define N\np(N).", "p()."),
        ("#define P(x) p(x)\nP(1). P( 2 ). P.", "p(1). p(2). P."),
        ("#define P(x, y) p(y, x)\nP((1, 2), 3).", "p(3, (1, 2))."),
        ("#define P(x) p(x)\nP(\n  1\n).", "p(1)."),
        ("#define CAT(a, b) a ## b\nCAT(p, q)(1).", "pq(1)."),
        ("#define CAT(a, b) a##b\nCAT(p, )(1).", "p(1)."),
        ('#define STR(a) p(#a).\nSTR(x + "y")', 'p("x + \\"y\\"").'),
        ("#define A B\n#define B A\np(A).", "p(A)."),
        ("#define f(x) f(x)\nf(f(1)).", "f(f(1))."),
        ("#define f(x) x + g\n#define g(y) f(y)\nf(1)(2).", "1 + 2 + g."),
        ("#define V(...) p(__VA_ARGS__)\nV(1, 2). V().", "p(1, 2). p()."),
        ("#define V(a, ...) p(a; __VA_ARGS__)\nV(1, 2, 3).", "p(1; 2, 3)."),
        ("#define X 1 // a comment\n#define Y /* one */ 2\np(X, Y).", "p(1, 2)."),
        ("#define X 1 \\\n  + 2\np(X).", "p(1 + 2)."),
        ("#define x 5\np(\"x\", x). // x\n/* x */ q('x').", "p(\"x\", 5). // x /* x */ q('x')."),
        ("#define x 5\np(xy, y_x, ?x).", "p(xy, y_x, ?5)."),
        ("#define N 5\n#undef N\np(N).", "p(N)."),
        ("#ifdef A\np(1).\n#else\np(2).\n#endif\n", "p(2)."),
        ("#ifndef A\np(1).\n#endif // A\n", "p(1)."),
        ("#if 0\n#error no\n#elif 1 + 1 == 2\np(1).\n#elif 1\np(2).\n#else\np(3).\n#endif", "p(1)."),
        ("#if 0\n#if 1\np(1).\n#else\np(2).\n#endif\n#endif\nq(1).", "q(1)."),
        ("#define A 3\n#if defined(A) && A >= 3 && !defined B || C\np(A).\n#endif", "p(3)."),
        ("#if(0)\np(1).\n#endif\n#if LEVEL == full\nq(1).\n#endif", "q(1)."),
        ("/*\n#error no\n*/\n// #define N 1\np(N).", "/* #error no */ // #define N 1 p(N)."),
        ('#[name("r1")]\n#define N 1\np(N) :- q(N).', '#[name("r1")] p(1) :- q(1).'),
        ("#define HERE __LINE__\np(__LINE__).\n\nq(HERE, __FILE__).", 'p(2). q(4, "main.dl").'),
        ("#pragma once\n#line 7\n#\np(1).", "p(1)."),
    ],
)
def test_what_comes_out(text: str, expected: str) -> None:
    assert _words(text) == expected


def test_macros_from_outside() -> None:
    assert _words("#ifdef A\np(A, B).\n#endif", A="1", B='"b"') == 'p(1, "b").'
    assert _words("p(A).", A="7") == "p(7)."


def test_a_text_without_such_lines_is_not_touched() -> None:
    source = SourceText("main.dl", '#[name("r1")]\np(x) :- q(x).')
    assert preprocessed(source, Preprocessing(), Diagnostics()) is source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "types.dl").write_text('.once\n.type Id <: number\n#include "more.dl"\n')
    (tmp_path / "lib" / "more.dl").write_text("#define EDGE(x, y) edge(x, y).\n.decl edge(x: Id, y: Id)\n")
    (tmp_path / "bad.dl").write_text("\n\nq(x) :- edge(x, y), \n   r(z.\n")
    (tmp_path / "unsafe.dl").write_text('#include "lib/types.dl"\n.decl p(x: Id)\n\np(z) :- edge(x, y).\n')
    return tmp_path


def _parsed(folder: Path, text: str) -> object:
    return parse(text, (folder / "main.dl").as_posix())


def test_files_are_looked_for_beside_the_one_that_includes_them(folder: Path) -> None:
    text = '#include "lib/types.dl"\n.include "lib/types.dl"\nEDGE(1, 2)\n'
    assert set(check(parse(text, (folder / "main.dl").as_posix())).relations) == {"edge"}


def test_folders_to_look_in(folder: Path) -> None:
    given = Preprocessing(folders=(folder / "lib",))
    assert parse("#include <types.dl>\nEDGE(1, 2)\n", "elsewhere/main.dl", given).items


def test_a_syntax_error_points_to_the_included_file(folder: Path) -> None:
    with pytest.raises(ProgramError) as refused:
        _parsed(folder, 'p(1).\n#include "bad.dl"\n')
    assert [str(d.span) for d in refused.value.diagnostics] == [f"{folder.as_posix()}/bad.dl:4:7"]
    assert " 4 |    r(z." in str(refused.value)


def test_an_error_of_the_checker_points_to_the_included_file(folder: Path) -> None:
    program = parse('\n\n#include "unsafe.dl"\n', (folder / "main.dl").as_posix())
    with pytest.raises(ProgramError) as refused:
        check(program)
    [diagnostic] = refused.value.diagnostics
    assert str(diagnostic.span) == f"{folder.as_posix()}/unsafe.dl:4:3"
    assert diagnostic.to_json()["line"] == 4


def test_an_argument_keeps_its_place_and_the_rest_is_at_the_use() -> None:
    text = "#define RULE(h, b) h(x) :- b(x), other(y).\n.decl p(x: number)\n  RULE(p, unknown)\n"
    with pytest.raises(ProgramError) as refused:
        check(parse(text, "main.dl"))
    assert [str(d.span) for d in refused.value.diagnostics] == ["main.dl:3:11", "main.dl:3:3"]
    assert "main.dl:3:3: in what the macro RULE stands for" in str(refused.value)


def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "a.dl").write_text('#include "a.dl"\n')
    with pytest.raises(ProgramError) as refused:
        parse('#include "a.dl"\n', (tmp_path / "main.dl").as_posix())
    assert "more than 100 deep" in str(refused.value)
