"""The `holdfast` command: find the command, run it, and turn every failure into a message and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from holdfast.cli import codes, command_line, terminal
from holdfast.cli.command_line import Command
from holdfast.errors import Diagnostic, ExitCode, HoldfastError, UsageError, out_of_memory

INTERRUPTED = 130
"""The exit code that shells expect of a program stopped by Ctrl-C."""

COMMANDS: Final = {
    "check": "check.check",
    "fmt": "fmt.fmt",
    "graph": "graph.graph",
    "plan": "plan.plan",
    "run": "run_program.run_program",
    "query": "query.query",
    "why": "why.why",
    "why-not": "why_not.why_not",
    "repair": "repair.repair",
    "check-proof": "check_proof.check_proof",
    "stream": "stream.stream",
    "impact": "impact.impact",
    "pipeline run": "pipeline.run",
    "pipeline check": "pipeline.check",
    "pipeline snapshots": "pipeline.snapshots",
    "pipeline restore": "pipeline.restore",
    "store check": "store.check",
    "store log": "store.log",
    "store compact": "store.compact",
    "store backup": "store.backup",
    "store restore": "store.restore",
    "store export": "store.export",
    "bench compare": "bench.compare",
    "completion": "completion.completion",
}
"""Each command's function, by file in this folder; only the file of the given command is imported."""

GROUPS: Final = {
    "": (
        "Datalog: write rules, load facts, read what follows.",
        "holdfast run examples/reachability/reachability.dl -F examples/reachability/facts",
    ),
    "pipeline": ("Run a declared pipeline on Spark.", "holdfast pipeline run examples/windfarm/pipeline.toml"),
    "store": ("Check, copy and repair a store.", "holdfast store check kb"),
    "bench": (
        "Compare results of `make bench`.",
        "holdfast bench compare before.json after.json --threshold 1.2",
    ),
}
"""The groups of commands, each with its purpose and an example."""

OPTIONS: Final = {
    "--version": "Print the version and exit.",
    "--debug": "Show tracebacks; allowed anywhere.",
}


def command(path: str) -> Command:
    """Find a command by its name."""
    module, _, function = COMMANDS[path].partition(".")
    loaded = import_module(f"holdfast.cli.{module}")
    return Command(path, getattr(loaded, function), loaded.EXAMPLE)


def options_of_commands() -> dict[str, list[str]]:
    """The options of each command, by names such as `pipeline run`, for shell completion."""
    return {"": [*OPTIONS, "--help"], **{path: command(path).option_names for path in COMMANDS}}


def run(arguments: Sequence[str] | None = None) -> int:
    """The entry point: run one command line and return the exit code.  Raises nothing."""
    terminal.survive_odd_streams()
    words, debug = _take_debug(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _invoke(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _leave_pipe()
        return ExitCode.GOOD
    except KeyboardInterrupt as stop:
        terminal.note(str(stop) or "stopped by Ctrl-C; nothing was written")
        return INTERRUPTED
    except Exception as failure:
        if debug:
            terminal.note(traceback.format_exc().rstrip(), keep="\t\n")
        return _report(_as_ours(failure), words)


def _take_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Remove `--debug`, which may be anywhere, before the command line is parsed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = [word for word in arguments[:end] if word != "--debug"]
    return [*words, *arguments[end:]], len(words) < end


def _invoke(words: list[str]) -> int:
    group = words[0] if words and words[0] in GROUPS else ""
    rest = words[1:] if group else words
    name = rest[0] if rest else "--help"
    path = f"{group} {name}".strip()
    try:
        if path in COMMANDS:
            _run(command(path), rest[1:])
        elif name == "--version" and not group:
            terminal.line(f"holdfast {_version()}")
        elif name == "--help":
            terminal.text(_group_help(group))
        else:
            raise _unknown(group, name)
    except command_line.Exit as stop:
        return stop.exit_code
    return ExitCode.GOOD


def _run(asked: Command, words: list[str]) -> None:
    end = words.index("--") if "--" in words else len(words)
    if "--help" in words[:end]:
        terminal.text(asked.help(terminal.width()))
    else:
        asked.run(words)


def _group_help(group: str) -> str:
    """The commands below a name; each other group takes one line."""
    about, example = GROUPS[group]
    rows = list(OPTIONS.items()) if not group else []
    beginning = f"{group} ".lstrip()
    inside = [path.removeprefix(beginning) for path in COMMANDS if path.startswith(beginning)]
    rows += [(name, command(f"{beginning}{name}").summary) for name in inside if " " not in name]
    rows += [(name, text) for name, (text, _) in GROUPS.items() if name and not group]
    return command_line.group_help(group, about, rows, example, terminal.width())


def _unknown(group: str, name: str) -> UsageError:
    kind = "option" if name.startswith("-") else "command"
    names = [*OPTIONS, "--help", *(path.partition(" ")[0] for path in COMMANDS)]
    inside = [path.removeprefix(f"{group} ") for path in COMMANDS if path.startswith(f"{group} ")]
    return command_line.wrong(group, f"unknown {kind} {name}", name, inside if group else names)


def _version() -> str:
    from importlib.metadata import version

    return version("holdfast")


def _as_ours(failure: Exception) -> HoldfastError:
    match failure:
        case HoldfastError():
            return failure
        case MemoryError():
            return out_of_memory(failure)
        case OSError() if failure.strerror is not None:
            what = failure.filename or "the output cannot be written"
            return UsageError(Diagnostic(codes.CANNOT_WRITE, f"{what}: {failure.strerror}"))
        case _:
            return HoldfastError(
                Diagnostic(
                    codes.INTERNAL,
                    f"internal error: {type(failure).__name__}: {failure}",
                    notes=("this is a bug in holdfast, not in your program",),
                    help="run the command again with --debug and report what it prints, with the program if you can",
                )
            )


def _report(error: HoldfastError, words: Sequence[str]) -> int:
    """Print the errors and return the exit code."""
    if "--json" in words:
        write = (
            terminal.json_line if words[0] in ("stream", "pipeline", "store") else terminal.json
        )  # these commands print JSON lines
        write({"ok": False, "diagnostics": [diagnostic.to_json() for diagnostic in error.diagnostics]})
    else:
        terminal.diagnostics(error.diagnostics)
    return error.exit_code


def _leave_pipe() -> None:
    """The reader closed the pipe (`| head`): exit silently, even when Python flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
