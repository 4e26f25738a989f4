"""What exists is documented: commands, options, exit codes, error codes; and what is promised can be imported."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections import Counter

import pytest

import holdfast
from holdfast.cli.main import COMMANDS, command
from holdfast.errors import ExitCode
from tests.docs.pages import PAGES, ROOT

COMMAND_LINE = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
ERRORS = (ROOT / "docs/errors.md").read_text(encoding="utf-8")


def code_tables() -> dict[str, dict[str, str]]:
    """`ALL_CODES` of every part that has one."""
    found = {}
    for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
        if module.name.rpartition(".")[2] == "codes":
            found[module.name] = importlib.import_module(module.name).ALL_CODES
    return found


def section(command: str) -> str:
    """The part of the page about one command."""
    return COMMAND_LINE.partition(f"\n## {command}\n")[2].partition("\n## ")[0]


def commands() -> list[tuple[str, list[str]]]:
    """Every command with its options; those of a command's own commands belong to it."""
    options: dict[str, list[str]] = {}
    for path in COMMANDS:
        names = [name for name in command(path).option_names if name != "--help"]
        options.setdefault(path.partition(" ")[0], []).extend(names)
    return list(options.items())


@pytest.mark.parametrize(("name", "options"), commands())
def test_every_command_and_option_is_documented(name: str, options: list[str]) -> None:
    assert section(name), f"docs/command-line.md has no section on {name}"
    assert [option for option in options if f"`{option}" not in section(name)] == []


def test_the_global_options_are_documented() -> None:
    assert [word for word in ("--version", "--debug", "--help", "NO_COLOR") if f"`{word}`" not in COMMAND_LINE] == []


def test_every_exit_code_is_documented() -> None:
    assert [code for code in [*map(int, ExitCode), 130] if f"\n| {code} |" not in COMMAND_LINE] == []


def test_no_code_is_used_twice() -> None:
    codes = Counter(code for table in code_tables().values() for code in table)
    assert [code for code, times in codes.items() if times > 1] == []


def test_every_error_code_is_documented_with_its_meaning() -> None:
    meanings = {code: meaning for table in code_tables().values() for code, meaning in table.items()}
    documented = dict(re.findall(r"^### ([EW]\d{4}): (.*)$", ERRORS, re.MULTILINE))
    assert documented == meanings


def test_every_code_in_the_source_is_in_a_table() -> None:
    known = {code for table in code_tables().values() for code in table}
    used = {
        (path.name, code)
        for path in (ROOT / "src").rglob("*.py")
        for code in re.findall(r'"([EW]\d{4})"', path.read_text(encoding="utf-8"))
    }
    assert sorted((name, code) for name, code in used if code not in known) == []


def test_every_error_code_has_an_example() -> None:
    parts = re.split(r"^### ", ERRORS, flags=re.MULTILINE)[1:]
    assert [part[:5] for part in parts if f"[{part[:5]}]" not in part and "No example:" not in part] == []


def test_all_is_what_can_be_imported() -> None:
    assert [name for name in holdfast.__all__ if getattr(holdfast, name, None) is None] == []
    ours = {
        name
        for name, thing in vars(holdfast).items()
        if not name.startswith("_") and getattr(thing, "__module__", "").startswith("holdfast.")
    }
    assert ours - set(holdfast.__all__) == set()
    assert holdfast.__all__ == sorted(holdfast.__all__)


def test_python_names_are_documented() -> None:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    assert [name for name in holdfast.__all__ if name not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: object) -> None:
    from pathlib import Path

    assert isinstance(page, Path)
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_decisions_are_numbered_and_listed_without_holes() -> None:
    pages = sorted(path for path in (ROOT / "docs/decisions").glob("*.md") if path.name != "README.md")
    numbers = [f"{number:04}" for number in range(1, len(pages) + 1)]
    assert [page.name[:4] for page in pages] == numbers
    assert [page.read_text(encoding="utf-8")[2:6] for page in pages] == numbers
    listed = re.findall(r"^\| \[(\d+)\]\((.*?)\)", (ROOT / "docs/decisions/README.md").read_text("utf-8"), re.MULTILINE)
    assert listed == [(number, page.name) for number, page in zip(numbers, pages, strict=True)]
