"""Sets of facts on Spark, in one of three forms for each predicate.

`Local` facts are a few rows on the driver.  `Near` facts are those of E or I, without some rows and with some others:
`I \\ (D \\ A)` has this form while D and A are small, whatever the size of I.  `Far` facts are a DataFrame: anything.
Local and near forms are combined on the driver without a job, because the driver knows for each local row whether E and
I have it (see `relations.py`).  A far form is computed when its size is needed, and becomes local if it is small.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeGuard

from holdfast.backends.protocol import Facts
from holdfast.backends.spark.frames import Frame
from holdfast.backends.spark.values import NativeRow

NativeRows: TypeAlias = frozenset[NativeRow]
_NO_ROWS: NativeRows = frozenset()


class Standing(Protocol):
    """E or I, as a near form refers to it."""

    def having(self, predicate: str, rows: Collection[NativeRow]) -> NativeRows:
        """The rows that are in the set."""
        ...

    def here(self, predicate: str) -> NativeRows | None:
        """The facts of a predicate, if the driver has them all."""
        ...

    def count(self, predicate: str) -> int:
        """The number of facts of a predicate."""
        ...

    def frame(self, predicate: str) -> Frame:
        """The facts of a predicate as a frame."""
        ...


@dataclass(frozen=True, eq=False)
class Local:
    """Rows on the driver; `Far` explains the other fields."""

    rows: NativeRows
    apart: frozenset[object] = frozenset()
    rest: tuple[object, Local] | None = None


@dataclass(frozen=True, eq=False)
class Near:
    """The facts of E or I without `less`, all of which are in it, and with `more`, none of which are."""

    standing: Standing
    less: NativeRows = _NO_ROWS
    more: NativeRows = _NO_ROWS


@dataclass(frozen=True, eq=False)
class Far:
    """A DataFrame of distinct rows, with its size if known; `apart` names kept sets that are disjoint from it.

    `rest`, if present, is the difference to the kept set of that name.  A frame that `stays` is computed but not
    collected to the driver, however small it is.
    """

    frame: Frame
    size: int | None = None
    apart: frozenset[object] = frozenset()
    rest: tuple[object, Far] | None = None
    stays: bool = False


Form: TypeAlias = Local | Near | Far
NOTHING = Local(_NO_ROWS)


class FormContext(Protocol):
    """What forms need from the backend."""

    def width(self, predicate: str) -> int:
        """The number of a predicate's columns in Spark."""
        ...

    def frame(self, predicate: str, form: Form) -> Frame:
        """A form as a DataFrame."""
        ...

    def joined(self, predicate: str, left: Form, right: Form, how: str) -> Frame:
        """The rows of one form that are (`SEMI`) or are not (`ANTI`) in another."""
        ...

    def together(self, predicate: str, left: Form, right: Form) -> Frame:
        """The rows of both forms, each once."""
        ...

    def is_open(self, form: Form) -> TypeGuard[Far]:
        """Whether a form has yet to be computed, or to be collected to the driver because it is small."""
        ...

    def measured(self, forms: Mapping[str, Form], *, freeze: bool = False) -> dict[str, Form]:
        """The same forms, with far ones computed and, if small, made local; `freeze` converts near ones too."""
        ...


class SparkFacts:
    """A set of facts: a form for each predicate."""

    def __init__(self, engine: FormContext, forms: Mapping[str, Form] | None = None) -> None:
        self.engine = engine
        self.forms: dict[str, Form] = dict(forms or {})

    def form(self, predicate: str) -> Form:
        """The facts of one predicate."""
        return self.forms.get(predicate, NOTHING)

    def mark(self, predicate: str) -> object:
        """A name for the set as it is now; disjoint sets carry it."""
        return None

    def predicates(self) -> Iterable[str]:
        """The predicates that may have facts in it."""
        return self.forms.keys()

    def __or__(self, other: Facts) -> SparkFacts:
        other = own(other)
        names = {**dict.fromkeys(self.predicates()), **dict.fromkeys(other.predicates())}
        return self._made({p: union(self.engine, p, self.form(p), other.form(p)) for p in names})

    def __sub__(self, other: Facts) -> SparkFacts:
        other = own(other)
        return self._made(
            {p: without(self.engine, p, self.form(p), other.form(p), other.mark(p)) for p in self.predicates()}
        )

    def __and__(self, other: Facts) -> SparkFacts:
        other = own(other)
        return self._made({p: both(self.engine, p, self.form(p), other.form(p)) for p in self.predicates()})

    def of(self, predicates: Iterable[str]) -> SparkFacts:
        """The facts of some predicates only."""
        wanted = set(predicates)
        return self._made({p: self.form(p) for p in self.predicates() if p in wanted})

    def size(self, predicate: str) -> int:
        """The number of facts of one predicate."""
        return self.of((predicate,)).sizes().get(predicate, 0)

    def sizes(self) -> Mapping[str, int]:
        """The number of facts of each predicate."""
        self._measure()
        sizes = {p: size(p, self.form(p)) for p in self.predicates()}
        return {p: number for p, number in sizes.items() if number}

    def snapshot(self) -> SparkFacts:
        """The same facts, computed."""
        self._measure()
        return self._made(self.engine.measured({p: self.form(p) for p in self.predicates()}, freeze=True))

    def __len__(self) -> int:
        return sum(self.sizes().values())

    def __bool__(self) -> bool:
        return bool(self.sizes())

    def _made(self, forms: Mapping[str, Form]) -> SparkFacts:
        return SparkFacts(self.engine, {p: f for p, f in forms.items() if not (isinstance(f, Local) and not f.rows)})

    def _measure(self) -> None:
        if any(map(self.engine.is_open, self.forms.values())):
            self.forms = self.engine.measured(self.forms)


