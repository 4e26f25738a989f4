"""Everything that reads, shared by a knowledge base and its snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NoReturn, overload

from holdfast.boundary import public
from holdfast.errors import Diagnostic, UsageError
from holdfast.exclusive import Guard, reading
from holdfast.knowledge.queries import Question
from holdfast.knowledge.reading import FactReader
from holdfast.knowledge.relations import find_relation, rules_text, the_relation
from holdfast.knowledge.views import ViewsByName, visible_relations
from holdfast.program.model import Program
from holdfast.relation_view import RelationView, refuse_copying, signature
from holdfast.values import Value
from holdfast.values.structures import Kind

if TYPE_CHECKING:
    from holdfast.explanations.absence import Absence
    from holdfast.explanations.proof import Proof
    from holdfast.explanations.ways import Derivations, Supports
    from holdfast.program.graph_views import GraphView


class PreparedQuery:
    """A query that is parsed and checked once and can be called many times; made by `kb.prepare`.

    `q({"from": 1})` gives the answers with these values for the parameters, as `kb.query` does.
    """

    def __init__(self, source: Readable, question: Question) -> None:
        self._source, self._question = source, question

    @public
    def __call__(self, parameters: Mapping[str, Value] | None = None) -> RelationView:
        """The answers with these parameter values."""
        return self._source.answer(self._question, parameters)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, without `$`."""
        return self._question.checked(self._source.program).parameters

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The types of the parameters; of records, what they hold."""
        return self._question.checked(self._source.program).kinds

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the answers."""
        return tuple(column.name for column in self._question.checked(self._source.program).answer.columns)

    def __repr__(self) -> str:
        return f"<query {self._question.text}>"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        refuse_copying("a prepared query", "prepare it where it is needed")


