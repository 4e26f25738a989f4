"""`holdfast fmt`: rewrite programs in canonical layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from holdfast.cli import codes, files, options, terminal
from holdfast.cli.command_line import Exit, Option, Positional
from holdfast.errors import Diagnostic, ExitCode, UsageError

EXAMPLE = "holdfast fmt --check examples/*/*.dl"


@dataclass(frozen=True)
class Formatted:
    """A file before and after."""

    path: Path
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether the layout changed."""
        return self.before != self.after


def fmt(
    programs: Annotated[list[Path], Positional(metavar="FILES", help="Programs; - is standard input.")],
    check: Annotated[bool, Option("--check", help="Change nothing; exit code 1 if a file would change.")] = False,
    write: Annotated[bool, Option("--write", help="Change the files; otherwise the text is printed.")] = False,
    json: options.AsJson = False,
) -> None:
    """Format programs."""
    _refuse_odd(programs, check, write)
    results = [_format(path) for path in programs]
    if write:
        for result in results:
            if result.changed:
                files.write_text(result.path, result.after)
    if json:
        terminal.json({"ok": not (check and any(r.changed for r in results)), "files": [_as_json(r) for r in results]})
    else:
        _show(results, check, write)
    if check and any(result.changed for result in results):
        raise Exit(ExitCode.CHECK_FAILED)


def _refuse_odd(programs: list[Path], check: bool, write: bool) -> None:
    if check and write:
        raise UsageError(Diagnostic(codes.BAD_USAGE, "--check and --write cannot be used together"))
    if write and Path("-") in programs:
        raise UsageError(
            Diagnostic(
                codes.BAD_USAGE, "standard input cannot be written back", help="remove --write to print the result"
            )
        )
    if len(programs) > 1 and not (check or write):
        raise UsageError(
            Diagnostic(
                codes.BAD_USAGE,
                "only one file can be printed",
                help="use --write to change the files, or --check to test them",
            )
        )


def _format(path: Path) -> Formatted:
    before = files.read_text(path)
    from holdfast.language import format_source

    return Formatted(path, before, format_source(before, files.shown_name(path)))


def _show(results: list[Formatted], check: bool, write: bool) -> None:
    if not (check or write):
        terminal.text(results[0].after)
        return
    for result in results:
        if result.changed:
            terminal.line(f"{'would change' if check else 'changed'} {result.path}")
    if check and not any(result.changed for result in results):
        terminal.note(f"{len(results)} already formatted")


def _as_json(result: Formatted) -> dict[str, object]:
    return {"file": str(result.path), "changed": result.changed, "text": result.after}
