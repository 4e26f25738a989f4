"""`holdfast stream`: one update after the other, and for each one what it changed."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli import files, options, terminal
from holdfast.cli.choice import Asked
from holdfast.cli.evaluate import evaluate
from holdfast.cli.stream_figures import StreamFigures
from holdfast.cli.stream_files import open_changes, open_updates, refuse_overwriting
from holdfast.errors import Diagnostic, ExitCode, HoldfastError

if TYPE_CHECKING:
    from typing import TextIO

    from holdfast import Change, KnowledgeBase
    from holdfast.program.model import Relation
    from holdfast.update_lines import UpdateLine

EXAMPLE = "holdfast stream examples/reachability/reachability.dl --updates examples/reachability/updates.jsonl"


def stream(
    program: options.ProgramFile,
    updates: Annotated[Path, typer.Option("--updates", metavar="FILE", show_default=False,
                                          help="Updates, a JSON object on each line; .gz too; - is standard input.")],
    facts: options.Facts = [],  # noqa: B006  typer copies it
    changes: Annotated[Path | None, typer.Option("--changes", metavar="FILE", show_default=False,
                                                 help="Write what changed here instead of printing it.")] = None,
    output: Annotated[Path | None, typer.Option("-D", "--output", metavar="FOLDER", show_default=False,
                                                help="Write output relations here at the end.")] = None,
    algorithm: options.Algorithms = [],  # noqa: B006  typer copies it
    strategy: options.Strategy = "counters",
    explain_choice: Annotated[bool, typer.Option("--explain-choice",
                                                 help="Say which algorithm each hyper-node got, and why.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going",
                                             help="Skip updates that are refused; exit code 1 if any was.")] = False,
    engine: options.Engine = "memory",
    master: options.Master = None,
    conf: options.Conf = [],  # noqa: B006  typer copies it
    limit_facts: options.LimitFacts = None,
    limit_rounds: options.LimitRounds = None,
    limit_seconds: options.LimitSeconds = None,
    limit_memory: options.LimitMemory = None,
    no_module: options.NoModules = [],  # noqa: B006  typer copies it
    stats: Annotated[Path | None, typer.Option("--stats", metavar="FILE", show_default=False,
                                               help="Write figures of each update to this file, as JSON.")] = None,
    json: options.AsJson = False,
) -> None:
    """Apply updates one by one; say what each changed.

    Facts and rules come and go; after each update a line of JSON has what was added and removed.
    """
    asked = Asked.parsed(algorithm, strategy)
    refuse_overwriting(updates, changes)
    with ExitStack() as opened:
        lines = opened.enter_context(open_updates(updates))
        base = evaluate(program, facts, (limit_facts, limit_rounds, limit_seconds, limit_memory), no_module,
                        options.engine(engine, master, conf))
        asked.check(base)
        sink = opened.enter_context(open_changes(changes))
        run = _Run(base, asked, sink, explain_choice, keep_going, json)
        run.all(lines)
    written = [] if output is None else base.write_outputs(output)
    if stats is not None:
        files.write_text(stats, json_module.dumps(run.figures.to_json(), indent=2) + "\n")
    if json:
        terminal.json_line({"ok": not run.figures.skipped, **run.figures.totals(), "written": list(map(str, written))})
    else:
        for path in written:
            terminal.note(f"wrote {path}")
        terminal.note(run.figures.summary())
    if run.figures.skipped:
        raise typer.Exit(ExitCode.CHECK_FAILED)


class _Run:
    """A stream on its way."""

    def __init__(self, base: KnowledgeBase, asked: Asked, sink: TextIO, explains: bool, keeps_going: bool,
                 quiet: bool) -> None:
        self.base, self.asked, self.sink, self.figures = base, asked, sink, StreamFigures(base)
        self._explains, self._keeps_going, self._quiet = explains, keeps_going, quiet
        self._warned: list[Diagnostic] = []

    def all(self, lines: Iterator[UpdateLine]) -> None:
        """Apply all updates; stops at the first that is refused, unless it is to go on."""
        self._warn()
        try:
            for line in lines:
                self._one(line)
        except KeyboardInterrupt:
            done = terminal.counted(self.figures.updates, "updates")
            raise KeyboardInterrupt(f"stopped by Ctrl-C after {done}; nothing but their changes was written") from None

    def _one(self, line: UpdateLine) -> None:
        from holdfast.update_lines import change_line, error_line

        self.figures.begin()
        before = self.base.program
        try:
            change = self.base.apply(line.update(), algorithm=self.asked.choice(self.base))
        except HoldfastError as error:
            refused = line.placed(error)
            if not self._keeps_going:
                raise refused from error
            self._say(error_line(line.number, refused))
            self.figures.skip(line.number, refused)
            terminal.diagnostics(refused.diagnostics)
            return
        self.figures.add(line.number, change)
        self._say(change_line(line.number, change))
        self._warn()
        self._explain(line.number, change, {**before.relations, **self.base.program.relations})

    def _say(self, text: str) -> None:
        self.sink.write(text + "\n")
        self.sink.flush()

    def _warn(self) -> None:
        """Tell each warning of the rules once."""
        fresh = [warning for warning in self.base.warnings if warning not in self._warned]
        self._warned += fresh
        terminal.diagnostics([] if self._quiet else fresh)

    def _explain(self, number: int, change: Change, relations: Mapping[str, Relation]) -> None:
        for node in change.figures if self._explains else ():
            shown = ", ".join(relations[p].display for p in node.predicates if not relations[p].auxiliary)
            if shown:
                terminal.note(f"update {number}: {shown}: {node.algorithm} ({node.why})")
