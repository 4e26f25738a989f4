"""A machine without memory: a typed error, and the state before.  The system refuses memory to a process of its own."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast import Update
from holdfast.errors import LimitReached, OutOfMemory
from holdfast.knowledge.views import Views

LIMITED = """
import resource
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (400 << 20), resource.RLIM_INFINITY))
"""
CALLS = (
    """
import sys
import holdfast
from holdfast import Update
from holdfast.errors import LimitReached

engine, many = sys.argv[1], [(i,) for i in range(20_000)]
kb = holdfast.from_text("pair(x, y) :- n(x), m(y).", {"n": many, "m": [(1,)]}, engine=engine)
kb.apply(Update(insert={"m": [(2,)]}))
kb.query("n(x), m(y), x < y")
"""
    + LIMITED
    + """
calls = {
    "apply": lambda: kb.apply(Update(insert={"m": many})),
    "rules": lambda: kb.apply(Update(add_rules="all(x, y) :- n(x), n(y).")),
    "what_if": lambda: kb.what_if(Update(insert={"m": many})),
    "query": lambda: kb.query("n(x), n(y), x < y"),
    "open": lambda: holdfast.from_text("all(x, y) :- n(x), n(y).", {"n": many}, engine=engine),
}
for name, call in calls.items():
    try:
        call()
    except LimitReached as error:
        print(name, error.diagnostics[0].code, error.exit_code, isinstance(error, MemoryError))
        assert "Limits(memory=" in error.diagnostics[0].help
    assert (kb.version, kb.sizes()) == (1, {"pair": 40_000, "n": 20_000, "m": 2})
kb.apply(Update(insert={"m": [(3,)]}, delete={"n": [(0,)]}))
assert (kb.version, kb.sizes()) == (2, {"pair": 59_997, "n": 19_999, "m": 3})
assert set(kb.query("pair(5, y)")) == {(1,), (2,), (3,)}
"""
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as on Linux")


@pytest.mark.parametrize("engine", ["memory", "parted[2]"])
def test_a_call_that_is_too_large_for_the_machine(engine: str) -> None:
    found = subprocess.run([sys.executable, "-c", CALLS, engine], capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == [
        f"{name} E0015 3 True" for name in ("apply", "rules", "what_if", "query", "open")
    ]


def test_a_command_that_is_too_large_for_the_machine(tmp_path: Path) -> None:
    program = tmp_path / "pairs.dl"
    program.write_text("n(x) :- x = range(0, 30000).\npair(x, y) :- n(x), n(y).\n.output pair\n")
    run = LIMITED + "import sys; from holdfast.cli.main import run; sys.exit(run(sys.argv[1:]))"
    words = ["run", str(program), "-D", str(tmp_path / "out")]
    found = subprocess.run([sys.executable, "-c", run, *words], capture_output=True, text=True, timeout=300)
    assert found.returncode == 3, found.stderr
    assert found.stderr.startswith("error[E0015]: the machine is out of memory")
    assert "--limit-memory" in found.stderr and "Traceback" not in found.stderr
    assert not list(tmp_path.glob("out/*"))


def test_the_error_holds_nothing_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays in the frames of a call would take the memory that is needed to go on."""

    def fail(*_: object) -> None:
        raise MemoryError

    kb = holdfast.from_text("p(x) :- q(x).", {"q": [(1,)]})
    with monkeypatch.context() as patched, pytest.raises(OutOfMemory) as found:
        patched.setattr(Views, "change", fail)
        kb.apply(Update(insert={"q": [(2,)]}))
    assert found.value.__context__ is None and found.value.__cause__ is None
    assert len(found.traceback) == 2  # this test and the boundary
    assert isinstance(pickle.loads(pickle.dumps(found.value)), LimitReached)
    assert kb.version == 0 and set(kb["p"]) == {(1,)}
