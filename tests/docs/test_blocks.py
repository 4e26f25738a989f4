"""Every example in the documentation runs and gives what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import HoldfastError
from tests.docs.consoles import Console, normal, steps
from tests.docs.facts_text import facts_text
from tests.docs.pages import ROOT, Block, blocks, blocks_of, pages_with


@pytest.mark.parametrize("block", blocks_of("datalog"), ids=str)
def test_datalog(block: Block) -> None:
    if block.output is None:
        holdfast.from_text(block.text)
        return
    try:
        found = facts_text(holdfast.from_text(block.text, name="example.dl"))
    except HoldfastError as refused:
        found = str(refused)
    assert normal(found) == normal(block.output)


def grouped(pages: list[Path]) -> list[object]:
    """Pages that need Spark run in the one process that has it."""
    needs = ("pipeline.md", "spark.md")
    return [
        pytest.param(page, marks=pytest.mark.xdist_group("spark")) if page.name in needs else page for page in pages
    ]


@pytest.mark.parametrize("page", grouped(pages_with("console")), ids=lambda page: str(page.relative_to(ROOT)))
def test_console(page: Path, reader: Path) -> None:
    console = Console()
    for block in blocks(page):
        for step in steps(block.text) if block.kind == "console" else ():
            assert normal(console.run(step.command)) == normal(step.expected), f"{block}: $ {step.command}"


@pytest.mark.parametrize("page", grouped(pages_with("python")), ids=lambda page: str(page.relative_to(ROOT)))
def test_python(page: Path, reader: Path) -> None:
    names: dict[str, object] = {}
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for block in blocks(page):
        if block.kind == "python":
            assert ">>> " in block.text, f"{block} has no session to run"
            test = parser.get_doctest(block.text, names, str(block), str(page), block.line)
            complaints: list[str] = []
            runner.run(test, out=complaints.append, clear_globs=False)
            names = test.globs
            assert not complaints, "".join(complaints)
