"""Kernels run wherever the package is: read-only, without a home, without a folder for temporary files."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tools import build_kernels

FOLDER = f"holdfast-kernels-{os.geteuid()}"
TINY = "from numba import int64\nfrom holdfast.kernel_cache import njit\n\n\n" + (
    "@njit(int64(int64), cache=True)\ndef twice(x):\n    return 2 * x\n"
)
SAY = "import kernel; from holdfast import kernel_cache as c; print(kernel.twice(21), c.uncached())"
SAY_TWICE = SAY + "; print(c.uncached())"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package that its user cannot write to."""
    shutil.copytree(Path(holdfast.__file__).parent, tmp_path / "package/holdfast", ignore=_compiled)
    (tmp_path / "package/kernel.py").write_text(TINY, encoding="utf-8")
    for path in sorted((tmp_path / "package").rglob("*"), reverse=True):
        path.chmod(0o555 if path.is_dir() else 0o444)
    (tmp_path / "package").chmod(0o555)
    return tmp_path / "package"


def _compiled(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == "__pycache__" or name.startswith("_kernels")]


def without_privileges() -> None:
    """In the child: permission bits bind root, too, once the program that it executes has no capabilities."""
    if os.geteuid() == 0:
        for capability in range(64):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def run(package: Path, code: str, temporary: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python with a home that cannot be written; `temporary` is the folder for temporary files, if it is there."""
    code = f"import tempfile; tempfile.tempdir = {str(temporary)!r}; {code}"
    environment = {"PYTHONPATH": str(package), "PATH": "", "HOME": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    bound = "import os; os.mkdir(os.environ['HOME'] + '/made')"
    words = (sys.executable, "-c", code, *words)
    probe = subprocess.run(
        [sys.executable, "-c", bound], env=environment, preexec_fn=without_privileges, capture_output=True, check=False
    )
    if not probe.returncode:
        pytest.skip("permission bits do not bind this user, and its privileges cannot be dropped")
    return subprocess.run(
        words, cwd="/", env=environment, preexec_fn=without_privileges, capture_output=True, text=True, check=False
    )


def made(path: Path, mode: int) -> Path:
    path.mkdir()
    path.chmod(mode)
    return path


def test_a_private_folder_serves_where_package_and_home_cannot_be_written(package: Path, tmp_path: Path) -> None:
    temporary = made(tmp_path / "temporary", 0o755)
    done = run(package, SAY, temporary)
    assert (done.stdout, done.stderr) == ("42 None\n", "")
    [folder] = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.suffix for path in sorted(folder.rglob("*.nb?"))] == [".nbc", ".nbi"]


@pytest.mark.parametrize("bad", ["nothing", "unwritable", "open to all", "of a link", "open parent"])
def test_without_any_safe_folder_it_compiles_and_says_so_once(package: Path, tmp_path: Path, bad: str) -> None:
    temporary = tmp_path / "temporary"
    if bad != "nothing":
        made(temporary, {"unwritable": 0o555, "open parent": 0o777}.get(bad, 0o755))
    if bad == "open to all":
        made(temporary / FOLDER, 0o777)
    if bad == "of a link":
        made(temporary / "elsewhere", 0o700)
        (temporary / FOLDER).symlink_to("elsewhere")
    done = run(package, SAY_TWICE, temporary)
    assert not done.returncode, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("42 Diagnostic(code='W0015'") and second == "None", done.stderr
    assert not list(temporary.rglob("*.nb?"))


def test_a_folder_of_another_user_is_not_used(package: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make folders of another user")
    temporary = made(tmp_path / "temporary", 0o1777)
    os.chown(made(temporary / FOLDER, 0o777), 65534, 65534)
    done = run(package, SAY, temporary)
    assert done.stdout.startswith("42 Diagnostic(code='W0015'"), done.stderr


def test_damaged_cache_files_are_not_the_end(package: Path, tmp_path: Path) -> None:
    temporary = made(tmp_path / "temporary", 0o755)
    run(package, SAY, temporary)
    for path in temporary.rglob("*.nbi"):
        path.write_bytes(b"no index")
    assert run(package, SAY, temporary).stdout.startswith("42 ")


def test_a_helper_that_has_changed_is_noticed(tmp_path: Path) -> None:
    kernel, helper = tmp_path / "kernel.py", tmp_path / "helper.py"
    kernel.write_text(TINY.replace("2 * x", "helped(x)").replace("\n\n\n", "\nfrom helper import helped\n\n\n", 1))
    code = "import kernel; print(kernel.twice(21), len(kernel.twice.stats.cache_hits))"
    environment = {"PYTHONPATH": f"{tmp_path}:{Path(holdfast.__file__).parent.parent}", "PYTHONDONTWRITEBYTECODE": "1"}

    def said(factor: int) -> str:
        helper.write_text(f"from numba import njit\n\n\n@njit\ndef helped(x):\n    return {factor} * x\n")
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert [said(factor).split() for factor in (2, 2, 3)] == [["42", "0"], ["42", "1"], ["63", "0"]]


def test_kernels_take_helpers_from_their_own_folder_only() -> None:
    package = Path(holdfast.__file__).parent
    for file in build_kernels.kernel_files(package):
        own = ".".join(("holdfast", *file.relative_to(package).parent.parts, ""))
        taken = re.findall(r"^from (holdfast\.[\w.]+) import", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert [name for name in taken if name != "holdfast.compilation" and not name.startswith(own)] == []


@pytest.mark.only_with_numba("pytest --kernels numba runs it")
def test_a_program_runs_with_nothing_to_write_to(package: Path, tmp_path: Path) -> None:
    program = tmp_path / "reach.dl"
    program.write_text("edge(1, 2). edge(2, 3). two(x, z) :- edge(x, y), edge(y, z).\n", encoding="utf-8")
    code = "import sys; from holdfast.cli import main; sys.exit(main.run())"
    done = run(package, code, tmp_path / "nothing", "run", str(program))
    assert done.returncode == 0, done.stderr
    assert "two: 1 fact\n" in done.stdout
    assert done.stderr.count("warning[W0015]") == 1
