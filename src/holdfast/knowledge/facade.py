"""The knowledge base as a Python user sees it: a program with everything that follows from its facts.

The methods take the lock (`exclusive.py`) and delegate to the parts of a knowledge base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from holdfast.arguments import expect, missing_method
from holdfast.backends.abilities import HoldingCores, Versioned
from holdfast.boundary import public
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import Guard, exclusive, reading
from holdfast.knowledge.evaluation import Statistics
from holdfast.knowledge.group_commit import GroupCommit
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.outputs import Outputs
from holdfast.knowledge.queries import Question
from holdfast.knowledge.readable import Readable
from holdfast.knowledge.reading import FactReader, Readers, VersionReader
from holdfast.knowledge.relations import the_relation
from holdfast.knowledge.undoing import UndoStack
from holdfast.knowledge.updating import Updater, changes_rules, chosen, expect_updates, refuse_size_limits
from holdfast.knowledge.views import Views
from holdfast.knowledge.windows import ChangeWindow, change_window
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.program.model import Program
from holdfast.relation_view import RelationView
from holdfast.updates import Change, Impact, Note, Update, Updating, the_note
from holdfast.values import Row, Value

if TYPE_CHECKING:
    from holdfast.formats.staging import Staged
    from holdfast.knowledge.durable import Durable
    from holdfast.knowledge.following import Following
    from holdfast.knowledge.materialisation import Commit
    from holdfast.knowledge.profiling import Profile
    from holdfast.knowledge.repairs import Repairs
    from holdfast.knowledge.snapshots import KnowledgeSnapshot
    from holdfast.knowledge.watches import QueryWatch
    from holdfast.knowledge.watching import Watches
    from holdfast.maintenance.marking import Marking
    from holdfast.plans import SizeStatistics
    from holdfast.store.commits import CommitInfo
    from holdfast.store.writing import Snapshot, Store, StoredData
    from holdfast.streaming.driver import Lookahead, Stream
    from holdfast.streaming.queue import UpdateQueue


class KnowledgeBase(Readable):
    """A program with everything that follows from its facts; made by `holdfast.open` and `holdfast.from_text`.

    `kb["path"]` is a relation, `kb.query("path(1, x)")` answers a query.  `kb.update()` and `kb.apply` change facts and
    rules, `kb.what_if` and `kb.impact` try a change, and `kb.stream` applies many.  Any number of threads may read
    while one updates; `kb.snapshot()` returns one version for reading.
    """

    _noun = "knowledge base"

    def __init__(self, state: Materialisation, statistics: Statistics, files: Sequence[Path]) -> None:
        self._guard = Guard(self._mend, allows_readers=state.backend.ability(Versioned) is not None)
        self._watching: Watches | None = None
        self._hold(state)
        self.statistics = statistics
        self.files = tuple(files)
        """The files that were read: the program, if it is a file, and the facts."""
        self._durable: Durable | None = None
        self._following: Following | None = None
        self._writers = GroupCommit(lambda updates: self.apply_all(updates))

    def _hold(self, state: Materialisation) -> None:
        """Switch to a state.  Readers see the old one or the new one, because they go through a single object."""
        self._state = state
        self._backend, self._maintainer, self._dictionary = state.backend, state.maintainer, state.dictionary
        self._views = Views(state, self._guard)
        self._updater = Updater(state, self._views)
        self._readers = Readers(state, self._views, self._guard)
        self._undo = UndoStack()
        if state.backend.ability(Versioned) is not None:  # elsewhere changes have no inverse
            state.observers.append(self._undo.note)
        if self._watching is not None:
            self._watching.end()
            self._watching = None

    if not TYPE_CHECKING:  # type checkers must see only the real attributes

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    def _mend(self) -> None:
        self._updater.mend()

    # --- reading ---------------------------------------------------------------------------------------

    def _reader(self) -> FactReader:
        return self._readers.last()

    def _question(self, text: str) -> Question:
        return self._readers.question(text)

    def _answer(self, question: Question, parameters: Mapping[str, Value]) -> RelationView:
        return self._readers.answer(question, parameters)

    @property
    def program(self) -> Program:
        """The checked program as it is now."""
        return self._state.program

    @reading
    def snapshot(self) -> KnowledgeSnapshot:
        """Return the current version for reading; later updates do not affect it."""
        from holdfast.knowledge.snapshots import KnowledgeSnapshot

        reader = self._readers.last()
        if not isinstance(reader, VersionReader):
            message = "this engine keeps no versions, so there are no snapshots; the memory engine keeps them"
            raise UsageError(Diagnostic("E0917", message, help="read what you need in one query"))
        return KnowledgeSnapshot(reader, self._guard)

    @exclusive
    def counters(self, name: str) -> dict[Row, tuple[int, int]]:
        """For each fact, its nonrecursive derivations (plus 1 if it is explicit) and its recursive derivations."""
        relation = the_relation(name, self.program)
        self._maintainer.counted()
        codes, nonrecursive, recursive = self._backend.derivations(relation.name)
        rows = self._dictionary.decode_rows(codes, relation.types)
        return dict(zip(rows, zip(nonrecursive, recursive, strict=True), strict=True))

    @property
    def size_statistics(self) -> SizeStatistics:
        """The sizes that join orders are chosen by (internal)."""
        return self._backend.statistics

    @exclusive
    def profile(self) -> Profile:
        """Return the work of each rule and delta rule, the slowest first; needs `holdfast.open(…, profile=True)`."""
        from holdfast.knowledge.profiling import profile_of

        return profile_of(self._backend, self.program, self.statistics.nodes)

    @exclusive
    def repair(
        self,
        make: Sequence[str] = (),
        unmake: Sequence[str] = (),
        *,
        may_insert: Sequence[str] | None = None,
        may_delete: Sequence[str] | None = None,
        limit: int | None = 5,
        edits: int = 3,
        seconds: float | None = 5.0,
    ) -> Repairs:
        """Find insertions and deletions of explicit facts that make facts true or false, and test each of them.

        The fewest edits come first, then the fewest side effects.  `may_insert` and `may_delete` name the relations
        that may be edited; the default is all that no rule derives.  Raises `LimitReached` if no repair is found within
        `seconds`.
        """
        from holdfast.explanations.search import SearchLimit
        from holdfast.knowledge.copies import copied
        from holdfast.knowledge.repairing import RepairSearch, goals

        refuse_size_limits(self.program)
        asked, within = goals(self._state, make, unmake, may_insert, may_delete), SearchLimit(seconds, None)
        with within.heeded("repair"):
            near = copied(self._state) or self
        return RepairSearch(near._state, near.what_if, asked, within).repairs(limit, edits)

    @reading
    def parsed_fact(self, fact: str) -> tuple[str, Row]:
        """The relation and the row of a fact that is written as in a program (internal)."""
        from holdfast.knowledge.explaining import parsed_fact

        return parsed_fact(fact, self._state)

    # --- updates ---------------------------------------------------------------------------------------

    @public
    def update(self, *, algorithm: str | Choice = AUTO, note: Note | None = None) -> Updating:
        """Collect an update in a `with` block and apply it at the end; `u.change` is then its change.

        A store keeps the fields of a `note` with the update: `kb.update(note={"who": "ann"})`.
        """
        chosen(algorithm)  # raise errors before the block runs
        return Updating(lambda update: self.apply(update, algorithm=algorithm), the_note(note or {}))

    @public
    def apply(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """Apply an update and return the exact change.  If this raises, nothing has changed."""
        if self._durable is None or self._guard.is_mine:
            return self._apply(update, algorithm)
        is_plain = isinstance(update, Update) and not changes_rules(update)
        may_join = is_plain and algorithm == AUTO and not self._state.takes_one_by_one
        return self._writers.apply(update, lambda: self._apply(update, algorithm), may_join=may_join)

    @exclusive
    def _apply(self, update: Update, algorithm: str | Choice) -> Change:
        return self._updater.apply(update, algorithm, keep=True)

    @exclusive
    def apply_all(self, updates: Sequence[Update], *, seconds: float | None = None) -> list[Change]:
        """Apply several updates of facts in one pass and return the exact change of each.

        All updates are applied or none: if this raises, nothing has changed.  It also raises if it takes more than
        `seconds` of processor time.  The figures of the pass are in the first change.
        """
        expect_updates(updates)
        if not updates:
            return []
        parts = self._state, self._updater, self._views, self._guard
        return change_window(updates, seconds, *parts, at_once=True).all()

    @exclusive
    def window(self, updates: Sequence[Update], *, seconds: float | None = None) -> ChangeWindow:
        """Compute several updates of facts in one pass; each `advance()` of the result commits the next one."""
        return change_window(updates, seconds, self._state, self._updater, self._views, self._guard)

    @exclusive
    def apply_net(self, updates: Sequence[Update], *, algorithm: str | Choice = AUTO) -> Change:
        """Apply the net effect of several updates of facts and return the net change."""
        return self._updater.apply_net(updates, algorithm)

    @exclusive
    def what_if(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """Return the change that an update would make, without applying it."""
        return self._updater.apply(update, algorithm, keep=False)

    @exclusive
    def impact(self, update: Update, *, algorithm: str | Choice = AUTO) -> Impact:
        """Return the hyper-nodes that an update would maintain, and its change, without applying it."""
        change = self._updater.apply(update, algorithm, keep=False)
        return Impact(self._updater.impact(update), change)

    @public
    def stream(
        self,
        updates: Iterable[Update] | UpdateQueue,
        *,
        algorithm: str | Choice = AUTO,
        lookahead: str | Lookahead = AUTO,
        keep_going: bool = False,
    ) -> Stream:
        """Apply updates in order and yield an `Answer` for each; `lookahead` sets the use of waiting updates.

        A thread reads updates ahead from anything but an `UpdateQueue`.
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
        """Mark what the next update in a queue deletes while another one is applied; None turns marking off."""
        return self._updater.look_ahead(ahead)

    @property
    def takes_one_by_one(self) -> bool:
        """Whether a stream must apply updates one by one: limits hold for each, or the backend computes no windows."""
        return self._state.takes_one_by_one

    @exclusive
    def undo(self) -> Change:
        """Undo the last update that is not undone yet, by another update, and return the change.

        The last 32 updates since the knowledge base was opened can be undone, one after the other.
        """
        return self._undo.undo(lambda update: self._updater.apply(update, AUTO, keep=True))

    @exclusive
    def watch(self, text: str, parameters: Mapping[str, Value] | None = None, *, initial: bool = False) -> QueryWatch:
        """Watch a query: iterate over the exact changes of its answers, in this thread or another.

        With `initial`, the first change has the current answers.
        """
        from holdfast.knowledge.watches import QueryWatch

        question, values = self._question(text), {} if parameters is None else parameters
        watch = QueryWatch(partial(self.query, text, values), self._tidy_watches)
        self._watches.add(question, values, watch, initial=initial)
        return watch

    @property
    def _watches(self) -> Watches:
        from holdfast.knowledge.watching import Watches

        if self._readers.versions is None:
            message = "this engine keeps no versions, so its queries cannot be watched; the memory engine's can"
            raise UsageError(Diagnostic("E0917", message, help="use kb.apply, whose change has all facts"))
        if self._watching is None:
            self._watching = Watches(self._state, self._readers.last)
        return self._watching

    @exclusive
    def _tidy_watches(self) -> None:
        if self._watching is not None:
            self._watching.tidy()

    # --- asyncio ---------------------------------------------------------------------------------------

    async def apply_async(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """Run `apply` in another thread.  The update is applied even if the task is cancelled meanwhile."""
        from asyncio import to_thread

        return await to_thread(self.apply, update, algorithm=algorithm)

    async def query_async(self, text: str, parameters: Mapping[str, Value] | None = None) -> RelationView:
        """Run `query` in another thread."""
        from asyncio import to_thread

        return await to_thread(self.query, text, parameters)

    # --- the store -------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of updates applied so far; with a store, since the store was made."""
        return self._state.version

    @property
    def sync(self) -> str:
        """When an update counts as durable: "full", when it is on the disk; "os", when the operating system has it."""
        return self._kept.store.sync

    @sync.setter
    @exclusive
    def sync(self, sync: str) -> None:
        if sync not in ("full", "os"):
            raise UsageError(Diagnostic("E0926", f"sync is 'full' or 'os', not {sync!r}"))
        self._kept.store.sync = sync

    @exclusive
    def compact(self) -> None:
        """Write a snapshot to the store and begin a new log."""
        self._kept.compact()

    @exclusive
    def backup(self, folder: str | Path) -> None:
        """Copy the current state of the store to a new folder, which is a store too."""
        from holdfast.store.copying import copy_store

        expect(folder, (str, Path), "a backup goes to a folder")
        copy_store(self._kept.store.folder, Path(folder))

    @exclusive
    def commits(self) -> list[CommitInfo]:
        """The commits since the last snapshot of the store, the oldest first: versions, sizes, times and notes."""
        from holdfast.store.commits import commits
        from holdfast.store.reading import read_store

        folder = self._kept.store.folder if self._following is None else self._following.folder
        return commits(read_store(folder, check_facts=False))

    @public
    def at(self, version: int) -> KnowledgeBase:
        """Return the knowledge base at a version since the last snapshot, evaluated again and without a store."""
        expect(version, int, "a version is a number")
        return (self._following or self._kept).earlier(version)

    @exclusive
    def refresh(self) -> int:
        """Apply what another process has committed to a store opened with `read_only=True`, and return the version.

        If the writer has replaced the log since, the state is loaded again.
        """
        if self._following is None:
            help = 'holdfast.open("kb", read_only=True) follows a store that another process writes'
            raise UsageError(Diagnostic("E1308", "this knowledge base does not follow a store", help=help))
        return self._following.refresh()

    @public
    def close(self) -> None:
        """Close the store, so that others can open it.  Facts can still be read, and updates raise.  On Spark, give the
        cores back; later calls take them again.  Otherwise, do nothing."""
        with self._guard.lock:
            for kept in (self._durable, self._following):
                if kept is not None:
                    kept.close()
            holding = self._backend.ability(HoldingCores)
            if holding is not None:
                holding.release_cores()

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _kept(self) -> Durable:
        if self._following is not None:
            raise self._following.refusal()
        if self._durable is None:
            help = 'open it with one: holdfast.open("rules.dl", facts="facts/", store="kb")'
            raise UsageError(Diagnostic("E1308", "this knowledge base has no store", help=help))
        return self._durable

    def attach(self, store: Store, earlier: Callable[[int], KnowledgeBase]) -> None:
        """Keep this knowledge base in a store; called by `holdfast.open`."""
        from holdfast.knowledge.durable import Durable

        self._durable = Durable(self._state, self._views, store, earlier)

    def follow(self, following: Following) -> None:
        """Follow a store; called by `holdfast.open`."""
        self._following = following

    def log_with(self, log: Callable[[Commit], None] | None) -> None:
        """Set a function to call before each commit, which it can prevent by raising; None removes it."""
        self._state.log = log

    def become(self, other: KnowledgeBase) -> None:
        """Take over the state of another knowledge base, which must not be used any more."""
        self._hold(other._state)

    @exclusive
    def stored_as(self, source: str, data: Callable[[RelationView], StoredData] = RelationView.to_arrow) -> Snapshot:
        """The state as a store keeps it; `source` is the program's hash, and `data` prepares facts for the store."""
        from holdfast.knowledge.durable import snapshot_of

        return snapshot_of(self._state, self._views, source, data)

    @exclusive
    def keep_derived(self, store: Store) -> None:
        """Cache derived facts in a store whose snapshot has this state; called by `holdfast.open`."""
        from holdfast.knowledge.durable import keep_derived

        keep_derived(self._state, store)

    def start_at(self, version: int) -> None:
        """Set the version to one that a store has."""
        self._state.version = version
        self._undo.clear()

    # --- files and notebooks ---------------------------------------------------------------------------

    @public
    def write_outputs(self, folder: str | Path) -> list[Path]:
        """Write each `.output` relation to a file in the folder and return the paths.  RDF files may be shared.

        All files are written or none.  A file of the program or its facts is never overwritten.
        """
        from holdfast.formats.staging import all_or_none

        expect(folder, (str, Path), "a folder is a path")
        with all_or_none() as staged:
            return self.stage_outputs(folder, staged)

    def stage_outputs(self, folder: str | Path, staged: Staged, others: Iterable[Path] = ()) -> list[Path]:
        """Like `write_outputs`, together with other files of a run; `others` are not overwritten either."""
        return self._outputs().stage(Path(folder), staged, (*self.files, *others))

    @reading
    def _outputs(self) -> Outputs:
        reader = self._reader()
        named = [r for r in reader.program.relations.values() if any(io.kind == "output" for io in r.io)]
        views = {relation.name: reader.all_facts(relation) for relation in named}
        return Outputs(reader.program, views, self._dictionary)
