"""The installed command as a process: what only shows from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUN = [sys.executable, "-c", "import sys; from holdfast.cli.main import run; sys.exit(run())"]


def test_the_version_imports_nothing_heavy() -> None:
    code = (
        "import sys; from holdfast.cli.main import run; run(['--version']);"
        "print([m for m in ('numpy', 'numba', 'pyarrow', 'lark', 'rich', 'pyoxigraph') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[1] == "[]"


def test_check_imports_no_engine(reach: Path) -> None:
    code = (
        "import sys; from holdfast.cli.main import run; run(['check', 'reach.dl']);"
        "print([m for m in ('numba', 'pyarrow', 'rich', 'pandas', 'pyoxigraph') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[1] == "[]"


def test_an_old_encoding_is_no_error(reach: Path) -> None:
    Path("facts/edge.facts").write_text("".join(f"{n}\t{n + 1}\n" for n in range(9)), encoding="utf-8")
    done = subprocess.run(
        [*RUN, "run", str(reach), "-F", "facts"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "\\u2026 and 25 more" in done.stdout


def test_a_closed_pipe_is_quiet(reach: Path) -> None:
    Path("facts/edge.facts").write_text("".join(f"{n}\t{n + 1}\n" for n in range(300)), encoding="utf-8")
    query = subprocess.Popen(
        [*RUN, "query", str(reach), "-F", "facts", "path(x, y)"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert query.stdout is not None
    assert query.stderr is not None
    query.stdout.readline()
    query.stdout.close()
    errors = query.stderr.read()
    query.stderr.close()
    assert query.wait(60) == 0
    assert b"Traceback" not in errors
    assert b"Broken" not in errors


@pytest.mark.skipif(sys.platform == "win32", reason="shells are different there")
@pytest.mark.parametrize(
    ("redirected", "code", "reported"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, ""),
        ("<&-", 0, ""),
        pytest.param(
            "> /dev/full",
            2,
            "error[E0014]: the output cannot be written: No space left on device",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full"),
        ),
    ],
)
def test_closed_and_full_streams(redirected: str, code: int, reported: str, reach: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirected}', "sh", *RUN, "check", str(reach)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.strip() == reported


@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
def test_ctrl_c_stops_a_run_and_leaves_nothing_half_written() -> None:
    Path("count.dl").write_text("n(0).\nn(x + 1) :- n(x), x < 1000000000.\n.output n\n", encoding="utf-8")
    with subprocess.Popen(
        [*RUN, "run", "count.dl", "-D", "out", "--stats", "s.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            time.sleep(4)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert b"stopped by Ctrl-C" in errors
    assert not list(Path().glob("out/*"))
    assert not Path("s.json").exists()


def streaming(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RUN, "stream", "reach.dl", "--updates", "-", *words],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_stream_answers_each_line_before_the_next_is_there(reach: Path) -> None:
    process = streaming("--changes", "c.jsonl")
    assert process.stdin is not None
    for number in range(1, 4):
        process.stdin.write(f'{{"insert": {{"edge": [[{number}, {number + 1}]]}}}}\n')
        process.stdin.flush()
        patience = time.monotonic() + 60
        while not (Path("c.jsonl").exists() and Path("c.jsonl").read_bytes().count(b"\n") == number):
            assert time.monotonic() < patience, f"no answer to update {number}"
            time.sleep(0.01)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")


def test_a_stream_answers_on_standard_output_at_once(reach: Path) -> None:
    process = streaming()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"insert": {"edge": [[1, 2]]}}\n')
    process.stdin.flush()
    assert process.stdout.readline().startswith('{"update": 1, ')
    process.communicate(timeout=60)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are different there")
def test_ctrl_c_ends_a_stream_and_says_how_far_it_came(reach: Path) -> None:
    process = streaming("-D", "out")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"insert": {"edge": [[1, 2]]}}\n')
    process.stdin.flush()
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped by Ctrl-C after 1 update; " in errors
    assert "Traceback" not in errors
    assert not Path("out").exists()
