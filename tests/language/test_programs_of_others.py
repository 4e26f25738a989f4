"""Programs that nobody here wrote are read, come back from the printer, and are refused at the right line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.errors import ProgramError
from holdfast.language import format_source, parse, show, tree
from holdfast.language.origins import Composed
from tests.suites.whole_programs import NEEDS_A_FILE, WholeProgram, whole_programs

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
REFUSED = ("rule", "syntax1", "syntax2", "syntax3", "syntax4", "syntax5")
LEAST = 170
WHOLE = DATA / "ext" / "programs"
STATISTICS = "doop-mirror/souffle-logic/addons/statistics"
NEEDS_A_MACRO = {f"{STATISTICS}/statistics-declarations.dl", f"{STATISTICS}/statistics.dl"}
"""No main program that the tests put together has them."""


def _is_refused(path: Path) -> bool:
    return path.parent.parent.name == "syntactic" and path.stem in REFUSED


def _programs() -> list[Path]:
    """Single files; the whole code bases under ext/programs are put together by their own tests below."""
    return [path for path in sorted(DATA.rglob("*.dl")) if not _is_refused(path) and WHOLE not in path.parents]


needs_data = pytest.mark.skipif(not DATA.exists(), reason="the handed-over data is not at ../shared/data")


@needs_data
def test_every_program_is_read_and_comes_back() -> None:
    programs = _programs()
    assert len(programs) >= LEAST
    for path in programs:
        program = parse(path.read_text(encoding="utf-8"), path.name)
        assert program.items, path
        assert parse(show(program)) == program, path


@needs_data
def test_formatting_every_program_keeps_its_meaning_and_is_idempotent() -> None:
    for path in _programs():
        text = path.read_text(encoding="utf-8")
        once = format_source(text, path.name)
        assert parse(once) == parse(text), path
        assert format_source(once, path.name) == once, path


@needs_data
@pytest.mark.parametrize("name", REFUSED)
def test_a_syntax_error_is_found_at_the_line_where_souffle_finds_it(name: str) -> None:
    folder = DATA / "ext" / "souffle" / "syntactic" / name
    expected = re.search(r"at line (\d+)", (folder / f"{name}.err").read_text(encoding="utf-8"))
    assert expected is not None
    with pytest.raises(ProgramError) as refused:
        parse((folder / f"{name}.dl").read_text(encoding="utf-8"), name)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.span is not None
    assert diagnostic.span.line == int(expected.group(1))


# --- whole code bases --------------------------------------------------------------------------------


def _files() -> list[Path]:
    return sorted([*WHOLE.rglob("*.dl"), *WHOLE.rglob("*.project")])


def _read_by(program: tree.Program) -> set[Path]:
    pieces = program.source.pieces if isinstance(program.source, Composed) else ()
    return {Path(piece.source.name).resolve() for piece in pieces}


def _parsed(whole: WholeProgram) -> tree.Program:
    return parse(whole.text, whole.name, whole.given)


@pytest.mark.slow
@needs_data
def test_every_file_of_whole_code_bases_is_read_by_itself_or_as_a_part(tmp_path: Path) -> None:
    """A file may be a part that only makes sense where its macros are defined: then a main program has read it."""
    read: set[Path] = set()
    alone = 0
    for path in _files():
        try:
            program = parse(path.read_text(encoding="utf-8"), path.as_posix())
        except ProgramError:
            continue
        alone += 1
        assert parse(show(program)) == program, path
        read |= {path.resolve(), *_read_by(program)}
    for whole in whole_programs(tmp_path):
        read |= _read_by(_parsed(whole))
    unread = {path.relative_to(WHOLE).as_posix() for path in _files() if path.resolve() not in read}
    assert unread == NEEDS_A_FILE | NEEDS_A_MACRO
    assert alone >= 370
