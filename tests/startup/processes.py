"""Fresh Python processes on a copy of the package, as an installation would have it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import holdfast

PACKAGE = Path(holdfast.__file__).parent
TINY = "edge(1, 2). edge(2, 3). path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
WITHOUT = "import sys; sys.modules.update(dict.fromkeys({names!r}));"
ANSWER = f"import holdfast; print(sorted(holdfast.from_text({TINY!r})['path']));"
ANSWERS = "[(1, 2), (1, 3), (2, 3)]"


def installed(folder: Path) -> Path:
    """A copy of the package in a folder of its own; gives the package."""
    return Path(
        shutil.copytree(PACKAGE, folder / "site" / "holdfast", ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    )


def started(code: str, package: Path = PACKAGE, **environment: str) -> subprocess.Popen[str]:
    """A process that runs some code with a package, and writes no bytecode."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA"))}
    own |= {"PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, env=own, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def said(process: subprocess.Popen[str]) -> str:
    """What it printed; it must have ended well."""
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return out.strip()


def run(code: str, package: Path = PACKAGE, **environment: str) -> str:
    """What some code prints in a process of its own."""
    return said(started(code, package, **environment))
