"""Programs that nobody here wrote are read, come back from the printer, and are refused at the right line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.errors import ProgramError
from holdfast.language import format_source, parse, show

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
REFUSED = ("rule", "syntax1", "syntax2", "syntax3", "syntax4", "syntax5")
LEAST = 170


def _is_refused(path: Path) -> bool:
    return path.parent.parent.name == "syntactic" and path.stem in REFUSED


def _programs() -> list[Path]:
    """All but the whole code bases under ext/programs, which need components, records and a preprocessor."""
    whole = DATA / "ext" / "programs"
    return [path for path in sorted(DATA.rglob("*.dl")) if not _is_refused(path) and whole not in path.parents]


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
