"""What a Python user holds: a program with everything that follows from its facts.

The methods take the lock (`exclusive.py`) and leave the work to the parts that a knowledge base consists of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from holdfast.arguments import expect, missing_method
from holdfast.boundary import public
from holdfast.errors import Diagnostic
from holdfast.exclusive import Guard, exclusive
from holdfast.knowledge.evaluation import Statistics
from holdfast.knowledge.materialisation import Materialisation
from holdfast.knowledge.outputs import Outputs
from holdfast.knowledge.queries import answers
from holdfast.knowledge.relations import find_relation, the_relation
from holdfast.knowledge.updating import Updater, chosen, expect_updates
from holdfast.knowledge.views import Views, ViewsByName, visible_relations
from holdfast.knowledge.windows import ChangeWindow, change_window
from holdfast.language.printer import show
from holdfast.maintenance.algorithms import AUTO, Choice
from holdfast.program.model import Program
from holdfast.relation_view import RelationView, signature
from holdfast.updates import Change, Impact, Update, Updating
from holdfast.values import Row

if TYPE_CHECKING:
    from holdfast.explanations.absence import Absence
    from holdfast.explanations.proof import Proof
    from holdfast.formats.staging import Staged
    from holdfast.maintenance.marking import Marking
    from holdfast.program.graph_views import GraphView
    from holdfast.streaming.driver import Lookahead, Stream
    from holdfast.streaming.queue import UpdateQueue


class KnowledgeBase:
    """A program with everything that follows from its facts; made by `holdfast.open` and `holdfast.from_text`.

    `kb["path"]` is a relation, `kb.query("path(1, x)")` answers a query.  `kb.update()` and `kb.apply` change facts and
    rules, `kb.what_if` and `kb.impact` try a change, and `kb.stream` applies many.  Calls from several threads run one
    at a time.
    """

    def __init__(self, state: Materialisation, statistics: Statistics, files: Sequence[Path]) -> None:
        self._state, self._guard = state, Guard(self._mend)
        self._backend, self._maintainer, self._dictionary = state.backend, state.maintainer, state.dictionary
        self._views = Views(state, self._guard)
        self._updater = Updater(state, self._views)
        self.statistics = statistics
        self.files = tuple(files)
        """The files that were read: the program, if it is a file, and the facts."""

    if not TYPE_CHECKING:  # a type checker knows what there is

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    def _mend(self) -> None:
        self._updater.mend()

    # --- relations and queries -------------------------------------------------------------------------

    @property
    def program(self) -> Program:
        """The checked program as it is now."""
        return self._state.program

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings of the checker."""
        return self.program.warnings

    @property
    def relations(self) -> Mapping[str, RelationView]:
        """All relations by name, without auxiliary ones; each is read on access."""
        return ViewsByName(visible_relations(self.program), self.__getitem__)

    def __iter__(self) -> Iterator[str]:
        """The names of the relations."""
        return iter(self.relations)

    @exclusive
    def __getitem__(self, name: str) -> RelationView:
        return self._views.all_facts(the_relation(name, self.program))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and find_relation(name, self.program) is not None

    @exclusive
    def explicit(self, name: str) -> RelationView:
        """The explicit facts of a relation: those that were loaded or inserted."""
        return self._views.explicit_facts(the_relation(name, self.program))

    @exclusive
    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation."""
        return self._views.sizes()

    def rules_text(self) -> str:
        """The current declarations and rules as text, with the names of the rules."""
        return show(self._state.tree)

    @exclusive
    def query(self, text: str) -> RelationView:
        """Answer a query, which is the body of a rule: `path(1, x), !blocked(x)`."""
        expect(text, str, "a query is a text", "kb.query('path(1, x)')")
        return answers(text, self._state, self._views)

    @exclusive
    def counters(self, name: str) -> dict[Row, tuple[int, int]]:
        """For each fact, its nonrecursive derivations (plus 1 if it is explicit) and its recursive derivations."""
        relation = the_relation(name, self.program)
        self._maintainer.counted()
        codes, nonrecursive, recursive = self._backend.derivations(relation.name)
        rows = self._dictionary.decode_rows(codes, relation.types)
        return dict(zip(rows, zip(nonrecursive, recursive, strict=True), strict=True))

    def graph(self) -> GraphView:
        """The graph of hyper-nodes: a picture in a notebook, text elsewhere."""
        from holdfast.program.graph_views import GraphView

        return GraphView(self.program)

    # --- explanations ----------------------------------------------------------------------------------

    @exclusive
    def why(self, fact: str, *, seconds: float | None = 5.0, size: int | None = None) -> Proof | None:
        """A proof of a fact, `kb.why("path(1, 4)")`, of the least height there is; None if the fact does not hold.

        Raises `LimitReached` if none is found within so many seconds, or by looking at so many facts.
        """
        from holdfast.knowledge.explaining import why

        return why(fact, self._state, seconds, size)

    @exclusive
    def why_not(self, fact: str, *, seconds: float | None = 5.0, size: int | None = None) -> Absence | None:
        """Why a fact does not hold, or no fact of a pattern such as `path(4, _)`; None if one does.

        Raises `LimitReached` as `why` does.
        """
        from holdfast.knowledge.explaining import why_not

        return why_not(fact, self._state, seconds, size)

    # --- updates ---------------------------------------------------------------------------------------

    @public
    def update(self, *, algorithm: str | Choice = AUTO) -> Updating:
        """Collect an update in a `with` block and apply it at the end; `u.change` is then its change."""
        chosen(algorithm)  # errors are raised before the block
        return Updating(lambda update: self.apply(update, algorithm=algorithm))

    @exclusive
    def apply(self, update: Update, *, algorithm: str | Choice = AUTO) -> Change:
        """Apply an update and return the exact change.  If this raises, nothing has changed."""
        return self._updater.apply(update, algorithm, keep=True)

    @exclusive
    def apply_all(self, updates: Sequence[Update], *, seconds: float | None = None) -> list[Change]:
        """Apply several updates of facts in one pass and return the exact change of each.

        All updates are applied or none: if this raises, also because it takes more than `seconds` of processor time,
        nothing has changed.  The figures of the pass are in the first change.
        """
        expect_updates(updates)
        return self.window(updates, seconds=seconds).all() if updates else []

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

    @exclusive
    def _outputs(self) -> Outputs:
        named = [r for r in self.program.relations.values() if any(io.kind == "output" for io in r.io)]
        views = {relation.name: self._views.all_facts(relation) for relation in named}
        return Outputs(self.program, views, self._dictionary)

    def __repr__(self) -> str:
        return f"<knowledge base: {_counted(*self._counts())}>"

    def _repr_html_(self) -> str:
        from holdfast.notebook import table

        explicit, sizes = self._counts()
        rows = [
            (relation.display, signature(relation), f"{sizes[name]:,}", f"{explicit.get(name, 0):,}")
            for name, relation in self.program.relations.items()
            if name in sizes
        ]
        caption = f"knowledge base: {_counted(explicit, sizes)}"
        return table(caption, ("relation", "columns", "facts", "explicit"), rows)

    @exclusive
    def _counts(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The numbers of explicit facts and of all facts, by relation, as they are now."""
        return self._backend.explicit.sizes(), self._views.sizes()


def _counted(explicit: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    facts = sum(explicit.get(name, 0) for name in sizes)
    return f"{facts:,} fact{'' if facts == 1 else 's'}, {sum(sizes.values()) - facts:,} derived"
