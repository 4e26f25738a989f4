"""Shared by `run` and `query`: open a program with its facts, under limits, with progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.cli import files, options, progress

if TYPE_CHECKING:
    from holdfast import KnowledgeBase
    from holdfast.spark_session import SparkOptions


def evaluate(
    program: Path,
    facts: Sequence[Path],
    limits: options.LimitValues,
    no_module: Sequence[str] = (),
    engine: str | SparkOptions = "memory",
    output: Path | None = None,
    *,
    macro: Sequence[str] = (),
    include: Sequence[Path] = (),
    functors: Sequence[Path] = (),
    profile: bool = False,
) -> KnowledgeBase:
    """The materialised program.  The progress line is always removed."""
    from holdfast import from_text  # imports NumPy the quick way

    text = files.read_text(program)
    given = options.preprocessing(macro, include)
    options.load_functors([files.existing_file(path) for path in functors])
    for path in facts:
        files.existing(path)
    modules = options.modules(no_module)
    watcher = progress.for_this_terminal()
    try:
        return from_text(
            text,
            _sources(facts),
            engine=engine,
            name=files.shown_name(program),
            limits=options.limits(*limits),
            progress=watcher,
            modules=modules,
            output=output,
            macros=given.macros,
            include=given.folders,
            profile=profile,
        )
    finally:
        watcher.finished()


def _sources(facts: Sequence[Path]) -> Path | list[Path] | None:
    match facts:
        case []:
            return None
        case [folder] if folder.is_dir():
            return folder
        case _:
            return list(facts)
