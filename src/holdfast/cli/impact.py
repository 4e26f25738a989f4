"""`holdfast impact`: what a change of rules or facts would do, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, options, terminal
from holdfast.cli.command_line import Option
from holdfast.cli.evaluate import evaluate
from holdfast.cli.query import answer_as_json, rows_as_text
from holdfast.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from holdfast import Impact, KnowledgeBase, RelationView
    from holdfast.formats.fact_data import FactData
    from holdfast.program.impact import Impacted
    from holdfast.values import Row

EXAMPLE = "holdfast impact examples/policy/policy.dl -F examples/policy/facts --remove r2"
ROWS_SHOWN = 5


def impact(
    program: options.ProgramFile,
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    add: Annotated[
        list[str],
        Option("--add", metavar="RULES", show_default=False, help="Rules to add, as text; may be given several times."),
    ] = [],  # noqa: B006
    remove: Annotated[
        list[str],
        Option(
            "--remove",
            metavar="RULE",
            show_default=False,
            help="A rule to remove, by name or text; may be given several times.",
        ),
    ] = [],  # noqa: B006
    insert: Annotated[
        list[str],
        Option(
            "--insert",
            metavar="FACT",
            show_default=False,
            help="A fact to insert, as in a program; may be given several times.",
        ),
    ] = [],  # noqa: B006
    delete: Annotated[
        list[str],
        Option("--delete", metavar="FACT", show_default=False, help="A fact to delete; may be given several times."),
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

    found = base.impact(Update(_facts(delete, base), _facts(insert, base), add_rules=add, remove_rules=remove))
    if json:
        terminal.json(_as_json(found))
    else:
        _show(found)


def _facts(texts: Sequence[str], base: KnowledgeBase) -> dict[str, FactData]:
    rows: dict[str, list[Row]] = {}
    for relation, row in map(base.fact, texts):
        rows.setdefault(relation, []).append(row)
    return {**rows}


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
        terminal.line("  nothing: rules and facts stay the same")
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
