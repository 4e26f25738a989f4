"""Every way to fail ends in words and an exit code, never in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli import check, main
from holdfast.errors import DamagedData, Diagnostic, LimitReached
from tests.cli.shell import holdfast

COMMANDS = ("check", "fmt", "graph", "plan", "run", "query")


def words_for(command: str, path: str) -> list[str]:
    return [command, path, "path(1, x)"] if command == "query" else [command, path]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_named_and_a_similar_one_offered(command: str, reach: Path) -> None:
    result = holdfast(*words_for(command, "raech.dl"))
    assert result.code == 2
    assert result.err == ("error[E0011]: there is no file raech.dl\n   = help: did you mean reach.dl?\n")
    assert result.out == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_json_errors_go_to_stdout(command: str) -> None:
    result = holdfast(*words_for(command, "nope.dl"), "--json")
    assert result.code == 2
    assert result.json["ok"] is False
    assert [item["code"] for item in result.json["diagnostics"]] == ["E0011"]
    assert result.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "reach.dl", "-D", "facts/edge.facts"], "facts/edge.facts is a file, and results go into a folder"),
        (["run", "reach.dl", "-D", "reach.dl/out"], "reach.dl is a file, and results go into a folder"),
        (["run", "reach.dl", "--stats", "facts"], "facts is a folder, not a file"),
        (["run", "reach.dl", "--stats", "no/s.json"], "no/s.json cannot be written: there is no folder no"),
        (["graph", "reach.dl", "-o", "facts"], "facts is a folder, not a file"),
    ],
)
def test_what_cannot_be_written_is_said_before_anything_is_computed(
    words: list[str], message: str, reach: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.run_program.evaluate", None)
    result = holdfast(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error[E0014]: ") and message in result.err


def test_a_name_that_is_hardly_similar_is_not_offered(reach: Path) -> None:
    assert "did you mean" not in holdfast("check", "road.dl").err


def test_a_missing_folder_says_how_far_the_path_exists() -> None:
    assert "there is no folder programs either" in holdfast("check", "programs/reach.dl").err


def test_a_folder_in_place_of_a_program_offers_the_program_inside() -> None:
    Path("project").mkdir()
    Path("project/main.dl").write_text("", encoding="utf-8")
    result = holdfast("check", "project")
    assert result.code == 2
    assert "project is a folder" in result.err
    assert "project/main.dl" in result.err


def test_a_missing_facts_folder_is_named(reach: Path) -> None:
    result = holdfast("run", reach, "-F", "fact")
    assert (result.code, result.out) == (2, "")
    assert "there is no file or folder fact\n" in result.err
    assert "did you mean facts?" in result.err


def test_a_program_that_is_not_text_is_refused() -> None:
    Path("binary.dl").write_bytes(b"p(1).\n\xff\xfe")
    result = holdfast("check", "binary.dl")
    assert result.code == 2
    assert result.err == "error[E0012]: binary.dl is not UTF-8 text (byte 7)\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["frobnicate"], "unknown command frobnicate"),
        (["check"], "PROGRAM is missing"),
        (["check", "--xyzzy", "x.dl"], "unknown option --xyzzy"),
        (["check", "x.dl", "y.dl"], "unexpected arguments: y.dl"),
        (["graph", "x.dl", "--format", "png"], "--format must be one of 'text', 'dot', 'svg', 'json', not png"),
        (["graph", "x.dl", "--json=3"], "--json takes no value"),
        (["run", "x.dl", "-D"], "-D needs a value"),
        (["run", "x.dl", "--limit-facts", "many"], "the value of --limit-facts is not a whole number"),
        (["run", "x.dl", "--limit-facts", "0"], "the value of --limit-facts must be at least 1"),
        (["run", "x.dl", "--limit-seconds", "soon"], "the value of --limit-seconds is not a number"),
        (["pipeline", "frobnicate"], "unknown command frobnicate"),
    ],
)
def test_bad_usage_is_an_error_of_ours(words: list[str], message: str) -> None:
    result = holdfast(*words)
    assert result.code == 2
    assert result.err.startswith("error[E0010]: ")
    assert message in result.err
    assert "--help` lists the options and arguments" in result.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chekc", "x.dl"], "check"),
        (["run", "x.dl", "--limt-facts", "3"], "--limit-facts"),
    ],
)
def test_a_similar_name_is_offered(words: list[str], meant: str) -> None:
    assert f"did you mean {meant}?" in holdfast(*words).err


def test_all_errors_of_a_program_are_shown_at_once() -> None:
    Path("bad.dl").write_text("p(x) :- q(y).\nr(z) :- q(1), !s(z, w).\nq(1).\n", encoding="utf-8")
    result = holdfast("check", "bad.dl")
    assert result.code == 2
    assert "--> bad.dl:1:" in result.err
    assert "--> bad.dl:2:" in result.err


def fail_with(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(path: Path, *given: object) -> None:
        raise failure

    monkeypatch.setattr(check, "load", load)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (LimitReached(Diagnostic("E0001", "too many")), 3),
        (DamagedData(Diagnostic("E0001", "torn")), 4),
        (MemoryError(), 3),
        (RuntimeError("boom"), 2),
        (PermissionError(13, "Permission denied", "out/path.csv"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(failure: BaseException, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(failure, monkeypatch)
    result = holdfast("check", "any.dl")
    assert result.code == code
    assert "Traceback" not in result.err
    assert result.err


def test_an_unexpected_failure_is_called_our_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(RuntimeError("boom"), monkeypatch)
    result = holdfast("check", "any.dl")
    assert result.err == (
        "error[E0002]: internal error: RuntimeError: boom\n"
        "   = note: this is a bug in holdfast, not in your program\n"
        "   = help: run the command again with --debug and report what it prints, with the program if you can\n"
    )


@pytest.mark.parametrize(
    "words", [["--debug", "check", "any.dl"], ["check", "--debug", "any.dl"], ["check", "any.dl", "--debug"]]
)
def test_debug_shows_the_traceback_wherever_it_stands(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(RuntimeError("boom"), monkeypatch)
    result = holdfast(*words)
    assert result.code == 2
    assert "Traceback" in result.err
    assert "error[E0002]" in result.err


def test_debug_after_a_double_dash_is_a_word_like_any_other() -> None:
    assert "there is no file --debug" in holdfast("check", "--", "--debug").err


def test_a_reader_that_goes_away_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(BrokenPipeError(), monkeypatch)
    left = []
    monkeypatch.setattr(main, "_leave_pipe", lambda: left.append(True))
    result = holdfast("check", "any.dl")
    assert (result.code, result.out, result.err, left) == (0, "", "", [True])


def test_colour_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" not in holdfast("check", "nope.dl").err
    assert "\x1b[" in holdfast("check", "nope.dl", terminal=True).err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in holdfast("check", "nope.dl", terminal=True).err


def test_json_errors_carry_the_place() -> None:
    Path("bad.dl").write_text("p(x) :- q(y).\nq(1).\n", encoding="utf-8")
    [found] = holdfast("check", "bad.dl", "--json").json["diagnostics"]
    assert (found["severity"], found["file"], found["line"]) == ("error", "bad.dl", 1)
    assert json.dumps(found)


@pytest.mark.parametrize(("command", "more"), [("query", ["list(l)"]), ("run", [])])
def test_a_record_that_is_too_deep_for_json(command: str, more: list[str]) -> None:
    rules = "upto(0, nil).\nupto(n + 1, [n, l]) :- upto(n, l), n < 1500.\nlist(l) :- upto(1500, l).\n.output list\n"
    types = ".type List = [head: number, tail: List]\n.decl upto(n: number, l: List)\n.decl list(l: List)\n"
    Path("deep.dl").write_text(types + rules, encoding="utf-8")
    result = holdfast(command, "deep.dl", *more, "--json")
    assert result.code == 2
    assert "E0612" in result.out + result.err
    assert holdfast(command, "deep.dl", *more).code == 0
