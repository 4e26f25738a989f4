"""What a Python user holds: a program with everything that follows from its facts."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar

from holdfast.arguments import expect, missing_method, refuse_kind
from holdfast.backends.abilities import Linking, given_facts, housekeeping, module_budget, relation_size, tuning
from holdfast.backends.protocol import Backend
from holdfast.backends.protocol import Engine as Factory
from holdfast.boundary import public
from holdfast.deadline import within
from holdfast.encoding import Dictionary
from holdfast.errors import Diagnostic, Diagnostics, UsageError
from holdfast.exclusive import exclusive
from holdfast.interrupts import deferred
from holdfast.language import parse, tree
from holdfast.language.preprocessor import Preprocessing
from holdfast.loading import Facts, Loaded, load
from holdfast.maintained import Maintained
from holdfast.maintenance import modular
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.maintenance.module_adapter import States
from holdfast.maintenance.seminaive import NodeFigures, materialise
from holdfast.maintenance.watch import Watch
from holdfast.maintenance.windows import Windows
from holdfast.materialised import Statistics, output_files
from holdfast.modules import MODULES, Module, allot, named
from holdfast.plans import Planner
from holdfast.program.components import instantiated
from holdfast.program.graph import gathered
from holdfast.program.model import Program
from holdfast.program.similar import similar
from holdfast.settings import Limits, Progress, Silent
from holdfast.update_codes import Ahead
from holdfast.updates import Update
from holdfast.user_functors import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.maintenance.marking import Marking
    from holdfast.spark_session import SparkOptions
    from holdfast.streaming.driver import Lookahead, Stream
    from holdfast.streaming.queue import UpdateQueue

ENGINES = ("memory", "spark")
Engine: TypeAlias = "str | SparkOptions | SparkSession | Factory"
T = TypeVar("T")
_OF_PROGRESS = ("compiling", "started", "round", "finished")
_LIKE_TEXT = re.compile(r":-|\n|\)\s*\.?$")
_FILE_NAME = re.compile(r"[^\s()]+\.(dl|datalog|souffle|txt)")
_FROM_TEXT = "a program that is no file is read by holdfast.from_text"
_SILENCE = 2.0  # seconds of compiling before the user is told


class KnowledgeBase(Maintained):
    """A materialised program.  Made by `holdfast.open` and `holdfast.from_text`."""

    if not TYPE_CHECKING:  # a type checker knows what there is

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    @public
    def stream(
        self,
        updates: Iterable[Update] | UpdateQueue,
        *,
        algorithm: str | Choice = AUTO,
        lookahead: str | Lookahead = AUTO,
        keep_going: bool = False,
    ) -> Stream:
        """Apply updates as they come, and answer each with its change, in order; those that wait are looked at.

        What is not a queue is read by a thread of its own.
        """
        from holdfast.streaming.driver import Lookahead, Stream
        from holdfast.streaming.queue import UpdateQueue
        from holdfast.streaming.sources import feed

        expect(updates, (UpdateQueue, Iterable), "a stream takes updates, as a list, an iterator or a queue")
        asked = lookahead if isinstance(lookahead, Lookahead) else Lookahead(lookahead)
        queue = updates if isinstance(updates, UpdateQueue) else UpdateQueue()
        stream = Stream(self, queue, algorithm, asked, keep_going=keep_going)
        if not isinstance(updates, UpdateQueue):
            feed(queue, updates)
        return stream

    @exclusive
    def marking(self, ahead: UpdateQueue | None) -> Marking | None:
        """Mark what the next update in a queue deletes while another one is applied; with None, no more."""
        self._maintainer.marking = self._ahead = None
        if ahead is None:  # nothing is imported then: the interpreter may be about to end
            return None
        from holdfast.maintenance.marking import Marking, derived

        linking = self._backend.ability(Linking)
        if linking is None:
            return None
        made = Ahead(self._codes_of, self._backend, ahead.ahead)
        self._ahead = None if self.takes_one_by_one else made  # limits hold for each update
        marking = Marking(lambda: made.look(self.program), linking.links(), derived(self.program))
        self._maintainer.marking = marking
        return marking

    @property
    def takes_one_by_one(self) -> bool:
        """Whether a stream must apply updates one by one: limits hold for each, or there are no windows, because of the
        backend or of the program."""
        limited = self._limits is not None and self._limits != Limits()
        return limited or self._backend.ability(Windows) is None or self.program.has_limits


@public
def open(
    program: str | Path,
    facts: Facts = None,
    *,
    engine: Engine = "memory",
    limits: Limits | None = None,
    progress: Progress | None = None,
    modules: Iterable[str | Module] = MODULES,
    output: str | Path | None = None,
    macros: Mapping[str, str] | None = None,
    include: Iterable[str | Path] = (),
) -> KnowledgeBase:
    """Read a program file, load its facts and compute everything that follows.

    >>> kb = holdfast.open("family.dl", facts="facts/")  # doctest: +SKIP
    >>> kb = holdfast.open("family.dl", facts={"parent": [("Bela", "Anna"), ("Carl", "Anna")]})  # doctest: +SKIP

    The engine is "memory", "spark", a Spark session, or a factory of backends (`backends/protocol.py`).
    `modules` are those that may serve recursive rules, by name or as they are; by default all.  On Spark they work on
    the driver, and serve no rules when there are more than `spark.holdfast.moduleRows` explicit facts.
    With the `output` folder that `write_outputs` will be given, an output that cannot be written there raises before
    anything is computed.
    `macros` are defined for the preprocessor, and `include` are folders in which included files are looked for.
    """
    expect(program, (str, Path), "a program is the path of a file", "from_text takes the program itself")
    path = Path(program)
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
    )


@public
def from_text(
    text: str,
    facts: Facts = None,
    *,
    engine: Engine = "memory",
    name: str = "<text>",
    limits: Limits | None = None,
    progress: Progress | None = None,
    modules: Iterable[str | Module] = MODULES,
    output: str | Path | None = None,
    macros: Mapping[str, str] | None = None,
    include: Iterable[str | Path] = (),
) -> KnowledgeBase:
    """As `open`, for a program given as text.

    >>> kb = holdfast.from_text("p(x) :- q(x).", facts={"q": [(1,), (2,)]})
    >>> sorted(kb["p"])
    [(1,), (2,)]
    """
    expect(text, str, "a program is a text", "holdfast.open takes the path of a file")
    if _FILE_NAME.fullmatch(text):
        raise UsageError(Diagnostic("E0926", f"{text} is no program", help="holdfast.open takes the path of a file"))
    _expect_settings(limits, progress, output)
    with within(limits.seconds if limits else None):
        tree_program = parse(text, name, Preprocessing(macros or {}, tuple(map(Path, include))))
        return _materialised(tree_program, facts, engine, limits, progress or Silent(), named(modules), output, name)


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


def _materialised(
    program: tree.Program,
    facts: Facts,
    engine: Engine,
    limits: Limits | None,
    progress: Progress,
    modules: tuple[Module, ...],
    output: str | Path | None,
    name: str,
) -> KnowledgeBase:
    make_backend = _engine(engine, progress)
    watch = Watch(limits, progress)
    loaded = load(program, facts, Dictionary(watch), keeps_frames=not (engine == "memory" or callable(engine)))
    program = instantiated(program, Diagnostics())
    require(loaded.program)
    loaded = replace(loaded, files=(Path(name), *map(Path, program.source.files), *loaded.files))
    if engine == "memory":
        loaded = _warned_of_compiling(loaded)
    if output is not None:
        output_files(loaded.program, Path(output), loaded.files)
    with deferred():  # until its next checkpoint
        with suppress(modular.TooManyForModulesError):
            return _evaluated(program, loaded, make_backend, watch, modules)
        watch.facts = 0
        return _evaluated(program, loaded, make_backend, watch, ())


def _evaluated(
    program: tree.Program, loaded: Loaded, make_backend: Factory, watch: Watch, modules: tuple[Module, ...]
) -> KnowledgeBase:
    progress, limits = watch.progress, watch.limits
    backend = make_backend(loaded.program.relations, loaded.dictionary, watch)
    E, most_at_once = backend.explicit, tuning(backend).most_at_once
    each = ((_only(name, loaded.rows), _only(name, loaded.frames)) for name in {**loaded.rows, **loaded.frames})
    for rows, frames in [(loaded.rows, loaded.frames)] if most_at_once else each:
        given = given_facts(backend, rows, frames).snapshot()
        E |= given
        watch.batch(len(given))
    progress.started(len(loaded.program.nodes))
    states, relations = States(), loaded.program.relations
    if loaded.program.size_limits or len(E) > module_budget(backend).most_for_modules:
        modules = ()  # what is incomplete on purpose depends on the rounds; and modules work in this process
    figures, nodes = list[NodeFigures](), loaded.program.nodes
    allotments = {node.index: allot(node, relations, modules) for node in nodes}
    if most_at_once and watch.limits.rounds is None and not loaded.program.size_limits:
        served = [number for number, allotment in allotments.items() if allotment.services]
        nodes = gathered(nodes, served, most_at_once)
    for node in nodes:
        planner, allotment = Planner(node, backend.statistics), allotments[node.index]
        if allotment.services:
            with _patience(progress):
                import holdfast.modules.graph_kernels  # noqa: F401
            figures.append(modular.materialise(planner, backend, watch, allotment, states))
        else:
            figures.append(materialise(planner, backend, watch, loaded.program.size_limits))
    progress.finished()
    housekeeping(backend).tidy(backend.deleted)
    backend.commit()
    statistics = _statistics(loaded.program, backend, watch, figures, states)
    watch.rest(watch.facts)
    return KnowledgeBase(program, loaded, backend, statistics, limits, watch, modules, states)


def _warned_of_compiling(loaded: Loaded) -> Loaded:
    from holdfast.compilation import uncached

    warning = uncached()
    if warning is None:
        return loaded
    return replace(loaded, program=replace(loaded.program, warnings=(*loaded.program.warnings, warning)))


def _only(name: str, mapping: Mapping[str, T]) -> Mapping[str, T]:
    return {name: mapping[name]} if name in mapping else {}


def _is_engine(engine: object) -> bool:
    if isinstance(engine, str):
        return engine in ENGINES
    from holdfast.spark_session import SparkOptions

    return isinstance(engine, SparkOptions) or hasattr(engine, "newSession") or callable(engine)


def _engine(engine: Engine, progress: Progress) -> Factory:
    """What makes the backend; Spark, or the kernels, are loaded now."""
    if not _is_engine(engine):
        help = similar(str(engine), ENGINES) or "it is memory, spark, a Spark session, or a factory of backends"
        raise UsageError(Diagnostic("E0916", f"there is no engine {engine}", help=help))
    if callable(engine):
        return engine
    if engine == "memory":
        with _patience(progress):
            from holdfast.backends.memory.store import MemoryBackend
        return MemoryBackend
    from holdfast.spark_session import spark_session

    session = spark_session(None if isinstance(engine, str) else engine)
    from holdfast.backends.spark.store import SparkBackend

    return partial(SparkBackend, session)


def _statistics(
    program: Program, backend: Backend, watch: Watch, figures: list[NodeFigures], states: States
) -> Statistics:
    visible = [name for name, relation in program.relations.items() if not relation.auxiliary]
    given = backend.explicit.sizes()
    explicit = sum(given.get(name, 0) for name in visible)
    facts = sum(relation_size(backend, name) for name in visible)
    return Statistics(
        facts=explicit,
        derived=facts - explicit,
        rounds=sum(node.rounds for node in figures),
        instances=sum(node.instances for node in figures),
        seconds=watch.seconds,
        memory=housekeeping(backend).nbytes + states.nbytes,
        nodes=tuple(figures),
    )


@contextmanager
def _patience(progress: Progress) -> Iterator[None]:
    """Tell the user when loading the kernels takes long: they are compiled once on a machine."""
    timer = threading.Timer(_SILENCE, progress.compiling)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
