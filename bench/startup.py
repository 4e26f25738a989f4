"""What a user waits for before anything large happens: the first answer, the first run ever, a facts file.

`python -m bench.startup` measures a plain installation instead, which it makes: see `bench/installed.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bench import loading
from bench.outcomes import Failure, Measured
from bench.processes import Limits, measure
from bench.tables import OURS, WRONG, Figure, PaperTable, Row
from bench.workloads import Size

PROGRAM = """edge(1, 2). edge(2, 3). edge(3, 4). edge(4, 2). edge(5, 1).
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
QUERY = "path(5, x)"
ANSWERS = ["1", "2", "3", "4"]
_ANSWER = "the answer itself"
ROWS: Mapping[Size, int] = {"small": 20_000, "paper": 1_000_000, "max": 10_000_000}


INCLUDES = (
    "first answers: the whole process of `holdfast query` as a shell starts it, start of Python and imports "
    "included; the facts file: reading, encoding and storing, in a process that has imported everything"
)


def waits(size: Size, runs: int, limits: Limits, tell: Callable[[str], None]) -> PaperTable:
    """Everything that this file measures."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        folder = Path(name)
        (folder / "tiny.dl").write_text(PROGRAM, encoding="utf-8")
        tell("first answer of a tiny program, warm start")
        warm = _first_answer(folder, limits)
        tell("first run ever, with nothing compiled by Numba")
        cold = _first_ever(folder, limits)
        tell(f"a facts file of {ROWS[size]:,} rows")
        rows = (warm, *cold, _facts_file(folder, ROWS[size], runs, limits))
    return PaperTable("waits", "", "Waiting", INCLUDES, rows)


def _row(name: str, unit: str, checked: str, runs: Sequence[float] = (), failure: str = "") -> Row:
    return Row(name, (Figure(OURS, "", unit, tuple(runs), checked=checked, failure=failure),))


def _first_answer(folder: Path, limits: Limits) -> Row:
    name = "first answer of a tiny program, warm start, whole process"
    try:
        _ask(folder, {}, limits)
        return _row(name, "s", _ANSWER, [_ask(folder, {}, limits).answer for _ in range(5)])
    except _FailedError as error:
        return _row(name, "s", "", failure=str(error))


def _first_ever(folder: Path, limits: Limits) -> tuple[Row, Row]:
    word, answer = "first run ever: until the first word", "first run ever: until the answer"
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        try:
            asked = _ask(folder, {"NUMBA_CACHE_DIR": cache}, limits)
        except _FailedError as error:
            return _row(word, "s", "", failure=str(error)), _row(answer, "s", "", failure=str(error))
    return _row(word, "s", _ANSWER, [asked.word]), _row(answer, "s", _ANSWER, [asked.answer])


def _facts_file(folder: Path, rows: int, runs: int, limits: Limits) -> Row:
    name = f"a facts file of {rows:,} rows of two numbers, read and stored"
    loading.write(rows, folder)
    figures = list[float]()
    for _ in range(runs):
        match measure("bench.loading", [str(folder)], limits):
            case Failure(reason):
                return _row(name, "rows/s", "", failure=reason)
            case Measured(facts=facts) if facts != rows:
                return _row(name, "rows/s", "", failure=f"{WRONG}: {facts:,} rows instead of {rows:,}")
            case Measured() as run:
                figures.append(rows / run.total)
    return _row(name, "rows/s", f"{rows:,} rows counted", figures)


class _FailedError(Exception):
    """The command did not give the right answer."""


@dataclass(frozen=True)
class _Asked:
    word: float  # seconds until anything at all could be read
    answer: float  # seconds until the process was over


def _ask(folder: Path, environment: Mapping[str, str], limits: Limits) -> _Asked:
    """`holdfast query` on the tiny program, as a user's shell would start it."""
    command = [
        sys.executable,
        "-c",
        "import sys; from holdfast.cli.main import run; sys.exit(run())",
        "query",
        str(folder / "tiny.dl"),
        QUERY,
    ]
    # an installed package has its bytecode; without it, what is measured is Python's compiler
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**own, **environment})
    assert process.stdout is not None
    assert process.stderr is not None
    out, errors = _Listener(process.stdout), _Listener(process.stderr)
    try:
        process.wait(limits.seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise _FailedError(f"over {limits.seconds:g} s") from None
    seconds = time.perf_counter() - begun
    text, complaint = out.text(), errors.text()
    if process.returncode or text.split()[-len(ANSWERS) :] != ANSWERS:
        raise _FailedError(f"failed: {complaint.strip() or text.strip()}")
    return _Asked(min(out.first, errors.first) - begun, seconds)


class _Listener:
    """Reads a stream to its end and notes when it first said something."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.first = float("inf")
        self._stream, self._parts = stream, list[bytes]()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with self._stream as stream:
            while part := os.read(stream.fileno(), 65536):
                self.first = min(self.first, time.perf_counter())
                self._parts.append(part)

    def text(self) -> str:
        """All that was said."""
        self._thread.join()
        return b"".join(self._parts).decode("utf-8", errors="replace")


if __name__ == "__main__":
    from bench.installed import main

    main(*sys.argv[1:])
