"""The laws bite: every deliberately broken kernel, and every planner that breaks plans, is caught by them in memory."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from holdfast.backends.memory.store import MemoryBackend
from holdfast.plans import planner

from ..equivalence.mutants import Mutant, broken
from . import laws
from .definition import rules, some_sets
from .plain_kernels import MUTANTS as KERNEL_MUTANTS
from .plain_kernels import KernelMutant, plain

pytestmark = pytest.mark.many_cases
# Always the same examples, and no time for the smallest: the first that fails is enough.
quick = partial(
    settings,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


def obeyed(examples: int) -> None:
    """The laws in memory, on so many examples of each kind."""
    few = quick(max_examples=examples)
    few(given(rules(negated_wildcards=False), some_sets(), st.integers(0, 2), st.integers(0, 23))(_plans))()
    few(given(rules(negated_wildcards=True), some_sets(), st.integers(0, 23))(_whole_plans))()
    few(given(st.data())(_counters))()
    few(given(st.data())(_sets))()


def _plans(rule: laws.Rule, sets: laws.Sets, style: int, number: int) -> None:
    laws.plans_obey(MemoryBackend, rule, sets, style, number)


def _whole_plans(rule: laws.Rule, sets: laws.Sets, number: int) -> None:
    laws.whole_plans_obey(MemoryBackend, rule, sets, number)


def _counters(data: st.DataObject) -> None:
    laws.counters_obey(MemoryBackend, data)


def _sets(data: st.DataObject) -> None:
    laws.sets_obey(MemoryBackend, data)


def caught() -> bool:
    """Whether some law fails, be it that a check breaks off."""
    try:
        for examples in (15, 150):
            obeyed(examples)
    except Exception:
        return True
    return False


@pytest.mark.parametrize("mutant", KERNEL_MUTANTS, ids=str)
def test_broken_kernel_is_caught(mutant: KernelMutant) -> None:
    with plain(mutant):
        assert caught()


def test_whole_kernels_in_plain_python_are_not_caught() -> None:
    with plain():
        obeyed(25)


Steps = planner._Steps
PLANNER_MUTANTS = [
    Mutant(*values, policy="")
    for values in [
        (
            "atoms before the pivot see new facts",
            Steps._read,
            "Read.ALL if position > self.pivot and isinstance(self.rule.body[self.pivot], Atom) else Read.OLD",
            "Read.ALL",
        ),
        ("a bound variable is bound again", Steps._free, "if variable in bound else", "if False else"),
        ("bound columns are no key", planner._known, "or argument in bound", ""),
        ("an anti-join reads what is there", Steps._read, "return self._negated_read(position)", "return Read.ALL"),
        (
            "variables that a later step needs are dropped",
            planner._live,
            "if last[variable] > number]",
            "if last[variable] > number + 1]",
        ),
    ]
]


@pytest.mark.parametrize("mutant", PLANNER_MUTANTS, ids=lambda mutant: mutant.name)
def test_broken_planner_is_caught(mutant: Mutant) -> None:
    with broken(mutant):
        assert caught()


def test_the_whole_is_not_caught() -> None:
    obeyed(50)
