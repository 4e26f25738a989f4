"""A relation as a Python user sees it: a sized, iterable set of rows that converts to data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from holdfast.backends.abilities import ImplicitRelation
from holdfast.backends.protocol import Deferred
from holdfast.boundary import public
from holdfast.errors import Diagnostic, UsageError, printable
from holdfast.exclusive import Guard, exclusive
from holdfast.program.model import Relation
from holdfast.values import Row, Type
from holdfast.values.dictionary import Codes, Dictionary, EncodingError

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame

_ROWS_SHOWN = 20
_PIECE = 10_000  # rows decoded at a time
_LONG = 1 << 16  # characters above which copies of a value count
_COPIES = 3  # of a value that is being shown: text, escaped text, bytes
_FEW_LOOKS = 16  # membership tests; beyond this, build a set


class RelationView(Set[Row]):
    """The facts of a relation, or the answer to a query, at the time of the call.

    A view is an immutable set of tuples and equals every set of the same tuples.  The order of iteration is unspecified
    but stable; `sorted_rows` and `head` sort by value.
    """

    def __init__(
        self,
        relation: Relation,
        rows: Codes | Deferred | ImplicitRelation,
        dictionary: Dictionary,
        guard: Guard | None = None,
    ) -> None:
        self._relation = relation
        self._rows = rows
        self._dictionary = dictionary
        self._guard = guard or Guard(lambda: None)
        self._looks = 0
        if isinstance(rows, np.ndarray):
            self.codes = rows

    @cached_property
    def codes(self) -> Codes:
        """The facts as codes of the dictionary (internal)."""
        assert not isinstance(self._rows, np.ndarray)
        return self._rows.codes() if isinstance(self._rows, ImplicitRelation) else self._fetched(self._rows)

    @exclusive
    def _fetched(self, rows: Deferred) -> Codes:
        """Encode the rows that Spark returns."""
        return rows.codes()

    @property
    def name(self) -> str:
        """The relation's name as the program writes it."""
        return self._relation.display

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self._relation.columns)

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the columns."""
        return self._relation.types

    def __len__(self) -> int:
        return len(self._rows)

    @classmethod
    def _from_iterable(cls, rows: Iterable[Row]) -> frozenset[Row]:  # type: ignore[override]
        return frozenset(rows)  # the result type of `&`, `|`, `-` and `^`

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RelationView):
            return self._has_codes_of(other) or frozenset(self) == frozenset(other)
        return len(other) <= len(self) and frozenset(self) == other if isinstance(other, Set) else NotImplemented

    def _has_codes_of(self, other: RelationView) -> bool:
        same = self._dictionary is other._dictionary and self.types == other.types and len(self) == len(other)
        return same and self._encoded == other._encoded

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __iter__(self) -> Iterator[Row]:
        if len(codes := self.codes) <= _PIECE:
            return iter(self._dictionary.decode_rows(codes, self.types))
        return self._decoded(codes)

    def _decoded(self, codes: Codes) -> Iterator[Row]:
        """Decode rows in batches: Python objects take many times the memory of codes."""
        for start in range(0, len(codes), _PIECE):
            yield from self._dictionary.decode_rows(codes[start : start + _PIECE], self.types)

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple) or len(row) != len(self.types):
            return False
        try:
            wanted = tuple(self._dictionary.find_value(v, t) for v, t in zip(row, self._relation.kinds, strict=True))
        except EncodingError:
            return False
        if None in wanted:
            return False
        if isinstance(self._rows, ImplicitRelation):
            return bool(self._rows.has(np.array([wanted], np.int64))[0])
        self._looks += 1
        if self._looks > _FEW_LOOKS:
            return wanted in self._encoded
        return bool((self.codes == np.array(wanted, np.int64)).all(axis=1).any())

    @cached_property
    def _encoded(self) -> frozenset[tuple[int, ...]]:
        return frozenset(map(tuple, self.codes.tolist()))

    def head(self, count: int = 5) -> list[Row]:
        """The first `count` rows of `sorted_rows`, as a list."""
        return list(islice(self.sorted_rows(), count))

    @public
    def sorted_rows(self) -> Iterator[Row]:
        """Iterate over the rows sorted column by column: numbers by value, strings by bytes."""
        from holdfast.formats.order import in_order

        self.check_memory()
        return self._decoded(in_order(self._relation, self.codes, self._dictionary))

    def check_memory(self) -> None:
        """Raise `LimitReached` if sorting the rows would exceed the memory limit."""
        from holdfast.formats.order import order_size

        memory, size = self._dictionary.memory, order_size(self._relation, len(self))
        memory.check(f"rows of {self.name} in order", size)
        memory.check(f"rows of {self.name} as text", size + _COPIES * self._longest())

    def _longest(self) -> int:
        """An upper bound on the characters of a value; exact if the dictionary has a long one."""
        longest = self._dictionary.longest
        return longest if longest <= _LONG else self._dictionary.longest_of(self.codes, self.types)

    @public
    def to_arrow(self) -> pyarrow.Table:
        """Return the facts as an Arrow table."""
        from holdfast.formats.parquet import to_arrow

        return to_arrow(self._relation, self.codes, self._dictionary)

    @public
    def to_pandas(self) -> pandas.DataFrame:
        """Return the facts as a pandas data frame; needs pandas."""
        try:
            import pandas  # noqa: F401
        except ModuleNotFoundError:
            help = "pip install 'holdfast[pandas]'"
            raise UsageError(Diagnostic("E0001", "to_pandas needs pandas, which is not installed", help=help)) from None
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    @public
    def to_spark(self) -> DataFrame:
        """Return the facts as a Spark DataFrame; with the spark engine nothing is collected."""
        from holdfast.formats.parquet import MARK
        from holdfast.spark_session import spark_errors, spark_session

        if not isinstance(self._rows, np.ndarray | ImplicitRelation):
            return self._rows.frame()  # type: ignore[no-any-return]
        import pyarrow as pa

        session, table = spark_session(), self.to_arrow()
        wide = pa.decimal128(20, 0)  # Spark has no unsigned integers
        fields = [field.with_type(wide) if field.type == pa.uint64() else field for field in table.schema]
        with spark_errors():
            frame = session.createDataFrame(table.cast(pa.schema(fields)))
            for column in self._relation.columns:
                if column.type is Type.ANY:
                    frame = frame.withMetadata(column.name, MARK)  # which Spark has dropped
            return frame

    def __copy__(self) -> RelationView:
        return self

    def __deepcopy__(self, _known: object) -> RelationView:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        refuse_copying("a view of a relation", "pickle list(view), or view.to_arrow()")

    def __repr__(self) -> str:
        return printable(f"<{self.name}({signature(self._relation)}): {self._count()}>")

    def _count(self) -> str:
        return "1 fact" if len(self) == 1 else f"{len(self):,} facts"

    def _repr_html_(self) -> str:
        from holdfast.notebook import table

        rows = ([str(value) for value in row] for row in self.head(_ROWS_SHOWN))
        more = f"<p>… and {len(self) - _ROWS_SHOWN:,} more</p>" if len(self) > _ROWS_SHOWN else ""
        return table(f"{self.name}: {self._count()}", self.columns, rows) + more


class NotCopiedError(UsageError, TypeError):
    """An object bound to one process was copied or pickled."""


def refuse_copying(what: str, help: str) -> NoReturn:
    """Raise because a copy would share state with the original."""
    raise NotCopiedError(Diagnostic("E0952", f"{what} cannot be copied or pickled", help=help))


def signature(relation: Relation) -> str:
    """The columns of a relation, with their types."""
    return ", ".join(f"{column.name}: {column.type_name}" for column in relation.columns)
