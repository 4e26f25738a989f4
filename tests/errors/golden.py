"""The messages about a program: the text that the golden files hold fixed.

Each folder beside this file may hold programs `NAME.dl` with the expected diagnostics in `NAME.txt`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from holdfast.errors import Diagnostic, ProgramError
from holdfast.language import parse

HERE = Path(__file__).parent


def programs() -> list[Path]:
    """Every program whose diagnostics are held fixed."""
    return sorted(HERE.glob("*/*.dl"))


def reported(program: Path) -> str:
    """All errors and warnings of a program, rendered, with file names that do not depend on the place."""
    try:
        tree = parse(program.read_text(encoding="utf-8"), program.name)
    except ProgramError as error:
        return rendered(error.diagnostics)
    from holdfast.program import check  # here, so that syntax errors can be looked at without the checks

    try:
        return rendered(check(tree).warnings)
    except ProgramError as error:
        return rendered(error.diagnostics)


def rendered(diagnostics: Iterable[Diagnostic]) -> str:
    """Diagnostics as the golden files hold them."""
    return "\n\n".join(diagnostic.render() for diagnostic in diagnostics) + "\n"
