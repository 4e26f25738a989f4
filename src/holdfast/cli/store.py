"""`holdfast store`: check a store, list its log, write a snapshot, copy it, and write its facts to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from holdfast.cli import options, terminal
from holdfast.cli.command_line import Option, Positional
from holdfast.errors import DamagedData

if TYPE_CHECKING:
    from holdfast.store.commits import CommitInfo
    from holdfast.store.reading import StoreContents

EXAMPLE = "holdfast store check kb"

StoreFolder = Annotated[Path, Positional(metavar="STORE", help="The folder of the store.")]
NewFolder = Annotated[Path, Positional(metavar="FOLDER", help="A folder that does not exist yet.")]


def check(store: StoreFolder, json: options.AsJson = False) -> None:
    """Check every file of a store; the exit code is 4 if it is damaged.

    Changes nothing; the store may be open for writing.
    """
    from holdfast.store.reading import read_store

    try:
        found = read_store(store)
    except DamagedData:
        _tell_what_is_left(store)
        raise
    if json:
        terminal.json_line({"ok": True, **_figures(found)})
        return
    facts = terminal.counted(sum(file.rows for file in found.manifest.facts), "facts")
    commits = terminal.counted(len(found.log.applied()), "commits")
    snapshot = f"snapshot of version {found.manifest.version} with {facts}"
    terminal.line(f"ok: version {found.version}; {snapshot}, {commits} since")
    if found.is_incomplete:
        terminal.note(
            "the log ends in an incomplete record, which was never acknowledged; opening the store removes it"
        )


def _tell_what_is_left(store: Path) -> None:
    from holdfast.store.reading import read_store

    try:
        left = read_store(store, readable=True)
    except DamagedData:
        return
    terminal.note(f"it can be read up to version {left.version}: `holdfast store restore --update {left.version}`")


def _figures(stored: StoreContents) -> dict[str, object]:
    return {
        "version": stored.version,
        "snapshot": stored.manifest.version,
        "facts": sum(file.rows for file in stored.manifest.facts),
        "log": len(stored.log.applied()),
        "bytes": sum(file.size for file in stored.manifest.facts) + stored.log.end,
        "closed": stored.closed,
    }


def log(store: StoreFolder, json: options.AsJson = False) -> None:
    """List the commits since the last snapshot: versions, numbers of facts deleted and inserted, times and notes."""
    from holdfast.store.commits import commits
    from holdfast.store.reading import read_store

    stored = read_store(store)
    listed = commits(stored)
    if json:
        for commit in listed:
            terminal.json_line({**commit._asdict(), "time": _time(commit, "milliseconds"), "notes": list(commit.notes)})
        return
    if not listed:
        terminal.line(f"there are no commits since the snapshot of version {stored.manifest.version}")
        return
    columns = ("version", "updates", "delete", "insert", "rules", "time", "note")
    rows = [[*map(str, commit[:5]), _time(commit), "; ".join(map(_fields, commit.notes))] for commit in listed]
    width = len(columns) if any(commit.notes for commit in listed) else len(columns) - 1
    terminal.table(columns[:width], [row[:width] for row in rows])


def _time(commit: CommitInfo, precision: str = "seconds") -> str:
    return commit.time.isoformat(timespec=precision)


def _fields(note: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in note.items())


def compact(store: StoreFolder) -> None:
    """Write a snapshot and begin a new log."""
    import holdfast
    from holdfast.store.manifests import read_identity

    read_identity(store)  # a file is not taken for a program
    with holdfast.open(store) as kb:
        kb.compact()
        terminal.line(f"the snapshot is that of version {kb.version}")


def backup(store: StoreFolder, folder: NewFolder) -> None:
    """Copy a store, which may be open for writing, to a new folder."""
    from holdfast.store.copying import copy_store

    terminal.line(f"{folder} has version {copy_store(store, folder).version}")


def restore(
    store: StoreFolder,
    folder: NewFolder,
    update: Annotated[
        int | None,
        Option(
            "--update",
            metavar="N",
            show_default=False,
            help="Restore the state after update N, without later updates.",
        ),
    ] = None,
) -> None:
    """Make a new store from a backup, or from what can be read of a damaged one."""
    from holdfast.store.copying import copy_store

    terminal.line(f"{folder} has version {copy_store(store, folder, update).version}")


def export(store: StoreFolder, folder: NewFolder) -> None:
    """Write the program and the explicit facts of a store to program.dl and to Parquet files in facts/."""
    import holdfast
    from holdfast.formats.paths import file_stem
    from holdfast.store.copying import write_export
    from holdfast.store.manifests import read_identity

    read_identity(store)
    with holdfast.open(store, read_only=True) as kb:
        explicit = {name: view for name in kb if len(view := kb.explicit(name))}
        tables = {file_stem(kb.program.relations[name]): view.to_arrow() for name, view in explicit.items()}
        write_export(folder, kb.rules_text(), tables)
        terminal.line(f"{folder} has version {kb.version}")
