"""What is wrong with a command line, in our words: typer finds the mistake and says it in its own."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Final

import typer

from holdfast.cli import codes
from holdfast.errors import Diagnostic

_WORDS: Final[dict[str, str]] = {
    r"No such option: (\S+).*": r"there is no option \1",
    r"No such command '([^']*)'.*": r"there is no command \1",
    r"Missing argument '(.*)'": r"\1 is missing",
    r"Missing option '(.*)'": r"\1 is missing",
    r"Missing command": r"the name of a command is missing",
    r"Option '(.*)' requires an argument": r"\1 needs a value behind it",
    r"Option '(.*)' does not take a value": r"\1 takes no value",
    r"Got unexpected extra arguments? \((.*)\)": r"there is more than the command takes: \1",
    r"Got unexpected extra argument\(s\) \((.*)\)": r"there is more than the command takes: \1",
    r"Invalid value for '(.*)': Input should be a valid integer.*": r"the value of \1 is not a whole number",
    r"Invalid value for '(.*)': Input should be a valid number.*": r"the value of \1 is not a number",
    r"Invalid value for '(.*)': Input should be greater than or equal to (.*)": r"the value of \1 must be at least \2",
    r"Invalid value for '(.*)': Value error, '(.*)' is not one of (.*)": r"\1 is not \2, but one of \3",
}


def usage_diagnostic(failure: typer.TyperException, words: Sequence[str], app: typer.Typer) -> Diagnostic:
    """The mistake as an error of ours, with a similar name or the way to the help."""
    theirs = failure.format_message().rstrip(".")
    message = next(
        (found.expand(ours) for pattern, ours in _WORDS.items() if (found := re.fullmatch(pattern, theirs, re.DOTALL))),
        theirs[:1].lower() + theirs[1:],
    )
    path, names = _command(words, app)
    wrong = re.fullmatch(r"there is no (?:option|command) (.*)", message)
    similar = difflib.get_close_matches(wrong[1], names, 1) if wrong else []
    help = f"did you mean {similar[0]}?" if similar else f"`{path} --help` shows what it takes"
    return Diagnostic(codes.BAD_USAGE, message, help=help)


def _command(words: Sequence[str], app: typer.Typer) -> tuple[str, list[str]]:
    """The command that the line begins with, as far as there is one, and the names that it knows."""
    path, command = "holdfast", typer.main.get_command(app)
    for word in words:
        commands = getattr(command, "commands", {})
        if word not in commands:
            break
        path, command = f"{path} {word}", commands[word]
    options = [name for parameter in command.params for name in parameter.opts if name.startswith("--")]
    return path, [*options, "--help", *getattr(command, "commands", {})]
