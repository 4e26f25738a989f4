"""A materialised program and what can be asked of it: its relations, queries, figures, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.backends.protocol import Backend
from holdfast.encoding import Codes
from holdfast.errors import Diagnostic, UsageError
from holdfast.language import parse_body, tree
from holdfast.language.editing import rules_named
from holdfast.language.printer import show
from holdfast.loading import Loaded
from holdfast.maintenance.seminaive import NodeFigures, materialise
from holdfast.maintenance.served import States
from holdfast.maintenance.watch import Watch
from holdfast.modules import Module
from holdfast.plans import Planner
from holdfast.program import check_query
from holdfast.program.model import Program, Relation
from holdfast.program.similar import similar
from holdfast.relation_view import RelationView
from holdfast.settings import Limits
from holdfast.values import Row

if TYPE_CHECKING:
    from holdfast.maintenance.maintainer import Maintainer


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
        self._maintainer = _maintainer(self.program, backend, modules, states)

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
        wanted = output_files(self.program, folder)
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


def output_files(program: Program, folder: Path) -> list[tuple[Path, Relation, Mapping[str, str]]]:
    """Where each `.output` goes; one that cannot be written is an error."""
    from holdfast.formats.paths import output_path

    outputs = [
        (relation, io.parameters)
        for relation in program.relations.values()
        for io in relation.io
        if io.kind == "output" and not io.is_printed
    ]
    return [(output_path(folder, relation, parameters), relation, parameters) for relation, parameters in outputs]


def _maintainer(program: Program, backend: Backend, modules: tuple[Module, ...], states: States) -> Maintainer:
    from holdfast.maintenance.maintainer import Maintainer

    return Maintainer(program, backend, modules, states)
