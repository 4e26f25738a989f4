"""Shells complete commands and options."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from holdfast.cli.main import options_of_commands
from tests.cli.shell import holdfast

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    code = f"COMP_WORDS=(holdfast {line}); COMP_CWORD={len(words)}; _holdfast; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    script = holdfast("completion", "bash").out
    done = subprocess.run(["bash", "-c", script + code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@needs_bash
def test_bash_completes_commands_and_their_options() -> None:
    assert completed("") == [
        *("check", "fmt", "graph", "plan", "run", "query", "why", "why-not", "repair", "check-proof"),
        *("stream", "impact", "pipeline", "store", "bench", "completion"),
    ]
    assert completed("pi") == ["pipeline"]
    assert completed("pipeline", "r") == ["run", "restore"]
    assert completed("--v") == ["--version"]
    assert completed("run", "p.dl", "--fac") == ["--facts"]
    assert completed("--debug", "query", "--limit-f") == ["--limit-facts"]
    assert completed("run", "p.dl", "-F", "fac") == []  # then bash offers files


@needs_bash
@pytest.mark.parametrize(("path", "options"), options_of_commands().items())
def test_every_option_is_completed(path: str, options: list[str]) -> None:
    assert sorted(completed(*path.split(), "-")) == sorted(options)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_the_script(shell: str, tmp_path: Path) -> None:
    script = holdfast("completion", shell).out
    assert "pipeline" in script and "limit-facts" in script
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    path = tmp_path / "script"
    path.write_text(script, encoding="utf-8")
    assert subprocess.run([shell, "-n", path], capture_output=True, text=True).returncode == 0


def test_an_unknown_shell_is_refused() -> None:
    result = holdfast("completion", "dos")
    assert result.code == 2 and "E0010" in result.err
