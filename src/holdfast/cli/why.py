"""`holdfast why`: why a fact holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, options, terminal
from holdfast.cli.command_line import Exit, Option, Positional
from holdfast.cli.evaluate import evaluate
from holdfast.errors import Diagnostic, ExitCode, UsageError

if TYPE_CHECKING:
    from holdfast.explanations.proof import Proof

EXAMPLE = "holdfast why examples/reachability/reachability.dl -F examples/reachability/facts 'path(1, 4)'"
FORMATS = ("tree", "text", "json", "dot")

FactText = Annotated[str, Positional(metavar="FACT", help="A fact as programs write it, in quotes: 'path(1, 4)'.")]
ExplanationFormat = Annotated[str, Option("--format", metavar="FORMAT", help="The form: tree, text, json or dot.")]
Seconds = Annotated[float, Option("--seconds", metavar="S", min=0, help="Stop the search after so many seconds.")]


def why(
    program: options.ProgramFile,
    fact: FactText,
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    format: ExplanationFormat = "tree",
    depth: Annotated[int | None, Option("--depth", metavar="N", min=0, help="Show so many levels of a tree.")] = None,
    seconds: Seconds = 5.0,
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    functors: options.FunctorFiles = [],  # noqa: B006  it is copied
) -> None:
    """Explain why a fact holds.

    A proof of the least height, from facts that were given.  Exit code 1 if the fact does not hold.
    """
    check_format(format, FORMATS)
    limits = (None, None, None, None)
    base = evaluate(program, facts, limits, no_module, macro=macro, include=include, functors=functors)
    proof = base.why(fact, seconds=seconds)
    if proof is not None:
        terminal.text(_shown(proof, format, depth))
        return
    absence = base.why_not(fact, seconds=0)
    terminal.note(f"{str(absence).splitlines()[0]}: holdfast why-not says more")
    raise Exit(ExitCode.CHECK_FAILED)


def _shown(proof: Proof, format: str, depth: int | None) -> str:
    match format:
        case "tree":
            return proof.tree(depth)
        case "text":
            return proof.text()
        case "json":
            return proof.to_json(indent=2)
    return proof.to_dot()


def check_format(format: str, known: tuple[str, ...]) -> None:
    """Refuse an unknown format."""
    if format not in known:
        message = f"there is no format {format}"
        raise UsageError(Diagnostic(codes.BAD_USAGE, message, help=f"--format takes {', '.join(known)}"))
