"""Classes of columns, variables and terms that have the same type, and the evidence for each class."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from enum import IntEnum

from holdfast.errors import Diagnostics, Label, Span
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type


class Strength(IntEnum):
    """How strong a piece of evidence is; a stronger one overrides all weaker ones."""

    HINT = 1  # sniffed from a data file
    ORDERED = 2  # a side of < or an argument of min: anything but `any`
    NUMERIC = 3  # an operand of arithmetic: some numeric type
    LITERAL = 4  # a constant, which adapts to its surroundings
    DEMAND = 5  # required by a head, a negated atom or a functor
    TERM = 6  # an RDF term: `any`
    BIND = 7  # provided by a positive atom or a functor


@dataclass(frozen=True)
class Evidence:
    """Evidence for a type: its place, and its reason in the user's words."""

    strength: Strength
    type: Type
    span: Span | None
    reason: str


class Classes:
    """A union-find over nodes, with the evidence of each class."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._parent: list[int] = []
        self._evidence: list[list[Evidence]] = []
        self._strongest: list[Evidence | None] = []  # the first of the strongest
        self._mixed: list[bool] = []
        self._nodes: dict[Hashable, int] = {}
        self._own: dict[int, set[Type]] = {}
        self._decided: dict[int, Type] = {}
        self._clashed: set[int] = set()

    def node(self, key: Hashable) -> int:
        """The node of a key, created if new."""
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = len(self._parent)
            self._parent.append(found)
            self._evidence.append([])
            self._strongest.append(None)
            self._mixed.append(False)
        return found

    def find(self, node: int) -> int:
        """The representative of a node's class."""
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def unite(self, first: int, second: int) -> None:
        """Merge two classes."""
        first, second = self.find(first), self.find(second)
        if first == second:
            return
        if len(self._evidence[first]) < len(self._evidence[second]):
            first, second = second, first
        self._parent[second] = first
        self._evidence[first] += self._evidence[second]
        self._weigh(first, self._strongest[second])
        self._mixed[first] = self._mixed[first] or self._mixed[second]

    def add(self, node: int, strength: Strength, type: Type, span: Span | None, reason: str) -> None:
        """Add a piece of evidence."""
        root, evidence = self.find(node), Evidence(strength, type, span, reason)
        self._evidence[root].append(evidence)
        self._weigh(root, evidence)
        if strength is Strength.BIND:
            self._own.setdefault(node, set()).add(type)

    def _weigh(self, root: int, evidence: Evidence | None) -> None:
        strongest = self._strongest[root]
        if strongest is None or (evidence is not None and evidence.strength > strongest.strength):
            self._strongest[root] = evidence

    def allow_mixing(self, node: int) -> None:
        """Allow a class to hold values of several kinds, since RDF feeds it."""
        self._mixed[self.find(node)] = True

    def has_strong_evidence(self, node: int) -> bool:
        """Whether there is stronger evidence for a type than constants and hints."""
        strongest = self._strongest[self.find(node)]
        return strongest is not None and strongest.strength >= Strength.DEMAND

    def why(self, node: int) -> Evidence | None:
        """The strongest evidence of a node's class."""
        return self._strongest[self.find(node)]

    def type_of(self, node: int) -> Type:
        """The type of a node, once all evidence is in."""
        root = self.find(node)
        if root not in self._decided:
            self._decided[root] = self._decide(root)
        decided = self._decided[root]
        if decided is Type.ANY and Type.SYMBOL in self._own.get(node, ()):
            return Type.SYMBOL  # a symbol column provides symbols, even where it meets `any`
        return decided

    def clashed(self, node: int) -> bool:
        """Whether a node's type is provisional: the conflict was already reported."""
        self.type_of(node)
        return self.find(node) in self._clashed

    def _decide(self, root: int) -> Type:
        evidence = self._evidence[root]
        if binds := [e for e in evidence if e.strength is Strength.BIND]:
            return self._joined(binds)
        if any(e.strength is Strength.TERM for e in evidence):
            return Type.ANY
        if demands := {e.type for e in evidence if e.strength is Strength.DEMAND}:
            return Type.SYMBOL if demands == {Type.SYMBOL, Type.ANY} else next(iter(sorted(demands, key=str)))
        literals = [e for e in evidence if e.strength is Strength.LITERAL]
        hint = _joined_hints(e.type for e in evidence if e.strength is Strength.HINT)
        computed = {e.strength for e in evidence} & {Strength.ORDERED, Strength.NUMERIC}
        if (hint is Type.ANY and computed) or (hint is Type.SYMBOL and Strength.NUMERIC in computed):
            hint = Type.NUMBER
        return self._from_literals(root, literals, hint or (Type.NUMBER if computed else None))

    def _joined(self, binds: list[Evidence]) -> Type:
        types = {e.type for e in binds}
        if len(types) == 1:
            return binds[0].type
        if types == {Type.SYMBOL, Type.ANY}:
            return Type.ANY
        first = binds[0]
        second = next(e for e in binds if not _meet(e.type, first.type))
        self._clash(first, second)
        return first.type

    def _from_literals(self, root: int, literals: list[Evidence], hint: Type | None) -> Type:
        kinds = {e.type for e in literals}
        if not kinds:
            return hint or Type.ANY
        if Type.SYMBOL in kinds and len(kinds) > 1:
            if not self._mixed[root]:
                second = next(e for e in literals if e.type is not literals[0].type)
                self._clash(literals[0], second, self._help_for_several_kinds(root))
                self._clashed.add(root)
            return Type.ANY
        own = _widest(kinds)
        return hint if hint is not None and _adapts(own, hint) else own

    def _help_for_several_kinds(self, root: int) -> str:
        for evidence in self._evidence[root]:
            if evidence.strength in (Strength.ORDERED, Strength.NUMERIC):
                return f"{evidence.reason}, so all these values must be of one type"
        return "declare the column as any to keep values of several kinds in it"

    def _clash(self, first: Evidence, second: Evidence, help: str | None = None) -> None:
        if first.span and second.span and (second.span.line, second.span.column) < (first.span.line, first.span.column):
            first, second = second, first
        message = f"{second.type.value} and {first.type.value} conflict: {second.reason}, but {first.reason}"
        labels = [Label(first.span, first.reason)] if first.span is not None else []
        if help is None and Type.ANY in (first.type, second.type):
            help = "any holds terms, not numbers to compute with; give both columns the same type"
        self._diagnostics.error("E0401", message, second.span, labels=labels, help=help)


def _meet(first: Type, second: Type) -> bool:
    return first is second or {first, second} == {Type.SYMBOL, Type.ANY}


def _widest(kinds: set[Type]) -> Type:
    """The type that all numeric literals, or all strings, can be read as."""
    for kind in (Type.FLOAT, Type.UNSIGNED, Type.NUMBER):
        if kind in kinds:
            return kind
    return Type.SYMBOL


def _adapts(literal: Type, wanted: Type) -> bool:
    return wanted is Type.ANY or wanted is literal or (literal is Type.NUMBER and wanted.is_numeric)


def _joined_hints(hints: Iterable[Type]) -> Type | None:
    found = set(hints)
    for kind in (Type.ANY, Type.SYMBOL, Type.FLOAT, Type.NUMBER, Type.UNSIGNED):
        if kind in found:
            return kind
    return None
