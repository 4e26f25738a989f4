"""The streams that data/ext/incmatmark publishes are those of data/kb and data/marking, checked in test_streams.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .shared_data import DATA, needs_shared_data, read_text, updates

pytestmark = needs_shared_data
FOLDER = DATA / "ext" / "incmatmark" / "streams"
FILES = sorted(FOLDER.glob("*/*.txt*"))
Facts = set[tuple[str, ...]]


def published(file: Path) -> list[tuple[Facts, Facts]]:
    """For each update the facts that it deletes and adds; names and constants without their quotes."""
    found: list[tuple[Facts, Facts]] = []
    for line in read_text(file).splitlines():
        if line.startswith("@"):
            found.append((set(), set()))
        elif match := re.fullmatch(r"(add|delete)\((.*?)\((.*)\)\)\.", line):
            kind, name, arguments = match.groups()
            cells = re.findall(r"'(?:[^']|'')*'|[^,\s][^,]*", arguments)
            found[-1][kind == "add"].add(tuple(plain(cell) for cell in (name, *cells)))
    return found


def plain(text: str) -> str:
    text = text.strip()
    return text[1:-1].replace("''", "'") if text.startswith("'") else text


def converted(file: Path) -> list[tuple[Facts, Facts]]:
    def facts(part: dict[str, list[list[object]]]) -> Facts:
        return {(name, *map(str, row)) for name, rows in part.items() for row in rows}

    return [(facts(update["delete"]), facts(update["insert"])) for update in updates(file)]


def counterpart(file: Path) -> Path:
    if file.parent.name == "real":
        return DATA / "marking" / "streams" / f"track{file.stem.split('-')[1]}.jsonl.gz"
    kb, run, rest = file.stem.split("-", 2)
    return DATA / "kb" / "streams" / kb / f"{file.parent.name}_run{run}_{rest}.jsonl.gz"


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_published_stream_is_the_one_that_is_replayed(file: Path) -> None:
    assert published(file) == converted(counterpart(file))
