"""`holdfast why`: why a fact holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, options, terminal
from holdfast.cli.command_line import Exit, Option, Positional
from holdfast.cli.evaluate import evaluate
from holdfast.errors import Diagnostic, ExitCode, LimitReached, UsageError

if TYPE_CHECKING:
    from holdfast import KnowledgeBase
    from holdfast.explanations.proof import Proof

EXAMPLE = "holdfast why examples/reachability/reachability.dl -F examples/reachability/facts 'path(1, 4)'"
FORMATS = ("tree", "text", "json", "dot")
_FIRST_LINES = 4  # of why-not, for a fact that does not hold
_A_MOMENT = 1.0  # seconds for them

FactText = Annotated[str, Positional(metavar="FACT", help="A fact as in a program, in quotes: 'path(1, 4)'.")]
ExplanationFormat = Annotated[str, Option("--format", metavar="FORMAT", help="The format: tree, text, json or dot.")]
Seconds = Annotated[float, Option("--seconds", metavar="S", min=0, help="Stop the search after S seconds.")]


def why(
    program: options.ProgramOrStore,
    fact: FactText = "",
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    format: ExplanationFormat = "tree",
    depth: Annotated[
        int | None, Option("--depth", metavar="N", min=0, help="Show N levels of a tree or picture.")
    ] = None,
    all_ways: Annotated[bool, Option("--all", help="Show all derivations of the fact and of those below it.")] = False,
    limit: Annotated[int, Option("--limit", metavar="N", min=1, help="With --all, show at most N derivations.")] = 100,
    supports: Annotated[
        int | None,
        Option(
            "--supports", metavar="N", min=1, help="Show N minimal sets of explicit facts from which the fact follows."
        ),
    ] = None,
    all_facts: Annotated[
        bool, Option("--all-facts", help="Write a proof of each derived fact, as lines of JSON.")
    ] = False,
    seconds: Seconds = 5.0,
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    functors: options.FunctorFiles = [],  # noqa: B006  it is copied
) -> None:
    """Explain why a fact holds.

    Prints a proof of the least height, from explicit facts.  The exit code is 1 if the fact does not hold.
    """
    check_format(format, FORMATS)
    if bool(fact) == all_facts:
        message = "give either a fact or --all-facts"
        raise UsageError(Diagnostic(codes.BAD_USAGE, message, help="holdfast why PROGRAM 'path(1, 4)'"))
    limits = (None, None, None, None)
    base = evaluate(program, facts, limits, no_module, macro=macro, include=include, functors=functors)
    if all_facts:
        _all_facts(base, seconds)
        return
    shown = _explained(base, fact, format, depth, limit if all_ways else None, supports, seconds)
    if shown is not None:
        terminal.text(shown)
        return
    first, *more = str(base.why_not(fact, seconds=min(seconds, _A_MOMENT))).splitlines()
    for line in (first, *more[:_FIRST_LINES], "holdfast why-not says more"):
        terminal.note(line)
    raise Exit(ExitCode.CHECK_FAILED)


def _explained(
    base: KnowledgeBase,
    fact: str,
    format: str,
    depth: int | None,
    most_ways: int | None,
    supports: int | None,
    seconds: float,
) -> str | None:
    """The answer as text; None if the fact does not hold."""
    if supports is not None:
        found = base.supports(fact, limit=supports, seconds=seconds)
        if found is None:
            return None
        return found.to_json(indent=2) if format == "json" else found.to_dot() if format == "dot" else str(found)
    if most_ways is not None:
        ways = base.why(fact, ways="all", limit=most_ways, seconds=seconds)
        if ways is None:
            return None
        return ways.to_json(indent=2) if format == "json" else ways.to_dot() if format == "dot" else str(ways)
    proof = base.why(fact, seconds=seconds)
    return None if proof is None else _shown(proof, format, depth)


def _all_facts(base: KnowledgeBase, seconds: float) -> None:
    """A line for each fact of a relation that rules derive; what is not found within the limits says so."""
    from holdfast.explanations.terms import fact_text
    from holdfast.knowledge.relations import written_name

    derived = {rule.predicate for rule in base.program.rules} | {rule.predicate for rule in base.program.aggregates}
    for name in (name for name in base.relations if name in derived):
        view = base[name]
        for row in view.sorted_rows():
            text = fact_text((written_name(name, len(view.types), base.program), row))
            try:
                proof = base.why(text, seconds=seconds)
                terminal.json_line({} if proof is None else proof.as_json())
            except LimitReached as limit:
                errors = [found.to_json() for found in limit.diagnostics]
                terminal.json_line({"finalConclusion": text, "error": errors})


def _shown(proof: Proof, format: str, depth: int | None) -> str:
    match format:
        case "tree":
            return proof.tree(depth)
        case "text":
            return proof.text()
        case "json":
            return proof.to_json(indent=2)
    return proof.to_dot(depth)


def check_format(format: str, known: tuple[str, ...]) -> None:
    """Refuse an unknown format."""
    if format not in known:
        message = f"there is no format {format}"
        raise UsageError(Diagnostic(codes.BAD_USAGE, message, help=f"--format takes {', '.join(known)}"))
