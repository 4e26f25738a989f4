"""`--limit-memory` holds for the process: what it takes at its peak, beyond what it takes for nothing, is measured.

The bound is `FACTOR` times the limit: sizes are counted before memory is taken, and some of them are estimates.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

FACTOR = 2
LIMIT = 64  # MB
BLOCKS = 400  # of 1 MB in a bomb
SERVER = """
import json, os, re, sys
from pathlib import Path
import numpy, pyarrow.csv, pyarrow.json, pyarrow.parquet, pyoxigraph, rich.table
import holdfast
from holdfast.cli import main

def kilobytes(what):
    return int(re.search(what + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

def run(folder, words):
    os.chdir(folder)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    before = kilobytes("VmRSS")
    code = main.run(words)
    sys.stdout.flush()
    Path("peak").write_text(str((kilobytes("VmHWM") - before) // 1024))
    os._exit(code)

holdfast.from_text("e(1, 2). p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).")
for line in sys.stdin:
    child = os.fork()
    if not child:
        run(*json.loads(line))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Loads everything once, and forks for each command: a process of its own, without a start of its own."""
pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from /proc")


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str
    peak: int  # MB


class Server:
    """Runs commands in processes whose memory is measured."""

    def __init__(self) -> None:
        words = [sys.executable, "-c", SERVER]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *words: str, limit: int | None = LIMIT) -> Run:
        given, taken = self._process.stdin, self._process.stdout
        assert given is not None and taken is not None
        limited = () if limit is None else ("--limit-memory", f"{limit}M")
        given.write(json.dumps([str(Path.cwd()), [*words, *limited]]) + "\n")
        given.flush()
        code = int(taken.readline())
        out, err, peak = (Path(name).read_text(encoding="utf-8") for name in ("stdout", "stderr", "peak"))
        return Run(code, out, err, int(peak))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@pytest.fixture(scope="module")
def run() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def lines(form: str, count: int) -> bytes:
    return "".join(form.format(i) for i in range(count)).encode()


def bomb(unit: bytes) -> bytes:
    """A small gzip file that unpacks to many megabytes."""
    return gzip.compress(unit * (2**20 // len(unit))) * BLOCKS


def parquet(path: Path, compression: str) -> None:
    strings = pa.array(["x" * 1000 + str(number % 5) for number in range(150_000)])
    pq.write_table(pa.table({"x": strings, "y": range(150_000)}), path, compression=compression, use_dictionary=False)


TYPED = ".decl s(x: symbol, y: number)\n.decl t(x: symbol, y: number)\nt(x, y) :- s(x, y).\n"
OPEN = "t(x, y) :- s(x, y).\n"
QUOTED = TYPED + '.input s(filename="s.csv", rfc4180=true)\n'
RDF = "t(x, y) :- <http://e/p>(x, y).\n"
STATEMENT = '<http://e/subject-{0}> <http://e/p> "object number {0}" .\n'
XML = b'<?xml version="1.0"?>\n' + b" " * 1000
MANY = 700_000
CASES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "delimited": (TYPED, "s.facts", lambda: lines("string number {0}\t{0}\n", MANY)),
    "delimited, types open": (OPEN, "s.facts", lambda: lines("string number {0}\t{0}\n", MANY)),
    "delimited, the exact way": (TYPED, "s.facts", lambda: lines("string number {0}\t0b1\n", MANY)),
    "numbers": ("t(x, y) :- s(x, y).\n", "s.facts", lambda: lines("{0}\t{0}\n", 2 * MANY)),
    "quoted": (QUOTED, "s.csv", lambda: lines('"string, number {0}",{0}\n', MANY)),
    "json arrays": (TYPED, "s.jsonl", lambda: lines('["string number {0}", {0}]\n', MANY)),
    "json objects": (OPEN, "s.jsonl", lambda: lines('{{"c1": "string number {0}", "c2": {0}}}\n', MANY)),
    "json, not ascii": (TYPED, "s.jsonl", lambda: lines('["\U0001f600 number {0}", {0}]\n', MANY)),
    "n-triples": (RDF, "x.nt", lambda: lines(STATEMENT, MANY)),
    "turtle": (RDF, "x.ttl", lambda: b"@prefix e: <http://e/> .\n" + lines("e:{0} e:p e:{0} .\n", MANY)),
    "gzip, delimited": (TYPED, "s.facts.gz", lambda: bomb(b"a\t1\n")),
    "gzip, one line": (TYPED, "s.facts.gz", lambda: bomb(b"a")),
    "gzip, quoted": (QUOTED.replace("s.csv", "s.csv.gz"), "s.csv.gz", lambda: bomb(b'"')),
    "gzip, json": (TYPED, "s.jsonl.gz", lambda: bomb(b'["a", 1]\n')),
    "gzip, n-triples": (RDF, "x.nt.gz", lambda: bomb(b'<http://e/s> <http://e/p> "a" .\n')),
    "gzip, rdf/xml": (RDF, "x.rdf.gz", lambda: bomb(b" ")),
}


def prepared(text: str, name: str, content: bytes, tmp_path: Path) -> tuple[str, ...]:
    (tmp_path / "p.dl").write_text(text, encoding="utf-8")
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / name).write_bytes(content)
    return str(tmp_path / "p.dl"), "-F", str(tmp_path / "facts")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_counts(run: Server, case: str, tmp_path: Path) -> None:
    text, name, content = CASES[case]
    done = run("run", *prepared(text, name, content(), tmp_path))
    assert done.code == 3 and "error[E0804]" in done.err and "help:" in done.err, done.err
    assert done.peak < FACTOR * LIMIT, done.err


@pytest.mark.parametrize("compression", ["zstd", "snappy"])
def test_parquet_with_long_strings(run: Server, compression: str, tmp_path: Path) -> None:
    words = prepared(TYPED, "unread", b"", tmp_path)
    parquet(tmp_path / "facts/s.parquet", compression)
    done = run("run", *words)
    assert done.code in (0, 3) and done.peak < FACTOR * LIMIT, done.err


WIDE = """\
.decl word(n: number)
.decl long(x: symbol)
.decl wide(n: number, x: symbol)
long(x) :- x = "{long}".
wide(n, x) :- n = range(0, {count}), long(x).
.output wide{how}
"""


@pytest.mark.parametrize(
    "how", ["", '(filename="w.jsonl")', '(filename="w.parquet")', "(rfc4180=true)", "(escape=true)"]
)
def test_wide_results_are_written_and_shown_within_the_limit(run: Server, how: str, tmp_path: Path) -> None:
    """30,000 rows with a string of 10,000 characters are 300 MB as text, and next to nothing as facts."""
    text = WIDE.format(long="w" * 10_000, count=30_000, how=how)
    words = prepared(text, "unread", b"", tmp_path)
    for more in (("-D", "out"), ()) if not how else (("-D", "out"),):
        done = run("run", *words, *more)
        assert done.code == 0 and done.peak < FACTOR * LIMIT, done.err
    if not how:
        assert run("run", *words, "--json").peak < FACTOR * LIMIT
        assert run("query", *words[:1], "wide(n, x)").peak < FACTOR * LIMIT


@pytest.mark.parametrize(
    "words", [("run", "p.dl"), ("run", "p.dl", "--json"), ("run", "p.dl", "-D", "out"), ("query", "p.dl", "t(x, y)")]
)
def test_rows_that_are_put_in_order_count(run: Server, words: tuple[str, ...], tmp_path: Path) -> None:
    text = "t(x, y) :- x = range(0, 600), y = range(0, 1000).\n.output t\n"
    (tmp_path / "p.dl").write_text(text, encoding="utf-8")
    done = run(*words, limit=40)
    assert done.code == 3 and "in order take more than 40 MiB" in done.out + done.err, done.err
    assert '"rows"' not in done.out and not Path("out").exists()
    assert done.peak < FACTOR * 40


@pytest.mark.parametrize("name", ["u.jsonl.gz", "folder/u.jsonl.gz"])
def test_an_update_that_is_a_bomb(run: Server, name: str, tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("t(x) :- s(x).\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/END").touch()
    (tmp_path / name).write_bytes(bomb(b" "))
    done = run("stream", "p.dl", "--updates", name.partition("/")[0])
    assert done.code == 3 and "error[E0804]" in done.err and done.peak < FACTOR * LIMIT, done.err


LONG = 50_000_000


@pytest.mark.parametrize(
    ("text", "name", "form"),
    [
        (TYPED, "s.facts", b"%b\t1\n"),
        (QUOTED, "s.csv", b'"%b",1\n'),
        (QUOTED, "s.csv", b"%b,1\n"),
        (TYPED, "s.jsonl", b'["%b", 1]\n'),
        (RDF, "x.nt", b'<http://e/s> <http://e/p> "%b" .\n'),
        (TYPED, "s.facts", b"%b\n"),  # refused, with a message
        (TYPED, "s.facts", b"a\t%b\n"),
        (TYPED, "s.jsonl", b'["a", "%b"]\n'),
    ],
)
def test_a_value_of_50_mb_takes_a_few_times_its_size(
    run: Server, text: str, name: str, form: bytes, tmp_path: Path
) -> None:
    words = prepared(text, name, form % (b"x" * LONG), tmp_path)
    done = run("run", *words, limit=None)
    assert done.code in (0, 2) and "E0002" not in done.err
    assert done.peak * 2**20 < 16 * LONG
    assert len(done.out) + len(done.err) < 100_000


WIDE_ROW = """\
.decl s(x: symbol)
.decl t(x: symbol, y: symbol)
t(x, cat(x, x)) :- s(x).
.output t(filename="t.{ending}")
"""


@pytest.mark.parametrize("limit", [80, 160])
@pytest.mark.parametrize(
    "words",
    [
        ("query", "cat(x, x)"),
        ("query", f"cat({', '.join('x' * 40)})"),
        ("query", "cat(x, x)", "--json"),
        ("run", "csv"),
        ("run", "jsonl"),
        ("run", "parquet"),
    ],
    ids=" ".join,
)
def test_copies_of_a_long_value_count(run: Server, words: tuple[str, ...], limit: int, tmp_path: Path) -> None:
    """A value of 10 MB, and what functors and formats make of it."""
    command, what, *more = words
    program = prepared(WIDE_ROW.format(ending=what), "s.facts", b"x" * 10_000_000 + b"\n", tmp_path)
    if command == "query":
        Path(program[0]).write_text(".decl s(x: symbol)\n", encoding="utf-8")
        done = run("query", program[0], f"s(x), y = {what}", *program[1:], *more, limit=limit)
    else:
        done = run("run", *program, "-D", "out", limit=limit)
    assert done.code in (0, 3), done.err
    assert done.code == 0 or "error[E0804]" in done.err or "E0804" in done.out
    assert done.peak < FACTOR * limit, done.err
    assert done.code == 0 or not Path("out").exists()


def test_many_files_count_together(run: Server, tmp_path: Path) -> None:
    """Each of them fits the limit; all of them are ten times as large."""
    names = [f"r{number}" for number in range(64)]
    text = "".join(f".decl {name}(x: number, y: number, z: number, u: number)\n" for name in names)
    words = prepared(text, "unread", b"", tmp_path)
    for name in names:
        (tmp_path / f"facts/{name}.facts").write_bytes(lines("{0}\t{0}\t{0}\t{0}\n", 100_000))
    done = run("run", *words, limit=LIMIT)
    assert done.code == 3 and "error[E0804]" in done.err and done.peak < FACTOR * LIMIT, done.err


PYTHON = """
import os, sys
from itertools import repeat
import numpy, pyarrow as pa
import holdfast
from holdfast import HoldfastError, Limits, Update

def kilobytes(what):
    return int(next(line for line in open("/proc/self/status") if line.startswith(what)).split()[1])

PROGRAM = ".decl s(x: symbol, y: number)\\n.decl t(y: number)\\nt(y) :- s(_, y).\\n"
MANY, LIMIT = 600_000, 20

def strings():
    return (f"string number {i}" for i in range(MANY))

def rows():
    return list(zip(strings(), range(MANY)))

def endless():
    return ((f"string number {i}", i) for i in range(1 << 40))

def loaded(facts):
    return lambda: holdfast.from_text(PROGRAM, facts={"s": facts}, limits=Limits(memory=LIMIT << 20))

def applied(**update):
    base = holdfast.from_text(PROGRAM, limits=Limits(memory=LIMIT << 20))
    return lambda: base.apply(Update(**update))

MADE = {
    "rows": lambda: loaded(rows()),
    "rows of numbers": lambda: loaded(list(zip(repeat("a", MANY), range(MANY)))),
    "dicts": lambda: loaded([{"x": x, "y": y} for x, y in rows()]),
    "columns": lambda: loaded({"x": list(strings()), "y": list(range(MANY))}),
    "an endless iterator": lambda: loaded(endless()),
    "endless columns": lambda: loaded({"x": (row[0] for row in endless()), "y": iter(range(1 << 40))}),
    "an arrow table": lambda: loaded(pa.table({"x": list(strings()), "y": range(MANY)})),
    "an update": lambda: applied(insert={"s": rows()}),
    "an update of numbers": lambda: applied(insert={"s": list(zip(repeat("a", MANY), range(MANY)))}),
    "an update that deletes": lambda: applied(delete={"s": rows()}),
}
holdfast.from_text("e(1, 2). p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).")
call = MADE[sys.argv[1]]()
open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from now
before = kilobytes("VmRSS")
try:
    call()
    code = "nothing"
except HoldfastError as error:
    code = error.diagnostics[0].code
print(code, (kilobytes("VmHWM") - before) // 1024 < 2 * LIMIT, (kilobytes("VmHWM") - before) // 1024)
"""


@pytest.mark.parametrize("case", [line.split('"')[1] for line in PYTHON.splitlines() if line.endswith("),")])
def test_facts_given_as_python_data_count(case: str) -> None:
    done = subprocess.run([sys.executable, "-c", PYTHON, case], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("E0804 True"), (done.stdout, done.stderr[-1000:])
