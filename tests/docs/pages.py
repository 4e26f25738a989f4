"""The fenced blocks of the documentation, and how each kind is run.

* `datalog` must be accepted; followed by a `text` block, it must give just that: its warnings, then the facts of its
  output relations (of all derived ones when it names none), or its errors.
* `console` holds commands after `$ ` and what a user sees on a terminal, stdout and stderr together.
* `python` holds a session with `>>> `, run by doctest; the blocks of a page share their names.

Other kinds (`sh`, and `text` on its own) are not run: they are for commands that set up the machine, and for sketches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    kind: str
    text: str
    output: str | None = None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    for this, following in zip(found, [*found[1:], None][: len(found)], strict=True):
        line = text.count("\n", 0, this.start()) + 1
        output = None
        if following is not None and following[1] == "text" and not text[this.end() : following.start()].strip():
            output = following[2]
        yield Block(page, line, this[1], this[2], output)


def blocks_of(kind: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.kind == kind]


def pages_with(kind: str) -> list[Path]:
    return [page for page in PAGES if any(block.kind == kind for block in blocks(page))]