class Readable(ABC):
    """Relations, queries and explanations of one state, or of the latest one."""

    _guard: Guard
    _noun: str

    @abstractmethod
    def _reader(self) -> FactReader:
        """The reader of a state."""

    @property
    def program(self) -> Program:
        """The checked program."""
        return self._reader().program

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings of the checker."""
        return self.program.warnings

    # --- relations -------------------------------------------------------------------------------------

    @property
    def relations(self) -> Mapping[str, RelationView]:
        """All relations by name, without auxiliary ones; each is read on access."""
        return ViewsByName(visible_relations(self.program), self.__getitem__)

    def __iter__(self) -> Iterator[str]:
        """The names of the relations."""
        return iter(self.relations)

    @reading
    def __getitem__(self, name: str) -> RelationView:
        reader = self._reader()
        return reader.all_facts(the_relation(name, reader.program))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and find_relation(name, self.program) is not None

    @reading
    def explicit(self, name: str) -> RelationView:
        """The explicit facts of a relation: those that were loaded or inserted."""
        reader = self._reader()
        return reader.explicit_facts(the_relation(name, reader.program))

    @reading
    def sizes(self) -> dict[str, int]:
        """The number of facts of each relation."""
        return self._reader().sizes()

    @reading
    def rules_text(self) -> str:
        """The declarations and rules as text, with the names of the rules."""
        reader = self._reader()
        return rules_text(reader.tree, reader.program)

    def graph(self) -> GraphView:
        """The graph of hyper-nodes: a picture in a notebook, text elsewhere."""
        from holdfast.program.graph_views import GraphView

        return GraphView(self.program)

    # --- queries ---------------------------------------------------------------------------------------

    @reading
    def query(self, text: str, parameters: Mapping[str, Value] | None = None) -> RelationView:
        """Answer a query, which is the body of a rule: `path(1, x), !blocked(x)`.

        `$name` in it is a parameter: `kb.query("path($from, x)", {"from": 1})`.
        """
        return self._answer(self._question(text), {} if parameters is None else parameters)

    @reading
    def prepare(self, text: str) -> PreparedQuery:
        """Parse and check a query that is answered often: `q = kb.prepare("path($from, x)"); q({"from": 1})`."""
        question = self._question(text)
        question.checked(self.program)
        return PreparedQuery(self, question)

    @reading
    def answer(self, question: Question, parameters: Mapping[str, Value] | None) -> RelationView:
        """Answer a prepared query; call it instead."""
        return self._answer(question, {} if parameters is None else parameters)

    def _question(self, text: str) -> Question:
        return Question(text)

    def _answer(self, question: Question, parameters: Mapping[str, Value]) -> RelationView:
        return self._reader().answer(question, parameters)

    # --- explanations ----------------------------------------------------------------------------------

    @overload
    def why(
        self, fact: str, *, ways: Literal["one"] = "one", seconds: float | None = 5.0, size: int | None = None
    ) -> Proof | None: ...

    @overload
    def why(
        self, fact: str, *, ways: Literal["all"], limit: int | None = 100, seconds: float | None = 5.0
    ) -> Derivations | None: ...

    @public
    def why(
        self,
        fact: str,
        *,
        ways: str = "one",
        limit: int | None = 100,
        seconds: float | None = 5.0,
        size: int | None = None,
    ) -> Proof | Derivations | None:
        """Return a proof of a fact, `kb.why("path(1, 4)")`, of the least height; None if the fact does not hold.

        With `ways="all"`, return the derivations of the fact and of the facts below it, up to `limit`.  Raises
        `LimitReached` if nothing is found within `seconds`, or among `size` facts.
        """
        if ways not in ("one", "all"):
            raise UsageError(Diagnostic("E0926", f"ways is 'one' or 'all', not {ways!r}"))
        return self._proof(fact, seconds, size) if ways == "one" else self._derivations(fact, limit, seconds)

    @reading
    def _proof(self, fact: str, seconds: float | None, size: int | None) -> Proof | None:
        from holdfast.knowledge.explaining import why

        with self._reader().explained() as state:
            return why(fact, state, seconds, size)

    @reading
    def _derivations(self, fact: str, limit: int | None, seconds: float | None) -> Derivations | None:
        from holdfast.knowledge.explaining import all_ways

        with self._reader().explained() as state:
            return all_ways(fact, state, limit, seconds)

    @reading
    def supports(
        self, fact: str, *, limit: int | None = 10, rules: bool = False, seconds: float | None = 5.0
    ) -> Supports | None:
        """Return minimal sets of explicit facts from which a fact follows, the smallest first; None if it is absent.

        With `rules`, return sets of facts and rules.  The results of negation and aggregates are taken as given.
        """
        from holdfast.knowledge.explaining import minimal_supports

        with self._reader().explained() as state:
            return minimal_supports(fact, state, limit, seconds, rules=rules)

    @reading
    def why_not(self, fact: str, *, seconds: float | None = 5.0, size: int | None = None) -> Absence | None:
        """Why a fact does not hold, or no fact of a pattern such as `path(4, _)`; None if one does.

        Raises `LimitReached` as `why` does.
        """
        from holdfast.knowledge.suspecting import why_not

        with self._reader().explained() as state:
            return why_not(fact, state, seconds, size)

    # --- files and notebooks ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{self._noun}: {_counted(*self._counts())}>"

    def _repr_html_(self) -> str:
        from holdfast.notebook import table

        explicit, sizes = self._counts()
        rows = [
            (relation.display, signature(relation), f"{sizes[name]:,}", f"{explicit.get(name, 0):,}")
            for name, relation in self.program.relations.items()
            if name in sizes
        ]
        caption = f"{self._noun}: {_counted(explicit, sizes)}"
        return table(caption, ("relation", "columns", "facts", "explicit"), rows)

    @reading
    def _counts(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The numbers of explicit facts and of all facts, by relation."""
        reader = self._reader()
        return reader.explicit_sizes(), reader.sizes()

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        help = "send facts instead: kb[name].to_arrow(), or open a knowledge base in each process"
        refuse_copying(f"a {self._noun}", help)


def _counted(explicit: Mapping[str, int], sizes: Mapping[str, int]) -> str:
    facts = sum(explicit.get(name, 0) for name in sizes)
    return f"{facts:,} fact{'' if facts == 1 else 's'}, {sum(sizes.values()) - facts:,} derived"
