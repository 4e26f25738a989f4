"""Open a knowledge base, from a program file or from a text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType

from holdfast.arguments import expect, refuse_kind
from holdfast.backends.protocol import Engine as Factory
from holdfast.boundary import public
from holdfast.deadline import within
from holdfast.errors import Diagnostic, Diagnostics, UsageError
from holdfast.interrupts import deferred
from holdfast.knowledge.engines import EngineChoice, backend_factory, keeps_frames
from holdfast.knowledge.evaluation import Evaluated, evaluate_program
from holdfast.knowledge.facade import KnowledgeBase
from holdfast.knowledge.loading import GivenFacts, Loaded, load
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.outputs import output_files
from holdfast.knowledge.recipes import Evaluate, Loader
from holdfast.language import parse, tree
from holdfast.language.preprocessor import Preprocessing
from holdfast.maintenance.watch import Watch
from holdfast.modules import MODULES, Module, named
from holdfast.program.components import instantiated
from holdfast.settings import Limits, Progress, Silent
from holdfast.user_functors import require
from holdfast.values.dictionary import Dictionary

_OF_PROGRESS = ("compiling", "started", "round", "finished")
_LIKE_TEXT = re.compile(r":-|\n|\)\s*\.?$")
_FILE_NAME = re.compile(r"[^\s()]+\.(dl|datalog|souffle|txt)")
_FROM_TEXT = "holdfast.from_text takes the program as text"


@public
def open(
    program: str | Path,
    facts: GivenFacts = None,
    *,
    engine: EngineChoice = "memory",
    limits: Limits | None = None,
    progress: Progress | None = None,
    modules: Iterable[str | Module] = MODULES,
    output: str | Path | None = None,
    macros: Mapping[str, str] | None = None,
    include: Iterable[str | Path] = (),
    store: str | Path | None = None,
    migrate: bool = False,
    profile: bool = False,
    read_only: bool = False,
) -> KnowledgeBase:
    """Read a program file, load its facts and compute everything that follows.

    >>> kb = holdfast.open("family.dl", facts="facts/")  # doctest: +SKIP
    >>> kb = holdfast.open("family.dl", facts={"parent": [("Bela", "Anna"), ("Carl", "Anna")]})  # doctest: +SKIP

    `engine` is "memory", "parted", "spark", a Spark session, or a factory of backends (`backends/protocol.py`).
    `modules` may serve recursive rules: names or `Module` objects, by default all built-in ones.  On Spark they run on
    the driver, and serve no rules if there are more than `spark.holdfast.moduleRows` explicit facts.
    If you pass the folder of a later `write_outputs` as `output`, an output that cannot be written raises before
    anything is computed.
    `macros` defines macros for the preprocessor, and `include` lists folders to search for included files.
    `store` is a folder that keeps the knowledge base.  A new store is made from the program and the facts.  An existing
    store is loaded, and `facts` are not read; if the program has changed, this raises unless `migrate` is true.  A
    store can also be opened by itself, in place of a program.  With `read_only`, another process may write to it, and
    `kb.refresh()` applies what that process has committed.
    With `profile`, `kb.profile()` returns the work of each rule.
    """
    expect(program, (str, Path), "a program is the path of a file", "from_text takes the program itself")
    path = Path(program)
    is_folder = os.path.isdir(path) or (read_only and not os.path.exists(path))  # noqa: PTH110, PTH112  # long names
    if is_folder and store is None:
        _refuse_preprocessing(macros, include)
        return _from_folder(path, facts, engine, limits, progress, modules, output, profile, read_only=read_only)
    if read_only:
        message = "read_only is for a store that is opened by itself, by its folder"
        raise UsageError(Diagnostic("E0926", message, help='write holdfast.open("kb", read_only=True)'))
    return from_text(
        read_program(path),
        facts,
        engine=engine,
        name=path.as_posix(),
        limits=limits,
        progress=progress,
        modules=modules,
        output=output,
        macros=macros,
        include=include,
        store=store,
        migrate=migrate,
        profile=profile,
    )


@public
def from_text(
    text: str,
    facts: GivenFacts = None,
    *,
    engine: EngineChoice = "memory",
    name: str = "<text>",
    limits: Limits | None = None,
    progress: Progress | None = None,
    modules: Iterable[str | Module] = MODULES,
    output: str | Path | None = None,
    macros: Mapping[str, str] | None = None,
    include: Iterable[str | Path] = (),
    store: str | Path | None = None,
    migrate: bool = False,
    profile: bool = False,
) -> KnowledgeBase:
    """Like `open`, for a program given as text.

    >>> kb = holdfast.from_text("p(x) :- q(x).", facts={"q": [(1,), (2,)]})
    >>> sorted(kb["p"])
    [(1,), (2,)]
    """
    expect(text, str, "a program is a text", "holdfast.open takes the path of a file")
    if _FILE_NAME.fullmatch(text):
        raise UsageError(Diagnostic("E0926", f"{text} is not a program", help="holdfast.open takes the path of a file"))
    _expect_settings(limits, progress, output)
    expect(store, (str, Path, NoneType), "a store is a folder")
    with within(limits.seconds if limits else None):
        tree_program = parse(text, name, Preprocessing(macros or {}, tuple(map(Path, include))))
        evaluate = evaluation(facts, engine, limits, progress, modules, output, name, profile)
        if store is None:
            return evaluate(tree_program)
        from holdfast.knowledge.storing import with_store

        _refuse_elsewhere(engine)
        resume = evaluation(None, engine, limits, progress, modules, output, name, profile)
        return with_store(tree_program, Path(store), evaluate, resume, migrate=migrate)


def _refuse_preprocessing(macros: Mapping[str, str] | None, include: Iterable[str | Path]) -> None:
    if macros or tuple(include):
        message = "macros and folders to include are for a program file, and a store keeps its rules"
        raise UsageError(Diagnostic("E0926", message, help="give them when the store is made, or to migrate it"))


def _from_folder(
    folder: Path,
    facts: GivenFacts,
    engine: EngineChoice,
    limits: Limits | None,
    progress: Progress | None,
    modules: Iterable[str | Module],
    output: str | Path | None,
    profile: bool,
    *,
    read_only: bool,
) -> KnowledgeBase:
    """The knowledge base in a store."""
    from holdfast.knowledge.following import following
    from holdfast.knowledge.storing import from_store

    _expect_settings(limits, progress, output)
    _refuse_elsewhere(engine)
    if facts is not None:
        message = "a store that is opened by itself has its facts, and takes no others"
        raise UsageError(Diagnostic("E0926", message, help="give facts when the store is made, or in an update"))
    with within(limits.seconds if limits else None):
        settings = engine, limits, progress, modules, output, folder.as_posix(), profile
        return (following if read_only else from_store)(folder, evaluation(None, *settings))


def _refuse_elsewhere(engine: EngineChoice) -> None:
    if keeps_frames(engine):
        help = "use the memory engine, or a pipeline with snapshots"
        raise UsageError(Diagnostic("E1308", "a store keeps what is in this process, not on Spark", help=help))


def evaluation(
    facts: GivenFacts,
    engine: EngineChoice,
    limits: Limits | None = None,
    progress: Progress | None = None,
    modules: Iterable[str | Module] = MODULES,
    output: str | Path | None = None,
    name: str = "<text>",
    profile: bool = False,
) -> Evaluate:
    """Evaluates a program with the settings of a call."""
    settings = engine, limits or Limits(), progress or Silent(), named(modules), output, name, profile

    def given(program: tree.Program, dictionary: Dictionary) -> Loaded:
        return load(program, facts, dictionary, keeps_frames=keeps_frames(engine))

    return lambda program, loader=None: _opened(program, loader or given, *settings)


def read_program(path: Path) -> str:
    """The text of a program."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        help = _FROM_TEXT if _LIKE_TEXT.search(path.as_posix()) else None
        message = f"cannot read the program {path.as_posix()}: {reason}"
        raise UsageError(Diagnostic("E0902", message, help=help)) from error


