"""The messages about facts: each folder in data/ has program.dl, facts/ and the expected text.

`python -m tests.errors.data_golden [NAME …]` writes the expected texts anew; read the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.knowledge.loading import load
from holdfast.language import parse
from holdfast.values.dictionary import Dictionary
from tests.errors.golden import rendered

DATA = Path(__file__).parent / "data"


def cases() -> list[Path]:
    """Every folder with facts whose diagnostics are held fixed."""
    return sorted(path.parent for path in DATA.glob("*/program.dl"))


def told_about_facts(case: Path) -> str:
    """All errors of a program's facts, rendered, with file names relative to the case."""
    with contextlib.chdir(case):
        try:
            load(parse(Path("program.dl").read_text(encoding="utf-8"), "program.dl"), "facts", Dictionary())
        except HoldfastError as error:
            return rendered(error.diagnostics)
    return "no error\n"


def rewrite(names: list[str]) -> None:
    """Write the expected diagnostics of the named cases, or of all."""
    for case in cases():
        if not names or case.name in names:
            (case / "expected.txt").write_text(told_about_facts(case), encoding="utf-8")


if __name__ == "__main__":
    rewrite(sys.argv[1:])
