"""Runs a command line in this process, and says what came out where."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from typing import Any, TextIO
from unittest import mock

from holdfast.cli import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def holdfast(*words: object, terminal: bool = False, stdin: str = "") -> Result:
    """One command; with `terminal`, as if stdout and stderr were one."""
    out, err = io.StringIO(), io.StringIO()

    def is_terminal(stream: TextIO) -> bool:
        return terminal

    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")),
        mock.patch("holdfast.cli.terminal.is_terminal", is_terminal),
    ):
        code = main.run([str(word) for word in words])
    return Result(code, out.getvalue(), err.getvalue())
