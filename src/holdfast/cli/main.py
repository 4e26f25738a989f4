"""The `holdfast` command: finds the command, runs it, and turns every failure into words and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from holdfast.cli import (
    bench,
    check,
    codes,
    completion,
    fmt,
    graph,
    impact,
    pipeline,
    plan,
    query,
    run_program,
    stream,
    terminal,
)
from holdfast.cli.usage import usage_diagnostic
from holdfast.errors import Diagnostic, ExitCode, HoldfastError, LimitReached, UsageError

INTERRUPTED = 130
"""What a shell expects of a program that Ctrl-C stopped."""

app = typer.Typer(
    name="holdfast",
    help="Datalog: write rules, hand in facts, read what follows.",
    epilog="\b\nExample:\n  holdfast run examples/reachability/reachability.dl -F examples/reachability/facts",
    add_completion=False,
    rich_markup_mode=None,
)

for _command, _function, _example in (
    ("check", check.check, check.EXAMPLE),
    ("fmt", fmt.fmt, fmt.EXAMPLE),
    ("graph", graph.graph, graph.EXAMPLE),
    ("plan", plan.plan, plan.EXAMPLE),
    ("run", run_program.run_program, run_program.EXAMPLE),
    ("query", query.query, query.EXAMPLE),
    ("stream", stream.stream, stream.EXAMPLE),
    ("impact", impact.impact, impact.EXAMPLE),
    ("completion", completion.completion, completion.EXAMPLE),
):
    app.command(_command, epilog=f"\b\nExample:\n  {_example}")(_function)

app.add_typer(pipeline.app)
app.add_typer(bench.app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        terminal.line(f"holdfast {version('holdfast')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; may stand anywhere.")] = False,
) -> None:
    """Options that stand before the command's name; `--debug` is taken out by `run` already."""


def options_of_commands() -> dict[str, list[str]]:
    """The options of each command by its name, `pipeline run`, for a shell's completion."""
    found: dict[str, list[str]] = {}
    waiting = [("", typer.main.get_command(app))]
    while waiting:
        path, each = waiting.pop(0)
        inside = getattr(each, "commands", {})
        if not (path and inside):
            own = [text for parameter in each.params for text in parameter.opts if text.startswith("-")]
            found[path] = [*own, "--help"]
        waiting += [(f"{path} {name}".strip(), command) for name, command in inside.items()]
    return found


def run(arguments: Sequence[str] | None = None) -> int:
    """The entry point: run one command line and answer with the exit code.  Nothing is raised."""
    terminal.survive_odd_streams()
    words, debug = _take_debug(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _invoke(words if words not in ([], ["pipeline"]) else [*words, "--help"])
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
        return _report(_as_ours(failure, words), words)


def _take_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """`--debug` counts wherever it stands, so it is taken out before the command line is parsed."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    words = [word for word in arguments[:end] if word != "--debug"]
    return [*words, *arguments[end:]], len(words) < end


def _invoke(words: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        with command.make_context("holdfast", words) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    return ExitCode.GOOD


def _as_ours(failure: Exception, words: Sequence[str]) -> HoldfastError:
    match failure:
        case HoldfastError():
            return failure
        case typer.TyperException():
            return UsageError(usage_diagnostic(failure, words, app))
        case MemoryError():
            return LimitReached(
                Diagnostic(
                    codes.OUT_OF_MEMORY,
                    "the machine has no memory left; the run was stopped and nothing was written",
                    help="--limit-memory stops a run before it comes to that",
                )
            )
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
    """Say what is wrong, and answer with the exit code."""
    if "--json" in words:
        write = terminal.json_line if words[0] in ("stream", "pipeline") else terminal.json  # their output is lines
        write({"ok": False, "diagnostics": [diagnostic.to_json() for diagnostic in error.diagnostics]})
    else:
        terminal.diagnostics(error.diagnostics)
    return error.exit_code


def _leave_pipe() -> None:
    """The reader went away (`| head`): leave quietly, also when Python flushes on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
