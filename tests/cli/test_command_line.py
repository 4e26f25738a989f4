"""How the words of a command line are read, and how tables look without Rich."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Annotated, Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.cli import terminal
from holdfast.cli.command_line import Command, Option, Positional
from holdfast.errors import UsageError
from tests.cli.shell import holdfast

TAKEN: list[dict[str, Any]] = []


def taking(
    files: Annotated[list[Path], Positional(metavar="FILES", help="Some.")],
    folder: Annotated[list[Path], Option("-F", "--folder", help="Several.")] = [],  # noqa: B006
    number: Annotated[int | None, Option(min=2, metavar="N", help="At least two.")] = None,
    loud: Annotated[bool, Option("--loud", help="A flag.")] = False,
) -> None:
    """Takes words.

    And keeps them.
    """
    TAKEN.append({"files": files, "folder": folder, "number": number, "loud": loud})


COMMAND = Command("taking", taking, "holdfast taking it")


def read(*words: str) -> dict[str, Any]:
    COMMAND.run(words)
    return TAKEN.pop()


def test_options_may_stand_anywhere_and_be_joined_to_their_values() -> None:
    expected = {"files": [Path("a"), Path("b")], "folder": [Path("x"), Path("y"), Path("z")], "number": 3, "loud": True}
    assert read("-F", "x", "a", "-Fy", "--number=3", "b", "--loud", "--folder", "z") == expected


def test_nothing_said_is_the_default_and_a_list_of_its_own() -> None:
    first, second = read("a")["folder"], read("a")["folder"]
    assert first == second == []
    assert first is not second


def test_after_two_dashes_everything_is_a_place() -> None:
    assert read("a", "--", "--loud", "-", "--")["files"] == [Path("a"), Path("--loud"), Path("-"), Path("--")]


def test_a_dash_alone_is_a_place_and_a_value_may_begin_with_one() -> None:
    assert read("-", "-F", "-x") == {"files": [Path("-")], "folder": [Path("-x")], "number": None, "loud": False}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "--number"], "--number needs a value"),
        (["a", "--number", "1"], "the value of --number must be at least 2"),
        (["a", "--number", "two"], "the value of --number is not a whole number"),
        (["a", "--number", ""], "the value of --number is not a whole number"),
        (["a", "--loud=yes"], "--loud takes no value"),
        (["a", "-x"], "unknown option -x"),
        (["a", "--lou"], "unknown option --lou"),
        ([], "FILES is missing"),
    ],
)
def test_what_is_not_taken_is_said(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        COMMAND.run(words)


def test_the_help_has_everything() -> None:
    text = COMMAND.help(60)
    for part in (
        "taking [OPTIONS] FILES...",
        "And keeps them.",
        "-F, --folder",
        "--number N",
        "[at least 2]",
        "--help",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 60


@pytest.mark.parametrize("group", [[], ["pipeline"], ["bench"]])
def test_a_group_alone_shows_its_commands(group: list[str]) -> None:
    result = holdfast(*group)
    assert (result.code, result.err) == (0, "")
    assert result.out == holdfast(*group, "--help").out
    assert "Commands:" in result.out


CELLS = st.text(st.characters(exclude_categories=["C", "Z", "M"], include_characters="漢字é "), max_size=8)


@settings(deadline=None)  # Rich is imported in the first example
@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1)))
@example([["0 "]])
def test_a_table_in_a_pipe_looks_as_rich_would_draw_it(rows: list[list[str]]) -> None:
    columns = [text or "c" for text in rows.pop()]
    right = [all(terminal._is_number(row[place]) for row in rows) for place in range(len(columns))]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), mock.patch.object(terminal, "width", lambda: 10_000):
        terminal._draw_table(columns, rows, right)
    assert "".join(terminal._plain_table(columns, rows, right)) == out.getvalue()
