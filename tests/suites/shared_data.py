"""Where the shared inputs lie (beside the repository, never in it) and how their files are read."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.values import Row

DATA = (Path(__file__).resolve().parents[3] / "shared" / "data").resolve()
needs_shared_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared inputs are not at ../shared/data")


def table(path: str) -> list[dict[str, str]]:
    """The rows of a tab-separated file with a header; none where the shared inputs are absent."""
    file = DATA / path
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def document(path: str) -> Any:
    """A JSON file; an empty object where the shared inputs are absent."""
    file = DATA / path
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def read_text(file: Path) -> str:
    """A text file, unpacked when it is gzipped."""
    raw = file.read_bytes()
    return (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode("utf-8")


def tsv_rows(file: Path) -> list[Row]:
    """The rows of a facts file in `kb/` and `zodiacedge/`; a column of whole numbers is a column of integers."""
    rows = [tuple(line.split("\t")) for line in read_text(file).splitlines()]
    columns = [_integers(column) for column in zip(*rows, strict=True)]
    return list(zip(*columns, strict=True))


def _integers(column: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(map(int, column)) if all(text.lstrip("-").isdigit() for text in column) else column


def updates(file: Path) -> Iterator[dict[str, dict[str, list[list[Any]]]]]:
    """The updates of a stream, in order."""
    for line in read_text(file).splitlines():
        yield json.loads(line)


def explicit_after(file: Path, until: int | None = None) -> dict[str, set[Row]]:
    """The explicit facts after the first `until` updates of a stream (all of them by default)."""
    facts: dict[str, set[Row]] = {}
    for update in list(updates(file))[:until]:
        for name, rows in update["delete"].items():
            facts[name] -= set(map(tuple, rows))
        for name, rows in update["insert"].items():
            facts.setdefault(name, set()).update(map(tuple, rows))
    return facts


def digest(facts: dict[str, Iterable[Row]]) -> tuple[int, str]:
    """The number of facts and the digest that data/README.md defines."""
    lines = sorted(
        json.dumps([name, *row], ensure_ascii=False, separators=(",", ":")).encode()
        for name, rows in facts.items()
        for row in rows
    )
    return len(lines), hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]
