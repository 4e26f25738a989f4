"""An update as a value, and the change it answers with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, NoReturn, Protocol, TypeAlias, cast

from holdfast.arguments import expect, refuse_kind
from holdfast.boundary import public
from holdfast.errors import Diagnostic, UsageError, printable, shortened
from holdfast.formats.fact_data import FactData, FactParts, kept
from holdfast.maintenance.stratum import Figures
from holdfast.program.impact import Impacted
from holdfast.quick_dataclass import dataclass
from holdfast.relation_view import RelationView, refuse_copying
from holdfast.values import Row
from holdfast.values.single_values import shown_repr

_NONE: Mapping[str, FactData] = MappingProxyType({})
_PARTS_SHOWN = 6
NO_INVERSE = "E0953"
_KEYS = ("delete", "insert", "add_rules", "remove_rules", "note")
_DONE = {"insert": "inserted", "delete": "deleted", "add_rule": "added", "remove_rule": "removed"}
_CAUSES_SHOWN, _PROOFS_SHOWN = 8, 3

Note: TypeAlias = Mapping[str, Any]
"""Free fields of an update, such as who made it and why: values that JSON has."""


@dataclass(frozen=True)
class Update:
    """Facts to delete and to insert, rules to add (as text) and to remove (by name or text).

    It is atomic: it is applied as a whole or not at all.  Deleting a fact that is not explicit and inserting one
    that is have no effect; a fact that is both deleted and inserted is inserted.
    """

    delete: Mapping[str, FactData | FactParts] = field(default_factory=lambda: _NONE)
    insert: Mapping[str, FactData | FactParts] = field(default_factory=lambda: _NONE)
    add_rules: Sequence[str] = ()
    remove_rules: Sequence[str] = ()
    note: Note = field(default_factory=lambda: _NONE)  # who, why, …: a store keeps it with the update

    def __post_init__(self) -> None:
        if self.note:
            object.__setattr__(self, "note", the_note(self.note))
        for key in ("add_rules", "remove_rules"):  # a string is a sequence of strings too, but means one text
            if isinstance(given := getattr(self, key), str):
                object.__setattr__(self, key, (given,))
            _expect_texts(key, getattr(self, key))
        for key in ("delete", "insert"):  # an update may be looked at more than once: before it is applied, and again
            given = getattr(self, key)
            expect(given, Mapping, f"{key} is a dict from relations to facts", f'{key}={{"edge": [(1, 2), (2, 3)]}}')
            if any(isinstance(facts, Iterator | Mapping) for facts in given.values()):
                object.__setattr__(self, key, {name: kept(facts) for name, facts in given.items()})

    def __reduce__(self) -> tuple[type[Update], tuple[object, ...]]:
        """Pickled and copied with dicts, whatever mappings it was given, and with rows in place of views."""
        facts = ({name: _as_rows(data) for name, data in given.items()} for given in (self.delete, self.insert))
        return type(self), (*facts, self.add_rules, self.remove_rules, {**self.note})

    @classmethod
    @public
    def from_json(cls, value: Any) -> Update:
        """Make an update from a decoded JSON object, the form of a line of an update stream."""
        if not isinstance(value, dict):
            raise _malformed("an update is a JSON object", value)
        unknown = [key for key in value if key not in _KEYS]
        if unknown:
            raise _malformed(f"an update has no {unknown[0]!r}; it has {', '.join(_KEYS)}", value)
        for key in ("delete", "insert"):
            _check_facts(key, value.get(key, {}))
        for key in ("add_rules", "remove_rules"):
            if not isinstance(value.get(key, []), list) or not all(isinstance(r, str) for r in value.get(key, [])):
                raise _malformed(f"{key} is a list of strings", value[key])
        return cls(
            _facts(value.get("delete", {})),
            _facts(value.get("insert", {})),
            tuple(value.get("add_rules", ())),
            tuple(value.get("remove_rules", ())),
            value.get("note", _NONE),
        )


def _as_rows(facts: FactData | FactParts) -> FactData | FactParts:
    """The same facts without views, which belong to one process."""
    if isinstance(facts, FactParts):
        return FactParts(tuple(cast("FactData", _as_rows(part)) for part in facts.parts))
    return list(facts) if isinstance(facts, RelationView) else facts


def the_note(given: object) -> Note:
    """A note as JSON gives it back; raises if JSON does not have its values."""
    expect(given, Mapping, "a note is a dict of free fields", 'note={"who": "ann", "why": "ticket 12"}')
    try:
        note = json.loads(json.dumps(dict(cast("Note", given)), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        help = "use texts, numbers, True, False, None, lists and dicts"
        raise UsageError(Diagnostic("E0926", f"a note has values that JSON has: {error}", help=help)) from None
    return cast("Note", note)


def the_update(given: object) -> Update:
    """What was given for an update, if it is one."""
    if not isinstance(given, Update):
        _refuse(given)
    return given


def _refuse(given: object) -> NoReturn:
    help = "write holdfast.Update(insert={…}, delete={…}, add_rules=[…], remove_rules=[…])"
    if isinstance(given, dict) and given.keys() <= set(_KEYS):
        help = "write holdfast.Update(**update), or holdfast.Update.from_json(update) for decoded JSON"
    refuse_kind(given, "an update is a holdfast.Update", help)


def _expect_texts(key: str, given: object) -> None:
    expect(given, Sequence, f"{key} is a list of texts")
    for text in cast("Sequence[object]", given):
        expect(text, str, f"{key} has texts")


def _facts(given: dict[str, list[list[Any]]]) -> dict[str, FactData]:
    """Facts by relation, with RDF terms in place of the objects that stand for them."""
    from holdfast.formats.json_lines import from_json

    return {name: [[from_json(value) for value in row] for row in rows] for name, rows in given.items()}


def _check_facts(key: str, facts: Any) -> None:
    if not isinstance(facts, dict):
        raise _malformed(f"{key} is an object from relation names to lists of facts", facts)
    for name, rows in facts.items():
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise _malformed(f"the facts of {name} are a list of lists", rows)


def _malformed(reason: str, value: Any) -> UsageError:
    return UsageError(
        Diagnostic("E0907", f"malformed update: {reason}", notes=(f"this is {shortened(shown_repr(value))}",))
    )


def _texts(key: str, rules: tuple[str, ...]) -> tuple[str, ...]:
    for rule in rules:
        expect(rule, str, f"{key} takes texts", f"u.{key}(*rules) for a list of them")
    return rules


def _expect_name(relation: object, method: str) -> None:
    expect(relation, str, "a relation's name is a string", f'u.{method}("edge", [(1, 2), (2, 3)])')


class Updating:
    """Collects an update in `with kb.update() as u:` and applies it at the end; nothing changes if the block raises."""

    def __init__(self, apply: Callable[[Update], Change], note: Note = _NONE) -> None:
        self._apply, self._note = apply, note
        self._delete: dict[str, list[FactData]] = {}
        self._insert: dict[str, list[FactData]] = {}
        self._add_rules: list[str] = []
        self._remove_rules: list[str] = []
        self.change: Change | None = None

    def insert(self, relation: str, facts: FactData) -> None:
        """Insert facts, in any form that `holdfast.open` accepts."""
        _expect_name(relation, "insert")
        self._insert.setdefault(relation, []).append(kept(facts))

    def delete(self, relation: str, facts: FactData) -> None:
        """Delete facts."""
        _expect_name(relation, "delete")
        self._delete.setdefault(relation, []).append(kept(facts))

    def add_rules(self, *rules: str) -> None:
        """Add rules, given as text."""
        self._add_rules += _texts("add_rules", rules)

    def remove_rules(self, *rules: str) -> None:
        """Remove rules, given by name or as text."""
        self._remove_rules += _texts("remove_rules", rules)

    def __enter__(self) -> Updating:
        return self

    @public
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None:
            delete, insert = (
                {name: FactParts(tuple(parts)) for name, parts in given.items()}
                for given in (self._delete, self._insert)
            )
            self.change = self._apply(Update(delete, insert, self._add_rules, self._remove_rules, self._note))


@dataclass(frozen=True)
class UpdatePart:
    """A fact that an update inserted or deleted, or a rule that it added or removed."""

    kind: str  # insert, delete, add_rule or remove_rule
    text: str  # the fact, or the rule's name and text

    def __str__(self) -> str:
        return f"{_DONE[self.kind]} {self.text}"


@dataclass(frozen=True)
class Causes:
    """The parts of an update that added or removed a fact.  Without them the fact would not have changed.

    `str()` gives sentences with a proof for each way, expanded only where the update changed something.
    """

    fact: str
    came: bool
    parts: tuple[UpdatePart, ...]
    undo: Update  # takes these parts back, in the state after the update
    proofs: tuple[str, ...]  # trees
    steps: tuple[Mapping[str, Any], ...]  # their inferences, for JSON
    names: Callable[[str], str] = field(default=str, compare=False)  # shortens IRIs in texts

    def __str__(self) -> str:
        shown = [str(part) for part in self.parts[:_CAUSES_SHOWN]]
        more = len(self.parts) - _CAUSES_SHOWN
        listed = _in_words([*shown, *([f"made {more:,} more changes"] if more > 0 else [])])
        hidden = len(self.proofs) - _PROOFS_SHOWN
        left = [f"… and {hidden:,} more proof{'s' if hidden > 1 else ''}"] if hidden > 0 else []
        proofs = [*self.proofs[:_PROOFS_SHOWN], *left]
        moved = "came" if self.came else "went"
        return "\n".join([self.names(f"{self.fact} {moved} because the update {listed}"), *proofs])

    def __repr__(self) -> str:
        return self.names(f"<causes of {self.fact}: {_listed([str(part) for part in self.parts])}>")

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"

    def to_json(self, **options: Any) -> str:
        """As JSON."""
        import json

        return json.dumps(self.as_json(), ensure_ascii=False, **options)

    def as_json(self) -> dict[str, Any]:
        """What `to_json` writes."""
        causes = {kind: [part.text for part in self.parts if part.kind == kind] for kind in _DONE}
        return {
            "fact": self.fact,
            "change": "added" if self.came else "removed",
            "causes": {kind: texts for kind, texts in causes.items() if texts},
            "inferences": list(self.steps),
        }


class Origin(Protocol):
    """What a change asks for its causes, its version and its inverse."""

    @property
    def applied_version(self) -> int | None:
        """The version after the update; None if it was only tried."""
        ...

    def inverse(self) -> Update:
        """The update that undoes it."""
        ...

    def why(self, change: Change, relation: str, row: Row | None, seconds: float | None) -> Causes | None:
        """The parts of the update that made a fact come or go."""
        ...


@dataclass(frozen=True)
class Change:
    """The net facts that an update added and removed, by relation, and figures of its computation.

    Two changes are equal if they add and remove the same facts.
    """

    added: Mapping[str, RelationView]
    removed: Mapping[str, RelationView]
    figures: tuple[Figures, ...] = field(default=(), compare=False)
    no_ops: int = field(default=0, compare=False)  # given facts that had no effect on the explicit facts
    origin: Origin | None = field(default=None, compare=False)

    @public
    def why(self, relation: str, row: Row | None = None, *, seconds: float | None = 5.0) -> Causes | None:
        """The parts of the update that added or removed a fact: `change.why("path", (2, 4))` or `"path(2, 4)"`.

        None if the update neither added nor removed it.  Raises `UsageError` if the knowledge base has changed since,
        and `LimitReached` if the causes are not found within `seconds`.
        """
        if self.origin is None:
            message = "this change is composed of several, so its causes are not known"
            raise UsageError(Diagnostic("E0943", message, help="ask the change of each update"))
        return self.origin.why(self, relation, row, seconds)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    @property
    def version(self) -> int | None:
        """The version after the update; None if it was only tried."""
        return None if self.origin is None else self.origin.applied_version

    def to_json(self) -> dict[str, Any]:
        """The change as an object for the json module: the version, and the sorted rows by relation.

        RDF terms and records are objects, as in an update stream.
        """
        from holdfast.formats.json_lines import load_json, to_json

        added, removed = (
            {name: list(view.sorted_rows()) for name, view in part.items()} for part in (self.added, self.removed)
        )
        found: dict[str, Any] = load_json(to_json({"version": self.version, "added": added, "removed": removed}))
        return found

    @public
    def inverse(self) -> Update:
        """The update that undoes this one: it restores the explicit facts and the rules that the update changed."""
        if self.origin is None or self.version is None:
            message = "this change has no inverse: the update was only tried, or the change is composed of several"
            raise UsageError(Diagnostic(NO_INVERSE, message, help="apply the update"))
        return self.origin.inverse()

    def __len__(self) -> int:
        return sum(map(len, (*self.added.values(), *self.removed.values())))

    def __copy__(self) -> Change:
        return self

    def __deepcopy__(self, _known: object) -> Change:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        refuse_copying("a change", "pickle change.to_json(), or change.inverse()")

    def __repr__(self) -> str:
        return f"<change: {self._summary()}>"

    def _summary(self) -> str:
        added = [f"{len(view):,} added to {name}" for name, view in self.added.items()]
        removed = [f"{len(view):,} removed from {name}" for name, view in self.removed.items()]
        return _listed([*added, *removed])


@dataclass(frozen=True)
class Impact:
    """What an update would do: the hyper-nodes that it would maintain, in order, and the change."""

    plan: tuple[Impacted, ...]
    change: Change

    @property
    def direct(self) -> tuple[Impacted, ...]:
        """The hyper-nodes whose rules or explicit facts change, or that merge or split."""
        return tuple(node for node in self.plan if node.is_direct)

    def __repr__(self) -> str:
        return f"<impact on {_listed([name for node in self.plan for name in node.relations])}; {self.change!r}>"


def _listed(parts: Sequence[str]) -> str:
    """The first few, for a line that a person reads."""
    more = f", and {len(parts) - _PARTS_SHOWN} more" if len(parts) > _PARTS_SHOWN else ""
    return printable(", ".join(parts[:_PARTS_SHOWN])) + more or "nothing"


def _in_words(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
