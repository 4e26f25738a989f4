"""`holdfast run`: materialise a program, and write or print the results."""

from __future__ import annotations

import dataclasses
import json as json_module
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import files, options, terminal
from holdfast.cli.command_line import Option
from holdfast.cli.evaluate import evaluate
from holdfast.cli.query import answer_as_json, explaining, rows_as_text

if TYPE_CHECKING:
    from holdfast import KnowledgeBase, RelationView

EXAMPLE = "holdfast run examples/reachability/reachability.dl -F examples/reachability/facts -D out/"
ROWS_SHOWN = 20


def run_program(
    program: options.ProgramOrStore,
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    output: Annotated[
        Path | None,
        Option(
            "-D",
            "--output",
            metavar="FOLDER",
            show_default=False,
            help="Write output relations here instead of printing.",
        ),
    ] = None,
    engine: options.EngineOption = "memory",
    master: options.Master = None,
    conf: options.Conf = [],  # noqa: B006  it is copied
    limit_facts: options.LimitFacts = None,
    limit_rounds: options.LimitRounds = None,
    limit_seconds: options.LimitSeconds = None,
    limit_memory: options.LimitMemory = None,
    no_module: options.NoModules = [],  # noqa: B006  it is copied
    macro: options.MacrosOption = [],  # noqa: B006  it is copied
    include: options.Include = [],  # noqa: B006  it is copied
    functors: options.FunctorFiles = [],  # noqa: B006  it is copied
    stats: Annotated[
        Path | None,
        Option("--stats", metavar="FILE", show_default=False, help="Write figures of the run to this file, as JSON."),
    ] = None,
    profile: Annotated[
        bool, Option("--profile", help="Print a profile of the rules at the end, the slowest first.")
    ] = False,
    profile_to: Annotated[
        Path | None,
        Option(
            "--profile-to",
            metavar="FILE",
            show_default=False,
            help="Write the profile to this file: HTML if it ends in .html, JSON if in .json, otherwise text.",
        ),
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Derive what follows; print it or write files.

    Facts come from <relation>.facts and similar files in the folder, or from RDF files.
    """
    files.writable_folder(output)
    for path in (stats, profile_to):
        files.writable_file(path)
        files.refuse_overwriting(path, [program, *functors])
    base = evaluate(
        program,
        facts,
        (limit_facts, limit_rounds, limit_seconds, limit_memory),
        no_module,
        options.engine(engine, master, conf),
        output,
        macro=macro,
        include=include,
        functors=functors,
        profile=profile or profile_to is not None,
    )
    terminal.diagnostics([] if json else base.program.warnings)
    written = write_all(base, output, stats, _figures(base), functors)
    if profile_to is not None:
        _write_profile(base, profile_to)
    if json:
        shown = {"profile": base.profile().as_json()} if profile else {}
        terminal.json({**_as_json(base, written, output is None), **shown})
        return
    _print_sizes(base)
    if output is None:
        _print_relations(base)
        _hint_at_empty(base, program, facts)
    else:
        for name in _printed(base):
            _print_rows(base.relations[name])
        _tell_written(program, output, written)
    if profile:
        terminal.text(str(base.profile()))
    terminal.note(_summary(base))


def _write_profile(base: KnowledgeBase, path: Path) -> None:
    from holdfast.formats.staging import all_or_none, write_bytes

    files.refuse_overwriting(path, base.files)
    found = base.profile()
    match path.suffix:
        case ".html":
            text = found.to_html()
        case ".json":
            text = found.to_json(indent=2)
        case _:
            text = str(found)
    with all_or_none() as staged:
        write_bytes(path, [text.encode() + b"\n"], replacing=staged.replacing)


def write_all(
    base: KnowledgeBase, output: Path | None, stats: Path | None, figures: object, others: Iterable[Path] = ()
) -> list[Path]:
    """Write the outputs and the statistics of a run, all or none; returns the outputs."""
    from holdfast.formats.staging import all_or_none, write_bytes

    files.refuse_overwriting(stats, [*base.files, *others])
    with all_or_none() as staged:
        if stats is not None:
            text = json_module.dumps(figures, indent=2) + "\n"
            write_bytes(stats, [text.encode()], replacing=staged.replacing)
        return [] if output is None else base.stage_outputs(output, staged, others)


def _figures(base: KnowledgeBase) -> dict[str, object]:
    return dataclasses.asdict(base.statistics)


def _as_json(base: KnowledgeBase, written: list[Path], with_rows: bool) -> dict[str, object]:
    shown = set(_shown(base)) if with_rows else set()
    return {
        "ok": True,
        "relations": {
            name: answer_as_json(view) if name in shown else {"size": len(view)}
            for name, view in base.relations.items()
        },
        "written": [str(path) for path in written],
        "statistics": _figures(base),
        "diagnostics": [warning.to_json() for warning in base.program.warnings],
    }


def _with_directive(base: KnowledgeBase, kind: str) -> Iterator[str]:
    """The names of the relations that have a directive, in the program's order."""
    relations = base.program.relations
    return (name for name in base.relations if any(io.kind == kind for io in relations[name].io))


def _shown(base: KnowledgeBase) -> list[str]:
    """The relations to print: the outputs, or, if there are none, everything that rules derive."""
    derived = {rule.predicate for rule in base.program.rules} | {rule.predicate for rule in base.program.aggregates}
    return list(_with_directive(base, "output")) or [name for name in base.relations if name in derived]


def _printed(base: KnowledgeBase) -> list[str]:
    """The relations that the program sends to the terminal."""
    relations = base.program.relations
    return [name for name in base.relations if any(io.kind == "output" and io.is_printed for io in relations[name].io)]


def _print_sizes(base: KnowledgeBase) -> None:
    for name in _with_directive(base, "printsize"):
        terminal.line(f"{base.relations[name].name}\t{len(base.relations[name])}")


def _print_relations(base: KnowledgeBase) -> None:
    for name in _shown(base):
        _print_rows(base.relations[name])
    sizes = [(view.name, f"{len(view)}") for view in base.relations.values()]
    if sizes:
        terminal.table(("relation", "facts"), sizes)


def _print_rows(view: RelationView) -> None:
    terminal.heading(f"{view.name}: {terminal.counted(len(view), 'facts')}")
    if len(view) and view.columns:
        terminal.table(view.columns, islice(rows_as_text(view), ROWS_SHOWN))
    if len(view) > ROWS_SHOWN:
        terminal.line(f"  … and {len(view) - ROWS_SHOWN:,} more; -D FOLDER writes them all")
    terminal.line("")


def _hint_at_empty(base: KnowledgeBase, program: Path, facts: list[Path]) -> None:
    """Say how to explain why nothing was derived for the first output without facts."""
    empty = [base.relations[name] for name in _shown(base) if not len(base.relations[name])]
    if empty and terminal.is_terminal(sys.stdout):
        nothing = f"{empty[0].name}({', '.join('_' for _ in empty[0].types)})"
        terminal.note(f"to see why {empty[0].name} is empty: {explaining('why-not', program, facts, nothing)}")


def _tell_written(program: Path, folder: Path, written: list[Path]) -> None:
    if not written:
        terminal.note(f"{program} has no .output, so nothing was written to {folder}")
    for path in written:
        terminal.line(f"wrote {path}")


def _summary(base: KnowledgeBase) -> str:
    s = base.statistics
    facts, rounds = terminal.counted(s.facts, "facts"), terminal.counted(s.rounds, "rounds")
    return f"{facts} in, {s.derived:,} derived, {rounds}, {s.seconds:.2f} s"
