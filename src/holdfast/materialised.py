"""A materialised program and what can be asked of it: its relations, queries, figures, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.arguments import expect
from holdfast.backends.abilities import virtual_relations
from holdfast.backends.protocol import Backend
from holdfast.boundary import public
from holdfast.deadline import within
from holdfast.encoding import Codes
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import Guard, exclusive
from holdfast.language import parse_body, tree
from holdfast.language.editing import rules_named
from holdfast.language.printer import show
from holdfast.loading import Loaded
from holdfast.maintenance.module_adapter import States
from holdfast.maintenance.seminaive import NodeFigures, materialise
from holdfast.maintenance.watch import Watch
from holdfast.modules import Module
from holdfast.plans import Planner
from holdfast.program import check_query
from holdfast.program.model import Program, Relation
from holdfast.program.similar import similar
from holdfast.quick_dataclass import dataclass
from holdfast.relation_view import RelationView, signature
from holdfast.settings import Limits
from holdfast.values import Row

if TYPE_CHECKING:
    from holdfast.formats.staging import Staged
    from holdfast.maintenance.maintainer import Maintainer
    from holdfast.program.graph_views import GraphView


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


class Materialised:
    """A program with everything that follows from its facts."""

    def __init__(
        self,
        tree_program: tree.Program,
        loaded: Loaded,
        backend: Backend,
        statistics: Statistics,
        limits: Limits | None,
        watch: Watch,
        modules: tuple[Module, ...],
        states: States,
    ) -> None:
        self._tree = rules_named(tree_program)
        self._dictionary = loaded.dictionary
        self._backend = backend
        self._limits = limits
        self._watch = watch
        self.program: Program = loaded.program
        self.statistics = statistics
        self.files = loaded.files
        """The files that this was read from: the program, if it was one, and its facts."""
        self._maintainer = _maintainer(self.program, backend, modules, states, statistics.nodes)
        self._guard = Guard(self._mend)

    def _mend(self) -> None:
        """Something was cut short, who knows where: take it back."""
        raise NotImplementedError

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What the checker found odd, without refusing it."""
        return self.program.warnings

    @property
    def relations(self) -> Mapping[str, RelationView]:
        """All relations by name, without those that the checker made for itself."""
        visible = {name: relation for name, relation in self.program.relations.items() if not relation.auxiliary}
        return _Views(visible, self.__getitem__)

    def __iter__(self) -> Iterator[str]:
        """The names of the relations."""
        return iter(self.relations)

    @exclusive
    def __getitem__(self, name: str) -> RelationView:
        return self._view(self._relation(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    @exclusive
    def explicit(self, name: str) -> RelationView:
        """The facts of a relation that were given, whether rules derive them as well or not."""
        relation = self._relation(name)
        rows = self._backend.rows(relation.name, self._backend.explicit)
        return RelationView(relation, rows, self._dictionary, self._guard)

    @exclusive
    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation, without fetching them."""
        backend = self._backend
        sizes = {
            **backend.materialisation.sizes(),
            **{name: facts.size for name, facts in virtual_relations(backend).virtual.items()},
        }
        return {name: sizes.get(name, 0) for name in self.relations}

    def rules_text(self) -> str:
        """The declarations and rules as they are now, with the rules' names, as text."""
        return show(self._tree)

    @exclusive
    def query(self, text: str) -> RelationView:
        """The answers to a query, which is what may stand in a rule's body: `path(1, x), !blocked(x)`."""
        expect(text, str, "a query is a text", "kb.query('path(1, x)')")
        with within(self._limits.seconds if self._limits else None):
            return self._answered(text)

    def _answered(self, text: str) -> RelationView:
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

    @exclusive
    def counters(self, name: str) -> dict[Row, tuple[int, int]]:
        """For each fact its number of nonrecursive derivations, plus 1 if it is explicit, and of recursive ones."""
        relation = self._relation(name)
        self._maintainer.counted()
        codes, nonrecursive, recursive = self._backend.derivations(relation.name)
        rows = self._dictionary.decode_rows(codes, relation.types)
        return dict(zip(rows, zip(nonrecursive, recursive, strict=True), strict=True))

    @public
    def write_outputs(self, folder: str | Path) -> list[Path]:
        """Write each `.output` relation to a file in the folder; gives the files.  An RDF file may hold several.

        All of them appear or none does; a file that the program or its facts were read from is never overwritten.
        """
        from holdfast.formats.staging import all_or_none

        expect(folder, (str, Path), "a folder is a path")
        with all_or_none() as staged:
            return self.stage_outputs(folder, staged)

    def stage_outputs(self, folder: str | Path, staged: Staged, others: Iterable[Path] = ()) -> list[Path]:
        """As `write_outputs`, together with other files of a run; `others` are not overwritten either."""
        from holdfast.formats.facts_files import write_relation
        from holdfast.formats.parameters import is_rdf

        folder, (program, codes) = Path(folder), self._outputs()
        wanted = output_files(program, folder, (*self.files, *others))
        staged.folder(folder)
        paths = list(dict.fromkeys(path for path, _, _ in wanted))
        for path in filter(is_rdf, paths):
            from holdfast.formats.rdf_writing import write_rdf

            together = [(relation, codes(relation)) for other, relation, _ in wanted if other == path]
            write_rdf(path, together, self._dictionary, program.prefixes, staged.replacing)
        for path, relation, parameters in wanted:
            if not is_rdf(path):
                write_relation(path, relation, codes(relation), self._dictionary, parameters, staged.replacing)
        return paths

    @exclusive
    def _outputs(self) -> tuple[Program, Callable[[Relation], Codes]]:
        """The relations to write, of one state, each brought here when it is written."""
        named = [r for r in self.program.relations.values() if any(io.kind == "output" for io in r.io)]
        views = {relation.name: self._view(relation) for relation in named}

        def codes(relation: Relation) -> Codes:
            views[relation.name].check_room()
            return views[relation.name].codes

        return self.program, codes

    def graph(self) -> GraphView:
        """The hyper-nodes and what they read: a picture in a notebook, text elsewhere."""
        from holdfast.program.graph_views import GraphView

        return GraphView(self.program)

    def __repr__(self) -> str:
        return f"<knowledge base: {self._told(*self._counts())}>"

    def _repr_html_(self) -> str:
        from holdfast.notebook import table

        explicit, sizes = self._counts()
        rows = [
            (relation.display, signature(relation), f"{sizes[name]:,}", f"{explicit.get(name, 0):,}")
            for name, relation in self.program.relations.items()
            if name in sizes
        ]
        caption = f"knowledge base: {self._told(explicit, sizes)}"
        return table(caption, ("relation", "columns", "facts", "of them explicit"), rows)

    @exclusive
    def _counts(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The numbers of explicit facts and of all facts, by relation, as they are now."""
        return self._backend.explicit.sizes(), self.sizes()

    def _told(self, explicit: Mapping[str, int], sizes: Mapping[str, int]) -> str:
        facts = sum(explicit.get(name, 0) for name in sizes)
        return f"{facts:,} fact{'' if facts == 1 else 's'}, {sum(sizes.values()) - facts:,} derived"

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

    def _drop(self, relations: Iterable[Relation]) -> None:
        for relation in relations:
            if relation.name in self._backend.relations:  # making it may have reached a limit
                self._backend.drop_relation(relation.name)

    def _view(self, relation: Relation) -> RelationView:
        backend, virtual = self._backend, virtual_relations(self._backend).virtual.get(relation.name)
        rows = backend.rows(relation.name, backend.materialisation) if virtual is None else virtual.now()
        return RelationView(relation, rows, self._dictionary, self._guard)

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
        expect(name, str, "a relation's name is a string", 'kb["path"]; kb.relations has all of them')
        program = program or self.program
        relation = self._find(name, program)
        if relation is None:
            names = [r.display for r in program.relations.values() if not r.auxiliary]
            help = similar(name, names) or f"there are: {', '.join(names)}"
            raise UsageError(Diagnostic("E0901", f"there is no relation {name}", help=help))
        return relation


class _Views(Mapping[str, RelationView]):
    """Relations by name; the facts of one are only fetched when it is asked for."""

    def __init__(self, relations: Mapping[str, Relation], view: Callable[[str], RelationView]) -> None:
        self._relations = relations
        self._view = view

    def __getitem__(self, name: str) -> RelationView:
        return self._view(self._relations[name].name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._relations)

    def __len__(self) -> int:
        return len(self._relations)


def output_files(
    program: Program, folder: Path, read: Iterable[Path] = ()
) -> list[tuple[Path, Relation, Mapping[str, str]]]:
    """Where each `.output` goes; one that cannot be written is an error."""
    from holdfast.formats.parameters import is_rdf
    from holdfast.formats.paths import output_path, refuse_overwriting, refuse_shared_file

    outputs = [
        (relation, io.parameters)
        for relation in program.relations.values()
        for io in relation.io
        if io.kind == "output" and not io.is_printed
    ]
    found = [(output_path(folder, relation, parameters), relation, parameters) for relation, parameters in outputs]
    for path, _, _ in found:
        refuse_overwriting(path, read)
    separate = ((Path(os.path.normpath(path)), relation) for path, relation, _ in found if not is_rdf(path))
    refuse_shared_file(separate, "would be written to")  # an RDF file may hold several
    return [each for number, each in enumerate(found) if each not in found[:number]]


def _maintainer(
    program: Program, backend: Backend, modules: tuple[Module, ...], states: States, figures: Sequence[NodeFigures]
) -> Maintainer:
    from holdfast.maintenance.maintainer import Maintainer

    return Maintainer(program, backend, modules, states, figures)
