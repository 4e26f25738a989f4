"""Where the kernels come from: what is installed decides, and nothing wrong is ever taken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast import compilation
from tests.startup.processes import ANSWER, ANSWERS, PACKAGE, WITHOUT, installed, run, said, started

FILE = "_kernels.abi3.so"
FROM = "from holdfast import compilation; print(compilation.built is not None);"
needs_module = pytest.mark.skipif(compilation.built is None, reason="the kernels are not built ahead here")


def listing(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*"))


@pytest.mark.skipif(not (PACKAGE / FILE).exists(), reason="the kernels are not built ahead here")
def test_a_module_that_is_there_fits_its_sources() -> None:
    assert run(FROM) == "True", "kernels were edited after they were built: `make` or `pip install -e .` builds them"


@needs_module
def test_numba_is_not_needed_to_run(tmp_path: Path) -> None:
    assert run(WITHOUT.format(names=("numba", "llvmlite")) + ANSWER, installed(tmp_path)) == ANSWERS


@needs_module
def test_nothing_is_written_and_no_home_is_needed(tmp_path: Path) -> None:
    package = installed(tmp_path)
    for path in [*package.rglob("*"), package]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = listing(tmp_path)
    nowhere = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "TMPDIR": "/nonexistent"}
    assert run(ANSWER, package, **nowhere) == ANSWERS
    assert listing(tmp_path) == before
    for path in [package, *package.rglob("*")]:
        path.chmod(0o755)


@needs_module
def test_two_first_runs_at_once(tmp_path: Path) -> None:
    package = installed(tmp_path)
    both = [started(ANSWER, package) for _ in range(2)]
    assert [said(process) for process in both] == [ANSWERS, ANSWERS]


@needs_module
@pytest.mark.parametrize(
    "file",
    ["backends/memory/kernels/hashing.py", "backends/memory/kernels/tallies.py", "modules/graph_kernels/walking.py"],
)
def test_a_module_of_other_sources_is_not_taken(file: str, tmp_path: Path) -> None:
    package = installed(tmp_path)
    with (package / file).open("a", encoding="utf-8") as source:
        source.write("# another comment\n")
    assert run(FROM, package) == "False"


@needs_module
@pytest.mark.parametrize("content", [b"", b"\x7fELF of another machine"])
def test_a_module_that_cannot_be_loaded_is_not_taken(content: bytes, tmp_path: Path) -> None:
    package = installed(tmp_path)
    (package / FILE).write_bytes(content)
    assert run(FROM, package) == "False"


@needs_module
def test_another_machine_s_module_is_not_taken(tmp_path: Path) -> None:
    package = installed(tmp_path)
    code = bytearray((package / FILE).read_bytes())
    code[18:20] = (0xF3, 0x00) if code[18] != 0xF3 else (0x3E, 0x00)  # ELF's machine: RISC-V, or x86-64
    (package / FILE).write_bytes(code)
    assert run(FROM, package) == "False"


def test_without_module_and_numba_the_error_says_what_to_install(tmp_path: Path) -> None:
    package = installed(tmp_path)
    (package / FILE).unlink(missing_ok=True)
    code = (
        WITHOUT.format(names=("numba",))
        + f"import holdfast\ntry:\n    {ANSWER}\nexcept holdfast.HoldfastError as error:\n    print(error)"
    )
    message = run(code, package)
    assert "error[E0930]: there are no compiled kernels for this machine" in message
    assert "holdfast[jit]" in message


@pytest.mark.parametrize("content", [b"", b"no pickle", None])
def test_the_grammar_is_read_where_its_tables_do_not_fit(content: bytes | None, tmp_path: Path) -> None:
    package = installed(tmp_path)
    tables = package / "language/grammar.pickle"
    if content is None:
        with (package / "language/grammar.lark").open("a", encoding="utf-8") as grammar:
            grammar.write("\n// another comment\n")
    else:
        tables.write_bytes(content)
    code = (
        "from holdfast.language import parse, tables; print(tables.fitting() is None);"
        "print(len(parse('p(1). q(x) :- p(x).').items))"
    )
    assert run(code, package).split() == ["True", "2"]


def test_no_c_compiler_is_a_reason_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    from tools import build_kernels

    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(build_kernels.importlib.util, "find_spec", lambda name: name == "numba" or None)
    with pytest.raises(build_kernels.CannotBuildError, match="there is no C compiler"):
        build_kernels.build(tmp_path / FILE)
    assert listing(tmp_path) == []
