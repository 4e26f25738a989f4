"""Puts what really comes out into the pages: `python -m tests.docs.rewrite docs/language.md …`; then read the diff.

Fills the `text` block behind each `datalog` block and the output behind each command of a `console` block.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import holdfast
from holdfast.errors import HoldfastError
from tests.docs.consoles import Console, normal, steps
from tests.docs.facts_text import facts_text
from tests.docs.pages import ROOT, Block, blocks


def main(pages: list[Path]) -> None:
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to(ROOT / "examples")
            os.chdir(folder)
            os.environ.update(NO_COLOR="1", COLUMNS="100")
            page.write_text(_rewritten(page), encoding="utf-8")
            os.chdir(ROOT)


def _rewritten(page: Path) -> str:
    text, console = page.read_text(encoding="utf-8"), Console()
    for block in blocks(page):
        if block.kind == "datalog" and block.output is not None:
            old = f"```datalog\n{block.text}```\n```text\n{block.output}```"
            text = _replace_once(text, old, f"```datalog\n{block.text}```\n```text\n{_derived(block)}\n```", block)
        elif block.kind == "console":
            shown = "\n".join(_session(console, block))
            text = _replace_once(text, f"```console\n{block.text}```", f"```console\n{shown}\n```", block)
    return text


def _replace_once(text: str, old: str, new: str, block: Block) -> str:
    if text.count(old) != 1:
        raise SystemExit(f"{block}: the block is not there exactly once")
    return text.replace(old, new)


def _derived(block: Block) -> str:
    try:
        return normal(facts_text(holdfast.from_text(block.text, name="example.dl")))
    except HoldfastError as refused:
        return normal(str(refused))


def _session(console: Console, block: Block) -> list[str]:
    lines = []
    for step in steps(block.text):
        lines += [f"$ {step.command}", *filter(None, [normal(console.run(step.command))])]
    return lines


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]])
