"""Runs a `console` block: `holdfast` in this process, everything else in bash."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from unittest import mock

from holdfast.cli import main
from holdfast.cli.progress import COMPILING


@dataclass(frozen=True)
class Step:
    command: str
    expected: str


def steps(text: str) -> Iterator[Step]:
    """The commands of a block, each with the lines that follow it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command = command[:-1] + more.strip().removeprefix("> ")
        yield Step(command, expected)


class Console:
    """Remembers the exit code, for `echo $?`."""

    def __init__(self) -> None:
        self.code = 0

    def run(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        if command.startswith("holdfast ") and not re.search(r"[|><&;*]", re.sub(r"'[^']*'", "", command)):
            return self._holdfast(shlex.split(command)[1:])
        return self._bash(command)

    def _holdfast(self, words: list[str]) -> str:
        screen = io.StringIO()

        def is_terminal(stream: TextIO) -> bool:
            return stream is sys.stdout

        # Two names for one screen: stdout is a terminal, stderr is not, or progress would be drawn into it.
        with (
            contextlib.redirect_stdout(screen),
            contextlib.redirect_stderr(_Beside(screen)),
            mock.patch("holdfast.cli.terminal.is_terminal", is_terminal),
        ):
            self.code = main.run(words)
        return screen.getvalue()

    def _bash(self, command: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            env={**os.environ, "PATH": path},
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.code = done.returncode
        return done.stdout


class _Beside(io.TextIOBase):
    def __init__(self, screen: io.StringIO) -> None:
        self._screen = screen

    def write(self, text: str) -> int:
        return self._screen.write(text)


def normal(text: str) -> str:
    """Without what differs from run to run: seconds, times, the compiler's line, blank ends of lines."""
    text = text.replace(COMPILING + "\n", "")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "<time>", text)
    text = re.sub(r"\d+\.\d+ s\b", "… s", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
