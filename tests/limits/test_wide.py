"""Random programs around limit relations under random updates of facts and rules: each state and each net change
against the oracle.  `python -m tests.limits.fuzz` goes on with other seeds."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from ..amounts import some
from ..backends.model import ModelBackend
from .forms import Form
from .judged import Judged
from .wide import wide_script

pytestmark = pytest.mark.only_in_memory("has its own engines")

SHAPES = (
    "came back",
    "limits: min or max in its heads; every offer moves with its values",
    "limits: min or max in its heads; no offer is better than what it is made of",
    "limits: min or max in its heads; not recursive",
    "limits: min or max in its heads; recomputed, since an offer may be better than what it is made of",
    "limits: min or max in its heads; recomputed, since p is no limit relation",
    "no end: E0704",
    "overdeleted",
    "refused",
    "refused update",
    "window",
)
RARE = (31, 35)  # seeds of shapes that few scripts have


def test_wide_scripts_agree_with_the_oracle() -> None:
    met = Counter[str]()
    for seed in {*range(some(60)), *RARE}:
        met.update(Judged(wide_script(seed), seed).all())
    assert [shape for shape in SHAPES if not met[shape]] == [], dict(met)


def test_wide_scripts_on_the_model_agree_with_the_oracle() -> None:
    for seed in range(1_000, 1_000 + some(25)):
        Judged(wide_script(seed), seed, ModelBackend).all()


FORMS = (
    "branch",
    "component",
    "functor",
    "inheritance",
    "macro",
    "nested component",
    "nested record",
    "record",
)
WINDOWS = (2_037, 2_043)  # seeds of programs that take updates in windows
EVENTS = ("overdeleted", "rule changes", "what-if", "window")


def test_scripts_in_other_forms_agree_with_the_oracle() -> None:
    """Inside components, records, functors and macros a program means what it means in plain columns."""
    met = Counter[str]()
    for seed in {*range(2_000, 2_000 + some(60)), *WINDOWS}:
        script = wide_script(seed)
        met.update(Judged(script, seed, form=Form(script, Random(seed))).all())
    assert [event for event in (*FORMS, *EVENTS) if not met[event]] == [], dict(met)
