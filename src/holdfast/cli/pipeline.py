"""`holdfast pipeline`: run a pipeline on Spark, check one, list its snapshots, restore one."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli import codes, options, terminal
from holdfast.cli.command_line import Option, Positional
from holdfast.errors import Diagnostic, UsageError

if TYPE_CHECKING:
    from holdfast.pipeline import Event
    from holdfast.pipeline.keeping import PipelineStore
    from holdfast.pipeline.model import Pipeline

EXAMPLE = "holdfast pipeline run examples/windfarm/pipeline.toml"

PipelineFile = Annotated[Path, Positional(metavar="PIPELINE", help="The pipeline, a .toml file.")]


def run(
    pipeline: PipelineFile,
    mode: Annotated[
        str | None,
        Option(
            "--mode", metavar="MODE", show_default=False, help="batch, update or stream; by default that of the file."
        ),
    ] = None,
    anew: Annotated[bool, Option("--anew", help="Let a batch run discard earlier snapshots.")] = False,
    master: Annotated[
        str | None,
        Option(
            "--master", metavar="URL", show_default=False, help="Spark's master: local[4], spark://host:7077, yarn."
        ),
    ] = None,
    conf: Annotated[
        list[str],
        Option("--conf", metavar="K=V", show_default=False, help="A Spark setting; may be given several times."),
    ] = [],  # noqa: B006
    ui: Annotated[bool, Option("--ui", help="Serve Spark's web page.")] = False,
    json: options.AsJson = False,
) -> None:
    """Run a pipeline: batch, update or stream."""
    from holdfast.pipeline import read
    from holdfast.pipeline import run as run_pipeline
    from holdfast.pipeline.model import MODES
    from holdfast.spark_session import SparkOptions, parsed_conf

    if mode is not None and mode not in MODES:
        raise UsageError(Diagnostic(codes.BAD_USAGE, f"unknown mode {mode}", help=f"the modes are {', '.join(MODES)}"))
    declared = read(pipeline)
    asked = SparkOptions(master or declared.master, {**declared.conf, **parsed_conf(conf)}, ui)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these warnings are meant for developers of the libraries
        outcome = run_pipeline(declared, mode=mode, spark=asked, anew=anew, on_event=_say_json if json else _say)
    if json:
        terminal.json_line(
            {
                "ok": True,
                "engine": outcome.engine,
                "why": outcome.why,
                "update": outcome.number,
                "updates": outcome.updates,
                "rejected": outcome.rejections,
                "written": outcome.written,
                "relations": outcome.base.sizes(),
            }
        )
        return
    for place in outcome.written:
        terminal.line(f"wrote {place}")
    sizes = outcome.base.sizes()
    terminal.table(("relation", "facts"), [(name, f"{size}") for name, size in sizes.items()])
    done = terminal.counted(outcome.updates, "updates")
    bad = f", {terminal.counted(outcome.rejections, 'rows')} rejected" if outcome.rejections else ""
    terminal.note(f"{done} applied, the state is that after update {outcome.number}{bad}")


def _say(event: Event) -> None:
    bad = f"; {terminal.counted(event.rejections, 'rows')} rejected" if event.rejections else ""
    terminal.note(event.text + bad)


def _say_json(event: Event) -> None:
    if event.number is not None and event.change is not None:
        terminal.json_line(
            {
                "update": event.number,
                "rejected": event.rejections,
                "added": {name: len(view) for name, view in event.change.added.items()},
                "removed": {name: len(view) for name, view in event.change.removed.items()},
            }
        )


def check(pipeline: PipelineFile) -> None:
    """Check a pipeline file and its program, without starting Spark."""
    from holdfast.pipeline import read
    from holdfast.pipeline.running import checked

    declared, _, program = checked(read(pipeline))
    terminal.diagnostics(program.warnings)
    terminal.line(
        f"ok: {terminal.counted(len(declared.sources), 'sources')}, "
        f"{terminal.counted(len(declared.updates), 'updates')}, "
        f"{terminal.counted(len(declared.sinks), 'sinks')}"
    )


def snapshots(pipeline: PipelineFile) -> None:
    """List the snapshots; exit code 4 if the newest is damaged."""
    listed = _store(pipeline).listed()
    if not listed:
        terminal.line("there are no snapshots yet")
        return
    rows = [(f"{number}", remark, "" if facts is None else f"{facts}") for number, remark, facts in listed]
    terminal.table(("update", "", "facts"), rows)


def restore(
    pipeline: PipelineFile,
    update: Annotated[
        int,
        Option("--update", metavar="N", show_default=False, help="The update after which the snapshot was taken."),
    ],
    unverified: Annotated[
        bool, Option("--unverified", help="Restore a snapshot of an older holdfast, whose manifest has no hash.")
    ] = False,
) -> None:
    """Go back to an earlier snapshot and delete later ones."""
    store = _store(pipeline)
    with store.alone():
        store.go_back(update, unverified=unverified)
    terminal.line(f"the newest snapshot is that after update {update}")


def _store(path: Path) -> PipelineStore:
    from holdfast.pipeline import read
    from holdfast.pipeline.keeping import PipelineStore

    declared: Pipeline = read(path)
    if declared.snapshots is None:
        raise UsageError(Diagnostic("E1103", f"{path} has no [snapshots]"))
    return PipelineStore(declared.snapshots, declared.file)
