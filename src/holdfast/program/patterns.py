"""The shapes of rules that make a closure: transitive, symmetric, reflexive, and steps over another relation.

Pure data, read from one rule at a time.  A closure is about pairs: two columns of a relation whose other columns, if
any, hold constants (`triple(x, "partOf", y)`).  Such a part of a relation is a `Slice`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from holdfast.program.model import Argument, Atom, Compare, Const, Relation, Rule, Term, Var, Wildcard
from holdfast.quick_dataclass import dataclass
from holdfast.values import Type


class Shape(Enum):
    """The shape of a rule of a relation R; S is a relation that does not depend on R."""

    TRANSITIVE = "R(x, z) :- R(x, y), R(y, z)"
    SYMMETRIC = "R(y, x) :- R(x, y)"
    REFLEXIVE_SOURCE = "R(x, x) :- R(x, _)"
    REFLEXIVE_TARGET = "R(x, x) :- R(_, x)"
    STEP_BEFORE = "R(x, z) :- S(x, y), R(y, z)"  # right-linear
    STEP_AFTER = "R(x, z) :- R(x, y), S(y, z)"  # left-linear


@dataclass(frozen=True)
class Slice:
    """The facts of a relation that have given constants in all columns but some, projected to these."""

    predicate: str
    columns: tuple[int, ...]
    fixed: tuple[tuple[int, Const], ...] = ()

    def is_apart_from(self, other: Slice) -> bool:
        """Whether the two are disjoint: another relation, or another constant in the same column."""
        constants = dict(other.fixed)
        return self.predicate != other.predicate or any(
            column in constants and constants[column] != constant for column, constant in self.fixed
        )


@dataclass(frozen=True)
class Recognised:
    """A rule with its shape.  `no_loops`: the rule derives nothing of the form R(x, x)."""

    rule: Rule
    shape: Shape
    slice: Slice
    step: Slice | None = None
    no_loops: bool = False


_Ends = tuple[Argument, ...]


def recognised(rule: Rule, own: Iterable[str], relations: Mapping[str, Relation]) -> Recognised | str:
    """The shape of a recursive rule in a hyper-node, given the node's predicates, or the reason why it has none."""
    found = _sliced(rule.predicate, rule.arguments, relations)
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    filters = [literal for literal in rule.body if isinstance(literal, Compare)]
    if len(atoms) + len(filters) < len(rule.body):
        return "it negates, tests or computes something"
    if found is None:
        return "its head is not a pair of variables"
    head, (x, z) = found
    inside = [_sliced(atom.predicate, atom.arguments, relations) for atom in atoms]
    parts = [part for part in inside if part is not None and _types(part[0], relations) == _types(head, relations)]
    if len(parts) < len(inside):
        return "its body is not made of pairs of the same type"
    shaped = _shape(head, (x, z), parts, set(own))
    if shaped is None:
        return "it is neither transitive nor symmetric nor reflexive nor a step"
    shape, step = shaped
    idle = {frozenset(ends) for slice_, ends in parts if step is None or slice_.predicate == step.predicate}
    no_loops = _filtered(filters, (x, z), idle)
    if no_loops is None or (no_loops and step is not None):
        return "it has conditions that a closure does not know"
    return Recognised(rule, shape, head, step, no_loops and shape is Shape.TRANSITIVE)


def _sliced(
    predicate: str, arguments: Sequence[Term | Wildcard], relations: Mapping[str, Relation]
) -> tuple[Slice, _Ends] | None:
    """An atom as a pair: two columns with variables or wildcards, constants in the others."""
    columns = tuple(i for i, argument in enumerate(arguments) if isinstance(argument, Var | Wildcard))
    fixed = tuple((i, argument) for i, argument in enumerate(arguments) if isinstance(argument, Const))
    if len(columns) != 2 or len(columns) + len(fixed) < len(arguments):
        return None
    types = relations[predicate].types
    if types[columns[0]] != types[columns[1]] or any(types[i] != constant.type for i, constant in fixed):
        return None
    ends = tuple(argument for argument in arguments if isinstance(argument, Var | Wildcard))
    return Slice(predicate, columns, fixed), ends


def _types(slice_: Slice, relations: Mapping[str, Relation]) -> Type:
    return relations[slice_.predicate].types[slice_.columns[0]]


def _shape(
    head: Slice, ends: _Ends, parts: Sequence[tuple[Slice, _Ends]], own: set[str]
) -> tuple[Shape, Slice | None] | None:
    x, z = ends
    match parts:
        case [(slice_, (a, b))] if slice_ == head:
            if (a, b) == (z, x) and x != z:
                return Shape.SYMMETRIC, None
            if x == z and a == x and b != x:
                return Shape.REFLEXIVE_SOURCE, None
            if x == z and b == x and a != x:
                return Shape.REFLEXIVE_TARGET, None
        case [first, second]:
            for (left, (a, b)), (right, (c, d)) in ((first, second), (second, first)):
                is_chain = len({a, b, d}) == 3 and b == c and (a, d) == (x, z) and isinstance(b, Var)
                if is_chain and left == right == head:
                    return Shape.TRANSITIVE, None
                if is_chain and right == head and left.predicate not in own:
                    return Shape.STEP_BEFORE, left
                if is_chain and left == head and right.predicate not in own:
                    return Shape.STEP_AFTER, right
                # S(y, x) for S(x, y): the same step with its columns swapped
                if right == head and left.predicate not in own and (b, d) == (x, z) and a == c and len({a, b, d}) == 3:
                    return Shape.STEP_BEFORE, _reversed(left)
                if left == head and right.predicate not in own and (a, c) == (x, z) and b == d and len({a, b, c}) == 3:
                    return Shape.STEP_AFTER, _reversed(right)
    return None


def _reversed(slice_: Slice) -> Slice:
    return Slice(slice_.predicate, slice_.columns[::-1], slice_.fixed)


def _filtered(filters: Iterable[Compare], ends: _Ends, idle: set[frozenset[Argument]]) -> bool | None:
    """Whether the conditions exclude R(x, x); None if they have another meaning.

    A condition on `idle` pairs has no effect: where both ends of the atom are equal, the pair leads nowhere anyway.
    """
    no_loops = False
    for condition in filters:
        sides = frozenset((condition.left, condition.right))
        if condition.operator != "!=" or len(sides) != 2:
            return None
        if sides == frozenset(ends):
            no_loops = True
        elif sides not in idle:
            return None
    return no_loops
