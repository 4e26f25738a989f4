"""Shared by `run`, `query` and others: open a program with its facts, or a store, under limits, with progress."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
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
    read_only: bool = True,
) -> KnowledgeBase:
    """The materialised program, or what a store keeps.  The progress line is always removed."""
    from holdfast import from_text, open  # imports NumPy the quick way

    is_store = os.path.exists(program / "HOLDFAST")  # noqa: PTH110  # long names
    text, shown = "" if is_store else files.read_text(program), files.shown_name(program)
    given = options.preprocessing(macro, include)
    options.load_functors([files.existing_file(path) for path in functors])
    for path in facts:
        files.existing(path)
    modules = options.modules(no_module)
    watcher = progress.for_this_terminal()
    make = partial(open, program, read_only=read_only) if is_store else partial(from_text, text, name=shown)
    try:
        return make(
            facts=_sources(facts),
            engine=engine,
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
