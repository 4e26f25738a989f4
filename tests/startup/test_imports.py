"""What a start imports: counted in modules, not in seconds."""

from __future__ import annotations

import json

import pytest

from holdfast import compilation
from tests.startup.processes import ANSWER, TINY, run

HEAVY = [
    "numba",
    "llvmlite",
    "pyarrow",
    "pyoxigraph",
    "rich",
    "pandas",
    "pyspark",
    "typer",
    "pydantic",
    "ssl",
    "socket",
    "numpy",
    "lark",
]
LEFT = f"import sys, json; print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
COMMANDS = [["run", "tiny.dl"], ["run", "tiny.dl", "--json"], ["query", "tiny.dl", "path(1, x)"]]
needs_module = pytest.mark.skipif(compilation.built is None, reason="the kernels are not built ahead here")


def imported(code: str) -> list[str]:
    found: list[str] = json.loads(run(code + LEFT).splitlines()[-1])
    return found


def test_the_package_alone_imports_nothing_heavy() -> None:
    assert imported("import holdfast;") == []


@needs_module
def test_a_tiny_program_imports_numpy_only() -> None:
    assert imported(ANSWER) == ["numpy"]


@needs_module
def test_facts_and_updates_of_python_need_no_arrow() -> None:
    code = (
        "import holdfast; kb = holdfast.from_text('p(x) :- e(x, _).', {'e': [(1, 'a'), (2, 'b')]});"
        "kb.apply(holdfast.Update(insert={'e': [(3, 'c')]})); list(kb.query('p(x), x > 1'));"
    )
    assert imported(code) == ["numpy"]


@needs_module
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_on_a_tiny_program_imports_numpy_only(
    words: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = tmp_path_factory.mktemp("tiny") / "tiny.dl"
    program.write_text(TINY, encoding="utf-8")
    words = [str(program) if word == "tiny.dl" else word for word in words]
    assert imported(f"from holdfast.cli.main import run; assert run({words!r}) == 0;") == ["numpy"]


@needs_module
def test_the_command_leaves_the_environment_as_it_was(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = tmp_path_factory.mktemp("tiny") / "tiny.dl"
    program.write_text(TINY, encoding="utf-8")
    code = f"import os; from holdfast.cli.main import run; before = dict(os.environ); run(['run', {str(program)!r}]);"
    assert run(code + "print(before == dict(os.environ))").splitlines()[-1] == "True"


def test_a_check_imports_no_engine(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = tmp_path_factory.mktemp("tiny") / "tiny.dl"
    program.write_text(TINY, encoding="utf-8")
    assert imported(f"from holdfast.cli.main import run; run(['check', {str(program)!r}]);") in ([], ["numpy"])


def test_objects_grow_old_only_when_something_is_imported() -> None:
    code = (
        "import gc, holdfast; holdfast.from_text; gc.collect(); young = [[] for _ in range(100)];"
        "holdfast.from_text; holdfast.Update; print(len(gc.get_objects(0)) >= 100, gc.isenabled())"
    )
    assert run(code) == "True True"
    assert run("import gc, holdfast; gc.disable(); holdfast.from_text; print(gc.isenabled())") == "False"
