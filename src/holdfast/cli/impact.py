"""`holdfast impact`: what a rule change would do, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, options, terminal
from holdfast.cli.evaluate import evaluate
from holdfast.cli.query import answer_as_json, rows_as_text
from holdfast.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from holdfast import Impact, KnowledgeBase, RelationView
    from holdfast.program.impact import Impacted
    from holdfast.values import Row

EXAMPLE = "holdfast impact examples/policy/policy.dl -F examples/policy/facts --remove r2"
ROWS_SHOWN = 5


def impact(
    program: options.ProgramOrStore,
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    add: Annotated[
        list[str],
        options.repeated("--add", "RULES", "Rules to add, as text; may be given several times."),
    ] = [],  # noqa: B006
    remove: Annotated[
        list[str],
        options.repeated("--remove", "RULE", "A rule to remove, by name or text; may be given several times."),
    ] = [],  # noqa: B006
    insert: Annotated[
        list[str],
        options.repeated("--insert", "FACT", "A fact to insert; may be given several times."),
    ] = [],  # noqa: B006
    delete: Annotated[
        list[str],
        options.repeated("--delete", "FACT", "A fact to delete; may be given several times."),
    ] = [],  # noqa: B006
    why: Annotated[
        list[str],
        options.repeated("--why", "FACT", "Show what would add or remove this fact; may be given several times."),
    ] = [],  # noqa: B006
    limit_facts: options.LimitFacts = None,
    limit_rounds: options.LimitRounds = None,
    limit_seconds: options.LimitSeconds = None,
    limit_memory: options.LimitMemory = None,
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    functors: options.FunctorFiles = [],  # noqa: B006  it is copied
    json: options.AsJson = False,
) -> None:
    """Show what a change of rules or facts would do.

    Shows the hyper-nodes that the update would maintain, those it affects directly, and the facts that would change.
    """
    if not (add or remove or insert or delete):
        help = "give --add, --remove, --insert or --delete"
        raise UsageError(Diagnostic(codes.BAD_USAGE, "no change is given", help=help))
    limits = (limit_facts, limit_rounds, limit_seconds, limit_memory)
    base = evaluate(program, facts, limits, no_module, macro=macro, include=include, functors=functors)
    from holdfast import Update

    update = Update(_facts(base, delete), _facts(base, insert), add, remove)
    found = base.impact(update)
    causes = {fact: found.change.why(fact) for fact in why}
    if json:
        shown = {fact: each and each.as_json() for fact, each in causes.items()}
        terminal.json({**_as_json(found), **({"why": shown} if why else {})})
        return
    _show(found)
    for fact, each in causes.items():
        terminal.text(f"\n{each or f'{fact} would not change'}")


def _facts(base: KnowledgeBase, texts: list[str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, row in map(base.parsed_fact, texts):
        found.setdefault(name, []).append(row)
    return found


def _as_json(found: Impact) -> dict[str, object]:
    def answers(views: Mapping[str, RelationView]) -> dict[str, object]:
        return {name: answer_as_json(view) for name, view in views.items()}

    return {
        "ok": True,
        "direct": [list(node.names) for node in found.direct],
        "plan": [_node_as_json(node) for node in found.plan],
        "added": answers(found.change.added),
        "removed": answers(found.change.removed),
    }


def _node_as_json(node: Impacted) -> dict[str, object]:
    return {
        "predicates": list(node.names),
        "direct": node.is_direct,
        "auxiliary": not node.relations,
        "rules_added": list(node.added),
        "rules_removed": list(node.removed),
        "recursive": node.node.is_recursive,
        "was_recursive": node.was_recursive,
    }


def _show(found: Impact) -> None:
    shown = [node for node in found.plan if node.relations]
    terminal.heading("execution plan, directly impacted hyper-nodes marked by *")
    for place, node in enumerate(shown, 1):
        reasons = "; ".join(_reasons(node))
        mark = "*" if node.is_direct else " "
        terminal.line(f"{place:>3}. {mark} {', '.join(node.relations)}" + (f": {reasons}" if reasons else ""))
    if not shown:
        terminal.line("  nothing: the rules stay the same")
    terminal.line("")
    _show_facts(found)


def _reasons(node: Impacted) -> Iterator[str]:
    """Why a hyper-node is impacted directly."""
    for names, verb in ((node.removed, "is removed"), (node.added, "is added")):
        yield from (f"{name} {verb}" for name in names)
    if node.is_regrouped:
        yield "merges or splits"
    if node.was_recursive != node.node.is_recursive:
        yield "becomes recursive" if node.node.is_recursive else "is no longer recursive"


def _show_facts(found: Impact) -> None:
    change = found.change
    if not change:
        terminal.line("no fact would change")
        return
    for sign, verb, views in (("+", "added", change.added), ("-", "removed", change.removed)):
        for view in views.values():
            terminal.heading(f"{view.name}: {terminal.counted(len(view), 'facts')} would be {verb}")
            for row in islice(rows_as_text(view), ROWS_SHOWN):
                terminal.line(f"  {sign} {'  '.join(row)}")
            if len(view) > ROWS_SHOWN:
                terminal.line(f"  {sign} … and {len(view) - ROWS_SHOWN:,} more")
