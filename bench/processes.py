"""One measurement in a process of its own, under a limit on time and one on memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.memory import resident
from bench.outcomes import Failure, Measured, Outcome

ROOT = Path(__file__).parents[1]
THREADS = 2  # for every system that can be told
_GLANCE = 0.05  # seconds between two looks at a process


@dataclass(frozen=True)
class Limits:
    """When a process is stopped."""

    seconds: float
    memory: int  # bytes
    peers: float = 20  # seconds for one run of another system
    strict: bool = False  # tables that have a time limit of their own keep this one, too

    def own(self, seconds: float | None) -> Limits:
        """With the time limit that a table sets itself, if it does."""
        if seconds is None:
            return self
        return replace(self, seconds=min(seconds, self.seconds) if self.strict else seconds)


def measure(module: str, arguments: Sequence[str], limits: Limits) -> Outcome:
    """Run a module with these arguments and read the figures that it prints."""
    match last_line(module, arguments, limits):
        case Failure() as failure:
            return failure
        case line:
            return Measured.read(line)


def last_line(module: str, arguments: Sequence[str], limits: Limits) -> str | Failure:
    """Run a module with these arguments; gives the line it prints last."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=out,
            stderr=errors,
            cwd=ROOT,
            env=_environment(),
            start_new_session=True,
        )
        stopped = _watch(child, limits)
        out.seek(0)
        errors.seek(0)
        if stopped:
            return Failure(stopped, late=True)
        if child.returncode:
            return Failure(f"failed: {_complaint(errors.read()) or f'exit code {child.returncode}'}")
        return _last_line(out.read())


def _environment() -> Mapping[str, str]:
    return {**os.environ, "POLARS_MAX_THREADS": str(THREADS)}


def _watch(child: subprocess.Popen[bytes], limits: Limits) -> str:
    """Wait for the end of a process; if it must be ended, say why."""
    end = time.monotonic() + limits.seconds
    try:
        while child.poll() is None:
            if time.monotonic() > end:
                return f"over {limits.seconds:g} s"
            if resident(child.pid) > limits.memory:
                return f"over {limits.memory / 2**30:g} GiB"
            time.sleep(_GLANCE)
        return ""
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)  # its own session, made above
            child.wait()


def _complaint(errors: str) -> str:
    """The line of a traceback that names the exception; what is indented only explains."""
    return _last_line("\n".join(line for line in errors.splitlines() if not line.startswith(" ")))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
