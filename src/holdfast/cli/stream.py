"""`holdfast stream`: apply updates one by one, and print what each changed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, files, options, terminal
from holdfast.cli.choice import Asked
from holdfast.cli.command_line import Exit, Option
from holdfast.cli.evaluate import evaluate
from holdfast.cli.run_program import write_all
from holdfast.cli.stream_causes import change_causes
from holdfast.cli.stream_figures import StreamFigures
from holdfast.cli.stream_files import open_changes, open_updates, refuse_overwriting
from holdfast.errors import Diagnostic, ExitCode, UsageError

if TYPE_CHECKING:
    from typing import TextIO

    from holdfast import Change, KnowledgeBase
    from holdfast.program.model import Relation
    from holdfast.streaming.driver import Answer, Lookahead
    from holdfast.streaming.queue import UpdateQueue

EXAMPLE = "holdfast stream examples/reachability/reachability.dl --updates examples/reachability/updates.jsonl"


def stream(
    program: options.ProgramOrStore,
    updates: Annotated[
        Path,
        Option(
            "--updates",
            metavar="FILE",
            show_default=False,
            help="Updates, one JSON object per line; may be .gz; - for standard input; "
            "for a folder, its files and new ones until one named END appears.",
        ),
    ],
    facts: options.FactsOption = [],  # noqa: B006  it is copied
    changes: Annotated[
        Path | None,
        Option(
            "--changes",
            metavar="FILE",
            show_default=False,
            help="Write the changes to this file instead of printing them.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        Option("-D", "--output", metavar="FOLDER", show_default=False, help="Write output relations here at the end."),
    ] = None,
    algorithm: options.Algorithms = [],  # noqa: B006  it is copied
    strategy: options.Strategy = "counters",
    explain_choice: Annotated[
        bool, Option("--explain-choice", help="Show the algorithm of each hyper-node and the reason.")
    ] = False,
    why: Annotated[
        bool, Option("--why", help="Add to each change the parts of the update that caused its derived facts.")
    ] = False,
    keep_going: Annotated[
        bool, Option("--keep-going", help="Skip refused updates; exit code 1 if there were any.")
    ] = False,
    lookahead: Annotated[
        str,
        Option("--lookahead", metavar="NAME", help="What to do with waiting updates: auto, none, marks, window."),
    ] = "auto",
    window: Annotated[int, Option("--window", metavar="N", help="Compute up to N updates in one pass.")] = 32,
    coalesce: Annotated[
        int | None,
        Option("--coalesce", metavar="N", show_default=False, help="Merge waiting updates when more than N wait."),
    ] = None,
    queue: Annotated[int, Option("--queue", metavar="N", help="Read up to N updates ahead.")] = 64,
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
        Option(
            "--stats", metavar="FILE", show_default=False, help="Write figures of each update to this file, as JSON."
        ),
    ] = None,
    json: options.AsJson = False,
) -> None:
    """Apply updates one by one; print what each changed.

    Updates change facts and rules.  For each one, prints the facts that were added and removed, as a line of JSON.
    """
    from holdfast.streaming.driver import Lookahead
    from holdfast.streaming.queue import UpdateQueue
    from holdfast.streaming.sources import feed

    asked, ahead, incoming = (
        Asked.parsed(algorithm, strategy),
        Lookahead(lookahead, window, coalesce),
        UpdateQueue(queue),
    )
    _refuse_clashes(program, updates, changes, stats, functors)
    files.writable_folder(output)
    with ExitStack() as opened:
        longest = None if limit_memory is None else options.bytes_of(limit_memory) // 8  # parsed, it takes more
        feed(incoming, opened.enter_context(open_updates(updates, longest)))
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
            read_only=False,
        )
        opened.enter_context(base)
        asked.check(base)
        for path in (stats, changes):
            files.refuse_overwriting(path, base.files)
        sink = opened.enter_context(open_changes(changes))
        run = _Run(base, asked, incoming, sink, explain_choice, keep_going, json, why)
        run.all(ahead)
    others = files.each_file([updates, *functors, *([] if changes is None else [changes])])
    written = write_all(base, output, stats, run.figures.to_json(), others)
    _report(run.figures, written, json)
    if run.figures.skipped:
        raise Exit(ExitCode.CHECK_FAILED)


def _refuse_clashes(
    program: Path, updates: Path, changes: Path | None, stats: Path | None, functors: Sequence[Path]
) -> None:
    """Refuse to read and write the same file, or to write one twice."""
    if str(program) == str(updates) == "-":
        raise UsageError(Diagnostic(codes.BAD_USAGE, "program and updates cannot both be on standard input"))
    refuse_overwriting(updates, changes)
    for path in (stats, changes):
        files.writable_file(path)
        files.refuse_overwriting(path, [program, updates, *functors])
    if stats is not None and changes is not None and stats.resolve() == changes.resolve():
        raise UsageError(Diagnostic(codes.BAD_USAGE, f"{stats} cannot be both --stats and --changes"))


def _report(figures: StreamFigures, written: Sequence[Path], json: bool) -> None:
    """Print the totals of the stream."""
    if json:
        terminal.json_line({"ok": not figures.skipped, **figures.totals(), "written": list(map(str, written))})
        return
    for path in written:
        terminal.note(f"wrote {path}")
    terminal.note(figures.summary())


class _Run:
    """A running stream."""

    def __init__(
        self,
        base: KnowledgeBase,
        asked: Asked,
        queue: UpdateQueue,
        sink: TextIO,
        explains: bool,
        keeps_going: bool,
        quiet: bool,
        causes: bool,
    ) -> None:
        self.base, self.asked, self.queue, self.sink = base, asked, queue, sink
        self.figures = StreamFigures(base, queue)
        self._explains, self._keeps_going, self._quiet, self._causes = explains, keeps_going, quiet, causes
        self._warned: list[Diagnostic] = []

    def all(self, lookahead: Lookahead) -> None:
        """Apply all updates; stop at the first refused one, unless `--keep-going` is given."""
        from holdfast.streaming.driver import Stream

        self._warn()
        try:
            choice = self.asked.choice(self.base)
            with closing(Stream(self.base, self.queue, choice, lookahead, keep_going=True)) as run:
                before = self.base.program
                for answer in run:
                    self._one(answer, {**before.relations, **self.base.program.relations})
                    before, run.algorithm = self.base.program, self.asked.choice(self.base)
        except KeyboardInterrupt:
            done = terminal.counted(self.figures.updates, "updates")
            raise KeyboardInterrupt(f"stopped by Ctrl-C after {done}; nothing but their changes was written") from None

    def _one(self, answer: Answer, relations: Mapping[str, Relation]) -> None:
        from holdfast.update_lines import change_line, error_line, passed_over_line

        if answer.error is not None:
            if not self._keeps_going:
                raise answer.error
            self._say(error_line(answer.number, answer.error))
            self.figures.skip(answer, answer.error)
            terminal.diagnostics(answer.error.diagnostics)
        elif answer.change is None:
            self._say(passed_over_line(answer.number, answer.into))
            self.figures.passed_over(answer)
        else:
            self.figures.add(answer, answer.change)
            causes = change_causes(answer.change, self.base) if self._causes else None
            self._say(change_line(answer.number, answer.change, answer.merged, causes))
            self._warn()
            self._explain(answer.number, answer.change, relations)

    def _say(self, text: str) -> None:
        self.sink.write((terminal.json_text(text) if self.sink is sys.stdout else text) + "\n")
        self.sink.flush()

    def _warn(self) -> None:
        """Report each warning about the rules once."""
        fresh = [warning for warning in self.base.warnings if warning not in self._warned]
        self._warned += fresh
        terminal.diagnostics([] if self._quiet else fresh)

    def _explain(self, number: int, change: Change, relations: Mapping[str, Relation]) -> None:
        for node in change.figures if self._explains else ():
            shown = ", ".join(relations[name].display for name in node.predicates if name in relations)
            if shown:
                terminal.note(f"update {number}: {shown}: {node.algorithm} ({node.why})")
