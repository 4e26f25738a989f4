"""Which module serves which rules: all the forms that people write, and what looks like one and is none."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.errors import HoldfastError
from holdfast.modules import MODULES, Allotment, Module, allot

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl p(x: number, y: number)
.decl q(x: number, y: number)
.decl t(x: number, k: symbol, y: number)
.decl s(x: symbol, y: number)
.decl same(x: number, y: number) eqrel
"""
TC, STC, RTC, EQ = ("transitive-closure", "symmetric-transitive-closure", "reflexive-transitive-closure", "equivalence")


def allotted(rules: str, modules: tuple[Module, ...] = MODULES, predicate: str = "p") -> Allotment:
    kb = holdfast.from_text(DECLARED + rules)
    return allot(kb.program.node_of(predicate), kb.program.relations, modules)


@pytest.mark.parametrize(
    ("module", "rules"),
    [
        (TC, "p(x, z) :- p(x, y), p(y, z)."),
        (TC, "p(a, c) :- p(b, c), p(a, b)."),
        (TC, "p(x, z) :- p(x, y), p(y, z), x != z."),
        (TC, "p(x, z) :- p(x, y), p(y, z), y != x, z != y."),
        (TC, "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z)."),
        (TC, "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."),
        (TC, "p(x, y) :- e(x, y). p(x, y) :- f(x, y). p(x, z) :- e(x, y), p(y, z). p(x, z) :- f(x, y), p(y, z)."),
        (TC, "p(x, z) :- e(y, x), p(y, z)."),
        (TC, "p(x, z) :- p(x, y), f(z, y), z != y."),
        (TC, "p(x, z) :- e(x, y), p(y, z). p(x, z) :- p(x, y), f(y, z). p(x, z) :- p(x, y), p(y, z)."),
        (TC, 'p(x, z) :- t(x, "part", y), p(y, z).'),
        (STC, "p(x, z) :- p(x, y), p(y, z). p(y, x) :- p(x, y)."),
        (STC, "p(x, z) :- p(x, y), p(y, z), x != z. p(x, y) :- p(y, x)."),
        (STC, "p(x, z) :- p(x, y), p(y, z), x != z. p(x, y) :- p(y, x), x != y."),
        (STC, "p(x, y) :- e(x, y). p(x, y) :- p(y, x). p(x, z) :- p(x, y), e(y, z)."),
        (RTC, "p(x, z) :- p(x, y), p(y, z). p(x, x) :- p(x, _). p(x, x) :- p(_, x)."),
        (EQ, "p(x, z) :- p(x, y), p(y, z). p(y, x) :- p(x, y). p(x, x) :- p(x, y)."),
    ],
)
def test_forms_that_a_module_has_to_itself(module: str, rules: str) -> None:
    allotment = allotted(rules)
    assert allotment.alone is not None
    assert allotment.alone.module.name == module
    assert not allotment.generic


@pytest.mark.parametrize(
    ("module", "generic", "rules"),
    [
        (TC, 1, "p(x, z) :- p(x, y), p(y, z). p(x, y) :- p(y, z), f(x, z)."),
        (STC, 1, "p(x, z) :- p(x, y), p(y, z). p(y, x) :- p(x, y). p(x, y) :- p(y, z), f(x, z)."),
        (TC, 2, "p(x, z) :- p(x, y), p(y, z). q(x, y) :- p(x, y). p(x, y) :- q(y, x)."),
        (TC, 2, "p(x, z) :- p(x, y), p(y, z). p(x, z) :- e(x, y), p(y, z). p(x, y) :- p(y, z), f(x, z)."),
    ],
)
def test_modules_beside_other_recursive_rules(module: str, generic: int, rules: str) -> None:
    allotment = allotted(rules)
    assert [service.module.name for service in allotment.services] == [module]
    assert allotment.alone is None
    assert len(allotment.generic) == generic


def test_each_property_of_triples_has_its_own_closure() -> None:
    rules = """
    t(x, "a", z) :- t(x, "a", y), t(y, "a", z).
    t(x, "b", z) :- t(x, "b", y), t(y, "b", z).   t(y, "b", x) :- t(x, "b", y).
    """
    allotment = allotted(rules, predicate="t")
    assert sorted((s.module.name, s.slice.fixed[0][1].value) for s in allotment.services) == [(STC, "b"), (TC, "a")]
    assert not allotment.generic


def test_eqrel_is_an_equivalence() -> None:
    assert [s.module.name for s in allotted("", predicate="same").services] == [EQ]


@pytest.mark.parametrize(
    "rules",
    [
        "p(x, z) :- p(x, y), p(z, y).",
        "p(x, z) :- p(x, y), p(y, z), x < z.",
        "p(x, z) :- p(x, y), p(y, z), e(x, z).",
        "p(x, z) :- p(x, y), p(y, z), !e(x, z).",
        "p(x, z) :- p(x, y), p(y, z), x != 3.",
        "p(x, z) :- p(x, 1), p(1, z).",
        "p(x, z) :- e(x, y), p(y, z), x != z.",
        "p(x, z) :- e(x, y), p(y, z), y != z.",
        "p(x, z) :- e(x, _), p(_, z).",
        "p(x, x) :- p(x, y), p(y, x).",
        "p(y, x) :- p(x, y).",
        "p(x, z) :- e(x, y), q(y, z). q(x, z) :- p(x, y), e(y, z).",
        "p(x, z) :- p(x, y), t(y, _, z).",
    ],
)
def test_what_is_no_closure(rules: str) -> None:
    assert not allotted(rules).services


def test_another_module_takes_over_when_one_is_off() -> None:
    rules = "p(x, z) :- p(x, y), p(y, z). p(y, x) :- p(x, y)."
    left = tuple(module for module in MODULES if module.name != STC)
    allotment = allotted(rules, left)
    assert [service.module.name for service in allotment.services] == [TC]
    assert len(allotment.generic) == 1
    assert len(allotted(rules, ()).generic) == 2


def test_a_module_that_there_is_not() -> None:
    with pytest.raises(HoldfastError, match=r"E0915.*unknown module transitive"):
        holdfast.from_text(DECLARED, modules=["transitive"])


def test_exact_needs_a_module_that_is_alone() -> None:
    kb = holdfast.from_text(DECLARED + "p(x, y) :- p(y, x).")
    with pytest.raises(HoldfastError, match="E0914"):
        kb.apply(holdfast.Update(insert={"p": [(1, 2)]}), algorithm="exact")
    assert not len(kb["p"])
