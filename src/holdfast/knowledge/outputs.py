"""The files of `.output` directives: their paths and contents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from holdfast.program.model import Program, Relation
from holdfast.quick_dataclass import dataclass
from holdfast.relation_view import RelationView
from holdfast.values.dictionary import Codes, Dictionary

if TYPE_CHECKING:
    from holdfast.formats.staging import Staged

OutputFile: TypeAlias = tuple[Path, Relation, Mapping[str, str]]
"""A file, the relation to write there, and the parameters of its directive."""


def output_files(program: Program, folder: Path, read: Iterable[Path] = ()) -> list[OutputFile]:
    """The file of each `.output`; raises if one cannot be written."""
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
    refuse_shared_file(separate, "written to")  # an RDF file may hold several relations
    return [each for number, each in enumerate(found) if each not in found[:number]]


@dataclass(frozen=True)
class Outputs:
    """The relations to write, of one state; each is fetched when it is written."""

    program: Program
    views: Mapping[str, RelationView]
    dictionary: Dictionary

    def stage(self, folder: Path, staged: Staged, read: Iterable[Path]) -> list[Path]:
        """Write all outputs, without overwriting files that were `read`."""
        from holdfast.formats.facts_files import write_relation
        from holdfast.formats.parameters import is_rdf

        wanted = output_files(self.program, folder, read)
        staged.folder(folder)
        paths = list(dict.fromkeys(path for path, _, _ in wanted))
        for path in filter(is_rdf, paths):
            from holdfast.formats.rdf_writing import write_rdf

            together = [(relation, self._codes(relation)) for other, relation, _ in wanted if other == path]
            write_rdf(path, together, self.dictionary, self.program.prefixes, staged.replacing)
        for path, relation, parameters in wanted:
            if not is_rdf(path):
                codes = self._codes(relation)
                write_relation(path, relation, codes, self.dictionary, parameters, staged.replacing)
        return paths

    def _codes(self, relation: Relation) -> Codes:
        view = self.views[relation.name]
        view.check_memory()
        return view.codes