def _expect_settings(limits: object, progress: object, output: object) -> None:
    expect(limits, (Limits, NoneType), "limits are holdfast.Limits", "limits=holdfast.Limits(seconds=10)")
    expect(output, (str, Path, NoneType), "output is a folder")
    if progress is not None and not all(hasattr(progress, name) for name in _OF_PROGRESS):
        refuse_kind(progress, "progress has the methods of holdfast.Progress")


def _opened(
    tree_program: tree.Program,
    loader: Loader,
    engine: EngineChoice,
    limits: Limits,
    progress: Progress,
    modules: tuple[Module, ...],
    output: str | Path | None,
    name: str,
    profile: bool,
) -> KnowledgeBase:
    make_backend = backend_factory(engine, progress)
    if profile:
        make_backend = _profiled(make_backend)
    watch = Watch(limits, progress)  # starts after the engine is loaded
    loaded = loader(tree_program, Dictionary(watch))
    tree_program = instantiated(tree_program, Diagnostics())
    require(loaded.program)
    loaded = replace(loaded, files=(Path(name), *map(Path, tree_program.source.files), *loaded.files))
    if engine == "memory":
        loaded = _warned_of_compiling(loaded)
    if output is not None:
        output_files(loaded.program, Path(output), loaded.files)
    with deferred():  # signals wait for a checkpoint
        evaluated = evaluate_program(loaded, make_backend, watch, modules)
        state = _materialisation(tree_program, loaded, evaluated, watch, limits)
        return KnowledgeBase(state, evaluated.statistics, loaded.files)


def _materialisation(
    tree_program: tree.Program, loaded: Loaded, evaluated: Evaluated, watch: Watch, limits: Limits
) -> Materialisation:
    from holdfast.maintenance.maintainer import Maintainer

    figures = evaluated.statistics.nodes
    maintainer = Maintainer(loaded.program, evaluated.backend, evaluated.modules, evaluated.states, figures)
    if loaded.derived is not None:
        loaded.derived.note(maintainer)
    return Materialisation(tree_program, loaded.program, loaded.dictionary, maintainer, watch, limits)


def _profiled(make_backend: Factory) -> Factory:
    from holdfast.knowledge.profiling import profiled

    return profiled(make_backend)


def _warned_of_compiling(loaded: Loaded) -> Loaded:
    from holdfast.compilation import uncached

    warning = uncached()
    if warning is None:
        return loaded
    return replace(loaded, program=replace(loaded.program, warnings=(*loaded.program.warnings, warning)))
