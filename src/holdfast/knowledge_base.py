"""What a Python user holds: a program with everything that follows from its facts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from holdfast.backends.protocol import Backend
from holdfast.backends.protocol import Facts as FactSet
from holdfast.editing import edited
from holdfast.encoding import Codes, Dictionary
from holdfast.errors import Diagnostic, UsageError
from holdfast.language import parse, parse_body, tree
from holdfast.language.editing import rules_named
from holdfast.language.printer import show
from holdfast.loading import Facts, Loaded, load
from holdfast.maintenance import modular
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.maintenance.seminaive import NodeFigures, materialise
from holdfast.maintenance.served import States
from holdfast.maintenance.watch import Watch
from holdfast.modules import MODULES, Module, allot, named
from holdfast.plans import Planner
from holdfast.program import check_query
from holdfast.program.impact import impact
from holdfast.program.maintainable import with_relations
from holdfast.program.model import Program, Relation
from holdfast.program.similar import similar
from holdfast.relation_view import RelationView
from holdfast.settings import Limits, Progress, Silent
from holdfast.spark_session import SparkOptions
from holdfast.update_codes import Ahead, UpdateCodes
from holdfast.updates import Change, Impact, Update, Updating
from holdfast.values import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.maintenance.maintainer import Maintainer, Outcome
    from holdfast.maintenance.marking import Marking
    from holdfast.maintenance.together import Together, Window
    from holdfast.streaming.driver import Lookahead, Stream
    from holdfast.streaming.queue import UpdateQueue

ENGINES = ("memory", "spark")
Engine: TypeAlias = "str | SparkOptions | SparkSession"
MOST_TOGETHER = 62  # updates in one pass: each has a bit of a word, and so has the state before them
_MakeBackend: TypeAlias = Callable[[Mapping[str, Relation], Dictionary, Watch], Backend]
_SILENCE = 2.0  # seconds of compiling before the user is told


@dataclass(frozen=True)
class Statistics:
    """Figures of a materialisation."""

    facts: int  # explicit
    derived: int
    rounds: int
    instances: int
    seconds: float
    memory: int  # bytes of facts, counters and indexes
    nodes: tuple[NodeFigures, ...]


class KnowledgeBase:
    """A materialised program.  Made by `holdfast.open` and `holdfast.from_text`."""

    def __init__(self, tree_program: tree.Program, loaded: Loaded, backend: Backend, statistics: Statistics,
                 limits: Limits | None, watch: Watch, modules: tuple[Module, ...], states: States) -> None:
        self._tree = rules_named(tree_program)
        self._dictionary = loaded.dictionary
        self._backend = backend
        self._limits = limits
        self._watch = watch
        self.program: Program = loaded.program
        self.statistics = statistics
        self._maintainer = _maintainer(self.program, backend, modules, states)
        self._codes_of = UpdateCodes(self._dictionary, backend.takes, self._relation)
        self._ahead: Ahead | None = None

    @cached_property
    def _together(self) -> Together:
        from holdfast.maintenance.together import Together

        return Together(self._maintainer)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What the checker found odd, without refusing it."""
        return self.program.warnings

    @property
    def relations(self) -> Mapping[str, RelationView]:
        """All relations by name, without those that the checker made for itself."""
        visible = {name: relation for name, relation in self.program.relations.items() if not relation.auxiliary}
        return _Views(visible, self._view)

    def __getitem__(self, name: str) -> RelationView:
        return self._view(self._relation(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def explicit(self, name: str) -> RelationView:
        """The facts of a relation that were given, whether rules derive them as well or not."""
        relation = self._relation(name)
        return RelationView(relation, self._backend.rows(relation.name, self._backend.explicit), self._dictionary)

    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation, without fetching them."""
        backend = self._backend
        sizes = {**backend.materialisation.sizes(), **{name: backend.size(name) for name in backend.unwritten}}
        return {name: sizes.get(name, 0) for name in self.relations}

    def rules_text(self) -> str:
        """The declarations and rules as they are now, with the rules' names, as text."""
        return show(self._tree)

    def query(self, text: str) -> RelationView:
        """The answers to a query, which is what may stand in a rule's body: `path(1, x), !blocked(x)`."""
        _, question = check_query(parse_body(text, "<query>"), self.program)
        backend = self._backend
        added = [relation for name, relation in question.relations.items() if name not in self.program.relations]
        try:
            for relation in added:
                backend.add_relation(relation)
            with self._limited(keep=False) as watch:
                for node in question.nodes:
                    materialise(Planner(node, backend.statistics), backend, watch)
            answer = next(relation for relation in added if relation.name == "?")
            return self._view(answer)
        finally:
            self._drop(added)

    def update(self, *, algorithm: str | Choice = AUTO) -> Updating:
        """Collect an update in a `with` block; it is applied at the end, and its `change` is there afterwards."""
        return Updating(lambda update: self.apply(update, algorithm=algorithm))

    def apply(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """Make an update the new state; says exactly what that changed.  If it raises, nothing has changed."""
        return self._maintained(update, algorithm, keep=True)

    def apply_all(self, updates: Sequence[Update], *, seconds: float | None = None) -> list[Change]:
        """Make several updates of facts the new state in one pass; says exactly what each of them changed.

        All of them or none: if it raises, nothing has changed, be it that it takes more than some `seconds` of
        processor time.  What the pass took stands with the first change.
        """
        window = self.window(updates, seconds=seconds) if updates else None
        return [window.advance() for _ in updates] if window is not None else []

    def window(self, updates: Sequence[Update], *, seconds: float | None = None) -> ChangeWindow:
        """The states after several updates of facts, computed in one pass; each `advance()` makes the next one so."""
        self._refuse_windows()
        prepared = self._prepared(updates)
        with self._limited(False) as watch:
            if seconds is not None:
                watch.give_up_after(seconds)
            return ChangeWindow(self, self._together.window([u for _, u in prepared], [n for n, _ in prepared], watch))

    def apply_net(self, updates: Sequence[Update], *, algorithm: str | Choice = AUTO) -> Change:
        """Make several updates of facts the new state, passing over the states between them; says the net change."""
        prepared = self._prepared(updates)
        nothing = self._backend.facts({})
        gone, come = nothing, nothing
        for _, (delete, insert) in prepared:
            gone, come = gone | delete, (come - delete) | insert
        return self._made_so(gone, come, sum(given for given, _ in prepared), algorithm)

    def _made_so(self, gone: FactSet, come: FactSet, given: int, algorithm: str | Choice, *, keep: bool = True
                 ) -> Change:
        """Make facts go and come, under the same rules."""
        with self._limited(keep) as watch:
            choice = self._choice(algorithm, self.program)
            outcome = self._maintainer.run(gone, come, None, choice, watch, keep=keep)
        change = self._change(outcome, self.program, given - outcome.explicit)
        if keep:
            self._backend.tidy(outcome.removed)
        return change

    def stream(self, updates: Iterable[Update] | UpdateQueue, *, algorithm: str | Choice = AUTO,
               lookahead: str | Lookahead = AUTO, keep_going: bool = False) -> Stream:
        """Apply updates as they come, and answer each with its change, in order; those that wait are looked at.

        What is not a queue is read by a thread of its own.
        """
        from holdfast.streaming.driver import Lookahead, Stream
        from holdfast.streaming.queue import UpdateQueue
        from holdfast.streaming.sources import feed

        asked = lookahead if isinstance(lookahead, Lookahead) else Lookahead(lookahead)
        queue = updates if isinstance(updates, UpdateQueue) else UpdateQueue()
        stream = Stream(self, queue, algorithm, asked, keep_going=keep_going)
        if not isinstance(updates, UpdateQueue):
            feed(queue, updates)
        return stream

    def marking(self, ahead: UpdateQueue | None) -> Marking | None:
        """Mark what the next update in a queue deletes while another one is applied; with None, no more."""
        self._maintainer.marking = self._ahead = None
        if ahead is None:  # nothing is imported then: the interpreter may be about to end
            return None
        from holdfast.backends.memory.links import Links
        from holdfast.backends.memory.store import MemoryBackend
        from holdfast.maintenance.marking import Marking, derived

        if not isinstance(self._backend, MemoryBackend):
            return None
        made = Ahead(self._codes_of, self._backend, ahead.ahead)
        self._ahead = None if self.takes_one_by_one else made  # limits hold for each update
        marking = Marking(lambda: made.look(self.program), Links(self._backend), derived(self.program))
        self._maintainer.marking = marking
        return marking

    @property
    def takes_one_by_one(self) -> bool:
        """Whether a stream must apply updates one by one: limits hold for each, or facts are not in this process."""
        from holdfast.backends.memory.store import MemoryBackend

        limited = self._limits is not None and self._limits != Limits()
        return limited or not isinstance(self._backend, MemoryBackend)

    def _refuse_windows(self) -> None:
        from holdfast.backends.memory.store import MemoryBackend

        if not isinstance(self._backend, MemoryBackend):
            message = "several updates in one pass are computed in memory only, not by the spark engine"
            raise UsageError(Diagnostic("E0917", message, help="apply them one by one, or merged by apply_net"))

    def _prepared(self, updates: Sequence[Update]) -> list[tuple[int, tuple[FactSet, FactSet]]]:
        """Updates of facts, encoded: how many facts were given, and deletions and insertions."""
        self._refuse_size_limits()
        if len(updates) > MOST_TOGETHER:
            raise UsageError(Diagnostic("E0919", f"one pass takes {MOST_TOGETHER} updates, not {len(updates)}"))
        if any(update.add_rules or update.remove_rules for update in updates):
            message = "updates that change rules are applied one by one"
            raise UsageError(Diagnostic("E0918", message, help="use apply for them, and stream to have both"))
        both = self._codes_of.of(updates, self.program)
        encoded = [(delete, insert) for (delete, _), (insert, _) in both]
        insertions = self._backend.several([insert for _, insert in encoded])  # a fact may go before it has come
        deletions = self._backend.several([delete for delete, _ in encoded], known=True)
        given = [sum(map(len, (*delete.values(), *insert.values()))) for delete, insert in encoded]
        return list(zip(given, zip(deletions, insertions, strict=True), strict=True))

    def what_if(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """The change that an update would make, without making it."""
        return self._maintained(update, algorithm, keep=False)

    def impact(self, update: Update, *, algorithm: str | Choice = AUTO) -> Impact:
        """The hyper-nodes that an update would bring up to date, and the change it would make, without making it."""
        change = self.what_if(update, algorithm=algorithm)
        _, program = edited(self._tree, self.program, update, self._is_empty)
        during = with_relations(program, _missing(self.program, program))
        given = {self._relation(name, during).name for name in (*update.delete, *update.insert)}
        return Impact(impact(self.program, during, given), change)

    def _maintained(self, update: Update, algorithm: str | Choice, *, keep: bool) -> Change:
        self._refuse_size_limits()
        if self._ahead is not None:
            if not update.add_rules and not update.remove_rules:
                ready = self._ahead.take(update, self.program)
                return self._made_so(self._ahead.deleted(ready), ready.come, ready.given, algorithm, keep=keep)
            self._ahead.forget()
        new_tree, program = edited(self._tree, self.program, update, self._is_empty)
        during = with_relations(program, _missing(self.program, program))
        choice = self._choice(algorithm, during)
        backend, maintainer = self._backend, self._maintainer
        [(deletions, insertions)] = self._codes_of.of([update], during)
        fresh, retyped = ([], []) if program is self.program else _other_relations(backend.relations, during.relations)
        try:
            self._replace(retyped, during.relations)
            for relation in fresh:
                backend.add_relation(relation)
            rules = None if program is self.program else during
            gone, come = backend.known_facts(*deletions), backend.facts(*insertions)
            given = sum(len(rows) for codes, frames in (deletions, insertions) for rows in codes.values())
            given += sum(frame.count() for _, frames in (deletions, insertions) for several in frames.values()
                         for frame in several)
            with self._limited(keep) as watch:
                outcome = maintainer.run(gone, come, rules, choice, watch, keep=keep)
            change = self._change(outcome, during, given - outcome.explicit)
        except BaseException:
            self._drop(fresh)
            self._replace(retyped, self.program.relations)
            raise
        if not keep:
            self._drop(fresh)
            self._replace(retyped, self.program.relations)
            return change
        if program is not self.program:
            self._adopt(new_tree, program, during)
        backend.tidy(outcome.removed)
        return change

    def _refuse_size_limits(self) -> None:
        if self.program.size_limits:
            message = "a program with .limitsize is incomplete on purpose, so it cannot be maintained"
            raise UsageError(Diagnostic("E0913", message, help="take the .limitsize away"))

    @contextmanager
    def _limited(self, keep: bool) -> Iterator[Watch]:
        """The limits hold for each update; facts and memory count with what is there before it."""
        watch, facts = self._watch, self._watch.facts
        watch.begin(self._limits)
        try:
            yield watch
            facts = watch.facts if keep else facts
        finally:
            watch.rest(facts)

    def _adopt(self, new_tree: tree.Program, program: Program, during: Program) -> None:
        """Rules have changed: relations that no rule mentions any more stay only if they have explicit facts."""
        orphans = {name: r for name, r in _missing(during, program).items() if self._backend.explicit.of((name,))}
        self._tree, self.program = new_tree, with_relations(program, orphans)
        self._drop([r for name, r in during.relations.items() if name not in self.program.relations])
        self._maintainer.adopt(self.program)

    def _is_empty(self, name: str) -> bool:
        return not self._backend.size(name)

    def _replace(self, relations: Iterable[Relation], others: Mapping[str, Relation]) -> None:
        """Give relations without facts the types of others."""
        for relation in relations:
            self._backend.write_out((relation.name,))
            self._drop((relation,))
            self._backend.add_relation(others[relation.name])

    def _drop(self, relations: Iterable[Relation]) -> None:
        for relation in relations:
            if relation.name in self._backend.relations:  # making it may have reached a limit
                self._backend.drop_relation(relation.name)

    def _choice(self, algorithm: str | Choice, program: Program) -> Choice:
        """What was asked for, with predicates for the relations' names."""
        if isinstance(algorithm, str):
            return Choice(algorithm)
        asked = {self._relation(name, program).name: wanted for name, wanted in algorithm.of_predicate.items()}
        return replace(algorithm, of_predicate=asked)

    def _change(self, outcome: Outcome, program: Program, no_ops: int) -> Change:
        added, removed = (self._views(facts, program) for facts in (outcome.added, outcome.removed))
        return Change(added, removed, outcome.figures, no_ops)

    def _views(self, facts: FactSet, program: Program) -> dict[str, RelationView]:
        found = sorted((name for name, size in facts.sizes().items() if size), key=program.places.__getitem__)
        relations = [program.relations[name] for name in found if not program.relations[name].auxiliary]
        return {r.name: RelationView(r, self._backend.rows(r.name, facts), self._dictionary) for r in relations}

    def counters(self, name: str) -> dict[Row, tuple[int, int]]:
        """For each fact its number of nonrecursive derivations, plus 1 if it is explicit, and of recursive ones."""
        relation = self._relation(name)
        self._maintainer.counted()
        codes, nonrecursive, recursive = self._backend.derivations(relation.name)
        rows = self._dictionary.decode_rows(codes, relation.types)
        return dict(zip(rows, zip(nonrecursive, recursive, strict=True), strict=True))

    def write_outputs(self, folder: str | Path) -> list[Path]:
        """Write each `.output` relation to a file in the folder; gives the files.  An RDF file may hold several."""
        from holdfast.formats.facts_files import write_relation
        from holdfast.formats.rdf import is_rdf
        from holdfast.formats.rdf_writing import write_rdf

        folder = Path(folder)
        wanted = _output_files(self.program, folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = list(dict.fromkeys(path for path, _, _ in wanted))
        for path in filter(is_rdf, paths):
            together = [(relation, self._codes(relation)) for other, relation, _ in wanted if other == path]
            write_rdf(path, together, self._dictionary, self.program.prefixes)
        for path, relation, parameters in wanted:
            if not is_rdf(path):
                write_relation(path, relation, self._codes(relation), self._dictionary, parameters)
        return paths

    def __repr__(self) -> str:
        facts = self.statistics.facts
        return f"<knowledge base: {facts:,} fact{'' if facts == 1 else 's'}, {self.statistics.derived:,} derived>"

    def _view(self, relation: Relation) -> RelationView:
        backend, unwritten = self._backend, self._backend.unwritten.get(relation.name)
        rows = backend.rows(relation.name, backend.materialisation) if unwritten is None else unwritten.now()
        return RelationView(relation, rows, self._dictionary)

    def _codes(self, relation: Relation) -> Codes:
        return self._view(relation).codes

    def _find(self, name: str, program: Program | None = None) -> Relation | None:
        """A relation by its name, by the name as written in the program, or by an IRI or prefixed name."""
        program = program or self.program
        relations = program.relations
        prefix, colon, local = name.partition(":")
        expanded = f"<{program.prefixes.get(prefix, '')}{local}>" if colon else ""
        for spelling in (name, f"<{name}>", expanded):
            if spelling in relations and not relations[spelling].auxiliary:
                return relations[spelling]
        return None

    def _relation(self, name: str, program: Program | None = None) -> Relation:
        program = program or self.program
        relation = self._find(name, program)
        if relation is None:
            names = [r.display for r in program.relations.values() if not r.auxiliary]
            help = similar(name, names) or f"there are: {', '.join(names)}"
            raise UsageError(Diagnostic("E0901", f"there is no relation {name}", help=help))
        return relation


class ChangeWindow:
    """Updates whose changes are known; `advance` makes the next one the state.  If anything else happens to the
    knowledge base before that, they are no longer `current`."""

    def __init__(self, kb: KnowledgeBase, window: Window) -> None:
        self._kb, self._window, self._left = kb, window, len(window.no_ops)
        self._removed: list[FactSet] = []

    @property
    def is_current(self) -> bool:
        """Whether the state is the one that the next change was computed for."""
        return self._window.is_current

    def advance(self) -> Change:
        """The next update is the new state; says what that changed."""
        kb, number = self._kb, len(self._window.no_ops) - self._left
        outcome = self._window.advance()
        kb._watch.rest(kb._watch.facts + len(outcome.added) - len(outcome.removed))
        change = kb._change(outcome, kb.program, self._window.no_ops[number])
        self._left -= 1
        self._removed.append(outcome.removed)
        for removed in self._removed if not self._left else ():
            kb._backend.tidy(removed)  # row ids change: only when they are no longer needed
        return change


class _Views(Mapping[str, RelationView]):
    """Relations by name; the facts of one are only fetched when it is asked for."""

    def __init__(self, relations: Mapping[str, Relation], view: Callable[[Relation], RelationView]) -> None:
        self._relations = relations
        self._view = view

    def __getitem__(self, name: str) -> RelationView:
        return self._view(self._relations[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._relations)

    def __len__(self) -> int:
        return len(self._relations)


def open(program: str | Path, facts: Facts = None, *, engine: Engine = "memory", limits: Limits | None = None,
         progress: Progress | None = None, modules: Iterable[str | Module] = MODULES,
         output: str | Path | None = None) -> KnowledgeBase:
    """Read a program file, load its facts and compute everything that follows.

    The engine is "memory", "spark", or a Spark session.  `modules` are those that may serve recursive rules, by name or
    as they are; all that there are if nothing is said.  On Spark they work on the driver, and serve no rules of a
    program that begins with more than `spark.holdfast.moduleRows` facts.  With the `output` folder that `write_outputs`
    will be given, what it could not write there by its name is told before anything is computed.
    """
    path = Path(program)
    return from_text(_read(path), facts, engine=engine, name=path.as_posix(), limits=limits, progress=progress,
                     modules=modules, output=output)


def from_text(text: str, facts: Facts = None, *, engine: Engine = "memory", name: str = "<text>",
              limits: Limits | None = None, progress: Progress | None = None,
              modules: Iterable[str | Module] = MODULES, output: str | Path | None = None) -> KnowledgeBase:
    """As `open`, for a program given as text."""
    return _materialised(parse(text, name), facts, engine, limits, progress or Silent(), named(modules), output)


def _output_files(program: Program, folder: Path) -> list[tuple[Path, Relation, Mapping[str, str]]]:
    """Where each `.output` goes; one that cannot be written is an error."""
    from holdfast.formats.paths import output_path

    outputs = [(relation, io.parameters) for relation in program.relations.values() for io in relation.io
               if io.kind == "output"]
    return [(output_path(folder, relation, parameters), relation, parameters) for relation, parameters in outputs]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(Diagnostic("E0902", f"cannot read the program {path.as_posix()}: {reason}")) from error


def _materialised(program: tree.Program, facts: Facts, engine: Engine, limits: Limits | None, progress: Progress,
                  modules: tuple[Module, ...], output: str | Path | None = None) -> KnowledgeBase:
    make_backend = _engine(engine, progress)
    watch = Watch(limits, progress)
    loaded = load(program, facts, Dictionary(), keeps_frames=engine != "memory")
    if output is not None:
        _output_files(loaded.program, Path(output))
    with suppress(modular.TooManyForModulesError):
        return _evaluated(program, loaded, make_backend, watch, modules)
    watch.facts = 0
    return _evaluated(program, loaded, make_backend, watch, ())


def _evaluated(program: tree.Program, loaded: Loaded, make_backend: _MakeBackend, watch: Watch,
               modules: tuple[Module, ...]) -> KnowledgeBase:
    progress, limits = watch.progress, watch.limits
    backend = make_backend(loaded.program.relations, loaded.dictionary, watch)
    E = backend.explicit
    for name in (*loaded.rows, *(name for name in loaded.frames if name not in loaded.rows)):
        rows = {name: loaded.rows[name]} if name in loaded.rows else {}
        given = backend.facts(rows, {name: loaded.frames.get(name, ())}).worked_out()
        E |= given
        watch.batch(len(given))
    progress.started(len(loaded.program.nodes))
    states, relations = States(), loaded.program.relations
    if loaded.program.size_limits or len(E) > backend.most_for_modules:
        modules = ()  # what is incomplete on purpose depends on the rounds; and modules work in this process
    figures = []
    for node in loaded.program.nodes:
        planner, allotment = Planner(node, backend.statistics), allot(node, relations, modules)
        if allotment.services:
            with _patience(progress):
                import holdfast.modules.graph_kernels  # noqa: F401
            figures.append(modular.materialise(planner, backend, watch, allotment, states, backend.leave))
        else:
            figures.append(materialise(planner, backend, watch, loaded.program.size_limits))
    progress.finished()
    backend.tidy(backend.deleted)
    statistics = _statistics(loaded.program, backend, watch, figures, states)
    watch.rest(watch.facts)
    return KnowledgeBase(program, loaded, backend, statistics, limits, watch, modules, states)


def _engine(engine: Engine, progress: Progress) -> _MakeBackend:
    """What makes the backend; Spark, or the kernels, are loaded now."""
    if isinstance(engine, str) and engine not in ENGINES:
        help = similar(engine, ENGINES) or "it is memory, spark, or a Spark session"
        raise UsageError(Diagnostic("E0916", f"there is no engine {engine}", help=help))
    if engine == "memory":
        with _patience(progress):
            from holdfast.backends.memory.store import MemoryBackend
        return MemoryBackend
    from holdfast.spark_session import spark_session

    session = spark_session(None if isinstance(engine, str) else engine)
    from holdfast.backends.spark.store import SparkBackend

    return partial(SparkBackend, session)


def _maintainer(program: Program, backend: Backend, modules: tuple[Module, ...], states: States) -> Maintainer:
    from holdfast.maintenance.maintainer import Maintainer

    return Maintainer(program, backend, modules, states)


def _other_relations(old: Mapping[str, Relation], new: Mapping[str, Relation]) -> tuple[list[Relation], list[Relation]]:
    """New relations that there were none of, and old ones that have other types now."""
    return ([relation for name, relation in new.items() if name not in old],
            [relation for name, relation in old.items() if name in new and new[name].types != relation.types])


def _missing(old: Program, new: Program) -> dict[str, Relation]:
    return {name: relation for name, relation in old.relations.items() if name not in new.relations}


def _statistics(program: Program, backend: Backend, watch: Watch, figures: list[NodeFigures], states: States
                ) -> Statistics:
    visible = [name for name, relation in program.relations.items() if not relation.auxiliary]
    explicit = sum(len(backend.explicit.of((name,))) for name in visible)
    facts = sum(backend.size(name) for name in visible)
    return Statistics(
        facts=explicit,
        derived=facts - explicit,
        rounds=sum(node.rounds for node in figures),
        instances=sum(node.instances for node in figures),
        seconds=watch.seconds,
        memory=backend.nbytes + states.nbytes,
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
