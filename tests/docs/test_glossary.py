"""docs/glossary.md and the code agree: each name has one meaning, and none is a word of the old dialect."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

SOURCE = ROOT / "src/holdfast"
GLOSSARY = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted(path for ending in ("py", "dl", "md", "toml") for path in (ROOT / "examples").rglob(f"*.{ending}"))
DIALECT = {  # the word, and what to write instead
    r"\b_?[Tt]old\b": "reported, emitted, given; or name the thing",
    r"\b[Tt]ell(s|ing)? (of|apart|who)\b": "reports, distinguishes",
    r"\broom\b|_room\b|_ROOM": "capacity, buffer; can hold",
    r"there is not\b": "there is no; unknown",
    r"\b(has|have) not the\b": "does not have the",
    r"\b(leave|left|take|taken|put) \S+ away\b": "remove, omit",
    r"\b([Nn]obody|[Ss]omebody|[Ww]hoever)\b": "name the one who does it, or use the passive",
    r"manieth": "its number",
    r"\bworked[ _]out\b": "computed, evaluated; snapshot()",
    r"\basked for that\b": "unknown",
    r"\bbe had\b": "be available, be used",
    r"\bcut[ _]short\b": "interrupted",
    r"\btake[ns]?[ _]back\b": "roll back, retract",
    r"\bhand(ed)? in\b": "loaded, inserted, explicit",
    r"\b(is|been) said\b": "is reported",
    r"\ball the same\b": "nevertheless, anyway",
    r"\bis none\b": "is not one",
    r"\bthat is no\b": "that is not a",
    r"who knows where": "at an unknown point",
}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its head."""
    table = GLOSSARY.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[1:]]


def module_name(path: Path) -> str:
    """`program.model` for `src/holdfast/program/model.py`."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def defined(path: Path) -> Iterator[tuple[str, str]]:
    """The names that a module defines, each with its expression if it is an alias."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name) | ast.FunctionDef(name):
                yield name, ""
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), value=ast.expr() as value):
                yield name, ast.unparse(value)
            case ast.If(body=body):
                yield from ((part.name, "") for part in body if isinstance(part, ast.FunctionDef))
                yield from (
                    (target.id, "")
                    for part in body
                    if isinstance(part, ast.Assign)
                    for target in part.targets
                    if isinstance(target, ast.Name)
                )


MODULES = {module_name(path): dict(defined(path)) for path in SOURCE.rglob("*.py")}


def is_type_name(name: str) -> bool:
    """Whether a name is that of a public class or type alias."""
    return name[0].isupper() and not name.isupper()


def defined_twice() -> dict[str, set[str]]:
    """Public classes and type aliases that several modules define, with these modules."""
    homes = defaultdict(set)
    for module, names in MODULES.items():
        for name in filter(is_type_name, names):
            homes[name].add(module)
    return {name: modules for name, modules in homes.items() if len(modules) > 1}


@pytest.mark.parametrize("row", rows("Words"), ids=lambda row: row[0])
def test_each_word_names_something_that_the_code_defines(row: list[str]) -> None:
    assert len(row) == 3
    for target in re.findall(r"`([^`]+)`", row[2]):
        module, _, name = target.rpartition(".")
        assert target in MODULES or name in MODULES.get(module, {}), f"there is no {target}"


@pytest.mark.parametrize("heading", ["Words", "Names with several definitions"])
def test_each_word_is_listed_once_and_in_order(heading: str) -> None:
    words = [row[0] for row in rows(heading)]
    assert words == sorted(set(words), key=str.lower)


def test_a_name_is_defined_once_or_listed_with_its_one_meaning() -> None:
    listed = {
        name: set(re.findall(r"`([^`]+)`", modules)) for name, _, modules in rows("Names with several definitions")
    }
    assert defined_twice() == listed


def test_no_word_of_the_old_dialect() -> None:
    texts = [*sorted(SOURCE.rglob("*.py")), *sorted(SOURCE.rglob("*.lark")), *PAGES, *EXAMPLES]
    dialect = {re.compile(word): better for word, better in DIALECT.items()}
    wrong = [
        f"{path.relative_to(ROOT)}: {found[0]!r}, better {better!r}"
        for path in texts
        for word, better in dialect.items()
        for found in word.finditer(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []
