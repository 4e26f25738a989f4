"""A plain installation, as a user gets it: how large it is, and what a start costs, the first one included.

    python -m bench.installed [WHEEL]

Builds a wheel if none is given, installs it into an environment of its own and measures there, in CPU seconds (user and
system) of whole processes: what a busy machine disturbs least.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.processes import ROOT

PROGRAM = "edge(1, 2). edge(2, 3).\npath(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n.output path\n"
RUNS = 9
MEGABYTE = 1_000_000
_LIST = """
from importlib.metadata import distributions
for each in distributions():
    files = [each.locate_file(file) for file in each.files or ()]
    print(each.name, sum(file.stat().st_size for file in files if file.is_file()))
"""


@dataclass(frozen=True)
class Figure:
    """What was measured, what it may be at most, and all runs."""

    name: str
    unit: str
    most: float
    runs: tuple[float, ...]

    def line(self) -> str:
        """For a person."""
        middle = statistics.median(self.runs)
        spread = f" ({min(self.runs):.3g} to {max(self.runs):.3g}, {len(self.runs)} runs)" if len(self.runs) > 1 else ""
        verdict = "" if middle <= self.most else "   TOO MUCH"
        return f"{self.name:<44} {middle:8.3g} {self.unit}, at most {self.most:g}{spread}{verdict}"


def figures(environment: Path) -> Iterator[Figure]:
    """Of an environment into which nobody has looked yet."""
    python, command = str(environment / "bin/python"), str(environment / "bin/holdfast")
    (environment / "tiny.dl").write_text(PROGRAM, encoding="utf-8")
    run = [command, "run", str(environment / "tiny.dl")]
    text = [python, "-c", f"import holdfast; holdfast.from_text({PROGRAM!r})"]
    yield Figure("holdfast run, the first ever", "CPU s", 0.35, (cpu(run),))
    yield Figure("holdfast run", "CPU s", 0.35, tuple(cpu(run) for _ in range(RUNS)))
    yield Figure("import holdfast; holdfast.from_text(…)", "CPU s", 0.3, tuple(cpu(text) for _ in range(RUNS)))
    bare = statistics.median(cpu([python, "-c", "pass"]) for _ in range(RUNS))
    alone = tuple(cpu([python, "-c", "import holdfast"]) - bare for _ in range(RUNS))
    yield Figure("import holdfast, without Python's own start", "CPU s", 0.05, alone)
    yield Figure("the environment", "MB", 300, (sum(sizes(environment).values()) / MEGABYTE,))


def cpu(command: list[str]) -> float:
    """CPU seconds of a process and those it waits for; it must end well."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    process = subprocess.Popen(command, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def sizes(environment: Path) -> Mapping[str, int]:
    """The bytes of each installed package, largest first."""
    command = [str(environment / "bin/python"), "-I", "-c", _LIST]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {name: int(size) for name, size in (line.rsplit(" ", 1) for line in lines)}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def install(folder: Path, wheel: Path | None) -> Path:
    """A new environment with nothing but holdfast and what it needs."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
    if wheel is None:
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
        wheel = next(folder.glob("*.whl"))
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    subprocess.run([*pip, "--python", str(environment / "bin/python"), "install", str(wheel)], check=True)
    return environment


def main(wheel: str | None = None) -> None:
    """Install, measure, print."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as name:
        environment = install(Path(name), None if wheel is None else Path(wheel).resolve())
        for figure in figures(environment):
            print(figure.line(), flush=True)
        for package, size in sizes(environment).items():
            print(f"  {package:<20} {size / MEGABYTE:8.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
