"""Every mutant can be made: `--cases few` runs only a third of them, and a line that has changed would go unseen."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from .mutants import Mutant, broken

pytestmark = pytest.mark.only_in_memory("nothing is run")
_TESTS = Path(__file__).parents[1]


def _lists_mutants(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return "MUTANTS = [" in text and "    Mutant(" in text and path != Path(__file__)


MODULES = [
    ".".join(path.relative_to(_TESTS.parent).with_suffix("").parts)
    for path in sorted(_TESTS.rglob("*.py"))
    if _lists_mutants(path)
]


@pytest.mark.parametrize("module", MODULES)
def test_every_mutant_names_a_line_that_is_there(module: str) -> None:
    lists = [each for each in vars(import_module(module)).values() if isinstance(each, list)]
    mutants = {mutant for some in lists for mutant in some if isinstance(mutant, Mutant)}
    assert mutants
    for mutant in mutants:
        with broken(mutant):
            pass
