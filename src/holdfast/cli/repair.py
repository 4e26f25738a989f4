"""`holdfast repair`: which facts to insert or delete so that others hold, or do not."""

from __future__ import annotations

from typing import Annotated

from holdfast.cli import options, terminal
from holdfast.cli.command_line import Exit, Option
from holdfast.cli.evaluate import evaluate
from holdfast.cli.why import FORMATS, ExplanationFormat, Seconds, check_format
from holdfast.errors import ExitCode

EXAMPLE = """holdfast repair examples/reachability/reachability.dl -F examples/reachability/facts --make 'path(4, 1)'"""


def repair(
    program: options.ProgramOrStore,
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    make: Annotated[
        list[str],
        options.repeated("--make", "FACT", "A fact that must hold; may be given several times."),
    ] = [],  # noqa: B006
    unmake: Annotated[
        list[str],
        options.repeated("--unmake", "FACT", "A fact that must not hold; may be given several times."),
    ] = [],  # noqa: B006
    may_insert: Annotated[
        list[str],
        options.repeated(
            "--may-insert",
            "RELATION",
            "A relation to insert facts into, or `none`; by default all relations that no rule derives.",
        ),
    ] = [],  # noqa: B006
    may_delete: Annotated[
        list[str],
        options.repeated(
            "--may-delete",
            "RELATION",
            "A relation to delete facts from, or `none`; by default all relations that no rule derives.",
        ),
    ] = [],  # noqa: B006
    limit: Annotated[int, Option("--limit", metavar="N", min=1, help="Show at most N repairs.")] = 5,
    edits: Annotated[int, Option("--edits", metavar="N", min=1, help="Insert and delete at most N facts.")] = 3,
    format: ExplanationFormat = "text",
    seconds: Seconds = 5.0,
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    functors: options.FunctorFiles = [],  # noqa: B006  it is copied
) -> None:
    """Find facts to insert or delete that make others true or false.

    Tests each repair and shows what else it would change; the fewest edits come first.  The exit code is 1 if no
    repair is found.
    """
    check_format(format, FORMATS)
    limits = (None, None, None, None)
    base = evaluate(program, facts, limits, no_module, macro=macro, include=include, functors=functors)
    found = base.repair(
        make,
        unmake,
        may_insert=_relations(may_insert),
        may_delete=_relations(may_delete),
        limit=limit,
        edits=edits,
        seconds=seconds,
    )
    shown = {"json": lambda: found.to_json(indent=2), "dot": found.to_dot}.get(format, found.__str__)
    terminal.text(shown())
    if not found:
        raise Exit(ExitCode.CHECK_FAILED)


def _relations(names: list[str]) -> list[str] | None:
    return [name for name in names if name != "none"] if names else None
