"""`holdfast why-not`: explain why a fact does not hold."""

from __future__ import annotations

from holdfast.cli import options, terminal
from holdfast.cli.command_line import Exit
from holdfast.cli.evaluate import evaluate
from holdfast.cli.why import FORMATS, ExplanationFormat, FactText, Seconds, check_format
from holdfast.errors import ExitCode

EXAMPLE = "holdfast why-not examples/reachability/reachability.dl -F examples/reachability/facts 'path(4, 1)'"


def why_not(
    program: options.ProgramOrStore,
    fact: FactText,
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    format: ExplanationFormat = "text",
    seconds: Seconds = 5.0,
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    functors: options.FunctorFiles = [],  # noqa: B006  it is copied
) -> None:
    """Explain why a fact does not hold.

    Prints likely causes, where each rule fails, and the nearest facts; `_` stands for any value.  With --format json,
    prints a certificate that check-proof checks.  The exit code is 1 if the fact holds.
    """
    check_format(format, FORMATS)
    limits = (None, None, None, None)
    base = evaluate(program, facts, limits, no_module, macro=macro, include=include, functors=functors)
    absence = base.why_not(fact, seconds=seconds)
    if absence is None:
        terminal.note(_holds(fact))
        raise Exit(ExitCode.CHECK_FAILED)
    shown = {"json": lambda: absence.to_json(indent=2), "dot": absence.to_dot}.get(format, absence.__str__)
    terminal.text(shown())


def _holds(fact: str) -> str:
    """What to do about a fact that holds, or a pattern that facts fit."""
    from holdfast.language import parse_body
    from holdfast.language.syntax import has_wildcard

    if has_wildcard(parse_body(fact, "<fact>")):
        return f"there are facts {fact}: holdfast query shows them, and holdfast why explains one of them"
    return f"{fact} holds: holdfast why says why"
