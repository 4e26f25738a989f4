"""`holdfast.quick_dataclass.dataclass` does what the standard library's does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import quick_dataclass
from holdfast.language import tree

DECORATORS: list[Callable[..., Any]] = [quick_dataclass.dataclass, dataclasses.dataclass]


def classes(dataclass: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """A base, a class with all that is used of fields, and one that can be changed."""

    @dataclass(frozen=True)
    class Base:
        place: int = dataclasses.field(compare=False, repr=False, kw_only=True)

    @dataclass(frozen=True)
    class Node(Base):
        name: str
        parts: tuple[Any, ...] = ()
        notes: list[Any] = dataclasses.field(default_factory=list, hash=False)
        size: int = dataclasses.field(init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", len(self.name))

    @dataclass
    class Open:
        one: int
        two: float = 2.0

    return Base, Node, Open


PAIRS = list(zip(*map(classes, DECORATORS), strict=True))
VALUES = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.floats(), st.tuples(st.integers()))


def outcome(act: Callable[[], Any]) -> Any:
    """What a call gives, or the kind of its exception."""
    try:
        return act()
    except Exception as error:
        return type(error)


@settings(deadline=None)
@given(st.text(max_size=4), st.tuples(VALUES), st.integers())
def test_instances_are_the_same(name: str, parts: tuple[Any, ...], place: int) -> None:
    ours, theirs = (Node(name, parts, place=place) for Node in PAIRS[1])
    others = [Node(name, parts, place=place + 1) for Node in PAIRS[1]]
    unequal = [Node(name + "x", parts, place=place) for Node in PAIRS[1]]
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs) or parts != parts
    assert ours == others[0]
    assert theirs == others[1]
    assert ours != unequal[0]
    assert ours != theirs
    assert dataclasses.replace(ours, name="y").size == 1
    assert copy.copy(ours) == ours


@pytest.mark.parametrize(
    "arguments",
    [(), ("a",), ("a", (), [], 3), ("a", (), [], 3, 4)],
)
def test_the_same_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    ours, theirs = (outcome(lambda Node=Node: repr(Node(*arguments, place=1))) for Node in PAIRS[1])
    assert ours == theirs
    assert outcome(lambda: PAIRS[1][0](*arguments)) is TypeError


def test_frozen_ones_cannot_be_changed_and_others_can() -> None:
    for Node, Open in ((PAIRS[1][0], PAIRS[2][0]), (PAIRS[1][1], PAIRS[2][1])):
        node, plain = Node("a", place=1), Open(1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            node.name = "b"
        with pytest.raises(dataclasses.FrozenInstanceError):
            del node.name
        plain.two = 3.0
        assert plain == Open(1, 3.0)
        assert outcome(lambda plain=plain: hash(plain)) is TypeError


def test_hashes_follow_equality() -> None:
    Node = PAIRS[1][0]
    assert len({Node("a", place=1), Node("a", place=2), Node("b", place=1)}) == 2


def test_fields_and_patterns_are_those_of_the_standard_library() -> None:
    for ours, theirs in PAIRS:
        names = [[field.name for field in dataclasses.fields(cls)] for cls in (ours, theirs)]
        assert names[0] == names[1]
        assert ours.__match_args__ == theirs.__match_args__


def test_each_instance_has_a_list_of_its_own() -> None:
    Node = PAIRS[1][0]
    assert Node("a", place=1).notes is not Node("a", place=1).notes


def test_a_first_instance_may_come_out_of_a_pickle() -> None:
    name = tree.Name("edge", span=None)  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(name)) == name