class Listed(SparkFacts):
    """A set that changes during an update and is empty after it: D, A, C, P, Y."""

    def __init__(self, engine: FormContext) -> None:
        super().__init__(engine)
        self._version = 0

    def mark(self, predicate: str) -> object:
        """A set that is disjoint from it now need not be compared with it when it is added."""
        return (id(self), predicate, self._version)

    def __ior__(self, more: Facts) -> Listed:
        more = own(more)
        new = more if all(self.mark(p) in apart(more.form(p)) for p in more.predicates()) else more - self
        result = {p: _appended(self.engine, p, self.form(p), new.form(p)) for p in new.predicates()}
        self.forms.update(result)
        self._version += 1
        return self

    def __isub__(self, fewer: Facts) -> Listed:
        self.forms = dict((self - fewer).snapshot().forms)
        self._version += 1
        return self

    def clear(self) -> None:
        """Remove all facts."""
        self.forms = {}
        self._version += 1


class Elsewhere(SparkFacts):
    """A live view: one set for some predicates, another for the rest."""

    def __init__(self, engine: FormContext, predicates: Iterable[str], here: SparkFacts, rest: SparkFacts) -> None:
        super().__init__(engine)
        self._names, self.here, self.rest = frozenset(predicates), here, rest

    def form(self, predicate: str) -> Form:
        """The facts of one predicate."""
        return (self.here if predicate in self._names else self.rest).form(predicate)

    def predicates(self) -> Iterable[str]:
        """The predicates that may have facts in it."""
        rest = [p for p in self.rest.predicates() if p not in self._names]
        return [*(p for p in self.here.predicates() if p in self._names), *rest]

    def _measure(self) -> None:
        self.here._measure()
        self.rest._measure()


def own(facts: Facts) -> SparkFacts:
    """A fact set of this backend; raises for another backend's, which cannot be combined with it."""
    if not isinstance(facts, SparkFacts):
        raise TypeError("fact sets of two backends cannot be combined")
    return facts


def apart(form: Form) -> frozenset[object]:
    """The kept sets that are known to be disjoint from a form."""
    return frozenset() if isinstance(form, Near) else form.apart


def size(predicate: str, form: Form) -> int:
    """The number of facts of a measured form."""
    match form:
        case Local(rows=rows):
            return len(rows)
        case Near(standing=standing, less=less, more=more):
            return standing.count(predicate) - len(less) + len(more)
        case Far(size=number):
            assert number is not None, "a far form must be measured before it is measured"
            return number


def has(predicate: str, form: Local | Near, rows: NativeRows) -> NativeRows:
    """The rows that are in a form."""
    match form:
        case Local(rows=mine):
            return rows & mine
        case Near(standing=standing, less=less, more=more):
            return (standing.having(predicate, rows) - less) | (rows & more)


def union(engine: FormContext, predicate: str, left: Form, right: Form) -> Form:
    """`left ∪ right`."""
    if _is_empty(left) or _is_empty(right):
        return right if _is_empty(left) else left
    match left, right:
        case Local(), Local():
            return Local(left.rows | right.rows)
        case (Near() as near, Local(rows=rows)) | (Local(rows=rows), Near() as near):
            new = rows - near.standing.having(predicate, rows)
            return Near(near.standing, near.less - rows, near.more | new)
        case Near(), Near() if left.standing is right.standing:
            return Near(left.standing, left.less & right.less, left.more | right.more)
    return Far(engine.together(predicate, left, right))


def without(engine: FormContext, predicate: str, left: Form, right: Form, mark: object = None) -> Form:
    """`left \\ right`; `mark` is the name of the right one if it is a kept set."""
    if _is_empty(left) or _is_empty(right):
        return left
    if not isinstance(left, Near) and left.rest is not None and left.rest[0] == mark:
        return left.rest[1]
    match left, right:
        case Local(rows=rows), Local() | Near():
            return Local(rows - has(predicate, right, rows))
        case Near(), Local(rows=rows):
            return Near(left.standing, left.less | left.standing.having(predicate, rows), left.more - rows)
        case Near(), Near() if left.standing is right.standing:
            rows = (right.less - left.less) | left.more
            return Local(rows - has(predicate, right, rows))
    known = left.apart if isinstance(left, Far) else frozenset()
    return Far(engine.joined(predicate, left, right, "ANTI"), apart=known | {mark})


def both(engine: FormContext, predicate: str, left: Form, right: Form) -> Form:
    """`left ∩ right`."""
    if _is_empty(left) or _is_empty(right):
        return NOTHING
    match left, right:
        case (Local(rows=rows), Local() | Near() as other) | (Near() as other, Local(rows=rows)):
            return Local(has(predicate, other, rows))
        case Near(), Near() if left.standing is right.standing:
            return Near(left.standing, left.less | right.less, left.more & right.more)
    known = left.apart if isinstance(left, Far) else frozenset()
    return Far(engine.joined(predicate, left, right, "SEMI"), apart=known)


def _is_empty(form: Form) -> bool:
    match form:
        case Local(rows=rows):
            return not rows
        case Far(size=number):
            return number == 0
    return False


def _appended(engine: FormContext, predicate: str, left: Form, right: Form) -> Form:
    """`left ∪ right` of disjoint forms; its size is known if theirs are."""
    form = union(engine, predicate, left, right)
    if isinstance(form, Far) and not _is_empty(left) and not _is_empty(right):
        frames = [engine.frame(predicate, part) for part in (left, right)]
        text = " UNION ALL ".join(f"SELECT * FROM {frame.table}" for frame in frames)
        sizes = [part.size if isinstance(part, Far) else size(predicate, part) for part in (left, right)]
        known = None if None in sizes else sum(number or 0 for number in sizes)
        return Far(Frame(frames[0].space, text, frames), known)
    return form
